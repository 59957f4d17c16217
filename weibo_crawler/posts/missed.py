"""Stored posts that a page should show and does not: what the site says of one by its own address.

A proxy, or a cache of the site, may bring a page of a minute ago, which looks well and lacks what
was posted since. So a list alone says of nobody that it is gone.
"""

from collections.abc import Collection
from enum import Enum

from msgspec.structs import replace

from weibo_crawler.fetch import Ask
from weibo_crawler.posts.asking import Asker
from weibo_crawler.records import Expect, FullText, Id, Kind, Reading, Request, Verdict
from weibo_crawler.sites import Site

# kinds in `Samples`
MISSED = "posts.missed"  # a find: the page that lacks them was false
FALLEN = "posts.fallen"  # a find: one is gone, and no page could tell
BACK = "posts.back"  # a find: it is gone still, so the page that shows it is an old one


class Word(Enum):
    """What the site says of posts that a page lacks.

    shown    it shows one of them: the page is false
    gone     it says that there is no such post: the page is true
    closed   it says that the post is shown to others: the page is true
    spared   nobody was asked, as such pages have been true of late
    untold   no way to the post tells
    """

    SHOWN = "shown"
    GONE = "gone"
    CLOSED = "closed"
    SPARED = "spared"
    UNTOLD = "untold"


class Missed:
    """Asks for the posts that pages of one user lack, each once a visit."""

    def __init__(self, site: Site, asker: Asker, uid: Id) -> None:
        self._site, self._asker, self._uid = site, asker, uid
        self._words: dict[Id, Word] = {}

    def is_told(self, mids: Collection[Id]) -> bool:
        """Whether this visit has asked for the newest of them."""
        return newest(mids) in self._words

    async def word(self, mids: Collection[Id]) -> Word:
        """What the site says of the newest of some posts, at least one: an old page lacks the
        newest, so this goes for all of them. Of what is untold the caller tells `Samples`."""
        mid = newest(mids)
        if mid not in self._words:
            word = self._words[mid] = await self._ask(mid, MISSED)
            if word not in (Word.SPARED, Word.UNTOLD):
                self._asker.looked(MISSED, found=word is Word.SHOWN)
        return self._words[mid]

    async def is_gone(self, mid: Id) -> bool:
        """Whether the site says that there is no such post; False also where it was not asked."""
        return await self._is_gone(mid, FALLEN)

    async def is_still_gone(self, mid: Id) -> bool:
        """The same of a post that a page shows, and that was gone."""
        return await self._is_gone(mid, BACK)

    async def _is_gone(self, mid: Id, kind: str) -> bool:
        if mid not in self._words:
            word = self._words[mid] = await self._ask(mid, kind)
            if word is not Word.SPARED:
                self._asker.looked(kind, found=word is Word.GONE)
        return self._words[mid] is Word.GONE

    async def _ask(self, mid: Id, kind: str) -> Word:
        # where a way shows nothing, the next one is the witness
        asks = [Ask(way, Expect.LIKELY) for way in self._ways(mid)]
        asks = [ask for ask in asks if self._asker.may_ask(ask)]
        first = asks[0].request if asks else None
        wants, look = self._asker.wants, self._asker.wants_look
        if not (look(kind) if first is None else wants(kind, first)):
            return Word.SPARED
        for ask in asks:
            word = _word_of((await self._asker.fetch(ask)).reading)
            if word is not Word.UNTOLD:
                return word
        return Word.UNTOLD

    def _ways(self, mid: Id) -> list[Request]:
        if Kind.SHOW not in self._site.kinds:
            return []
        ways = (replace(way, uid=self._uid) for way in self._site.post(mid))
        return self._asker.by_lead(tuple(ways))


def newest(mids: Collection[Id]) -> Id:
    """Of some posts; of texts, which tell no order, any one, but always the same."""
    return max(mids, key=by_age)


def by_age(mid: Id) -> tuple[bool, Id]:
    """For sorting, the oldest first."""
    return isinstance(mid, int), mid


def _word_of(reading: Reading) -> Word:
    is_of = isinstance(reading.record, FullText) and reading.record.is_named
    if is_of or reading.is_cut:  # its text alone is cut
        return Word.SHOWN
    words = {Verdict.GONE: Word.GONE, Verdict.RESTRICTED: Word.CLOSED}
    return words.get(reading.verdict, Word.UNTOLD)
