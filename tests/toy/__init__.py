"""A site that is nothing like Weibo, for the seam: users and posts are called by texts, lists go by
cursors, posts are in no order, there is no list of fans, every request is signed, and a session is
a token in a header. `site` is what a package that adds a site would hold, `server` answers it.
"""
