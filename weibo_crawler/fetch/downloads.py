"""Files, politely: by the egresses of a crawl, under a pace of their own.

They lie at other hosts than the site's pages, so neither the pace nor the refusals of one are those
of the other. A turn is one request; a redirect takes another one.
"""

import time
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, TypeVar

from weibo_crawler.errors import BadAnswer, BodyCut, BodyTooLarge, FileRefused, TransportError
from weibo_crawler.fetch.answers import BACKOFF_BASE_S, BACKOFF_CAP_S
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.clients.transport import Headers
from weibo_crawler.fetch.pool import Broken, Failed, Good, Pool, Refused, Turn, Unused
from weibo_crawler.fetch.pool.outcome import Outcome
from weibo_crawler.fetch.pool.session import SessionSite
from weibo_crawler.fetch.wire import retry_after_s
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Page, Request

if TYPE_CHECKING:
    from weibo_crawler.fetch.clients.requests_transport import RequestsTransport, Stream

T = TypeVar("T")

_FORBIDDEN = 403
_REFUSALS = (_FORBIDDEN, 418, 429)
_IN_VAIN = 12  # files in a row: then none of them is to blame


class Downloads:
    """Any number of callers. attempts: requests for one file that brings nothing usable.

    Counters: `request.sent`, `request.retried`.
    """

    def __init__(
        self,
        pool: Pool,
        transport: "RequestsTransport",
        counters: Counters,
        rng: Random,
        *,
        attempts: int,
    ) -> None:
        self._pool, self._transport, self._counters = pool, transport, counters
        self._attempts, self._rng = attempts, rng
        self._in_vain = 0  # files in a row

    async def get(
        self,
        request: Callable[[], Request],
        take: Callable[["Stream"], T],
        *,
        is_dated: bool = False,
        is_evidence: bool = True,
    ) -> T:
        """What `take` makes of the answer; it may be any but a refusal or a trouble of the server.
        request: called before each attempt. take: called in a thread, may raise a TransportError
        for an answer that is of no use. is_dated: a refusal may be one of this address, whose time
        is over, and not of the egress. is_evidence: it was not asked for in vain before.

        Errors: TransportError after all attempts; SiteSaysNo when file after file is refused, or
        brings no answer; Interrupted after `stop`; StoreError.
        """
        past: list[Turn] = []
        before: TransportError | None = None
        while True:
            try:
                result = await self._once(request(), take, past, is_dated=is_dated)
            except TransportError as error:
                if len(past) == self._attempts or _is_final(error, before):
                    if is_evidence and not is_dated:
                        self._judge(error)
                    raise
                before = error
            else:
                self._in_vain = 0
                return result
            self._counters.add("request.retried")
            waits = len(past) - 1
            await self._pool.pause(backoff_s(waits, BACKOFF_BASE_S, BACKOFF_CAP_S, self._rng))

    @property
    def waits_for(self) -> str:
        """As `Pool.waits_for`."""
        return self._pool.waits_for

    def stop(self) -> None:
        """Send nothing more, and cut what is under way; who waits gets Interrupted, or the error of
        a last attempt."""
        self._pool.drain()
        self._transport.cut()

    async def close(self) -> None:
        """End what is under way and hand the egresses back."""
        await self._pool.close()

    async def _once(
        self, request: Request, take: Callable[["Stream"], T], past: list[Turn], *, is_dated: bool
    ) -> T:
        """One attempt, by another egress than the last one in vain where there is another. past:
        gets its turn."""
        turn = await self._pool.turn(request, [one.egress.name for one in past[-1:]])
        past.append(turn)
        began = time.monotonic()
        outcome: Outcome | None = None

        def judged(stream: "Stream") -> T:
            nonlocal outcome
            outcome = _outcome(stream, time.monotonic() - began, is_dated=is_dated)
            if stream.status in _REFUSALS:
                raise FileRefused(stream.status)
            if stream.status >= 500:
                raise TransportError(f"trouble of the server ({stream.status})")
            return take(stream)

        self._counters.add("request.sent")
        headers = (*request.headers, *turn.headers, ("Accept-Encoding", "identity"))
        try:
            result = await self._transport.stream(request, headers, turn.egress, judged)
        except TransportError as error:
            outcome = _of_error(error, outcome)
            raise
        finally:
            self._pool.tell(turn, outcome or Unused())
        for other in past:  # a proxy that breaks what this one brings is to blame
            if isinstance(other.outcome, Broken) and other.egress.name != turn.egress.name:
                self._pool.disprove(other.egress.name)
        return result

    def _judge(self, error: TransportError) -> None:
        """Stop where one file after the other is refused, or brings no answer of use. What is wrong
        with a file itself tells nothing of others."""
        self._in_vain += not isinstance(error, BadAnswer | BodyCut | BodyTooLarge)
        if self._in_vain >= _IN_VAIN:
            self._pool.stop(
                f"of the last {self._in_vain} files none came ({error}): come back in an hour or "
                "more with a lower media.requests_per_second or other egresses, then run the same "
                "command again"
            )


def _is_final(error: TransportError, before: TransportError | None) -> bool:
    """Whether asking again at once is of no use: what was no file twice in a row, by two egresses
    where there are two, is none."""
    if isinstance(error, FileRefused):
        return error.status == _FORBIDDEN
    is_none = isinstance(error, BadAnswer) and isinstance(before, BadAnswer)
    return is_none or isinstance(error, BodyTooLarge)


def _outcome(stream: "Stream", latency_s: float, *, is_dated: bool) -> Outcome:
    """What the head of an answer says of the egress."""
    wait_s = retry_after_s(stream.headers, time.time()) if stream.status >= 400 else None
    is_busy = stream.status >= 500 and wait_s is not None
    if is_busy or (stream.status in _REFUSALS and not is_dated):
        return Refused(str(stream.status), wait_s)
    if stream.status >= 500:
        return Broken()
    return Good(latency_s, is_shown=stream.status in (200, 206))


def _of_error(error: TransportError, outcome: Outcome | None) -> Outcome:
    if error.blame == "egress":
        return Failed(str(error))
    is_told = isinstance(outcome, Refused) or isinstance(error, FileRefused | BodyTooLarge)
    if is_told and outcome is not None:
        return outcome
    return Unused() if error.blame == "us" else Broken()


class Sessionless:
    """A site whose files need no session."""

    def __init__(self, site: SessionSite) -> None:
        self._site = site

    def session(self, now: float, rng: Random) -> None:
        return None

    def read_session(self, page: Page, asked: Request) -> None:
        return None

    def session_headers(self, cookies: Mapping[str, str]) -> Headers:
        return self._site.session_headers({})
