"""The tables in SQLite keep the contract of the tables, and what only a file can be asked for."""

import logging
import multiprocessing
import os
import resource
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue

import pytest

from tests.contracts.table_processes import ROWS
from tests.contracts.tables import TableContract, kill_a_writer
from tests.processes import CLEAN
from weibo_crawler import config
from weibo_crawler.errors import BadConfig, NewerSchema, NoStore, StoreError, StoreFull
from weibo_crawler.home import Home
from weibo_crawler.store import Cell, Put, Row, Tables
from weibo_crawler.store.sqlite import base
from weibo_crawler.store.sqlite import tables as module
from weibo_crawler.store.sqlite.base import Database, immediate
from weibo_crawler.store.sqlite.tables import SqliteTables

FORK = multiprocessing.get_context("fork")


def open_database(url: str) -> sqlite3.Connection:
    """Another connection, as a store opens it."""
    return base._connect(base.database_path(url), create=True)


class TestSqliteTables(TableContract):
    def opener(self, folder: Path) -> Callable[[], Tables]:
        return partial(SqliteTables, f"sqlite:///{folder}/tables.db")


class TestSqliteTablesInTinyPages(TestSqliteTables):
    """The same where every scan turns a page after each row or two."""

    @pytest.fixture(autouse=True)
    def _tiny_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_PAGE_ROWS", 2)
        monkeypatch.setattr(module, "_PAGE_BYTES", 60)
        monkeypatch.setattr(module, "_PAGE_KEYS", 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "tables.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


def check_file(path: Path) -> None:
    conn = sqlite3.connect(path)
    assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    conn.close()


def test_as_many_counts_are_kept_as_the_settings_say(
    url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """posts.keep_versions is of the counts alone; what is over it leaves the file, too."""
    monkeypatch.setenv("WEIBO_STORE__TABLES", url)
    monkeypatch.setenv("WEIBO_POSTS__KEEP_VERSIONS", "7")
    monkeypatch.setenv("WEIBO_STORE__USERS", f"sqlite:///{path.parent}/users.db")
    with Home(config.load()) as home:
        for ts in range(1, 41):
            home.tables.posts.put([Put("e5-1-1", {"count:likes": str(ts), "post:text": "a"}, ts)])
        kept = home.tables.posts.versions("e5-1-1", "count:likes")
        assert kept == [Cell(ts, str(ts)) for ts in range(40, 33, -1)]
        assert len(home.tables.posts.versions("e5-1-1", "post:text")) == 5
    held = "SELECT COUNT(*) FROM cells_posts WHERE family = 'count'"
    with sqlite3.connect(path) as conn:
        assert conn.execute(held).fetchone()[0] <= 2 * 7
    conn.close()


# -- whole puts


def test_a_killed_writer_leaves_whole_puts(url: str, path: Path) -> None:
    """Law 8: after kill -9 each put is there with all its rows or with none."""
    for _ in range(3):
        kill_a_writer(partial(SqliteTables, url), after=4)
    tables = SqliteTables(url)
    rows = Counter(key.split("-")[1] for key in tables.posts.keys("") if key != "shared")
    assert set(rows.values()) == {ROWS}
    shared = tables.posts.row("shared")
    assert shared == {f"post:0-{int(number)}": "here" for number in rows}
    tables.close()
    check_file(path)


def test_a_failing_transaction_leaves_nothing(url: str) -> None:
    """immediate() commits all or, at any exception, nothing, and the connection goes on."""
    db = Database(url, "things", ["CREATE TABLE things (n INTEGER PRIMARY KEY)"])
    conn = db.conn()

    def write(n: int, then: BaseException | None) -> None:
        with db.translated(), immediate(conn):
            conn.execute("INSERT INTO things VALUES (?)", (n,))
            if then is not None:
                raise then
            conn.execute("INSERT INTO things VALUES (?)", (n,))

    with pytest.raises(KeyboardInterrupt):
        write(1, KeyboardInterrupt())
    with pytest.raises(sqlite3.IntegrityError):
        write(2, None)
    with immediate(conn):
        conn.execute("INSERT INTO things VALUES (3)")
    assert conn.execute("SELECT n FROM things").fetchall() == [(3,)]
    db.close()


# -- no room


def fill_up(url: str, written: Connection) -> None:
    """In a process whose files may not grow over 4 MB: write until there is no room."""
    tables = SqliteTables(url)
    tables.create()
    limit = 4 * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    number = 0
    try:
        while True:
            tables.posts.put(_big_rows(number))
            number += 1
    except StoreFull as error:
        written.send((number, str(error)))
    kept = sum(1 for _ in tables.posts.keys(""))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    tables.posts.put(_big_rows(number))  # as the error says: the same again, when there is room
    written.send((kept, sum(1 for _ in tables.posts.keys(""))))
    tables.close()


def _big_rows(number: int) -> list[Put]:
    return [Put(f"{number:03d}-{i}", {"raw:json": "x" * 30_000}, 1) for i in range(10)]


def test_a_full_disk_is_named_and_survived(url: str, path: Path) -> None:
    """No room: StoreFull with path and remedy, earlier puts are whole, and with room it goes on."""
    receiver, sender = CLEAN.Pipe(duplex=False)
    process = CLEAN.Process(target=fill_up, args=(url, sender))
    process.start()
    sender.close()
    number, error = receiver.recv()
    kept, after = receiver.recv()
    process.join()
    assert process.exitcode == 0
    assert number > 0
    assert str(path) in error
    assert "free some space" in error
    assert "\n" not in error
    assert kept == number * 10
    assert after == kept + 10
    check_file(path)
    receiver.close()


def leave_in_log(url: str, told: Connection) -> None:
    """In a process whose files may not grow over 4 MB: 3 MB of which some are in the file, some in
    the log, twice; what is logged meanwhile."""
    tables = SqliteTables(url)
    tables.create()
    limit = 4 * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    logged: Queue[logging.LogRecord] = Queue()
    logging.getLogger().addHandler(QueueHandler(logged))
    for number in range(18):
        if number == 9:
            tables.close()
            tables = SqliteTables(url)
        tables.posts.put(_big_rows(number))
    quiet = logged.qsize()
    tables.close()
    tables = SqliteTables(url, create=False)
    told.send((quiet, logged.get(timeout=10).getMessage(), [*tables.posts.keys("")]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    tables.close()


def test_commits_that_only_the_log_has_room_for_are_told(url: str, path: Path) -> None:
    """Who closes a file that has no room for its log says where the commits are: all are there, and
    in the file as soon as there is room."""
    receiver, sender = CLEAN.Pipe(duplex=False)
    process = CLEAN.Process(target=leave_in_log, args=(url, sender))
    process.start()
    sender.close()
    quiet, told, kept = receiver.recv()
    process.join()
    receiver.close()
    assert quiet == 0
    assert told.startswith(f"{path}: no room for what its log holds")
    assert f"safe there, in {path}-wal (" in told
    assert "free some space" in told
    assert len(kept) == 180
    assert not path.with_name(path.name + "-wal").exists()
    check_file(path)


def test_a_full_database_is_named_and_survived(url: str, path: Path) -> None:
    """The same where SQLite itself says that the database is full."""
    tables = SqliteTables(url)
    tables.posts.put(_big_rows(0))
    conn = tables._db.conn()
    (pages,) = conn.execute("PRAGMA page_count").fetchone()
    conn.execute(f"PRAGMA max_page_count = {pages + 3}")
    with pytest.raises(StoreFull, match="no room to write"):
        tables.posts.put(_big_rows(1))
    assert sum(1 for _ in tables.posts.keys("")) == 10
    conn.execute("PRAGMA max_page_count = 100000")
    tables.posts.put(_big_rows(1))
    assert sum(1 for _ in tables.posts.keys("")) == 20
    tables.close()
    check_file(path)


# -- files that are not ours, or not yet, or no more


def test_a_newer_schema_is_refused(url: str, path: Path) -> None:
    """A file of a later version of the program is neither read nor written."""
    tables = SqliteTables(url)
    tables.posts.put([Put("k", {"post:text": "x"}, 1)])
    tables.close()
    conn = sqlite3.connect(path)
    with conn:
        conn.execute("UPDATE schema_versions SET version = 99")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    conn.close()
    before = path.read_bytes()
    newer = SqliteTables(url)
    for call in (
        newer.create,
        partial(newer.posts.row, "k"),
        partial(newer.posts.put, _big_rows(0)),
    ):
        with pytest.raises(NewerSchema, match=r"schema version 99.*upgrade") as caught:
            call()
        assert str(path) in str(caught.value)
    newer.close()
    assert path.read_bytes() == before


def test_what_is_no_database_is_refused(url: str, path: Path) -> None:
    """A file of another kind is named and stays as it is."""
    path.parent.mkdir()
    path.write_text("uid,screen_name\n1,云上的猫\n" * 1000)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a database; name another file") as caught:
        SqliteTables(url).create()
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("column", "damage"),
    [("cells", rb"{"), ("cells", b'{"user:id":"\xff"}'), ("cells", b"[]"), ("row_key", b"k\xff")],
)
def test_bytes_that_were_damaged_are_no_fault_of_ours(
    url: str, path: Path, column: str, damage: bytes
) -> None:
    """A file whose pages fit, and that holds what nobody has written there: whoever reads it is
    told which file, and what to do."""
    store = SqliteTables(url)
    store.userlist.put([Put("k", {"user:id": "5"}, 1), Put("k", {"user:id": "6"}, 2)])
    with closing(sqlite3.connect(path)) as conn, conn:
        changed = f"UPDATE cells_userlist SET {column} = CAST(? AS TEXT) WHERE ts = 1"
        conn.execute(changed, (damage,))
    table = store.userlist
    key = "k" if column == "cells" else damage.decode("utf-8", "surrogateescape")
    reads: list[Callable[[], object]] = [lambda: list(table.scan())]
    if column == "cells":
        reads += [
            lambda: table.row(key),
            lambda: table.rows([key]),
            lambda: table.versions(key, "user:id"),
            lambda: list(table.states(key)),
            lambda: table.delete(key, ["user:id"]),
        ]
    for read in reads:
        with pytest.raises(StoreError) as told:
            read()
        assert str(told.value).startswith(f"{path}: damaged")
        assert "put a copy of it back" in str(told.value)
    store.close()


@pytest.mark.parametrize("left", [0, 2])
def test_a_process_that_may_open_no_more_files_is_told_so(tmp_path: Path, left: int) -> None:
    """SQLite says of the file that it cannot be opened, also where its log is what cannot."""
    url = f"sqlite:///{tmp_path}/t.db"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]  # whatever was free below the last
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1, hard))
        for file in held[:left]:
            os.close(file)
        with pytest.raises(
            StoreError, match=r"left of the \d+ that this process may have; raise that"
        ):
            SqliteTables(url).create()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in held[left:]:
            os.close(file)


def test_a_place_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """A folder, or a folder that cannot be made: one line with the path."""
    with pytest.raises(StoreError, match="unable to open database file; check that it is a file"):
        SqliteTables(f"sqlite:///{tmp_path}").create()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/t\.db: cannot create its folder"):
        SqliteTables(f"sqlite:///{tmp_path}/file/t.db").create()
    with pytest.raises(NoStore, match="there is no such store of tables"):
        SqliteTables(f"sqlite:///{tmp_path}/absent/t.db", create=False).create()
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize(
    "bad", ["t.db", "sqlite://t.db", "sqlite:///", "sqlite:////folder/", "x:///y"]
)
def test_an_address_of_another_form_is_refused(bad: str) -> None:
    """sqlite:///file.db or sqlite:////folder/file.db, nothing else."""
    with pytest.raises(BadConfig, match="no SQLite address"):
        SqliteTables(bad)


def test_a_relative_address_is_meant_from_the_base_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From WEIBO_BASE_DIR where it is set, else from the working folder; folders are made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEIBO_BASE_DIR", str(tmp_path / "base"))
    for name in ("base/data/t.db", "data/t.db"):
        tables = SqliteTables("sqlite:///data/t.db")
        tables.create()
        tables.close()
        assert (tmp_path / name).is_file()
        monkeypatch.delenv("WEIBO_BASE_DIR", raising=False)


def test_a_lock_that_does_not_go_is_named(
    url: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that holds the file for long is waited for, then named as the reason."""
    monkeypatch.setattr(base, "_BUSY_S", 0.05)
    tables = SqliteTables(url)
    tables.create()
    other = open_database(url)
    with immediate(other), pytest.raises(StoreError, match=r"locked; another process holds it"):
        tables.posts.put([Put("k", {"post:text": "x"}, 1)])
    tables.posts.put([Put("k", {"post:text": "x"}, 1)])
    other.close()
    tables.close()


def test_opening_waits_for_one_who_creates(url: str, path: Path) -> None:
    """The switch of a new file to WAL, which SQLite refuses at once while another writes, is asked
    for again."""
    path.parent.mkdir()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, other.execute, ["COMMIT"])
    timer.start()
    conn = open_database(url)
    assert conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    timer.join()
    conn.close()
    other.close()


def test_an_address_is_resolved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All connections of one object lead to one file, even where the working folder changes."""
    monkeypatch.chdir(tmp_path)
    tables = SqliteTables("sqlite:///t.db")
    tables.posts.put([Put("k", {"post:text": "x"}, 1)])
    tables.close()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert tables.posts.row("k") == {"post:text": "x"}
    tables.close()


# -- schema versions


def test_components_share_a_file(url: str) -> None:
    """Each component of a file has its own version and its own migrations."""
    first, second = ["CREATE TABLE one (a)"], "CREATE TABLE two (b); INSERT INTO two VALUES (';')"
    one = Database(url, "one", first)
    tables = SqliteTables(url)
    two = Database(url, "two", [second])
    one.conn()
    tables.posts.put([Put("k", {"post:text": "x"}, 1)])
    assert two.conn().execute("SELECT b FROM two").fetchall() == [(";",)]
    assert dict(two.conn().execute("SELECT * FROM schema_versions")) == {
        "one": 1,
        "tables": 3,
        "two": 1,
    }
    for database in (one, tables, two):
        database.close()
    assert tables.posts.row("k") == {"post:text": "x"}
    tables.close()


def test_an_older_schema_is_brought_up(url: str) -> None:
    """Only the migrations that are missing run, in order, and data stays."""
    steps = [
        "CREATE TABLE t (a)",
        "ALTER TABLE t ADD COLUMN b DEFAULT 7",
        "CREATE INDEX t_b ON t (b); UPDATE t SET b = b + a",
    ]
    old = Database(url, "t", steps[:1])
    old.conn().execute("INSERT INTO t VALUES (1)")
    old.close()
    new = Database(url, "t", steps)
    assert new.conn().execute("SELECT a, b FROM t").fetchall() == [(1, 8)]
    assert new.made
    new.close()
    again = Database(url, "t", steps)
    assert again.conn().execute("SELECT a, b FROM t").fetchall() == [(1, 8)]
    assert not again.made
    again.close()


def test_a_failing_migration_leaves_the_old_schema(url: str) -> None:
    """Migrations run in one transaction: all of them, or none."""
    old = Database(url, "t", ["CREATE TABLE t (a)"])
    old.conn()
    broken = Database(url, "t", ["CREATE TABLE t (a)", "DROP TABLE t", "DROP TABLE absent"])
    with pytest.raises(StoreError, match="no such table"):
        broken.conn()
    old.conn().execute("INSERT INTO t VALUES (1)")
    assert base.schema_version(old.conn(), "t") == 1
    old.close()
    broken.close()


# -- connections


def test_one_connection_a_thread(url: str) -> None:
    """Threads never share a connection; one thread keeps its own."""
    tables = SqliteTables(url)
    found = [tables._db.conn()]
    thread = threading.Thread(target=lambda: found.append(tables._db.conn()))
    thread.start()
    thread.join()
    assert found[0] is tables._db.conn()
    assert found[0] is not found[1]
    tables.close()


def write_around(tables: SqliteTables, parent: Connection) -> None:
    """In a forked child: write before and after the parent closed."""
    tables.posts.put([Put("child", {"post:text": "x"}, 1)])
    parent.send("written")
    parent.recv()
    tables.posts.put([Put("child after", {"post:text": "x"}, 1)])
    tables.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_shares_no_connection(url: str, path: Path) -> None:
    """A forked child has connections and locks of its own: what it writes while, and after, the
    parent closes the file is kept."""
    tables = SqliteTables(url)
    tables.posts.put([Put("before", {"post:text": "x"}, 1)])
    here, there = FORK.Pipe()
    process = FORK.Process(target=write_around, args=(tables, there))
    process.start()
    try:
        here.recv()
        tables.posts.put([Put("parent", {"post:text": "x"}, 1)])
        tables.close()  # were it the last one, it would delete the child's log
        assert path.with_name("tables.db-wal").exists()
        here.send("closed")
        process.join()
    finally:
        process.kill()
        process.join()
        here.close()
        there.close()
    assert process.exitcode == 0
    assert list(tables.posts.keys("")) == ["before", "child", "child after", "parent"]
    tables.close()
    check_file(path)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_inside_a_transaction_leaves_it_to_the_parent(url: str) -> None:
    """The child neither ends nor sees what its parent has begun."""
    db = Database(url, "t", ["CREATE TABLE t (a)"])
    with immediate(db.conn()) as conn:
        conn.execute("INSERT INTO t VALUES (1)")
        pid = os.fork()
        if pid == 0:
            os._exit(0 if not db._by_thread else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert db.conn().execute("SELECT a FROM t").fetchall() == [(1,)]
    db.close()


def test_a_scan_holds_no_lock(url: str) -> None:
    """Between two rows of a scan nothing is open: the log can be emptied and the file changed."""
    tables = SqliteTables(url)
    tables.posts.put([Put(f"{i:05d}", {"post:text": "x"}, 1) for i in range(3000)])
    rows = tables.posts.scan()
    assert next(rows) == Row("00000", {"post:text": "x"})
    other = open_database(url)
    (busy, *_) = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert busy == 0
    other.close()
    assert sum(1 for _ in rows) == 2999
    tables.close()


def test_a_scan_reads_ahead_by_bytes(url: str) -> None:
    """However large the rows are, a scan holds a few megabytes: it meets what changed behind."""
    tables = SqliteTables(url)
    tables.posts.put([Put(f"{i}", {"raw:json": "x" * 1_000_000}, 1) for i in range(10)])
    rows = tables.posts.scan()
    assert next(rows).key == "0"
    tables.posts.delete("9")
    assert [row.key for row in rows] == list("12345678")
    tables.close()


# -- versions


def _records(tables: SqliteTables, name: str) -> int:
    (n,) = tables._db.conn().execute(f"SELECT COUNT(*) FROM cells_{name}").fetchone()
    return int(n)


def test_a_ledger_takes_one_record(url: str) -> None:
    """Families of one version are pruned as they are written: paging does not grow the table."""
    tables = SqliteTables(url)
    for ts in (1, 2, 4, 3):
        tables.userlist.put([Put("k", {"crawl:state": str(ts), "crawl:pages": "9"}, ts)])
    tables.userlist.put([Put("k", {"crawl:state": "5"}, 5)])
    assert tables.userlist.row("k") == {"crawl:state": "5", "crawl:pages": "9"}
    assert tables.userlist.versions("k", "crawl:pages") == [Cell(4, "9")]
    assert _records(tables, "userlist") == 2
    tables.close()


def test_versions_do_not_pile_up(url: str) -> None:
    """What reading leaves out is removed by later puts: however often a cell was written, the file
    keeps about as many versions as the family does."""
    tables = SqliteTables(url)
    for ts in range(1, 500):
        cells = {"post:text": str(ts), "count:likes": str(ts), "raw:json": str(ts)}
        tables.posts.put([Put("k", cells, ts)])
    tables.posts.put([Put("k", {"post:first": "kept"}, 500)])
    assert _records(tables, "posts") <= 2 * (5 + 100 + 1)
    assert [cell.timestamp for cell in tables.posts.versions("k", "count:likes")] == [
        *range(499, 399, -1)
    ]
    assert tables.posts.row("k")["post:first"] == "kept"
    tables.close()
