"""Asking the site on behalf of all visits of one run, and what the answers tell of the run."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from random import Random

from weibo_crawler.evidence import Evidence, Place, is_shown, place_of
from weibo_crawler.fetch import Ask, Fetched, PageSource
from weibo_crawler.metrics import PURPOSE, Counters
from weibo_crawler.records import (
    FACTS,
    OF_USERS,
    Answer,
    Id,
    Kind,
    Page,
    Reading,
    Request,
    Verdict,
)
from weibo_crawler.walls import Walls

_KEPT_BYTES = 256 * 1024  # of one odd card

_PLACES = 1000

Keep = Callable[[Page, str, bytes], Awaitable[None]]


class VisitTrouble(Exception):
    """The visit cannot go on now; what was read is stored, the next run goes on from there."""


class VisitDoubt(VisitTrouble):
    """The same, because of an emptiness that is not believed: no evidence that anything failed."""


class Unreached(Exception):
    """No answer of the site has come at all in this run: nothing is known about the user."""


class UserForgotten(Exception):
    """`forget` removed this user during the visit: nothing more is asked or stored."""


class Asker:
    """Fetches for the visits. keep: stores an odd page, or a part of one, for a developer; clock:
    the one by which visits are dated; on_answer: is told of answers that need not be asked for.
    Counters: `pages.from_harvest`, `cards.unreadable`, `cards.skipped.<reason>`.

    rng: decides which ends are looked at again. walls:
    the kinds of pages, by the kinds of requests, that guests are not shown. places: for so many
    requests at once; is_forgotten: of a uid.
    """

    def __init__(
        self,
        fetcher: PageSource,
        keep: Keep,
        counters: Counters,
        clock: Callable[[], float],
        rng: Random,
        walls: Walls | None = None,
        on_answer: Callable[[Answer], None] | None = None,
        *,
        places: int = _PLACES,
        is_forgotten: Callable[[Id], bool] = lambda _: False,
    ) -> None:
        self._is_forgotten = is_forgotten
        self.evidence = Evidence(places)
        self._fetcher, self._keep, self._counters = fetcher, keep, counters
        self._clock, self._rng, self._on_answer = clock, rng, on_answer
        self._has_answered = False
        self._is_first_shown = False  # a first page of posts, in this process
        self.has_asked = False
        self.misled = False  # the site has called somebody gone whose profile it showed
        self._leads: Kind | None = None  # the way to a whole text that worked last
        # of posts: when the latest request was begun that was shown such a page (an emptiness may
        # overtake a page on its way), and where the latest answer showed nothing
        self._talked: dict[Place, float] = {}
        self._quiet = set[Place]()
        self.walls = walls or Walls()
        self._proving = asyncio.Lock()
        # later pages: those of which an answer was no wall, and one lock for each of the others
        self._told = set[tuple[Kind, int]]()
        self._first: defaultdict[tuple[Kind, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def alone(self, ask: Ask) -> AsyncIterator[None]:
        """While nobody knows whether guests are shown such a later page, let one visit at a time
        ask for it: else all that are under way meet the same wall before it closes the kind."""
        sort = (ask.request.kind, ask.nth)
        if ask.nth > 1 and sort not in self._told:
            async with self._first[sort]:
                if sort not in self._told:
                    yield
                    return
        yield

    @asynccontextmanager
    async def in_turn(self) -> AsyncIterator[None]:
        """While the site is not talking, let one visit at a time ask for a proof that it is: all
        who wait for one learn by it."""
        if not self.is_talking:
            async with self._proving:
                if not self.is_talking:
                    yield
                    return
        yield

    @property
    def is_talking(self) -> bool:
        """Whether an emptiness can be evidence now: see `Fetcher.is_talking`."""
        return self._fetcher.is_talking

    async def fetch(self, ask: Ask) -> Fetched:
        """As `Fetcher.fetch`; a drifted page is kept. After many answers in a row that showed
        nothing it waits until a witness was asked. Errors: Unreached, and the fetcher's."""
        async with self.evidence.places:
            await self.evidence.break_silence(ask.request, self._is_shown)
            return await self._fetch(ask)

    async def _is_shown(self, witness: Ask) -> bool | None:
        """Whether a request brings content again that brought some before; None: that does not
        tell. Who was forgotten meanwhile is not asked for."""
        if self._is_forgotten(witness.request.uid):
            return None
        return is_shown((await self._fetch(witness)).reading)

    async def is_gone(self, uid: Id) -> bool:
        """Whether the word of the site that this user is gone is a fact: not where it shows first
        pages of posts to nobody any more. Where nobody is known to ask for, it is believed."""
        return await self.evidence.is_gone(uid, self._is_shown, Kind.POSTS) is not False

    async def shows_others(self, uid: Id) -> bool:
        """Whether first pages of the posts of others are shown now, as this user's is refused."""
        return await self.evidence.is_refused_alone(
            uid, time.monotonic(), self._is_shown, Kind.POSTS
        )

    async def _fetch(self, ask: Ask) -> Fetched:
        self.has_asked, begun = True, self._clock()
        fetched = await self.evidence.fetch(self._fetcher, ask, self._is_shown)
        reading, page = fetched.reading, fetched.page
        if fetched.is_shut:
            self.walls.shut(ask.request.kind, ask.nth, self._clock())
        if page is None:
            if not self._has_answered:
                raise Unreached(reading.why)
            return fetched
        self._has_answered = True
        self._note_wall(ask, reading, begun)
        if reading.verdict in FACTS:
            self._told.add((ask.request.kind, ask.nth))
        place = place_of(ask.request)
        if reading.verdict is Verdict.DRIFTED:
            await self._keep(page, reading.why, page.body)
        elif place.kind is Kind.POSTS and (shown := is_shown(reading)) is not None:
            if shown:
                self._talked[place] = max(begun, self._talked.get(place, begun))
                self._quiet.discard(place)
                self._is_first_shown |= not place.is_later
            else:
                self._quiet.add(place)
        return fetched

    @property
    def heard_at(self) -> float | None:
        """When the site, which may have fallen silent since, showed posts for sure: of first and
        later pages those count that were shown the longest ago. None where it showed none, or shows
        none now of those that it never showed here: others may know when they were."""
        if not self._silent() <= self._talked.keys():
            return None
        return min(self._talked.values(), default=None)

    @property
    def talked_at(self) -> float | None:
        """The same where the site has ended the run: of the pages of which nothing is shown now,
        and where there are none, it is the latest that count."""
        if not (silent := self._silent()):
            return max(self._talked.values(), default=None)
        if self.heard_at is None:
            return None
        return min(self._talked[place] for place in silent)

    def _silent(self) -> set[Place]:
        """Which pages of posts the latest answers did not show. Later ones tell only where somebody
        is known who was shown one: else each is an end."""
        firsts = Place(Kind.POSTS)
        return {place for place in self._quiet if place == firsts or self.evidence.knows(0, place)}

    def may_ask(self, ask: Ask) -> bool:
        """Whether guests may be shown such a page: False while all others are refused it (see
        `Walls`)."""
        return self.walls.may_ask(ask.request.kind, ask.nth, self._clock())

    def _note_wall(self, ask: Ask, reading: Reading, begun: float) -> None:
        is_wall = reading.verdict is Verdict.LOGIN_WALL
        is_of_all = ask.nth == 1 and ask.request.kind in OF_USERS  # it tells of no kind, no depth
        if is_wall and not (reading.ambiguous or is_of_all):
            self.walls.met(ask.request.kind, ask.nth, begun, is_again=ask.is_retry)
        elif reading.verdict in (Verdict.OK, Verdict.RESTRICTED):
            self.walls.passed(ask.request.kind, ask.nth, begun)
        elif not is_wall:  # an emptiness does not tell
            self.walls.told_nothing(ask.request.kind, ask.nth, self._clock())

    async def shown_before(self, ask: Ask, kept: Fetched, *, is_enough: bool) -> Fetched:
        """The answer that a harvest had kept. is_enough: nothing else will be asked for; else the
        first of this process is asked for once more, while the others wait: what is not shown
        behind page 1 means something only where first pages are shown."""
        if not (is_enough or self._is_first_shown):
            async with self._proving:
                if not self._is_first_shown:
                    fetched = await self.fetch(ask)
                    if fetched.reading.verdict is not Verdict.OK:
                        return fetched
        is_shown = kept.reading.verdict is Verdict.OK
        if is_shown and ask.request.kind is Kind.POSTS and not ask.request.cursor:
            self.evidence.know(ask.request)  # one witness alone might go
        self._counters.add("pages.from_harvest")
        self._counters.add(f"asked.{PURPOSE.get()}.{ask.request.kind}.kept")
        if self._on_answer is not None:
            reading = kept.reading
            self._on_answer(Answer(ask.request, kept.page, reading, reading, self.is_talking))
        return kept

    def wants_look(self, end: str) -> bool:
        """Count an end of this kind; whether to look at it again: see `Samples`."""
        return self._fetcher.samples.wants(end, self._rng) or not self.is_talking

    def wants(self, end: str, request: Request) -> bool:
        """As `wants_look`, where the look is this request, which nothing else asks for."""
        return self.wants_look(end)

    def may_look_again(self, request: Request) -> bool:
        """Whether a page that was shown may be asked for once more, as it is not believed, or as it
        shows more by now."""
        return True

    def disprove(self, egress: str) -> None:
        """A page that this egress brought lacks what another one shows."""
        self._fetcher.disprove(egress)

    def contradict(self, kind: Kind, page: Page) -> None:
        """As `Fetcher.contradict`, of this page."""
        self._fetcher.contradict(kind, page)

    def is_futile(self, end: str) -> bool:
        """Whether enough such looks were taken, and the latest of them all showed nothing more."""
        return not self._fetcher.samples.has_found(end)

    def looked(self, end: str, *, found: bool) -> None:
        """Tell what that look has shown. found: more."""
        if self.is_talking:
            self._fetcher.samples.looked(end, found=found)

    async def keep_card(self, page: Page, path: str, raw: bytes) -> None:
        """Keep the card of a post that could not be read."""
        await self._keep(page, path, raw[:_KEPT_BYTES])

    def count_cards(self, skipped: Mapping[str, int], unreadable: int) -> None:
        """The cards of a page that gave no post."""
        for reason, n in skipped.items():
            self._counters.add(f"cards.skipped.{reason.replace(' ', '_').lower()}", n)
        self._counters.add("cards.unreadable", unreadable)

    def by_lead(self, ways: tuple[Request, ...]) -> list[Request]:
        """The ways to a whole text, the one that worked last first."""
        return sorted(ways, key=lambda way: way.kind is not self._leads)

    def led(self, way: Request) -> None:
        """This way led to a whole text."""
        self._leads = way.kind
