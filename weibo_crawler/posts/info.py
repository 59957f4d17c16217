"""The page of basic information of a user: one request in posts.info_days, where that is not 0."""

from collections.abc import Callable

from weibo_crawler.fetch import Ask
from weibo_crawler.metrics import Counters
from weibo_crawler.posts.asking import Asker
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import BasicInfo, Id
from weibo_crawler.sites import Site
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import info_cells
from weibo_crawler.store.rows.keys import user_key

_END = "info.end"  # the kind of empty pages in `Samples`


class Info:
    """Reads it for all visits of a mapper. rest_s: how long it is not asked for again; counter:
    info.pages, those that were read.

    Whatever comes of the request is no matter of the visit, and says nothing of the site: guests
    may be shown no such page, or nothing on it. It counts as asked whatever came, so that it costs
    a user one request in that time; where all others are refused it, or it is of a shape that
    nobody knows, it is not asked for (`Asker.may_ask`).
    """

    def __init__(
        self,
        site: Site,
        asker: Asker,
        writer: Writer,
        counters: Counters,
        clock: Callable[[], float],
        *,
        rest_s: float,
    ) -> None:
        self._site, self._asker, self._writer = site, asker, writer
        self._counters, self._clock, self._rest_s = counters, clock, rest_s

    async def read(self, uid: Id, asked_at: float | None) -> float | None:
        """Ask, where it is time, and put what is shown; returns when it was asked for last. Raises
        StoreError."""
        # is_retry: no answer is evidence of the site
        now, ask = self._clock(), Ask(self._site.info(uid), is_retry=True, end=_END)
        is_time = asked_at is None or now - asked_at >= self._rest_s
        if not is_time or not self._asker.may_ask(ask):
            return asked_at
        fetched = await self._asker.fetch(ask)
        page, info = fetched.page, fetched.reading.record
        if page is None:
            return asked_at
        if isinstance(info, BasicInfo):
            cells = info_cells(info, page.fetched_at)
            await self._writer.put([], [Put.at(user_key(uid), cells, page.fetched_at)])
            self._counters.add("info.pages")
        return now
