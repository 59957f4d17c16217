"""The userlist in SQLite keeps the contract of the frontier."""

from pathlib import Path

import pytest

from tests.contracts.frontier import FrontierContract
from weibo_crawler.errors import StoreError
from weibo_crawler.records import Edge, State
from weibo_crawler.store import Found, PageCommit, Progress, WorkerRow
from weibo_crawler.store.sqlite.base import Database
from weibo_crawler.store.sqlite.components import SCHEMAS
from weibo_crawler.store.sqlite.frontier import SqliteUsers


class TestSqliteUsers(FrontierContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.url = f"sqlite:///{tmp_path}/users.db"

    def open(self) -> SqliteUsers:
        return SqliteUsers(self.url)


def test_every_write_takes_its_turn(tmp_path: Path) -> None:
    """A single statement outside a transaction waits by SQLite's sleeps of up to 0.1 s: beside
    writers that look every half millisecond it would starve, and leases would be lost."""
    users = SqliteUsers(f"sqlite:///{tmp_path}/users.db")
    users.add_seeds([Found(uid, "url", "name", 10) for uid in range(1, 8)], "run", 1.0)
    outside: list[str] = []
    conn = users._db.conn()

    def look(sql: str) -> None:
        is_write = sql.split()[0] in ("INSERT", "UPDATE", "DELETE")
        if is_write and not conn.in_transaction:
            outside.append(sql)

    conn.set_trace_callback(look)
    users.begin_waiting(1.0, 60.0)
    users.claim("me", 6, edges=[Edge.FANS], deepest=0, now=1.0, lease_s=60.0)
    users.renew("me", now=2.0, lease_s=60.0)
    users.name_seed("me", 1, "other", 20, 2.0)
    users.rest("me", 1, now=2.0, until=3.0, why="trouble")
    users.finish("me", 2, State.FAILED, "trouble")
    users.commit("me", "run", [_page(3, [9, 10])], max_users=100)
    users.give_back("me", [4])
    users.give_back("me")
    users.note_walled(Edge.FANS, 2.0)
    users.reopen_walled(Edge.FANS, after_seq=0, n=10)
    users.requeue_failed()
    users.set_aside(now=9.0, level_wait_s=1.0)
    users.keep_drifted("run", "url", "9 why", b"body", 2.0)
    users.set_meta("name", "value")
    users.report(WorkerRow("run", "me", "harvest", 1.0, 2.0, None, {"page.ok": 1}))
    users.forget([9])
    users.close()
    assert outside == []


def _page(uid: int, found: list[int]) -> PageCommit:
    after = Progress("2", tuple(found), len(found), 1)
    users = tuple(Found(one, "url", "name", 10) for one in found)
    return PageCommit(uid, Edge.FANS, "", after, users, 2.0, None)


def test_a_version_that_was_never_released_is_refused(tmp_path: Path) -> None:
    """Nothing leads from it to what is read now; the file stays as it is."""
    users = SqliteUsers(f"sqlite:///{tmp_path}/users.db")
    users._db.write("UPDATE schema_versions SET version = version - 1")
    users.close()
    with pytest.raises(StoreError, match="no release"):
        users.states()
    users.close()


def test_a_commit_is_in_order_on_the_disk(tmp_path: Path) -> None:
    """A power cut may cost the last commits and never the file: with less than NORMAL the log may
    reach the disk in any order."""
    database = Database(f"sqlite:///{tmp_path}/users.db", "users", SCHEMAS["users"])
    (synchronous,) = database.conn().execute("PRAGMA synchronous").fetchone()
    (journal,) = database.conn().execute("PRAGMA journal_mode").fetchone()
    database.close()
    assert (synchronous >= 1, journal) == (True, "wal")
