"""Entries that are claimed and not begun yet."""

import heapq
import time
from typing import NamedTuple

from weibo_crawler.config import Harvest
from weibo_crawler.harvest.committer import Committer
from weibo_crawler.records import Edge
from weibo_crawler.store import Entry, Frontier


class Claim(NamedTuple):
    """more: the edges beside harvest.edges that the claim knew of, None: of no others."""

    depth: int
    order: int
    entry: Entry
    more: tuple[Edge, ...] | None


class Claims:
    """A heap by depth. more: what the next claims know of (see Claim); a claim writes a row for
    each edge, so the edges for walled lists are left out as long as no list is walled."""

    def __init__(
        self, committer: Committer, frontier: Frontier, owner: str, settings: Harvest, n: int
    ) -> None:
        self._committer, self._frontier, self._owner = committer, frontier, owner
        self._settings, self._n = settings, n
        self._heap: list[Claim] = []
        self._order = 0
        self.more: tuple[Edge, ...] | None = None

    def __len__(self) -> int:
        return len(self._heap)

    def pop(self, deepest: int) -> Claim | None:
        """The first of the smallest depth, None where there is none of at most `deepest`."""
        if not self._heap or self._heap[0].depth > deepest:
            return None
        return heapq.heappop(self._heap)

    async def fill(self, level: int, deepest: int) -> None:
        """Keep claimed entries at hand. Those of the open level are claimed however many deeper
        ones are held already: they may come back from a rest, and all deeper ones wait for them."""
        at_level = sum(1 for claim in self._heap if claim.depth <= level)
        if len(self._heap) < self._n:
            await self._claim(deepest)
        elif at_level < self._n:
            await self._claim(level)

    async def _claim(self, deepest: int) -> None:
        more = self.more
        for entry in await self._committer.ask(
            self._frontier.claim,
            *(self._owner, self._n),
            edges=(*self._settings.edges, *(more or ())),
            deepest=deepest,
            now=time.time(),
            lease_s=self._settings.lease_s,
        ):
            self._order += 1
            heapq.heappush(self._heap, Claim(entry.depth, self._order, entry, more))
