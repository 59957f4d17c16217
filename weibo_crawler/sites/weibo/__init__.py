"""All that knows m.weibo.cn: addresses, visitor session, verdicts, wire structs, parsers.

Pure (law 1): a Request goes out, a Page comes in, a Reading goes out; nothing here fetches, waits
or asks for the time. What the site answers, and from where that is known: WEIBO_API.

    addresses   the requests                      session   the visitor session
    reading     bytes -> Reading, by kind         verdicts  what is a refusal, what is nothing
    wire        the fields that are read          drift     a shape that changed, and where
    timeline, lists, people, longtext             the parsers
    links       whom a page of posts leads to
    text, counts, dates, bid                      values as the site writes them
"""

from weibo_crawler.sites.weibo.site import Weibo

__all__ = ["Weibo"]
