import asyncio
import gzip
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

import pytest
import requests

from tests.fetch.conftest import Tls
from tests.fetch.servers import Handler, Reader, Writer, drips, head, http, says, serve, stalls
from weibo_crawler.config import Fetch
from weibo_crawler.errors import (
    BadAnswer,
    BodyCut,
    BodyTooLarge,
    ConnectFailed,
    TimedOut,
    TransportError,
)
from weibo_crawler.fetch.egress import DIRECT
from weibo_crawler.fetch.requests_adapter import Exchange
from weibo_crawler.fetch.requests_errors import translate
from weibo_crawler.fetch.requests_transport import RequestsTransport
from weibo_crawler.fetch.transport import Headers
from weibo_crawler.records import Kind, Page, Request

LIMIT = 100_000
SETTINGS = Fetch(
    connect_timeout_s=1.0, read_timeout_s=0.4, max_body_bytes=LIMIT, concurrency=4, verify_tls=True
)
BODY = b'{"ok": 1}' * 500


async def _send(
    url: str, *, tls: Tls | None = None, headers: Headers = (), settings: Fetch = SETTINGS
) -> Page:
    transport = RequestsTransport(settings, tls=tls.client if tls else None)
    try:
        return await transport.send(Request(Kind.PROFILE, url), headers, DIRECT)
    finally:
        await transport.close()


def _ask(handler: Handler) -> Page:
    async def scenario() -> Page:
        async with serve(handler) as port:
            return await _send(f"http://127.0.0.1:{port}/page?a=1")

    return asyncio.run(scenario())


def _fails(handler: Handler, error: type[TransportError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        _ask(handler)
    assert type(caught.value) is error


def _chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    wire = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + wire + end


@pytest.mark.parametrize(
    "answer",
    [
        http(BODY),
        http(gzip.compress(BODY), "Content-Encoding: gzip"),
        http(zlib.compress(BODY), "Content-Encoding: deflate"),
        _chunked(BODY[:7], BODY[7:]),
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    ],
)
def test_whole_answers(answer: bytes) -> None:
    """A whole body comes back decoded, whatever its framing."""
    before = time.time()
    page = _ask(says(answer))
    assert (page.status, page.body, page.egress) == (200, BODY, "direct")
    assert page.url.endswith("/page?a=1")
    assert before <= page.fetched_at <= time.time()


def test_needed_headers_only() -> None:
    """Content type, Retry-After, Location and each Set-Cookie are kept, by lower-case names."""
    answer = http(
        b"",
        "Content-Type: text/html",
        "Retry-After: 30",
        "Server: x",
        "Set-Cookie: a=1; path=/",
        "set-cookie: b=2, c",
        status="429 Too Many",
    )
    assert _ask(says(answer)).headers == (
        ("content-type", "text/html"),
        ("retry-after", "30"),
        ("set-cookie", "a=1; path=/"),
        ("set-cookie", "b=2, c"),
    )


def test_empty_body() -> None:
    """An answer without a body is a page with an empty one."""
    assert _ask(says(http(b"", "Content-Encoding: gzip"))).body == b""
    assert _ask(says(b"HTTP/1.1 204 No Content\r\n\r\n")).status == 204


def test_what_is_sent() -> None:
    """The given headers and no others than the protocol's are sent, the body with its length."""
    seen: list[bytes] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        seen.append(await head(reader) + await reader.readexactly(3))
        writer.write(http(b""))

    async def scenario() -> None:
        async with serve(handler) as port:
            transport = RequestsTransport(SETTINGS)
            request = Request(Kind.SESSION, f"http://127.0.0.1:{port}/", method="POST", body=b"a=1")
            await transport.send(request, (("User-Agent", "u"), ("Cookie", "c=1; d=2")), DIRECT)
            await transport.close()

    asyncio.run(scenario())
    first, *lines = seen[0].split(b"\r\n")
    assert first == b"POST / HTTP/1.1"
    assert lines[-1] == b"a=1"
    assert sorted(line for line in lines[:-2] if not line.startswith(b"Host: ")) == [
        b"Accept-Encoding: gzip, deflate",
        b"Content-Length: 3",
        b"Cookie: c=1; d=2",
        b"User-Agent: u",
    ]


def test_redirects_are_pages() -> None:
    """A redirect is returned with its Location; its target is not asked, its cookie not sent."""
    requests: list[bytes] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        while True:
            requests.append(await head(reader))
            writer.write(http(b"moved", "Location: /other", "Set-Cookie: a=1", status="302 Found"))

    async def scenario() -> list[Page]:
        async with serve(handler) as port:
            transport = RequestsTransport(SETTINGS)
            request = Request(Kind.NAME, f"http://127.0.0.1:{port}/n/x")
            pages = [await transport.send(request, (), DIRECT) for _ in range(2)]
            await transport.close()
            return pages

    for page in asyncio.run(scenario()):
        assert (page.status, page.header("location"), page.body) == (302, "/other", b"moved")
    assert len(requests) == 2
    assert not any(b"Cookie" in request for request in requests)


@pytest.mark.parametrize("answers", [1, 3])
def test_closed_while_it_was_kept(answers: int) -> None:
    """A kept connection that the server closes under the next request is replaced, without an
    error; a fresh one that is closed is an error, as ever."""
    connections: list[int] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        connections.append(1)
        if len(connections) > answers:
            await head(reader)
            return
        await head(reader)
        writer.write(http(BODY))
        await head(reader)  # and says no more: the request has crossed the end of the connection

    async def scenario() -> None:
        async with serve(handler) as port:
            transport = RequestsTransport(SETTINGS)
            request = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/")
            for _ in range(answers):
                assert (await transport.send(request, (), DIRECT)).body == BODY
            with pytest.raises(BodyCut, match="closed before an answer"):
                await transport.send(request, (), DIRECT)
            await transport.close()

    asyncio.run(scenario())
    assert len(connections) == answers + 1


def test_redirect_with_a_bomb() -> None:
    """The limit holds for the body of a redirect too."""
    bomb = gzip.compress(bytes(50 * LIMIT))
    answer = http(bomb, "Content-Encoding: gzip", "Location: /x", status="302 Found")
    _fails(says(answer), BodyTooLarge, "over 100000 bytes")


def test_connections_are_reused() -> None:
    """Requests in a row share a connection, also after an empty body."""
    connections: list[int] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        connections.append(1)
        while True:
            request = await head(reader)
            writer.write(http(b"" if b"/empty" in request else BODY))

    async def scenario() -> None:
        async with serve(handler) as port:
            transport = RequestsTransport(SETTINGS)
            for path in ("a", "empty", "b"):
                await transport.send(
                    Request(Kind.PROFILE, f"http://127.0.0.1:{port}/{path}"), (), DIRECT
                )
            await transport.close()

    asyncio.run(scenario())
    assert len(connections) == 1


ZIPPED = gzip.compress(BODY)


@pytest.mark.parametrize(
    ("handler", "error", "message"),
    [
        (says(http(BODY, length=len(BODY) + 1)), BodyCut, "ended early"),
        (says(_chunked(BODY, end=b"")), BodyCut, "ended early"),
        (says(_chunked(BODY, end=b"10\r\nabc")), BodyCut, "ended early"),
        (says(_chunked(BODY, end=b"zz\r\n")), BodyCut, "ended early"),
        (says(http(ZIPPED[:-9], "Content-Encoding: gzip")), BodyCut, "before its end"),
        (says(http(BODY, "Content-Encoding: gzip")), BodyCut, "no valid gzip"),
        (says(b""), BodyCut, "closed before an answer"),
        (says(b"SSH-2.0-OpenSSH\r\n"), BadAnswer, "not HTTP"),
        (says(b"HTTP/1.1 abc\r\n\r\n"), BadAnswer, "not HTTP"),
        (says(b"\x00\xff" * 100), BadAnswer, "not HTTP"),
        (says(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n"), BadAnswer, "not HTTP"),
        (says(http(b"", "Content-Length: 5")), BadAnswer, "not HTTP"),
        (says(http(BODY, "Content-Encoding: br")), BadAnswer, "not as asked for"),
        (says(http(b"x" * (LIMIT + 1))), BodyTooLarge, "max_body_bytes"),
        (says(_chunked(*[b"x" * 1000] * 101)), BodyTooLarge, "max_body_bytes"),
        (
            says(http(gzip.compress(bytes(300 * LIMIT)), "Content-Encoding: gzip")),
            BodyTooLarge,
            "max_body_bytes",
        ),
        (stalls, TimedOut, "stalled"),
        (drips(b"", b"H"), TimedOut, "no whole answer after 1.8 s"),
        (drips(b"HTTP/1.1 200 OK\r\nA: ", b"a"), TimedOut, "no whole answer"),
        (drips(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"a"), TimedOut, "no whole"),
    ],
)
def test_faults(handler: Handler, error: type[TransportError], message: str) -> None:
    """Each misbehaviour of a site has its own error."""
    _fails(handler, error, message)


def test_a_body_that_stalls() -> None:
    """A body that stops in the middle runs into the read timeout."""

    async def handler(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(http(BODY, length=len(BODY) + 1))
        await stalls(reader, writer)

    _fails(handler, TimedOut, "stalled")


def test_a_connection_that_is_reset() -> None:
    """A reset in the middle of a body is a short body."""

    async def handler(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(http(BODY, length=len(BODY) + 1))
        await writer.drain()
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    _fails(handler, BodyCut, r"the connection broke|ended early")


def test_unknown_host() -> None:
    """A name that cannot be resolved is said to be one, and the name service's text is left out."""
    foreign = requests.ConnectionError("dns says no")
    foreign.__cause__ = socket.gaierror(-2, "Name or service not known")
    error = translate(foreign, Exchange(), DIRECT)
    assert type(error) is ConnectFailed
    assert str(error) == "the host name is not known (direct)"


def test_connection_refused() -> None:
    """A port where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(ConnectFailed, match=r"no connection: Connection refused \(direct\)"):
            asyncio.run(_send(url))


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("nonsense", ()),
        ("ftp://127.0.0.1/", ()),
        ("http://[::1", ()),
        ("http://127.0.0.1:1/", (("A", "b\r\nc: d"),)),
        ("http://127.0.0.1:1/", (("Referer", "http://x/中文"),)),
    ],
)
def test_what_cannot_be_sent(url: str, headers: Headers) -> None:
    """An address or a header that cannot be sent is our own fault."""

    async def scenario() -> None:
        async with serve(says(http(b""))) as port:
            await _send(url.replace(":1/", f":{port}/"), headers=headers)

    with pytest.raises(ConnectFailed, match="cannot be sent") as caught:
        asyncio.run(scenario())
    assert caught.value.blame == "us"


def test_non_ascii_addresses_are_quoted() -> None:
    """An address may hold what a screen name may hold."""
    seen: list[bytes] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        seen.append(await head(reader))
        writer.write(http(b""))

    async def scenario() -> None:
        async with serve(handler) as port:
            await _send(f"http://127.0.0.1:{port}/n/中 文")

    asyncio.run(scenario())
    assert seen[0].startswith(b"GET /n/%E4%B8%AD%20%E6%96%87 HTTP/1.1\r\n")


def test_tls(tls: Tls) -> None:
    """TLS is verified: authority and name; a wrong one is no connection."""

    async def scenario(host: str, trusted: Tls | None, verify: bool = True) -> Page:
        settings = Fetch(verify_tls=verify, read_timeout_s=0.4)
        async with serve(says(http(BODY)), tls=tls.server) as port:
            return await _send(f"https://{host}:{port}/", tls=trusted, settings=settings)

    assert asyncio.run(scenario("localhost", tls)).body == BODY
    with pytest.raises(ConnectFailed, match=r"TLS certificate is not valid: .*127\.0\.0\.1"):
        asyncio.run(scenario("127.0.0.1", tls))
    with pytest.raises(ConnectFailed, match="TLS certificate is not valid: self"):
        asyncio.run(scenario("localhost", None))
    assert asyncio.run(scenario("127.0.0.1", None, verify=False)).body == BODY


def test_tls_with_a_plain_server() -> None:
    """A server that speaks no TLS is no connection."""

    async def handler(reader: Reader, writer: Writer) -> None:
        writer.write(http(BODY))
        await stalls(reader, writer)

    async def scenario() -> None:
        async with serve(handler) as port:
            await _send(f"https://127.0.0.1:{port}/")

    with pytest.raises(ConnectFailed, match="no TLS connection"):
        asyncio.run(scenario())


def test_cancelling_ends_the_exchange() -> None:
    """A cancelled request closes its socket and frees its thread, long before any timeout."""
    settings = Fetch(read_timeout_s=300.0, concurrency=1)

    async def scenario() -> int:
        gone = asyncio.Event()

        async def handler(reader: Reader, writer: Writer) -> None:
            if b"/stall" not in await head(reader):
                writer.write(http(BODY))
                return
            await stalls(reader, writer)
            gone.set()

        async with serve(handler) as port:
            transport = RequestsTransport(settings)
            stalled = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/stall")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(transport.send(stalled, (), DIRECT), 0.3)
            await asyncio.wait_for(gone.wait(), 30)
            page = await asyncio.wait_for(
                transport.send(Request(Kind.PROFILE, f"http://127.0.0.1:{port}/"), (), DIRECT), 30
            )
            await transport.close()
            return page.status

    assert asyncio.run(scenario()) == 200


def test_closing_ends_what_is_under_way() -> None:
    """close() returns although sockets stall, and their callers are cancelled; what waited for a
    thread is not sent any more, nor is anything afterwards."""
    settings = Fetch(read_timeout_s=300.0, concurrency=2)
    connections: list[int] = []
    before = set(threading.enumerate())

    async def handler(reader: Reader, writer: Writer) -> None:
        connections.append(1)
        await stalls(reader, writer)

    async def scenario() -> None:
        async with serve(handler) as port:
            transport = RequestsTransport(settings)
            request = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/")
            calls = [asyncio.create_task(transport.send(request, (), DIRECT)) for _ in range(4)]
            while len(connections) < 2:
                await asyncio.sleep(0.01)
            await asyncio.wait_for(transport.close(), 30)
            await asyncio.wait(calls, timeout=30)
            assert all(call.cancelled() for call in calls)
            with pytest.raises(ConnectFailed, match="closed"):
                await transport.send(request, (), DIRECT)
            while any(
                thread.name.startswith("fetch-") for thread in set(threading.enumerate()) - before
            ):
                await asyncio.sleep(0.01)

    asyncio.run(scenario())
    assert len(connections) == 2


_STALLED_PROGRAM = """
import asyncio, signal, sys
from weibo_crawler.config import Fetch
from weibo_crawler.fetch.egress import DIRECT
from weibo_crawler.fetch.requests_transport import RequestsTransport
from weibo_crawler.records import Kind, Request

# a shell that starts its tests in the background has them ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    transport = RequestsTransport(Fetch(read_timeout_s=300.0))
    request = Request(Kind.PROFILE, sys.argv[1])
    calls = [asyncio.create_task(transport.send(request, (), DIRECT)) for _ in range(8)]
    await asyncio.sleep(0.3)
    print("under way", flush=True)
    await asyncio.gather(*calls)

asyncio.run(main())
"""


def test_ctrl_c_ends_the_process() -> None:
    """A process whose requests all stall ends on Ctrl-C, long before their timeouts."""

    async def scenario() -> None:
        async with serve(stalls) as port:
            program = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                _STALLED_PROGRAM,
                f"http://127.0.0.1:{port}/",
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            assert program.stdout is not None
            try:
                assert await program.stdout.readline() == b"under way\n"
                program.send_signal(signal.SIGINT)
                await asyncio.wait_for(program.wait(), 30)
            finally:
                if program.returncode is None:
                    program.kill()
                    await program.wait()

    asyncio.run(scenario())
