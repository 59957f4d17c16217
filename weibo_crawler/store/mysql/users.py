"""The userlist in MariaDB/MySQL: its schema, what readers see of it, and the books of the runs."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pymysql.cursors import Cursor

from weibo_crawler.store import WorkerRow
from weibo_crawler.store.forgotten import NOBODY, Forgotten
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.mysql.base import Database
from weibo_crawler.store.mysql.commit import enter
from weibo_crawler.store.mysql.forget import read_forgotten
from weibo_crawler.store.mysql.kept import drop_pages, keep_pages
from weibo_crawler.store.mysql.schema import IDS_OF_A_TEXT, OPTIONS
from weibo_crawler.store.sql import past_runs
from weibo_crawler.store.sql.userlist import SqlUserlist

# No AUTO_INCREMENT: seqs are given under the gate (`frontier` says why).
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
SET_META = "INSERT INTO meta VALUES (%s, %s) ON DUPLICATE KEY UPDATE value = VALUES(value)"


class MysqlUserlist(SqlUserlist):
    """All of the `Frontier` protocol that neither queues nor claims; see `SqlUserlist`."""

    def __init__(self, url: str, password: str | None = None) -> None:
        self._db = Database(url, password, "users", _SCHEMA)
        self._has_reported = False

    def close(self) -> None:
        self._db.close()

    # -- reading: the rest is in SqlUserlist

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

    def forgotten(self, known: Forgotten = NOBODY) -> Forgotten:
        return read_forgotten(self._db.read, known)

    def _rows(self, sql: str, *values: object) -> Sequence[Any]:
        return self._db.read(sql, values or None)

    def _do(self, sql: str, *values: object) -> int:
        return self._db.write(sql, values or None)

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
            past_runs.sum_up(lambda sql, values: _rows(cursor, sql, values), now)

        if past_runs.are_there(lambda sql, values: self._rows(sql, *values), now):
            self._db.transaction(work)

    def keep_pages(self, uid: int, pages: Sequence[KeptPage]) -> None:
        def work(cursor: Cursor) -> None:
            enter(cursor)
            keep_pages(cursor, [(uid, pages)])

        self._db.transaction(work)

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


def _rows(cursor: Cursor, sql: str, values: Sequence[object] = ()) -> Sequence[Any]:
    cursor.execute(sql, values or None)
    rows: Sequence[Any] = cursor.fetchall()
    return rows
