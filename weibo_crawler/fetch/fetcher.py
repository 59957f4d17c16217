"""The fetcher: one page, politely, with as many requests as that takes."""

import asyncio
import time
from collections.abc import Callable, Collection
from math import inf
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.errors import EgressFailed, Interrupted, SiteSaysNo, TimedOut, TransportError
from weibo_crawler.fetch.answers import (
    BACKOFF_BASE_S,
    BACKOFF_CAP_S,
    COMPARED_WITH,
    MOST_LOOKS,
    NOTHING,
    Action,
    Asked,
    Met,
    Return,
    Walls,
    decide,
    disputed,
    is_ban,
    is_blank,
    is_nothing,
    is_said_gone,
    is_shown_nothing,
    is_trustworthy,
    of_session,
    trouble_of,
)
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.breaker import Breaker, Look
from weibo_crawler.fetch.comparison import agree, are_telling, is_behind, words_of
from weibo_crawler.fetch.pool import Broken, Disproved, Good, KindShut, Pool, Turn, Unused, Wall
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.source import SHUT, Ask, Fetched, Room
from weibo_crawler.fetch.wire import retry_after_s
from weibo_crawler.metrics import LEFT_OUT, PURPOSE, Counters, note_answer
from weibo_crawler.records import (
    FACTS,
    OF_USERS,
    Answer,
    Expect,
    Kind,
    Page,
    Reading,
    Request,
    Verdict,
)
from weibo_crawler.samples import Samples
from weibo_crawler.sites import Site

# second looks that are to be known before no third one is needed; third ones, before no fourth
_FIRST_LOOKS = (30, 0)
_SPARED = Reading(Verdict.SERVER_TROUBLE, why="other such pages of this user went wrong")


class _Past(NamedTuple):
    """An answer that was not believed, or not yet. at: when it came."""

    met: Met
    turn: Turn
    look: Look | None
    at: float


class _Answer(NamedTuple):
    """What came of one turn. page: None where no whole answer came."""

    turn: Turn
    met: Met
    page: Page | None


_Run = asyncio.Task[_Answer] | asyncio.Task[_Answer | None]


def _nth_look(asked: Asked, n: int) -> str:
    """The kind in `Samples` of the nth look at such ends and those after it."""
    return asked.ask.end if n == 2 else f"{asked.ask.end}.{n}"


def _differing(answers: list[_Answer]) -> list[str]:
    """The egresses whose words are not those of the first one, and that one; [] where none are."""
    first, *others = (answer.met for answer in answers)
    names = [met.egress for met in others if agree(first.answer, met.answer) is False]
    return [first.egress, *names] if names else []


def _without_old(answers: list[_Answer], is_true: list[bool | None]) -> list[bool | None]:
    """Of the true first pages those are false that somebody had kept."""
    shown = [one for one, true in zip(answers, is_true, strict=True) if true]
    return [
        true and not any(_is_behind(one, other) for other in shown)
        for one, true in zip(answers, is_true, strict=True)
    ]


def _is_behind(one: _Answer, other: _Answer) -> bool:
    at = None if one.page is None else one.page.fetched_at
    return at is not None and is_behind(one.met.answer, other.met.answer, at)


def _is_clear(met: Met) -> bool:
    """Whether this is a fact that needs no second thought."""
    answer = met.answer
    if not isinstance(answer, Reading) or answer.verdict is Verdict.GONE:
        return False
    return answer.verdict in FACTS and not answer.ambiguous


class Fetcher:
    """Asks for pages: turn, send, read, decide (`answers`), tell the pool and the breaker. One
    event loop, any number of callers. samples: what second looks at ends have shown.

    Counters: `request.retried`, `request.hedged` for each second request beside
    one that is late, `page.<verdict>` for every answer, `asked.<purpose>.<kind>.<verdict>` for
    every request (purpose: metrics.PURPOSE; verdict "unanswered": no answer came),
    `request.compared` for each one that tells whether a proxy shows what others do,
    `egress.disproved` for each egress that broke, emptied or changed a page another one shows;
    those of `Sender` and of the pool.
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
        self._on_answer = on_answer
        self._site, self._pool, self._sender = site, pool, sender
        self._breaker, self._counters = breaker, counters
        self._attempts, self._rng = attempts, rng
        self._walls = Walls()
        self._are_walls_told = True
        self.samples = samples or Samples(0.0)
        self._shown: set[tuple[str, Kind]] = set()  # by which egress such pages came
        self._shown_at = -inf  # when a page of a user that came was asked for, at the latest
        self._left: set[_Run] = set()  # nobody waits for them

    async def fetch(self, ask: Ask) -> Fetched:
        """The page, or what stands in its place after all attempts. A login wall that comes back
        ambiguous was confirmed by nobody.

        Errors: SiteSaysNo, to all callers from the moment the site says no to all; Interrupted
        after `drain`; StoreError where the leases of the egresses cannot be kept.
        """
        past: list[_Past] = []
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
                turn, met, page = await self._answer(asked, (avoid,) if avoid else (), patience)
            except KindShut as shut:
                reading = SHUT if shut.is_for_all else _SPARED
                if shut.is_for_all:
                    self._counters.add(f"{LEFT_OUT}{ask.request.kind}")
                self._note(ask, None, None, reading)
                return Fetched(reading, None)
            patience *= 2.0 if isinstance(met.answer, TimedOut) else 1.0
            met = self._set_apart(self._spared(asked, past, met), past)
            action = decide(asked, [one.met for one in past], met)
            if turn.outcome is None:
                self._pool.tell(turn, action.outcome, page)
            look = self._tell(asked, met, action, past)
            told: Reading | None = None
            try:
                if isinstance(action.step, Return):
                    reading = action.step.reading
                    if self._wants_comparison(met.egress, reading):
                        answer = _Answer(turn, met, page)
                        reading, met, page = await self._compared(asked, answer)
                    self._learn(asked, past, reading)
                    fetched = self._returned(asked, reading, page)
                    told = fetched.reading
                    return fetched
            finally:
                self._note(ask, page, met.answer, told)
            past.append(_Past(met, turn, look, asyncio.get_running_loop().time()))
            await self._ask_witness(ask, past)
            self._counters.add("request.retried")
            avoid, waits = action.step
            if ask.hold is not None and is_shown_nothing(asked, met):
                assert isinstance(met.answer, Reading)
                await ask.hold(met.answer)
            if waits is not None:
                await self._pool.pause(backoff_s(waits, BACKOFF_BASE_S, BACKOFF_CAP_S, self._rng))

    def drain(self) -> None:
        """Send nothing more: what is under way is finished, who waits gets Interrupted."""
        self._pool.drain()

    def leave_walls(self) -> None:
        """From now on the caller judges whether login walls end the run: the breaker sees none."""
        self._are_walls_told = False

    def disprove(self, egress: str) -> None:
        """A page that looked well, and that this egress brought, lacks what another one shows: its
        next page is compared."""
        self._pool.compared(egress, is_same=False)
        self._disprove(egress)

    def _disprove(self, egress: str, took_s: float = 0.0) -> None:
        self._counters.add("egress.disproved")
        self._pool.disprove(egress, took_s)

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
        left = list(self._left)
        for run in left:
            run.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._pool.close()

    async def _answer(self, asked: Asked, avoid: Collection[str], patience: float = 1.0) -> _Answer:
        """One answer, whose turn is to be told of it. patience: times as long as usual. Errors:
        KindShut."""
        ask = asked.ask
        turn = await self._pool.turn(ask.request, avoid, nth=ask.nth, witness=ask.witness)
        if turn.patience.late_s == inf:
            return await self._ask(asked, turn, patience)
        first = asyncio.create_task(self._ask(asked, turn, patience))
        return await self._hedged(asked, turn, first)

    def _wants_comparison(self, name: str, reading: Reading) -> bool:
        words = words_of(reading)
        is_telling = are_telling(words)
        return bool(words) and self._pool.wants_comparison(name, is_telling=is_telling)

    async def _compared(self, asked: Asked, first: _Answer) -> tuple[Reading, Met, Page | None]:
        """The page of a proxy, which the pool was told of, or what others show in its place: others
        are asked until two show the same words, or one that is known to show what the site shows;
        a first page that lacks what was there long ago is none of these.
        Where they show different ones, and no two the same, none is believed; where no other has
        shown any, the first one is."""
        answers, is_true = [first], None
        while is_true is None and len(answers) <= COMPARED_WITH:
            other = await self._answer_of_another(asked, [one.met.egress for one in answers])
            if other is None:
                break
            answers.append(other)
            is_true = self._are_true(answers)
            if words_of(other.met.answer) and not _differing(answers):
                break  # too few letters to tell, and nobody objects
        if is_true is not None and not asked.ask.request.cursor:
            is_true = _without_old(answers, is_true)
        best = 0 if is_true is None else is_true.index(True)
        is_telling = are_telling(words_of(first.met.answer))
        differing = [] if is_true else _differing(answers)
        for i, answer in enumerate(answers):
            true = None if is_true is None else is_true[i]
            if not words_of(answer.met.answer):
                pass  # it tells nothing of the words that this egress shows
            elif answer.met.egress in differing:
                self._pool.compared(answer.met.egress, is_same=False)
            elif answer is first or true is not None:
                self._pool.compared(answer.met.egress, is_same=true, is_telling=is_telling)
            if i != best:
                self._note(asked.ask, answer.page, answer.met.answer, None)
            if true is False and isinstance(answer.turn.outcome, Good):
                self._disprove(answer.met.egress, answer.met.elapsed_s)
        met, page = answers[best].met, answers[best].page
        self._breaker.compared(differing, is_same=is_true is not None)
        if differing:
            return disputed(differing), met, page
        assert isinstance(met.answer, Reading)
        return met.answer, met, page

    def _are_true(self, answers: list[_Answer]) -> list[bool | None] | None:
        """Of each answer whether it is true, None: that is not known, but of one at least; None:
        ask one more."""
        *others, last = (answer.met for answer in answers)
        told = [agree(other.answer, last.answer) for other in others]
        is_known = not self._pool.is_untold(last.egress)
        return [*told, True] if True in told or (is_known and False in told) else None

    async def _answer_of_another(self, asked: Asked, names: list[str]) -> _Answer | None:
        """What another egress than these answers to the same request; None: none could be asked."""
        try:
            self._counters.add("request.compared")
            other = await self._answer(asked, names)
        except (Interrupted, SiteSaysNo, KindShut):
            return None
        self._tell_of(asked, other)
        if other.met.egress not in names:
            return other
        self._note(asked.ask, other.page, other.met.answer, None)
        return None

    def _tell_of(self, asked: Asked, answer: _Answer) -> None:
        """Tell the pool of an answer that its caller did not ask for."""
        if answer.turn.outcome is None:
            outcome = decide(asked, [], answer.met).outcome
            self._pool.tell(answer.turn, outcome, answer.page)

    async def _hedged(self, asked: Asked, turn: Turn, first: "_Run") -> _Answer:
        """The first of two answers: one by an egress of which nobody knows whether it answers and,
        where that is late, one by another. The pool is told of the other answer as well."""
        runs, best = [first], first
        try:
            await asyncio.wait(runs, timeout=turn.patience.late_s)
            if not first.done():
                self._pool.leave(turn)
                self._counters.add("request.hedged")
                runs.append(asyncio.create_task(self._second(asked, (turn.egress.name,), first)))
                await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
            if not first.done() and runs[1].exception() is None:
                best = runs[1]
            answer = await best
            assert answer is not None  # the second one says nothing only after the first one
        except BaseException:
            for run in runs:
                run.cancel()
                self._learn_later(asked, run, is_shown=False)
            raise
        for run in runs:
            if run is not best:
                self._learn_later(asked, run, is_shown=_is_clear(answer.met))
        return answer

    async def _second(self, asked: Asked, avoid: Collection[str], first: "_Run") -> _Answer | None:
        turn = await self._pool.turn(asked.ask.request, avoid, nth=asked.ask.nth)
        if first.done():
            self._pool.tell(turn, Unused())
            return None
        run = asyncio.create_task(self._ask(asked, turn))
        return await self._hedged(asked, turn, run)

    def _learn_later(self, asked: Asked, run: "_Run", *, is_shown: bool) -> None:
        """Tell the pool of an answer that nobody waits for. is_shown: another egress showed it."""

        def learn(run: _Run) -> None:
            self._left.discard(run)
            answer = None if run.cancelled() or run.exception() else run.result()
            if answer is None:
                return
            self._note(asked.ask, answer.page, answer.met.answer, None)
            self._tell_of(asked, answer)
            if is_shown and isinstance(answer.turn.outcome, Broken):
                self._pool.tell(answer.turn, Disproved(answer.met.elapsed_s))

        self._left.add(run)
        run.add_done_callback(learn)

    async def _ask(self, asked: Asked, turn: Turn, patience: float = 1.0) -> _Answer:
        """Send once, and read what comes. A wall is told at once: the pool knows the session."""
        loop, name, page = asyncio.get_running_loop(), turn.egress.name, None
        started = loop.time()
        answer: Reading | TransportError | None = None
        try:
            page = await self._sender.send(
                asked.ask.request, turn.headers, turn.egress, turn.patience.deadline_s * patience
            )
            answer = self._site.read(asked.ask.request, page)
            self._walls.heard(asked.ask.request, answer)
            self._counters.add(f"page.{answer.verdict}")
            note_answer(self._counters, loop.time() - started)
            came = answer.verdict.value
        except TransportError as error:
            answer, came = error, "unanswered"
        finally:
            if answer is None:
                self._pool.tell(turn, Unused())
        self._counters.add(f"asked.{PURPOSE.get()}.{asked.ask.request.kind}.{came}")
        met = Met(answer, name, turn.generation, loop.time() - started)
        if isinstance(answer, TimedOut):
            self._pool.tell(turn, Broken(is_stall=True))
        if not _is_clear(met) or name == asked.ask.avoid:
            met = self._with_context(asked, turn, met, page)
        self._judge(asked.ask.request, met)
        return _Answer(turn, met, page)

    def _judge(self, request: Request, met: Met) -> None:
        """Tell the pool what an answer says of its kind of page; what a lying proxy may have
        brought tells nothing, nor does the failure of an egress, or the end of a session."""
        answer = met.answer
        if isinstance(answer, EgressFailed) or met.wall in (Wall.OVER, Wall.DOUBT):
            return
        if isinstance(answer, Reading) and answer.ambiguous:
            return
        verdict = answer.verdict if isinstance(answer, Reading) else Verdict.SERVER_TROUBLE
        begun = asyncio.get_running_loop().time() - met.elapsed_s
        if verdict is Verdict.OK:
            self._shown.add((met.egress, request.kind))
            if request.kind in OF_USERS:
                self._shown_at = max(self._shown_at, begun)
        self._pool.told(request, verdict, begun)

    def _with_context(self, asked: Asked, turn: Turn, met: Met, page: Page | None) -> Met:
        """How things stand, for an answer that needs a second thought."""
        met = replace(
            met,
            retry_after_s=None if page is None else retry_after_s(page),
            is_healthy=self._pool.is_healthy(met.egress),
            has_shown=(met.egress, asked.ask.request.kind) in self._shown,
            is_direct=turn.egress.proxy_url is None,
            is_only=self._pool.is_single,
            is_outage=self._pool.is_outage,
            is_common_wall=self._walls.is_common(asked, asyncio.get_running_loop().time()),
            is_first_shown=self._walls.is_first_shown(asked.ask.request.kind),
            is_silent=self._breaker.may_be_silent,
        )
        outcome = of_session(met)
        if outcome is None:
            return met
        return replace(met, wall=self._pool.tell(turn, outcome, page))

    def _spared(self, asked: Asked, past: list[_Past], met: Met) -> Met:
        """Decide whether an emptiness is asked for again at once. While the site may be silent, and
        where a proxy brought it that nobody knows, it always is, and that is no part of the
        experiment."""
        if not self._is_end(asked, met):
            return met
        if nothings := sum(is_nothing(asked, one.met) or is_blank(one.met) for one in past):
            return replace(met, is_asked_again=self._wants_one_more(asked, nothings + 1))
        if asked.ask.is_looked_later and not is_blank(met):
            return replace(met, is_spared=not self.samples.has_found(asked.ask.end))
        return replace(met, is_spared=not self.samples.wants(asked.ask.end, self._rng))

    def _set_apart(self, met: Met, past: list[_Past]) -> Met:
        """Tell a ban from a page that alone is refused, by what others were shown meanwhile."""
        bans = [one.at for one in past if is_ban(one.met)]
        return replace(met, is_alone=bool(bans) and is_ban(met) and self._shown_at > bans[0])

    async def _ask_witness(self, ask: Ask, past: list[_Past]) -> None:
        """After the second ban ask for what was shown before, if nothing was since the first."""
        bans = [one for one in past if is_ban(one.met)]
        is_new = len(bans) == 2 and bans[-1] is past[-1]
        if is_new and not bans[-1].met.is_alone and ask.witness is not None:
            await ask.witness(bans[0].at)

    def _wants_one_more(self, asked: Asked, looks: int) -> bool:
        """Whether to look again where all looks showed nothing: that is no proof where the latest
        that were looked at so often showed more. Each further look is an experiment of its own."""
        if looks >= MOST_LOOKS or asked.ask.is_looked_later or not asked.ask.is_shown():
            return False
        may_find = self.samples.may_find(_nth_look(asked, looks), _FIRST_LOOKS[looks > 2])
        return may_find and self.samples.wants(_nth_look(asked, looks + 1), self._rng)

    def _is_end(self, asked: Asked, met: Met) -> bool:
        """Whether the experiment with second looks counts this answer: an end, or a page that shows
        nobody and names the next one."""
        is_said = (is_nothing(asked, met) or is_blank(met)) and is_trustworthy(met)
        return bool(asked.ask.end) and is_said and self._breaker.is_talking

    def _learn(self, asked: Asked, past: list[_Past], reading: Reading) -> None:
        """Note what a second look has shown. Where the caller looks later it tells of those ends
        that are one at both looks."""
        ends = [one.met for one in past if self._is_end(asked, one.met)]
        if not ends or reading.verdict not in FACTS:
            return
        first = ends[0]
        is_later = asked.ask.is_looked_later and not is_blank(first)
        is_found = reading.verdict not in NOTHING and not (is_blank(first) and reading.ambiguous)
        if is_later and is_found:
            self.samples.wants(asked.ask.end, self._rng)  # it is counted as an end
        if is_found or not is_later:
            for n in range(len(ends)):
                self.samples.looked(_nth_look(asked, n + 2), found=is_found)

    def _note(self, ask: Ask, page: Page | None, answer: object, told: Reading | None) -> None:
        """Tell the observer, if there is one, of an answer or of a request without any."""
        if self._on_answer is not None and (page is not None or told is not None):
            reading = answer if isinstance(answer, Reading) else None
            is_witness = ask.expect is Expect.SHOWN
            self._on_answer(Answer(ask.request, page, reading, told, self.is_talking, is_witness))

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
            )
        if action.is_empty is not None:
            kind, was_shown = asked.ask.request.kind, asked.ask.expect is Expect.SHOWN
            is_gone = action.is_empty and is_said_gone(met.answer)
            is_later = asked.ask.nth > 1
            look = Look(kind, action.is_empty, met.egress, at, was_shown, is_gone, is_later)
            self._breaker.looked(look)
        self._pool.stop(self._breaker.tripped)
        return look

    def _returned(self, asked: Asked, reading: Reading, page: Page | None) -> Fetched:
        """What the request came to. Once the run is over only what was shown is of use."""
        self._walls.note(asked, reading, asyncio.get_running_loop().time())
        is_nothing = reading.verdict not in FACTS or reading.verdict in NOTHING
        if (is_nothing or is_said_gone(reading)) and self._breaker.tripped:
            raise SiteSaysNo(self._breaker.tripped)
        if reading.verdict is Verdict.OK and not reading.ambiguous:
            self._breaker.shown()
        return Fetched(reading, page)
