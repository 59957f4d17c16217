"""Users found by each edge from a cold start, as guests of 2026 see the site, without a pace."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from weibo_crawler import config
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.harvest.run import HarvestRun
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Edge
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import Running, start
from weibo_crawler.simulator.world import World
from weibo_crawler.store import Found
from weibo_crawler.store.owners import new_owner

EDGES = (Edge.FANS, Edge.FOLLOWS, Edge.REPOSTS, Edge.COMMENTS, Edge.MENTIONS)
DEFAULT = config.Harvest()
_SEEDS = 3
# name -> the settings of the harvest, and whether guests are shown fan and follow lists
WALKS: dict[str, tuple[tuple[Edge, ...], tuple[Edge, ...], bool]] = {
    **{str(edge): ((edge,), (), True) for edge in EDGES},
    "all together": (EDGES, (), True),
    "all together, lists walled": (EDGES, (), False),
    "the default": (DEFAULT.edges, DEFAULT.edges_if_walled, True),
    "the default, lists walled": (DEFAULT.edges, DEFAULT.edges_if_walled, False),
}


class _Counting(Counters):
    """Calls `enough` once so many requests were sent."""

    def __init__(self, requests: int) -> None:
        super().__init__()
        self._left = requests
        self.enough: Callable[[], None] = lambda: None

    def add(self, name: str, n: int = 1) -> None:
        super().add(name, n)
        if name == "request.sent":
            self._left -= n
            if self._left == 0:
                self.enough()


def run(seed: int, users: int, requests: int) -> dict[str, float]:
    """Users found by 1,000 requests, by the name of the walk; and how many requests each made,
    which is less than asked for where nobody else is to be found."""
    found: dict[str, float] = {}
    for is_shown in (True, False):
        options = SimulatorOptions(seed=seed, users=users, guests="2026", fans_walled=not is_shown)
        world = World.make(seed, users, epoch=options.epoch, mean_posts=options.mean_posts)
        with start(options) as site:
            for name, (edges, if_walled, shown) in WALKS.items():
                if shown is is_shown:
                    harvest = config.Harvest(edges=edges, edges_if_walled=if_walled)
                    kept, sent = _walk(site, harvest, world.seeds[:_SEEDS], requests)
                    found[name] = 1000 * kept / sent
                    found[f"{name}: requests"] = sent
    return found


def _walk(
    site: Running, harvest: config.Harvest, seeds: tuple[int, ...], requests: int
) -> tuple[int, int]:
    """One walk in an empty home: users found, requests sent."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'users.db')}"
        settings = config.Settings(
            site=config.Site(base_url=site.base_url, visitor_url=site.visitor_url),
            store=config.Store(users=url, tables=url),
            pace=config.Pace(requests_per_second=0.0),
            harvest=harvest,
        )
        counters = _Counting(requests)
        with Home(settings) as home:
            found = [Found(uid, home.site.home(uid)) for uid in seeds]
            home.users.add_seeds(found, new_run_id(), time.time())
            asyncio.run(_harvest(home, counters))
    return counters["users.kept"], counters["request.sent"]


async def _harvest(home: Home, counters: _Counting) -> None:
    settings = home.settings
    fetcher = open_fetcher(settings, home.site, counters)
    walk = HarvestRun(
        settings.harvest,
        home.users,
        home.site,
        fetcher,
        counters,
        owner=new_owner(),
        run_id=new_run_id(),
        concurrency=settings.fetch.concurrency,
    )
    counters.enough = lambda: walk.stop("so many requests were asked for")
    try:
        await walk.run()
    finally:
        await fetcher.close()
