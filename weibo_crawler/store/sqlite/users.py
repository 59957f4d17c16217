"""The userlist in SQLite: its schema, what readers see of it, and the books of the runs."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from sqlite3 import Connection
from typing import Any

from weibo_crawler.store import WorkerRow
from weibo_crawler.store.forgotten import NOBODY, Forgotten
from weibo_crawler.store.kept import KeptPage, kept_rows
from weibo_crawler.store.sql import past_runs
from weibo_crawler.store.sql.userlist import PAGE, SqlUserlist
from weibo_crawler.store.sqlite.base import Database, immediate
from weibo_crawler.store.sqlite.forget import read_forgotten

_SCHEMA = (
    """
    CREATE TABLE userlist (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id INTEGER NOT NULL UNIQUE,
        url TEXT NOT NULL,
        screen_name TEXT NOT NULL,
        fans INTEGER NOT NULL,
        depth INTEGER NOT NULL,
        found_from INTEGER,
        found_edge TEXT NOT NULL,
        found_at REAL NOT NULL,
        changed_at REAL NOT NULL,
        run_id TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'queued',
        set_aside INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        last_error TEXT NOT NULL DEFAULT '',
        lease_owner TEXT,
        lease_until REAL,
        resting_since REAL,
        resting_until REAL
    );
    CREATE INDEX userlist_frontier ON userlist (state, set_aside, depth, seq);
    CREATE INDEX userlist_leases ON userlist (lease_owner) WHERE lease_owner IS NOT NULL;
    CREATE TABLE progress (
        uid INTEGER NOT NULL,
        edge TEXT NOT NULL,
        cursor TEXT NOT NULL DEFAULT '',
        last_ids BLOB NOT NULL DEFAULT x'',
        listed INTEGER NOT NULL DEFAULT 0,
        pages INTEGER NOT NULL DEFAULT 0,
        ended TEXT,
        sure INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (uid, edge)
    ) WITHOUT ROWID;
    CREATE TABLE workers (
        run_id TEXT NOT NULL,
        worker TEXT NOT NULL,
        stage TEXT NOT NULL,
        started_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        ended TEXT,
        counters TEXT NOT NULL,
        PRIMARY KEY (run_id, worker)
    );
    CREATE TABLE drifted (
        seq INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL,
        at REAL NOT NULL,
        url TEXT NOT NULL,
        why TEXT NOT NULL,
        body BLOB NOT NULL
    );
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE forgotten (hash BLOB PRIMARY KEY) WITHOUT ROWID;
    """,
    # What is not known is null. SQLite cannot make a column nullable, so the table is written
    # again; seqs that were given must not be given to others.
    """
    CREATE TABLE users (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id INTEGER NOT NULL UNIQUE,
        url TEXT NOT NULL,
        screen_name TEXT,
        fans INTEGER,
        depth INTEGER NOT NULL,
        found_from INTEGER,
        found_edge TEXT NOT NULL,
        found_at REAL NOT NULL,
        changed_at REAL NOT NULL,
        run_id TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'queued',
        set_aside INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        last_error TEXT NOT NULL DEFAULT '',
        lease_owner TEXT,
        lease_until REAL,
        resting_since REAL,
        resting_until REAL,
        retried INTEGER NOT NULL DEFAULT 0
    );
    INSERT INTO users
        SELECT seq, id, url, NULLIF(screen_name, ''),
               CASE WHEN screen_name = '' AND found_edge = 'seed' THEN NULL ELSE fans END,
               depth, found_from, found_edge, found_at,
               CASE WHEN screen_name = '' THEN CAST(strftime('%s', 'now') AS REAL)
                    ELSE changed_at END,
               run_id, state, set_aside, attempts, last_error, lease_owner, lease_until,
               resting_since, resting_until, 0
        FROM userlist ORDER BY seq;
    DELETE FROM sqlite_sequence WHERE name = 'users';
    INSERT INTO sqlite_sequence SELECT 'users', seq FROM sqlite_sequence WHERE name = 'userlist';
    DROP TABLE userlist;
    ALTER TABLE users RENAME TO userlist;
    CREATE INDEX userlist_frontier ON userlist (state, set_aside, depth, seq);
    CREATE INDEX userlist_leases ON userlist (lease_owner) WHERE lease_owner IS NOT NULL;
    INSERT INTO meta
        SELECT 'depths_are_bounds', 'lists that did not end surely may hold shorter ways'
        WHERE EXISTS (SELECT 1 FROM progress WHERE sure = 0 AND ended IS NOT NULL)
        ON CONFLICT DO NOTHING;
    """,
    # a row a page, its users packed: a row for each takes ten times the room
    """
    CREATE TABLE edges (
        owner INTEGER NOT NULL,
        edge TEXT NOT NULL,
        nth INTEGER NOT NULL,
        seen_at REAL NOT NULL,
        uids BLOB NOT NULL,
        PRIMARY KEY (owner, edge, nth)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE kept_pages (
        uid INTEGER NOT NULL,
        url TEXT NOT NULL,
        fetched_at REAL NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (uid, url)
    );
    """,
)
_DRIFTED_KEPT = 1000  # pages; enough to see a change of shape, bounded against a site that drifts
# a new user's id falls anywhere in the index, and each page touched is written whole
_PAGE_BYTES = 4096


_KEEP = """
    INSERT INTO kept_pages (uid, url, fetched_at, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (uid, url) DO UPDATE SET fetched_at = excluded.fetched_at, body = excluded.body
    WHERE excluded.fetched_at > kept_pages.fetched_at
"""


class SqliteUserlist(SqlUserlist):
    """All of the `Frontier` protocol that neither queues nor claims; see `SqlUserlist`."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._db = Database(url, "users", _SCHEMA, _PAGE_BYTES, create=create)
        self._has_reported = False

    def close(self) -> None:
        self._db.close()

    # -- reading: the rest is in SqlUserlist

    def known_ids(self) -> Iterator[int]:
        after = 0
        while rows := self._rows(
            "SELECT id FROM userlist WHERE id > ? ORDER BY id LIMIT ?", after, 100 * PAGE
        ):
            yield from (uid for (uid,) in rows)
            after = rows[-1][0]

    def forgotten(self, known: Forgotten = NOBODY) -> Forgotten:
        with self._db.translated():
            return read_forgotten(self._db.conn(), known)

    # -- writing

    def set_meta(self, name: str, value: str) -> None:
        self._do(
            "INSERT INTO meta VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            *(name, value),
        )

    def report(self, worker: WorkerRow) -> None:
        self._do(
            "INSERT INTO workers VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, worker) "
            "DO UPDATE SET updated_at = excluded.updated_at, ended = excluded.ended, "
            "counters = excluded.counters",
            *worker[:6],
            json.dumps(worker.counters),
        )
        if not self._has_reported:
            self._has_reported = True
            self._sum_up(worker.updated_at)

    def _sum_up(self, now: float) -> None:
        def run(sql: str, values: Sequence[object]) -> list[Any]:
            return self._rows(sql, *values)

        if past_runs.are_there(run, now):
            with self._db.translated(), immediate(self._db.conn()):
                past_runs.sum_up(run, now)

    def keep_drifted(self, run_id: str, url: str, why: str, body: bytes, at: float) -> None:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            if read_forgotten(conn).is_named_in(f"{url} {why} ".encode() + body):
                return
            conn.execute(
                "INSERT INTO drifted (run_id, at, url, why, body) SELECT ?, ?, ?, ?, ? "
                "WHERE (SELECT COUNT(*) FROM drifted) < ?",
                (run_id, at, url, why, zlib.compress(body), _DRIFTED_KEPT),
            )

    def keep_pages(self, uid: int, pages: Sequence[KeptPage]) -> None:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            keep_pages(conn, [(uid, pages)])

    def kept_urls(self) -> Iterator[tuple[int, str]]:
        after: tuple[object, ...] = (-1, "")
        sql = "SELECT uid, url FROM kept_pages WHERE (uid, url) > (?, ?) ORDER BY uid, url LIMIT ?"
        while rows := self._rows(sql, *after, PAGE):
            yield from rows
            after = rows[-1]

    def drop_pages(self, upto: Mapping[int, float]) -> None:
        sql = "DELETE FROM kept_pages WHERE uid = ? AND fetched_at <= ?"
        with self._db.translated(), immediate(self._db.conn()) as conn:
            conn.executemany(sql, upto.items())

    # -- statements

    def _rows(self, sql: str, *values: object) -> list[Any]:
        with self._db.translated():
            return self._db.conn().execute(sql.replace("%s", "?"), values).fetchall()

    def _do(self, sql: str, *values: object) -> int:
        # in a transaction, though it is one statement: else it waits by SQLite's long sleeps, and
        # others that take turns hardly ever leave the file alone when one ends
        with self._db.translated(), immediate(self._db.conn()) as conn:
            return conn.execute(sql.replace("%s", "?"), values).rowcount


def keep_pages(conn: Connection, pages: Sequence[tuple[int, Sequence[KeptPage]]]) -> None:
    """Inside a transaction; see `Frontier.keep_pages`."""
    if pages:
        forgotten = read_forgotten(conn)
        rows = [row for uid, kept in pages for row in kept_rows(uid, kept, forgotten)]
        conn.executemany(_KEEP, rows)
