"""A fetcher from the settings."""

from random import Random

from weibo_crawler.config import Settings
from weibo_crawler.fetch.egress import load_egresses
from weibo_crawler.fetch.fetcher import Fetcher
from weibo_crawler.fetch.guard import Guard
from weibo_crawler.fetch.requests_transport import RequestsTransport
from weibo_crawler.fetch.ring import Ring
from weibo_crawler.fetch.session import Visitor
from weibo_crawler.fetch.wire import host_of
from weibo_crawler.metrics import Counters
from weibo_crawler.sites import Site


def open_fetcher(settings: Settings, site: Site, counters: Counters) -> Fetcher:
    """The fetcher of one process; close it after use. Errors: BadConfig for a bad proxies file.

    Without a pace limit (loopback only) all waits are short: nobody is there to be spared.
    """
    rng, pace = Random(), settings.pace
    is_free = pace.requests_per_second == 0
    urls = [settings.site.base_url, settings.site.visitor]
    return Fetcher(
        site,
        RequestsTransport(settings.fetch),
        Ring(load_egresses(settings.egress), pace),
        Guard(
            pace.stop_share,
            pace.stop_window,
            drift_share=pace.drift_share,
            patience_s=5.0 if is_free else 300.0,
        ),
        Visitor(
            site,
            counters,
            rng,
            cooldown_s=2.0 if is_free else 60.0,
            retry_s=0.1 if is_free else 1.0,
        ),
        settings.fetch,
        counters,
        hosts=frozenset(host_of(url) for url in urls if url),
        rng=rng,
    )
