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

MISSED = "posts.missed"  # the kind in `Samples`; a find: the page that lacks them was false


class Word(Enum):
    """What the site says of posts that a page lacks.

    shown    it shows one of them: the page is false
    hidden   it says that there is no such post, or that it is shown to others: the page is true
    spared   nobody was asked, as such pages have been true of late
    untold   no way to the post tells
    """

    SHOWN = "shown"
    HIDDEN = "hidden"
    SPARED = "spared"
    UNTOLD = "untold"


class Missed:
    """Asks for the posts that pages of one user lack, each once a visit. Of several the newest is
    asked for, since an old page lacks the newest: what is said of it goes for all of them."""

    def __init__(self, site: Site, asker: Asker, uid: Id) -> None:
        self._site, self._asker, self._uid = site, asker, uid
        self._words: dict[Id, Word] = {}

    def is_told(self, mids: Collection[Id]) -> bool:
        """Whether this visit has asked for the newest of them."""
        return newest(mids) in self._words

    async def word(self, mids: Collection[Id]) -> Word:
        """What the site says of some posts, at least one."""
        mid = newest(mids)
        if mid not in self._words:
            self._words[mid] = await self._ask(mid)
        return self._words[mid]

    async def _ask(self, mid: Id) -> Word:
        # where a way shows nothing, the next one is the witness
        asks = [Ask(way, Expect.LIKELY) for way in self._ways(mid)]
        asks = [ask for ask in asks if self._asker.may_ask(ask)]
        if not (
            self._asker.wants(MISSED, asks[0].request) if asks else self._asker.wants_look(MISSED)
        ):
            return Word.SPARED
        for ask in asks:
            word = _word_of((await self._asker.fetch(ask)).reading)
            if word is not Word.UNTOLD:
                self._asker.looked(MISSED, found=word is Word.SHOWN)
                return word
        return Word.UNTOLD

    def _ways(self, mid: Id) -> list[Request]:
        if Kind.SHOW not in self._site.kinds:
            return []
        ways = (replace(way, uid=self._uid) for way in self._site.post(mid))
        return self._asker.by_lead(tuple(ways))


def newest(mids: Collection[Id]) -> Id:
    """Of some posts; of texts, which tell no order, any one, but always the same."""
    return max(mids, key=lambda mid: (isinstance(mid, int), mid))


def _word_of(reading: Reading) -> Word:
    if reading.verdict is Verdict.OK:
        is_of = isinstance(reading.record, FullText) and reading.record.is_named
        return Word.SHOWN if is_of else Word.UNTOLD
    if reading.verdict is Verdict.RESTRICTED and reading.is_cut:  # its text alone is
        return Word.SHOWN
    is_hidden = reading.verdict in (Verdict.GONE, Verdict.RESTRICTED)
    return Word.HIDDEN if is_hidden else Word.UNTOLD
