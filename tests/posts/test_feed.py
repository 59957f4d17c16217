"""Users that come one by one, through a bounded queue."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.errors import BadUsage, StoreError
from weibo_crawler.posts.crawl import Chunk, Emit
from weibo_crawler.posts.due import Due
from weibo_crawler.posts.feed import Feed, row_uid
from weibo_crawler.records import Outcome
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import Ledger, ledger_cells
from weibo_crawler.store.rows.keys import user_key
from weibo_crawler.store.sqlite.tables import SqliteTables


class Taker:
    """In place of a crawler: takes users, slowly, and tells of each."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.breaks_at = breaks_at
        self.taken: list[Due] = []
        self.most = 0

    def crawl_users(self, take: Callable[[], Chunk], emit: Emit) -> None:
        more = True
        while more:
            users, more = take()
            self.most = max(self.most, len(users))
            self.taken += users
            if self.breaks_at is not None and len(self.taken) >= self.breaks_at:
                raise StoreError("the store died")
            time.sleep(0.001)
        for uid, *_ in self.taken:
            emit(Outcome(uid, "stored"))


@pytest.fixture
def tables(tmp_path: Path) -> SqliteTables:
    made = SqliteTables(f"sqlite:///{tmp_path}/tables.db")
    made.create()
    return made


def test_every_user_is_taken_once_with_its_ledger(tables: SqliteTables) -> None:
    """However many there are, a queue of them at most waits; none is lost at the end."""
    tables.userlist.put([Put(user_key(7), ledger_cells(Ledger("done", stored=3)), 1)])
    taker, outcomes = Taker(), list[Outcome]()
    feed = Feed(taker, tables, outcomes.append)  # type: ignore[arg-type]
    for uid in range(1, 1001):
        feed.put(uid)
    feed.finish()
    assert [outcome.uid for outcome in outcomes] == list(range(1, 1001))
    assert [uid for uid, ledger, *_ in taker.taken if ledger is not None] == [7]
    assert taker.most <= 256
    tables.close()


def test_what_breaks_the_crawler_ends_the_feed(tables: SqliteTables) -> None:
    """Nobody waits for room in a queue that nobody empties."""
    feed = Feed(Taker(breaks_at=300), tables, print)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="the store died"):
        list(map(feed.put, range(1, 10_000)))
    with pytest.raises(StoreError):
        feed.finish()
    tables.close()


@given(st.integers(0, 2**63))
def test_a_row_key_is_read_as_bytes_and_as_text(uid: int) -> None:
    """Of our table and of one of bare uids, with cells behind it or without."""
    for key in (user_key(uid), str(uid)):
        as_bytes = key.encode().hex(" ")
        assert row_uid(as_bytes) == uid
        assert row_uid(f"{as_bytes}\tkeyvalues={{…}}") == uid
    assert row_uid(user_key(uid)) == uid
    if uid > 99:
        assert row_uid(str(uid)) == uid


@pytest.mark.parametrize("line", ["", "ff ff", "61 62", "00-6", "user", "-1", "٣٤٥"])
def test_what_is_no_row_key_is_refused(line: str) -> None:
    """A table of other rows is not crawled."""
    with pytest.raises(BadUsage, match="not a row key"):
        row_uid(line)
