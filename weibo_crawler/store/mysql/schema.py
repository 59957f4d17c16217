"""How a session is set up, and how a component's tables come to their version.

One database may hold several components ("users", …); each has its own line in the table
`schema_versions` and its own migrations.
"""

from collections.abc import Sequence

from pymysql.constants import ER
from pymysql.cursors import Cursor
from pymysql.err import MySQLError

from weibo_crawler.errors import StoreError
from weibo_crawler.records import IdType
from weibo_crawler.store.mysql.errors import code
from weibo_crawler.store.sql.cursor import check_schema

IDS_OF_A_TEXT = 100_000  # joined by GROUP_CONCAT, of up to 20 digits and a comma each
# whatever the server's own settings are. Strict: a value that does not fit is an error, never cut
SET_UP = (
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    f"SET SESSION group_concat_max_len = {21 * IDS_OF_A_TEXT}",
)
Migrations = Sequence[Sequence[str] | None]
# stands for the type of a column that holds an id of the site
ID = "<id>"
_TYPES = {int: "BIGINT UNSIGNED", str: "VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin"}
OPTIONS = "ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"

_OURS = (
    f"""CREATE TABLE IF NOT EXISTS schema_versions (
        component VARCHAR(64) NOT NULL PRIMARY KEY,
        version INT NOT NULL
    ) {OPTIONS}""",
    # the last transaction of each session: Database.transaction asks here
    f"""CREATE TABLE IF NOT EXISTS commits (
        session BINARY(16) NOT NULL PRIMARY KEY,
        number BIGINT NOT NULL,
        at DATETIME NOT NULL
    ) {OPTIONS}""",
)
_SET_VERSION = """
    INSERT INTO schema_versions VALUES (%s, %s) ON DUPLICATE KEY UPDATE version = VALUES(version)
"""
_LOCK = "CONCAT('weibo_crawler ', LEFT(SHA2(DATABASE(), 256), 32))"  # no MD5 in MySQL 9.6
_LOCK_WAIT_S = 60
_DONE_BEFORE = frozenset(
    {ER.TABLE_EXISTS_ERROR, ER.DUP_FIELDNAME, ER.DUP_KEYNAME, ER.CANT_DROP_FIELD_OR_KEY}
)


def of_ids(migrations: Migrations, ids: IdType) -> Migrations:
    """The migrations for a site whose users are called so; texts are equal byte by byte."""
    return [step and [each.replace(ID, _TYPES[ids]) for each in step] for step in migrations]


def migrate(cursor: Cursor, place: str, component: str, migrations: Migrations) -> None:
    """Bring the component to version len(migrations): the statements of migrations[i] lead from
    version i to i + 1.

    NewerSchema where the database is ahead of that, StoreError where no release has made what it
    holds; nothing is written then. Each statement that
    changes a table commits by itself, so an upgrade may be cut between two of them; the next one
    begins its version again and passes over what is there already (or gone). Statements that
    change rows must therefore be repeatable.
    """
    if _version(cursor, component) == len(migrations):
        return
    cursor.execute(f"SELECT GET_LOCK({_LOCK}, %s)", (_LOCK_WAIT_S,))
    if cursor.fetchall() != ((1,),):
        raise StoreError(f"{place}: another process is changing its tables: run this again later")
    try:
        version = _version(cursor, component)  # another process may have been first
        check_schema(version, migrations, f"{place}: {component}", "database")
        for statement in _OURS:
            cursor.execute(statement)
        for number, step in enumerate(migrations[version:], version + 1):
            for statement in step or ():
                _step(cursor, statement)
            if step is not None:
                cursor.execute(_SET_VERSION, (component, number))
    finally:
        cursor.execute(f"SELECT RELEASE_LOCK({_LOCK})")


def sweep(cursor: Cursor) -> None:
    """Remove what sessions of former days left in `commits`."""
    old = "at < UTC_TIMESTAMP() - INTERVAL 1 DAY"
    # a delete by `at` alone would wait for every transaction that is under way
    if cursor.execute(f"SELECT session FROM commits WHERE {old} LIMIT 1000"):
        sessions = tuple(session for (session,) in cursor.fetchall())
        cursor.execute(f"DELETE FROM commits WHERE session IN %s AND {old}", (sessions,))


def _version(cursor: Cursor, component: str) -> int:
    """0 where the component is not there yet."""
    try:
        cursor.execute("SELECT version FROM schema_versions WHERE component = %s", (component,))
    except MySQLError as error:
        if code(error) != ER.NO_SUCH_TABLE:
            raise
        return 0
    row = cursor.fetchone()
    return int(row[0]) if row else 0


def _step(cursor: Cursor, statement: str) -> None:
    try:
        cursor.execute(statement)
    except MySQLError as error:
        if code(error) not in _DONE_BEFORE:
            raise
