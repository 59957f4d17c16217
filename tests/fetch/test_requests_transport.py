"""What is special to the transport by requests; the contract is in test_transports.py."""

import asyncio
import socket
import threading
from contextlib import AsyncExitStack

import requests

from tests.fetch.servers import Reader, Writer, serve, stalls
from weibo_crawler.config import Fetch
from weibo_crawler.errors import ConnectFailed
from weibo_crawler.fetch.clients.requests_adapter import Exchange
from weibo_crawler.fetch.clients.requests_errors import translate
from weibo_crawler.fetch.clients.requests_transport import RequestsTransport
from weibo_crawler.fetch.egress import DIRECT
from weibo_crawler.records import Kind, Request


def test_unknown_host() -> None:
    """A name that cannot be resolved is said to be one, and the name service's text is left out."""
    foreign = requests.ConnectionError("dns says no")
    foreign.__cause__ = socket.gaierror(-2, "Name or service not known")
    error = translate(foreign, Exchange(), DIRECT)
    assert type(error) is ConnectFailed
    assert str(error) == "the host name is not known (direct)"


def test_closing_ends_the_threads() -> None:
    """What waited for a thread is not sent any more after close(), and the threads end."""
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
            while any(
                thread.name.startswith("fetch-") for thread in set(threading.enumerate()) - before
            ):
                await asyncio.sleep(0.01)

    asyncio.run(scenario())
    assert len(connections) == 2


def test_more_hosts_than_are_kept() -> None:
    """A host whose connections gave way to another's is asked again as before."""

    async def handler(reader: Reader, writer: Writer) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async def scenario() -> list[bytes]:
        async with AsyncExitStack() as servers:
            ports = [await servers.enter_async_context(serve(handler)) for _ in range(6)]
            transport = RequestsTransport(Fetch())
            requests = [Request(Kind.PROFILE, f"http://127.0.0.1:{port}/") for port in ports]
            pages = [await transport.send(one, (), DIRECT) for one in requests + requests]
            await transport.close()
            return [page.body for page in pages]

    assert asyncio.run(scenario()) == [b"ok"] * 12
