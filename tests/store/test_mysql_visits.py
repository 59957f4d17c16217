"""The claims of visits in MariaDB keep their contract."""

import pytest

from tests.contracts.visits import VisitContract
from tests.store import mariadb
from tests.store.mariadb import PASSWORD, MariaDb
from tests.stores import claims_at
from weibo_crawler.store.sql.visits import VisitClaims

pytestmark = pytest.mark.skipif(mariadb.binary() is None, reason=mariadb.why_not())


class TestMysqlVisits(VisitContract):
    @pytest.fixture(autouse=True)
    def _place(self, server: MariaDb) -> None:
        self.url = server.url()

    def open(self, owner: str, run_id: str) -> VisitClaims:
        return claims_at(self.url, owner, run_id, password=PASSWORD)
