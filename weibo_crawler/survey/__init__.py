"""What guests are shown today: some ten pages are asked for, one after the other.

looks       the pages, asked for by a fetcher and read as a crawl reads them
meaning     what that says of a crawl: edges, depth of timelines, requests a user (pure)
recording   the answers as fixtures, in which all people are strangers
"""
