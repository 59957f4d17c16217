"""Users found by each edge from a cold start, as guests of 2026 see the site, without a pace."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from weibo_crawler import config
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.harvest.run import HarvestRun
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.importer import import_users
from weibo_crawler.metrics import Counters
from weibo_crawler.posts.crawl import RangeCrawler
from weibo_crawler.posts.due import Job
from weibo_crawler.posts.manifest import KeyRange
from weibo_crawler.records import Edge
from weibo_crawler.simulator.company import COMPANIES
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
    """Notes the users kept when so many requests were sent, by `marks`, and calls `enough` at the
    last one."""

    def __init__(self, marks: Sequence[int]) -> None:
        super().__init__()
        self._marks = marks
        self.kept: list[int] = []  # at each mark that was reached
        self.enough: Callable[[], None] = lambda: None

    def add(self, name: str, n: int = 1) -> None:
        super().add(name, n)
        if name == "request.sent" and self[name] in self._marks:
            self.kept.append(self["users.kept"])
            if self[name] == self._marks[-1]:
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
                    counters = _walk(site, harvest, world.seeds[:_SEEDS], [requests])
                    sent = counters["request.sent"]
                    found[name] = 1000 * counters["users.kept"] / sent
                    found[f"{name}: requests"] = sent
    return found


def run_dry(seed: int, users: int, marks: tuple[int, ...]) -> dict[str, float]:
    """The default walk behind walled lists to its end, in both companies of the simulator: users
    found by so many requests, by all, how many these were, and who of those there are; and posts a
    request once everybody was visited."""
    found: dict[str, float] = {}
    for company in COMPANIES:
        options = SimulatorOptions(
            seed=seed, users=users, guests="2026", fans_walled=True, company=company
        )
        world = World.make(
            seed, users, epoch=options.epoch, mean_posts=options.mean_posts, company=company
        )
        popular = sum(world.fans_announced(i) >= DEFAULT.min_fans for i in range(users))
        with start(options) as site:
            posts, marked = Counters(), [*marks, 10**9]
            after = partial(_posts, posts)
            counters = _walk(site, DEFAULT, world.seeds[:_SEEDS], marked, after)
        kept = counters["users.kept"]
        for i, mark in enumerate(marks):
            found[f"{company}: by {mark}"] = counters.kept[i] if i < len(counters.kept) else kept
        found[f"{company}: users"] = kept
        found[f"{company}: requests"] = counters["request.sent"]
        found[f"{company}: reach"] = kept / popular
        sent = counters["request.sent"] + posts["request.sent"]
        found[f"{company}: posts"] = posts["posts.new"]
        found[f"{company}: a request"] = posts["posts.new"] / sent
    return found


def run_both(seed: int, users: int, requests: int) -> dict[str, float]:
    """Harvest by at most so many requests behind walled lists, then import and posts of whoever was
    found, where harvest keeps what it reads and where it does not: requests of each stage, posts
    held, and posts a request of both."""
    options = SimulatorOptions(seed=seed, users=users, guests="2026", fans_walled=True)
    world = World.make(seed, users, epoch=options.epoch, mean_posts=options.mean_posts)
    found: dict[str, float] = {}
    with start(options) as site:
        for name, is_kept in (("kept", True), ("not kept", False)):
            harvest = config.Harvest(keep_posts=is_kept)
            posts = Counters()
            walk = _walk(site, harvest, world.seeds[:_SEEDS], [requests], partial(_posts, posts))
            sent = walk["request.sent"], posts["request.sent"]
            found[f"{name}: harvest"], found[f"{name}: posts"] = sent
            found[f"{name}: held"] = posts["posts.new"]
            found[f"{name}: a request"] = posts["posts.new"] / sum(sent)
    return found


def _posts(counters: Counters, home: Home) -> None:
    """Import whom a harvest has found and visit them; the figures go into `counters`."""
    import_users(home.users, home.tables, home.settings.store.tables, new_run_id())
    crawler = RangeCrawler(
        home.settings, home.site, home.users, home.tables, Job(new_run_id(), attempt="posts")
    )
    try:
        crawler.crawl([KeyRange(0, "", None)], lambda _: None)
    finally:
        crawler.close()
    (row,) = (row for row in home.users.workers() if row.worker == "posts")
    counters.replace(row.counters)


def _walk(
    site: Running,
    harvest: config.Harvest,
    seeds: tuple[int, ...],
    marks: Sequence[int],
    after: Callable[[Home], None] = lambda _: None,
) -> _Counting:
    """The figures of one walk in an empty home, until the last mark, and then of `after`."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'users.db')}"
        settings = config.Settings(
            site=config.Site(base_url=site.base_url, visitor_url=site.visitor_url),
            store=config.Store(users=url, tables=url),
            pace=config.Pace(requests_per_second=0.0),
            harvest=harvest,
        )
        counters = _Counting(marks)
        with Home(settings) as home:
            found = [Found(uid, home.site.home(uid)) for uid in seeds]
            home.users.add_seeds(found, new_run_id(), time.time())
            asyncio.run(_harvest(home, counters))
            after(home)
    return counters


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
        room=fetcher.room,
    )
    counters.enough = lambda: walk.stop("so many requests were asked for")
    try:
        await walk.run()
        walk.judge_failures(counters)
    finally:
        await fetcher.close()
