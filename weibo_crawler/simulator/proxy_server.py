"""The proxies on the network: real ones, each on an address of its own, which the site sees."""

import asyncio
import errno
import socket
from collections.abc import Sequence

from weibo_crawler.errors import BadConfig
from weibo_crawler.simulator.proxies import Deed, Proxy
from weibo_crawler.simulator.proxy_client import Client, Upstream


class Fleet:
    """All proxies. port: that each listens on, 0 for any free one."""

    def __init__(self, proxies: Sequence[Proxy], upstream: Upstream, port: int) -> None:
        self._login = upstream.login
        self._servers = [Server(proxy, upstream, port) for proxy in proxies]
        self._flaps: list[asyncio.Task[None]] = []

    async def open(self) -> tuple[str, ...]:
        """Listen; returns the lines of a proxies file. BadConfig where an address cannot be had."""
        for server in self._servers:
            server.reserve()
            if server.proxy.is_up_at_first:
                await server.up()
        self._flaps = [
            asyncio.create_task(server.flap()) for server in self._servers if server.proxy.flap_s
        ]
        return tuple(server.proxy.url(server.port, self._login) for server in self._servers)

    async def close(self) -> None:
        """Stop listening and close all connections."""
        for task in self._flaps:
            task.cancel()
        await asyncio.gather(*self._flaps, return_exceptions=True)
        for server in self._servers:
            await server.close()


class Server:
    """One proxy. portal: the address its captives are led to."""

    def __init__(self, proxy: Proxy, upstream: Upstream, port: int) -> None:
        self.proxy, self.upstream, self.port = proxy, upstream, port
        self.portal = ""
        self._reserved: socket.socket | None = None
        self._listener: asyncio.Server | None = None
        self._clients: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._requests = 0

    def reserve(self) -> None:
        """Take the port, so that a proxy that is down refuses and nobody else gets it."""
        self._reserved = self._bound()
        self.port = self._reserved.getsockname()[1]
        self.portal = f"http://{self.proxy.address}:{self.port}/portal"

    async def up(self) -> None:
        self._listener = await asyncio.start_server(self._meet, sock=self._bound(), backlog=256)

    def down(self) -> None:
        """Refuse connections and drop those there are."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for writer in self._clients.values():
            writer.transport.abort()

    async def flap(self) -> None:
        """Go down and up for ever, as planned from now on."""
        loop, proxy = asyncio.get_running_loop(), self.proxy
        at = loop.time() + proxy.flap_s - proxy.phase_s % proxy.flap_s
        while True:
            self.upstream.record("", "up" if self._listener else "down", proxy.address)
            await asyncio.sleep(at - loop.time())
            at += proxy.flap_s
            if self._listener is None:
                await self.up()
            else:
                self.down()

    async def close(self) -> None:
        self.down()
        for task in self._clients:
            task.cancel()  # a slow one may be about to wait for long
        await asyncio.gather(*self._clients, return_exceptions=True)
        if self._reserved is not None:
            self._reserved.close()

    def deed(self) -> Deed:
        """What is done with the next request."""
        self._requests += 1
        return self.proxy.deed(self.upstream.seed, self._requests - 1)

    def _bound(self) -> socket.socket:
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            # Linux lets the listener have the address of the reservation: both say REUSEADDR,
            # and only one of them listens.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self.proxy.address, self.port))
        except OSError as error:
            bound.close()
            raise BadConfig(_no_address(self.proxy.address, self.port, error)) from None
        return bound

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of ours: Python 3.11 writes a traceback when one of start_server's is cancelled.
        task = asyncio.create_task(Client(self, reader, writer).run())
        self._clients[task] = writer
        task.add_done_callback(self._clients.pop)


def _no_address(address: str, port: int, error: OSError) -> str:
    remedies = {
        errno.EADDRINUSE: f"port {port} is in use there: choose another with --proxy-port, or 0",
        errno.EADDRNOTAVAIL: "proxies need a system where 127.0.0.0/8 is loopback, such as Linux",
    }
    remedy = remedies.get(error.errno or 0, error.strerror)
    return f"--proxies: cannot listen on {address}: {remedy}"
