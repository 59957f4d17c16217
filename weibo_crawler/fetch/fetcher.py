"""The fetcher: one page, politely, with as many requests as that takes."""

import asyncio
import time
from random import Random
from typing import NamedTuple

from weibo_crawler.errors import EgressFailed, SiteSaysNo, TransportError
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.blame import Step, Tries, is_ban
from weibo_crawler.fetch.guard import Guard
from weibo_crawler.fetch.pool import (
    Broken,
    Disproved,
    Failed,
    Good,
    Outcome,
    Pool,
    Refused,
    SessionOver,
    Turn,
    Unused,
    Wall,
    Walled,
)
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.wire import retry_after_s
from weibo_crawler.metrics import Counters
from weibo_crawler.records import FACTS, REFUSALS, Expect, Kind, Page, Reading, Request, Verdict
from weibo_crawler.sites import Site

_BACKOFF_BASE_S, _BACKOFF_CAP_S = 0.1, 5.0


class Fetched(NamedTuple):
    """The answer of the site, read. page: None where no whole answer came (see reading.why)."""

    reading: Reading
    page: Page | None


class _Answer(NamedTuple):
    turn: Turn
    page: Page
    elapsed_s: float


class Fetcher:
    """Asks for pages; retries by blame (see `blame`). One event loop, any number of callers.

    Counters: `request.retried`, `page.<verdict>` for every answer, `egress.disproved` for each
    egress that broke or emptied a page another one shows; those of `Sender` and of the pool.
    """

    def __init__(
        self,
        site: Site,
        pool: Pool,
        sender: Sender,
        guard: Guard,
        counters: Counters,
        *,
        attempts: int,
        rng: Random,
    ) -> None:
        self._site, self._pool, self._sender = site, pool, sender
        self._guard, self._counters = guard, counters
        self._attempts, self._rng = attempts, rng
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
        tries = Tries(self._attempts, ends=expect is Expect.NOTHING)
        doubted: dict[str, Turn] = {}  # by egress: answers that others may disprove
        loop = asyncio.get_running_loop()
        while True:
            turn = await self._pool.turn(request, tries.avoid)
            started = loop.time()
            try:
                page = await self._sender.send(request, turn.headers, turn.egress)
                answer = _Answer(turn, page, loop.time() - started)
                fetched = await self._judge(request, answer, tries, doubted)
            except TransportError as error:
                fetched = await self._failed(error, turn, tries, doubted)
            finally:
                if turn.outcome is None:
                    self._pool.tell(turn, Unused())
            if fetched is not None:
                if fetched.reading.verdict not in FACTS and self._guard.tripped:
                    raise SiteSaysNo(self._guard.tripped)
                return fetched
            self._counters.add("request.retried")

    def drain(self) -> None:
        """Send nothing more: what is under way is finished, who waits gets Interrupted."""
        self._pool.drain()

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
        return self._pool.waits_for

    async def close(self) -> None:
        """End what is under way, free the sockets and hand the egresses back."""
        await self._pool.close()

    async def _judge(
        self, request: Request, answer: _Answer, tries: Tries, doubted: dict[str, Turn]
    ) -> Fetched | None:
        """What to return, or None after the wait that this answer asks for: ask again."""
        turn, page = answer.turn, answer.page
        reading = self._site.read(request, page)
        self._counters.add(f"page.{reading.verdict}")
        name = turn.egress.name
        is_healthy = reading.verdict not in FACTS and self._pool.is_healthy(name)
        step = tries.answered(reading, page.status, name, is_healthy=is_healthy)
        if step is Step.WALLED:
            wall = self._tell_wall(answer, reading)
            if tries.walled(wall, (name, turn.generation), reading.verdict):
                return None
            step = tries.refused(reading.verdict, name)
        self._note(request, answer, reading, is_final=step is Step.RETURN)
        if tries.suspects_any:
            self._blame_disproved(reading, name, tries, doubted)
        if step is Step.RETURN:
            return Fetched(reading, page)
        if isinstance(turn.outcome, Broken | Good):
            doubted[name] = turn
        if step is Step.LATER:
            await self._back_off(tries)
        return None

    def _tell_wall(self, answer: _Answer, reading: Reading) -> Wall:
        outcome: Walled | SessionOver = Walled(answer.elapsed_s)
        if reading.verdict is not Verdict.LOGIN_WALL:
            outcome = SessionOver(reading.why or reading.verdict, retry_after_s(answer.page))
        wall = self._pool.tell(answer.turn, outcome, answer.page)
        assert wall is not None
        return wall

    def _blame_disproved(
        self, reading: Reading, egress: str, tries: Tries, doubted: dict[str, Turn]
    ) -> None:
        broken, emptied = tries.disproved(reading, egress)
        for turn in (doubted.pop(name) for name in broken | emptied if name in doubted):
            self._pool.tell(turn, Disproved())
        if broken or emptied:
            self._counters.add("egress.disproved", len(broken) + len(emptied))

    async def _failed(
        self, error: TransportError, turn: Turn, tries: Tries, doubted: dict[str, Turn]
    ) -> Fetched | None:
        name = turn.egress.name
        is_egress = isinstance(error, EgressFailed)
        self._pool.tell(turn, Failed(str(error)) if is_egress else Broken())
        if not is_egress:
            doubted[name] = turn
        step = tries.failed(error, name, is_healthy=self._pool.is_healthy(name))
        if step is Step.LATER:
            await self._back_off(tries)
        if step is not Step.RETURN or (is_egress and self._pool.is_outage):
            return None
        if error.blame == "site":
            self._guard.silent(str(error), name, time.time())
            self._pool.stop(self._guard.tripped)
        return Fetched(Reading(Verdict.SERVER_TROUBLE, why=str(error)), None)

    def _note(self, request: Request, answer: _Answer, reading: Reading, is_final: bool) -> None:
        """Tell pool and guard what this answer says of egress, session and site."""
        verdict, page, name = reading.verdict, answer.page, answer.turn.egress.name
        is_first, is_fact = request.cursor == "", verdict in FACTS
        if is_first and (is_fact or verdict is Verdict.LOGIN_WALL):
            self._first_pages_pass[request.kind] = is_fact
        if answer.turn.outcome is None:
            self._pool.tell(answer.turn, _outcome(answer, reading, is_final=is_final), page)
        if verdict is Verdict.DRIFTED and is_final:
            self._guard.drifted(reading.why, name, time.time())
        elif is_fact or verdict is Verdict.DRIFTED:
            self._guard.note(False, reading.why, name, time.time())
        elif verdict is Verdict.LOGIN_WALL:
            # Later pages closed to visitors while first pages are open: no refusal of this run.
            is_told = is_first or not self._first_pages_pass.get(request.kind)
            if is_told and not self._walls_are_left:
                self._guard.note(True, reading.why or verdict, name, time.time())
        elif verdict in REFUSALS:
            self._guard.note(True, reading.why or verdict, name, time.time())
        elif is_final:
            self._guard.silent(reading.why or verdict, name, time.time())
        self._pool.stop(self._guard.tripped)

    async def _back_off(self, tries: Tries) -> None:
        wait_s = backoff_s(tries.troubles - 1, _BACKOFF_BASE_S, _BACKOFF_CAP_S, self._rng)
        await self._pool.pause(wait_s)


def _outcome(answer: _Answer, reading: Reading, *, is_final: bool) -> Outcome:
    """What an answer that is no wall says of its egress."""
    verdict, page = reading.verdict, answer.page
    if verdict in REFUSALS:
        banned = is_ban(verdict, page.status)
        return Refused(reading.why or verdict, retry_after_s(page), is_ban=banned)
    if verdict not in FACTS and verdict is not Verdict.DRIFTED:
        return Broken()
    # what may be the site's, or mangled on the way, is good when another egress brings it, too
    is_good = is_final or verdict not in (Verdict.OK, Verdict.DRIFTED)
    return Good(answer.elapsed_s) if is_good else Broken()
