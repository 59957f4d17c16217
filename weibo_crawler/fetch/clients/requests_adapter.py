"""The adapter of `requests`, made to fit: lean, and with exchanges that can be ended from outside.

The adapter is used without `requests.Session`: a session reads the whole body of any answer that
has a Location header, without a limit, even where redirects are not followed.
"""

import base64
import functools
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import CONTINUE, OK, SWITCHING_PROTOCOLS
from typing import Any
from urllib.parse import unquote, urlsplit

import certifi
import urllib3
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidURL
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, Timeout
from urllib3.connection import HTTPConnection
from urllib3.util import parse_url

from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Request

_POOLS = 4  # hosts of one site


class Exchange:
    """One request on its way in a thread; `abort` ends it from another one.

    A blocked read has a timeout for each piece, so only an end from outside bounds the whole.
    may_send: asked before it connects, and before it sends. is_late: it was ended as it waited too
    long.
    """

    def __init__(self, may_send: Callable[[], bool] = lambda: True) -> None:
        self.may_send = may_send
        self.is_connected = False
        self.is_reused = False  # sent over a connection that had stood before
        self.is_over = False
        self.is_late = False
        self._waits_since: float | None = None
        self.wants_fresh = False  # kept connections are not for it
        self.connection: _Connection | None = None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While its thread waits for the network."""
        self._waits_since = time.monotonic()
        try:
            yield
        finally:
            self._waits_since = None

    def waited_s(self) -> float:
        """For how long it has waited by now; 0.0: it does not wait."""
        since = self._waits_since
        return 0.0 if since is None else time.monotonic() - since

    def abort(self) -> None:
        """Wake the thread that reads; one that still connects will stop when it has."""
        self.is_over = True
        connection = self.connection
        sock = connection.sock if connection is not None and connection.exchange is self else None
        if sock is not None:
            with suppress(OSError):
                # Not SSLSocket's own shutdown: it takes the TLS state away from a reading thread.
                # TLS within TLS, to a site behind a proxy with TLS, is no socket but has one.
                socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


_thread = threading.local()  # .exchange: what this thread is doing


def begin(exchange: Exchange) -> None:
    """What this thread sends from now on belongs to `exchange`."""
    _thread.exchange = exchange


class _Lines:
    """A file that remembers its last line."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.last = b""

    def readline(self, *args: Any) -> bytes:
        self.last = self._file.readline(*args)
        return self.last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Answer(http.client.HTTPResponse):
    """http.client takes a head that is cut for a whole one, with nothing behind it, and a head that
    only announces another one (103) for the answer."""

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            told: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
            if not CONTINUE < told[1] < OK or told[1] == SWITCHING_PROTOCOLS:
                return told
            http.client.parse_headers(self.fp)

    def begin(self) -> None:
        file = self.fp
        self.fp = lines = _Lines(file)  # type: ignore[assignment]
        super().begin()
        if self.fp is lines:  # type: ignore[comparison-overlap]
            self.fp = file
        if not lines.last:
            raise http.client.IncompleteRead(b"")


class _Connection(HTTPConnection):
    """Tells its exchange which connection it uses, and when that stands."""

    response_class = _Answer
    exchange: Exchange

    @property
    def is_connected(self) -> bool:
        """What the pool asks before it gives a kept connection out."""
        exchange: Exchange | None = getattr(_thread, "exchange", None)
        return not (exchange is not None and exchange.wants_fresh) and super().is_connected

    def connect(self) -> None:
        self._use().is_connected = False
        super().connect()
        self._use().is_connected = True

    def request(self, *args: Any, **kwargs: Any) -> None:
        exchange = self._use()
        exchange.is_connected = exchange.is_reused = self.sock is not None
        super().request(*args, **kwargs)

    def _use(self) -> Exchange:
        exchange: Exchange = _thread.exchange
        self.exchange = exchange
        exchange.connection = self
        # looked at after what `abort` looks for was put in its place
        if exchange.is_over or not exchange.may_send():
            self.close()
            raise ConnectionAbortedError
        return exchange


@functools.cache
def _watched(pools: type[HTTPConnectionPool]) -> type[HTTPConnectionPool]:
    """The same pools with `_Connection` before their connections (plain, TLS, through SOCKS)."""
    connections = type("Watched", (_Connection, pools.ConnectionCls), {})
    return type("WatchedPool", (pools,), {"ConnectionCls": connections})


class Adapter(HTTPAdapter):
    """All connections of one egress; threads may share it. tls: the context to verify sites by.

    Its `send` is not used: that spends as much on each request again as urllib3 does (0.16 ms).
    """

    def __init__(self, tls: ssl.SSLContext, egress: Egress, connections: int) -> None:
        proxy_url = egress.proxy_url
        super().__init__(pool_connections=_POOLS, pool_maxsize=connections)
        if proxy_url is None:
            self._pools = self.poolmanager
        elif proxy_url.startswith("https"):
            self._pools = self.proxy_manager_for(proxy_url, proxy_ssl_context=tls)
        else:
            self._pools = self.proxy_manager_for(proxy_url)
        self._wants_whole_address = proxy_url is not None and not proxy_url.startswith("socks")
        self._pools.connection_pool_kw["ssl_context"] = tls
        if egress.local is not None:
            self._pools.connection_pool_kw["source_address"] = (str(egress.local), 0)
        self._pools.pool_classes_by_scheme = {
            scheme: _watched(pools) for scheme, pools in self._pools.pool_classes_by_scheme.items()
        }

    def answer(
        self, request: Request, headers: dict[str, str], timeout: Timeout
    ) -> BaseHTTPResponse:
        """The head of the answer; its body is on the wire. Errors: FOREIGN of requests_errors."""
        url = parse_url(request.url)
        if url.scheme not in ("http", "https") or not url.host or url.host[0] in "*.":
            raise InvalidURL
        target = url.request_uri
        if self._wants_whole_address and url.scheme == "http":
            target = f"http://{url.netloc}{target}"
        pool: HTTPConnectionPool = self._pools.connection_from_host(url.host, url.port, url.scheme)
        return pool.urlopen(
            request.method,
            target,
            request.body,
            headers,
            retries=False,
            redirect=False,
            assert_same_host=False,
            timeout=timeout,
            preload_content=False,
            decode_content=False,
        )

    def proxy_headers(self, proxy: str) -> dict[str, str]:
        """The account as UTF-8, which that of requests sends as latin-1, or not at all."""
        account = unquote(urlsplit(proxy).netloc.rpartition("@")[0])
        token = base64.b64encode(account.encode()).decode()
        return {"Proxy-Authorization": f"Basic {token}"} if account else {}

    def close(self) -> None:
        """urllib3 leaves connections open while anybody, be it a traceback, holds their pool."""
        for key in self._pools.pools.keys():  # noqa: SIM118 - it is no dict
            self._pools.pools[key].close()
        super().close()


def tls_context(verify: bool) -> ssl.SSLContext:
    """Verifying by the authorities that come with requests, or not at all."""
    context = ssl.create_default_context(cafile=certifi.where())
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return context
