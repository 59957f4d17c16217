"""Claims of visits in SQLite: the processes of one machine."""

from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sqlite.base import Database

_SCHEMA = (
    """
    CREATE TABLE visits (
        uid NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        run_id TEXT NOT NULL,
        until REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX visits_owner ON visits (owner);
    """,
)


class SqliteVisits(VisitClaims):
    """`VisitClaims` in the file of the users."""

    def __init__(self, url: str, owner: str, run_id: str) -> None:
        super().__init__(Database(url, "visits", _SCHEMA), owner, run_id)
