"""What the site shows, as evidence about what it does not show.

An empty answer says something about a user only where the site talks at all. A site that has begun
to answer everybody with nothing looks, for each single list, like the end of that list. So an end
is believed when somebody was shown something that was asked for after it, and of the same kind: a
site may show profiles and no lists, or first pages and no later ones. Only where no user is known
who was shown a page of that kind does every other one count in its place.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple

from weibo_crawler.fetch import Ask, Fetched, PageSource
from weibo_crawler.records import OF_USERS, Expect, Id, Kind, Reading, Request, ShownPage, Verdict

_PATIENCE_S = 0.02  # between two pages a walk waits for a commit, and the loop starts the next walk
_QUIET = 10  # ends in a row: many lists may end together, and so may the site
_QUIET_LATER = 3  # the same for later pages as long as this run was shown none itself
_ROUNDS = 4  # of witnesses: so many looks tell the circuit breaker that the site is silent
_WITNESSES = 3  # one may be the user in question, and another one gone since


# ask again for what was shown before: whether it is shown; None: that does not tell, nor will it
Repeat = Callable[[Ask], Awaitable[bool | None]]


class Place(NamedTuple):
    """Pages of a kind: the first ones of lists and timelines, or the later ones."""

    kind: Kind
    is_later: bool = False


class _Told:
    """What the pages of a kind have told, or those of all kinds."""

    def __init__(self, *, is_later: bool = False) -> None:
        self.is_later = is_later
        self.nothings = 0  # in a row
        # nothings after which a witness is asked
        self.look_at = _QUIET_LATER if is_later else _QUIET
        self.shown_at = self.silent_at = float("-inf")  # when the request was begun
        self.witnesses: dict[Id, Ask] = {}  # by user
        self.heard: set[Id] = set()  # those of them that this run was shown

    def others(self, uid: Id) -> list[Ask]:
        """The witnesses about other users, in the order in which they are to be asked: who was not
        yet, the latest of them first. Where there are none, a later page of this user's own that
        this run was shown is one: the end behind a page that is shown no more tells nothing."""
        asks = [ask for ask in self.witnesses.values() if ask.request.uid != uid][::-1]
        is_own = self.is_later and uid in self.heard
        return asks or ([self.witnesses[uid]] if is_own else [])

    def know(self, ask: Ask, *, was_witness: bool) -> None:
        self.witnesses.pop(ask.request.uid, None)
        if was_witness:
            self.witnesses = {ask.request.uid: ask} | self.witnesses
        else:
            self.witnesses[ask.request.uid] = ask
        while len(self.witnesses) > _WITNESSES:
            del self.witnesses[next(iter(self.witnesses))]
        self.heard &= self.witnesses.keys()


class Evidence:
    """The requests under way, and the latest that brought content. Times are `time.monotonic`.

    places: for so many requests at once, as the fetcher sends, so that whoever waits for a place
    sees what those before were shown. waiting: how many callers wait for what others are shown:
    they take nobody's place.
    """

    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self._room = places
        self.waiting = 0
        self._under_way = 0
        self._news: asyncio.Event | None = None  # somebody waits for it
        self._all = _Told()
        self._kinds = {
            Place(kind, is_later): _Told(is_later=is_later)
            for kind in Kind
            for is_later in (False, True)
        }
        self._lock = asyncio.Lock()

    def widen(self, places: int) -> None:
        """Make room for so many; there are never fewer than before."""
        for _ in range(places - self._room):
            self.places.release()
        self._room = max(self._room, places)

    @contextmanager
    def asking(self) -> Iterator[float]:
        """Note that a request is under way; gives the time of its beginning."""
        self._under_way += 1
        try:
            yield time.monotonic()
        finally:
            self._under_way -= 1
            self._tell()

    def told(self, ask: Ask, begun: float, reading: Reading) -> None:
        """Note what a request brought."""
        request, is_content = ask.request, is_shown(reading)
        if reading.verdict is Verdict.GONE and request.kind not in OF_USERS:
            return  # a post may be gone, or a name
        for told in (self._all, self._kinds[place_of(request)]):
            if is_content is False:
                told.nothings += 1
            elif is_content:
                told.nothings, told.look_at = 0, _QUIET
                told.shown_at = max(told.shown_at, begun)
        if not is_content:
            return
        if request.uid and request.kind in OF_USERS:
            self.know(request, ask.nth, was_witness=ask.expect is Expect.SHOWN)
            self._kinds[place_of(request)].heard.add(request.uid)
        self._tell()

    def shown_pages(self, kind: Kind, now: float) -> list[ShownPage]:
        """The first and the later pages of this kind that this run was shown last, one each of a
        user. now: seconds since the epoch."""
        places = self._kinds[Place(kind)], self._kinds[Place(kind, True)]
        asks = [
            told.witnesses[uid] for told in places for uid in told.witnesses if uid in told.heard
        ]
        return [ShownPage(ask.request.uid, ask.request.cursor, ask.nth, now) for ask in asks]

    def _of(self, place: Place | None, uid: Id = 0) -> _Told:
        """What tells of this place: all kinds, where no other user than `uid` is known who was
        shown such a page, or for None."""
        told = self._all if place is None else self._kinds[place]
        return told if told.others(uid) else self._all

    def is_quiet(self, place: Place) -> bool:
        """Whether the latest requests all brought nothing: then an end needs a witness."""
        return self._of(place).nothings >= _QUIET

    def proof_of(self, place: Place, uid: Id, *, sure: bool) -> Place:
        """The place that must show something of others for an end at this place to be believed. Of
        later pages many are ends, so first ones are enough until the latest later ones were all
        ends, or the latest one where the end contradicts a count (not sure)."""
        is_silent = self._kinds[place].nothings >= (_QUIET if sure else 1)
        return place if is_silent and self.knows(uid, place) else Place(place.kind)

    def _doubted(self, request: Request) -> _Told | None:
        """What a witness is to be asked about: the kind, or all kinds, of which the latest ten
        answers brought nothing, or ten more each time that those who were asked did not tell."""
        for told in (self._of(place_of(request)), self._all):
            if told.nothings >= told.look_at:
                return told
        return None

    def know(self, request: Request, nth: int = 1, *, was_witness: bool = False) -> None:
        """Remember a request that is known to bring content. nth: as in Ask. A later page tells of
        later pages of its kind alone: it goes when posts above it are deleted. was_witness: it was
        asked for to know whether the site shows anything; others are asked before it is again."""
        ask = Ask(request, Expect.SHOWN, nth=nth)
        self._kinds[place_of(request)].know(ask, was_witness=was_witness)
        if not request.cursor:
            self._all.know(ask, was_witness=was_witness)

    def knows(self, uid: Id, place: Place | None = None) -> bool:
        """Whether a witness about this user is known. place: of such pages; None: of any."""
        return bool((self._all if place is None else self._kinds[place]).others(uid))

    def has_come_after(self, at: float, place: Place) -> bool:
        """Whether such content came that was asked for after `at`."""
        return self._of(place).shown_at > at

    async def came_after(self, at: float, place: Place) -> bool:
        """Whether such content came that was asked for after `at`. Waits for it, without asking for
        anything, as long as other requests are under way, or may soon be."""
        self.waiting += 1
        try:
            while not self.has_come_after(at, place):
                left_s = at + _PATIENCE_S - time.monotonic()
                if not self._under_way and left_s <= 0:
                    break
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if self._under_way else left_s):
                        self._news = self._news or asyncio.Event()
                        await self._news.wait()
        finally:
            self.waiting -= 1
        return self.has_come_after(at, place)

    async def is_given_to_others(
        self, uid: Id, at: float, ask: Repeat, place: Place | None = None
    ) -> bool:
        """Whether the site shows others than `uid` such a page (None: any page) after `at`;
        repeats requests that brought content before, each in turn, until one does so again, once
        for all who want to know. False also where there is none."""
        async with self._lock:
            told = self._of(place, uid)
            if told.shown_at <= at and told.silent_at <= at:
                begun = time.monotonic()
                if not await self._is_given(told, uid, ask):
                    told.silent_at = begun
            return told.shown_at > at

    async def is_gone(self, uid: Id, ask: Repeat, kind: Kind) -> bool | None:
        """Whether the site, which has said that this user is gone, shows something of this kind of
        others after that: it may say so of everybody. None: nobody is known to ask for."""
        now, place = time.monotonic(), Place(kind)
        if await self.came_after(now, place) or await self.is_given_to_others(uid, now, ask, place):
            return True
        return False if self.knows(uid) else None

    async def is_refused_alone(self, uid: Id, at: float, ask: Repeat, kind: Kind) -> bool:
        """Whether this user's page is refused, and first pages of others are shown that were asked
        for after `at`. Who was shown one before and is refused tells that they are not."""

        async def is_shown(witness: Ask) -> bool:
            return bool(await ask(witness))

        place = Place(kind)
        has_come = await self.came_after(at, place)
        if not self.knows(uid, place):
            return False
        return has_come or await self.is_given_to_others(uid, at, is_shown, place)

    async def fetch(self, source: PageSource, ask: Ask, repeat: Repeat) -> Fetched:
        """Fetch a page, and note what it brought. While the latest answers brought nothing, none is
        looked at again before a witness was asked."""
        request = ask.request
        others_than = request.uid if request.kind in OF_USERS else 0
        with self.asking() as begun:

            async def hold(reading: Reading) -> None:
                self.told(ask, begun, reading)
                await self.break_silence(request, repeat)

            if ask.expect is not Expect.SHOWN:  # that is a witness
                ask = ask._replace(
                    hold=hold,
                    is_shown=partial(self._may_be_shown, request),
                    witness=partial(self.is_given_to_others, others_than, ask=repeat),
                )
            fetched = await source.fetch(ask)
        self.told(ask, begun, fetched.reading)
        return fetched

    def _may_be_shown(self, request: Request) -> bool:
        """Whether others may be shown such pages, as far as the latest answers tell: some were, or
        nobody is known yet who was, and other pages are shown. Where twenty in a row were not, a
        silence is as likely: all that are under way would look once more."""
        place = place_of(request)
        return not self.is_quiet(place) and self._kinds[place].nothings < 2 * _QUIET

    async def break_silence(self, request: Request, ask: Repeat) -> None:
        """Before this request, where it is time to ask a witness, repeat others, one caller after
        the other, until something is shown, the circuit breaker ends the run, or there is nothing
        left to try."""
        if self._doubted(request) is None:
            return
        async with self._lock:
            for _ in range(_ROUNDS):
                told = self._doubted(request)
                if told is None or await self._is_given(told, request.uid, ask):
                    return
            for told in (self._of(place_of(request)), self._all):
                told.look_at = told.nothings + _QUIET

    async def _is_given(self, told: _Told, uid: Id, ask: Repeat) -> bool:
        for witness in told.others(uid):
            is_shown = await ask(witness)
            if is_shown:
                return True
            if is_shown is None:
                for each in (self._all, self._kinds[place_of(witness.request)]):
                    each.witnesses.pop(witness.request.uid, None)
        return False

    def _tell(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None


def place_of(request: Request) -> Place:
    """Where a page stands."""
    return Place(request.kind, bool(request.cursor))


def is_shown(reading: Reading) -> bool | None:
    """What an answer tells of whether the site shows anything of the user; None: it does not
    tell."""
    if reading.verdict not in (Verdict.OK, Verdict.EMPTY, Verdict.END, Verdict.GONE):
        return None
    return reading.verdict is Verdict.OK and not reading.ambiguous
