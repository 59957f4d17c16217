"""Transports in processes of their own: how these end, fork, and how much memory they take."""

import asyncio
import gzip
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.fetch.conftest import Make
from tests.fetch.servers import Handler, http, keeps_saying, says, serve, stalls

_START = """
import asyncio, os, resource, signal, sys
from weibo_crawler.config import Fetch
from weibo_crawler.errors import BodyTooLarge
from weibo_crawler.fetch.egress import DIRECT
from weibo_crawler.fetch.opening import choose_transport
from weibo_crawler.records import Kind, Request

name, url = sys.argv[1:]
settings = Fetch(transport=name, read_timeout_s=300.0, max_body_bytes=100_000)

def make():
    return choose_transport(settings)(settings)

def send(transport):
    return transport.send(Request(Kind.PROFILE, url), (), DIRECT)
"""


@asynccontextmanager
async def _program(
    make: Make, text: str, handler: Handler
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A Python program that has a transport and a server; it is ended with the block."""
    async with serve(handler) as port:
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _START + text,
            make.name,
            f"http://127.0.0.1:{port}/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        try:
            yield program
        finally:
            if program.returncode is None:
                program.kill()
            await program.communicate()


_STALLED = """
# a shell that starts its tests in the background has them ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    transport = make()
    calls = [asyncio.create_task(send(transport)) for _ in range(8)]
    await asyncio.sleep(0.3)
    print("under way", flush=True)
    await asyncio.gather(*calls)

asyncio.run(main())
"""


def test_ctrl_c_ends_the_process(make: Make) -> None:
    """A process whose requests all stall ends on Ctrl-C, long before their timeouts."""

    async def scenario() -> None:
        async with _program(make, _STALLED, stalls) as program:
            assert program.stdout is not None
            assert await program.stdout.readline() == b"under way\n"
            program.send_signal(signal.SIGINT)
            _, told = await asyncio.wait_for(program.communicate(), 30)
            assert told.rstrip().endswith(b"KeyboardInterrupt")

    asyncio.run(scenario())


_BUSY = """
async def keep_sending(transport):
    while True:
        await send(transport)

async def main():
    transport = make()
    calls = [asyncio.create_task(keep_sending(transport)) for _ in range(16)]
    await asyncio.sleep(0.2)
    sys.exit(7)

asyncio.run(main())
"""


def test_a_process_exits_with_its_own_code(make: Make) -> None:
    """An exit while answers stream in is neither a crash nor a hang."""

    async def scenario() -> None:
        async with _program(make, _BUSY, keeps_saying(http(b"x" * 50_000))) as program:
            _, told = await asyncio.wait_for(program.communicate(), 60)
            assert (program.returncode, told) == (7, b"")

    asyncio.run(scenario())


_FORKING = """
async def one_page():
    transport = make()
    page = await send(transport)
    await transport.close()
    return len(page.body)

assert asyncio.run(one_page()) == 5
child = os.fork()
if child == 0:
    os._exit(asyncio.run(one_page()))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
print("both")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process(make: Make) -> None:
    """A process that has used a transport may fork, and the child use one of its own."""

    async def scenario() -> None:
        async with _program(make, _FORKING, keeps_saying(http(b"12345"))) as program:
            told, why = await asyncio.wait_for(program.communicate(), 60)
            assert (program.returncode, told.decode().strip()) == (0, "both"), why.decode()

    asyncio.run(scenario())


_BOMBED = """
def peak_bytes():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

async def main():
    transport = make()
    before = peak_bytes()
    for _ in range(3):
        try:
            await send(transport)
        except BodyTooLarge:
            print("too large")
    print(peak_bytes() - before)
    await transport.close()

asyncio.run(main())
"""


def _bomb() -> bytes:
    """The gzip of 100 MB of zeros."""
    squeeze = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    piece = bytes(1_000_000)
    return b"".join([*(squeeze.compress(piece) for _ in range(100)), squeeze.flush()])


def _large() -> bytes:
    """The gzip, without compression, of 60 MB."""
    return gzip.compress(os.urandom(60_000_000), 0)


@pytest.mark.parametrize("body", [_bomb, _large])
def test_memory_under_a_bomb(make: Make, body: Callable[[], bytes]) -> None:
    """A body over the limit never gets into memory whole, be it large on the wire or decoded."""

    async def scenario() -> None:
        handler = says(http(body(), "Content-Encoding: gzip"))
        async with _program(make, _BOMBED, handler) as program:
            told, why = await asyncio.wait_for(program.communicate(), 60)
            *errors, growth = told.decode().split("\n")[:-1]
            assert errors == ["too large"] * 3, why.decode()
            assert int(growth) < 30_000_000

    asyncio.run(scenario())
