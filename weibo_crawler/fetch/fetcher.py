"""The fetcher: one page, politely, with as many requests as that takes."""

import asyncio
import logging
import time
from contextlib import suppress
from random import Random
from typing import NamedTuple

from weibo_crawler import config
from weibo_crawler.errors import CrawlerError, EgressFailed, Interrupted, SiteSaysNo, TransportError
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.blame import Step, Tries, is_ban
from weibo_crawler.fetch.clients.transport import Headers, Transport
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.guard import Guard
from weibo_crawler.fetch.pool.keeper import Keeper
from weibo_crawler.fetch.pool.outage import Outage
from weibo_crawler.fetch.pool.reloading import Reloader
from weibo_crawler.fetch.pool.ring import Choice, Ring
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.pool.visit import Use
from weibo_crawler.fetch.wire import host_of, merge_headers, retry_after_s, snake_case
from weibo_crawler.metrics import Counters
from weibo_crawler.records import FACTS, REFUSALS, Expect, Kind, Page, Reading, Request, Verdict
from weibo_crawler.sites import Site

_BACKOFF_BASE_S, _BACKOFF_CAP_S = 0.1, 5.0

_log = logging.getLogger(__name__)


class Fetched(NamedTuple):
    """The answer of the site, read. page: None where no whole answer came (see reading.why)."""

    reading: Reading
    page: Page | None


class _Sent(NamedTuple):
    page: Page
    egress: Egress
    use: Use
    elapsed_s: float


class Fetcher:
    """Asks for pages; retries by blame (see `blame`). One event loop, any number of callers.

    hosts: the only host[:port]s anything is sent to. keeper: holds the ring's egresses on lease;
    None: they are this process's own. reloader: reads the lists of proxies again. outage_s: how
    long all egresses may rest or be dead before the run stops, None: it waits. Counters:
    `request.sent` (sessions too), `request.retried`, `page.<verdict>` for every answer,
    `transport.<error>`, `session.…`, `egress.disproved` for each egress that broke or emptied a
    page another one shows.
    """

    def __init__(
        self,
        site: Site,
        transport: Transport,
        ring: Ring,
        guard: Guard,
        visitor: Visitor,
        settings: config.Fetch,
        counters: Counters,
        *,
        hosts: frozenset[str],
        rng: Random,
        keeper: Keeper | None = None,
        reloader: Reloader | None = None,
        outage_s: float | None = None,
    ) -> None:
        self._site, self._transport, self._ring = site, transport, ring
        self._guard, self._visitor, self._settings = guard, visitor, settings
        self._counters, self._hosts, self._rng = counters, hosts, rng
        self._keeper, self._reloader = keeper, reloader
        self._outage = Outage(outage_s)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._stopped = asyncio.Event()
        self._news = asyncio.Event()  # set, and replaced, when there may be another choice
        self._draining = False
        self._first_pages_pass: dict[Kind, bool] = {}
        self._walls_are_left = False

    async def fetch(
        self,
        request: Request,
        *,
        expect: Expect = Expect.UNKNOWN,
        nth: int = 1,
        is_retry: bool = False,
    ) -> Fetched:
        """The page, or what stands in its place after all attempts.

        expect: what the caller knows of it; where nothing is expected an empty answer is not asked
        for twice. nth: which page of its list it is, from 1. is_retry: it was asked for before and
        failed or was in doubt, so its answer is no evidence about the site.

        Errors: SiteSaysNo, to all callers from the moment the site says no to all; Interrupted
        after `drain`; StoreError where the leases of the egresses cannot be kept.
        """
        if self._keeper is not None:
            self._keeper.start(self._renewed)
        if self._reloader is not None:
            self._reloader.start(self._tell_news)
        tries = Tries(self._settings.attempts, ends=expect is Expect.NOTHING)
        while True:
            choice, egress = await self._choose(tries.avoid)
            try:
                sent = await self._ask(request, choice, egress)
                if sent is None:
                    continue
                fetched = await self._judge(request, sent, tries)
            except TransportError as error:
                fetched = await self._failed(error, egress, tries)
            if fetched is not None:
                if fetched.reading.verdict not in FACTS and self._guard.tripped:
                    raise SiteSaysNo(self._guard.tripped)
                return fetched
            self._counters.add("request.retried")

    def drain(self) -> None:
        """Send nothing more: what is under way is finished, who waits gets Interrupted."""
        self._draining = True
        self._stop_all()

    def leave_walls(self) -> None:
        """From now on the caller judges whether login walls end the run: the guard sees none."""
        self._walls_are_left = True

    @property
    def is_talking(self) -> bool:
        """Whether the site shows content where content is expected: it did in this run, and has not
        fallen silent of late. While it is not so, an emptiness is no evidence about anybody."""
        return True

    @property
    def waits_for(self) -> str:
        """Why nothing is asked for, in words; "" while something is."""
        if self._keeper is not None and self._ring.is_empty:
            return "other processes hold all egresses"
        return self._outage.words

    async def close(self) -> None:
        """End what is under way, free the sockets and hand the egresses back."""
        if self._reloader is not None:
            await self._reloader.close()
        await self._visitor.close()
        await self._transport.close()
        if self._keeper is not None:
            await self._keeper.close()

    async def _choose(self, avoid: str | None) -> tuple[Choice, Egress]:
        """Wait for the turn of an egress."""
        loop = asyncio.get_running_loop()
        while True:
            self._stop_if_over()
            choice = self._ring.choose(loop.time(), self._rng, avoid)
            wait_s = choice.wait_s
            if choice.egress is None:
                wait_s = self._meet_outage(loop.time(), wait_s)
            is_news = wait_s > 0 and await self._wait(self._news, wait_s)
            if not is_news and choice.egress is not None:
                return choice, choice.egress

    def _meet_outage(self, now: float, wait_s: float) -> float:
        """No egress may go now: say so, and stop where that is the setting. Returns how long to
        wait. Errors: SiteSaysNo."""
        words = self._ring.outage(now)
        advice = self._outage.met(words, wait_s, now)
        if advice.is_news:
            _log.warning('%s; waiting (egress.when_empty = "stop" would end the run)', words)
        if advice.wait_s is not None:
            return advice.wait_s
        self._guard.stop(
            f'{words}; egress.when_empty = "stop" ends the run: nothing is lost, come back later '
            "or with other egresses (`proxies check` tries them), then run the same command again"
        )
        self._wake_if_tripped()
        raise SiteSaysNo(self._guard.tripped)

    async def _ask(self, request: Request, choice: Choice, egress: Egress) -> _Sent | None:
        """Send once. None: the turn was lost, or used to ask for a session; choose again."""
        if not self._visitor.is_ready(egress):
            if (barred_s := self._visitor.barred_s(egress)) > 0:
                self._ring.rest(egress.name, asyncio.get_running_loop().time(), barred_s)
                return None
            if await self._visitor.settled(egress):
                return None
        wait_s: float | None = 0.0
        while wait_s is not None:
            if wait_s > 0:
                await self._pause(wait_s)
            async with self._slots:
                self._stop_if_over()
                wait_s = self._go(choice, egress)
                if wait_s == 0:
                    try:
                        return await self._use_turn(request, egress)
                    finally:
                        self._ring.landed(choice)
        return None

    def _go(self, choice: Choice, egress: Egress) -> float | None:
        """As `Ring.go`; None also while a session is asked for, or none may be."""
        visitor = self._visitor
        if not visitor.is_ready(egress) and (
            visitor.is_opening(egress) or visitor.barred_s(egress) > 0
        ):
            return None
        return self._ring.go(choice, asyncio.get_running_loop().time())

    async def _use_turn(self, request: Request, egress: Egress) -> _Sent | None:
        if self._visitor.wants(egress):
            await self._visitor.open(egress, self._send)
            return None
        loop = asyncio.get_running_loop()
        started = loop.time()
        headers, use = self._visitor.headers(egress)
        page = await self._send(request, headers, egress)
        return _Sent(page, egress, use, loop.time() - started)

    async def _send(self, request: Request, headers: Headers, egress: Egress) -> Page:
        host = host_of(request.url)
        if host not in self._hosts:
            raise CrawlerError(f"a request to {host}, which is not a host of the site, is not sent")
        headers = merge_headers(request.headers, headers)
        self._counters.add("request.sent")
        try:
            return await self._transport.send(request, headers, egress)
        except TransportError as error:
            self._counters.add(f"transport.{snake_case(type(error).__name__)}")
            if isinstance(error, EgressFailed):
                self._ring.failed(egress.name, asyncio.get_running_loop().time(), self._rng)
            raise

    async def _judge(self, request: Request, sent: _Sent, tries: Tries) -> Fetched | None:
        """What to return, or None after the wait that this answer asks for: ask again."""
        reading = self._site.read(request, sent.page)
        self._counters.add(f"page.{reading.verdict}")
        name = sent.egress.name
        is_healthy = reading.verdict not in FACTS and self._ring.is_healthy(name)
        step = tries.answered(reading, sent.page.status, name, is_healthy=is_healthy)
        if step is Step.WALLED:
            wall = self._visitor.wall(sent.egress, sent.use, request)
            if tries.walled(wall, (name, sent.use.generation), reading.verdict):
                return None
            step = tries.refused(reading.verdict, name)
            if reading.verdict is Verdict.REFUSED:
                self._visitor.retire(sent.egress, sent.use)
        self._note(request, sent, reading, is_final=step is Step.RETURN)
        if tries.suspects_any:
            self._blame_disproved(reading, name, tries)
        if step is Step.RETURN:
            return Fetched(reading, sent.page)
        if step is Step.LATER:
            await self._back_off(tries)
        return None

    def _blame_disproved(self, reading: Reading, egress: str, tries: Tries) -> None:
        broken, emptied = tries.disproved(reading, egress)
        now = asyncio.get_running_loop().time()
        for name in broken - {DIRECT.name}:
            self._ring.failed(name, now, self._rng)
        for name in emptied:
            self._ring.refused(name, now, self._rng)
        if broken or emptied:
            self._counters.add("egress.disproved", len(broken) + len(emptied))

    async def _failed(self, error: TransportError, egress: Egress, tries: Tries) -> Fetched | None:
        is_healthy = self._ring.is_healthy(egress.name)
        step = tries.failed(error, egress.name, is_healthy=is_healthy)
        if step is Step.LATER:
            await self._back_off(tries)
        is_outage = isinstance(error, EgressFailed) and bool(self._outage)
        if step is not Step.RETURN or is_outage:  # while none works that is no page's fault
            return None
        if error.blame == "site":
            self._guard.silent(str(error), egress.name, time.time())
            self._wake_if_tripped()
        return Fetched(Reading(Verdict.SERVER_TROUBLE, why=str(error)), None)

    def _note(self, request: Request, sent: _Sent, reading: Reading, is_final: bool) -> None:
        """Tell ring, visitor and guard what this answer says of egress, session and site."""
        verdict, name = reading.verdict, sent.egress.name
        now, is_first = asyncio.get_running_loop().time(), request.cursor == ""
        is_fact = verdict in FACTS
        if is_first and (is_fact or verdict is Verdict.LOGIN_WALL):
            self._first_pages_pass[request.kind] = is_fact
        if is_fact or verdict is Verdict.DRIFTED:
            if is_final or verdict not in (Verdict.OK, Verdict.DRIFTED):  # else: is it the site's?
                self._visitor.passed(sent.egress, sent.use, request, sent.page)
                self._answered(sent, now)
            if is_final and verdict is Verdict.DRIFTED:
                self._guard.drifted(reading.why, name, time.time())
            else:
                self._guard.note(False, reading.why, name, time.time())
        elif verdict is Verdict.LOGIN_WALL:
            self._answered(sent, now)
            # Later pages closed to visitors while first pages are open: no refusal of this run.
            is_told = is_first or not self._first_pages_pass.get(request.kind)
            if is_told and not self._walls_are_left:
                self._guard.note(True, reading.why or verdict, name, time.time())
        elif verdict in REFUSALS:
            asked_s = retry_after_s(sent.page)
            banned = is_ban(verdict, sent.page.status)
            self._ring.refused(name, now, self._rng, asked_s, is_ban=banned)
            self._guard.note(True, reading.why or verdict, name, time.time())
        elif is_final:
            self._guard.silent(reading.why or verdict, name, time.time())
        self._wake_if_tripped()

    def _answered(self, sent: _Sent, now: float) -> None:
        self._ring.answered(sent.egress.name, now, sent.elapsed_s)
        self._outage.ended()

    async def _back_off(self, tries: Tries) -> None:
        await self._pause(backoff_s(tries.troubles - 1, _BACKOFF_BASE_S, _BACKOFF_CAP_S, self._rng))

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than the run goes on."""
        await self._wait(self._stopped, seconds)

    @staticmethod
    async def _wait(event: asyncio.Event, seconds: float) -> bool:
        """Wait for the event, at most so many seconds; whether it came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await event.wait()
        return False

    def _renewed(self, is_news: bool) -> None:
        """The leases go on; is_news: whoever waits for a turn chooses anew."""
        self._transport.until = self._ring.until
        if is_news:
            self._tell_news()

    def _tell_news(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _stop_all(self) -> None:
        self._stopped.set()
        self._news.set()

    def _wake_if_tripped(self) -> None:
        if self._guard.tripped:
            self._stop_all()

    def _stop_if_over(self) -> None:
        if self._guard.tripped:
            raise SiteSaysNo(self._guard.tripped)
        if self._draining:
            raise Interrupted("stopped before this page was asked for")
        if self._keeper is not None and self._keeper.failure is not None:
            raise self._keeper.failure
        if self._reloader is not None and self._reloader.failure is not None:
            raise self._reloader.failure
