"""A page, politely: egress ring, pace, visitor sessions, transports, the retry by blame.

How a page is born: `Fetcher.fetch` takes a turn from the `pool` (paced, leased and in session),
sends by one of the `clients`, has the `Site` read the answer, asks `blame` what to do next, and
tells the pool what came of the turn; the `Guard` stops the run when the site says no to all.
"""

from weibo_crawler.fetch.fetcher import Fetched, Fetcher
from weibo_crawler.fetch.opening import open_fetcher
from weibo_crawler.fetch.pool import Leases

__all__ = ["Fetched", "Fetcher", "Leases", "open_fetcher"]
