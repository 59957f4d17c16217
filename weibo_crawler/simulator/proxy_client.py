"""One connection of a proxy's client: HTTP with absolute addresses, CONNECT, or SOCKS5."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from weibo_crawler.simulator import proxy_wire
from weibo_crawler.simulator.proxies import Deed

if TYPE_CHECKING:
    from weibo_crawler.simulator.proxy_server import Server

_SOCKS_VERSION = b"\x05"


class Upstream(NamedTuple):
    """Where the proxies lead, and what they need to know.

    seed: of their deeds. login: `user:password` they ask for, "" for none. other_user: an address
    of the site -> the same for somebody else, None where it is of nobody. record: called with
    address, label and egress for what the site never saw.
    """

    host: str
    port: int
    seed: int
    login: str
    other_user: Callable[[str], str | None]
    record: Callable[[str, str, str], None]

    @property
    def authorities(self) -> tuple[str, ...]:
        return (f"{self.host}:{self.port}", f"localhost:{self.port}")


class Client:
    """One connection of a client, and the one to the site that is opened for it."""

    def __init__(
        self, server: "Server", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server, self._upstream = server, server.upstream
        self._reader, self._writer = reader, writer
        self._site: asyncio.Transport | None = None

    async def run(self) -> None:
        """Talk until one side ends it."""
        gone = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError)
        try:
            with contextlib.suppress(*gone):
                await self._begin()
        finally:
            if self._site is not None:
                self._site.close()
            self._writer.close()

    async def _begin(self) -> None:
        first = await self._reader.readexactly(1)
        if first != _SOCKS_VERSION:
            await self._requests(first, tunnel=False)
            return
        target = await proxy_wire.socks_target(self._reader, self._writer, self._upstream.login)
        if target is not None and await self._open_tunnel(target, socks=True):
            await self._requests(b"", tunnel=True)

    async def _requests(self, begun: bytes, *, tunnel: bool) -> None:
        """Serve requests one after the other; as the site has no TLS, those of a tunnel too."""
        while True:
            head = proxy_wire.read_head(begun + await self._reader.readuntil(b"\r\n\r\n"))
            begun = b""
            if head is None:
                self._writer.write(proxy_wire.NOT_HTTP)
                return
            body = await self._reader.readexactly(head.length)
            if not tunnel and not self._may(head):
                self._writer.write(proxy_wire.WHO_ARE_YOU)
            elif head.method == "CONNECT" and not tunnel:
                tunnel = await self._open_tunnel(head.target, socks=False)
            else:
                await self._serve(head, body)

    def _may(self, head: proxy_wire.Head) -> bool:
        login = self._upstream.login
        return not login or head.authorization == proxy_wire.basic(login)

    async def _open_tunnel(self, target: str, *, socks: bool) -> bool:
        if target not in self._upstream.authorities:
            self._writer.write(proxy_wire.elsewhere(socks=socks))
            return False
        deed = self._server.deed()
        words, is_open = proxy_wire.opened(deed, self._server.portal, socks=socks)
        if not is_open:
            self._upstream.record("", deed, self._server.proxy.address)
        self._writer.write(words)
        return is_open

    async def _serve(self, head: proxy_wire.Head, body: bytes) -> None:
        proxy, upstream = self._server.proxy, self._upstream
        address = head.address(upstream.authorities)
        if address is None:
            is_portal = head.target == self._server.portal
            self._writer.write(proxy_wire.PORTAL if is_portal else proxy_wire.ELSEWHERE)
            return
        if proxy.late_s:
            await asyncio.sleep(proxy.late_s)
            if self._reader.at_eof():  # who has gone asks for nothing
                return
        deed = self._server.deed()
        asked: str | None = address
        if deed is Deed.OTHER_USER:
            asked = upstream.other_user(address)
            deed = deed if asked else Deed.OWN_PAGE
        if deed is not Deed.FORWARD:
            upstream.record(address, deed, proxy.address)
        if asked is None or deed not in (Deed.FORWARD, Deed.OTHER_USER):
            self._writer.write(proxy_wire.own_answer(deed, self._server.portal))
            return
        await self._forward(head.for_site(asked) + body)

    async def _forward(self, request: bytes) -> None:
        if self._site is None:
            loop, upstream = asyncio.get_running_loop(), self._upstream
            try:
                self._site, _ = await loop.create_connection(
                    lambda: _Relay(self._writer.transport),
                    upstream.host,
                    upstream.port,
                    local_addr=(self._server.proxy.address, 0),
                )
            except OSError:
                self._writer.write(proxy_wire.NO_SITE)
                return
        self._site.write(request)


class _Relay(asyncio.Protocol):
    """What comes from the site goes to the client, as it comes, also where it is no HTTP.

    No flow control: a client asks again only after an answer, so no more than one waits here.
    """

    def __init__(self, client: asyncio.WriteTransport) -> None:
        self._client = client

    def data_received(self, data: bytes) -> None:
        self._client.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._client.close()
