"""The leases of egresses in SQLite keep their contract."""

import sqlite3
from functools import partial
from pathlib import Path

import pytest

from tests.contracts.egresses import EgressContract
from tests.stores import leases_at
from weibo_crawler.errors import NewerSchema
from weibo_crawler.store.sqlite.frontier import SqliteUsers


class Testleases_at(EgressContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.open = partial(leases_at, f"sqlite:///{tmp_path}/users.db")  # type: ignore[method-assign]


def test_an_old_file_is_upgraded_and_a_newer_one_refused(tmp_path: Path) -> None:
    """A file of users gets the leases beside them; one of a newer program is left as it is."""
    url = f"sqlite:///{tmp_path}/users.db"
    users = SqliteUsers(url)
    users.set_meta("kept", "1")
    leases = leases_at(url)
    leases.join(["direct@here"], rate=1.0, lease_s=30.0)
    assert users.get_meta("kept") == "1"
    leases.close()
    users.close()
    with sqlite3.connect(tmp_path / "users.db") as conn:
        conn.execute("UPDATE schema_versions SET version = 99 WHERE component = 'egresses'")
    conn.close()
    with pytest.raises(NewerSchema, match=r"egresses .* 99.*upgrade"):
        leases.exchange({})
