"""What the MariaDB/MySQL stores share: addresses, sessions, whole transactions that are run again.

MariaDB 10.6 or newer, MySQL 8 or newer (9.7 was tried by hand). A connection serves one thread of
one process and is thrown away at any error: the server then rolls back what it had begun, however
far the protocol got. What may be tried again is tried again as a whole transaction.
"""

import logging
import os
import random
import re
import secrets
import ssl
import struct
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.cursors import Cursor

from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.store.mysql.errors import code, is_lost, is_transient, translated
from weibo_crawler.store.mysql.schema import SET_UP, Migrations, migrate, sweep
from weibo_crawler.store.options import TLS, read_options

T = TypeVar("T")
_log = logging.getLogger(__name__)
_PORT = 3306
_CONNECT_S, _ANSWER_S = 10, 120  # counting ten million rows takes some seconds
_GREETING_S = 20  # a server that looks up names where no name server answers is slow to greet
_PATIENCE_S = 90.0  # how long one call is tried again: a server restarts in less
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.01, 2.0
# a process paused inside a transaction (SIGSTOP, a lost network) holds its locks up to _IDLE_S,
# then the server ends it; whoever waits for them waits longer, so that the wait succeeds
_IDLE_S, _LOCK_WAIT_S = 15, 20
_OLDEST = {"MariaDB": (10, 6), "MySQL": (8, 0)}  # the first with SKIP LOCKED
_FORM = "use mysql://user@host:port/database, or mysql://user@host/database?ssl_ca=FILE for TLS"
_OPTIONS = (*TLS, "socket")


class Address(NamedTuple):
    """Where a database is; str() is what errors name. ssl_ca: a file; the server must prove itself
    by it. Without it TLS is used where the server offers it, unverified. ssl_cert, ssl_key: files
    by which we prove ourselves. socket: of this machine, in place of host and port."""

    user: str
    host: str
    port: int
    database: str
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    socket: str | None = None

    def __str__(self) -> str:
        if self.socket:
            return f"mysql://{self.host}/{self.database}?socket={self.socket}"
        return f"mysql://{self.host}:{self.port}/{self.database}"

    def way(self) -> dict[str, Any]:
        """What leads there, in pymysql's words."""
        if self.socket:
            return {"unix_socket": self.socket}
        if not self.ssl_ca:
            return {}
        verified = {"ssl_verify_cert": True, "ssl_verify_identity": True}
        ours = {"ssl_cert": self.ssl_cert, "ssl_key": self.ssl_key or self.ssl_cert}
        return {"ssl_ca": self.ssl_ca, **verified, **(ours if self.ssl_cert else {})}


class _Connection(Connection):  # type: ignore[misc]
    """pymysql's. Where the server needs not prove itself, it reads no authorities: OpenSSL takes
    longer for those of the system than a connection for all else."""

    def _create_ssl_ctx(self, sslp: dict[str, Any]) -> ssl.SSLContext:
        if sslp:
            return super()._create_ssl_ctx(sslp)  # type: ignore[no-any-return]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


class _Session:
    """One connection. name and commits tell a transaction from all others ever made."""

    def __init__(self, conn: "Connection[Cursor]") -> None:
        self.conn, self.name, self.commits = conn, secrets.token_bytes(16), 0

    def run(self, sql: str, values: Sequence[object] = ()) -> tuple[int, Sequence[Any]]:
        """How many rows it met, and the rows it gives."""
        with self.conn.cursor() as cursor:
            return cursor.execute(sql, values or None), cursor.fetchall()


class Database:
    """A component's sessions on one database: one a thread and process, opened at its first use.

    Opening brings `component` up to `migrations`. Methods raise StoreError, StoreFull, NewerSchema;
    the constructor BadConfig for an address of another form. The password is in no text. waits:
    whether a server that has not answered yet is waited for, like one that has.
    """

    def __init__(
        self,
        url: str,
        password: str | None,
        component: str,
        migrations: Migrations,
        *,
        waits: bool = False,
    ) -> None:
        self.address = parse_address(url)
        self._password = password
        self._component, self._migrations = component, migrations
        self._by_thread: dict[int, _Session] = {}
        self._pid = os.getpid()
        self._reached = waits  # a server that never answered is not waited for
        self._is_said = False  # that it is away

    # not UNIX_TIMESTAMP(NOW()): an hour of the server's local time comes twice a year
    clock = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1e6"

    def upsert(self, key: str, *columns: str) -> str:
        sets = ", ".join(f"{column} = VALUES({column})" for column in columns)
        return f"ON DUPLICATE KEY UPDATE {sets}"

    def or_leave(self, key: str) -> str:
        return f"ON DUPLICATE KEY UPDATE {key} = {key}"

    def read(self, sql: str, values: Sequence[object] = ()) -> Sequence[Any]:
        """The rows of one statement: a snapshot of its own."""
        return self._retried(lambda session: session.run(sql, values))[1]

    def write(self, sql: str, values: Sequence[object] = ()) -> int:
        return self._retried(lambda session: session.run(sql, values))[0]

    def transaction(self, work: Callable[[Cursor], T]) -> T:
        """Run `work` in one READ COMMITTED transaction: all of it once, or nothing.

        `work` is called again, in a new transaction, after a deadlock, a lock wait or a lost
        connection, so all that it knows must come from its cursor. Where the connection is lost
        while COMMIT is under way, the transaction itself tells whether it was committed: each one
        leaves its session's name and number in `commits`. Then `work` is not called again and the
        caller gets what it returned; otherwise entries once claimed would be claimed by nobody, and
        pages once stored would be called lost.
        """
        return self._retried(partial(self._transact, work))

    def close(self) -> None:
        """Close all sessions; no thread may be using one. Later use opens them again."""
        self._leave_after_fork()
        while self._by_thread:
            self._by_thread.popitem()[1].conn.close()

    # -- one call

    def _retried(self, call: Callable[[_Session], T]) -> T:
        deadline, delay, tries = None, _FIRST_DELAY_S, 0
        while True:
            tries += 1
            try:
                result = call(self._session())
                self._is_said = False
                return result
            except pymysql.MySQLError as error:
                self._drop()
                deadline = deadline or time.monotonic() + _PATIENCE_S
                hopeless = not is_transient(error) or (is_lost(error) and not self._reached)
                if hopeless or time.monotonic() > deadline:
                    raise translated(error, str(self.address)) from error
                # a session that the server had ended is opened again at once
                if is_lost(error) and tries > 1 and not self._is_said:
                    self._is_said = True
                    why = translated(error, str(self.address))
                    _log.warning("%s; waiting for it, %.0f s at most", why, _PATIENCE_S)
            except BaseException:  # such as Ctrl-C between a question and its answer
                self._drop()
                raise
            time.sleep(random.uniform(delay / 2, delay))
            delay = min(2 * delay, _LONGEST_DELAY_S)

    def _transact(self, work: Callable[[Cursor], T], session: _Session) -> T:
        conn = session.conn
        conn.begin()
        with conn.cursor() as cursor:
            result = work(cursor)
            session.commits += 1
            cursor.execute(
                "INSERT INTO commits (session, number, at) VALUES (%s, %s, UTC_TIMESTAMP()) "
                "ON DUPLICATE KEY UPDATE number = VALUES(number), at = VALUES(at)",
                (session.name, session.commits),
            )
        try:
            conn.commit()
        except pymysql.MySQLError as error:
            if not is_lost(error):
                raise
            self._drop()
            if not self._is_committed(session):
                raise
        return result

    def _is_committed(self, session: _Session) -> bool:
        # the locking read waits where the server is still busy with that COMMIT, or has not yet
        # noticed that the connection is gone
        sql = "SELECT 1 FROM commits WHERE session = %s AND number = %s FOR UPDATE"
        return bool(self.read(sql, (session.name, session.commits)))

    # -- sessions

    def _session(self) -> _Session:
        self._leave_after_fork()
        # the number of a thread that ended may be given to a new one, which then takes over
        me = threading.get_ident()
        session = self._by_thread.get(me)
        if session is None:
            session = self._by_thread[me] = self._open()
        return session

    def _leave_after_fork(self) -> None:
        """A forked child forgets its parent's sessions: pymysql then closes the child's copies of
        the sockets without a word to the server, and the parent's go on."""
        if self._pid != os.getpid():
            self._by_thread, self._pid = {}, os.getpid()

    def _drop(self) -> None:
        session = self._by_thread.pop(threading.get_ident(), None)
        if session is not None:
            session.conn.close()

    def _open(self) -> _Session:
        session = _Session(connect(self.address, self._password, _ANSWER_S))
        try:
            _, ((version,),) = session.run("SELECT VERSION()")
            self._reached = True
            check_version(str(self.address), version)
            # MySQL can only end idle sessions of any kind; they are opened again at their next use
            how = "idle_transaction_timeout" if "MariaDB" in version else "wait_timeout"
            for statement in SET_UP:
                session.run(statement)
            session.run(f"SET SESSION innodb_lock_wait_timeout = {_LOCK_WAIT_S}, {how} = {_IDLE_S}")
            with session.conn.cursor() as cursor:
                migrate(cursor, str(self.address), self._component, self._migrations)
                sweep(cursor)
        except BaseException:
            session.conn.close()
            raise
        return session


def connect(at: Address, password: str | None, answer_s: float) -> "Connection[Cursor]":
    """A connection that commits each statement. Raises pymysql's errors, and StoreError."""
    greeting_s = min(_GREETING_S, answer_s)
    try:
        conn = _Connection(
            host=at.host,
            port=at.port,
            user=at.user,
            password=(password or "").encode(),  # text pymysql would take for latin-1
            database=at.database,
            charset="utf8mb4",
            autocommit=True,
            binary_prefix=True,
            connect_timeout=min(_CONNECT_S, answer_s),
            read_timeout=greeting_s,
            write_timeout=answer_s,
            program_name="weibo-crawler",
            **at.way(),
        )
    except pymysql.MySQLError as error:
        is_other_form = isinstance(error, pymysql.InternalError) and code(error) == 0
        if code(error) != CR.CR_SERVER_LOST and not is_other_form:
            raise
        raise _not_greeted(greeting_s, error) from error
    except (struct.error, IndexError, UnicodeDecodeError) as error:  # of another form, too
        raise _not_greeted(greeting_s, error) from error
    except (RuntimeError, OSError) as error:  # no cryptography package, no such file
        raise StoreError(f"{at}: {error}") from error
    # pymysql has no setting for the greeting alone, which tells whether MariaDB is there at all
    conn._read_timeout = answer_s
    return conn


def _not_greeted(greeting_s: float, error: Exception) -> pymysql.OperationalError:
    """Counts as a lost connection: a server that goes down, too, hangs up instead of greeting."""
    return pymysql.OperationalError(
        CR.CR_SERVER_LOST,
        f"who listens there does not greet as MariaDB and MySQL do within {greeting_s:g} s "
        f"({error.args[-1] if error.args else error})",
    )


def check_version(place: str, version: str) -> None:
    """StoreError where the server is too old."""
    kind = "MariaDB" if "MariaDB" in version else "MySQL"
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < _OLDEST[kind]:
        oldest = ".".join(map(str, _OLDEST[kind]))
        raise StoreError(f"{place}: {kind} {version} is too old: use {oldest} or newer")


def parse_address(url: str) -> Address:
    """`mysql://user@host[:3306]/database[?ssl_ca=FILE[&ssl_cert=FILE[&ssl_key=FILE]]|?socket=FILE]`,
    the user's name percent-encoded. ssl_cert may hold the key as well.

    BadConfig where it is not, without the url's text: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or _PORT
    except ValueError:
        raise BadConfig(f"store.users is no MySQL address: {_FORM}") from None
    if parts.password is not None:
        raise BadConfig(
            "store.users holds a password: put it into WEIBO_STORE__PASSWORD or a file that "
            f"store.password_file names, and {_FORM}"
        )
    user, host, database = parts.username, parts.hostname, parts.path.removeprefix("/")
    extra = "/" in database or parts.fragment
    if parts.scheme != "mysql" or not user or not host or not database or extra:
        raise BadConfig(f"store.users is no MySQL address: {_FORM}")
    files = read_options(parts.query, "store.users", _OPTIONS, _FORM)
    if "socket" in files and len(files) > 1:
        raise BadConfig(f"store.users: TLS is not for a socket: {_FORM}")
    return Address(unquote(user), host, port, unquote(database), **files)
