"""Claims of visits in SQLite: the processes of one machine."""

from collections.abc import Callable
from typing import TypeVar

from weibo_crawler.store.sql.cursor import Cursor
from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sqlite.base import Database, immediate
from weibo_crawler.store.sqlite.egresses import Statements

T = TypeVar("T")

_SCHEMA = (
    """
    CREATE TABLE visits (
        uid INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,
        run_id TEXT NOT NULL,
        until REAL NOT NULL
    );
    CREATE INDEX visits_owner ON visits (owner);
    """,
)


class SqliteVisits(VisitClaims):
    """`VisitClaims` in the file of the users."""

    or_leave = "ON CONFLICT DO NOTHING"

    def __init__(self, url: str, owner: str, run_id: str) -> None:
        super().__init__(owner, run_id)
        self._db = Database(url, "visits", _SCHEMA)

    def transaction(self, work: Callable[[Cursor], T]) -> T:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            return work(Statements(conn))

    def close(self) -> None:
        self._db.close()
