"""Which page to believe: one that contradicts what the site says of a post is an old one."""

from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.asking import Asker
from weibo_crawler.posts.missed import BACK, MISSED, Missed, Word, newest, telling
from weibo_crawler.posts.sightings import Sightings
from weibo_crawler.records import Id, PostPage, Verdict


class _Charge(NamedTuple):
    """What speaks against a page: the posts that it lacks and the word of the site about them, and
    those on it that are gone."""

    word: Word
    lost: set[Id]
    dead: set[Id]


class Belief:
    """Judges the pages of one visit before they are stored. fetch: asks for a page.

    A page is false that lacks a stored post which the site shows, or shows one that is gone and
    stays gone, as the site says. It is asked for by another egress, which disproves the first one
    where it shows what that lacks, or lacks what that shows.
    """

    def __init__(
        self,
        asker: Asker,
        missed: Missed,
        sightings: Sightings,
        fetch: Callable[[Ask], Awaitable[Fetched]],
    ) -> None:
        self._asker, self._missed = asker, missed
        self._sightings, self._fetch = sightings, fetch
        self._dead: set[Id] = set()  # those that old pages show

    async def page(self, ask: Ask, fetched: Fetched, pinned: Collection[Id]) -> Fetched:
        """The page, or what another egress shows in its place, without posts that are gone. What
        it lacks, and is not known to be gone, stands in `Sightings.doubted`. pinned: as in
        `Sightings.lost`."""
        lost, dead = self._lost(ask, fetched, pinned), await self._buried(fetched)
        if dead:
            word, self._sightings.doubted = Word.SHOWN, self._sightings.doubted | lost
        elif not lost or self._missed.is_told(telling(lost, _mids(fetched))):
            return self._alive(fetched)
        else:
            word = await self._word(lost, _mids(fetched))
        if word is Word.UNTOLD and ask.request.cursor:  # page 1 alone needs two
            self._asker.looked(MISSED, found=False)
            return self._alive(fetched)
        if word in (Word.SHOWN, Word.UNTOLD) and self._asker.may_look_again(ask.request):
            fetched = await self._better(ask, fetched, _Charge(word, lost, dead), pinned)
        return self._alive(fetched)

    async def _better(
        self, ask: Ask, first: Fetched, charge: _Charge, pinned: Collection[Id]
    ) -> Fetched:
        """This page, or the same one by another egress: the newer of the two."""
        word, lost, dead = charge
        second = await self._fetch(ask._replace(avoid=_egress(first)))
        shown, still = _mids(second), self._lost(ask, second, pinned)
        if not shown:
            self._sightings.doubted |= lost
            return first
        if word is Word.UNTOLD:  # nobody knows which of them is true where they differ
            self._sightings.doubted |= lost ^ still
            self._asker.looked(MISSED, found=lost != still)
        else:
            if not dead & shown if dead else self._missed.shown & lost & shown:
                self._asker.disprove(_egress(first))
            if still:
                await self._word(still, shown)
        is_newer = newest(shown | _mids(first)) in shown
        return second if is_newer or dead - shown else first

    async def is_gone(self, lost: Collection[Id]) -> bool:
        """Whether the site does not deny that these posts have disappeared."""
        seen = self._sightings.seen
        is_told = self._missed.is_told(telling(lost, seen))
        word = await self._word(lost, seen)
        if word is Word.UNTOLD and not is_told:
            self._asker.looked(MISSED, found=False)
        return word is not Word.SHOWN

    def _lost(self, ask: Ask, fetched: Fetched, pinned: Collection[Id]) -> set[Id]:
        """Stored posts that should stand on this page, that do not, and of which nobody knew that
        they are gone."""
        page = fetched.reading.record
        if fetched.reading.verdict is not Verdict.OK or not isinstance(page, PostPage):
            return set()
        lost = self._sightings.lost(page, pinned, is_first=not ask.request.cursor)
        return (lost & self._sightings.known) - self._sightings.gone

    async def _word(self, lost: Collection[Id], shown: Collection[Id]) -> Word:
        """What the site says of posts that are missing beside those that are shown: they are in
        doubt where it shows one."""
        word = await self._missed.word(telling(lost, shown))
        if word is Word.SHOWN:
            self._sightings.doubted |= set(lost)
        else:
            self._sightings.doubted -= set(lost)
        return word

    async def _buried(self, fetched: Fetched) -> set[Id]:
        """The posts on a page that earlier visits took for gone, where the site says of the newest
        of them that it is still; none where this visit has asked before."""
        back = (_mids(fetched) & self._sightings.gone) - self._dead
        if not back or not await self._missed.is_gone(newest(back), BACK):
            return set()
        self._dead |= back
        return back

    def _alive(self, fetched: Fetched) -> Fetched:
        """The page without the posts that are gone, which tell that it is an old one."""
        page, dead = fetched.reading.record, self._dead & _mids(fetched)
        if not isinstance(page, PostPage) or not dead:
            return fetched
        self._sightings.doubted |= dead
        posts = tuple(post for post in page.posts if post.mid not in self._dead)
        return fetched._replace(reading=replace(fetched.reading, record=replace(page, posts=posts)))


def _mids(fetched: Fetched) -> set[Id]:
    """The posts of a page, none where it is not shown."""
    record = fetched.reading.record if fetched.reading.verdict is Verdict.OK else None
    return {post.mid for post in record.posts} if isinstance(record, PostPage) else set()


def _egress(fetched: Fetched) -> str:
    return "" if fetched.page is None else fetched.page.egress
