"""The claims of visits in SQLite keep their contract."""

from pathlib import Path

import pytest

from tests.contracts.visits import VisitContract
from tests.stores import claims_at
from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sqlite.frontier import SqliteUsers


class Testclaims_at(VisitContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.url = f"sqlite:///{tmp_path}/users.db"

    def open(self, owner: str, run_id: str) -> VisitClaims:
        return claims_at(self.url, owner, run_id)


def test_an_old_file_gets_the_claims_beside_the_users(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/users.db"
    users = SqliteUsers(url)
    users.set_meta("kept", "1")
    claims = claims_at(url, "owner", "run")
    assert claims.claim([1], now=1.0, lease_s=60.0) == {1}
    assert users.get_meta("kept") == "1"
    claims.close()
    users.close()
