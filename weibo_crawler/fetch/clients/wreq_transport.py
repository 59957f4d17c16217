"""The fast transport: `wreq`, an HTTP client in Rust.

It is asked for the bytes of the wire: its own decoder takes the first member of a gzip stream for
the whole, hands out pieces of 4 kB, and is no quicker than `Body`.
"""

import asyncio
import functools
import ssl
import time
from datetime import timedelta
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any

import certifi
import wreq
from wreq.redirect import Policy

from weibo_crawler import errors
from weibo_crawler.config import Fetch
from weibo_crawler.fetch.clients.body import ACCEPT_ENCODING, Body
from weibo_crawler.fetch.clients.transport import KEPT_HEADERS, Headers
from weibo_crawler.fetch.clients.wreq_errors import FOREIGN, local_port, translate, was_closed
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Page, Request

if not version("wreq").startswith("0.13."):  # errors are told apart by their texts
    raise ImportError("wreq 0.13 is needed")

_OPEN_EGRESSES = 128  # whose connections are kept: sockets are scarce, proxies may be many


class WreqTransport:
    """`Transport` by wreq.

    Connecting has the timeout of the settings; a whole exchange ends after
    connect_timeout_s + read_timeout_s, however slowly it drips. HTTP/1.1 only. How many exchanges
    go on at once is up to the caller. `until` is looked at before connecting, so what
    connects then is through connect_timeout_s later. tls: its authorities are believed; None: those
    that come with requests.
    """

    name = "wreq"
    most_at_once = 1024

    def __init__(self, settings: Fetch, *, tls: ssl.SSLContext | None = None) -> None:
        self._deadline_s = settings.connect_timeout_s + settings.read_timeout_s
        self._limit = settings.max_body_bytes
        self._client: wreq.Client | None = _client(settings, tls)
        self._under_way: dict[asyncio.Task[object], float] = {}  # with its end, the first one first
        self._overdue: set[asyncio.Task[object]] = set()
        self._clock: asyncio.TimerHandle | None = None
        self._answered_ports: set[int] = set()
        self.until = inf

    async def send(self, request: Request, headers: Headers, egress: Egress) -> Page:
        task = asyncio.current_task()
        assert task is not None
        loop = task.get_loop()
        self._under_way[task] = loop.time() + self._deadline_s
        if self._clock is None:
            self._clock = loop.call_later(self._deadline_s, self._end_overdue)
        try:
            return await self._exchange(request, headers, egress)
        except asyncio.CancelledError:
            if task not in self._overdue or task.uncancel() > 0:
                raise
            reason = f"no whole answer after {self._deadline_s:g} s ({egress.name})"
            raise errors.TimedOut(reason) from None
        finally:
            self._under_way.pop(task, None)
            self._overdue.discard(task)

    async def close(self) -> None:
        """See `Transport`. What is under way is cancelled."""
        if self._client is not None:
            self._client.close()
            self._client = None  # kept connections live as long as it
        if self._clock is not None:
            self._clock.cancel()
        for task in self._under_way:
            task.cancel()

    def _end_overdue(self) -> None:
        """One timer serves all exchanges, as they are listed in the order of their ends."""
        loop = asyncio.get_running_loop()
        self._clock = None
        for task, end in self._under_way.items():
            if end > loop.time():
                self._clock = loop.call_at(end, self._end_overdue)
                return
            if task not in self._overdue:
                self._overdue.add(task)
                task.cancel()

    async def _exchange(self, request: Request, headers: Headers, egress: Egress) -> Page:
        try:
            response = await self._answer(request, headers, egress)
            received = response.headers
            body = Body(_joined(received, "content-encoding"), self._limit)
            async with response.stream() as pieces:
                async for piece in pieces:
                    if isinstance(piece, memoryview):  # else trailers
                        body.feed(piece.tobytes())
            content = body.finish()
        except FOREIGN as error:
            raise translate(error, egress) from None
        status = response.status.as_int()
        if status == 407 and egress.proxy_url is not None:
            raise errors.EgressFailed(
                f"{egress.name}: the proxy refuses its user or password (407)"
            )
        return Page(
            *(request.url, status, _kept(received), content, time.time(), egress.name),
            *body.encoded,
        )

    async def _answer(self, request: Request, headers: Headers, egress: Egress) -> wreq.Response:
        """The answer's head. Servers close idle connections when they like, and so may cross a
        request on its way: where the connection has brought an answer before, another is taken."""
        what = _prepare(request, headers, egress)
        while True:
            if self._client is None:
                raise errors.ConnectFailed("the transport is closed", blame="us")
            if time.monotonic() >= self.until:
                raise errors.EgressFailed(f"{egress.name}: its lease is over")
            try:
                response = await self._client.request(**what)
            except FOREIGN as error:
                port = local_port(error)
                if port not in self._answered_ports or not was_closed(error):
                    raise
                self._answered_ports.discard(port)
            else:
                if response.local_addr is not None:
                    self._answered_ports.add(response.local_addr.port())
                return response


def _client(settings: Fetch, tls: ssl.SSLContext | None) -> wreq.Client:
    believed = Path(certifi.where()) if settings.verify_tls else False
    return wreq.Client(
        # Of its own: the shared one does not live on in a forked process. One thread for sockets
        # and TLS keeps up with the one thread of the event loop.
        runtime=wreq.Runtime(workers=1, work_steal=False),
        connect_timeout=timedelta(seconds=settings.connect_timeout_s),
        redirect=Policy.none(),
        http1_only=True,
        no_proxy=True,  # none from the environment
        dns_options=wreq.DnsOptions(system_dns=True),
        pool_max_size=_OPEN_EGRESSES
        + (settings.concurrency or WreqTransport.most_at_once),  # egresses, not connections
        tls_verify=believed if tls is None else _authorities(tls),
        gzip=False,
        deflate=False,
        brotli=False,
        zstd=False,
    )


def _authorities(tls: ssl.SSLContext) -> wreq.CertStore:
    return wreq.CertStore.from_der_certs(tls.get_ca_certs(binary_form=True))


def _prepare(request: Request, headers: Headers, egress: Egress) -> dict[str, Any]:
    """What wreq is called with. A `Proxy` is made in half a microsecond, so none is kept."""
    sent = dict(headers)
    if not "".join(sent.values()).isascii():
        raise errors.ConnectFailed("a header that is not ASCII cannot be sent", blame="us")
    spelling, is_encoding_named = _spelling(tuple(sent))
    if not is_encoding_named:
        sent["Accept-Encoding"] = ACCEPT_ENCODING
    what: dict[str, Any] = {
        "method": _METHODS[request.method],
        "url": request.url,
        "headers": sent,
        "orig_headers": spelling,
    }
    if request.body is not None:
        what["body"] = request.body
    if egress.proxy_url is not None:
        what["proxy"] = wreq.Proxy.all(egress.proxy_url)
    if egress.local is not None:
        what["local_address"] = egress.local
    return what


_METHODS = {"GET": wreq.Method.GET, "POST": wreq.Method.POST}


@functools.lru_cache(maxsize=64)
def _spelling(names: tuple[str, ...]) -> tuple[wreq.OrigHeaderMap, bool]:
    """Order and letter case of the headers as sent, without which all are in lower case; and
    whether Accept-Encoding is among the names, else it is sent after them."""
    is_encoding_named = any(name.lower() == "accept-encoding" for name in names)
    more = () if is_encoding_named else ("Accept-Encoding",)
    spelling = wreq.OrigHeaderMap(["Host", *names, *more, "Content-Length", "Proxy-Authorization"])
    return spelling, is_encoding_named


def _kept(received: wreq.HeaderMap) -> Headers:
    kept = [(name, _joined(received, name)) for name in KEPT_HEADERS if name in received]
    kept += [("set-cookie", str(v, "latin-1")) for v in received.get_all("set-cookie")]
    return tuple(kept)


def _joined(received: wreq.HeaderMap, name: str) -> str:
    return ", ".join(str(value, "latin-1") for value in received.get_all(name))
