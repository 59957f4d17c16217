"""A page, politely: egress ring, pace, visitor sessions, transports, the retry by blame.

How a page is born: `Fetcher.fetch` takes a turn from the `Ring`, a session from the `Visitor`,
sends by a `Transport`, has the `Site` read the answer, and asks `blame` what to do next; the
`Guard` stops the run when the site says no to all. Ring, guard, `visit` and `blame` are pure.
Under a pace limit the `Keeper` holds the ring's egresses on lease, so that all processes together
keep the pace of each.
"""

from weibo_crawler.fetch.fetcher import Fetched, Fetcher
from weibo_crawler.fetch.opening import open_fetcher
from weibo_crawler.fetch.pool.keeper import Leases

__all__ = ["Fetched", "Fetcher", "Leases", "open_fetcher"]
