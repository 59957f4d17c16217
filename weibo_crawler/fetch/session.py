"""Visitor sessions: one for each egress, asked for when first needed, shared by all callers."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from random import Random

from weibo_crawler.errors import EgressFailed, TransportError
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.transport import Headers
from weibo_crawler.fetch.visit import Sort, Visit
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Page, Request
from weibo_crawler.sites import Site

_TRIES = 3

Send = Callable[[Request, Headers, Egress], Awaitable[Page]]  # raises TransportError


def sort_of(request: Request) -> Sort:
    """What a login wall is remembered for."""
    return request.kind, request.cursor == ""


class Visitor:
    """The sessions of all egresses; `Visit` decides, this asks.

    However many callers need a session of one egress, one of them asks (racing callers got
    banned: WEIBO_API, "What decides the design", 2). Counters: session.asked, session.opened,
    session.failed.
    """

    def __init__(
        self,
        site: Site,
        counters: Counters,
        rng: Random,
        *,
        cooldown_s: float = 60.0,
        wall_memory_s: float = 600.0,
        retry_s: float = 1.0,
    ) -> None:
        self._site, self._counters, self._rng = site, counters, rng
        self._cooldown_s, self._wall_memory_s = cooldown_s, wall_memory_s
        self._retry_s = retry_s
        self._visits: dict[str, Visit] = {}
        self._headers: dict[str, Headers] = {}
        self._opening: dict[str, asyncio.Task[EgressFailed | None]] = {}

    async def ready(self, egress: Egress, send: Send) -> bool:
        """True: send. False: a session had to be asked for, which used the turn of the egress.

        Errors: EgressFailed, for all who waited, where the egress and not the site failed.
        """
        if not self._visit(egress).wanted:
            return True
        task = self._opening.get(egress.name)
        if task is None:
            task = asyncio.create_task(self._open(egress, send))
            self._opening[egress.name] = task
            task.add_done_callback(lambda _: self._opening.pop(egress.name, None))
        failure = await asyncio.shield(task)
        if failure is not None:
            raise EgressFailed(str(failure))
        return False

    def headers(self, egress: Egress) -> tuple[Headers, int]:
        """What each request by this egress carries, and the generation of its session."""
        visit = self._visit(egress)
        headers = self._headers.get(egress.name)
        if headers is None:
            headers = self._headers[egress.name] = self._site.session_headers(visit.cookies)
        return headers, visit.generation

    def passed(self, egress: Egress, generation: int, request: Request, page: Page) -> None:
        """The request was answered as it should be; its cookies join the session's."""
        visit = self._visit(egress)
        visit.passed(generation, sort_of(request))
        cookies = [value for name, value in page.headers if name == "set-cookie"]
        if cookies and visit.merge(generation, cookies):
            self._headers.pop(egress.name, None)

    def wall(self, egress: Egress, generation: int, request: Request, now: float) -> float | None:
        """The request met a wall: seconds to wait before `expire`; None: a renewal is no help."""
        if self._site.session(time.time(), self._rng) is None:
            return None
        return self._visit(egress).wall(generation, sort_of(request), now)

    def expire(self, egress: Egress, generation: int) -> None:
        """The next caller of `ready` renews the session, unless it is renewed already."""
        self._visit(egress).expire(generation)

    async def close(self) -> None:
        """Stop asking."""
        tasks = list(self._opening.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _visit(self, egress: Egress) -> Visit:
        visit = self._visits.get(egress.name)
        if visit is None:
            visit = self._visits[egress.name] = Visit(
                cooldown_s=self._cooldown_s, wall_memory_s=self._wall_memory_s
            )
            if self._site.session(time.time(), self._rng) is None:
                visit.wanted = False
        return visit

    async def _open(self, egress: Egress, send: Send) -> EgressFailed | None:
        visit, loop = self._visit(egress), asyncio.get_running_loop()
        bare = self._site.session_headers({})
        for n in range(_TRIES):
            if n:
                await asyncio.sleep(backoff_s(n - 1, self._retry_s, 60.0, self._rng))
            request = self._site.session(time.time(), self._rng)
            assert request is not None  # a site needs sessions always or never
            self._counters.add("session.asked")
            try:
                page = await send(request, bare, egress)
            except EgressFailed as failure:
                return failure
            except TransportError:
                continue
            cookies = self._site.read_session(page)
            if cookies is not None:
                self._headers.pop(egress.name, None)
                visit.opened(cookies, loop.time())
                self._counters.add("session.opened")
                return None
        self._headers.pop(egress.name, None)
        visit.not_opened(loop.time())
        self._counters.add("session.failed")
        return None
