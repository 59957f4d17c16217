"""The homes of users and tables, by the scheme of their address.

Nothing else looks at a scheme, but for the settings, which refuse one that is not here. A driver is
imported when its home is opened. waits: whether a server that does not answer yet is waited for, as
one is that goes away later. Errors of all `open_…`: BadConfig, also for a driver that is not
installed; StoreError.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from weibo_crawler.config import Store
from weibo_crawler.errors import needed
from weibo_crawler.records import IdType
from weibo_crawler.store import Tables
from weibo_crawler.store.rows.cells import KEEP_VERSIONS
from weibo_crawler.store.sql.cursor import Database
from weibo_crawler.store.sql.egresses import EgressLeases
from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.sqlite.base import Database as SqliteDatabase
from weibo_crawler.store.sqlite.base import database_path
from weibo_crawler.store.sqlite.components import SCHEMAS
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.store.sqlite.tables import SqliteTables

if TYPE_CHECKING:
    from weibo_crawler.store.mysql.check import MysqlCheck

SQLITE, MYSQL, HBASE = "sqlite", "mysql", "hbase"
DRIVERS = {MYSQL: "pymysql", HBASE: "happybase"}  # what pip calls them, of the extra `cluster`
_needs_pymysql = partial(needed, "store.users: mysql:// needs PyMySQL", "cluster")


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
    with _needs_pymysql():
        from weibo_crawler.store.mysql.frontier import MysqlUsers
    return MysqlUsers(store.users, store.read_password(), ids=ids, waits=waits)


def open_tables(
    url: str,
    hbase_command: str,
    *,
    create: bool,
    waits: bool,
    keep_versions: int = KEEP_VERSIONS,
) -> Tables:
    """The tables. create: as in `open_users`. keep_versions: as in `families`."""
    if home_of(url) == SQLITE:
        return SqliteTables(url, create=create, keep_versions=keep_versions)
    with needed("store.tables: hbase:// needs happybase", "cluster"):
        from weibo_crawler.store.hbase.tables import HbaseTables
    return HbaseTables(url, hbase_command, waits=waits, keep_versions=keep_versions)


def open_leases(store: Store, owner: str | None = None, *, waits: bool = False) -> EgressLeases:
    """Leases of egresses by this process, or by another owner."""
    return EgressLeases(_beside_users(store, "egresses", waits=waits), owner)


def open_claims(
    store: Store, owner: str, run_id: str, *, ids: IdType = int, waits: bool = False
) -> VisitClaims:
    """Claims of visits by this process."""
    return VisitClaims(_beside_users(store, "visits", ids, waits=waits), owner, run_id)


def users_check(store: Store) -> "MysqlCheck":
    """What `doctor` asks of a server that holds the users."""
    with _needs_pymysql():
        from weibo_crawler.store.mysql.check import MysqlCheck
    return MysqlCheck(store.users, store.read_password())


def _beside_users(store: Store, component: str, ids: IdType = int, *, waits: bool) -> Database:
    """A component of its own in the users' database."""
    if home_of(store.users) == SQLITE:
        return SqliteDatabase(store.users, component, SCHEMAS[component])
    with _needs_pymysql():
        from weibo_crawler.store.mysql import base, components, schema
    migrations = schema.of_ids(components.SCHEMAS[component], ids)
    return base.Database(store.users, store.read_password(), component, migrations, waits=waits)
