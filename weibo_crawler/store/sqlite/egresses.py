"""Leases of egresses in SQLite: the processes of one machine."""

from weibo_crawler.store.sql.egresses import EgressLeases
from weibo_crawler.store.sqlite.base import Database

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
    "ALTER TABLE egresses ADD COLUMN trusted_for INTEGER NOT NULL DEFAULT 0;",
)


class SqliteEgresses(EgressLeases):
    """`EgressLeases` in the file of the users."""

    def __init__(self, url: str, owner: str | None = None) -> None:
        super().__init__(Database(url, "egresses", _SCHEMA), owner)
