"""The tables in HBase while servers are slow, are killed, and move things (laws 7, 8, 9)."""

import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import happybase
import pytest
from happybase.table import TScan

from tests.stack.conftest import Running, why_not
from tests.stack.hbase_worlds import connect, drop, make
from tests.stack.thrift_servers import OwnThrift, Proxy
from weibo_crawler.errors import StoreError
from weibo_crawler.store import Put
from weibo_crawler.store.hbase import base
from weibo_crawler.store.hbase import table as module
from weibo_crawler.store.hbase.connection import Connection
from weibo_crawler.store.hbase.tables import HbaseTables

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

ROWS = [f"{i:04d}" for i in range(400)]


@pytest.fixture(scope="module")
def url(stack: Running) -> Iterator[str]:
    url = f"{stack.addresses['STACK_TABLES']}/t_{secrets.token_hex(4)}"
    make(url)
    tables = HbaseTables(url)
    tables.posts.put([Put(key, {"post:text": key}, 1) for key in ROWS])
    tables.close()
    yield url
    drop(url)


@pytest.fixture(scope="module")
def own(stack: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnThrift]:
    """A Thrift server that forgets scanners and cuts idle connections after two seconds."""
    folder = tmp_path_factory.mktemp("thrift")
    forgets = {"hbase.client.scanner.timeout.period": "2000"}
    server = OwnThrift(stack, folder, idle_ms=2000, properties=forgets)
    server.start()
    yield server
    server.kill()


def at(url: str, port: int) -> str:
    """The same tables through another port."""
    return f"hbase://127.0.0.1:{port}/{url.rpartition('/')[2]}"


@pytest.fixture
def proxy(stack: Running) -> Iterator[Proxy]:
    proxy = Proxy(int(stack.addresses["STACK_TABLES"].rpartition(":")[2]))
    yield proxy
    proxy.held.clear()
    proxy.close()


# -- an answer that comes too late


def test_a_kept_connection_gives_wrong_rows(url: str, proxy: Proxy) -> None:
    """Why law 9 stands: after a timeout, a connection that is kept answers the question before,
    without an error. (Where this fails the driver has learnt to compare calls.)"""
    connection = happybase.Connection("127.0.0.1", proxy.port, timeout=3000)
    bare = connection.table(f"{url.rpartition('/')[2]}_posts")
    assert bare.row(b"0001") == {b"post:text": b"0001"}
    proxy.held.set()
    with pytest.raises(TimeoutError):
        bare.row(b"0002")
    proxy.held.clear()
    assert bare.row(b"0003") == {b"post:text": b"0002"}
    connection.close()


def test_no_wrong_row_after_a_timeout(
    url: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever answers come late, each call returns its own: rows, versions, scans, keys."""
    tables = HbaseTables(at(url, proxy.port))
    tables.posts.row("0000")  # a server that never answered is not waited for
    tables.close()
    monkeypatch.setattr(base, "_ANSWER_S", 0.3)
    opened = _count_connections(monkeypatch)
    stop = threading.Event()

    def disturb() -> None:
        while not stop.wait(0.1):
            proxy.held.set()
            time.sleep(0.4)
            proxy.held.clear()

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        deadline = time.monotonic() + 6
        while time.monotonic() < deadline:
            for key in ROWS[::40]:
                assert tables.posts.row(key) == {"post:text": key}
                assert tables.posts.versions(key, "post:text")[0].value == key
                assert list(tables.posts.keys(key)) == [key]
                assert [row.key for row in tables.posts.scan(start=key, limit=3)] == ROWS[
                    int(key) : int(key) + 3
                ]
    finally:
        stop.set()
        disturber.join()
    assert opened() > 3  # calls did time out
    tables.close()


def _count_connections(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    opened: list[int] = []

    def connect_and_count(*args: Any, **options: Any) -> Connection:
        opened.append(1)
        return Connection(*args, **options)

    monkeypatch.setattr(base, "Connection", connect_and_count)
    return lambda: len(opened)


def test_patience_ends(url: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was reached and answers no more is tried again for a bounded time; the error
    says where, how often and how long."""
    tables = HbaseTables(at(url, proxy.port))
    tables.posts.row("0000")
    tables.close()
    monkeypatch.setattr(base, "_ANSWER_S", 0.1)
    monkeypatch.setattr(base, "_PATIENCE_S", 1.0)
    proxy.held.set()
    with pytest.raises(StoreError, match=rf"{proxy.port}: .*timed out \(\d+ tries in \d+ s\)"):
        tables.posts.row("0001")
    tables.close()


# -- a Thrift server that dies


def test_kill_9_of_the_thrift_server_loses_nothing(url: str, own: OwnThrift) -> None:
    """In the middle of writing and of scanning: after its restart both go on by themselves, every
    acknowledged row is there, every row is scanned once and in order."""
    tables = HbaseTables(at(url, own.port))
    tables.posts.row("0000")
    acknowledged: list[str] = []
    failed: list[BaseException] = []
    stop = threading.Event()

    def write() -> None:
        number = 0
        try:
            while not stop.is_set():
                keys = [f"w{number:06d}-{i:02d}" for i in range(50)]
                tables.posts.put([Put(key, {"post:text": key * 20}, number + 1) for key in keys])
                acknowledged.extend(keys)
                number += 1
        except BaseException as error:
            failed.append(error)
            raise

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    for number, row in enumerate(tables.posts.scan(stop="w")):
        seen.append(row.key)
        if number == 150:  # in the second page of the scan
            own.kill()
            threading.Timer(1.0, own.start).start()
    before = len(acknowledged)
    deadline = time.monotonic() + 30
    while len(acknowledged) < before + 500 and time.monotonic() < deadline:
        time.sleep(0.05)
    stop.set()
    writer.join()
    assert failed == []
    assert seen == ROWS
    assert len(acknowledged) >= before + 500
    assert set(acknowledged) <= set(tables.posts.keys("w"))
    tables.close()


def test_a_scanner_that_expires_is_opened_again(
    url: str, own: OwnThrift, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the caller works on a row; and where the server forgets a scanner inside a
    page, the page is read again."""
    monkeypatch.setattr(module, "_FIRST_ROWS", 5)
    tables = HbaseTables(at(url, own.port))
    rows = tables.posts.scan(stop="w")
    seen = [next(rows).key for _ in range(3)]
    time.sleep(4)
    seen += [row.key for row in rows]
    assert seen == ROWS
    slow = iter([4.0, 0.0])
    name = f"{url.rpartition('/')[2]}_posts"

    def work(client: Any) -> list[bytes]:
        scanner = client.scannerOpenWithScan(name.encode(), TScan(startRow=b"0001"), {})
        time.sleep(next(slow))
        return [row.row for row in client.scannerGetList(scanner, 2)]

    assert tables._thrift.call(name, work) == [b"0001", b"0002"]
    assert list(slow) == []
    tables.close()


# -- regions


def test_a_region_that_splits_and_moves(stack: Running, url: str) -> None:
    """A scan, and writing, across a split and a new assignment of the regions meet every row
    once. The shell says when it begins: until then nothing moves."""
    tables = HbaseTables(url)
    name = f"{url.rpartition('/')[2]}_posts"
    rows = tables.posts.scan(stop="w")
    seen = [next(rows).key for _ in range(50)]
    script = f"""
        puts 'now' + ':'
        flush '{name}'
        split '{name}', '0200'
        sleep 2
        table = org.apache.hadoop.hbase.TableName.valueOf('{name}')
        connection = org.apache.hadoop.hbase.client.ConnectionFactory.createConnection
        connection.getAdmin.getRegions(table).each do |region|
          unassign region.getEncodedName
          sleep 0.3
          assign region.getEncodedName
        end
    """
    number = 0
    with _begun(stack, script) as shell:
        while shell.poll() is None:
            number += 1
            tables.posts.put([Put(f"x{number:06d}", {"post:text": "x"}, 1)])
            assert [row.key for row in tables.posts.scan(stop="w")] == ROWS
    seen += [row.key for row in rows]
    assert seen == ROWS
    assert len(list(tables.posts.keys("x"))) == number
    connection = connect(url)
    assert len(connection.table(name).regions()) == 2
    connection.close()
    tables.close()


def _begun(stack: Running, script: str) -> "subprocess.Popen[str]":
    """HBase's shell with a script that has said `now:`."""
    words = [stack.addresses["STACK_HBASE"], "shell", "-n"]
    shell = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=stack.env
    )
    assert shell.stdin is not None
    assert shell.stdout is not None
    shell.stdin.write(script)
    shell.stdin.close()
    while "now:" not in shell.stdout.readline():
        assert shell.poll() is None
    return shell
