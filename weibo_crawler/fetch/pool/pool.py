"""Who may send a request, and when: the face of this room.

How a turn is born: the `Ring` chooses the egress that may go first; `Pool.turn` waits for it, for
its session and for a free slot; `_may_go` has the last word. How it ends: `Pool.tell` passes its
outcome on to ring, session and outage.
"""

import asyncio
import logging
import time
from collections.abc import Collection
from contextlib import suppress
from math import ceil, inf
from random import Random
from typing import NamedTuple, assert_never

from weibo_crawler.errors import CrawlerError, EgressFailed, Interrupted, SiteSaysNo
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.endpoints import Endpoints
from weibo_crawler.fetch.pool.keeper import Keeper
from weibo_crawler.fetch.pool.login_walls import CLOSED, Wall
from weibo_crawler.fetch.pool.outage import Outage
from weibo_crawler.fetch.pool.outcome import (
    Broken,
    Disproved,
    Failed,
    Good,
    Outcome,
    Refused,
    SessionOver,
    Turn,
    Unused,
    Walled,
)
from weibo_crawler.fetch.pool.reloading import Reloader
from weibo_crawler.fetch.pool.ring import Choice, Ring
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.pool.visit import Use
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.source import Room, Witness
from weibo_crawler.records import OF_USERS, Page, Request, Verdict

_log = logging.getLogger(__name__)

_SESSION_OVER = " (a session is over)"
_NO_SESSION = " (no visitor session could be had)"
_SOON_S = 0.02  # whoever has got a page asks for the next one by then


class KindShut(Exception):
    """Nobody is shown such a page at present. is_for_all: none of its kind; else none that was
    asked for of late, and of its owner several were."""

    def __init__(self, *, is_for_all: bool) -> None:
        super().__init__(is_for_all)
        self.is_for_all = is_for_all


class KindDoubted(Exception):
    """The last of this kind, at this time, was refused, or many went wrong: a page of another kind
    is to tell whose fault it is."""

    def __init__(self, at: float) -> None:
        super().__init__(at)
        self.at = at


class _MayAsk(NamedTuple):
    """What is known of a request and its kind. is_known: its page was shown before. doubted_until:
    a witness has told of what came before."""

    request: Request
    is_probe: bool
    is_known: bool
    doubted_until: float


class Pool:
    """Gives out turns. One event loop, any number of callers.

    concurrency: turns at once, at most; least: callers that are always of use. keeper: holds the
    ring's egresses on lease; None: they are this process's own. reloader: reads the lists of
    proxies again.
    """

    def __init__(
        self,
        ring: Ring,
        visitor: Visitor,
        sender: Sender,
        outage: Outage,
        *,
        concurrency: int,
        least: int,
        rng: Random,
        keeper: Keeper | None = None,
        reloader: Reloader | None = None,
    ) -> None:
        self.ring, self._visitor, self._sender = ring, visitor, sender
        self._outage, self._rng = outage, rng
        self._keeper, self._reloader = keeper, reloader
        self.endpoints = Endpoints()
        self._concurrency, self._least = concurrency, least
        self._slots = asyncio.Semaphore(concurrency)
        self._stopped = asyncio.Event()
        self._news = asyncio.Event()  # set, and replaced, when there may be another choice
        self._landed: asyncio.Event | None = None  # set when a turn came to its end; if any waits
        self._asking = 0  # turns that are waited for, or that have not come to their end
        self._is_draining = self._is_cut_said = False
        self._over = ""

    async def turn(
        self,
        request: Request,
        avoid: Collection[str] = (),
        *,
        nth: int = 1,
        witness: Witness | None = None,
        is_known: bool = False,
    ) -> Turn:
        """The right to send this request now. avoid: egresses to pass over where another may go.
        nth: which page of its list it asks for, from 1. witness: as in `Ask`; None: no doubt of
        its kind holds it up. is_known: the page was shown before.

        Errors: SiteSaysNo when all is refused for too long, and after `stop`; Interrupted after
        `drain`; KindShut; StoreError where the leases of the egresses cannot be kept.
        """
        is_probe = self.endpoints.grants_probe(request, asyncio.get_running_loop().time())
        may_ask = _MayAsk(request, is_probe, is_known, -inf if witness else inf)
        if self._keeper is not None:
            self._keeper.start(self._renewed)
        if self._reloader is not None:
            self._reloader.start(self._tell_news)
        self._asking += 1
        try:
            while True:
                choice, egress = await self._choose(avoid, is_known=is_known)
                try:
                    turn = await self._take(request, nth, choice, egress, may_ask)
                except KindDoubted as doubt:
                    assert witness is not None
                    is_given = await witness(doubt.at)
                    may_ask = may_ask._replace(doubted_until=doubt.at if is_given else inf)
                except EgressFailed:  # while it asked for a session
                    avoid = (egress.name,)
                else:
                    if turn is not None:
                        return turn
        except BaseException:
            self._asking -= 1
            raise

    def tell(self, turn: Turn, outcome: Outcome, page: Page | None = None) -> Wall | None:
        """What came of a turn: exactly once; and `Disproved` after that, where it is so.

        page: the answer, if any came; its cookies join the session. For Walled and SessionOver:
        what that says of the session.
        """
        before = turn.outcome
        is_doubt = isinstance(before, Broken | Walled | Good)
        if isinstance(outcome, Disproved) is not is_doubt or not (is_doubt or before is None):
            raise CrawlerError(f"a turn that was told {before} is told {outcome}")
        turn.outcome = outcome
        if before is None:
            if not turn.is_left:
                self._slots.release()
            self._asking -= 1
            self.ring.landed(turn.choice, is_unused=isinstance(outcome, Unused))
            self._visitor.ended(turn.egress, turn.use)
        name, now, wall = turn.egress.name, asyncio.get_running_loop().time(), None
        if isinstance(outcome, Refused | Walled | SessionOver) and self._outage.answered():
            self._go_on(now)
        match outcome:
            case Good(latency_s, is_shown):
                asked = turn.request, turn.nth
                self._visitor.passed(turn.egress, turn.use, *asked, page, now, is_shown=is_shown)
                self.ring.answered(name, now, latency_s, is_shown=is_shown)
                if self._outage.ended(turn.request.url):
                    self.ring.revive(now, self._rng)
                    self._go_on(now)
            case Refused(why, retry_after_s, is_ban):
                self._refused(name, why, retry_after_s, is_ban=is_ban)
            case Walled(latency_s):
                wall = self._visitor.wall(turn.egress, turn.use, turn.request, turn.nth)
                if wall in CLOSED:  # what the site answers to guests, or to this egress alone
                    self.ring.heard(name, now, latency_s)
                    self._outage.ended(turn.request.url)
                elif wall is Wall.OVER:
                    self._note_bad(f"login wall{self._ended(turn)}")
            case SessionOver(why, retry_after_s):
                asked = turn.request, turn.nth
                wall = self._visitor.wall(turn.egress, turn.use, *asked, is_refusal=True)
                if wall in (Wall.CLOSED, Wall.UNSURE, Wall.ABSENT):
                    if wall is not Wall.CLOSED or not self._visitor.has_shown(turn.egress, *asked):
                        self._visitor.retire(turn.egress, turn.use)
                    self._refused(name, why, retry_after_s, is_ban=True)
                elif wall is Wall.OVER:
                    self._note_bad(why + self._ended(turn))
            case Failed(why):
                self.ring.failed(name, now, self._rng)
                self._note_bad(why.removeprefix(f"{name}: "))
            case Disproved() if isinstance(before, Good):
                self.ring.hollow(name, now, self._rng)
            case Disproved(took_s):
                if turn.egress.proxy_url is not None:  # the direct way breaks nothing
                    may_be_site = isinstance(before, Walled)  # it may wall anybody for a moment
                    self.ring.failed(name, now, self._rng, took_s, may_be_site=may_be_site)
            case Broken(stalled_s, trouble):
                if stalled_s:
                    self.ring.stalled(name)
                self.ring.broken(name, now, self._rng, stalled_s)
                # where the site never answered its address is wrong, rather than that it is away
                if trouble and turn.request.kind in OF_USERS and self.ring.was_answered:
                    self._outage.troubled(turn.request.url, trouble[:80], now, time.time())
                    self.stop(self._outage.over)
            case Unused():
                pass
            case _:
                assert_never(outcome)
        self.ring.keep_to(name, self._visitor.most_per_s(turn.egress))
        self._tell_landed()
        return wall

    def disprove(self, name: str, took_s: float = 0.0) -> None:
        """A page that this egress brought looked well, and is false, as another one shows: a proxy
        is to blame. took_s: as in `Disproved`."""
        if self.ring.is_proxy(name):
            self.ring.failed(name, asyncio.get_running_loop().time(), self._rng, took_s)

    def told(self, request: Request, verdict: Verdict, begun: float) -> None:
        """What an answer that was asked for at `begun` tells of kinds of pages; SERVER_TROUBLE
        where none came, through no fault of the egress."""
        now = asyncio.get_running_loop().time()
        for shut in self.endpoints.told(request, verdict, begun, now):
            _log.warning(
                "the site shows nobody pages of one kind (%s), and others as ever: they are left "
                "out, but for one request an hour",
                shut,
            )

    def leave(self, turn: Turn) -> None:
        """Its caller has gone on without it; what comes of it is told all the same."""
        if turn.outcome is None and not turn.is_left:
            turn.is_left = True
            self._slots.release()
            self._visitor.ended(turn.egress, turn.use)

    def know_walled(self, request: Request) -> None:
        """As `Visitor.know_walled`."""
        self._visitor.know_walled(request)

    def is_proven(self, turn: Turn) -> bool:
        """As `Visitor.is_proven`."""
        return self._visitor.is_proven(turn.egress, turn.use)

    def retire(self, turn: Turn) -> None:
        """As `Visitor.retire`."""
        self._visitor.retire(turn.egress, turn.use)

    def room(self) -> Room:
        """How many callers at once keep the egresses busy: twice as many as there are requests
        under way then, since callers do other things as well; `least` where that is more."""
        per_s, under_way = self.ring.throughput()
        return Room(min(self._concurrency, max(self._least, ceil(2.0 * under_way))), per_s)

    @property
    def waits_for(self) -> str:
        """Why nothing is asked for, in words; "" while something is."""
        keeper = self._keeper
        if keeper is not None and keeper.has_term and self.ring.is_empty and keeper.out is None:
            return "other processes hold all egresses"
        return self._outage.words

    @property
    def is_outage(self) -> bool:
        """As `Outage.is_total`: no fault of any page."""
        return self._outage.is_total

    async def outlives(self, turn: Turn) -> bool:
        """Whether the session of a turn that met a wall in doubt shows others such pages after
        that. Waits for the next answers by this egress, as long as anything is asked for."""
        until = asyncio.get_running_loop().time() + self.ring.next_s(turn.egress.name)
        asked = turn.egress, turn.use, turn.request, turn.nth
        while (told := self._visitor.has_outlived(*asked)) is None:
            left_s = until - asyncio.get_running_loop().time()
            if left_s <= 0 or self._over or self._is_draining:
                return False
            self._landed = self._landed or asyncio.Event()
            is_news = await self._wait(self._landed, left_s if self._asking else _SOON_S)
            if not (is_news or self._asking):
                return False
        return told

    async def pause(self, seconds: float) -> None:
        """Wait, but not longer than the run goes on."""
        await self._wait(self._stopped, seconds)

    def drain(self) -> None:
        """Give out no more turns: who waits for one gets Interrupted."""
        self._is_draining = True
        self._wake_all()

    def stop(self, why: str) -> None:
        """The run is over: who waits for a turn gets SiteSaysNo. why: "" where it is not."""
        self._over = self._over or why
        if self._over:
            self._wake_all()

    async def close(self) -> None:
        """End what is under way, free the sockets and hand the egresses back."""
        if self._reloader is not None:
            await self._reloader.close()
        await self._visitor.close()
        await self._sender.close()
        if self._keeper is not None:
            await self._keeper.close()

    # -- may it go?

    async def _choose(self, avoid: Collection[str], *, is_known: bool) -> tuple[Choice, Egress]:
        loop = asyncio.get_running_loop()
        while True:
            self._stop_if_over()
            if hold_s := self._outage.hold_s(loop.time(), is_known=is_known):
                await self._wait(self._news, self._meet_outage(loop.time(), hold_s))
                continue
            choice = self.ring.choose(loop.time(), self._rng, avoid)
            wait_s = choice.wait_s
            if choice.egress is None:
                wait_s = self._meet_outage(loop.time(), wait_s)
            is_news = wait_s > 0 and await self._wait(self._news, wait_s)
            if not is_news and choice.egress is not None:
                return choice, choice.egress

    async def _take(
        self, request: Request, nth: int, choice: Choice, egress: Egress, may_ask: "_MayAsk"
    ) -> Turn | None:
        """The turn; None: it was lost, or used to ask for a session. Errors: EgressFailed,
        KindShut, KindDoubted."""
        if await self._visitor.settled(egress):
            return None
        wait_s: float | None = 0.0
        while wait_s is not None:
            if wait_s > 0:
                await self.pause(wait_s)
            await self._slots.acquire()
            is_kept = False
            try:
                wait_s = self._may_go(choice, egress, may_ask)
                is_kept = wait_s == 0
            finally:
                if not is_kept:
                    self._slots.release()
            if is_kept:
                return await self._begin(request, nth, choice, egress)
        return None

    def _may_go(self, choice: Choice, egress: Egress, may_ask: "_MayAsk") -> float | None:
        """May the request of this choice go now? The caller has a free slot.

        raises  the run is over: stopped, drained, or leases or lists cannot be kept;
                nobody is shown its kind of page, or a witness is to tell first whether it is so
        None    no, choose again:
                a session is being asked for by another caller, or may not be asked for yet (then
                the egress rests);
                or, by `Ring.go`, the egress was refused, died, rests, left or is leased no more;
                or the site is away, and another request looks whether it is back
        more    no, so many seconds too early: its interval, or that of a probe, is not over
        0       yes; where a session is wanted, to ask for it
        """
        self._stop_if_over()
        kind = may_ask.request.kind
        if not may_ask.is_probe and self.endpoints.is_spared(may_ask.request):
            raise KindShut(is_for_all=self.endpoints.is_shut(kind))
        doubted_at = self.endpoints.doubted_at(kind)
        if doubted_at is not None and doubted_at > may_ask.doubted_until:
            raise KindDoubted(doubted_at)
        now = asyncio.get_running_loop().time()
        bar_s = self._visitor.bar_s(egress, now)
        if bar_s is None or self._outage.hold_s(now, is_known=may_ask.is_known):
            return None
        if bar_s > 0:
            self.ring.rest(egress.name, now, bar_s)
            return None
        early_s = self.ring.go(choice, now)
        if early_s == 0:
            self._outage.looks(now)
        return early_s

    async def _begin(
        self, request: Request, nth: int, choice: Choice, egress: Egress
    ) -> Turn | None:
        """The turn; None: it was used to ask for a session. Errors: EgressFailed."""
        patience = self.ring.patience(choice)
        if self._visitor.is_ready(egress):
            headers, use = self._visitor.headers(egress)
            return Turn(request, egress, headers, use, choice, nth, patience)
        turn = Turn(request, egress, (), Use(0, 0), choice, nth, patience)
        self._asking += 1  # it comes to its end beside the one that is waited for
        asking = self._visitor.open(egress, self._sender.send)
        if patience.late_s == inf:
            failure = await self._opened(turn, asking)
        else:
            opening = asyncio.create_task(self._opened(turn, asking))
            done, _ = await asyncio.wait([opening], timeout=patience.late_s)
            if not done:
                self.leave(turn)
            failure = opening.result() if done else EgressFailed(f"{egress.name}: no session yet")
        if failure is not None:
            raise failure
        return None

    async def _opened(
        self, turn: Turn, asking: "asyncio.Task[EgressFailed | None]"
    ) -> EgressFailed | None:
        """Wait for a session that is being asked for, and tell what came of it."""
        try:
            failure = await asyncio.shield(asking)
            if failure is None:
                return None
            self.tell(turn, Failed(str(failure)))
            return EgressFailed(str(failure))  # to each who waits an error of its own
        finally:
            if turn.outcome is None:
                self.tell(turn, Unused())

    def _meet_outage(self, now: float, wait_s: float) -> float:
        """No egress may go now: say so, and stop where that is the setting. Returns how long to
        wait. Errors: SiteSaysNo."""
        words = self.ring.outage(now)
        if self._keeper is not None and self._keeper.out is not None:
            words = str(self._keeper.out)
        advice = self._outage.met(words, wait_s, now)
        self.stop(self._outage.over)
        self._stop_if_over()
        if advice.is_news:
            _log.warning(
                '%s; waiting (egress.when_empty = "stop" would end the run)', self._outage.words
            )
        return advice.wait_s

    def _stop_if_over(self) -> None:
        if self._over:
            raise SiteSaysNo(self._over)
        if self._is_draining:
            raise Interrupted("stopped before this page was asked for")
        for part in (self._keeper, self._reloader):
            if part is not None and part.failure is not None:
                raise part.failure

    # -- what came of it

    def _refused(self, name: str, why: str, retry_after_s: float | None, *, is_ban: bool) -> None:
        now, longest_s = asyncio.get_running_loop().time(), self.ring.longest_s
        if retry_after_s is not None and retry_after_s > longest_s and not self._is_cut_said:
            self._is_cut_said = True
            _log.warning(
                "the site asks to wait %.0f s (Retry-After); %s rests for %.0f s, as always where "
                "it asks for more",
                *(retry_after_s, name, longest_s),
            )
        self.ring.refused(name, now, self._rng, retry_after_s, is_ban=is_ban)
        self._note_bad(why, is_refusal=True)

    def _go_on(self, now: float) -> None:
        """The site answers: all who wait for that choose anew."""
        self.ring.rearrange(now)
        self._tell_news()

    def _ended(self, turn: Turn) -> str:
        return _SESSION_OVER if self._visitor.has_session(turn.egress) else _NO_SESSION

    def _note_bad(self, why: str, *, is_refusal: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        self._outage.bad(why[:80], now, time.time(), is_refusal=is_refusal)
        self.stop(self._outage.over)

    # -- waiting

    @staticmethod
    async def _wait(event: asyncio.Event, seconds: float) -> bool:
        """Wait for the event, at most so many seconds; whether it came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await event.wait()
        return False

    def _renewed(self, is_news: bool) -> None:
        """The leases go on; is_news: whoever waits for a turn chooses again."""
        self._sender.end_at(self.ring.until)
        if is_news:
            self._tell_news()

    def _tell_news(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _tell_landed(self) -> None:
        if self._landed is not None:
            self._landed.set()
            self._landed = None

    def _wake_all(self) -> None:
        self._stopped.set()
        self._news.set()
        self._tell_landed()
