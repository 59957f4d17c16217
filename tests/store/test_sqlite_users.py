"""The userlist in SQLite keeps the contract of the frontier."""

from pathlib import Path

import pytest

from tests.contracts.frontier import FrontierContract
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


@pytest.mark.parametrize("sure", [True, False])
def test_a_store_of_the_first_version(tmp_path: Path, sure: bool) -> None:
    """Its seeds that nobody read have null for "" and 0, and the importer is told; everybody else
    is as before, and no seq is given twice. A list that did not end surely makes depths bounds."""
    url = f"sqlite:///{tmp_path}/users.db"
    old = Database(url, "users", SCHEMAS["users"][:1])
    add = (
        "INSERT INTO userlist (seq, id, url, screen_name, fans, depth, found_edge, found_at, "
        "changed_at, run_id, state) VALUES (?, ?, 'url', ?, ?, ?, ?, 1.0, 1.0, 'run', ?)"
    )
    rows = [(1, 11, "", 0, 0, "seed", "done"), (2, 12, "name", 0, 0, "seed", "done")]
    rows += [(3, 13, " ", 30, 1, "fans", "queued"), (9, 19, "gone", 30, 1, "fans", "done")]
    old.conn().executemany(add, rows)
    old.conn().execute("DELETE FROM userlist WHERE id = 19")
    old.conn().execute(
        "INSERT INTO progress (uid, edge, ended, sure) VALUES (12, 'fans', 'end', ?)", (sure,)
    )
    old.close()
    users = SqliteUsers(url)
    known = {user.uid: (user.seq, user.screen_name, user.fans) for user in users.users()}
    assert known == {11: (1, None, None), 12: (2, "name", 0), 13: (3, " ", 30)}
    assert [user.uid for user in users.changed_users(2.0)] == [11]
    assert bool(users.depths_are_bounds()) is not sure
    users.add_seeds([Found(20, "url")], "run", 1.0)
    assert users.last_seq() == 10
    assert users.requeue_unread() == 1
    users.close()


def test_a_commit_is_in_order_on_the_disk(tmp_path: Path) -> None:
    """A power cut may cost the last commits and never the file: with less than NORMAL the log may
    reach the disk in any order."""
    database = Database(f"sqlite:///{tmp_path}/users.db", "users", SCHEMAS["users"])
    (synchronous,) = database.conn().execute("PRAGMA synchronous").fetchone()
    (journal,) = database.conn().execute("PRAGMA journal_mode").fetchone()
    database.close()
    assert (synchronous >= 1, journal) == (True, "wal")
