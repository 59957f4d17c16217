"""The adapter of `requests`, made to fit: lean, and with exchanges that can be ended from outside.

The adapter is used without `requests.Session`: a session reads the whole body of any answer that
has a Location header, without a limit, even where redirects are not followed.
"""

import functools
import http.client
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any

import certifi
import urllib3
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidURL
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, Timeout
from urllib3.connection import HTTPConnection
from urllib3.util import Url, parse_url

from weibo_crawler.records import Request

_POOLS = 4  # hosts of one site


class Exchange:
    """One request on its way in a thread; `abort` ends it from another one.

    A blocked read has a timeout for each piece, so only an end from outside bounds the whole.
    may_send: asked before it connects, and before it sends.
    """

    def __init__(self, may_send: Callable[[], bool] = lambda: True) -> None:
        self.may_send = may_send
        self.is_connected = False
        self.is_reused = False  # sent over a connection that had stood before
        self.is_over = False
        self.wants_fresh = False  # kept connections are not for it
        self.connection: _Connection | None = None

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
    """http.client takes a head that is cut for a whole one, with nothing behind it."""

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
def _watched(base: type[HTTPConnection]) -> type[HTTPConnection]:
    """The same connection class (plain, TLS, through SOCKS) with `_Connection` before it."""
    return type(f"Watched{base.__name__}", (_Connection, base), {})


class Adapter(HTTPAdapter):
    """All connections of one egress; threads may share it. tls: the context to verify sites by.

    Its `send` is not used: that spends more on each request than urllib3 does.
    """

    def __init__(self, tls: ssl.SSLContext, connections: int) -> None:
        self._tls = tls
        self._lock = Lock()
        self._pools: dict[tuple[str | int | None, ...], HTTPConnectionPool] = {}
        super().__init__(pool_connections=_POOLS, pool_maxsize=connections)

    def answer(
        self, request: Request, headers: dict[str, str], proxy_url: str | None, timeout: Timeout
    ) -> BaseHTTPResponse:
        """The head of the answer; its body is on the wire. Errors: FOREIGN of requests_errors."""
        url = parse_url(request.url)
        if url.scheme not in ("http", "https") or not url.host or url.host[0] in "*.":
            raise InvalidURL
        target = url.request_uri
        if proxy_url is not None and url.scheme == "http" and not proxy_url.startswith("socks"):
            target = f"http://{url.netloc}{target}"
        return self._pool(url, proxy_url).urlopen(
            request.method,
            target,
            request.body,
            headers,
            retries=self.max_retries,  # none
            redirect=False,
            assert_same_host=False,
            timeout=timeout,
            preload_content=False,
            decode_content=False,
        )

    def close(self) -> None:
        """urllib3 leaves connections open while anybody, be it a traceback, holds their pool."""
        with self._lock:
            for manager in (self.poolmanager, *self.proxy_manager.values()):
                for key in manager.pools.keys():  # noqa: SIM118 - it is no dict
                    manager.pools[key].close()
            for pool in self._pools.values():
                pool.close()
        super().close()

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        if proxy.startswith("https"):
            kwargs["proxy_ssl_context"] = self._tls
        return super().proxy_manager_for(proxy, **kwargs)

    def _pool(self, url: Url, proxy_url: str | None) -> HTTPConnectionPool:
        """Kept by its address: the managers take as long to find it as the site to answer."""
        place = (url.scheme, url.host, url.port, proxy_url)
        with self._lock:
            pool = self._pools.get(place)
            if pool is None or pool.pool is None:  # closed
                pool = self._new_pool(url, proxy_url)
                if len(self._pools) >= _POOLS:  # a pool that nobody holds closes by itself
                    del self._pools[next(iter(self._pools))]
                self._pools[place] = pool
        return pool

    def _new_pool(self, url: Url, proxy_url: str | None) -> HTTPConnectionPool:
        manager = self.poolmanager if proxy_url is None else self.proxy_manager_for(proxy_url)
        tls = {"ssl_context": self._tls}
        pool: HTTPConnectionPool = manager.connection_from_host(
            url.host, url.port, url.scheme, pool_kwargs=tls
        )
        if not issubclass(pool.ConnectionCls, _Connection):
            pool.ConnectionCls = _watched(pool.ConnectionCls)
        return pool


def tls_context(verify: bool) -> ssl.SSLContext:
    """Verifying by the authorities that come with requests, or not at all."""
    context = ssl.create_default_context(cafile=certifi.where())
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return context
