"""The fetcher: one page, politely, with as many requests as that takes."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import dropwhile
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.errors import SiteSaysNo, TimedOut
from weibo_crawler.fetch.answers import (
    BACKOFF_BASE_S,
    BACKOFF_CAP_S,
    MOST_LOOKS,
    Action,
    Asked,
    Met,
    Return,
    decide,
    hits_of,
    is_alone,
    is_ban,
    is_blank,
    is_closed,
    is_nothing,
    is_of_no_session,
    is_said_gone,
    is_shown_nothing,
    is_trouble,
    is_trustworthy,
    trouble_of,
)
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.breaker import Breaker, Look
from weibo_crawler.fetch.comparer import Comparer
from weibo_crawler.fetch.exchange import Came, Exchange
from weibo_crawler.fetch.pool import Disproved, KindShut, Others, Pool, Refused, Turn, Wall
from weibo_crawler.fetch.pool.login_walls import moments
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.source import SHUT, Ask, Fetched, Room
from weibo_crawler.metrics import LEFT_OUT, Counters
from weibo_crawler.records import (
    EMPTY,
    FACTS,
    OF_USERS,
    Answer,
    Expect,
    Kind,
    Page,
    Reading,
    Verdict,
)
from weibo_crawler.samples import Samples, look_at
from weibo_crawler.sites import Site

_FIRST_LOOKS = 30  # second looks that are to be known before no third one is needed
_OVER_FROM_START = 2  # sessions in a row that a witness may end
_MOST_DOUBTED = 4  # walls of one page before one is believed
_SPARED = Reading(Verdict.SERVER_TROUBLE, why="other such pages of this user went wrong")


class _Past(NamedTuple):
    """An answer that was not believed, or not yet. at: when it came."""

    met: Met
    turn: Turn
    look: Look | None
    at: float


def _nth_look(asked: Asked, first: Met, n: int) -> str:
    """The kind in `Samples` of the nth look at such ends and those after it, and their sort: that
    of pages that show nobody and name the next one, or of the sign by which the first answer is
    empty, since a site empties answers in one way and ends lists in several."""
    why = first.answer.why if isinstance(first.answer, Reading) else ""
    return look_at(asked.ask.end, "blank" if is_blank(first) else why, n)


def _look_at_wall(asked: Asked, answers: Sequence[Met]) -> str:
    """The kind in `Samples` of a second look at the last answer: the first wall that a request met,
    for the first page of a user, by a session that may be over; "" where it is something else."""
    *before, met = answers
    is_first = asked.ask.nth == 1 and all(one.wall is None for one in before)
    is_wall = isinstance(met.answer, Reading) and met.answer.verdict is Verdict.LOGIN_WALL
    if asked.ask.request.kind not in OF_USERS or not (is_first and is_wall):
        return ""
    return f"{asked.ask.request.kind}.wall" if met.wall is Wall.DOUBT else ""


class Fetcher:
    """Asks for pages: turn, send, read, decide (`answers`), tell the pool and the breaker. One
    event loop, any number of callers. samples: what second looks at ends have shown.

    Counters: `request.retried`, `egress.disproved` for each egress that broke or emptied a page
    another one shows; those of `Exchange`, `Comparer`, `Sender` and the pool.
    on_answer: is told of every answer of the site, and of each request that ended without one.
    """

    def __init__(
        self,
        site: Site,
        pool: Pool,
        sender: Sender,
        breaker: Breaker,
        counters: Counters,
        *,
        attempts: int,
        rng: Random,
        samples: Samples | None = None,
        on_answer: Callable[[Answer], None] | None = None,
    ) -> None:
        self._pool, self._breaker, self._counters = pool, breaker, counters
        self._attempts, self._rng = attempts, rng
        self._others = Others()
        self._suspects: defaultdict[Kind, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._are_walls_told = True
        self.samples = samples or Samples(0.0)
        self._exchange = Exchange(site, pool, sender, breaker, self._others, counters, on_answer)
        self._comparer = Comparer(self._exchange, pool, breaker, counters)

    async def fetch(self, ask: Ask) -> Fetched:
        """The page, or what stands in its place after all attempts. A login wall that comes back
        ambiguous was confirmed by nobody.

        Errors: SiteSaysNo, to all callers from the moment the site says no to all; Interrupted
        after `drain`; StoreError where the leases of the egresses cannot be kept.
        """
        past: list[_Past] = []
        if ask.was_walled:
            self._pool.know_walled(ask.request)
        try:
            return await self._fetch(ask, past)
        except SiteSaysNo as no:
            no.met = next(filter(None, (trouble_of(one.met) for one in past)), "")
            raise

    async def _fetch(self, ask: Ask, past: list[_Past]) -> Fetched:
        asked = Asked(ask, self._attempts, self._are_walls_told)
        avoid = ask.avoid or None
        patience = 1.0
        while True:
            try:
                passed = (avoid,) if avoid else ()
                turn, met, page = await self._ask(asked, passed, patience)
            except KindShut as shut:
                reading = SHUT if shut.is_for_all else _SPARED
                if shut.is_for_all:
                    self._counters.add(f"{LEFT_OUT}{ask.request.kind}")
                self._exchange.note(ask, None, None, reading)
                return Fetched(reading, None)
            patience *= 2.0 if isinstance(met.answer, TimedOut) else 1.0
            met = await self._proven(asked, turn, self._spared(asked, past, met), past)
            if met.wall is Wall.DOUBT:
                met = await self._outlived(asked, turn, met, past)
            action = decide(asked, [one.met for one in past], met)
            if turn.outcome is None:
                self._pool.tell(turn, action.outcome, page)
            look = self._tell(asked, met, action, past)
            told: Reading | None = None
            try:
                if isinstance(action.step, Return):
                    reading = action.step.reading
                    if self._comparer.wants(met.egress, reading):
                        came = Came(turn, met, page)
                        reading, met, page = await self._comparer.compared(asked, came)
                    if past:
                        self._learn(asked, past, reading)
                        self._learn_of_wall(asked, [*(one.met for one in past), met], reading)
                    if reading.verdict in FACTS:
                        hits = hits_of(asked, [one.met for one in past])
                        self._others.shown(moments(hits, met.session))
                    fetched = self._returned(asked, reading, page, is_alone=is_alone(met))
                    if any(is_nothing(asked, one.met) for one in past):
                        fetched = fetched._replace(is_twice=True)
                    told = fetched.reading
                    return fetched
            finally:
                self._exchange.note(ask, page, met.answer, told)
            past.append(_Past(met, turn, look, asyncio.get_running_loop().time()))
            if is_ban(met):
                asked = await self._banned(asked, [one for one in past if is_ban(one.met)])
            elif met.wall in (Wall.DOUBT, Wall.ALONE) and ask.witness is not None:
                await ask.witness(past[-1].at)  # what passes tells that the session is alive
            elif is_trouble(met.answer):
                past[-1] = await self._troubled(asked, past)
            self._counters.add("request.retried")
            avoid, waits = action.step
            if ask.hold is not None and is_shown_nothing(asked, met):
                assert isinstance(met.answer, Reading)
                await ask.hold(met.answer)
            if waits is not None:
                await self._pool.pause(backoff_s(waits, BACKOFF_BASE_S, BACKOFF_CAP_S, self._rng))

    async def _ask(self, asked: Asked, passed: tuple[str, ...], patience: float) -> Came:
        """One answer. While a kind is suspected to be shown to nobody, one request of it goes at a
        time: all that are under way would find the same. Errors: KindShut."""
        kind = asked.ask.request.kind
        if self._pool.endpoints.is_suspected(kind):
            async with self._suspects[kind]:
                if self._pool.endpoints.is_suspected(kind):
                    return await self._exchange.ask(asked, passed, patience)
        return await self._exchange.ask(asked, passed, patience)

    def drain(self) -> None:
        """Send nothing more: what is under way is finished, who waits gets Interrupted."""
        self._pool.drain()

    def leave_walls(self) -> None:
        """From now on the caller judges whether login walls end the run: the breaker sees none."""
        self._are_walls_told = False

    def disprove(self, egress: str) -> None:
        """A page that looked well, and that this egress brought, lacks what another one shows: its
        next page is compared."""
        self._pool.ring.compared(egress, is_same=False)
        self._comparer.disprove(egress)

    def contradict(self, kind: Kind, page: Page) -> None:
        """Tell of a first page that showed nothing, though something was likely to be there, and
        nothing says that there is none: the site may have fallen silent. Errors: SiteSaysNo."""
        self._breaker.contradicted(Look(kind, True, page.egress, page.fetched_at))
        self._pool.stop(self._breaker.tripped)
        if self._breaker.tripped:
            raise SiteSaysNo(self._breaker.tripped)

    @property
    def is_talking(self) -> bool:
        """Whether the site shows content where content is expected: it did in this run, and has not
        fallen silent of late. While it is not so, an emptiness is no evidence about anybody."""
        return self._breaker.is_talking

    @property
    def may_be_silent(self) -> bool:
        """As `Breaker.may_be_silent`."""
        return self._breaker.may_be_silent

    def room(self) -> Room:
        """How many callers at once are of use now. As `Pool.room`."""
        return self._pool.room()

    @property
    def waits_for(self) -> str:
        """Why nothing is asked for, in words; "" while something is."""
        return self._pool.waits_for

    async def close(self) -> None:
        """End what is under way, free the sockets and hand the egresses back."""
        await self._exchange.close()
        await self._pool.close()

    def _spared(self, asked: Asked, past: list[_Past], met: Met) -> Met:
        """Decide whether an emptiness is asked for again at once. While the site may be silent, and
        where a proxy brought it that nobody knows, it always is, and that is no part of the
        experiment."""
        if not self._is_end(asked, met):
            return met
        # a blank page behind an emptiness is what the look at that has found
        blank = [one.met for one in past if is_blank(one.met)]
        emptied = [one.met for one in past if is_nothing(asked, one.met)]
        nothings = blank if is_blank(met) else emptied + blank
        if nothings:
            is_wanted = self._wants_one_more(asked, nothings[0], len(nothings) + 1)
            return replace(met, is_asked_again=is_wanted)
        if asked.ask.is_looked_later and not is_blank(met):
            return replace(met, is_spared=not self.samples.has_found(_nth_look(asked, met, 2)))
        kind = _nth_look(asked, met, 2)
        return replace(met, is_spared=not self.samples.wants(kind, self._rng))

    async def _proven(self, asked: Asked, turn: Turn, met: Met, past: list[_Past]) -> Met:
        """Doubt a wall by a session that has shown nothing, where a witness is shown by another
        session meanwhile: some sessions are over from the start. A witness that meets such a wall
        ends the session, since it was shown before; it ends two at most, as it may be shown no
        more."""
        if not is_closed(met) or self._pool.is_proven(turn):
            return met
        ask, begun = asked.ask, asyncio.get_running_loop().time()
        if ask.expect is Expect.SHOWN:
            if sum(one.met.wall is Wall.OVER for one in past) >= _OVER_FROM_START:
                return met
            self._pool.retire(turn)
            return replace(met, wall=Wall.OVER)
        if sum(one.met.wall is Wall.DOUBT for one in past) >= _MOST_DOUBTED:
            return met
        if ask.witness is None or not await ask.witness(begun) or self._pool.is_proven(turn):
            return met
        return replace(met, wall=Wall.DOUBT)

    async def _outlived(self, asked: Asked, turn: Turn, met: Met, past: list[_Past]) -> Met:
        """The first wall of a user's first page, in doubt: once second looks at such walls show a
        page hardly ever, all but a sample are believed as soon as others are shown theirs, asked
        for later with the same session."""
        kind = _look_at_wall(asked, [*(one.met for one in past), met])
        if not kind or not is_trustworthy(met) or not self.samples.is_rare(kind):
            return met
        if not await self._pool.outlives(turn):
            return met
        if self.samples.wants(kind, self._rng):
            return replace(met, is_asked_again=True)
        return replace(met, wall=Wall.ALONE, enough_walls=1)

    def _learn_of_wall(self, asked: Asked, answers: Sequence[Met], reading: Reading) -> None:
        """Note what a second look at such a wall has shown: the wall, with a session that was
        alive, or the page, by the same session."""
        if all(met.wall is None for met in answers[:-1]):
            return
        before, *after = dropwhile(lambda met: met.wall is None, answers)
        kind = _look_at_wall(asked, [before])
        is_found = reading.verdict in FACTS and after[-1].session == before.session
        is_walled = reading.verdict is Verdict.LOGIN_WALL and any(
            hit.is_wall and hit.wall is Wall.ALONE for hit in hits_of(asked, after)
        )
        if kind and (is_found or is_walled):
            if not before.is_asked_again:
                self.samples.wants(kind, self._rng)  # counted as a wall
            self.samples.looked(kind, found=is_found)

    async def _troubled(self, asked: Asked, past: list[_Past]) -> _Past:
        """The last answer, which was trouble. At the second one ask for what was shown before,
        unless anything was shown since the first; and whenever the site is away, which comes when
        it is back. Where nothing is known that was shown, the page is to blame."""
        last, ask, is_away = past[-1], asked.ask, self._pool.is_outage
        troubles = [one for one in past if is_trouble(one.met.answer)]
        if not (is_away or len(troubles) == 2) or ask.expect is Expect.SHOWN:
            return last
        at = last.at if is_away else troubles[0].at
        if ask.witness is not None and await ask.witness(at):
            return last
        return last._replace(met=replace(last.met, is_outage=False))

    async def _banned(self, asked: Asked, bans: list[_Past]) -> Asked:
        """Note when the first ban came: what others are shown from then on tells whether it is one.
        Ask for what was shown before, once, where the page was refused twice and no other tells."""
        telling = [one for one in bans if is_of_no_session(one.met)]
        if len({one.met.egress for one in bans}) > 1:  # the sessions of two do not end together
            telling = bans
        if not telling:
            return asked
        first, last = telling[0], bans[-1]
        is_second = len(bans) == 2 or (len(bans) > 2 and first is last)
        if is_second and not is_alone(last.met) and asked.ask.witness is not None:
            await asked.ask.witness(first.at)
        return asked._replace(banned_at=first.at)

    def _wants_one_more(self, asked: Asked, first: Met, looks: int) -> bool:
        """Whether to look again where all looks showed nothing: that is no proof where the latest
        that were looked at so often showed more. Each further look is an experiment of its own."""
        if looks >= MOST_LOOKS or asked.ask.is_looked_later or not asked.ask.is_shown():
            return False
        last, following = (_nth_look(asked, first, n) for n in (looks, looks + 1))
        if looks == 2:
            may_find = self.samples.may_find(last, _FIRST_LOOKS)
        else:
            may_find = self.samples.finds_often(last)
        return may_find and self.samples.wants(following, self._rng)

    def _is_end(self, asked: Asked, met: Met) -> bool:
        """Whether the experiment with second looks counts this answer: an end, or a page that shows
        nobody and names the next one."""
        is_said = (is_nothing(asked, met) or is_blank(met)) and is_trustworthy(met)
        return bool(asked.ask.end) and is_said and self._breaker.is_talking

    def _learn(self, asked: Asked, past: list[_Past], reading: Reading) -> None:
        """Note what a second look has shown. Where the caller looks later it tells of those ends
        that are one at both looks."""
        ends = [one.met for one in past if self._is_end(asked, one.met)]
        if reading.verdict not in FACTS:
            return
        blank = [met for met in ends if is_blank(met)]
        emptied = [met for met in ends if not is_blank(met)]
        is_shown, is_later = reading.verdict not in EMPTY, asked.ask.is_looked_later
        is_found = is_shown or bool(blank)
        if emptied and is_later and is_found:
            self.samples.wants(_nth_look(asked, emptied[0], 2), self._rng)  # counted as an end
        if is_found or not is_later:
            self._looked(asked, emptied, is_found=is_found)
        self._looked(asked, blank, is_found=is_shown and not reading.ambiguous)

    def _looked(self, asked: Asked, ends: list[Met], *, is_found: bool) -> None:
        for n in range(len(ends)):
            self.samples.looked(_nth_look(asked, ends[0], n + 2), found=is_found)

    def _tell(self, asked: Asked, met: Met, action: Action, past: list[_Past]) -> Look | None:
        """Tell the breaker of this answer, and both of those that it disproves."""
        for one in (past[i] for i in action.disproved):
            self._pool.tell(one.turn, Disproved(one.met.elapsed_s))
            self._counters.add("egress.disproved")
            if one.look is not None:
                self._breaker.take_back(one.look)
        at, look = time.time(), None
        if action.sign is not None:
            request = asked.ask.request
            self._breaker.note(
                *(action.sign, action.why, met.egress, at),
                uid=request.uid,
                is_of_user=request.kind in OF_USERS,
                rests=isinstance(action.outcome, Refused),
            )
        if action.is_empty is not None:
            kind, was_shown = asked.ask.request.kind, asked.ask.expect is Expect.SHOWN
            is_gone = action.is_empty and is_said_gone(met.answer)
            is_later = asked.ask.nth > 1
            look = Look(kind, action.is_empty, met.egress, at, was_shown, is_gone, is_later)
            self._breaker.looked(look)
        self._pool.stop(self._breaker.tripped)
        return look

    def _returned(
        self, asked: Asked, reading: Reading, page: Page | None, *, is_alone: bool
    ) -> Fetched:
        """What the request came to. Once the run is over only what was shown is of use. is_alone:
        as in `Others.note`."""
        now = asyncio.get_running_loop().time()
        self._others.note(asked.ask.request, asked.ask.nth, reading, now, is_alone=is_alone)
        is_nothing = reading.verdict not in FACTS or reading.verdict in EMPTY
        if (is_nothing or is_said_gone(reading)) and self._breaker.tripped:
            raise SiteSaysNo(self._breaker.tripped)
        if reading.verdict is Verdict.OK and not reading.ambiguous:
            self._breaker.shown()
        return Fetched(reading, page)
