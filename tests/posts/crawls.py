"""Runs of the map job's body over a scripted site and real SQLite stores."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.posts.worlds import ScriptedFetcher, ScriptedSite, post
from weibo_crawler import config
from weibo_crawler.posts import crawl
from weibo_crawler.posts.crawl import RangeCrawler
from weibo_crawler.posts.due import Job
from weibo_crawler.posts.manifest import KeyRange
from weibo_crawler.records import Outcome, Post, Verdict
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import read_ledger, read_post
from weibo_crawler.store.rows.keys import post_key, posts_prefix, user_key
from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.store.sqlite.tables import SqliteTables

ALL = KeyRange(0, "", None)


class Crawl:
    """Stores, and runs of the crawler over them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.users = SqliteUsers(f"sqlite:///{folder}/users.db")
        self.tables = SqliteTables(f"sqlite:///{folder}/tables.db")
        self.tables.create()
        self.monkeypatch = monkeypatch
        self.runs = 0
        self.heartbeats: list[str] = []  # of the mappers

    def add(self, *uids: int, name: str = "") -> None:
        named = {"user:screen_name": name} if name else {}
        self.tables.userlist.put(
            [Put(user_key(uid), {"user:id": str(uid)} | named, 1) for uid in uids]
        )

    def run(
        self,
        fetcher: ScriptedFetcher,
        *,
        refresh: bool = False,
        run_id: str = "",
        driver: str = "",
        due: bool = False,
        claims: VisitClaims | None = None,
        clock: Callable[[], float] = time.time,
        wanted: float = 0.0,
        since: float = 0.0,
        **posts: Any,
    ) -> dict[Any, Outcome]:
        """One run of a name of its own, unless a name is given. refresh: of all users; with `due`
        of those only whose time it is by `clock`. wanted: new posts until the next visit;
        since: as in `Job`."""
        self.runs += 1
        fetcher.now += 1000.0 * self.runs  # each run is later than the one before
        self.monkeypatch.setattr(crawl, "open_fetcher", lambda *_: fetcher)
        settings = config.Settings(posts=config.Posts(**posts))
        crawler = RangeCrawler(
            settings,
            ScriptedSite(),  # type: ignore[arg-type]
            self.users,
            self.tables,
            Job(
                run_id or f"run {self.runs}",
                refresh,
                driver,
                every=refresh and not due,
                revisit_posts=wanted,
                since=since,
            ),
            heartbeat=self.heartbeats.append,
            claims=claims,
            clock=clock,
        )
        outcomes: list[Outcome] = []
        try:
            crawler.crawl([ALL], outcomes.append)
            return {outcome.uid: outcome for outcome in outcomes}
        finally:
            crawler.close()

    def counters(self) -> dict[str, int]:
        """Of the last run."""
        return max(self.users.workers(), key=lambda row: row.updated_at).counters

    def posts(self, uid: int) -> dict[Any, dict[str, Any]]:
        rows = self.tables.posts.scan(prefix=posts_prefix(uid))
        return {int(p["mid"]): p for p in map(read_post, rows)}

    def texts(self, mid: int, uid: int = 6) -> list[str]:
        """All kept texts of a post, newest first."""
        kept = self.tables.posts.versions(post_key(uid, mid), "post:text")
        return [cell.value for cell in kept]

    def ledger(self, uid: int) -> Any:
        return read_ledger(self.tables.userlist.row(user_key(uid)))


def timeline(uid: int, n: int, first: int = 1000) -> list[Post]:
    """n posts, the newest first."""
    return [post(uid, first + n - i) for i in range(n)]


def guest(posts: Sequence[Post], uid: int = 6, **more: Any) -> ScriptedFetcher:
    """A site that shows guests page 1 only."""
    return ScriptedFetcher({uid: posts}, trouble={f"posts/{uid}/2": [Verdict.LOGIN_WALL]}, **more)
