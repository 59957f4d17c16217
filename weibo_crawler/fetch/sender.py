"""One request on its way: to a host of the site, by one egress, once."""

import asyncio
import time
from collections.abc import Callable
from math import inf

from weibo_crawler.errors import CrawlerError, TimedOut, TransportError
from weibo_crawler.fetch.clients.transport import Headers, Transport
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.wire import host_of, merge_headers, snake_case
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Page, Request

Sign = Callable[[Request, Headers, float], Headers]


def unsigned(request: Request, headers: Headers, now: float) -> Headers:
    return ()


class Sender:
    """Sends for the fetcher and for the pool, which asks for sessions.

    hosts: the only host[:port]s anything is sent to. sign: as in `Site`. Counters: `request.sent`,
    `transport.<error>`.
    """

    def __init__(
        self, transport: Transport, hosts: frozenset[str], counters: Counters, sign: Sign = unsigned
    ) -> None:
        self._transport, self._hosts, self._counters = transport, hosts, counters
        self._sign = sign

    async def send(
        self, request: Request, headers: Headers, egress: Egress, deadline_s: float = inf
    ) -> Page:
        """The answer. headers: beside the request's own. deadline_s: the exchange is given up then,
        if the transport has not done so. Errors: TransportError."""
        host = host_of(request.url)
        if host not in self._hosts:
            raise CrawlerError(f"a request to {host}, which is not a host of the site, is not sent")
        self._counters.add("request.sent")
        sent = merge_headers(request.headers, headers)
        sent += self._sign(request, sent, time.time())
        try:
            if deadline_s == inf:
                return await self._transport.send(request, sent, egress)
            try:
                async with asyncio.timeout(deadline_s):
                    return await self._transport.send(request, sent, egress)
            except TimeoutError:
                reason = f"no whole answer within {deadline_s:.1f} s ({egress.name})"
                raise TimedOut(reason) from None
        except TransportError as error:
            self._counters.add(f"transport.{snake_case(type(error).__name__)}")
            raise

    def end_at(self, until: float) -> None:
        """Let nothing begin from then on, by time.monotonic: the egresses are others' then."""
        self._transport.until = until

    async def close(self) -> None:
        """End what is under way and free the sockets."""
        await self._transport.close()
