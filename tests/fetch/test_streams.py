"""Answers as they come, for files of any length: whole, or an error that says what was wrong."""

import asyncio
import os
import time
from collections.abc import Callable

import pytest

from tests.fetch.servers import Handler, drips, head, http, says, serve
from weibo_crawler.config import Fetch
from weibo_crawler.errors import BodyCut, StoreFull, TimedOut, TransportError
from weibo_crawler.fetch.clients.requests_transport import RequestsTransport, Stream
from weibo_crawler.fetch.egress import DIRECT
from weibo_crawler.records import Kind, Request

FETCH = Fetch(connect_timeout_s=0.5, read_timeout_s=0.5)
BODY = os.urandom(300_000)


def whole(stream: Stream) -> bytes:
    return b"".join(stream.pieces)


async def streamed(handler: Handler, take: Callable[[Stream], bytes] = whole) -> bytes:
    transport = RequestsTransport(FETCH)
    try:
        async with serve(handler) as port:
            request = Request(Kind.MEDIA, f"http://127.0.0.1:{port}/a.jpg")
            return await transport.stream(request, (), DIRECT, take)
    finally:
        await transport.close()


def chunked(body: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    parts = (body[i : i + 7000] for i in range(0, len(body), 7000))
    return start + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + end


@pytest.mark.parametrize(
    "answer",
    [http(BODY), chunked(BODY), b"HTTP/1.1 200 OK\r\n\r\n" + BODY, http(BODY, "Content-Type: x")],
)
def test_a_whole_answer(answer: bytes) -> None:
    """By length, in chunks, or up to the end of the connection; a body longer than those that are
    held in memory, too."""
    assert asyncio.run(streamed(says(answer))) == BODY


@pytest.mark.parametrize(
    "answer",
    [
        *(http(BODY, length=len(BODY) + 1), http(b"", length=5), chunked(BODY, b"")),
        *(chunked(BODY, b"fff\r\nabc"), chunked(BODY)[:-100]),
    ],
)
def test_a_cut_answer(answer: bytes) -> None:
    """It is never taken for a whole one."""
    with pytest.raises(BodyCut):
        asyncio.run(streamed(says(answer)))


def test_an_answer_that_hardly_comes() -> None:
    """It drips for longer than an exchange may take, faster than any read times out."""
    with pytest.raises(TimedOut, match="bytes in"):
        asyncio.run(streamed(drips(http(b"abc", length=10**6), b"x")))


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (chunked(b"abc", b"1;"), b"x"),
    ],
)
def test_what_drips_and_is_no_body(start: bytes, drop: bytes) -> None:
    """A head, announcements of one, or words between the parts of a body."""
    with pytest.raises(TimedOut, match="stalled"):
        asyncio.run(streamed(drips(start, drop)))


def test_who_takes_it_may_take_long() -> None:
    """Only waiting for the network is bounded, not what is done with what came."""

    def take(stream: Stream) -> bytes:
        time.sleep(1.2)  # over connect_timeout_s + read_timeout_s
        return whole(stream)

    assert asyncio.run(streamed(says(http(BODY)), take)) == BODY


def test_errors_of_who_takes_it_are_its_own() -> None:
    """A full disk is no trouble of the network."""

    def take(stream: Stream) -> bytes:
        next(stream.pieces)
        raise StoreFull("no room")

    with pytest.raises(StoreFull):
        asyncio.run(streamed(says(http(BODY)), take))


def test_what_is_cut_here_ends_at_once() -> None:
    """Whatever the server does."""

    async def main() -> None:
        transport, has_come = RequestsTransport(Fetch(read_timeout_s=600.0)), asyncio.Event()

        async def stalls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await head(reader)
            writer.write(http(b"abc", length=10**6))
            await writer.drain()
            has_come.set()
            await reader.read()

        async with serve(stalls) as port:
            request = Request(Kind.MEDIA, f"http://127.0.0.1:{port}/a.jpg")
            running = asyncio.create_task(transport.stream(request, (), DIRECT, whole))
            await has_come.wait()
            transport.cut()
            with pytest.raises(TransportError):
                await running
        await transport.close()

    asyncio.run(main())
