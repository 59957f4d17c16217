"""The userlist in MariaDB/MySQL: its schema, what readers see of it, and the books of the runs."""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pymysql.cursors import Cursor

from weibo_crawler.records import Edge
from weibo_crawler.store import (
    WALLED,
    OpenEntries,
    ReadLists,
    SeenPage,
    UserRow,
    WalledEdge,
    WorkerRow,
    past_runs,
    tallies,
)
from weibo_crawler.store.forgotten import NOBODY, Forgotten
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.mysql_base import Database
from weibo_crawler.store.mysql_commit import enter
from weibo_crawler.store.mysql_forget import read_forgotten
from weibo_crawler.store.mysql_kept import drop_pages, keep_pages, read_pages
from weibo_crawler.store.mysql_schema import IDS_OF_A_TEXT, OPTIONS

# No AUTO_INCREMENT: seqs are given under the gate (mysql_frontier says why).
_SCHEMA = (
    (
        f"""CREATE TABLE userlist (
            seq BIGINT UNSIGNED NOT NULL PRIMARY KEY,
            id BIGINT UNSIGNED NOT NULL,
            url TEXT NOT NULL,
            screen_name TEXT NOT NULL,
            fans BIGINT NOT NULL,
            depth INT NOT NULL,
            found_from BIGINT UNSIGNED,
            found_edge VARCHAR(16) NOT NULL,
            found_at DOUBLE NOT NULL,
            changed_at DOUBLE NOT NULL,
            run_id VARCHAR(255) NOT NULL,
            state VARCHAR(16) NOT NULL DEFAULT 'queued',
            set_aside TINYINT NOT NULL DEFAULT 0,
            attempts INT NOT NULL DEFAULT 0,
            last_error TEXT,
            lease_owner VARCHAR(255),
            lease_until DOUBLE,
            resting_since DOUBLE,
            resting_until DOUBLE,
            UNIQUE KEY userlist_id (id),
            KEY userlist_frontier (state, set_aside, depth, seq),
            KEY userlist_leases (lease_owner)
        ) {OPTIONS}""",
        f"""CREATE TABLE progress (
            uid BIGINT UNSIGNED NOT NULL,
            edge VARCHAR(16) NOT NULL,
            next_page TEXT NOT NULL,
            last_ids MEDIUMBLOB NOT NULL,
            listed BIGINT NOT NULL,
            pages BIGINT NOT NULL,
            ended TEXT,
            sure TINYINT NOT NULL,
            PRIMARY KEY (uid, edge)
        ) {OPTIONS}""",
        f"""CREATE TABLE workers (
            run_id VARCHAR(255) NOT NULL,
            worker VARCHAR(255) NOT NULL,
            stage VARCHAR(64) NOT NULL,
            started_at DOUBLE NOT NULL,
            updated_at DOUBLE NOT NULL,
            ended TEXT,
            counters LONGTEXT NOT NULL,
            PRIMARY KEY (run_id, worker)
        ) {OPTIONS}""",
        f"""CREATE TABLE drifted (
            seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
            run_id VARCHAR(255) NOT NULL,
            at DOUBLE NOT NULL,
            url TEXT NOT NULL,
            why TEXT NOT NULL,
            body LONGBLOB NOT NULL
        ) {OPTIONS}""",
        f"""CREATE TABLE meta (
            name VARCHAR(255) NOT NULL PRIMARY KEY,
            value LONGTEXT NOT NULL
        ) {OPTIONS}""",
        f"CREATE TABLE forgotten (hash BINARY(16) NOT NULL PRIMARY KEY) {OPTIONS}",
        f"""CREATE TABLE gate (
            one TINYINT NOT NULL PRIMARY KEY,
            next_seq BIGINT UNSIGNED NOT NULL,
            users BIGINT NOT NULL,
            forget_key VARCHAR(64)
        ) {OPTIONS}""",
        "INSERT INTO gate VALUES (1, 1, 0, NULL) ON DUPLICATE KEY UPDATE one = one",
    ),
    # what the site says, or what was said of it, may be as long as a body: one such name would be
    # an error that stops the harvest again and again
    (
        "ALTER TABLE userlist MODIFY url MEDIUMTEXT NOT NULL, "
        "MODIFY screen_name MEDIUMTEXT NOT NULL, MODIFY last_error MEDIUMTEXT",
        "ALTER TABLE progress MODIFY next_page MEDIUMTEXT NOT NULL, MODIFY ended MEDIUMTEXT",
        "ALTER TABLE workers MODIFY ended MEDIUMTEXT",
        "ALTER TABLE drifted MODIFY url MEDIUMTEXT NOT NULL, MODIFY why MEDIUMTEXT NOT NULL",
    ),
    # what is not known is null. A name of blanks is equal to '', by this collation
    (
        "ALTER TABLE userlist MODIFY screen_name MEDIUMTEXT, MODIFY fans BIGINT",
        "ALTER TABLE userlist ADD COLUMN retried TINYINT NOT NULL DEFAULT 0",
        "UPDATE userlist SET fans = IF(found_edge = 'seed', NULL, fans), screen_name = NULL, "
        "changed_at = UNIX_TIMESTAMP() WHERE CHAR_LENGTH(screen_name) = 0",
        "INSERT INTO meta SELECT 'depths_are_bounds', "
        "'lists that did not end surely may hold shorter ways' FROM DUAL "
        "WHERE EXISTS (SELECT 1 FROM progress WHERE sure = 0 AND ended IS NOT NULL) "
        "ON DUPLICATE KEY UPDATE name = meta.name",
    ),
    # a row a page, its users packed: a row for each takes ten times the room
    (
        f"""CREATE TABLE edges (
            owner BIGINT UNSIGNED NOT NULL,
            edge VARCHAR(16) NOT NULL,
            nth INT NOT NULL,
            seen_at DOUBLE NOT NULL,
            uids MEDIUMBLOB NOT NULL,
            PRIMARY KEY (owner, edge, nth)
        ) {OPTIONS}""",
    ),
    (
        f"""CREATE TABLE kept_pages (
            uid BIGINT UNSIGNED NOT NULL,
            url VARCHAR(512) NOT NULL,
            fetched_at DOUBLE NOT NULL,
            body LONGBLOB NOT NULL,
            PRIMARY KEY (uid, url)
        ) {OPTIONS}""",
    ),
)
VERSION = len(_SCHEMA)
_DRIFTED_KEPT = 1000  # pages; enough to see a change of shape, bounded against a site that drifts
_PAGE = 1000  # rows read at once: no snapshot stays open while a caller works
_COLUMNS = ", ".join("id" if name == "uid" else name for name in UserRow._fields)
SET_META = "INSERT INTO meta VALUES (%s, %s) ON DUPLICATE KEY UPDATE value = VALUES(value)"


class MysqlUserlist:
    """All of the `Frontier` protocol that neither queues nor claims."""

    def __init__(self, url: str, password: str | None = None) -> None:
        self._db = Database(url, password, "users", _SCHEMA)
        self._has_reported = False

    def close(self) -> None:
        self._db.close()

    # -- reading: what importer and analysis see

    def users(self, *, uids: Sequence[int] | None = None, after_seq: int = 0) -> Iterator[UserRow]:
        """Kept users by seq; `uids` in the order given, unknown ones left out."""
        if uids is not None:
            for start in range(0, len(uids), _PAGE):
                yield from self._these(uids[start : start + _PAGE])
            return
        while rows := self._db.read(
            f"SELECT {_COLUMNS} FROM userlist WHERE seq > %s ORDER BY seq LIMIT %s",
            (after_seq, _PAGE),
        ):
            yield from map(UserRow._make, rows)
            after_seq = rows[-1][0]

    def seen_pages(self, *, owners: Sequence[int] | None = None) -> Iterator[SeenPage]:
        columns = "SELECT owner, edge, nth, seen_at, uids FROM edges"
        if owners is not None:
            for owner in sorted(set(owners)):
                rows = self._db.read(f"{columns} WHERE owner = %s ORDER BY edge, nth", (owner,))
                yield from map(_seen_page, rows)
            return
        owner, edge, nth = 0, "", 0  # nobody's uid
        # written out: MariaDB does not look a row value up in an index
        later = "owner > %s OR (owner = %s AND (edge > %s OR (edge = %s AND nth > %s)))"
        while rows := self._db.read(
            f"{columns} WHERE owner >= %s AND ({later}) ORDER BY owner, edge, nth LIMIT %s",
            (owner, owner, owner, edge, edge, nth, _PAGE),
        ):
            yield from map(_seen_page, rows)
            owner, edge, nth = rows[-1][:3]

    def _these(self, uids: Sequence[int]) -> Iterator[UserRow]:
        rows = self._db.read(f"SELECT {_COLUMNS} FROM userlist WHERE id IN %s", (tuple(uids),))
        known = {row.uid: row for row in map(UserRow._make, rows)}
        return (known[uid] for uid in uids if uid in known)

    def changed_users(self, since: float) -> Iterator[UserRow]:
        """Users whose row changed at or after `since`: seeds that were named or lifted."""
        ids = self._db.read(
            "SELECT id FROM userlist WHERE depth = 0 AND changed_at >= %s ORDER BY seq", (since,)
        )
        return self.users(uids=[uid for (uid,) in ids])

    def known_ids(self) -> Iterator[int]:
        after = 0
        # many in one text: the driver reads rows one by one, which takes twice as long
        page = (
            "SELECT MAX(id), GROUP_CONCAT(id ORDER BY id) FROM "
            "(SELECT id FROM userlist WHERE id > %s ORDER BY id LIMIT %s) AS page"
        )
        while True:
            last, text = self._db.read(page, (after, IDS_OF_A_TEXT))[0]
            if last is None:
                return
            if not f",{text}".endswith(f",{last}"):  # cut, maybe within an id, by the server's
                text = text.rpartition(",")[0]  # max_allowed_packet, and it says nothing
            ids = [int(uid) for uid in text.split(",")]
            yield from ids
            after = ids[-1]

    def last_seq(self) -> int:
        return int(self._db.read("SELECT COALESCE(MAX(seq), 0) FROM userlist")[0][0])

    def count_upto(self, seq: int) -> int:
        return int(self._db.read("SELECT COUNT(*) FROM userlist WHERE seq <= %s", (seq,))[0][0])

    def states(self) -> dict[str, int]:
        return dict(self._db.read("SELECT state, COUNT(*) FROM userlist GROUP BY state"))

    def depths(self) -> dict[int, int]:
        return dict(
            self._db.read("SELECT depth, COUNT(*) FROM userlist GROUP BY depth ORDER BY depth")
        )

    def open_entries(self) -> list[OpenEntries]:
        return tallies.open_entries(self._db.read(tallies.OPEN_ENTRIES))

    def read_lists(self) -> list[ReadLists]:
        return tallies.read_lists(self._db.read(tallies.READ_LISTS))

    def unsure_lists(self) -> int:
        """Lists whose end contradicts the announced count; walled ones are not among them."""
        unsure = "SELECT COUNT(*) FROM progress WHERE sure = 0 AND ended <> %s"
        return int(self._db.read(unsure, (WALLED,))[0][0])

    def walled(self) -> list[WalledEdge]:
        noted = self._db.read(
            "SELECT name, value FROM meta WHERE name LIKE %s ORDER BY name", ("walled %",)
        )
        if not noted:  # no need to count
            return []
        lists: dict[str, int] = dict(
            self._db.read(
                "SELECT edge, COUNT(*) FROM progress WHERE ended = %s GROUP BY edge", (WALLED,)
            )
        )
        edges = [(Edge(name.removeprefix("walled ")), float(since)) for name, since in noted]
        return [WalledEdge(edge, lists.get(edge, 0), since) for edge, since in edges]

    def workers(self, run_id: str = "") -> list[WorkerRow]:
        rows: Sequence[Any] = self._db.read(
            "SELECT run_id, worker, stage, started_at, updated_at, ended, counters "
            f"FROM workers {'WHERE run_id = %s' if run_id else ''} ORDER BY started_at, worker",
            [run_id] if run_id else None,
        )
        return [WorkerRow._make([*row, json.loads(counters)]) for *row, counters in rows]

    def depths_are_bounds(self) -> str:
        return self.get_meta("depths_are_bounds") or ""

    def get_meta(self, name: str) -> str | None:
        rows = self._db.read("SELECT value FROM meta WHERE name = %s", (name,))
        return str(rows[0][0]) if rows else None

    def forgotten(self, known: Forgotten = NOBODY) -> Forgotten:
        return read_forgotten(self._db.read, known)

    # -- writing

    def set_meta(self, name: str, value: str) -> None:
        self._db.write(SET_META, (name, value))

    def report(self, worker: WorkerRow) -> None:
        self._db.write(
            "INSERT INTO workers VALUES (%s, %s, %s, %s, %s, %s, %s) ON DUPLICATE KEY UPDATE "
            "updated_at = VALUES(updated_at), ended = VALUES(ended), counters = VALUES(counters)",
            (*worker[:6], json.dumps(worker.counters)),
        )
        if not self._has_reported:
            self._has_reported = True
            self._sum_up(worker.updated_at)

    def _sum_up(self, now: float) -> None:
        def work(cursor: Cursor) -> None:
            enter(cursor)  # others do the same one after the other
            past_runs.sum_up(lambda sql, values: _rows(cursor, _marked(sql), values), now)

        if past_runs.are_there(lambda sql, values: self._db.read(_marked(sql), values), now):
            self._db.transaction(work)

    def keep_pages(self, uid: int, pages: Sequence[KeptPage]) -> None:
        def work(cursor: Cursor) -> None:
            enter(cursor)
            keep_pages(cursor, [(uid, pages)])

        self._db.transaction(work)

    def kept_pages(self, uids: Sequence[int]) -> dict[int, list[KeptPage]]:
        return read_pages(self._db, uids)

    def kept_urls(self) -> Iterator[tuple[int, str]]:
        yield from self._db.read("SELECT uid, url FROM kept_pages")

    def drop_pages(self, upto: Mapping[int, float]) -> None:
        drop_pages(self._db, upto)

    def keep_drifted(self, run_id: str, url: str, why: str, body: bytes, at: float) -> None:
        def work(cursor: Cursor) -> None:
            enter(cursor)  # nobody is forgotten meanwhile
            if read_forgotten(partial(_rows, cursor)).is_named_in(f"{url} {why} ".encode() + body):
                return
            cursor.execute(
                "INSERT INTO drifted (run_id, at, url, why, body) SELECT %s, %s, %s, %s, %s "
                "FROM DUAL WHERE (SELECT COUNT(*) FROM drifted) < %s",
                (run_id, at, url, why, zlib.compress(body), _DRIFTED_KEPT),
            )

        self._db.transaction(work)


def _marked(sql: str) -> str:
    """With pymysql's placeholders."""
    return sql.replace("?", "%s")


def _rows(cursor: Cursor, sql: str, values: Sequence[object] = ()) -> Sequence[Any]:
    cursor.execute(sql, values or None)
    rows: Sequence[Any] = cursor.fetchall()
    return rows


def _seen_page(row: Any) -> SeenPage:
    return SeenPage._make((*row[:4], struct.unpack(f"<{len(row[4]) // 8}Q", row[4])))
