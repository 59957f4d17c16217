"""The budget of proxies over real sockets, in real time: does the virtual clock tell the truth?"""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.budget import crawl, figures, options_of, posts_of, world_of
from benchmarks.schedulers import KNOWN
from benchmarks.virtual_site import proxies_of
from weibo_crawler import config
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.home import Home
from weibo_crawler.metrics import Counters
from weibo_crawler.simulator.run import start
from weibo_crawler.simulator.served import read_served
from weibo_crawler.sites.weibo import Weibo


def run(seed: int, proxies: int, seconds: float) -> dict[str, float]:
    """The simulator with its proxies in a process of its own; our fetcher by its settings."""
    with tempfile.TemporaryDirectory() as folder:
        served, listed = str(Path(folder, "served.jsonl")), str(Path(folder, "proxies.txt"))
        options = options_of(seed, proxies, served_out=served, proxies_out=listed)
        posts = posts_of(world_of(options))
        with start(options) as site:
            settings = config.Settings(
                site=config.Site(base_url=site.base_url, visitor_url=site.visitor_url),
                pace=KNOWN,
                egress=config.Egress(proxies_file=listed),
                fetch=config.Fetch(concurrency=proxies),
            )
            home = Home(settings)

            async def crawled() -> dict[str, float]:
                fetcher = open_fetcher(settings, home.site, Counters())
                try:
                    tally = await crawl(
                        fetcher,
                        Weibo(site.base_url, site.visitor_url, ""),
                        posts,
                        callers=proxies,
                        seconds=seconds,
                    )
                finally:
                    await fetcher.close()
                return figures(tally, _served(Path(served)), proxies_of(options), seconds)

            return asyncio.run(crawled())


def _served(file: Path) -> Counter[tuple[str, str]]:
    return Counter((line.egress, line.served) for line in read_served(file) if line.request)
