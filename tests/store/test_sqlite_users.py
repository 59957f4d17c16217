"""The userlist in SQLite keeps the contract of the frontier."""

from pathlib import Path

import pytest

from tests.contracts.frontier import FrontierContract
from weibo_crawler.store.sqlite_frontier import SqliteUsers


class TestSqliteUsers(FrontierContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.url = f"sqlite:///{tmp_path}/users.db"

    def open(self) -> SqliteUsers:
        return SqliteUsers(self.url)
