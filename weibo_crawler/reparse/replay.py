"""Who answers from an archive in place of a `Fetcher`."""

import asyncio
import heapq
from collections import defaultdict, deque
from collections.abc import Sequence

from weibo_crawler.archive.exchanges import Kept, reading_of
from weibo_crawler.archive.reader import ArchiveIndex, key_of
from weibo_crawler.errors import Interrupted
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.asking import Unreached
from weibo_crawler.records import EMPTY, Expect, FanPage, Id, Kind, Page, Reading, Request, Verdict
from weibo_crawler.samples import Samples
from weibo_crawler.sites import Site

_LULL_S = 0.05


def fetched_of(site: Site, request: Request, kept: Kept) -> Fetched:
    """An archived answer, read by the site's reader as it is today."""
    page, about = kept.page(), kept.exchange
    if page is not None:
        return Fetched(reading_of(about, site.read(request, page)), page)
    told = about.told
    verdict, why = (Verdict.SERVER_TROUBLE, "") if told is None else (told.verdict, told.why)
    return Fetched(Reading(verdict, why=why), None)


def _key(kept: Kept) -> str:
    return key_of(kept.exchange.kind, kept.url)


class AllLooks(Samples):
    """Looks at every end again, as far as the archive holds a second look, and tells nobody."""

    def exchange(self, note: str | None) -> str | None:
        return None


class _Replay:
    """What a `Fetcher` does beside fetching, which an archive has no need of."""

    def __init__(self) -> None:
        self.samples: Samples = AllLooks(0.0)

    def drain(self) -> None:
        """Nothing is under way."""

    def leave_walls(self) -> None:
        """Nothing is judged here."""

    def disprove(self, egress: str) -> None:
        """Nobody is to blame here."""

    def contradict(self, kind: Kind, page: Page) -> None:
        """The site is not judged here."""


class VisitReplay(_Replay):
    """Answers one visit of posts from what one process got for one user, in its order.

    An end that nobody looked at twice then is the same at a second look. What else the archive
    lacks is Unreached: nothing is concluded from it.
    """

    def __init__(self, site: Site, answers: Sequence[Kept]) -> None:
        super().__init__()
        self._site = site
        self._answers: defaultdict[str, deque[Kept]] = defaultdict(deque)
        for kept in answers:
            if kept.exchange.told is not None and not kept.exchange.is_witness:
                self._answers[_key(kept)].append(kept)
        # what was asked for when the process was killed; what came late of an asking that was over
        # follows its own answer
        told = [kept for kept in answers if kept.exchange.told and not kept.exchange.is_witness]
        latest = answers[-1]
        key, latest_told = _key(latest), _key(told[-1]) if told else None
        is_open = latest.exchange.told is None and key != latest_told
        self._open = key if is_open else None
        self._until = answers[-1].exchange.at
        self._ends: dict[str, Fetched] = {}
        self._page = ""  # the latest page of posts that was given
        self._now = answers[0].exchange.at
        self._was_talking = False

    @property
    def is_talking(self) -> bool:
        """As with the latest answer; a visit that had found the site silent would not have asked
        next for a page again that showed nothing. Where it asked for something else before, as for
        the profile because of the silence, that page tells nothing yet."""
        return self._was_talking or self._next_key() in self._ends

    def now(self) -> float:
        """When the latest answer came that was given, or the first one."""
        return self._now

    def was_asked_again(self) -> bool:
        """Whether what was asked for next was the latest page once more, or one that showed
        nothing."""
        return self._next_told() in {*self._ends, self._page}

    def is_kind_next(self, kind: Kind) -> bool:
        """Whether the visit was answered a request of this kind next."""
        return (self._next_key() or "").startswith(f"{kind} ")

    def _next_key(self) -> str | None:
        """What the visit was answered next, or asked for when it was killed; None: nothing more."""
        return self._next_told() or self._open

    def _next_told(self) -> str | None:
        """What the visit was answered next, None: nothing more."""
        firsts = ((left[0].order, key) for key, left in self._answers.items() if left)
        return min(firsts, default=(0.0, None))[1]

    def is_next(self, request: Request) -> bool:
        """Whether this is what the visit was answered next."""
        return self._next_key() == key_of(request.kind, request.url)

    def place_of(self, request: Request) -> float:
        """When the next answer to this came, or the kill while it was asked for; inf where none is
        left."""
        key = key_of(request.kind, request.url)
        left = self._answers[key]
        if not left and key == self._open:
            return self._until
        return left[0].exchange.at if left else float("inf")

    async def fetch(self, ask: Ask) -> Fetched:
        """See `Fetcher`. Errors: Unreached."""
        request = ask.request
        key = key_of(request.kind, request.url)
        left = self._answers[key]
        if not left and key in self._ends:
            return self._ends[key]
        if not left:
            raise Unreached("the archive holds no answer to this")
        kept = left.popleft()
        while left and left[0].exchange.at < kept.exchange.at:  # what a harvest had kept was taken,
            kept = left.popleft()  # and this was only to show that the site still talks
        self._now = max(self._now, kept.exchange.at)
        self._was_talking = kept.exchange.is_talking
        if request.kind is Kind.POSTS:
            self._page = key
        fetched = fetched_of(self._site, request, kept)
        if fetched.reading.verdict in EMPTY:
            self._ends[key] = fetched
        return fetched


class WalkReplay(_Replay):
    """Answers a harvest from all harvests of an archive.

    Answers are given in the order in which they came then: who is found from whom depends on which
    page lands first. Where nobody asks for the next one any more, which shows when `places` wait or
    nobody has joined them for a moment, the first of those who wait is answered.

    A harvest looks again at a sample of what it doubts, and behind a sample of the lists that say
    that they are over; a replay, which cannot know which, asks behind all. So where the archive
    lacks an answer, content that was given before is given again to who wants a witness of it or
    looks a second time: no witness that others asked for is such a look. A list ends that has shown
    all that was announced, or whose last page names no next one where others do; a sort of list
    that was walled the last time, or is when it first comes, is walled; and a profile of somebody
    found is doubtful: then others were shown with their number of fans first. What else it lacks is
    Interrupted: the entry goes back as it was. given, lacking: how many of each.
    """

    is_talking = True

    def __init__(self, site: Site, index: ArchiveIndex, places: int) -> None:
        super().__init__()
        self._site, self._index, self._places = site, index, places
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._walled = set(index.walled)
        self._seeds = {uid for _, uids in index.notes.get("seeds", []) for uid in uids}
        self._naming: set[Kind] = set()  # lists of which a page named the next one
        self._unnamed: set[tuple[Kind, Id]] = set()  # those whose latest page did not
        self._timer: asyncio.TimerHandle | None = None
        self.given = self.lacking = 0
        self._reached = 0.0  # what came before that and was not asked for is not waited for

    async def fetch(self, ask: Ask) -> Fetched:
        """See `Fetcher`. Errors: Interrupted."""
        request = ask.request
        keys = [key_of(request.kind, request.url)]
        if ask.expect is Expect.SHOWN:
            keys.insert(0, key_of(request.kind, request.url, is_witness=True))
        kept = self._index.take(keys[0])
        if kept is None:
            last = next(filter(None, map(self._index.last, keys)), None)
            verdict = last.exchange.told.verdict if last and last.exchange.told else None
            is_same = verdict in EMPTY or (ask.is_retry and verdict is Verdict.OK)
            kept = last if is_same or ask.expect in (Expect.CONTENT, Expect.SHOWN) else None
        sort = request.kind, not request.cursor
        if kept is None and request.cursor and self._may_be_over(ask):
            return Fetched(Reading(Verdict.END), None)  # no sample looked behind this list
        if kept is None and sort in self._walled:
            return Fetched(Reading(Verdict.LOGIN_WALL), None)
        if kept is None and request.kind is Kind.PROFILE and request.uid not in self._seeds:
            return Fetched(Reading(Verdict.EMPTY, ambiguous=True), None)
        if kept is None:
            self.lacking += 1
            if request.kind is Kind.SEARCH:  # nobody waits for a topic
                return Fetched(Reading(Verdict.SERVER_TROUBLE, why="not in the archive"), None)
            raise Interrupted("the archive holds no answer to this")
        self.given += 1
        await self._turn(kept.order)
        self.is_talking = kept.exchange.is_talking
        fetched = fetched_of(self._site, request, kept)
        self._walled.discard(sort)
        if fetched.reading.verdict is Verdict.LOGIN_WALL or fetched.is_shut:
            self._walled.add(sort)
        if isinstance(fetched.reading.record, FanPage):
            self._note_list(request, is_named=fetched.reading.record.is_next_named)
        return fetched

    def _note_list(self, request: Request, *, is_named: bool) -> None:
        """A page of a list was given, which named the next one, or did not."""
        if is_named:
            self._naming.add(request.kind)
            self._unnamed.discard((request.kind, request.uid))
        else:
            self._unnamed.add((request.kind, request.uid))

    def _may_be_over(self, ask: Ask) -> bool:
        """Whether this page is behind an end of which a harvest asks for a sample only."""
        kind, uid = ask.request.kind, ask.request.uid
        is_unnamed = kind in self._naming and (kind, uid) in self._unnamed
        return ask.expect is Expect.NOTHING or is_unnamed

    async def _turn(self, at: float) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (at, self.given, turn))
        if len(self._waiting) >= self._places:
            self._answer_one()
        self._go_on()
        await turn

    def _go_on(self) -> None:
        """Answer those whose turn it is, and wait for a moment for who is to be answered next."""
        if self._timer is not None:
            self._timer.cancel()
        while self._waiting and self._waiting[0][0] <= self._index.next_at(self._reached):
            self._answer_one()
        if self._waiting:
            self._timer = asyncio.get_running_loop().call_later(_LULL_S, self._lulled)

    def _lulled(self) -> None:
        self._answer_one()
        self._go_on()

    def _answer_one(self) -> None:
        if self._waiting:
            at, _, turn = heapq.heappop(self._waiting)
            self._reached = max(self._reached, at)
            if not turn.done():
                turn.set_result(None)
