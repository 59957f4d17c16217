"""The tables in a real HBase keep the contract of the tables, and equal those in SQLite."""

import multiprocessing
import os
import secrets
import shlex
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.contracts.tables import TableContract
from tests.examples import examples
from tests.stack.conftest import Running, why_not
from tests.stack.hbase_worlds import connect, drop, make, part_opener
from weibo_crawler.cli.main import main
from weibo_crawler.errors import StoreError
from weibo_crawler.store import Cell, Put, Tables
from weibo_crawler.store.hbase import table as module
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.rows.cells import FAMILIES
from weibo_crawler.store.sqlite.tables import SqliteTables

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

FORK = multiprocessing.get_context("fork")
_part = count()


@pytest.fixture(scope="module")
def url(stack: Running) -> Iterator[str]:
    url = f"{stack.addresses['STACK_TABLES']}/t_{secrets.token_hex(4)}"
    make(url)
    yield url
    drop(url)


class TestHbaseTables(TableContract):
    @pytest.fixture(autouse=True)
    def _url(self, url: str) -> None:
        self.url = url

    def opener(self, folder: Path) -> Callable[[], Tables]:
        return part_opener(self.url, f"{os.getpid()}.{next(_part)}/")

    def test_create_says_what_it_made(  # type: ignore[override]
        self, stack: Running
    ) -> None:
        """A line for each table, whoever of two at once makes it; then the tables are as the schema
        says, both may write, and there is nothing left to do."""
        url = f"{self.url}_made"
        both = [HbaseTables(url, shlex.quote(stack.addresses["STACK_HBASE"])) for _ in range(2)]
        with ThreadPoolExecutor(2) as threads:
            made = sorted(chain(*threads.map(HbaseTables.create, both)))
        assert len(made) == len(FAMILIES)
        for line, name in zip(made, sorted(FAMILIES), strict=True):
            assert name in line
        for number, tables in enumerate(both):
            assert tables.check() == []
            assert tables.create() == []
            tables.userlist.put([Put(f"{number}", {"user:id": "1"}, 1)])
        assert list(both[0].userlist.keys("")) == ["0", "1"]
        for tables in both:
            tables.close()
        drop(url)

    test_many_processes_create_at_once = None  # type: ignore[assignment] # see above


class TestHbaseTablesInTinyPages(TestHbaseTables):
    """The same where every scan turns a page after each row or two, and puts are cut often."""

    many = 250

    @pytest.fixture(autouse=True)
    def _tiny(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_FIRST_ROWS", 1)
        monkeypatch.setattr(module, "_PAGE_ROWS", 2)
        monkeypatch.setattr(module, "_PAGE_KEYS", 2)
        monkeypatch.setattr(module, "_BATCH_ROWS", 3)
        monkeypatch.setattr(module, "_BATCH_BYTES", 60)

    # what takes long and turns no page
    test_create_says_what_it_made = None  # type: ignore[assignment]
    test_four_processes_write_while_one_scans = None  # type: ignore[assignment]
    test_writing_while_scanning = None  # type: ignore[assignment]


# -- both homes

COLUMNS = [f"{family}:{q}" for family in FAMILIES["posts"] for q in ("", "a", "ä", "b:c")]
fixed_puts = st.lists(
    st.builds(
        Put,
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
        st.dictionaries(
            st.sampled_from(COLUMNS), st.text(st.characters(exclude_categories=["Cs"])), max_size=5
        ),
        st.integers(1, 9),
    ),
    max_size=30,
)


def all_cells(tables: Tables) -> list[tuple[str, str, list[Cell]]]:
    """Every version of every cell, in the order of a scan, as bytes and times say it."""
    return [
        (row.key, column, tables.posts.versions(row.key, column))
        for row in tables.posts.scan()
        for column in sorted(row.cells)
    ]


@examples(
    40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(puts=fixed_puts, cuts=st.lists(st.integers(1, 10), max_size=4))
def test_both_homes_are_equal(url: str, tmp_path: Path, puts: list[Put], cuts: list[int]) -> None:
    """The same puts, however they are grouped, give the same rows, cells, timestamps and versions
    in both homes."""
    number = next(_part)
    homes = [
        part_opener(url, f"equal.{number}/")(),
        SqliteTables(f"sqlite:///{tmp_path}/{number}.db"),
    ]
    for tables in homes:
        tables.create()
        rest, grouping = puts, iter([*cuts, len(puts)])
        while rest:
            n = next(grouping)
            tables.posts.put(rest[:n])
            rest = rest[n:]
    there, here = homes
    assert all_cells(there) == all_cells(here)
    assert list(there.posts.scan()) == list(here.posts.scan())
    assert list(there.posts.scan(columns=["post:a", "count"])) == list(
        here.posts.scan(columns=["post:a", "count"])
    )
    for tables in homes:
        tables.close()


def test_a_major_compaction_changes_nothing(url: str) -> None:
    """What was deleted stays deleted, what was put above it stays there."""
    tables = part_opener(url, "compact/")()
    tables.posts.put(
        [Put(k, {"post:a": f"{ts}", "post:b": "b"}, ts) for k in "kl" for ts in (1, 2)]
    )
    tables.posts.delete("k", ["post:a"])
    tables.posts.put([Put("k", {"post:a": "new"}, 3)])
    tables.posts.delete("l")
    before = all_cells(tables)
    connection = connect(url)
    connection.compact_table(f"{url.rpartition('/')[2]}_posts", major=True)
    connection.close()
    assert (
        all_cells(tables)
        == before
        == [
            ("k", "post:a", [Cell(3, "new")]),
            ("k", "post:b", [Cell(2, "b"), Cell(1, "b")]),
        ]
    )
    tables.close()


def test_batches_are_cut_by_bytes(url: str) -> None:
    """More than Thrift would take at once goes in pieces; all of it is there."""
    tables = part_opener(url, "bytes/")()
    tables.posts.put([Put(f"{i:03d}", {"raw:json": "x" * 300_000}, 1) for i in range(50)])
    assert [len(row.cells["raw:json"]) for row in tables.posts.scan()] == [300_000] * 50
    tables.close()


# -- one connection, one user


def test_a_forked_child_leaves_the_parents_connections(url: str) -> None:
    """A child opens its own; at its end the parent's still answer, without being opened again."""
    tables = HbaseTables(url)
    tables.posts.put([Put("fork", {"post:a": "1"}, 1)])
    [(_, connection)] = tables._thrift._idle
    child = FORK.Process(target=_use_and_close, args=(tables,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert tables.posts.row("fork") == {"post:a": "1"}
    assert [each for _, each in tables._thrift._idle] == [connection]
    tables.close()


def _use_and_close(tables: HbaseTables) -> None:
    assert tables.posts.row("fork") == {"post:a": "1"}
    tables.close()


def test_an_idle_connection_is_replaced(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the server cuts it; a connection used all the time is kept."""
    tables = HbaseTables(url)
    tables.posts.row("x")
    [(_, first)] = tables._thrift._idle
    tables.posts.row("x")
    assert [each for _, each in tables._thrift._idle] == [first]
    monkeypatch.setattr("weibo_crawler.store.hbase.base._IDLE_S", 0.0)
    tables.posts.row("x")
    [(_, second)] = tables._thrift._idle
    assert second is not first
    assert not first.transport.is_open()
    tables.close()


def test_ctrl_c_in_the_middle_of_a_call_drops_the_connection(url: str) -> None:
    """The answer that is still to come is read by nobody."""
    tables = HbaseTables(url)
    tables.posts.put([Put("a", {"post:a": "a"}, 1), Put("b", {"post:a": "b"}, 1)])

    def interrupted(client: object) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tables._thrift.call("x", interrupted)
    assert tables._thrift._idle == []
    assert tables.posts.row("b") == {"post:a": "b"}
    tables.close()


def test_threads_have_connections_of_their_own(url: str) -> None:
    """Two calls at the same time are never on one connection."""
    tables = HbaseTables(url)
    meet = threading.Barrier(4, timeout=30)
    clients: list[object] = []

    def work(client: object) -> None:
        meet.wait()
        clients.append(client)
        meet.wait()

    threads = [threading.Thread(target=tables._thrift.call, args=("x", work)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, clients))) == 4
    tables.close()


# -- what is wrong is said at once


def test_a_missing_table_is_told(url: str) -> None:
    """By every method, with the remedy and the variables that give the script this name."""
    posts = HbaseTables(f"{url}_none").posts
    calls: list[Callable[[], object]] = [
        lambda: posts.put([Put("k", {"post:a": "x"}, 1)]),
        lambda: posts.row("k"),
        lambda: posts.versions("k", "post:a"),
        lambda: posts.delete("k"),
        lambda: posts.delete("k", up_to=5),
        lambda: next(posts.scan()),
        lambda: next(posts.keys("")),
    ]
    for call in calls:
        with pytest.raises(
            StoreError, match=r"_none_posts does not exist.*init.*PREFIX=t_\w+_none"
        ):
            call()


def test_a_missing_family_is_told(url: str) -> None:
    """The server's refusal comes at once, short, with the remedy."""
    tables = HbaseTables(url)
    tables.posts._families = {"nofamily": 1}  # type: ignore[attr-defined]
    for call in (
        lambda: tables.posts.put([Put("k", {"nofamily:a": "x"}, 1)]),
        lambda: tables.posts.row("k", ["nofamily"]),
        lambda: next(tables.posts.scan(columns=["nofamily"])),
    ):
        with pytest.raises(StoreError, match=r"family nofamily does not exist.*init") as told:
            call()
        assert len(str(told.value)) < 400
    tables.close()


def test_a_value_too_large_is_told(url: str) -> None:
    """HBase takes 10 MB a cell; more is refused at once."""
    tables = HbaseTables(url)
    with pytest.raises(StoreError, match="KeyValue size too large"):
        tables.posts.put([Put("k", {"raw:json": "x" * 11_000_000}, 1)])
    tables.close()


def test_what_others_wrote_is_told(url: str) -> None:
    """Bytes that are no text name their row."""
    connection = connect(url)
    bare = connection.table(f"{url.rpartition('/')[2]}_posts")
    bare.put(b"other", {b"post:a": b"\xff"})
    tables = HbaseTables(url)
    for call in (
        lambda: tables.posts.row("other"),
        lambda: list(tables.posts.scan(prefix="other")),
        lambda: tables.posts.versions("other", "post:a"),
    ):
        with pytest.raises(StoreError, match="row other holds bytes that are no UTF-8"):
            call()
    bare.delete(b"other")
    connection.close()
    tables.close()


def test_a_port_that_is_no_thrift_server_is_told(stack: Running) -> None:
    """A closed port, and a server that speaks something else, end at once with exit code 5."""
    ports = {
        "1": "Could not connect.*check that HBase",
        stack.addresses["STACK_RESOURCEMANAGER"].rpartition(":")[2]: "does not speak",
        stack.addresses["STACK_MYSQL"].rpartition(":")[2].partition("/")[0]: "does not speak",
    }
    for port, text in ports.items():
        with pytest.raises(StoreError, match=text):
            HbaseTables(f"hbase://127.0.0.1:{port}").posts.row("k")


# -- the schema


def test_init_makes_what_is_missing_and_says_what_differs(
    stack: Running,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without the HBase shell at hand it says what to run (5); with tables that cannot hold what
    they should it names family, attribute and remedy (5); other differences are only told. A
    command that was named and cannot be run is an error also where the tables are there (3)."""
    url = f"{stack.addresses['STACK_TABLES']}/t_{secrets.token_hex(4)}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEIBO_STORE__TABLES", url)
    monkeypatch.setenv("WEIBO_STORE__HBASE_COMMAND", "/no/hbase")
    assert main(["init"]) == 5
    told = capsys.readouterr().err
    assert f"WEIBO_TABLE_PREFIX={url.rpartition('/')[2]} hbase shell -n" in told
    monkeypatch.delenv("WEIBO_STORE__HBASE_COMMAND")
    posts = {"post": 5, "count": 1}
    make(url, {**FAMILIES, "posts": posts})
    assert main(["init"]) == 5
    told = capsys.readouterr().err
    assert "family count: VERSIONS is 1, should be 100: alter '" in told
    assert "_posts has no family raw: alter '" in told
    drop(url)
    make(url)
    assert main(["init"]) == 0
    assert "_posts has 1 of 16 regions" in capsys.readouterr().out
    monkeypatch.setenv("WEIBO_STORE__HBASE_COMMAND", "/no/hbase")
    assert main(["init"]) == 3
    assert "store.hbase_command: '/no/hbase' is no command here" in capsys.readouterr().err
    drop(url)
