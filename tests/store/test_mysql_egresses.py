"""The leases of egresses in MariaDB keep their contract."""

from functools import partial

import pytest

from tests.contracts.egresses import EgressContract
from tests.store import mariadb
from tests.store.mariadb import PASSWORD, MariaDb
from tests.stores import leases_at
from weibo_crawler.errors import NewerSchema
from weibo_crawler.store.mysql.frontier import MysqlUsers

pytestmark = pytest.mark.skipif(mariadb.binary() is None, reason=mariadb.why_not())


class TestMysqlEgresses(EgressContract):
    @pytest.fixture(autouse=True)
    def _place(self, server: MariaDb) -> None:
        self.open = partial(leases_at, server.url(), password=PASSWORD)  # type: ignore[method-assign]


def test_an_old_database_is_upgraded_and_a_newer_one_refused(server: MariaDb) -> None:
    """A database of users gets the leases beside them; one of a newer program is left as it is."""
    url = server.url()
    users, leases = MysqlUsers(url, PASSWORD), leases_at(url, password=PASSWORD)
    users.set_meta("kept", "1")
    leases.join(["direct@here"], rate=1.0, lease_s=30.0)
    assert users.get_meta("kept") == "1"
    leases.close()
    users.close()
    database = url.rpartition("/")[2]
    server.root(
        "UPDATE schema_versions SET version = 99 WHERE component = 'egresses'", database=database
    )
    with pytest.raises(NewerSchema, match=r"egresses .* 99.*upgrade"):
        leases.exchange({})


def test_a_server_that_restarts_is_waited_for(server: MariaDb) -> None:
    """Kill -9 of the server between two renewals: the leases are as they were."""
    leases = leases_at(server.url(), password=PASSWORD)
    leases.join(["direct@here"], rate=1.0, lease_s=600.0)
    assert set(leases.exchange({}).granted) == {"direct@here"}
    server.kill()
    server.start()
    term = leases.exchange({})
    assert (term.renewed, dict(term.granted), term.recalled) == (True, {}, ())
    leases.close()
