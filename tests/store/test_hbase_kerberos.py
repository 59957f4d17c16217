"""A Thrift server that asks for a ticket. The ticket is pretended: on a real KDC `doctor` was tried
by hand (docs/cluster.md)."""

import socket
from typing import Any

import pytest
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TFramedTransport, TSocket

from tests.store.test_hbase_connections import FakeHbase
from weibo_crawler.errors import StoreError
from weibo_crawler.kerberos import NoTicket
from weibo_crawler.store.hbase import check, sasl
from weibo_crawler.store.hbase.tables import HbaseTables


class _Handshake:
    """Two tokens; a message is wrapped by reading it backwards."""

    def __init__(self, *who: object) -> None:
        self.is_complete = False

    def step(self, token: bytes | None = None) -> bytes:
        self.is_complete = token is not None
        return b"" if token else b"ticket"

    def wrap(self, message: bytes, *, secret: bool) -> bytes:
        return message[::-1]

    def unwrap(self, message: bytes) -> bytes:
        return message[::-1]


class _Asking(FakeHbase):
    """Its side of SASL, and then a frame for each call. offers: the bits of what it can."""

    def __init__(self, offers: int) -> None:
        self._offers, self.told = offers, list[tuple[int, bytes]]()
        super().__init__()

    def speak(self, client: socket.socket, processor: TProcessor) -> None:
        with client:
            self.told += [self._hear(client)]
            if self.told[-1][1] != b"GSSAPI":
                client.sendall(b"\x03\0\0\0\x04none")
                return
            for answer in (b"challenge", bytes([self._offers, 0, 1, 0])[::-1], b""):
                self.told += [self._hear(client)]
                status = b"\x02" if answer else b"\x05"
                client.sendall(status + len(answer).to_bytes(4, "big") + answer)
            wire = TSocket()
            wire.set_handle(client)
            spoken = TBinaryProtocol(TFramedTransport(wire))
            while True:
                processor.process(spoken, spoken)

    def _hear(self, client: socket.socket) -> tuple[int, bytes]:
        head = client.recv(5, socket.MSG_WAITALL)
        if len(head) < 5:
            raise EOFError
        return head[0], client.recv(int.from_bytes(head[1:], "big"), socket.MSG_WAITALL)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sasl, "Handshake", _Handshake)
    server = _Asking(offers=7)
    yield server
    server.close()


def test_a_ticket_is_shown_and_calls_go_in_frames(server: _Asking) -> None:
    """The mechanism, the token, nothing more once both sides know each other, then the least that
    the server offers, and no name to act for."""
    tables = HbaseTables(f"hbase://127.0.0.1:{server.port}?auth=kerberos")
    assert tables.posts.row("a") == {}
    tables.close()
    layer = bytes([1, 0xFF, 0xFF, 0xFF])[::-1]
    assert server.told == [(1, b"GSSAPI"), (2, b"ticket"), (2, b""), (2, layer)]


def test_doctor_says_that_a_server_asks_for_a_ticket(server: _Asking) -> None:
    """Where the address does not say it, and where it does without need."""
    url = f"hbase://127.0.0.1:{server.port}"
    assert "with Kerberos" in check.protocol(f"{url}?auth=kerberos")
    with pytest.raises(StoreError, match=r"say \?auth=kerberos"):
        check.protocol(url)


def test_who_has_no_ticket_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, before the server is asked, and what a mapper needs."""

    def refuse(*_: object) -> None:
        raise NoTicket("no credentials")

    monkeypatch.setattr(sasl, "Handshake", refuse)
    with pytest.raises(StoreError, match=r"no credentials.*keytab=FILE"):
        check.protocol("hbase://127.0.0.1:1?auth=kerberos")
