"""What `doctor` says of a MariaDB server that is well, and of one that is not."""

import time

import pytest

from tests.store import mariadb
from tests.store.mariadb import PASSWORD, MariaDb
from weibo_crawler.errors import NewerSchema, StoreError
from weibo_crawler.store.mysql.check import MysqlCheck
from weibo_crawler.store.mysql.frontier import MysqlUsers

pytestmark = pytest.mark.skipif(mariadb.binary() is None, reason=mariadb.why_not())


@pytest.fixture
def check(url: str) -> MysqlCheck:
    return MysqlCheck(url, PASSWORD)


def database(url: str) -> str:
    return url.rpartition("/")[2]


def make(url: str) -> None:
    users = MysqlUsers(url, PASSWORD)
    users.states()
    users.close()


def test_a_server_that_is_well(server: MariaDb, url: str, check: MysqlCheck) -> None:
    """Every check passes before and after the tables are made, and leaves none of its own."""
    assert "init" in check.tables()
    make(url)
    before = server.root("SHOW TABLES", database(url))
    said = {name: run() for name, run in check.checks()}
    assert "utf8mb4_bin" in said["sql tables"]
    assert server.root("SHOW TABLES", database(url)) == before
    assert PASSWORD not in str(said)


def test_a_server_without_strict_mode(check: MysqlCheck) -> None:
    """Our sessions are strict whatever the server is; others that write there are warned of."""
    assert "server's own sql_mode is not strict" in check.modes()


def test_a_wrong_password(url: str) -> None:
    """The account and its password are named, not their text."""
    with pytest.raises(StoreError, match=r"Access denied.*password_file") as caught:
        MysqlCheck(url, "not this").server()
    assert "not this" not in str(caught.value)


def test_a_database_that_is_not_there(url: str) -> None:
    """How to make it is said."""
    with pytest.raises(StoreError, match=r"grant it|CREATE DATABASE"):
        MysqlCheck(f"{url}_none", PASSWORD).server()


def test_an_account_that_may_only_read(server: MariaDb, url: str) -> None:
    """The grants it lacks are named."""
    server.root("CREATE USER IF NOT EXISTS reader@'%' IDENTIFIED BY 'r'")
    server.root(f"GRANT SELECT ON {database(url)}.* TO reader@'%'")
    check = MysqlCheck(url.replace("crawler@", "reader@"), "r")
    assert f"at mysql://127.0.0.1:{server.port}/" in check.server()
    with pytest.raises(StoreError, match=r"CREATE command denied.*grant it"):
        check.rights()


def test_an_account_that_may_not_drop_what_it_makes(server: MariaDb, url: str) -> None:
    """Each right is tried: one that is missing in the middle is named too."""
    server.root("CREATE USER IF NOT EXISTS maker@'%' IDENTIFIED BY 'm'")
    server.root(f"GRANT CREATE, DROP, INSERT, SELECT ON {database(url)}.* TO maker@'%'")
    with pytest.raises(StoreError, match="ALTER command denied"):
        MysqlCheck(url.replace("crawler@", "maker@"), "m").rights()
    assert server.root("SHOW TABLES", database(url)) == ()


def test_tables_that_were_converted(server: MariaDb, url: str, check: MysqlCheck) -> None:
    """Another collation takes names for equal that are not."""
    make(url)
    server.root("ALTER TABLE userlist COLLATE utf8mb4_general_ci", database(url))
    with pytest.raises(StoreError, match="userlist: not InnoDB with utf8mb4_bin"):
        check.tables()


def test_a_newer_schema(server: MariaDb, url: str, check: MysqlCheck) -> None:
    """It is refused, as by every command."""
    make(url)
    server.root("UPDATE schema_versions SET version = 99", database(url))
    with pytest.raises(NewerSchema, match="upgrade"):
        check.tables()


def test_clocks_apart(check: MysqlCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases are read by the clock: a minute apart is too much."""
    assert "apart" in check.clock()
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 60)
    with pytest.raises(StoreError, match=r"\+\d+\.\d s from ours.*NTP"):
        check.clock()


def test_a_server_that_is_not_there(server: MariaDb) -> None:
    """Nobody listens: the address is named."""
    with pytest.raises(StoreError, match=r"mysql://127\.0\.0\.1:9/x"):
        MysqlCheck("mysql://me@127.0.0.1:9/x", "").server()
