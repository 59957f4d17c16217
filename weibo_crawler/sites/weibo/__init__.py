"""All that knows m.weibo.cn: addresses, visitor session, verdicts, wire structs, parsers.

Pure (law 1): a Request goes out, a Page comes in, a Reading goes out; nothing here fetches, waits
or asks for the time. What the site answers, and from where that is known: weibo_api.md.

    addresses   the requests                      session   the visitor session
    reading     bytes -> Reading, by kind         verdicts  what an answer is that is no page
    wire        the fields that are read          signs     words and numbers of refusals and facts
    fitting, loose                                odd JSON made to fit, broken JSON read
    timeline, lists, people, info, post, longtext the parsers; drift: what they cannot read
    ids         which post it is                  links     whom a page of posts leads to
    text, counts, dates, bid, cursors             values as the site writes them
    seeds       whom a word of a user names
"""

from weibo_crawler.sites.weibo.site import Weibo, open_site

__all__ = ["Weibo", "open_site"]
