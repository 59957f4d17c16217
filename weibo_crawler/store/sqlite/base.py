"""What the SQLite stores share: opening, transactions, schema versions, errors in plain words.

One file may hold several components ("users", "tables"); each has its own line in the table
`schema_versions` and its own migrations. The file is in WAL mode: readers see a snapshot and never
wait for a writer. A commit survives the death of the process; a power cut may lose the last ones,
never the file's consistency (synchronous = NORMAL). Where the disk has no room for what is in the
log, the commits are safe there: whoever closes the file says so.

A file that may not be written, or a folder that may not, is read as it is: nothing is written to it
or beside it, and whoever writes gets ReadOnly.
"""

import errno
import logging
import os
import resource as limits
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from weibo_crawler.config import resolve
from weibo_crawler.errors import (
    BadConfig,
    NoStore,
    ReadOnly,
    StoreError,
    StoreFull,
    masked,
)
from weibo_crawler.store.sql.cursor import Cursor, check_schema

_log = logging.getLogger(__name__)
T = TypeVar("T")
_SCHEME = "sqlite:///"
_BUSY_S = 30.0
_TURN_S, _LOOK_S = 0.0005, 0.01  # how often a writer, and who opens a file, look if it is free
# of a new file: most posts then fit into their page without an overflow page, and take less space
_PAGE_BYTES = 8192
# the log is copied into the file when it is so long. SQLite's own 4 MB are two transactions of a
# harvest: with 1.5 million users a fan page cost twice as much
_LOG_BYTES = 64 * 1024 * 1024

_VERSIONS = """
    CREATE TABLE IF NOT EXISTS schema_versions (
        component TEXT PRIMARY KEY,
        version INTEGER NOT NULL
    )
"""
_SET_VERSION = """
    INSERT INTO schema_versions VALUES (?, ?)
    ON CONFLICT (component) DO UPDATE SET version = excluded.version
"""
_REMEDIES = {
    sqlite3.SQLITE_FULL: "free some space, then run the same command again",
    sqlite3.SQLITE_CANTOPEN: "check that it is a file, and that you may write it and its folder",
    sqlite3.SQLITE_PERM: "check that you may write the file and its folder",
    sqlite3.SQLITE_NOTADB: "name another file, or move this one away",
    sqlite3.SQLITE_CORRUPT: "put a copy of it back, or move it away and start again",
    sqlite3.SQLITE_BUSY: "another process holds it: end that one, or wait, then run this again",
    sqlite3.SQLITE_IOERR: "check the disk, then run the same command again",
}
_FILES_EACH = 4  # the database, its log, the index of that, and a folder
_MAKERS = {  # of each component that a command may miss, what makes it
    "users": "(nobody was seeded there): weibo-crawler seed FILE|UID",
    "tables": "(nobody was imported there): weibo-crawler import, or init,",
}
# what SQLite and Python say of bytes that nobody has written there, in pages that are whole
_DAMAGED = ("Could not decode to UTF-8", "malformed JSON")
# the disk is full, or a quota or a limit on file sizes is reached: SQLite sees a failed write
_NO_ROOM = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
)


class Database:
    """A component's connections to one file: one a thread, opened at its first use.

    Opening creates the file and brings `component` up to `migrations`: script i leads from version
    i to i + 1, all of them run in one transaction. create=False: NoStore where the file or the
    component in it is missing. Methods raise BadConfig for a wrong address, StoreError, StoreFull,
    NewerSchema, ReadOnly.
    """

    def __init__(
        self,
        url: str,
        component: str,
        migrations: Sequence[str | None],
        page_bytes: int = _PAGE_BYTES,
        *,
        create: bool = True,
    ) -> None:
        self.path = database_path(url)
        self._create = create
        self._page_bytes = page_bytes  # of a new file
        self.component = component
        self.made = False  # whether opening created or upgraded the component
        self._migrations = migrations
        self._by_thread: dict[int, sqlite3.Connection] = {}
        self._file: tuple[int, int] | None = None  # of the file that the connections are to
        _databases.add(self)

    clock = "(julianday('now') - 2440587.5) * 86400.0"  # to the millisecond

    def upsert(self, key: str, *columns: str) -> str:
        sets = ", ".join(f"{column} = excluded.{column}" for column in columns)
        return f"ON CONFLICT ({key}) DO UPDATE SET {sets}"

    def or_leave(self, key: str) -> str:
        return "ON CONFLICT DO NOTHING"

    def conn(self) -> sqlite3.Connection:
        """The connection of the calling thread."""
        # the number of a thread that ended may be given to a new one, which then takes over
        me = threading.get_ident()
        conn = self._by_thread.get(me)
        if conn is None:
            conn = self._by_thread[me] = self._open()
        # a file that was deleted still takes writes, which nobody would ever read
        if _file_id(self.path) != self._file:
            raise StoreError(f"{self.path}: the file was removed or replaced while in use")
        return conn

    def read(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        with self.translated():
            return self.conn().execute(sql.replace("%s", "?"), values).fetchall()

    def write(self, sql: str, values: Sequence[object] = ()) -> int:
        """See `sql.cursor.Database`. In a transaction, though it is one statement: else it waits by
        SQLite's long sleeps, and others that take turns hardly ever leave the file alone when one
        ends."""
        return self.transaction(lambda cursor: cursor.execute(sql, values))

    def transaction(self, work: Callable[[Cursor], T]) -> T:
        """See `sql.cursor.Database`, and `immediate`."""
        with self.translated(), immediate(self.conn()) as conn:
            return work(Statements(conn))

    def translated(self) -> AbstractContextManager[None]:
        """SQLite's errors inside are raised as StoreError with the file's path."""
        return translated(self.path)

    def close(self) -> None:
        """Close all connections; no thread may be using one. Later use opens them again."""
        while self._by_thread:
            conn = self._by_thread.popitem()[1]
            if not self._by_thread:
                _empty_log(conn, self.path)
            conn.close()

    def _open(self) -> sqlite3.Connection:
        if not self._create:
            _look_for(self.path, self.component)
        if may_only_be_read(self.path):
            conn = _connect_to_read(self.path)
        else:
            conn = _connect(self.path, create=self._create, page_bytes=self._page_bytes)
        try:
            with self.translated():
                self.made |= migrate(conn, self.path, self.component, self._migrations)
        except BaseException:
            conn.close()
            raise
        if not self._by_thread:
            self._file = _file_id(self.path)
        return conn

    def _before_fork(self) -> None:
        conn = self._by_thread.get(threading.get_ident())
        if conn is not None and not conn.in_transaction:
            del self._by_thread[threading.get_ident()]
            conn.close()

    def _in_child(self) -> None:
        _inherited.extend(self._by_thread.values())
        self._by_thread = {}


class Statements:
    """A cursor that takes %s for a parameter."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._cursor = conn.cursor()

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        return self._cursor.execute(sql.replace("%s", "?"), tuple(values)).rowcount

    def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> int:
        return self._cursor.executemany(sql.replace("%s", "?"), rows).rowcount

    def fetchall(self) -> Sequence[Any]:
        return self._cursor.fetchall()


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def database_path(url: str) -> Path:
    """`sqlite:///f.db` is relative to the base folder (config.resolve), `sqlite:////f.db` absolute;
    `config.load` has made absolute what a settings file said.

    BadConfig where it is neither.
    """
    if not url.startswith(_SCHEME) or url.endswith("/"):
        raise BadConfig(
            f"{masked(url)!r} is no SQLite address: use sqlite:///file.db (relative) "
            "or sqlite:////folder/file.db (absolute)"
        )
    return resolve(url[len(_SCHEME) :])


@contextmanager
def immediate(conn: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One write transaction: all of it is committed, or, at any exception, nothing.

    IMMEDIATE takes the write lock before anything is read: a transaction that reads first and then
    wants to write fails at once where another wrote in between, whatever the busy timeout.
    """
    try:
        _begin(conn)
        yield conn
        conn.execute("COMMIT")
    except BaseException:
        # SQLite rolls back by itself after some errors, such as a full disk
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


def _begin(conn: sqlite3.Connection) -> None:
    """Begin when no other writer does. SQLite's own waiting sleeps for longer and longer, up to a
    tenth of a second: of two processes that write all the time each would mostly sleep."""
    try:
        conn.execute("PRAGMA busy_timeout = 0")
        _when_free(conn, "BEGIN IMMEDIATE", _TURN_S)
    finally:
        conn.execute(f"PRAGMA busy_timeout = {int(_BUSY_S * 1000)}")


def _when_free(conn: sqlite3.Connection, sql: str, look_s: float) -> sqlite3.Cursor:
    """Run a statement when nobody else holds the file, looking each look_s whether it is so."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            return conn.execute(sql)
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(look_s)


def _empty_log(conn: sqlite3.Connection, path: Path) -> None:
    """Copy the log into the file, as SQLite does when the last connection closes; but SQLite does
    not tell where that fails, and a log that stays is easily lost: a copy of the file lacks it."""
    if conn.in_transaction:
        return
    try:
        with translated(path):
            conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()  # waits for nobody
    except StoreFull:
        log = path.with_name(path.name + "-wal")
        _log.warning(
            "%s: no room for what its log holds. All that was stored is safe there, in %s "
            "(%.1f MB): keep both and free some space; the next command moves it into the file",
            *(path, log, log.stat().st_size / 1e6),
        )
    except StoreError:
        return  # whoever reads or writes next is told: this one only closes


def schema_version(conn: sqlite3.Connection, component: str) -> int:
    """The version of this component in the file, 0 where it is not there yet."""
    if not conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_versions'").fetchone():
        return 0
    row = conn.execute(
        "SELECT version FROM schema_versions WHERE component = ?", (component,)
    ).fetchone()
    return int(row[0]) if row else 0


def migrate(
    conn: sqlite3.Connection, path: Path, component: str, migrations: Sequence[str | None]
) -> bool:
    """Bring the component to version len(migrations); True where there was something to do.

    NewerSchema where the file is ahead of that, StoreError where no release has made what it holds;
    nothing is written then.
    """
    version = schema_version(conn, component)
    if version == len(migrations):
        return False
    if 0 < version < len(migrations) and may_only_be_read(path):
        raise ReadOnly(
            f"{path}: {component} have schema version {version}, this program reads "
            f"{len(migrations)}, and the file may not be written: copy it to a folder of yours, "
            "and name that"
        )
    with immediate(conn):
        version = schema_version(conn, component)  # another process may have been first
        check_schema(version, migrations, f"{path}: {component}", "file")
        conn.execute(_VERSIONS)
        for script in filter(None, migrations[version:]):
            for statement in _statements(script):
                conn.execute(statement)
        conn.execute(_SET_VERSION, (component, len(migrations)))
    return version < len(migrations)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into StoreError or StoreFull: one line with the path and the remedy.

    Errors of our own making, such as a broken constraint or a closed connection, pass through.
    """
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError, sqlite3.InterfaceError):
        raise
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code in _NO_ROOM:
            remedy = _REMEDIES[sqlite3.SQLITE_FULL]
            raise StoreFull(f"{path}: no room to write ({error}); {remedy}") from error
        if code & 0xFF == sqlite3.SQLITE_READONLY:
            raise ReadOnly(
                f"{path}: the file or its folder may not be written: reading is all that works "
                "there; name another, or get the permission"
            ) from error
        if code & 0xFF == sqlite3.SQLITE_CANTOPEN and _are_files_used_up():
            soft, _ = limits.getrlimit(limits.RLIMIT_NOFILE)
            raise StoreError(
                f"{path}: cannot be opened: it needs more open files than are left of the {soft} "
                "that this process may have; raise that number (ulimit -n), then run the same "
                "command again"
            ) from error
        if str(error).startswith(_DAMAGED):
            raise damaged(path) from error
        found = _REMEDIES.get(code & 0xFF)  # the low byte is the kind, the rest its details
        raise StoreError(f"{path}: {error}" + (f"; {found}" if found else "")) from error


def _are_files_used_up() -> bool:
    """Whether this process can open no more files, or fewer than a database needs."""
    held: list[int] = []
    try:
        held.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(_FILES_EACH))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for file in held:
            os.close(file)
    return False


def damaged(path: Path) -> StoreError:
    """What to say of a file that holds bytes which nobody has written there."""
    remedy = _REMEDIES[sqlite3.SQLITE_CORRUPT]
    return StoreError(f"{path}: damaged: it holds what nobody has written there; {remedy}")


def _connect(path: Path, *, create: bool, page_bytes: int = _PAGE_BYTES) -> sqlite3.Connection:
    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path}: cannot create its folder: {error.strerror}") from error
        _make_private(path)
    with translated(path):
        conn = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            conn.execute(f"PRAGMA page_size = {page_bytes}")
            conn.execute("PRAGMA synchronous = NORMAL")
            # what is deleted leaves the file as well; costs nothing that could be measured
            conn.execute("PRAGMA secure_delete = ON")
            _use_wal(conn, path)
            (page_bytes,) = conn.execute("PRAGMA page_size").fetchone()  # an old file keeps its own
            conn.execute(f"PRAGMA wal_autocheckpoint = {_LOG_BYTES // page_bytes}")
        except BaseException:
            conn.close()
            raise
    return conn


def may_only_be_read(path: Path) -> bool:
    """Whether the file is there, and it or its folder, for the logs, may not be written."""
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection to a file that may only be read; it makes nothing beside it.

    The log, f.db-wal, holds commits that are not in the file yet; its index, f.db-shm, is there
    while somebody writes, and in a snapshot of that time. A log without an index is read by a
    connection that takes no locks and indexes it in memory. A file without a log does not change.
    """
    log, index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    is_logged, is_indexed = log.exists() and log.stat().st_size > 0, index.exists()
    how = "" if is_indexed and log.exists() else "vfs=unix-none" if is_logged else "immutable=1"
    address = f"{path.absolute().as_uri()}?mode=ro&{how}"
    with translated(path):
        conn = sqlite3.connect(
            address, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, uri=True
        )
        if how.startswith("vfs"):
            conn.execute("PRAGMA locking_mode = EXCLUSIVE")  # of itself: the index is not shared
    return conn


def _look_for(path: Path, component: str) -> None:
    """Raise NoStore where the file does not hold the component; nothing is written, not even the
    file's mode, which may be another program's."""
    if path.exists():
        is_closed = may_only_be_read(path)
        opened = _connect_to_read(path) if is_closed else sqlite3.connect(path, timeout=_BUSY_S)
        with translated(path), closing(opened) as conn:
            if schema_version(conn, component):
                return
    raise NoStore(
        f"{path}: there is no such store of {component} {_MAKERS[component]} makes it, or name "
        f"another by store.{component}"
    )


def _make_private(path: Path) -> None:
    """Create the file for its owner alone, whatever the umask; SQLite gives its log the same mode.
    A file that is there is not opened: to close it would drop this process's locks on it."""
    with suppress(OSError):  # it is there, or SQLite says what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _use_wal(conn: sqlite3.Connection, path: Path) -> None:
    """The switch to WAL needs the file alone and, unlike everything else, does not always wait for
    it: processes that create the file at the same moment must ask again."""
    (mode,) = _when_free(conn, "PRAGMA journal_mode = WAL", _LOOK_S).fetchone()
    if mode != "wal":
        raise StoreError(f"{path}: no WAL mode here (a network folder?): use a local disk")


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; sqlite3's own executescript would commit before it begins."""
    statement = ""
    for part in script.split(";"):
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            if statement.strip() != ";":
                yield statement
            statement = ""


# A connection must not go through a fork: in the child SQLite takes the parent's file locks for its
# own, so even a new connection there would hold none, and the parent, closing as "the last one",
# would delete the log that the child writes to. So the forking thread's connections are closed
# before (and opened again when needed); those of other threads are never touched, nor closed, in
# the child.
_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()
_inherited: list[sqlite3.Connection] = []


def _close_before_fork() -> None:
    for database in list(_databases):
        database._before_fork()


def _forget_in_child() -> None:
    for database in list(_databases):
        database._in_child()


os.register_at_fork(before=_close_before_fork, after_in_child=_forget_in_child)
