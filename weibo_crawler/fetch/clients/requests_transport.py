"""The portable transport: `requests` in threads of its own."""

import asyncio
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import urllib3

from weibo_crawler import errors
from weibo_crawler.config import Fetch
from weibo_crawler.fetch.clients.body import ACCEPT_ENCODING, Body
from weibo_crawler.fetch.clients.requests_adapter import Adapter, Exchange, begin, tls_context
from weibo_crawler.fetch.clients.requests_errors import FOREIGN, blamed, translate, was_stale
from weibo_crawler.fetch.clients.threads import Threads
from weibo_crawler.fetch.clients.transport import KEPT_HEADERS, Headers
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Page, Request

T = TypeVar("T")

_CHUNK = 64 * 1024
_OPEN_EGRESSES = 128  # whose connections are kept: sockets are scarce, proxies may be many


_SLOWEST = 4096  # bytes a second of a long body, over as many seconds as one read may take


class Stream(NamedTuple):
    """An answer as it comes. headers: lower-case names, the last of several. pieces: of the body,
    as the wire brings it; a CrawlerError where it ends early, or hardly comes."""

    status: int
    headers: dict[str, str]
    pieces: Iterator[bytes]


class RequestsTransport:
    """`Transport` by requests.

    Connect and each read have the timeouts of the settings; a whole exchange ends after
    connect_timeout_s + read_timeout_s, however slowly it drips; of a stream each wait for its head
    or for more of its body does. tls: how to verify; None: by the settings.
    """

    name = "requests"
    most_at_once = 64  # threads

    def __init__(self, settings: Fetch, *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls or tls_context(settings.verify_tls)
        self._timeout = urllib3.Timeout(
            connect=settings.connect_timeout_s, read=settings.read_timeout_s
        )
        self._deadline_s = settings.connect_timeout_s + settings.read_timeout_s
        self._limit = settings.max_body_bytes
        self._concurrency = settings.concurrency or self.most_at_once
        self._threads: Threads[Any] = Threads(self._concurrency, "fetch")
        self._adapters: OrderedDict[Egress, Adapter] = OrderedDict()
        self._lock = Lock()
        self._under_way: dict[Exchange, asyncio.Future[Any]] = {}
        self._closed = False
        self.until = inf

    async def send(self, request: Request, headers: Headers, egress: Egress) -> Page:

        def made(raw: urllib3.BaseHTTPResponse, exchange: Exchange) -> Page:
            return self._page(raw, request, egress)

        return await self._run(request, headers, egress, made, self._deadline_s)

    async def stream(
        self, request: Request, headers: Headers, egress: Egress, take: Callable[[Stream], T]
    ) -> T:
        """What `take`, called in a thread, makes of the answer, whose body may be of any length.
        Its own errors are CrawlerErrors. Other errors, and cancelling: as in `send`."""

        def made(raw: urllib3.BaseHTTPResponse, exchange: Exchange) -> T:
            headers = {name.lower(): value for name, value in raw.headers.items()}
            return take(Stream(raw.status, headers, self._pieces(raw, exchange, egress)))

        return await self._run(request, headers, egress, made, None)

    async def _run(
        self,
        request: Request,
        headers: Headers,
        egress: Egress,
        made: Callable[[urllib3.BaseHTTPResponse, Exchange], T],
        deadline_s: float | None,
    ) -> T:
        if self._closed:
            raise errors.ConnectFailed("the transport is closed", blame="us")
        exchange = Exchange(lambda: time.monotonic() < self.until)
        future: asyncio.Future[T] = self._threads.run(
            lambda: self._exchange(exchange, request, headers, egress, made)
        )
        self._under_way[exchange] = future
        if deadline_s is None:
            self._watch(exchange)
        try:
            async with asyncio.timeout(deadline_s):
                return await future
        except asyncio.CancelledError:
            exchange.abort()
            raise
        except TimeoutError:
            reason = f"no whole answer after {deadline_s:g} s"
            error = blamed(errors.TimedOut, reason, exchange, egress)
            exchange.abort()
            raise error from None
        finally:
            del self._under_way[exchange]

    def _watch(self, exchange: Exchange) -> None:
        """End it where it waits for longer than a whole exchange may take."""
        if exchange in self._under_way:
            left_s = self._deadline_s - exchange.waited_s()
            if left_s > 0:
                asyncio.get_running_loop().call_later(left_s, self._watch, exchange)
            else:
                exchange.is_late = True
                exchange.abort()

    def cut(self) -> None:
        """End what is under way; who waits for it gets a TransportError."""
        for exchange in self._under_way:
            exchange.abort()

    async def close(self) -> None:
        """See `Transport`. What is under way is cancelled; threads are not waited for."""
        self._closed = True
        self._threads.stop()
        for exchange in self._under_way:  # all before the first: a freed thread takes the next
            exchange.is_over = True
        for exchange, future in self._under_way.items():
            future.cancel()
            exchange.abort()
        with self._lock:
            for adapter in self._adapters.values():
                adapter.close()
            self._adapters.clear()

    def _exchange(
        self,
        exchange: Exchange,
        request: Request,
        headers: Headers,
        egress: Egress,
        made: Callable[[urllib3.BaseHTTPResponse, Exchange], T],
    ) -> T:
        begin(exchange)
        try:
            with self._answer(exchange, request, headers, egress) as raw:
                if raw.status == 407 and egress.proxy_url is not None:
                    raise errors.EgressFailed(
                        f"{egress.name}: the proxy refuses its user or password (407)"
                    )
                return made(raw, exchange)
        except FOREIGN as error:
            raise translate(error, exchange, egress) from None

    @contextmanager
    def _answer(
        self, exchange: Exchange, request: Request, headers: Headers, egress: Egress
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        adapter = self._adapter(egress)
        what = (request, _sent(request, headers), self._timeout)
        try:
            with exchange.waiting():
                raw = adapter.answer(*what)
        except FOREIGN as error:
            if not was_stale(error, exchange):
                raise
            exchange.wants_fresh = True
            with exchange.waiting():
                raw = adapter.answer(*what)
        try:
            yield raw
        finally:
            raw.close()  # does nothing where the body was read to its end

    def _page(self, raw: urllib3.BaseHTTPResponse, request: Request, egress: Egress) -> Page:
        body, content = self._read(raw)
        kept = [(name, raw.headers[name]) for name in KEPT_HEADERS if name in raw.headers]
        kept += [("set-cookie", value) for value in raw.headers.getlist("set-cookie")]
        return Page(
            *(request.url, raw.status, tuple(kept), content, time.time(), egress.name),
            *body.encoded,
        )

    def _pieces(
        self, raw: urllib3.BaseHTTPResponse, exchange: Exchange, egress: Egress
    ) -> Iterator[bytes]:
        """Of a body that drips the deadline is that of its parts."""
        since, came = time.monotonic(), 0
        while True:
            with exchange.waiting():
                data = raw.read1(_CHUNK, decode_content=False)
            if not data:
                return
            yield data
            came += len(data)
            if (took_s := time.monotonic() - since) > self._deadline_s:
                if came < _SLOWEST * took_s:
                    raise errors.TimedOut(f"only {came:,} bytes in {took_s:.0f} s ({egress.name})")
                since, came = time.monotonic(), 0

    def _read(self, raw: urllib3.BaseHTTPResponse) -> tuple[Body, bytes]:
        body = Body(raw.headers.get("content-encoding", ""), self._limit)
        while data := raw.read(_CHUNK, decode_content=False):
            body.feed(data)
        return body, body.finish()

    def _adapter(self, egress: Egress) -> Adapter:
        with self._lock:
            adapter = self._adapters.get(egress)
            if adapter is None:
                adapter = Adapter(self._tls, egress, self._concurrency)
                self._adapters[egress] = adapter
                if len(self._adapters) > _OPEN_EGRESSES + self._concurrency:
                    self._adapters.popitem(last=False)[1].close()
            else:
                self._adapters.move_to_end(egress)
            return adapter


def _sent(request: Request, headers: Headers) -> dict[str, str]:
    sent = dict(headers)
    if not any(name.lower() == "accept-encoding" for name in sent):
        sent["Accept-Encoding"] = ACCEPT_ENCODING
    if request.body is not None:
        sent["Content-Length"] = str(len(request.body))
    return sent
