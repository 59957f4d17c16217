"""Thirty hours of the posts stage into SQLite stores, by the virtual clock.

The mapper's own crawler with its leases, claims, ledgers and stores; only sockets and clock are
virtual. The clock stands still while a store writes.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

from msgspec.structs import replace

from benchmarks.budget import options_of, posts_of, world_of
from benchmarks.common import say
from benchmarks.processes import resident_bytes
from benchmarks.schedulers import HOUR_S, KNOWN
from benchmarks.virtual_site import BASE_URL, INTERNET, Answers, VirtualSite, egress_of, proxies_of
from tests.fetch.virtual import VirtualLoop
from weibo_crawler import config
from weibo_crawler.errors import Interrupted
from weibo_crawler.fetch import opening
from weibo_crawler.home import Home
from weibo_crawler.importer import import_users
from weibo_crawler.posts.crawl import RangeCrawler
from weibo_crawler.posts.due import Job
from weibo_crawler.posts.manifest import KeyRange
from weibo_crawler.posts.stops import ENDS
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.routes import VISITOR
from weibo_crawler.simulator.world import World
from weibo_crawler.store import Found
from weibo_crawler.store.rows.cells import read_ledger, read_post
from weibo_crawler.store.rows.keys import parse_user_key, posts_prefix

_MB = 1 << 20
_RUN = "hours"
_USERS_AN_HOUR = 215  # that a proxy visits at most


class Hours:
    """What is looked at each hour. pages: so far; memory: of the crawl, MB."""

    def __init__(self, answers: Answers, hours: int) -> None:
        self._answers, self._hours = answers, hours
        self.crawler: RangeCrawler | None = None
        self.pages, self.memory = [0], list[float]()

    def look(self, _: str) -> None:
        """Called each second of the virtual clock."""
        if time.monotonic() < len(self.pages) * HOUR_S or self.crawler is None:
            return
        self.pages.append(self._answers.count("ok"))
        self.memory.append(resident_bytes() / _MB)
        say(f"hour {len(self.memory)}: {self.pages[-1]:,} pages, {self.memory[-1]:.0f} MB")
        if len(self.memory) == self._hours:
            self.crawler.stop()


class Held(NamedTuple):
    """users: whose ledger says that all their posts are there, posts: theirs in truth; missing: of
    these. false: posts of all users that nobody wrote so. others: users who were visited, and whose
    ledger says that something is missing."""

    users: int
    posts: int
    missing: int
    false: int
    others: int


def run(proxies: int, hours: int) -> dict[str, list[float]]:
    """by_hour, memory: see `hours.run`; users, posts, …: those of `Held`."""
    users = max(30, _USERS_AN_HOUR * proxies * hours)
    options = options_of(1, proxies, users=users, mean_posts=20.0, guests="2020")
    with (
        TemporaryDirectory(prefix="bench-hours-") as name,
        _Apart(ctx=get_context("spawn")) as apart,
        _virtual(options.epoch),
    ):
        answers: _Answers = apart.answers(options)  # type: ignore[attr-defined]
        site = VirtualSite(options, answers, INTERNET, began_at=options.epoch)
        looked = Hours(answers, hours)
        settings = _settings(Path(name), options)
        with Home(settings) as home, mock.patch.object(opening, "choose_transport", _only(site)):
            _import(home, answers.uids())
            _crawl(home, looked)
            requests = answers.count()
            held = _held(home, world_of(options))
    by_hour = [float(after - before) for before, after in pairwise(looked.pages)]
    figures = {name: [float(n)] for name, n in held._asdict().items()}
    return {"by_hour": by_hour, "memory": looked.memory, "requests": [float(requests)]} | figures


class _Apart(BaseManager):
    """The site in a process of its own: its memory is not that of the crawl."""


class _Answers(Answers):
    def __init__(self, options: SimulatorOptions) -> None:
        self._world = world_of(options)
        super().__init__(options, self._world)

    def uids(self) -> list[int]:
        """Of all who have posts."""
        return [*posts_of(self._world)]


_Apart.register("answers", _Answers)


@contextmanager
def _virtual(began_at: float) -> Iterator[None]:
    """Inside, all event loops and clocks of this process are virtual."""
    loops = list[VirtualLoop]()

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            loops.append(VirtualLoop())
            return loops[-1]

    def now() -> float:
        return loops[-1].time() if loops else 0.0

    def wall_clock() -> float:
        return began_at + now()

    asyncio.set_event_loop_policy(Policy())
    try:
        with (
            mock.patch.object(time, "monotonic", now),
            mock.patch.object(time, "time", wall_clock),
        ):
            yield
    finally:
        asyncio.set_event_loop_policy(None)


def _only(site: VirtualSite) -> Callable[[config.Fetch], Any]:
    """In place of `choose_transport`: what it gives makes a transport of settings."""
    return lambda _: mock.Mock(return_value=site, most_at_once=site.most_at_once)


def _settings(folder: Path, options: SimulatorOptions) -> config.Settings:
    file = folder / "proxies.txt"
    urls = (egress_of(proxy).proxy_url for proxy in proxies_of(options))
    file.write_text("".join(f"{url}\n" for url in urls), "utf-8")
    file.chmod(0o600)
    given = config.Settings()
    return replace(
        given,
        site=replace(given.site, base_url=BASE_URL, visitor_url=BASE_URL + VISITOR),
        store=replace(
            given.store, users=f"sqlite:///{folder}/users.db", tables=f"sqlite:///{folder}/t.db"
        ),
        egress=replace(given.egress, proxies_file=str(file)),
        pace=KNOWN,
    )


def _import(home: Home, uids: Iterable[int]) -> None:
    found = [Found(uid, home.site.home(uid), None, None) for uid in uids]
    home.users.add_seeds(found, _RUN, time.time())
    import_users(home.users, home.tables, home.settings.store.tables, _RUN)


def _crawl(home: Home, looked: Hours) -> None:
    """For as many hours as are looked at."""
    crawler = RangeCrawler(
        *(home.settings, home.site, home.users, home.tables, Job(_RUN)),
        heartbeat=looked.look,
        leases=home.leases,
        claims=home.claims(_RUN),
        clock=time.time,
    )
    looked.crawler = crawler
    try:
        crawler.crawl([KeyRange(0, "", None)], lambda _: None)
    except Interrupted:
        pass
    finally:
        crawler.close()


def _held(home: Home, world: World) -> Held:
    n: Counter[str] = Counter(dict.fromkeys(Held._fields, 0))
    for row in home.tables.userlist.scan(columns=["crawl"]):
        ledger, uid = read_ledger(row.cells), parse_user_key(row.key)
        if ledger is None:
            continue
        assert isinstance(uid, int)
        index = world.index(uid)
        assert index is not None
        true = {str(post.mid): post.writing.text for post in world.posts(index)}
        rows = map(read_post, home.tables.posts.scan(prefix=posts_prefix(uid)))
        held = {post["mid"]: post["text"] for post in rows if post["text_complete"]}
        n["false"] += sum(true.get(mid) != text for mid, text in held.items())
        if ledger.state == "done" and ledger.sure and ledger.stopped in ENDS:
            n["users"] += 1
            n["posts"] += len(true)
            n["missing"] += len(true.keys() - held.keys())
        else:
            n["others"] += 1
    return Held(**n)
