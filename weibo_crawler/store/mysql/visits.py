"""Claims of visits in MariaDB/MySQL: the processes of many machines."""

from weibo_crawler.records import IdType
from weibo_crawler.store.mysql.base import Database
from weibo_crawler.store.mysql.schema import ID, OPTIONS, of_ids
from weibo_crawler.store.sql.visits import VisitClaims

_SCHEMA = (
    (
        f"""CREATE TABLE visits (
            uid {ID} NOT NULL PRIMARY KEY,
            owner VARCHAR(255) NOT NULL,
            run_id VARCHAR(255) NOT NULL,
            until DOUBLE NOT NULL,
            KEY visits_owner (owner)
        ) {OPTIONS}""",
    ),
)


class MysqlVisits(VisitClaims):
    """`VisitClaims` in the database of the users."""

    def __init__(
        self,
        url: str,
        password: str | None,
        owner: str,
        run_id: str,
        *,
        ids: IdType = int,
        waits: bool = False,
    ) -> None:
        schema = of_ids(_SCHEMA, ids)
        super().__init__(Database(url, password, "visits", schema, waits=waits), owner, run_id)
