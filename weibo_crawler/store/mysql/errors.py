"""MariaDB's and MySQL's errors: which are worth another try, and all others in plain words."""

from pymysql.constants import CR, ER
from pymysql.err import MySQLError

from weibo_crawler.errors import StoreError, StoreFull

# the server did this with the whole transaction, or we do it: it may simply run again
_COLLIDED = frozenset({ER.LOCK_DEADLOCK, ER.LOCK_WAIT_TIMEOUT})
_LOST = frozenset(
    {
        0,  # pymysql's own: the connection is closed already
        CR.CR_CONNECTION_ERROR,
        CR.CR_CONN_HOST_ERROR,
        CR.CR_SERVER_GONE_ERROR,
        CR.CR_SERVER_LOST,
        CR.CR_SERVER_LOST_EXTENDED,
        ER.CON_COUNT_ERROR,
        ER.SERVER_SHUTDOWN,
        ER.NET_READ_ERROR,
        ER.NET_READ_INTERRUPTED,
        1927,  # MariaDB: connection was killed
        4031,  # MySQL: disconnected because of inactivity
    }
)
_NO_ROOM = frozenset({ER.DISK_FULL, ER.RECORD_FILE_FULL})
_CHECK_ACCOUNT = (
    "check the account in store.users and its password (WEIBO_STORE__PASSWORD or "
    "store.password_file)"
)
_CHECK_GRANTS = (
    "grant it CREATE, ALTER, INDEX, DROP, SELECT, INSERT, UPDATE, DELETE on the database"
)
_LATER = "run the same command again; if it persists, look for who holds locks (SHOW PROCESSLIST)"
_REMEDIES = {
    ER.ACCESS_DENIED_ERROR: _CHECK_ACCOUNT,
    1698: _CHECK_ACCOUNT,  # MariaDB: access denied, no password was even asked for
    ER.DBACCESS_DENIED_ERROR: f"{_CHECK_GRANTS}, or check the database's name in store.users",
    ER.TABLEACCESS_DENIED_ERROR: _CHECK_GRANTS,
    ER.BAD_DB_ERROR: "create it: CREATE DATABASE name CHARACTER SET utf8mb4",
    ER.LOCK_DEADLOCK: _LATER,
    ER.LOCK_WAIT_TIMEOUT: _LATER,
    ER.DATA_TOO_LONG: "nothing of this step was stored, nothing was cut",
    ER.NET_PACKET_TOO_LARGE: "raise max_allowed_packet of the server",
    ER.OPTION_PREVENTS_STATEMENT: "name a server that may be written to, not a read-only replica",
    ER.CON_COUNT_ERROR: "raise max_connections of the server, or run fewer processes",
    1665: "set binlog_format of the server to ROW or MIXED",  # refuses READ COMMITTED
}
_CHECK_SERVER = (
    "check that the server runs and that store.users names its host and port, or its socket"
)


def code(error: MySQLError) -> int:
    """The server's or the client's number, 0 where there is none."""
    first = error.args[0] if error.args else 0
    return first if isinstance(first, int) else 0


def is_lost(error: MySQLError) -> bool:
    """The connection is gone or was refused; a server that restarts comes back."""
    return code(error) in _LOST


def is_transient(error: MySQLError) -> bool:
    """The same transaction may succeed when it is run again."""
    return is_lost(error) or code(error) in _COLLIDED


def translated(error: MySQLError, place: str) -> StoreError:
    """One line with the place and the remedy. place: host, port and database, no password; the
    drivers' and the servers' messages hold none either."""
    number = code(error)
    text = " ".join(str(error.args[-1] if error.args else error).split()) or "connection closed"
    # a full disk is told by the system's error number, 28, inside messages of several kinds
    if number in _NO_ROOM or "No space left" in text or "Errcode: 28" in text:
        return StoreFull(
            f"{place}: no room to write ({text}); free some space on the server, then run the "
            "same command again"
        )
    remedy = _REMEDIES.get(number) or (_CHECK_SERVER if is_lost(error) else "")
    return StoreError(f"{place}: {text} ({number})" + (f"; {remedy}" if remedy else ""))
