"""A page, politely.

How a page is born: an `Exchange` takes a turn from the `pool` (which egress may go, and when: pace,
leases, visitor sessions), sends by one of the `clients`, and has the `Site` read the answer. The
`Fetcher` asks `answers` what that means and what to do next, and tells the pool and the `breaker`,
which stops the run when the site says no to all, changed its shape, or has fallen silent. What a
proxy brought that nobody knows yet goes by the `Comparer` first. `answers` and `breaker` are pure.
Files go by `Downloads`: the same egresses, and turns of a pool of its own.
"""

from weibo_crawler.fetch.downloads import Downloads as Downloads
from weibo_crawler.fetch.fetcher import Fetcher as Fetcher
from weibo_crawler.fetch.opening import open_downloads as open_downloads
from weibo_crawler.fetch.opening import open_fetcher as open_fetcher
from weibo_crawler.fetch.pool import Leases as Leases
from weibo_crawler.fetch.source import Ask as Ask
from weibo_crawler.fetch.source import Fetched as Fetched
from weibo_crawler.fetch.source import PageSource as PageSource
from weibo_crawler.fetch.source import Room as Room
