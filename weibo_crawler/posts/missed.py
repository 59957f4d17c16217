"""Stored posts that a page should show and does not: what the site says of them by their own
addresses.

A proxy, or a cache of the site, may bring a page of a minute ago, which looks well and lacks what
was posted since. So a list alone says of nobody that it is gone.
"""

from collections.abc import Collection, Sequence
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
_AT_MOST = 5  # words about one page: more posts than that are deleted together, not between pages


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
    """Asks for posts that pages of one user lack, each once a visit."""

    def __init__(self, site: Site, asker: Asker, uid: Id) -> None:
        self._site, self._asker, self._uid = site, asker, uid
        self._words: dict[Id, Word] = {}

    @property
    def shown(self) -> set[Id]:
        """The posts of which the site has shown this visit that they are there."""
        return {mid for mid, word in self._words.items() if word is Word.SHOWN}

    def is_told(self, mids: Sequence[Id]) -> bool:
        """Whether this visit has asked for all of them, or was shown one."""
        return bool(self.shown.intersection(mids)) or self._words.keys() >= set(mids)

    async def word(self, mids: Sequence[Id]) -> Word:
        """What the site says of some posts, at least one, which are asked for in this order as long
        as it shows none of them. Of what is untold the caller tells `Samples`."""
        word, has_asked = Word.SPARED, False
        for nth, mid in enumerate(mids):
            if mid not in self._words:
                self._words[mid] = await self._ask(mid, MISSED, is_first=not nth)
                has_asked |= self._words[mid] is not Word.SPARED
            if self._words[mid] is Word.SPARED:
                break
            word = self._words[mid]
            if word not in (Word.GONE, Word.CLOSED):
                break
        if has_asked and word is not Word.UNTOLD:
            self._asker.looked(MISSED, found=word is Word.SHOWN)
        return word

    async def is_gone(self, mid: Id, kind: str) -> bool:
        """Whether the site says that there is no such post; False also where it was not asked.
        kind: FALLEN, or BACK of a post that a page shows, and that was gone."""
        if mid not in self._words:
            word = self._words[mid] = await self._ask(mid, kind)
            if word is not Word.SPARED:
                self._asker.looked(kind, found=word is Word.GONE)
        return self._words[mid] is Word.GONE

    async def _ask(self, mid: Id, kind: str, *, is_first: bool = True) -> Word:
        # where a way shows nothing, the next one is the witness
        asks = [Ask(way, Expect.LIKELY) for way in self._ways(mid)]
        asks = [ask for ask in asks if self._asker.may_ask(ask)]
        if not self._wants(kind, asks[0].request if asks else None, is_first=is_first):
            return Word.SPARED
        for ask in asks:
            word = _word_of((await self._asker.fetch(ask)).reading)
            if word is not Word.UNTOLD:
                return word
        return Word.UNTOLD

    def _wants(self, kind: str, way: Request | None, *, is_first: bool) -> bool:
        """The first word about a page is in the sample or not, and the others with it."""
        if not is_first:
            return way is None or self._asker.may_look_again(way)
        return self._asker.wants_look(kind) if way is None else self._asker.wants(kind, way)

    def _ways(self, mid: Id) -> list[Request]:
        if Kind.SHOW not in self._site.kinds:
            return []
        ways = (replace(way, uid=self._uid) for way in self._site.post(mid))
        return self._asker.by_lead(tuple(ways))


def telling(lost: Collection[Id], shown: Collection[Id]) -> list[Id]:
    """Of the posts that a page lacks those whose words tell whether they all are gone, the newest
    first. shown: the posts of the page.

    A page that shows a younger post than another is younger than that, so it lacks it rightly: one
    word is asked for only where all are such. Each that is younger than the whole page may be
    missing because the page is old, whatever became of the others; of many five are asked for, from
    the newest to the oldest.
    """
    top = max((mid for mid in shown if isinstance(mid, int)), default=None)
    above = [mid for mid in lost if isinstance(mid, int) and top is not None and mid > top]
    above.sort(reverse=True)
    if not above:
        return [newest(lost)]
    last, words = len(above) - 1, min(len(above), _AT_MOST)
    return [above[nth * last // max(1, words - 1)] for nth in range(words)]


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
