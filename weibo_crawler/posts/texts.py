"""The whole texts of long posts, by the ways that the site offers."""

import asyncio
from collections.abc import Awaitable, Callable

from weibo_crawler.fetch import Fetched, Fetcher
from weibo_crawler.records import FullText, Verdict
from weibo_crawler.sites import Site

ASK_AGAIN_S = 1.0  # before a cut text, or an end that contradicts the announced count, is believed


class Texts:
    """Asks for the whole texts of one user's posts. completed: how many were got."""

    def __init__(
        self,
        site: Site,
        fetcher: Fetcher,
        keep_drifted: Callable[[Fetched], Awaitable[None]],
        uid: int,
    ) -> None:
        self._site, self._fetcher, self._keep_drifted = site, fetcher, keep_drifted
        self._uid = uid
        self.completed = 0

    async def whole(self, mid: int) -> str | None:
        """The whole text by the first way that has it; all of them are tried once more."""
        for is_last in (False, True):
            for request in self._site.full_text(self._uid, mid):
                fetched = await self._fetcher.fetch(request)
                if isinstance(fetched.reading.record, FullText):
                    self.completed += 1
                    return fetched.reading.record.text
                if fetched.reading.verdict == Verdict.DRIFTED:
                    await self._keep_drifted(fetched)
            if not is_last:
                await asyncio.sleep(ASK_AGAIN_S)
        return None
