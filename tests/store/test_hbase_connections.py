"""Law 9 without a cluster: HBase's Thrift interface from a dictionary, over real sockets, by a
server that can be late, break and hang up. That HBase itself answers so is told by tests/stack."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import happybase  # noqa: F401 - makes the module Hbase_thrift
import pytest
from Hbase_thrift import Hbase, IOError, TCell, TRegionInfo, TRowResult
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TBufferedTransport, TSocket

from weibo_crawler.errors import StoreError
from weibo_crawler.store import Put
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.homes import open_tables

_LATE_S = 2.5  # longer than a call waits where an answer is late
_WAITS_S = 1.0


class FakeHbase:
    """The service's methods that these tests need. trouble: what becomes of the next calls, one
    word each: "late", "error", "cut" (the connection, before the answer), "lost" (the same, after
    the call was done). calls: (number of the connection, method, rows) of each."""

    def __init__(self) -> None:
        self.rows: dict[bytes, dict[bytes, TCell]] = {}
        self.trouble: list[str] = []
        self.calls: list[tuple[int, str, int]] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        with suppress(OSError):  # it was closed before
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self._sockets.append(client)
            thread = threading.Thread(
                target=self._serve, args=(client, len(self._sockets)), daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket, number: int) -> None:
        processor = TProcessor(Hbase, _Connection(self, number))
        with suppress(Exception), client:
            self.speak(client, processor)

    def speak(self, client: socket.socket, processor: TProcessor) -> None:
        """Answer call after call, buffered and binary."""
        wire = TSocket()
        wire.set_handle(client)
        protocol = TBinaryProtocol(TBufferedTransport(wire))
        while True:
            processor.process(protocol, protocol)


class _Hangup(Exception):
    """The connection ends without an answer."""


class _Connection:
    """What one connection answers."""

    def __init__(self, server: FakeHbase, number: int) -> None:
        self._server, self._number = server, number

    def _begin(self, method: str, rows: int = 1) -> str:
        self._server.calls.append((self._number, method, rows))
        trouble = self._server.trouble.pop(0) if self._server.trouble else ""
        if trouble == "late":
            time.sleep(_LATE_S)
        elif trouble == "error":
            raise IOError(message=b"java.io.IOException: region is moving")
        elif trouble == "cut":
            raise _Hangup
        return trouble

    def getRowWithColumns(
        self,
        tableName: bytes,
        row: bytes,
        columns: object,
        attributes: object,
    ) -> list[Any]:
        self._begin("get")
        cells = self._server.rows.get(row)
        return [TRowResult(row=row, columns=cells)] if cells else []

    def mutateRowsTs(
        self,
        tableName: bytes,
        rowBatches: Any,
        timestamp: int,
        attributes: object,
    ) -> None:
        trouble = self._begin("put", len(rowBatches))
        for batch in rowBatches:
            row = self._server.rows.setdefault(batch.row, {})
            for mutation in batch.mutations:
                held = row.get(mutation.column)
                if held is None or held.timestamp <= timestamp:  # the newest, then the last stays
                    row[mutation.column] = TCell(value=mutation.value, timestamp=timestamp)
        if trouble == "lost":
            raise _Hangup

    def scannerOpenWithScan(self, tableName: bytes, scan: Any, attributes: object) -> int:
        self._begin("scan")
        rows, start, stop = self._server.rows, scan.startRow or b"", scan.stopRow
        found = (row for row in rows if start <= row and (stop is None or row < stop))
        self._found = [TRowResult(row=row, columns=rows[row]) for row in sorted(found)]
        return 1

    def scannerGetList(self, id: int, nbRows: int) -> list[Any]:
        return self._found[:nbRows]

    def scannerClose(self, id: int) -> None:
        self._found = []

    def getTableRegions(self, tableName: bytes) -> list[Any]:
        self._begin("regions")
        return [TRegionInfo()]


@pytest.fixture
def hbase() -> Iterator[FakeHbase]:
    server = FakeHbase()
    try:
        yield server
    finally:
        server.close()


@pytest.mark.parametrize("trouble", ["late", "error", "cut"])
def test_a_connection_is_thrown_away_after_any_error(
    hbase: FakeHbase, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call is made again on another connection, and no answer is taken for that to the next
    question: what comes late would read as a wrong row."""
    if trouble == "late":
        monkeypatch.setattr("weibo_crawler.store.hbase.base._ANSWER_S", _WAITS_S)
    tables = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    tables.posts.put([Put(key, {"post:text": key}, 1) for key in ("a", "b")])
    hbase.trouble.append(trouble)
    assert tables.posts.row("a") == {"post:text": "a"}
    assert [number for number, method, _ in hbase.calls if method == "get"] == [1, 2]
    if trouble == "late":
        time.sleep(_LATE_S)
    assert tables.posts.row("b") == {"post:text": "b"}
    assert hbase.calls[-1][0] == 2
    tables.close()


def test_nothing_is_stored_before_it_is_acknowledged(hbase: FakeHbase) -> None:
    """A put whose acknowledgement was lost is made again, by another connection, and changes
    nothing: one row, with its own time."""
    tables = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    assert tables.posts.row("a") == {}
    hbase.calls.clear()
    hbase.trouble += ["lost", "cut", "error"]
    tables.posts.put([Put("a", {"post:text": "a"}, 7)])
    assert [method for _, method, _ in hbase.calls] == ["put", "put", "put", "regions", "put"]
    assert len({number for number, method, _ in hbase.calls if method == "put"}) == 4
    assert {key: row[b"post:text"].timestamp for key, row in hbase.rows.items()} == {b"a": 7}
    tables.close()


def test_a_put_that_was_repeated_and_lands_late_hides_nothing(
    hbase: FakeHbase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 7: the server may write the first of two equal puts long after the second one, and after
    what was put since at the same time, such as the whole text of a post that a page cut."""
    monkeypatch.setattr("weibo_crawler.store.hbase.base._ANSWER_S", _WAITS_S)
    tables = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    assert tables.posts.row("a") == {}
    hbase.trouble.append("late")
    tables.posts.put([Put("a", {"post:text": "cut"}, 7), Put("b", {"post:text": "b"}, 7)])
    tables.posts.put([Put("a", {"post:text": "whole"}, 7)])
    hbase.rows[b"b"].clear()
    deadline = time.monotonic() + 30
    while not hbase.rows[b"b"]:  # until the first put has landed, too
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert tables.posts.row("a") == {"post:text": "whole"}
    tables.close()


def test_patience_ends(hbase: FakeHbase, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a line that says how often it was tried; a server that never answered is not waited
    for."""
    monkeypatch.setattr("weibo_crawler.store.hbase.base._PATIENCE_S", 0.5)
    tables = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    tables.posts.put([Put("a", {"post:text": "a"}, 1)])
    hbase.trouble += ["cut"] * 1000
    with pytest.raises(StoreError, match=r"table posts: .* \(\d+ tries in \d+ s\); check that"):
        tables.posts.row("a")
    assert len(hbase.calls) > 3
    tables.close()
    unknown = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    hbase.calls.clear()
    with pytest.raises(StoreError) as caught:
        unknown.posts.row("a")
    assert "tries" not in str(caught.value)
    assert len(hbase.calls) == 1


def test_a_mapper_waits_from_its_first_call_on(hbase: FakeHbase) -> None:
    """Its driver had reached the server: what is away at its start is waited for as later on."""
    hbase.trouble += ["cut", "cut", "error"]
    tables = open_tables(f"hbase://127.0.0.1:{hbase.port}", "hbase", create=False, waits=True)
    assert tables.posts.row("a") == {}
    assert [method for _, method, _ in hbase.calls] == ["get", "get", "get", "regions", "get"]
    tables.close()


def test_who_waits_says_for_what(hbase: FakeHbase, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a call is tried again, the tables name the server and its words; afterwards nothing."""
    tables = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    assert (tables.posts.row("a"), tables.waits_for) == ({}, "")
    hbase.trouble += ["error"] * 1000
    thread = threading.Thread(target=tables.posts.row, args=("a",))
    thread.start()
    deadline = time.monotonic() + 20
    while not tables.waits_for and time.monotonic() < deadline:
        time.sleep(0.01)
    during = tables.waits_for
    hbase.trouble.clear()
    thread.join(20)
    assert during == f"hbase://127.0.0.1:{hbase.port}: IOException: region is moving"
    assert tables.waits_for == ""
    tables.close()


def test_an_idle_connection_is_renewed(hbase: FakeHbase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the server cuts it; one that is used all the time is kept."""
    tables = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    for _ in range(3):
        tables.posts.row("a")
    monkeypatch.setattr("weibo_crawler.store.hbase.base._IDLE_S", 0.0)
    tables.posts.row("a")
    assert [number for number, _, _ in hbase.calls] == [1, 1, 1, 2]
    tables.close()


def test_no_connection_serves_two_threads_at_once(hbase: FakeHbase) -> None:
    """Calls that run side by side have one each, and each gets the answer to its own question."""
    tables = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    keys = [f"{i}" for i in range(6)]
    tables.posts.put([Put(key, {"post:text": key}, 1) for key in keys])
    meet = threading.Barrier(len(keys), timeout=20)
    read: dict[str, object] = {}

    def work(key: str) -> None:
        def both(client: Any) -> Any:
            meet.wait()
            return client.getRowWithColumns(b"posts", key.encode(), None, {})

        [row] = tables._thrift.call("posts", both)
        read[key] = row.columns[b"post:text"].value.decode()

    threads = [threading.Thread(target=work, args=(key,)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == {key: key for key in keys}
    assert len({number for number, method, _ in hbase.calls if method == "get"}) == len(keys)
    tables.close()


def test_batches_are_cut_by_bytes_and_by_rows(hbase: FakeHbase) -> None:
    """One after the other, on one connection: the next goes when the last is acknowledged."""
    tables = HbaseTables(f"hbase://127.0.0.1:{hbase.port}")
    tables.posts.put([Put(f"a{i:02d}", {"raw:json": "x" * 300_000}, 1) for i in range(10)])
    tables.posts.put([Put(f"b{i:04d}", {"post:text": "x"}, 1) for i in range(4500)])
    assert hbase.calls == [(1, "put", n) for n in (3, 3, 3, 1, 2000, 2000, 500)]
    assert len(hbase.rows) == 4510
    tables.close()
