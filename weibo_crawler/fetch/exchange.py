"""One answer to a request: a turn, what was sent, what came; and a second one where it is late."""

import asyncio
from collections.abc import Callable, Collection
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.errors import EgressFailed, TimedOut, TransportError
from weibo_crawler.fetch.answers import (
    Asked,
    Met,
    decide,
    is_ban,
    is_trustworthy,
    of_session,
)
from weibo_crawler.fetch.breaker import Breaker
from weibo_crawler.fetch.pool import Broken, Disproved, Others, Pool, Turn, Unused, Wall
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.source import Ask
from weibo_crawler.fetch.wire import retry_after_s
from weibo_crawler.metrics import PURPOSE, Counters, note_answer
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
from weibo_crawler.sites import Site


class Came(NamedTuple):
    """What came of one turn. page: None where no whole answer came."""

    turn: Turn
    met: Met
    page: Page | None


_Run = asyncio.Task[Came] | asyncio.Task[Came | None]


class Exchange:
    """Asks once, by whoever may go next, and says how things stood when the answer came.

    The pool is told at once of walls and stalls; of the rest by who decides. Counters:
    `request.hedged` for each second request beside one that is late, `page.<verdict>` for every
    answer, `asked.<purpose>.<kind>.<verdict>` for every request (purpose: metrics.PURPOSE; verdict
    "unanswered": no answer came). on_answer: as in `Fetcher`.
    """

    def __init__(
        self,
        site: Site,
        pool: Pool,
        sender: Sender,
        breaker: Breaker,
        others: Others,
        counters: Counters,
        on_answer: Callable[[Answer], None] | None,
    ) -> None:
        self._site, self._pool, self._sender = site, pool, sender
        self._breaker, self._others, self._counters = breaker, others, counters
        self._on_answer = on_answer
        self._shown: set[tuple[str, Kind]] = set()  # by which egress such pages came
        self._shown_at = -inf  # when a page of a user that came was asked for, at the latest
        self._left: set[_Run] = set()  # nobody waits for them

    async def close(self) -> None:
        """End what nobody waits for."""
        left = list(self._left)
        for run in left:
            run.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def ask(self, asked: Asked, avoid: Collection[str], patience: float = 1.0) -> Came:
        """One answer, whose turn is to be told of it. patience: times as long as usual. Errors:
        KindShut."""
        ask = asked.ask
        is_known = ask.expect is Expect.SHOWN
        turn = await self._pool.turn(
            ask.request, avoid, nth=ask.nth, witness=ask.witness, is_known=is_known
        )
        if turn.patience.late_s == inf:
            return await self._ask(asked, turn, patience)
        first = asyncio.create_task(self._ask(asked, turn, patience))
        return await self._hedged(asked, turn, first)

    def tell_of(self, asked: Asked, answer: Came) -> None:
        """Tell the pool of an answer that its caller did not ask for."""
        if answer.turn.outcome is None:
            outcome = decide(asked, [], answer.met).outcome
            self._pool.tell(answer.turn, outcome, answer.page)

    def note(self, ask: Ask, page: Page | None, answer: object, told: Reading | None) -> None:
        """Tell the observer, if there is one, of an answer or of a request without any."""
        if self._on_answer is not None and (page is not None or told is not None):
            reading = answer if isinstance(answer, Reading) else None
            is_witness = ask.expect is Expect.SHOWN
            self._on_answer(
                Answer(ask.request, page, reading, told, self._breaker.is_talking, is_witness)
            )

    async def _hedged(self, asked: Asked, turn: Turn, first: "_Run") -> Came:
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

    async def _second(self, asked: Asked, avoid: Collection[str], first: "_Run") -> Came | None:
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
            self.note(asked.ask, answer.page, answer.met.answer, None)
            self.tell_of(asked, answer)
            if is_shown and isinstance(answer.turn.outcome, Broken):
                self._pool.tell(answer.turn, Disproved(answer.met.elapsed_s))

        self._left.add(run)
        run.add_done_callback(learn)

    async def _ask(self, asked: Asked, turn: Turn, patience: float = 1.0) -> Came:
        """Send once, and read what comes. A wall is told at once: the pool knows the session."""
        loop, name, page = asyncio.get_running_loop(), turn.egress.name, None
        started = loop.time()
        answer: Reading | TransportError | None = None
        try:
            page = await self._sender.send(
                asked.ask.request, turn.headers, turn.egress, turn.patience.deadline_s * patience
            )
            answer = self._site.read(asked.ask.request, page)
            self._others.heard(asked.ask.request, answer.verdict)
            self._counters.add(f"page.{answer.verdict}")
            note_answer(self._counters, loop.time() - started)
            came = answer.verdict.value
        except TransportError as error:
            answer, came = error, "unanswered"
        finally:
            if answer is None:
                self._pool.tell(turn, Unused())
        self._counters.add(f"asked.{PURPOSE.get()}.{asked.ask.request.kind}.{came}")
        met = Met(answer, name, turn.use.generation, loop.time() - started)
        if not _is_clear(met) or name == asked.ask.avoid:
            met = self._with_context(asked, turn, met, page)
        if isinstance(answer, TimedOut):
            trouble = str(answer) if is_trustworthy(met) else ""
            self._pool.tell(turn, Broken(met.elapsed_s, trouble))
        self._judge(asked.ask.request, met)
        return Came(turn, met, page)

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
        ask, loop = asked.ask, asyncio.get_running_loop()
        met = replace(
            met,
            retry_after_s=None
            if page is None
            else retry_after_s(dict(page.headers), page.fetched_at),
            is_healthy=self._pool.ring.is_healthy(met.egress),
            has_shown=(met.egress, ask.request.kind) in self._shown,
            is_direct=turn.egress.proxy_url is None,
            is_only=self._pool.ring.is_single,
            is_outage=self._pool.is_outage,
            is_common_wall=self._others.is_common(ask.request, ask.nth, loop.time()),
            is_first_shown=self._others.is_first_shown(ask.request.kind),
            enough_walls=self._others.enough,
            is_silent=self._breaker.may_be_silent,
        )
        met = replace(met, is_alone=is_ban(met) and self._shown_at > asked.banned_at)
        outcome = of_session(met)
        if outcome is None:
            return met
        return replace(met, wall=self._pool.tell(turn, outcome, page))


def _is_clear(met: Met) -> bool:
    """Whether this is a fact that needs no second thought."""
    answer = met.answer
    if not isinstance(answer, Reading) or answer.verdict is Verdict.GONE:
        return False
    return answer.verdict in FACTS and not answer.ambiguous
