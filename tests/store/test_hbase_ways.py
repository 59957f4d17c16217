"""Thrift servers as clusters have them: framed, compact, by HTTP, behind TLS, and several."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import trustme
from thriftpy2.http import TFileObjectTransport
from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TBufferedTransport, TFramedTransport, TMemoryBuffer, TSocket

from tests.ports import free_port
from tests.store.test_hbase_connections import FakeHbase
from weibo_crawler.errors import StoreError
from weibo_crawler.store import Put
from weibo_crawler.store.hbase import check
from weibo_crawler.store.hbase.tables import HbaseTables

_PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}
_TRANSPORTS = {"buffered": TBufferedTransport, "framed": TFramedTransport}


class _Spoken(FakeHbase):
    """The same, in another way. tls: of the server's side."""

    def __init__(self, transport: str, protocol: str, tls: ssl.SSLContext | None = None) -> None:
        self._way = transport, _PROTOCOLS[protocol]
        self._tls = tls
        super().__init__()

    def speak(self, client: socket.socket, processor: TProcessor) -> None:
        if self._tls is not None:
            client = self._tls.wrap_socket(client, server_side=True)
        with client:
            transport, protocol = self._way
            if transport == "http":
                _serve_http(client, processor, protocol)
                return
            wire = TSocket()
            wire.set_handle(client)
            spoken = protocol(_TRANSPORTS[transport](wire))
            while True:
                processor.process(spoken, spoken)


def _serve_http(
    client: socket.socket, processor: TProcessor, protocol: Callable[..., object]
) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            call = BytesIO(self.rfile.read(int(self.headers["Content-Length"])))
            answer = TMemoryBuffer()
            processor.process(
                protocol(TBufferedTransport(TFileObjectTransport(call))), protocol(answer)
            )
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer.getvalue())))
            self.end_headers()
            self.wfile.write(answer.getvalue())

        def log_message(self, *_: object) -> None:
            pass

    Handler(client, ("", 0), None)  # type: ignore[arg-type]


class _Authority:
    """Files of an authority, of whom it knows, and of a stranger."""

    def __init__(self, folder: Path) -> None:
        ours, other = trustme.CA(), trustme.CA()
        self.ca, self.other_ca = folder / "ca.pem", folder / "other-ca.pem"
        ours.cert_pem.write_to_path(str(self.ca))
        other.cert_pem.write_to_path(str(self.other_ca))
        self.us, self.stranger = folder / "we.pem", folder / "stranger.pem"
        for file, authority in ((self.us, ours), (self.stranger, other)):
            we = authority.issue_cert("crawler@example")
            we.private_key_and_cert_chain_pem.write_to_path(str(file))
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        ours.issue_cert("127.0.0.1").configure_cert(self.tls)
        ours.configure_trust(self.tls)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> _Authority:
    return _Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def serve() -> Iterator[Callable[..., _Spoken]]:
    with ExitStack() as stack:

        def start(*way: object) -> _Spoken:
            server = _Spoken(*way)  # type: ignore[arg-type]
            stack.callback(server.close)
            return server

        yield start


def _stores(url: str) -> None:
    """Cells go in and out, with letters of all kinds, and more than a frame is by default."""
    tables = HbaseTables(url)
    puts = [Put("a", {"post:text": "微博 🎈"}, 7), Put("b", {"post:text": "x" * 300_000}, 7)]
    tables.posts.put(puts)
    assert [(row.key, row.cells) for row in tables.posts.scan()] == [
        (put.key, put.cells) for put in puts
    ]
    assert tables.posts.row("a") == puts[0].cells
    tables.close()


@pytest.mark.parametrize("protocol", ["binary", "compact"])
@pytest.mark.parametrize("transport", ["buffered", "framed", "http"])
@pytest.mark.parametrize("is_secured", [False, True])
def test_a_server_is_spoken_to_in_its_way(
    serve: Callable[..., _Spoken],
    authority: _Authority,
    transport: str,
    protocol: str,
    is_secured: bool,
) -> None:
    """As the address says; on one connection, call after call."""
    server = serve(transport, protocol, authority.tls if is_secured else None)
    url = f"hbase://127.0.0.1:{server.port}/?transport={transport}&protocol={protocol}"
    url += f"&ssl_ca={authority.ca}" * is_secured
    _stores(url)
    assert {number for number, *_ in server.calls} == {1}
    assert f"Thrift, {transport} and {protocol}" in check.protocol(url)


@pytest.mark.parametrize("way", [("framed", "compact"), ("http", "binary"), ("buffered", "binary")])
def test_doctor_says_in_which_way_a_server_speaks(
    serve: Callable[..., _Spoken], way: tuple[str, str]
) -> None:
    """By the options that the address lacks, or has too many of; also where the server waits."""
    server = serve(*way)
    spoken_to = "transport=framed&protocol=binary"
    with pytest.raises(StoreError, match=f"transport={way[0]}&protocol={way[1]}"):
        check.protocol(f"hbase://127.0.0.1:{server.port}?{spoken_to}")


@pytest.mark.parametrize("transport", ["buffered", "http"])
def test_whom_the_authority_does_not_know_is_not_spoken_to(
    serve: Callable[..., _Spoken], authority: _Authority, transport: str
) -> None:
    """A server must prove itself, by its name too; so must we, where it asks for a certificate."""
    server = serve(transport, "binary", authority.tls)
    url = f"hbase://127.0.0.1:{server.port}?transport={transport}&ssl_ca="
    with pytest.raises(StoreError, match="CERTIFICATE_VERIFY_FAILED"):
        _stores(f"{url}{authority.other_ca}")
    with pytest.raises(StoreError, match="CERTIFICATE_VERIFY_FAILED"):
        _stores(f"{url}{authority.ca}".replace("127.0.0.1", "localhost"))
    with pytest.raises(StoreError, match=r"/absent.*store\.tables names it"):
        _stores(f"{url}/absent")
    authority.tls.verify_mode = ssl.CERT_REQUIRED
    try:
        _stores(f"{url}{authority.ca}&ssl_cert={authority.us}")
        for who in ("", f"&ssl_cert={authority.stranger}"):
            with pytest.raises(StoreError):
                _stores(f"{url}{authority.ca}{who}")
    finally:
        authority.tls.verify_mode = ssl.CERT_NONE


def _url(ports: Sequence[int]) -> str:
    return "hbase://" + ",".join(f"127.0.0.1:{port}" for port in ports)


def test_a_server_that_dies_is_one_of_several(serve: Callable[..., _Spoken]) -> None:
    """The call goes to another one at once, with its idle connections gone; one that is away from
    the beginning does not matter."""
    first, second = serve("buffered", "binary"), serve("buffered", "binary")
    tables = HbaseTables(_url([free_port(), first.port, second.port]))
    tables.posts.put([Put("a", {"post:text": "a"}, 7)])
    died, left = (first, second) if first.calls else (second, first)
    died.close()
    tables.posts.put([Put("b", {"post:text": "b"}, 7)])
    assert [method for _, method, _ in left.calls] == ["put"]
    tables.close()


def test_a_server_that_answers_no_call_is_one_of_several(serve: Callable[..., _Spoken]) -> None:
    """It takes connections, and hangs up on each call: it is asked once, and then the other one."""
    servers = [serve("buffered", "binary") for _ in range(2)]
    tables = HbaseTables(_url([server.port for server in servers]))
    tables.posts.row("a")
    bad, good = sorted(servers, key=lambda server: not server.calls)
    bad.trouble += ["cut"] * 4
    for _ in range(3):
        tables.posts.row("a")
    assert (len(bad.calls), len(good.calls)) == (2, 3)
    tables.close()


def test_idle_connections_to_who_died_are_not_tried_one_by_one(
    serve: Callable[..., _Spoken], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would cost a wait."""
    waits: list[float] = []
    monkeypatch.setattr("weibo_crawler.store.hbase.base.time.sleep", waits.append)
    servers = [serve("buffered", "binary") for _ in range(2)]
    tables = HbaseTables(_url([server.port for server in servers]))
    meet = threading.Barrier(5, timeout=20)

    def both(client: Any) -> None:
        meet.wait()
        client.getTableRegions(b"posts")

    threads = [threading.Thread(target=tables._thrift.call, args=("posts", both)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    next(server for server in servers if server.calls).close()
    assert tables.posts.row("a") == {}
    assert len(waits) == 1
    tables.close()


def test_several_servers_are_shared(serve: Callable[..., _Spoken]) -> None:
    """Each process draws its own."""
    servers = [serve("buffered", "binary") for _ in range(2)]
    for _ in range(30):
        tables = HbaseTables(_url([server.port for server in servers]))
        tables.posts.row("a")
        tables.posts.row("b")
        tables.close()
    assert all(10 <= len(server.calls) <= 50 for server in servers)


def test_doctor_asks_each_server(serve: Callable[..., _Spoken]) -> None:
    server, away = serve("buffered", "binary"), free_port()
    assert check.protocol(_url([server.port]))
    with pytest.raises(StoreError, match=f":{away}: .*Could not connect"):
        check.protocol(_url([server.port, away]))
