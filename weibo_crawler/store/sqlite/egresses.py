"""Leases of egresses in SQLite: the processes of one machine."""

from collections.abc import Callable, Sequence
from sqlite3 import Connection
from typing import Any, TypeVar

from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sql.cursor import Cursor
from weibo_crawler.store.sql.egresses import EgressLeases
from weibo_crawler.store.sqlite.base import Database, immediate

T = TypeVar("T")

_SCHEMA = (
    """
    CREATE TABLE egresses (
        name TEXT PRIMARY KEY,
        rate REAL NOT NULL,
        next_free REAL NOT NULL,
        health TEXT NOT NULL,
        rests INTEGER NOT NULL,
        deaths INTEGER NOT NULL,
        session TEXT NOT NULL,
        saved_at REAL NOT NULL,
        holder TEXT,
        held_since REAL NOT NULL DEFAULT 0,
        recalled INTEGER NOT NULL DEFAULT 0,
        told INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX egresses_holder ON egresses (holder, told, recalled) WHERE holder IS NOT NULL;
    CREATE TABLE egress_pools (
        pool TEXT NOT NULL,
        name TEXT NOT NULL,
        PRIMARY KEY (pool, name)
    ) WITHOUT ROWID;
    CREATE TABLE egress_holders (
        owner TEXT PRIMARY KEY,
        pools TEXT NOT NULL,
        lease_until REAL NOT NULL,
        waits_since REAL NOT NULL,
        is_guest INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE egress_gate (
        one INTEGER PRIMARY KEY,
        entries INTEGER NOT NULL,
        allotted_at REAL NOT NULL
    );
    INSERT INTO egress_gate VALUES (1, 0, 0);
    """,
)


class SqliteEgresses(EgressLeases):
    """`EgressLeases` in the file of the users. Its clock is the machine's, in milliseconds."""

    upsert = "ON CONFLICT (name) DO UPDATE SET"
    new_value = "excluded.{}"

    def __init__(self, url: str, owner: str | None = None) -> None:
        super().__init__(owner or new_owner())
        self._db = Database(url, "egresses", _SCHEMA)

    def transaction(self, work: Callable[[Cursor], T]) -> T:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            return work(Statements(conn))

    def clock(self, cursor: Cursor) -> float:
        cursor.execute("SELECT (julianday('now') - 2440587.5) * 86400.0")
        return float(cursor.fetchall()[0][0])

    def close(self) -> None:
        self._db.close()


class Statements:
    """A cursor that takes %s for a parameter."""

    def __init__(self, conn: Connection) -> None:
        self._cursor = conn.cursor()

    def execute(self, sql: str, values: Sequence[object] = ()) -> None:
        self._cursor.execute(sql.replace("%s", "?"), tuple(values))

    def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        self._cursor.executemany(sql.replace("%s", "?"), rows)

    def fetchall(self) -> Sequence[Any]:
        return self._cursor.fetchall()
