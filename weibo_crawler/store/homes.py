"""The homes of users and tables, by the scheme of their address.

Nothing else looks at a scheme, but for the settings, which refuse one that is not here. A driver is
imported when its home is opened. waits: whether a server that does not answer yet is waited for, as
one is that goes away later. Errors of all `open_…`: BadConfig, also for a driver that is not
installed; StoreError.
"""

from pathlib import Path

from weibo_crawler.config import Store
from weibo_crawler.errors import BadConfig, how_to_install
from weibo_crawler.records import IdType
from weibo_crawler.store import Tables
from weibo_crawler.store.sql.egresses import EgressLeases
from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.sqlite.base import database_path
from weibo_crawler.store.sqlite.egresses import SqliteEgresses
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.store.sqlite.tables import SqliteTables
from weibo_crawler.store.sqlite.visits import SqliteVisits

SQLITE, MYSQL, HBASE = "sqlite", "mysql", "hbase"


def home_of(url: str) -> str:
    """SQLITE, MYSQL or HBASE."""
    return url.partition(":")[0]


def file_of(url: str) -> Path | None:
    """The file of an embedded store; None: it is on a server, which nodes of a cluster reach."""
    return database_path(url) if home_of(url) == SQLITE else None


def open_users(store: Store, *, create: bool, ids: IdType = int, waits: bool = False) -> Frontier:
    """The users. create: make an embedded store where there is none. ids: what the site calls them
    by."""
    if home_of(store.users) == SQLITE:
        return SqliteUsers(store.users, create=create)
    try:
        from weibo_crawler.store.mysql.frontier import MysqlUsers
    except ImportError:
        raise _missing("store.users: mysql:// needs PyMySQL") from None
    return MysqlUsers(store.users, store.read_password(), ids=ids, waits=waits)


def open_tables(url: str, hbase_command: str, *, create: bool, waits: bool = False) -> Tables:
    """The tables. create: as in `open_users`."""
    if home_of(url) == SQLITE:
        return SqliteTables(url, create=create)
    try:
        from weibo_crawler.store.hbase.tables import HbaseTables
    except ImportError:
        raise _missing("store.tables: hbase:// needs happybase") from None
    return HbaseTables(url, hbase_command, waits=waits)


def open_leases(store: Store, *, waits: bool = False) -> EgressLeases:
    """Leases of egresses, which lie in the users' database."""
    if home_of(store.users) == SQLITE:
        return SqliteEgresses(store.users)
    try:
        from weibo_crawler.store.mysql.egresses import MysqlEgresses
    except ImportError:
        raise _missing("store.users: mysql:// needs PyMySQL") from None
    return MysqlEgresses(store.users, store.read_password(), waits=waits)


def open_claims(
    store: Store,
    owner: str,
    run_id: str,
    *,
    ids: IdType = int,
    waits: bool = False,
) -> VisitClaims:
    """Claims of visits by this process, in the users' database."""
    if home_of(store.users) == SQLITE:
        return SqliteVisits(store.users, owner, run_id)
    try:
        from weibo_crawler.store.mysql.visits import MysqlVisits
    except ImportError:
        raise _missing("store.users: mysql:// needs PyMySQL") from None
    password = store.read_password()
    return MysqlVisits(store.users, password, owner, run_id, ids=ids, waits=waits)


def _missing(what: str) -> BadConfig:
    return BadConfig(f"{what}: {how_to_install('cluster')}")
