"""Small invented stores for the analysts' side."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from weibo_crawler.records import Original, Post, User
from weibo_crawler.store import Put, SeenPage, Topic, UserRow, WalledEdge, WorkerRow
from weibo_crawler.store.notes import LOOKS
from weibo_crawler.store.rows.cells import (
    Ledger,
    ledger_cells,
    post_cells,
    profile_cells,
    user_cells,
)
from weibo_crawler.store.rows.keys import post_key, user_key
from weibo_crawler.store.sqlite.tables import SqliteTables

T0 = 1_790_000_000.0  # 2026-09-21T14:13:20Z


class MemoryUsers:
    """The `Users` protocol over a list."""

    def __init__(
        self,
        rows: Sequence[UserRow] = (),
        workers: Sequence[WorkerRow] = (),
        walled: Sequence[WalledEdge] = (),
        unsure: int = 0,
        bounds: str = "",
        note: str | None = None,
        topics: Sequence[Topic] = (),
    ) -> None:
        self._note, self._topics = note, list(topics)
        self._unsure, self._bounds = unsure, bounds
        self.rows, self._workers, self._walled = list(rows), list(workers), list(walled)

    def users(self, *, uids: Sequence[int] | None = None, after_seq: int = 0) -> Iterator[UserRow]:
        if uids is not None:
            return (row for uid in uids for row in self.rows if row.uid == uid)
        return (row for row in self.rows if row.seq > after_seq)

    def seen_pages(self, *, owners: Sequence[int] | None = None) -> Iterator[SeenPage]:
        pages = [SeenPage(5, "fans", 0, T0, (7, 8)), SeenPage(6, "reposts", 0, T0, (5,))]
        return (page for page in pages if owners is None or page.owner in owners)

    def states(self) -> dict[str, int]:
        return dict(Counter(row.state for row in self.rows))

    def walled(self) -> list[WalledEdge]:
        return self._walled

    def topics(self) -> list[Topic]:
        return self._topics

    def unsure_lists(self) -> int:
        return self._unsure

    def get_meta(self, name: str) -> str | None:
        return self._note if name == LOOKS.name else None

    def depths_are_bounds(self) -> str:
        return self._bounds

    def depths(self) -> dict[int, int]:
        return dict(Counter(row.depth for row in self.rows))

    def workers(self, run_id: str = "") -> list[WorkerRow]:
        return self._workers


def user(seq: int, uid: int, **fields: Any) -> UserRow:
    """A kept user; fields win over the defaults."""
    row = UserRow(
        seq=seq,
        uid=uid,
        url=f"https://site.example/u/{uid}",
        screen_name=f"虚构{uid}",
        fans=10 * uid,
        depth=1,
        found_from=7,
        found_edge="fans",
        found_at=T0 + seq,
        state="done",
        run_id="run-1",
    )
    return row._replace(**fields)


def post(mid: int, uid: int, created_at: str = "2021-06-17T11:00:31+08:00", **fields: Any) -> Post:
    """A post; fields win over the defaults."""
    defaults = {"created_at_precision": "second", "text": "虚构的微博", "text_complete": True}
    return Post(mid=mid, uid=uid, created_at=created_at, **(defaults | fields))


def retweet(mid: int, uid: int) -> Post:
    original = Original(
        mid=44,
        uid=9,
        screen_name="别人",
        text="原文",
        text_complete=True,
        created_at=None,
        available=True,
    )
    return post(mid, uid, repost_of=44, original=original, pics=("a.jpg", "b.jpg"), region="北京")


def open_tables(folder: Path) -> SqliteTables:
    tables = SqliteTables(f"sqlite:////{str(folder / 'tables.db').lstrip('/')}")
    tables.create()
    return tables


def put_users(tables: SqliteTables, *rows: UserRow) -> None:
    tables.userlist.put(Put(user_key(row.uid), user_cells(row, "run-1"), 1) for row in rows)


def put_ledger(tables: SqliteTables, uid: int, ledger: Ledger) -> None:
    tables.userlist.put([Put(user_key(uid), ledger_cells(ledger), 2)])


def put_profile(tables: SqliteTables, uid: int) -> None:
    profile = User(uid=uid, screen_name="改了名", fans=5, posts=3, verified=False)
    tables.userlist.put([Put(user_key(uid), profile_cells(profile, T0, "run-1"), 2)])


def put_posts(tables: SqliteTables, *posts: Post) -> None:
    tables.posts.put(
        Put(post_key(p.uid, p.mid), post_cells(p, T0, "direct", "run-1"), 1) for p in posts
    )
