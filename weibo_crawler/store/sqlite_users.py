"""The userlist in SQLite: frontier, dedup and bookkeeping in one file.

How an entry moves: `add_seeds` or `commit` insert it as queued; `claim` leases it; `commit` stores
a page of its list; `finish` ends it, `rest` and `give_back` return it. A write names the lease it
relies on in its own WHERE, so that a process that was paused past its lease writes nothing.
"""

import json
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from sqlite3 import Connection

from weibo_crawler.records import Edge, State
from weibo_crawler.store import (
    Entry,
    Found,
    Landed,
    Landing,
    PageCommit,
    Progress,
    UserRow,
    WorkerRow,
)
from weibo_crawler.store.owners import is_dead
from weibo_crawler.store.sqlite_base import Database, immediate

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
    """,
)
_DRIFTED_KEPT = 1000  # pages; enough to see a change of shape, bounded against a site that drifts
_PAGE = 1000  # rows read at once: no statement stays open while a caller works

_CLAIM = """
    UPDATE userlist SET state = 'leased', lease_owner = ?, lease_until = ?
    WHERE seq IN (
        SELECT seq FROM userlist
        WHERE state = ? AND set_aside = ? AND depth <= ? {more}
        ORDER BY depth, seq LIMIT ?)
    RETURNING id, screen_name, fans, depth, found_edge, attempts, last_error, seq
"""
_CLAIM_QUEUED = _CLAIM.format(more="")
_CLAIM_RESTED = _CLAIM.format(more="AND resting_until <= ?")
_ADVANCE = """
    UPDATE progress SET cursor = ?, last_ids = ?, listed = ?, pages = ?, ended = ?, sure = ?
    WHERE uid = ? AND edge = ?
"""
_MINE = """
    SELECT 1 FROM userlist JOIN progress ON uid = id
    WHERE id = ? AND state = 'leased' AND lease_owner = ?
      AND edge = ? AND cursor = ? AND ended IS NULL
"""
_FRESH = """
    UPDATE userlist SET attempts = 0, last_error = '', resting_since = NULL
    WHERE id = ? AND attempts > 0
"""
_INSERT = """
    INSERT INTO userlist (id, url, screen_name, fans, depth, found_from, found_edge, found_at,
                          changed_at, run_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
"""
_RELEASE = "lease_owner = NULL, lease_until = NULL"
_DONE = f"UPDATE userlist SET state = 'done', {_RELEASE} WHERE id = ?"


class SqliteUsers:
    """The `Frontier` protocol over one SQLite file; one connection a thread and process."""

    def __init__(self, url: str) -> None:
        self._db = Database(url, "users", _SCHEMA)

    def close(self) -> None:
        self._db.close()

    # -- reading: what importer and analysis see

    def users(self, *, uids: Sequence[int] | None = None, after_seq: int = 0) -> Iterator[UserRow]:
        """Kept users by seq; `uids` in the order given, unknown ones left out."""
        columns = (
            "seq, id, url, screen_name, fans, depth, found_from, found_edge, found_at, state, run_id"
        )
        if uids is not None:
            for uid in uids:
                row = self._one(f"SELECT {columns} FROM userlist WHERE id = ?", uid)
                if row is not None:
                    yield UserRow(*row)
            return
        while rows := self._all(
            f"SELECT {columns} FROM userlist WHERE seq > ? ORDER BY seq LIMIT ?", after_seq, _PAGE
        ):
            yield from map(UserRow._make, rows)
            after_seq = rows[-1][0]

    def changed_users(self, since: float) -> Iterator[UserRow]:
        """Users whose row changed at or after `since`: seeds that were named or lifted."""
        ids = self._all("SELECT id FROM userlist WHERE depth = 0 AND changed_at >= ?", since)
        return self.users(uids=[uid for (uid,) in ids])

    def known_ids(self) -> Iterator[int]:
        after = 0
        while rows := self._all(
            "SELECT id FROM userlist WHERE id > ? ORDER BY id LIMIT ?", after, 100 * _PAGE
        ):
            yield from (uid for (uid,) in rows)
            after = rows[-1][0]

    def states(self) -> dict[str, int]:
        return dict(self._all("SELECT state, COUNT(*) FROM userlist GROUP BY state"))

    def depths(self) -> dict[int, int]:
        return dict(self._all("SELECT depth, COUNT(*) FROM userlist GROUP BY depth ORDER BY depth"))

    def open_fans(self) -> list[tuple[int, int]]:
        return self._all(
            "SELECT fans, COUNT(*) FROM userlist WHERE state IN ('queued', 'leased', 'resting') "
            "GROUP BY fans"
        )

    def unsure_lists(self) -> int:
        """Lists whose end contradicts the announced count by much."""
        return int(self._one("SELECT COUNT(*) FROM progress WHERE sure = 0")[0])

    def workers(self) -> list[WorkerRow]:
        rows = self._all(
            "SELECT run_id, worker, stage, started_at, updated_at, ended, counters "
            "FROM workers ORDER BY started_at, worker"
        )
        return [WorkerRow(*row[:6], json.loads(row[6])) for row in rows]

    def open_level(self) -> int | None:
        with self._db.translated():
            return _open_level(self._db.conn())

    def depths_are_bounds(self) -> str:
        return self.get_meta("depths_are_bounds") or ""

    def get_meta(self, name: str) -> str | None:
        row = self._one("SELECT value FROM meta WHERE name = ?", name)
        return None if row is None else str(row[0])

    # -- writing

    def set_meta(self, name: str, value: str) -> None:
        self._do(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            value,
        )

    def add_seeds(self, seeds: Sequence[Found], run_id: str, now: float) -> int:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            walked = conn.execute("SELECT 1 FROM userlist WHERE depth > 0 LIMIT 1").fetchone()
            new = lifted = 0
            for uid, url, screen_name, fans in seeds:
                row = (uid, url, screen_name, fans, 0, None, Edge.SEED, now, now, run_id)
                new += (inserted := conn.execute(_INSERT, row).rowcount)
                if not inserted:
                    lifted += conn.execute(
                        "UPDATE userlist SET depth = 0, found_from = NULL, found_edge = 'seed', "
                        "changed_at = ? WHERE id = ? AND depth > 0",
                        (now, uid),
                    ).rowcount
            if walked and (new or lifted):
                _mark_bounds(conn, "seeds were added after the walk had begun")
        return new

    def name_seed(self, owner: str, uid: int, screen_name: str, fans: int, now: float) -> None:
        self._do(
            "UPDATE userlist SET screen_name = ?, fans = ?, changed_at = ? "
            "WHERE id = ? AND state = 'leased' AND lease_owner = ?",
            *(screen_name, fans, now, uid, owner),
        )

    def claim(
        self, owner: str, n: int, *, edges: Sequence[Edge], deepest: int, now: float, lease_s: float
    ) -> list[Entry]:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            conn.execute(
                f"UPDATE userlist SET state = 'queued', {_RELEASE} "
                "WHERE state = 'leased' AND lease_until < ?",
                (now,),
            )
            rows: list[tuple] = []
            lease = (owner, now + lease_s)
            for aside in (0, 1):
                for state in ("queued", "resting"):
                    if (left := n - len(rows)) <= 0:
                        break
                    rested = (now,) if state == "resting" else ()
                    sql = _CLAIM_RESTED if rested else _CLAIM_QUEUED
                    rows += conn.execute(sql, (*lease, state, aside, deepest, *rested, left))
            rows.sort(key=lambda row: (row[3], row[7]))
            return [_entry(conn, row, edges) for row in rows]

    def commit(
        self, owner: str, run_id: str, pages: Sequence[PageCommit], *, max_users: int
    ) -> list[Landed]:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            room = _room(conn, max_users, sum(len(page.found) for page in pages))
            level = _open_level(conn)
            landed = []
            for page in pages:
                one = _land(conn, owner, run_id, page, level, room)
                room -= one.inserted
                landed.append(one)
        return landed

    def finish(self, owner: str, uid: int, state: State, why: str) -> bool:
        return bool(
            self._do(
                f"UPDATE userlist SET state = ?, last_error = ?, {_RELEASE} "
                "WHERE id = ? AND state = 'leased' AND lease_owner = ?",
                *(state, why, uid, owner),
            )
        )

    def rest(self, owner: str, uid: int, *, now: float, until: float, why: str) -> None:
        self._do(
            "UPDATE userlist SET state = 'resting', attempts = attempts + 1, last_error = ?, "
            f"resting_since = COALESCE(resting_since, ?), resting_until = ?, {_RELEASE} "
            "WHERE id = ? AND state = 'leased' AND lease_owner = ?",
            *(why, now, until, uid, owner),
        )

    def give_back(self, owner: str, uids: Sequence[int] | None = None) -> None:
        back = f"UPDATE userlist SET state = 'queued', {_RELEASE} WHERE lease_owner = ?"
        if uids is None:
            self._do(back, owner)
            return
        with self._db.translated(), immediate(self._db.conn()) as conn:
            conn.executemany(f"{back} AND id = ?", [(owner, uid) for uid in uids])

    def renew(self, owner: str, *, now: float, lease_s: float) -> None:
        self._do("UPDATE userlist SET lease_until = ? WHERE lease_owner = ?", now + lease_s, owner)

    def requeue_failed(self) -> int:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            n = conn.execute(
                "UPDATE userlist SET state = 'queued', attempts = 0 WHERE state = 'failed'"
            ).rowcount
            if n:
                _mark_bounds(conn, "failed entries were walked again later")
            return n

    def reclaim_dead(self) -> int:
        owners = self._all(
            "SELECT DISTINCT lease_owner FROM userlist WHERE lease_owner IS NOT NULL"
        )
        dead = [(owner,) for (owner,) in owners if is_dead(owner)]
        with self._db.translated(), immediate(self._db.conn()) as conn:
            return conn.executemany(
                f"UPDATE userlist SET state = 'queued', {_RELEASE} WHERE lease_owner = ?", dead
            ).rowcount if dead else 0

    def set_aside(self, *, now: float, level_wait_s: float) -> int:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            n = conn.execute(
                "UPDATE userlist SET set_aside = 1 "
                "WHERE state = 'resting' AND set_aside = 0 AND resting_since < ?",
                (now - level_wait_s,),
            ).rowcount
            if n:
                _mark_bounds(conn, "entries rested longer than harvest.level_wait_s")
            return n

    def report(self, worker: WorkerRow) -> None:
        self._do(
            "INSERT INTO workers VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, worker) "
            "DO UPDATE SET updated_at = excluded.updated_at, ended = excluded.ended, "
            "counters = excluded.counters",
            *worker[:6],
            json.dumps(worker.counters),
        )

    def keep_drifted(self, run_id: str, url: str, why: str, body: bytes, at: float) -> None:
        self._do(
            "INSERT INTO drifted (run_id, at, url, why, body) SELECT ?, ?, ?, ?, ? "
            "WHERE (SELECT COUNT(*) FROM drifted) < ?",
            *(run_id, at, url, why, zlib.compress(body), _DRIFTED_KEPT),
        )

    # -- statements

    def _one(self, sql: str, *values: object) -> tuple | None:
        with self._db.translated():
            return self._db.conn().execute(sql, values).fetchone()

    def _all(self, sql: str, *values: object) -> list[tuple]:
        with self._db.translated():
            return self._db.conn().execute(sql, values).fetchall()

    def _do(self, sql: str, *values: object) -> int:
        with self._db.translated():
            return self._db.conn().execute(sql, values).rowcount


def _entry(conn: Connection, row: tuple, edges: Iterable[Edge]) -> Entry:
    uid, screen_name, fans, depth, found_edge, attempts, last_error, _ = row
    progress = {}
    for edge in edges:
        conn.execute(
            "INSERT INTO progress (uid, edge) VALUES (?, ?) ON CONFLICT DO NOTHING", (uid, edge)
        )
        cursor, last_ids, listed, pages, ended = conn.execute(
            "SELECT cursor, last_ids, listed, pages, ended FROM progress "
            "WHERE uid = ? AND edge = ?",
            (uid, edge),
        ).fetchone()
        if ended is None:
            progress[edge] = Progress(cursor, tuple(array("q", last_ids)), listed, pages)
    is_seed = found_edge == Edge.SEED
    return Entry(uid, screen_name, fans, depth, is_seed, attempts, last_error, progress)


def _open_level(conn: Connection) -> int | None:
    row = conn.execute(
        "SELECT MIN(d) FROM ("
        + " UNION ALL ".join(
            f"SELECT MIN(depth) AS d FROM userlist WHERE state = '{state}' AND set_aside = 0"
            for state in ("queued", "leased", "resting")
        )
        + ")"
    ).fetchone()
    return None if row[0] is None else int(row[0])


def _room(conn: Connection, max_users: int, wanted: int) -> int:
    """How many users may still be inserted. Counting ten million rows takes a second, and the
    largest seq bounds their number, so they are counted only near the limit."""
    largest = conn.execute("SELECT MAX(seq) FROM userlist").fetchone()[0] or 0
    if largest + wanted <= max_users:
        return wanted
    return max(0, max_users - int(conn.execute("SELECT COUNT(*) FROM userlist").fetchone()[0]))


def _land(
    conn: Connection, owner: str, run_id: str, page: PageCommit, level: int | None, room: int
) -> Landed:
    """One page inside the transaction: all of it, or only the users that max_users leaves room for
    and no progress, so that a later run with a larger limit reads the page again."""
    if level is not None and level < page.depth and not _is_aside(conn, page.uid):
        return Landed(Landing.AHEAD, 0)
    if not _is_mine(conn, owner, page):
        return Landed(Landing.LOST, 0)
    rows = [
        (u.uid, u.url, u.screen_name, u.fans, page.depth + 1, page.uid, page.edge)
        + (page.fetched_at, page.fetched_at, run_id)
        for u in page.found
    ]
    if len(rows) > room:
        rows = [row for row in rows if not _is_known(conn, row[0])]
        if len(rows) > room:
            conn.executemany(_INSERT, rows[:room])
            return Landed(Landing.FULL, room)
    before = conn.total_changes
    conn.executemany(_INSERT, rows)
    inserted = conn.total_changes - before
    after = page.after
    conn.execute(
        _ADVANCE,
        (after.cursor, array("q", after.last_ids).tobytes(), after.listed, after.pages)
        + (page.ended, page.sure, page.uid, page.edge),
    )
    conn.execute(_DONE if page.last else _FRESH, (page.uid,))
    return Landed(Landing.STORED, inserted)


def _is_mine(conn: Connection, owner: str, page: PageCommit) -> bool:
    """The lease is still mine and the cursor is what I read."""
    return bool(conn.execute(_MINE, (page.uid, owner, page.edge, page.cursor)).fetchone())


def _is_known(conn: Connection, uid: int) -> bool:
    return bool(conn.execute("SELECT 1 FROM userlist WHERE id = ?", (uid,)).fetchone())


def _is_aside(conn: Connection, uid: int) -> bool:
    row = conn.execute("SELECT set_aside FROM userlist WHERE id = ?", (uid,)).fetchone()
    return bool(row and row[0])


def _mark_bounds(conn: Connection, why: str) -> None:
    conn.execute("INSERT INTO meta VALUES ('depths_are_bounds', ?) ON CONFLICT DO NOTHING", (why,))
