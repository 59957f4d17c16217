"""Importing: the watermark, changed rows, repairs, and what `--via sqoop` refuses."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from weibo_crawler import config, importer, sqoop_import
from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.importer import Imported, import_users
from weibo_crawler.records import Edge
from weibo_crawler.store import Found, Put
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.rows.cells import user_cells
from weibo_crawler.store.rows.keys import user_key
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.store.sqlite.tables import SqliteTables

NOW = 1_700_000_000.0
CLUSTER = {
    "WEIBO_STORE__USERS": "mysql://weibo@127.0.0.1/weibo",
    "WEIBO_STORE__TABLES": "hbase://127.0.0.1:9090/dev",
}


@pytest.fixture
def users(tmp_path: Path) -> Iterator[SqliteUsers]:
    with closing(SqliteUsers(f"sqlite:///{tmp_path}/users.db")) as users:
        yield users


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[SqliteTables]:
    with closing(SqliteTables(f"sqlite:///{tmp_path}/tables.db")) as tables:
        tables.create()
        yield tables


def seed(users: SqliteUsers, uids: Iterable[int], now: float = NOW) -> None:
    found = [Found(uid, f"https://m.weibo.cn/u/{uid}", f"name {uid}", 50) for uid in uids]
    users.add_seeds(found, "run", now)


def imported(users: SqliteUsers, tables: SqliteTables, *, from_start: bool = False) -> Imported:
    return import_users(users, tables, "here", "run", from_start=from_start)


def is_equal(users: SqliteUsers, tables: SqliteTables) -> bool:
    """Whether the table holds what the users are, and no more."""
    held = {row.key: row.cells for row in tables.userlist.scan()}
    return held == {user_key(row.uid): user_cells(row, "run") for row in users.users()}


class Killed(Exception):
    """As kill -9 between two batches."""


def die(_: int) -> None:
    raise Killed


def test_a_killed_first_import_goes_on(users: SqliteUsers, tables: SqliteTables) -> None:
    """Law 8: what was acknowledged is not brought again, and what changed in it meanwhile is."""
    seed(users, range(1, importer._BLOCK + 501))
    with pytest.raises(Killed):
        import_users(users, tables, "here", "run", die)
    (entry,) = users.claim("me", 1, edges=(), deepest=0, now=time.time(), lease_s=60)
    users.name_seed("me", entry.uid, "another", 9, time.time())
    assert imported(users, tables) == Imported(new=500, changed=1)
    assert is_equal(users, tables)
    assert imported(users, tables) == Imported(0, 0)


def test_what_is_not_known_is_no_cell(users: SqliteUsers, tables: SqliteTables) -> None:
    """A seed whose profile was not read has neither name nor fans; it gets them when it is read."""
    users.add_seeds([Found(1, "url")], "run", time.time())
    assert imported(users, tables) == Imported(1, 0)
    assert is_equal(users, tables)
    assert "user:fans" not in tables.userlist.row(user_key(1))
    users.claim("me", 1, edges=(), deepest=0, now=time.time(), lease_s=60)
    users.name_seed("me", 1, "name", 9, time.time())
    assert imported(users, tables) == Imported(0, 1)
    assert is_equal(users, tables)


def stamps(tables: SqliteTables, uids: Iterable[int]) -> list[list[float]]:
    """Of each user the timestamps of all versions, in seconds."""
    cells = [tables.userlist.versions(user_key(uid), "user:id") for uid in uids]
    return [[cell.timestamp / 1000 for cell in each] for each in cells]


@pytest.fixture
def blocks_of_4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "_BLOCK", 4)


@pytest.mark.usefixtures("blocks_of_4")
@examples(20)
@given(
    waits=st.lists(st.sampled_from([0.0, 0.25, 60.0]), min_size=1, max_size=10),
    imports=st.sets(st.integers(0, 9)),
)
def test_a_block_is_dated_when_its_last_user_was_found(
    waits: list[float], imports: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Law 7: a cell is never older than its user and never of the future. Blocks that were whole
    when they were imported bear one time, the same in any tables and by any number of imports."""
    folder = tmp_path_factory.mktemp("blocks")
    found_at = list(accumulate(waits, initial=NOW))
    uids = range(1, len(found_at) + 1)
    with (
        closing(SqliteUsers(f"sqlite:///{folder}/users.db")) as users,
        closing(SqliteTables(f"sqlite:///{folder}/once.db")) as once,
        closing(SqliteTables(f"sqlite:///{folder}/often.db")) as often,
    ):
        for uid, at in zip(uids, found_at, strict=True):
            seed(users, (uid,), at)
            if uid in imports:
                import_users(users, often, "often", "run")
        import_users(users, often, "often", "run")
        import_users(users, once, "once", "run")
        last = [max(found_at[i - i % 4 : i - i % 4 + 4]) for i in range(len(found_at))]
        assert stamps(once, uids) == [[at] for at in last]
        for own, most, (stamp,) in zip(found_at, last, stamps(often, uids), strict=True):
            assert own <= stamp <= most
        assert is_equal(users, often)


@pytest.mark.usefixtures("blocks_of_4")
def test_a_block_that_is_put_again_adds_no_version(
    users: SqliteUsers, tables: SqliteTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Laws 7 and 8: killed after a put was acknowledged and before the watermark moved."""
    for uid in range(1, 8):
        seed(users, (uid,), NOW + uid)
    with monkeypatch.context() as killed:
        killed.setattr(importer.Watermark, "move", lambda self, seq: die(seq))
        with pytest.raises(Killed):
            imported(users, tables)
    assert stamps(tables, range(1, 5)) == [[NOW + 4]] * 4
    assert stamps(tables, range(5, 8)) in ([[]] * 3, [[NOW + 7]] * 3)  # two puts may be under way
    assert imported(users, tables) == Imported(7, 0)
    assert stamps(tables, range(1, 8)) == [[NOW + 4]] * 4 + [[NOW + 7]] * 3


def test_a_clock_that_is_ahead_dates_nothing_in_the_future(
    users: SqliteUsers, tables: SqliteTables
) -> None:
    """Else the cells of all who stand beside that user would hide their changes."""
    seed(users, (1,))
    seed(users, (2,), time.time() + 3600)
    imported(users, tables)
    (entry,) = users.claim("me", 1, edges=(), deepest=0, now=time.time(), lease_s=60)
    users.name_seed("me", entry.uid, "another", 9, time.time())
    assert imported(users, tables) == Imported(new=0, changed=1)
    assert is_equal(users, tables)


def test_a_put_that_fails_ends_the_reading(
    users: SqliteUsers, tables: SqliteTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes as it is, the threads that put have ended, and nothing counts."""

    def fail(puts: Iterable[Put]) -> None:
        raise StoreError("no room")

    seed(users, range(1, 3001))
    monkeypatch.setattr(tables.userlist, "put", fail)
    before = threading.active_count()
    with pytest.raises(StoreError, match="no room") as caught:  # which keeps its frames alive
        imported(users, tables)
    assert threading.active_count() == before
    assert caught.traceback
    assert users.get_meta("imported_seq here") is None


def test_tables_that_were_emptied_are_filled_again(
    users: SqliteUsers, tables: SqliteTables
) -> None:
    """Whatever the watermark says; the cells are dated now, for in HBase a row that was deleted
    hides what is older."""
    seed(users, (1, 2))
    imported(users, tables)
    assert tables.userlist.versions(user_key(1), "user:id")[0].timestamp == NOW * 1000
    for uid in (1, 2):
        tables.userlist.delete(user_key(uid))
    began = time.time() * 1000
    assert imported(users, tables) == Imported(2, 0)
    assert tables.userlist.versions(user_key(1), "user:id")[0].timestamp >= int(began)
    assert is_equal(users, tables)


def test_from_start_repairs(users: SqliteUsers, tables: SqliteTables) -> None:
    """A row that the table lost is not noticed by a plain import, and comes back by this one."""
    seed(users, (1, 2, 3))
    imported(users, tables)
    tables.userlist.delete(user_key(2))
    assert imported(users, tables) == Imported(0, 0)
    assert not is_equal(users, tables)
    assert imported(users, tables, from_start=True) == Imported(3, 0)
    assert is_equal(users, tables)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"WEIBO_STORE__USERS": "sqlite:///u.db"}, "mysql://.*hbase://.*sqlite:///u.db.*builtin"),
        ({"WEIBO_STORE__TABLES": "sqlite:///t.db"}, "mysql://.*hbase://.*sqlite:///t.db.*builtin"),
        (
            {"WEIBO_STORE__USERS": "mysql://weibo@127.0.0.1/weibo?ssl_ca=/ca.pem"},
            r"ssl_ca.*sqoop\.jdbc_parameters",
        ),
        ({"WEIBO_SQOOP__OPTIONS": "--password,x"}, r"sqoop\.options.*no passwords"),
        ({"WEIBO_SQOOP__JDBC_PARAMETERS": "trustCertificateKeyStorePassword=x"}, "no passwords"),
    ],
)
def test_what_sqoop_cannot_do_is_said_first(changes: dict[str, str], says: str) -> None:
    """Homes that are not those of a cluster, TLS that Sqoop would not check, and passwords where
    every account could read them: BadConfig before anything runs."""
    settings = config.load(environ={**CLUSTER, **changes})
    with pytest.raises(BadConfig, match=says):
        sqoop_import.prepare(settings, "userlist", "run", {})


def test_sqoop_gets_none_of_our_settings() -> None:
    """The environment of Sqoop is ours without WEIBO_*: a password may be among them."""
    environ = {"HOME": "/h", "WEIBO_STORE__PASSWORD": "geheim"}
    sqoop = sqoop_import.prepare(config.load(environ=CLUSTER), "userlist", "run", environ)
    assert sqoop.environ == {"HOME": "/h"}
    assert sqoop.table == "dev_userlist"


def test_a_sqoop_that_is_not_there_is_said(users: SqliteUsers, tables: SqliteTables) -> None:
    """The setting is named, and nothing is marked as imported."""
    seed(users, (1,))
    settings = config.load(environ={**CLUSTER, "WEIBO_SQOOP__COMMAND": "no-such-sqoop"})
    sqoop = sqoop_import.prepare(settings, "userlist", "run", {})
    with pytest.raises(BadConfig, match=r"sqoop\.command: cannot run no-such-sqoop"):
        sqoop_import.import_users(sqoop, users, tables)
    assert users.get_meta(f"imported_seq {settings.store.tables}") is None


DENIED = "sql.SQLException: Access denied for user 'weibo'@'host' (using password: {})"


@pytest.mark.parametrize(
    ("cause", "password", "runs"),
    [
        ("io.EOFException: cut", "geheim", 1),
        ("example.CommunicationsException: full", "geheim", 2),
        (DENIED.format("YES"), "geheim", 1),
        (DENIED.format("NO"), "geheim", 2),
        (DENIED.format("NO"), "", 1),
    ],
)
def test_why_a_sqoop_failed_is_said(
    users: SqliteUsers,
    tables: SqliteTables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cause: str,
    password: str,
    runs: int,
) -> None:
    """The cause stands in the middle of a Java trace, not among the errors or last words. Where it
    is a connection that could not be had, or one without the password that Sqoop was given, Sqoop
    is run once more, and that is said."""
    monkeypatch.setattr(sqoop_import, "_PAUSE_S", 0.0)
    frames = "".join(f"\tat org.example.Call.frame{n}(Call.java:{n})\n" for n in range(30))
    cause = f"Caused by: java.{cause}"
    trace = f"INFO begins\n1 ERROR tool: it failed\n{frames}{cause}\n{frames}{cause}\n{frames}"
    (tmp_path / "log").write_text(trace)
    command = tmp_path / "sqoop"
    command.write_text(f"#!/bin/sh\necho >>{tmp_path}/runs\ncat {tmp_path}/log\nexit 1\n")
    command.chmod(0o755)
    seed(users, (1,))
    changes = {"WEIBO_SQOOP__COMMAND": str(command), "WEIBO_STORE__PASSWORD": password}
    settings = config.load(environ={**CLUSTER, **changes})
    sqoop = sqoop_import.prepare(settings, "userlist", "run", {})
    told: list[str] = []
    with pytest.raises(StoreError, match="Sqoop failed") as failed:
        sqoop_import.import_users(sqoop, users, tables, told.append)
    said = str(failed.value).splitlines()
    assert said[1:3] == ["1 ERROR tool: it failed", cause]
    assert said.count(cause) == 1
    assert said[-1].endswith("(Call.java:29)")
    assert len((tmp_path / "runs").read_text()) == runs
    assert any("run once more" in line for line in told) == (runs == 2)


@pytest.mark.parametrize("is_paper", [False, True])
def test_an_hbase_that_is_not_there_is_said_before_sqoop_runs(
    users: SqliteUsers, tmp_path: Path, is_paper: bool
) -> None:
    """Also at the first import, where no watermark asks the tables anything."""
    seed(users, (1,))
    place = "hbase://127.0.0.1:9"
    command = tmp_path / "sqoop"
    command.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\nexit 1\n")
    command.chmod(0o755)
    changes = {"WEIBO_STORE__TABLES": place, "WEIBO_SQOOP__COMMAND": str(command)}
    settings = config.load(environ={**CLUSTER, **changes})
    sqoop = sqoop_import.prepare(settings, "userlist", "run", {})
    refused = pytest.raises(StoreError, match="check that HBase and its Thrift server")
    if is_paper:
        with refused:
            sqoop_import.import_paper(sqoop, users)
    else:
        with closing(HbaseTables(place)) as missing, refused:
            sqoop_import.import_users(sqoop, users, missing)
    assert not (tmp_path / "started").exists()
    assert users.get_meta(f"imported_at {place}") is None


def test_kill_9_leaves_no_password(tmp_path: Path) -> None:
    """What stands for Sqoop reads the whole password, twice and from a process below it; once we
    are killed nobody can, and no file holds it."""
    command, left, secret = tmp_path / "sqoop", tmp_path / "left", "geheim-密码-7"
    left.mkdir()
    command.write_text(
        "#!/bin/sh\n"
        "for word; do case $word in file://*) file=${word#file://} ;; esac; done\n"
        f'cat "$file" "$file" | tr a-z A-Z >{tmp_path}/draft; echo "$file" >{tmp_path}/where\n'
        f"mv {tmp_path}/draft {tmp_path}/read; exec sleep 60\n"
    )
    command.chmod(0o755)
    program = (
        "from weibo_crawler import config, sqoop_import as s; "
        "s._run(s.prepare(config.load(), 'userlist', 'run', {}), [], print)"
    )
    changes = {"WEIBO_SQOOP__COMMAND": str(command), "WEIBO_STORE__PASSWORD": secret}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **CLUSTER, **changes, "TMPDIR": str(left)},
        start_new_session=True,
    )
    try:
        while not (tmp_path / "read").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.wait()
        assert (tmp_path / "read").read_text() == 2 * "GEHEIM-密码-7"
        assert not Path((tmp_path / "where").read_text().strip()).exists()
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert [file for file in files if secret.encode() in file.read_bytes()] == []
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # what stands for Sqoop
        process.wait()


def test_what_changes_while_an_import_runs_is_brought_by_the_next(
    users: SqliteUsers, tables: SqliteTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it runs: what is acknowledged had changed before it began."""
    clock = [NOW + 100.0]
    monkeypatch.setattr("weibo_crawler.importer.time.time", lambda: clock[0])
    seed(users, [6, 7])
    users.claim("me", 2, edges=[Edge.FANS], deepest=0, now=NOW, lease_s=1e6)

    def rename(_: int) -> None:
        users.name_seed("me", 6, "another name", 60, clock[0] + 10.0)
        clock[0] += 10_000.0

    import_users(users, tables, "here", "run", rename)
    assert not is_equal(users, tables)
    assert imported(users, tables) == Imported(0, 1)
    assert is_equal(users, tables)
