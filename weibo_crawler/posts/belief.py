"""Whether a page of a timeline is believed that lacks stored posts: it may be an old one."""

from msgspec.structs import replace

from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.missed import MISSED, Missed, Word, newest
from weibo_crawler.posts.under_way import UnderWay, page_of
from weibo_crawler.records import Id, PostPage, Verdict
from weibo_crawler.store.rows.cells import Ledger


class Belief:
    """What the pages of one visit lack is gone by a word of the site about a post, or in doubt."""

    def __init__(self, visit: UnderWay) -> None:
        self._visit, self._asker, self._sightings = visit, visit.env.asker, visit.sightings
        self._missed = Missed(visit.env.site, visit.env.asker, visit.uid)

    async def believed(self, ask: Ask, fetched: Fetched) -> Fetched:
        """A page, or what another egress shows in its place, where it lacks stored posts that the
        site shows, or where no word tells whether it does. What the one that is returned lacks, and
        what is not to be believed of it, stands in `Sightings.doubted`."""
        lost = self._lost(ask, fetched)
        if not lost or self._missed.is_told(lost):
            return fetched
        word = await self._word(lost)
        if word is Word.UNTOLD and ask.request.cursor:
            self._asker.looked(MISSED, found=False)
            return fetched
        if word in (Word.HIDDEN, Word.SPARED) or not self._asker.may_look_again(ask.request):
            return fetched
        second = await self._visit.fetch(ask._replace(avoid=page_of(fetched).egress))
        shown, still = mids_of(second), self._lost(ask, second)
        if not shown:
            self._sightings.doubted |= lost
            return fetched
        if word is Word.UNTOLD:  # nobody knows which of them is true where they differ
            self._sightings.doubted |= lost ^ still
            self._asker.looked(MISSED, found=lost != still)
        else:
            if newest(lost) in shown:
                self._asker.disprove(page_of(fetched).egress)
            if still:
                await self._word(still)
        return second if newest(shown | mids_of(fetched)) in shown else fetched

    def _lost(self, ask: Ask, fetched: Fetched) -> set[Id]:
        """Stored posts that should stand on this page, that do not, and of which no earlier visit
        knew that they are gone."""
        page = fetched.reading.record
        if fetched.reading.verdict is not Verdict.OK or not isinstance(page, PostPage):
            return set()
        lost = self._visit.pages.lost(page, replace(self._visit.ledger, cursor=ask.request.cursor))
        return (lost & self._sightings.known) - self._sightings.gone

    async def _word(self, lost: set[Id]) -> Word:
        """What the site says of posts that are missing: they are in doubt where it shows one."""
        word = await self._missed.word(lost)
        if word is Word.SHOWN:
            self._sightings.doubted |= lost
        else:
            self._sightings.doubted -= lost
        return word

    async def vanish(self, shown_at: float) -> None:
        """After a whole timeline: what would stand below its last page has disappeared."""
        lost = self._visit.pages.lost_below(self._visit.ledger, _hidden(self._visit.old))
        if not lost:
            return
        is_told = self._missed.is_told(lost)
        word = await self._word(lost)
        if word is Word.UNTOLD and not is_told:
            self._asker.looked(MISSED, found=False)
        if word is not Word.SHOWN:
            await self._visit.pages.vanish(lost, shown_at)


def mids_of(fetched: Fetched) -> set[Id]:
    """The posts of a page, none where it is not shown."""
    record = fetched.reading.record if fetched.reading.verdict is Verdict.OK else None
    return {post.mid for post in record.posts} if isinstance(record, PostPage) else set()


def _hidden(old: Ledger) -> int:
    """How many of the announced posts a whole visit was not shown."""
    standing = old.stored - len(old.gone) + old.unread
    return max(0, (old.announced or 0) - standing) if old.whole else 0
