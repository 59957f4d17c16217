"""One contract for every transport, against real servers on loopback that misbehave."""

import asyncio
import gzip
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from math import inf

import pytest
from msgspec.structs import replace

from tests.fetch.conftest import Make, Tls
from tests.fetch.servers import (
    Handler,
    Reader,
    Writer,
    drips,
    head,
    http,
    keeps_saying,
    says,
    serve,
    stalls,
)
from weibo_crawler.config import Fetch
from weibo_crawler.errors import (
    BadAnswer,
    BodyCut,
    BodyTooLarge,
    ConnectFailed,
    TimedOut,
    TransportError,
)
from weibo_crawler.fetch.clients.transport import Headers
from weibo_crawler.fetch.egress import DIRECT, bound
from weibo_crawler.records import Kind, Page, Request

LIMIT = 100_000
# a busy machine may hold up any answer for a second: only who is to be given up is not waited for
SETTINGS = Fetch(connect_timeout_s=30.0, read_timeout_s=30.0, max_body_bytes=LIMIT, concurrency=4)
HASTY = replace(SETTINGS, connect_timeout_s=1.0, read_timeout_s=0.7)
BODY = b'{"ok": 1}' * 500
ZIPPED = gzip.compress(BODY)
GZIP = "Content-Encoding: gzip"


async def _send(
    make: Make,
    url: str,
    *,
    tls: Tls | None = None,
    headers: Headers = (),
    settings: Fetch = SETTINGS,
) -> Page:
    transport = make(settings, tls=tls.client if tls else None)
    try:
        return await transport.send(Request(Kind.PROFILE, url), headers, DIRECT)
    finally:
        await transport.close()


def _ask(make: Make, handler: Handler, settings: Fetch = SETTINGS) -> Page:
    async def scenario() -> Page:
        async with serve(handler) as port:
            return await _send(make, f"http://127.0.0.1:{port}/page?a=1", settings=settings)

    return asyncio.run(scenario())


def _fails(make: Make, handler: Handler, error: type[TransportError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        _ask(make, handler, HASTY if error is TimedOut else SETTINGS)
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)


def _chunked(
    *chunks: bytes, end: bytes = b"0\r\n\r\n", header: bytes = b"X-Framing: chunks"
) -> bytes:
    wire = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + header + b"\r\n\r\n"
    return start + wire + end


# -- what comes back


@pytest.mark.parametrize(
    "answer",
    [
        http(BODY),
        http(ZIPPED, GZIP),
        http(ZIPPED, "Content-Encoding: X-Gzip"),
        http(ZIPPED + b"trailing", GZIP),
        http(gzip.compress(BODY[:90]) + gzip.compress(BODY[90:]), GZIP),
        http(zlib.compress(BODY), "Content-Encoding: deflate"),
        http(zlib.compress(BODY, wbits=-zlib.MAX_WBITS), "Content-Encoding: deflate"),
        _chunked(BODY[:7], BODY[7:]),
        _chunked(BODY, end=b"0\r\nX-Trailer: 1\r\n\r\n"),
        _chunked(ZIPPED[:1], ZIPPED[1:20], ZIPPED[20:], header=GZIP.encode()),
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.1 100 Continue\r\n\r\n" + http(BODY),
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + http(BODY),
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + http(BODY),
        http(ZIPPED, "Content-Encoding: identity, gzip"),
        http(BODY, "Content-Encoding: none"),
        http(BODY, "Content-Encoding: UTF-8"),
    ],
)
def test_whole_answers(make: Make, answer: bytes) -> None:
    """A whole body comes back decoded, whatever its framing."""
    before = time.time()
    page = _ask(make, says(answer))
    assert (page.status, page.body, page.egress) == (200, BODY, "direct")
    assert page.url.endswith("/page?a=1")
    assert before <= page.fetched_at <= time.time()


def test_needed_headers_only(make: Make) -> None:
    """Content type, Retry-After, Location, Date and each Set-Cookie are kept, in lower case."""
    answer = http(
        b"",
        "Content-Type: text/html",
        "Retry-After: 30",
        "Server: x",
        "Date: Thu, 01 Jan 1970 00:02:00 GMT",
        "Set-Cookie: a=1; path=/",
        "set-cookie: b=2, c",
        status="429 Too Many",
    )
    page = _ask(make, says(answer))
    assert page.status == 429
    assert page.headers == (
        ("content-type", "text/html"),
        ("retry-after", "30"),
        ("date", "Thu, 01 Jan 1970 00:02:00 GMT"),
        ("set-cookie", "a=1; path=/"),
        ("set-cookie", "b=2, c"),
    )


def test_headers_are_latin_1(make: Make) -> None:
    """Bytes of a header beyond ASCII come back one character each, as in the standard library."""
    answer = b"HTTP/1.1 302 Found\r\nLocation: /\xe4\xb8\xad\r\nContent-Length: 0\r\n\r\n"
    assert _ask(make, says(answer)).header("location") == "/\xe4\xb8\xad"


def test_empty_body(make: Make) -> None:
    """An answer without a body is a page with an empty one."""
    assert _ask(make, says(http(b"", GZIP))).body == b""
    assert _ask(make, says(b"HTTP/1.1 204 No Content\r\n\r\n")).status == 204


# -- what is sent


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_sent(make: Make, method: str) -> None:
    """The given headers, in order and letter by letter, and no others than the protocol's; the
    body with its length."""
    seen: list[bytes] = []
    body = b"a=1" if method == "POST" else None

    async def handler(reader: Reader, writer: Writer) -> None:
        seen.append(await head(reader) + await reader.readexactly(len(body or b"")))
        writer.write(http(b""))

    async def scenario() -> int:
        async with serve(handler) as port:
            transport = make(SETTINGS)
            request = Request(Kind.SESSION, f"http://127.0.0.1:{port}/", method=method, body=body)
            headers = (("User-Agent", "u"), ("MWeibo-Pwa", "1"), ("Cookie", "c=1; d=2"))
            await transport.send(request, headers, DIRECT)
            await transport.close()
            return port

    port = asyncio.run(scenario())
    length = [b"Content-Length: 3"] if body else []
    assert seen[0].split(b"\r\n") == [
        f"{method} / HTTP/1.1".encode(),
        f"Host: 127.0.0.1:{port}".encode(),
        b"User-Agent: u",
        b"MWeibo-Pwa: 1",
        b"Cookie: c=1; d=2",
        b"Accept-Encoding: gzip, deflate",
        *length,
        b"",
        body or b"",
    ]


def test_non_ascii_addresses_are_quoted(make: Make) -> None:
    """An address may hold what a screen name may hold."""
    seen: list[bytes] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        seen.append(await head(reader))
        writer.write(http(b""))

    async def scenario() -> None:
        async with serve(handler) as port:
            await _send(make, f"http://127.0.0.1:{port}/n/中 文")

    asyncio.run(scenario())
    assert seen[0].startswith(b"GET /n/%E4%B8%AD%20%E6%96%87 HTTP/1.1\r\n")


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
def test_what_cannot_be_sent(make: Make, url: str, headers: Headers) -> None:
    """An address or a header that cannot be sent is our own fault."""

    async def scenario() -> None:
        async with serve(says(http(b""))) as port:
            await _send(make, url.replace(":1/", f":{port}/"), headers=headers)

    with pytest.raises(ConnectFailed, match="cannot be sent") as caught:
        asyncio.run(scenario())
    assert caught.value.blame == "us"


def test_redirects_are_pages(make: Make) -> None:
    """A redirect is returned with its Location; its target is not asked, its cookie not sent."""
    requests: list[bytes] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        while True:
            requests.append(await head(reader))
            writer.write(http(b"moved", "Location: /other", "Set-Cookie: a=1", status="302 Found"))

    async def scenario() -> list[Page]:
        async with serve(handler) as port:
            transport = make(SETTINGS)
            request = Request(Kind.NAME, f"http://127.0.0.1:{port}/n/x")
            pages = [await transport.send(request, (), DIRECT) for _ in range(2)]
            await transport.close()
            return pages

    for page in asyncio.run(scenario()):
        assert (page.status, page.header("location"), page.body) == (302, "/other", b"moved")
    assert len(requests) == 2
    assert not any(b"cookie" in request.lower() for request in requests)


def test_local_addresses(make: Make) -> None:
    """A bound egress goes from its own address, over connections of its own that stay open; the
    unbound one from whichever the system takes."""
    came: list[str] = []
    connections: set[tuple[str, int]] = set()

    async def handler(reader: Reader, writer: Writer) -> None:
        client = writer.get_extra_info("peername")
        connections.add(client)
        while True:
            await head(reader)
            came.append(client[0])
            writer.write(http(BODY))

    wanted = ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
    egresses = [bound(ip_address("127.0.0.2")), bound(ip_address("127.0.0.3")), DIRECT]

    async def scenario() -> list[str]:
        async with serve(handler) as port:
            transport = make(SETTINGS)
            request = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/")
            pages = [await transport.send(request, (), egress) for egress in egresses * 3]
            await transport.close()
            return [page.egress for page in pages]

    assert asyncio.run(scenario()) == ["direct@127.0.0.2", "direct@127.0.0.3", "direct"] * 3
    assert came == wanted * 3
    assert len(connections) == 3


def test_a_lease_that_is_over(make: Make) -> None:
    """From `until` on nothing is sent, and nothing connects."""
    connections: list[int] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        connections.append(1)
        await keeps_saying(http(BODY))(reader, writer)

    async def scenario() -> None:
        async with serve(handler) as port:
            transport = make(SETTINGS)
            request = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/")
            for until in (-inf, time.monotonic()):
                transport.until = until
                with pytest.raises(TransportError):
                    await transport.send(request, (), DIRECT)
            assert not connections
            transport.until = time.monotonic() + 60
            assert (await transport.send(request, (), DIRECT)).body == BODY
            await transport.close()

    asyncio.run(scenario())


# -- connections that are kept


@pytest.mark.parametrize("answers", [1, 3])
def test_closed_while_it_was_kept(make: Make, answers: int) -> None:
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
            transport = make(SETTINGS)
            request = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/")
            for _ in range(answers):
                assert (await transport.send(request, (), DIRECT)).body == BODY
            with pytest.raises(BodyCut, match="closed before an answer"):
                await transport.send(request, (), DIRECT)
            await transport.close()

    asyncio.run(scenario())
    assert len(connections) == answers + 1


def test_servers_that_close_when_they_like(make: Make) -> None:
    """However the ends of kept connections and the next requests cross, all pages come."""
    count = 0

    async def handler(reader: Reader, writer: Writer) -> None:
        nonlocal count
        count += 1
        ends = count % 4
        for _ in range(count % 3 + 1):
            await head(reader)
            writer.write(http(BODY))
        await asyncio.sleep((0, 0, 0.001, 0.003)[ends])
        if ends == 1:
            _reset(writer)

    async def scenario() -> int:
        async with serve(handler) as port:
            transport = make(Fetch(concurrency=8))
            request = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/")
            todo = iter(range(400))

            async def worker() -> int:
                return sum([len((await transport.send(request, (), DIRECT)).body) for _ in todo])

            sizes = await asyncio.gather(*(worker() for _ in range(8)))
            await transport.close()
            return sum(sizes)

    assert asyncio.run(scenario()) == 400 * len(BODY)


def test_connections_are_reused(make: Make) -> None:
    """Requests in a row share a connection, also after an empty body."""
    connections: list[int] = []

    async def handler(reader: Reader, writer: Writer) -> None:
        connections.append(1)
        while True:
            request = await head(reader)
            writer.write(http(b"" if b"/empty" in request else BODY))

    async def scenario() -> None:
        async with serve(handler) as port:
            transport = make(SETTINGS)
            for path in ("a", "empty", "b"):
                await transport.send(
                    Request(Kind.PROFILE, f"http://127.0.0.1:{port}/{path}"), (), DIRECT
                )
            await transport.close()

    asyncio.run(scenario())
    assert len(connections) == 1


# -- faults


@pytest.mark.parametrize(
    ("handler", "error", "message"),
    [
        (says(http(BODY, length=len(BODY) + 1)), BodyCut, "ended early"),
        (says(_chunked(BODY, end=b"")), BodyCut, "ended early"),
        (says(_chunked(BODY, end=b"10\r\nabc")), BodyCut, "ended early"),
        (says(_chunked(BODY, end=b"zz\r\n")), BodyCut, "ended early"),
        (says(http(ZIPPED[:-9], GZIP)), BodyCut, "before its end"),
        (says(_chunked(ZIPPED[:-9], header=GZIP.encode())), BodyCut, "before its end"),
        (says(http(ZIPPED + ZIPPED[:15], GZIP)), BodyCut, "before its end"),
        (says(http(BODY, GZIP)), BodyCut, "no valid gzip"),
        (says(b""), BodyCut, "closed before an answer"),
        (says(b"HTTP/1.1 200 O"), BodyCut, "closed before an answer|ended early"),
        (says(http(BODY)[:30]), BodyCut, "closed before an answer|ended early"),
        (says(b"SSH-2.0-OpenSSH\r\n"), BadAnswer, "not HTTP"),
        (says(b"HTTP/1.1 abc\r\n\r\n"), BadAnswer, "not HTTP"),
        (says(b"\x00\xff" * 100), BadAnswer, "not HTTP"),
        (says(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n"), BadAnswer, "not HTTP"),
        (says(http(b"", "Content-Length: 5")), BadAnswer, "not HTTP"),
        (says(http(BODY, "Content-Encoding: br")), BadAnswer, "not as asked for"),
        (says(http(ZIPPED, GZIP, GZIP)), BadAnswer, "not as asked for"),
        (says(http(b"x" * (LIMIT + 1))), BodyTooLarge, "max_body_bytes"),
        (says(_chunked(*[b"x" * 1000] * 101)), BodyTooLarge, "max_body_bytes"),
        (says(http(gzip.compress(bytes(300 * LIMIT)), GZIP)), BodyTooLarge, "max_body_bytes"),
        (
            says(http(gzip.compress(bytes(50 * LIMIT)), GZIP, "Location: /x", status="302 Found")),
            BodyTooLarge,
            "max_body_bytes",
        ),
        (stalls, TimedOut, "stalled|no whole answer"),
        (drips(b"HTTP/1.1 200 ", b"O"), TimedOut, r"stalled|no whole answer after 1.7 s"),
        (drips(b"HTTP/1.1 200 OK\r\nA: ", b"a"), TimedOut, r"stalled|no whole answer"),
        (drips(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"a"), TimedOut, "no whole"),
    ],
)
def test_faults(make: Make, handler: Handler, error: type[TransportError], message: str) -> None:
    """Each misbehaviour of a site has its own error, of one line."""
    _fails(make, handler, error, message)


def test_a_body_that_stalls(make: Make) -> None:
    """A body that stops in the middle runs into the read timeout."""

    async def handler(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(http(BODY, length=len(BODY) + 1))
        await stalls(reader, writer)

    _fails(make, handler, TimedOut, "stalled|no whole answer")


def _reset(writer: Writer) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@pytest.mark.parametrize("answer", [b"", http(BODY, length=len(BODY) + 1)])
def test_a_connection_that_is_reset(make: Make, answer: bytes) -> None:
    """A reset before an answer, or in the middle of a body, is a short body."""

    async def handler(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(answer)
        await writer.drain()
        _reset(writer)

    _fails(make, handler, BodyCut, r"the connection broke|ended early")


def test_a_body_over_the_limit_ends_the_connection(make: Make) -> None:
    """What would send without end is not read without end."""

    async def scenario() -> None:
        ended = asyncio.Event()

        async def handler(reader: Reader, writer: Writer) -> None:
            await head(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            try:
                while True:
                    writer.write(bytes(LIMIT))
                    await writer.drain()
            finally:
                ended.set()

        async with serve(handler) as port:
            transport = make(SETTINGS)
            request = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/")
            with pytest.raises(BodyTooLarge):
                await transport.send(request, (), DIRECT)
            await asyncio.wait_for(ended.wait(), 30)
            await transport.close()

    asyncio.run(scenario())


def test_connection_refused(make: Make) -> None:
    """A port where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(ConnectFailed, match=r"no connection: Connection refused \(direct\)"):
            asyncio.run(_send(make, url))


@contextmanager
def _full_port() -> Iterator[int]:
    """A port that does not answer: the queue of the server that listens there is full."""
    with socket.socket() as server, socket.socket() as first, socket.socket() as second:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


def test_a_connection_that_does_not_come(make: Make) -> None:
    """Connecting has a timeout of its own."""
    settings = Fetch(connect_timeout_s=0.3, read_timeout_s=60.0)
    with _full_port() as port, pytest.raises(TimedOut, match="connecting took too long"):
        asyncio.run(_send(make, f"http://127.0.0.1:{port}/", settings=settings))


# -- TLS


def test_tls(make: Make, tls: Tls) -> None:
    """TLS is verified: authority and name; a wrong one is no connection."""

    async def scenario(host: str, trusted: Tls | None, verify: bool = True) -> Page:
        settings = replace(SETTINGS, verify_tls=verify)
        async with serve(says(http(BODY)), tls=tls.server) as port:
            return await _send(make, f"https://{host}:{port}/", tls=trusted, settings=settings)

    assert asyncio.run(scenario("localhost", tls)).body == BODY
    for host, trusted in (("127.0.0.1", tls), ("localhost", None)):
        with pytest.raises(ConnectFailed, match="TLS certificate is not valid"):
            asyncio.run(scenario(host, trusted))
    assert asyncio.run(scenario("127.0.0.1", None, verify=False)).body == BODY


def test_tls_with_a_plain_server(make: Make) -> None:
    """A server that speaks no TLS is no connection."""

    async def handler(reader: Reader, writer: Writer) -> None:
        writer.write(http(BODY))
        await stalls(reader, writer)

    async def scenario(handler: Handler, settings: Fetch) -> None:
        async with serve(handler) as port:
            await _send(make, f"https://127.0.0.1:{port}/", settings=settings)

    with pytest.raises(ConnectFailed, match="no TLS connection"):
        asyncio.run(scenario(handler, SETTINGS))
    with pytest.raises(TimedOut, match="connecting took too long"):
        asyncio.run(scenario(stalls, HASTY))


# -- ends from outside


def test_many_at_once(make: Make) -> None:
    """Each of many exchanges at once gets its own answer."""

    async def handler(reader: Reader, writer: Writer) -> None:
        while True:
            writer.write(http((await head(reader)).split(b" ")[1]))

    async def scenario() -> list[bytes]:
        async with serve(handler) as port:
            transport = make(Fetch(concurrency=16))
            urls = [f"http://127.0.0.1:{port}/{n}" for n in range(200)]
            calls = [transport.send(Request(Kind.PROFILE, url), (), DIRECT) for url in urls]
            pages = await asyncio.gather(*calls)
            await transport.close()
            return [page.body for page in pages]

    assert asyncio.run(scenario()) == [b"/%d" % n for n in range(200)]


@pytest.mark.parametrize("start", [b"", http(BODY, length=len(BODY) + 1)])
def test_cancelling_ends_the_exchange(make: Make, start: bytes) -> None:
    """A cancelled request closes its socket and makes room for the next, long before any timeout,
    whether it waits for the head of an answer or in its body."""
    settings = Fetch(read_timeout_s=300.0, concurrency=4)

    async def scenario() -> int:
        arrived, gone = asyncio.Semaphore(0), asyncio.Semaphore(0)

        async def handler(reader: Reader, writer: Writer) -> None:
            if b"/stall" not in await head(reader):
                writer.write(http(BODY))
                return
            writer.write(start)
            arrived.release()
            try:
                await stalls(reader, writer)
            finally:
                gone.release()

        async with serve(handler) as port:
            transport = make(settings)
            stalled = Request(Kind.PROFILE, f"http://127.0.0.1:{port}/stall")
            calls = [asyncio.create_task(transport.send(stalled, (), DIRECT)) for _ in range(4)]
            for _ in calls:
                await asyncio.wait_for(arrived.acquire(), 30)
            with pytest.raises(TimeoutError):  # by now they wait, in the head or in the body
                await asyncio.wait_for(asyncio.gather(*calls), 0.3)
            for _ in calls:
                await asyncio.wait_for(gone.acquire(), 30)
            page = await asyncio.wait_for(
                transport.send(Request(Kind.PROFILE, f"http://127.0.0.1:{port}/"), (), DIRECT), 30
            )
            await transport.close()
            return page.status

    assert asyncio.run(scenario()) == 200


def test_closing_ends_what_is_under_way(make: Make) -> None:
    """close() returns although sockets stall; they are closed, kept ones too, and their callers
    are cancelled; nothing is sent afterwards. It may be called again."""
    settings = Fetch(read_timeout_s=300.0, concurrency=3)

    async def scenario() -> None:
        arrived, gone = asyncio.Semaphore(0), asyncio.Semaphore(0)

        async def handler(reader: Reader, writer: Writer) -> None:
            request = await head(reader)
            if b"/body" in request:
                writer.write(http(BODY, length=len(BODY) + 1))
            elif b"/whole" in request:
                writer.write(http(BODY))
            arrived.release()
            try:
                await stalls(reader, writer)
            finally:
                gone.release()

        async with serve(handler) as port:
            transport = make(settings)
            requests = [
                Request(Kind.PROFILE, f"http://127.0.0.1:{port}/{path}")
                for path in ("head", "body", "whole")
            ]
            calls = [asyncio.create_task(transport.send(r, (), DIRECT)) for r in requests[:2]]
            for _ in calls:
                await asyncio.wait_for(arrived.acquire(), 30)
            assert (await transport.send(requests[2], (), DIRECT)).body == BODY
            await asyncio.wait_for(transport.close(), 30)
            await asyncio.wait(calls, timeout=30)
            assert all(call.cancelled() for call in calls)
            for _ in requests:
                await asyncio.wait_for(gone.acquire(), 30)
            with pytest.raises(ConnectFailed, match="closed"):
                await transport.send(requests[0], (), DIRECT)
            await transport.close()

    asyncio.run(scenario())
