"""Real servers on loopback that misbehave as told: raw sites, a forward proxy, a SOCKS proxy."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Handler = Callable[[Reader, Writer], Awaitable[None]]

PROXY_HOST = "127.0.0.2"  # another address than the site's: what goes where can be told apart
ACCOUNT = "user:geheim"


@asynccontextmanager
async def serve(
    handler: Handler, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """The port of a server that runs `handler` for each connection, until the block ends."""
    running: dict[asyncio.Task[None], Writer] = {}

    async def connection(reader: Reader, writer: Writer) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):  # the client went away
            await handler(reader, writer)

    def accept(reader: Reader, writer: Writer) -> None:
        task = asyncio.create_task(connection(reader, writer))
        running[task] = writer
        task.add_done_callback(lambda _: writer.close())

    server = await asyncio.start_server(accept, host, 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for writer in running.values():
            with suppress(OSError):
                await writer.wait_closed()


async def head(reader: Reader) -> bytes:
    """A request up to its empty line."""
    return await reader.readuntil(b"\r\n\r\n")


def says(answer: bytes) -> Handler:
    """Reads a request, sends these bytes, closes."""

    async def handler(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(answer)
        await writer.drain()

    return handler


def keeps_saying(answer: bytes) -> Handler:
    """Sends these bytes for each request of a connection."""

    async def handler(reader: Reader, writer: Writer) -> None:
        while True:
            await head(reader)
            writer.write(answer)

    return handler


def http(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    """An answer; length: the announced one, where it is not the body's."""
    lines = [f"HTTP/1.1 {status}", *headers]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def drips(start: bytes, drop: bytes) -> Handler:
    """Sends `start`, then `drop` again and again, faster than any read timeout."""

    async def handler(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(start)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.05)

    return handler


async def stalls(reader: Reader, writer: Writer) -> None:
    """Reads all that comes and never answers."""
    while await reader.read(4096):
        pass


async def _relay(a: tuple[Reader, Writer], b: tuple[Reader, Writer]) -> None:
    """Carry bytes both ways until one side ends, then end both."""

    async def pump(reader: Reader, writer: Writer) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()

    ways = [asyncio.create_task(pump(a[0], b[1])), asyncio.create_task(pump(b[0], a[1]))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        b[1].close()


async def forward_proxy(reader: Reader, writer: Writer) -> None:
    """A plain proxy that wants ACCOUNT: CONNECT, and absolute addresses. It goes on from the
    address that it listens on, so a site sees which proxy a request came by."""
    own = (writer.get_extra_info("sockname")[0], 0)
    request = await head(reader)
    method, target, _ = request.split(b"\r\n")[0].split(b" ")
    wanted = b"Proxy-Authorization: Basic " + base64.b64encode(ACCOUNT.encode())
    if wanted not in request:
        writer.write(http(b"", status="407 Proxy Authentication Required"))
        return
    if method == b"CONNECT":
        host, _, port = target.decode().rpartition(":")
        site = await asyncio.open_connection(host, int(port), local_addr=own)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    else:
        address, _, path = target.removeprefix(b"http://").partition(b"/")
        host, _, port = address.decode().rpartition(":")
        site = await asyncio.open_connection(host, int(port), local_addr=own)
        lines = request.replace(target, b"/" + path, 1).split(b"\r\n")
        site[1].write(b"\r\n".join(line for line in lines if not line.startswith(b"Proxy-")))
    await _relay((reader, writer), site)


async def socks_proxy(reader: Reader, writer: Writer) -> None:
    """SOCKS5 with ACCOUNT; names are resolved here."""
    _, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    writer.write(b"\x05\x02")
    user = await reader.readexactly((await reader.readexactly(2))[1])
    password = await reader.readexactly((await reader.readexactly(1))[0])
    if user + b":" + password != ACCOUNT.encode():
        writer.write(b"\x01\x01")
        return
    writer.write(b"\x01\x00")
    kind = (await reader.readexactly(4))[3]
    assert kind == 3, "the name is to be resolved by the proxy"
    host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    port = int.from_bytes(await reader.readexactly(2), "big")
    site = await asyncio.open_connection(host, port)
    writer.write(b"\x05\x00\x00\x01" + bytes(6))
    await _relay((reader, writer), site)
