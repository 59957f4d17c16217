"""Visitor sessions: one for each egress, asked for when first needed, shared by all callers."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from weibo_crawler.errors import EgressFailed, TransportError
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.clients.transport import Headers
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.login_walls import WALL_MEMORY_S, Enders, Wall
from weibo_crawler.fetch.pool.visit import SavedVisit, Use, Visit
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Page, Request
from weibo_crawler.sites.cookies import are_too_large, merge_cookies

_log = logging.getLogger(__name__)
STEPS = 4  # requests that a session takes, at most
_TRIES = 3

Send = Callable[[Request, Headers, Egress], Awaitable[Page]]  # raises TransportError


class SessionSite(Protocol):
    """What of a `Site` sessions need."""

    def session(self, now: float, rng: Random) -> Request | None: ...

    def read_session(self, page: Page, asked: Request) -> Mapping[str, str] | Request | None: ...

    def session_headers(self, cookies: Mapping[str, str]) -> Headers: ...


class Visitor:
    """The sessions of all egresses; `Visit` decides, this asks.

    However many callers need a session of one egress, one of them asks (racing callers got
    banned: weibo_api.md, "What decides the design", 2). A session is of one egress and one user
    agent. Counters: session.asked, session.opened, session.failed, session.retired.
    """

    def __init__(
        self,
        site: SessionSite,
        counters: Counters,
        rng: Random,
        *,
        cooldown_s: float = 60.0,
        retry_s: float = 1.0,
        per_hour: int | None = None,
    ) -> None:
        self._site, self._counters, self._rng = site, counters, rng
        self._cooldown_s, self._retry_s, self._per_hour = cooldown_s, retry_s, per_hour
        self._agent = str(dict(site.session_headers({})).get("User-Agent", ""))
        self._visits: dict[str, Visit] = {}
        self._enders = Enders(WALL_MEMORY_S)
        self._headers: dict[str, Headers] = {}
        self._touched: set[str] = set()
        self.is_news = False  # whether a session was opened that others do not know of
        self._can_be_had = False  # whether any session was opened, here or by who handed it on
        self._is_told = False  # why one could not be
        self._opening: dict[str, asyncio.Task[EgressFailed | None]] = {}
        self._landings: dict[str, asyncio.Event] = {}  # of the egresses whose sessions are full
        self._next: dict[str, list[Request]] = {}  # by egress: steps taken, the next one

    def is_ready(self, egress: Egress) -> bool:
        """Whether a request may go with the session of this egress as it is: nothing is wanted, and
        nobody asks for a new one."""
        return not self._visit(egress).wanted and self._asking(egress) is None

    async def settled(self, egress: Egress) -> bool:
        """Wait for a session that is being asked for, or until no more than may be is under way
        with it; False: there was nothing to wait for.

        Where one was asked for without success, the pause before the next try is waited for as
        well. Errors: EgressFailed, for all who waited, where the egress and not the site failed.
        """
        task = self._asking(egress)
        if task is not None:
            failure = await asyncio.shield(task)
            if failure is not None:  # to each who waits an error of its own
                raise EgressFailed(str(failure))
            return True
        visit = self._visit(egress)
        if visit.is_full:
            await self._landings.setdefault(egress.name, asyncio.Event()).wait()
            return True
        pause_s = visit.retry_at - asyncio.get_running_loop().time() if visit.wanted else 0.0
        if pause_s <= 0:
            return False
        await asyncio.sleep(pause_s)
        return True

    def bar_s(self, egress: Egress, now: float) -> float | None:
        """None: somebody asks for a session of this egress, or as much as may be is under way with
        the one that there is. More than 0: it wants one, and may not ask for so long, as the last
        one is too young, or as it has asked for as many as it may in an hour. 0: the next turn is
        for a page, or to ask for a session."""
        if self._asking(egress) is not None or self._visit(egress).is_full:
            return None
        if egress.name in self._next:
            return 0.0  # it belongs to what was asked for already
        return self._visit(egress).barred_s(now)

    def adopt(self, egress: Egress, cookies: Mapping[str, str]) -> None:
        """A session that was asked for just now, by another way than `open`."""
        now = asyncio.get_running_loop().time()
        self._visit(egress).request_started(now)
        self._visit(egress).opened(cookies, now)
        self._can_be_had = True
        self._renewed(egress)

    def _asking(self, egress: Egress) -> "asyncio.Task[EgressFailed | None] | None":
        # A task that is over is still listed until the loop has called back: whoever waited for it
        # would not wait at all, come again at once, and never let the loop get there.
        task = self._opening.get(egress.name)
        return None if task is None or task.done() else task

    def open(self, egress: Egress, send: Send) -> "asyncio.Task[EgressFailed | None]":
        """Use a turn of this egress to ask for a session, once; where the site opens one in several
        steps, the next turn is for the next one. From now on, and not from when the task begins,
        nobody else may ask. The task is shared: it is waited for behind a shield."""
        task = asyncio.create_task(self._open(egress, send))
        self._opening[egress.name] = task
        task.add_done_callback(lambda task: self._closed(egress.name, task))
        return task

    def _closed(self, name: str, task: "asyncio.Task[EgressFailed | None]") -> None:
        if self._opening.get(name) is task:  # another may have begun since
            del self._opening[name]

    def headers(self, egress: Egress) -> tuple[Headers, Use]:
        """What the next request by this egress carries, and which one it is of its session."""
        visit = self._visit(egress)
        headers = self._headers.get(egress.name)
        if headers is None:
            headers = self._headers[egress.name] = self._site.session_headers(visit.cookies)
        return headers, visit.use(asyncio.get_running_loop().time())

    def ended(self, egress: Egress, use: Use) -> None:
        """That request was answered, or nobody waits for its answer any more."""
        visit = self._visits.get(egress.name)
        if visit is not None:
            visit.landed(use)
        if egress.name in self._landings and not (visit and visit.is_full):
            self._landings.pop(egress.name).set()

    def passed(
        self,
        egress: Egress,
        use: Use,
        request: Request,
        nth: int,
        page: Page | None,
        now: float,
        *,
        is_shown: bool = True,
    ) -> None:
        """The request for the nth page of a list was answered as it should be; its cookies join the
        session's. is_shown: see `Good`."""
        visit, sort = self._visit(egress), (request.kind, nth)
        if visit.passed(use, sort, now, is_shown=is_shown):
            self._touched.add(egress.name)
        if page is None or use.generation != visit.generation:
            return
        set_cookies = [value for name, value in page.headers if name == "set-cookie"]
        if not set_cookies:
            return
        host = urlsplit(request.url).hostname or ""
        cookies = merge_cookies(visit.cookies, set_cookies, (host,), page.fetched_at)
        if are_too_large(cookies):
            self.retire(egress, use)
        elif cookies != visit.cookies:
            visit.cookies = cookies
            self._renewed(egress)

    def wall(
        self, egress: Egress, use: Use, request: Request, nth: int = 1, *, is_refusal: bool = False
    ) -> Wall:
        """The request for the nth page of a list met a wall, or a refusal. OVER: the next turn of
        this egress is to ask for a session."""
        if self._site.session(time.time(), self._rng) is None:
            return Wall.CLOSED
        self._touched.add(egress.name)
        now, visit = asyncio.get_running_loop().time(), self._visit(egress)
        return visit.wall(
            use,
            (request.kind, nth),
            now,
            url=request.url,
            is_refusal=is_refusal,
            can_be_had=self._can_be_had,
        )

    def has_outlived(self, egress: Egress, use: Use, request: Request, nth: int) -> bool | None:
        """As `Visit.has_outlived`."""
        now = asyncio.get_running_loop().time()
        return self._visit(egress).has_outlived(use, (request.kind, nth), request.url, now)

    def know_walled(self, request: Request) -> None:
        """An earlier visit found that this page is walled alone."""
        self._enders.add_alone(request.url, asyncio.get_running_loop().time())

    def has_shown(self, egress: Egress, request: Request, nth: int) -> bool:
        """Whether such pages were shown to this egress of late, with any session."""
        now = asyncio.get_running_loop().time()
        return self._visit(egress).has_shown((request.kind, nth), now)

    def is_proven(self, egress: Egress, use: Use) -> bool:
        """Whether something passed by the session of this request, or there was none."""
        return not self.has_session(egress) or self._visit(egress).has_passed(use)

    def most_per_s(self, egress: Egress) -> float:
        """As `Visit.most_per_s`."""
        return self._visit(egress).most_per_s

    def has_session(self, egress: Egress) -> bool:
        """Whether its last session could be had."""
        return self._visit(egress).is_open

    def retire(self, egress: Egress, use: Use) -> None:
        """The session is of no use any more: the site refused it, or it grew too large."""
        if self._site.session(time.time(), self._rng) is None:
            return
        self._visit(egress).expire(use.generation)
        self._touched.add(egress.name)
        self._counters.add("session.retired")

    # -- leases

    def changes(self) -> set[str]:
        """The egresses whose sessions changed since the last call."""
        names, self._touched = self._touched, set()
        self.is_news = False
        return names

    def saved(self, name: str, now: float) -> str:
        """The session of an egress for its next holder, "" where it has to ask for one."""
        visit = self._visits.get(name)
        saved = None if visit is None else visit.saved(now)
        if saved is None:
            return ""
        return msgspec.json.encode(msgspec.structs.replace(saved, agent=self._agent)).decode()

    def restore(self, egress: Egress, text: str, age_s: float, now: float) -> None:
        """Go on with what `saved` gave, age_s ago; "", or by another user agent: without a session.
        What was asked for by the other one still counts."""
        self.forget(egress.name)
        visit = self._visit(egress)
        if not text or not visit.wanted:
            return
        saved = msgspec.json.decode(text, type=SavedVisit)
        self._can_be_had |= saved.opened or bool(saved.lives)
        if saved.agent != self._agent:
            saved = SavedVisit({}, False, None, [], True, saved.asked_ago_s, agent=self._agent)
        visit.restore(saved, age_s, now)
        visit.wanted |= are_too_large(visit.cookies)

    def forget(self, name: str) -> None:
        """The egress is another process's now."""
        self._visits.pop(name, None)
        self._headers.pop(name, None)
        self._next.pop(name, None)

    async def close(self) -> None:
        tasks = list(self._opening.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _visit(self, egress: Egress) -> Visit:
        visit = self._visits.get(egress.name)
        if visit is None:
            visit = self._visits[egress.name] = Visit(
                cooldown_s=self._cooldown_s,
                wall_memory_s=WALL_MEMORY_S,
                per_hour=self._per_hour,
                enders=self._enders,
            )
            if self._site.session(time.time(), self._rng) is None:
                visit.wanted = False
        return visit

    def _renewed(self, egress: Egress) -> None:
        self._headers.pop(egress.name, None)
        self._touched.add(egress.name)

    async def _open(self, egress: Egress, send: Send) -> EgressFailed | None:
        visit, loop = self._visit(egress), asyncio.get_running_loop()
        steps = self._next.pop(egress.name, [])
        if not steps:
            request = self._site.session(time.time(), self._rng)
            assert request is not None  # a site needs sessions always or never
            steps = [request]
            self._counters.add("session.asked")
            visit.request_started(loop.time())
        cookies, why = None, ""
        try:
            page = await send(steps[-1], self._site.session_headers({}), egress)
            given = self._site.read_session(page, steps[-1])
            if isinstance(given, Request):
                if len(steps) < STEPS:
                    self._next[egress.name] = [*steps, given]
                    return None
            elif given is not None and not are_too_large(given):
                cookies = given
            why = f"an answer of {page.status} holds none"
        except EgressFailed as failure:
            return failure
        except TransportError as error:
            why = str(error)  # as an answer without a session
        if cookies is not None:
            visit.opened(cookies, loop.time())
            self._counters.add("session.opened")
            self.is_news = self._can_be_had = True
        elif visit.tries < _TRIES - 1:
            retry_s = backoff_s(visit.tries, self._retry_s, 60.0, self._rng)
            visit.request_failed(loop.time(), retry_s)
            return None
        else:
            visit.not_opened(loop.time())
            self._counters.add("session.failed")
            if not self._is_told:
                self._is_told = True
                host = urlsplit(steps[-1].url).netloc
                _log.warning("%s gives no visitor session: %s", host, why)
        self._renewed(egress)
        return None
