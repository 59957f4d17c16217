"""Entries that are claimed and not begun yet."""

import heapq
import time

from weibo_crawler.config import Harvest
from weibo_crawler.harvest.committer import Committer
from weibo_crawler.store import Entry
from weibo_crawler.store.sql.walk import Frontier


class Claims:
    """A heap by depth. Each entry comes with all its lists, those for walled ones included: a list
    that nobody began has no row, so a claim writes nothing for it."""

    def __init__(
        self, committer: Committer, frontier: Frontier, owner: str, settings: Harvest
    ) -> None:
        self._committer, self._frontier, self._owner = committer, frontier, owner
        self._settings = settings
        self._heap: list[tuple[int, int, Entry]] = []
        self._order = 0

    def __len__(self) -> int:
        return len(self._heap)

    def pop(self) -> Entry | None:
        """The first of the smallest depth, None where there is none. However deep it is: the level
        may be one that an entry holds open which has become a seed since it was claimed."""
        return heapq.heappop(self._heap)[-1] if self._heap else None

    async def fill(self, n: int, level: int, deepest: int, *, with_aside: bool) -> None:
        """Keep n claimed entries at hand. Those of the open level are claimed however many deeper
        ones are held already: they may come back from a rest, and all deeper ones wait for them.
        with_aside: also what is set aside, after all others."""
        at_level = sum(1 for depth, _, _ in self._heap if depth <= level)
        if len(self._heap) < n:
            await self._claim(n, deepest, with_aside=with_aside)
        elif at_level < n:
            await self._claim(n, level, with_aside=with_aside)

    async def _claim(self, n: int, deepest: int, *, with_aside: bool) -> None:
        for entry in await self._committer.ask(
            self._frontier.claim,
            *(self._owner, n),
            edges=self._settings.all_edges,
            deepest=deepest,
            now=time.time(),
            lease_s=self._settings.lease_s,
            with_aside=with_aside,
        ):
            self._order += 1
            heapq.heappush(self._heap, (entry.depth, self._order, entry))
