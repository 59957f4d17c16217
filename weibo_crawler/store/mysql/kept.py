"""Pages in MariaDB/MySQL that a harvest has read, as they wait for the visit of their user."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pymysql.cursors import Cursor

from weibo_crawler.store.kept import KeptPage, kept_rows
from weibo_crawler.store.mysql.base import Database
from weibo_crawler.store.mysql.forget import read_forgotten

# in this order: the body is chosen by the old time
_KEEP = """
    INSERT INTO kept_pages (uid, url, fetched_at, body) VALUES (%s, %s, %s, %s)
    ON DUPLICATE KEY UPDATE
    body = IF(VALUES(fetched_at) > fetched_at, VALUES(body), body),
    fetched_at = GREATEST(fetched_at, VALUES(fetched_at))
"""


def keep_pages(cursor: Cursor, pages: Iterable[tuple[int, Sequence[KeptPage]]]) -> None:
    """Behind the gate, so that nobody is forgotten meanwhile; see `Frontier.keep_pages`."""
    forgotten = read_forgotten(partial(_rows, cursor))
    if rows := sorted(row for uid, kept in pages for row in kept_rows(uid, kept, forgotten)):
        cursor.executemany(_KEEP, rows)


def drop_pages(db: Database, upto: Mapping[int, float]) -> None:
    """See `Frontier.drop_pages`."""

    def work(cursor: Cursor) -> None:
        sql = "DELETE FROM kept_pages WHERE uid = %s AND fetched_at <= %s"
        cursor.executemany(sql, sorted(upto.items()))

    if upto:
        db.transaction(work)


def _rows(cursor: Cursor, sql: str, values: Sequence[object] = ()) -> Sequence[Any]:
    cursor.execute(sql, values or None)
    rows: Sequence[Any] = cursor.fetchall()
    return rows
