"""Who is a fan of whom, by index: a large part that can be reached, and islands that cannot.

Users are the indices 0 … size-1. The large part is a chain of communities; the first few users
are its hubs. Fans of a user come from its own community, the next one, and from anywhere in the
near communities; so the far end of the chain lies many steps from the hubs. Every user of the
large part is a fan of a popular user of a smaller index, which makes it reachable. Nobody on an
island is a fan of anybody elsewhere.
"""

from array import array
from bisect import bisect_right
from itertools import pairwise
from random import Random
from typing import NamedTuple

from weibo_crawler.simulator.dice import Topic, dice

POPULAR = 10  # fans of an account that leads to others; the harvest's default min_fans
HUB_SHARES = (0.6, 0.35, 0.2)  # of the near communities
MOST_FANS = 6_000  # a list shows 5,000 (weibo_api.md), so large worlds hold lists that are cut
_FEW_FANS = 1 / 3  # share of accounts below POPULAR
_TAIL = 1.2  # Pareto exponent of the others
_LOCAL = 0.8  # share of fans from the own and the next community
_FULLEST = 0.6  # of those who could be a fan, so that drawing distinct ones stays quick
_COMMUNITIES = 20
_NEAR = 0.7
_ISLAND = 30
_ISLANDS = 0.08  # share of users on islands


class _Block(NamedTuple):
    """A community: its indices, where its fans come from, and the leader of the one before."""

    start: int
    stop: int
    local: range
    wide: range
    before: int | None


class Graph:
    """The fan lists of `size` users, each made when it is first asked for."""

    def __init__(self, seed: int, size: int) -> None:
        self._seed = seed
        self.size = size
        islands = int(size * _ISLANDS) if size >= 4 * _ISLAND else 0
        self.main = size - islands  # users below this index can be reached
        self._blocks = _large_part(self.main) + _islands(self.main, size)
        self._starts = [block.start for block in self._blocks]
        rng = dice(seed, Topic.GRAPH)
        self._degrees = array("I", self._draw_degrees(rng))
        self._children: dict[int, list[int]] = {}
        self._draw_parents(rng)
        self._fans: dict[int, array[int]] = {}
        self._follows: list[array[int]] = []

    @property
    def hubs(self) -> tuple[int, ...]:
        """Indices of the accounts that everything of the large part is reached from."""
        return tuple(range(min(len(HUB_SHARES), self._blocks[0].stop)))

    def degree(self, index: int) -> int:
        """How many fans a user has: the length of `fans(index)`, without making it."""
        return self._degrees[index]

    def fans(self, index: int) -> "array[int]":
        """The fans of a user, newest first; no repeats, never the user itself."""
        known = self._fans.get(index)
        if known is None:
            known = self._fans[index] = array("I", self._draw_fans(index))
        return known

    def follows(self, index: int) -> "array[int]":
        """Whom a user is a fan of. The first call makes all fan lists."""
        if not self._follows:
            follows: list[list[int]] = [[] for _ in range(self.size)]
            for owner in range(self.size):
                for fan in self.fans(owner):
                    follows[fan].append(owner)
            self._follows = [array("I", one) for one in follows]
        return self._follows[index]

    def near(self, index: int) -> tuple[range, range]:
        """Where most fans of a user come from, its own and the next community; and all."""
        block = self._block(index)
        return block.local, block.wide

    def _block(self, index: int) -> _Block:
        return self._blocks[bisect_right(self._starts, index) - 1]

    def _draw_degrees(self, rng: Random) -> list[int]:
        degrees = []
        for index in range(self.size):
            block = self._block(index)
            degree = rng.randrange(POPULAR)
            if rng.random() >= _FEW_FANS:
                degree = int(POPULAR * rng.paretovariate(_TAIL))
            if index == block.start:
                degree = max(degree, POPULAR + 2, (block.stop - block.start) // 3)
            if index in self.hubs:
                degree = int(len(block.wide) * HUB_SHARES[index])
            degrees.append(min(degree, int(_FULLEST * len(block.wide)), MOST_FANS))
        return degrees

    def _draw_parents(self, rng: Random) -> None:
        """Give every user of a chain somebody popular before it, whose fan it surely is."""
        for block in self._blocks:
            popular = [block.start]
            if block.before is not None:
                self._adopt(block.before, block.start)
            for index in range(block.start + 1, block.stop):
                self._adopt(rng.choice(popular), index)
                if self._degrees[index] >= POPULAR:
                    popular.append(index)

    def _adopt(self, parent: int, child: int) -> None:
        children = self._children.setdefault(parent, [])
        children.append(child)
        self._degrees[parent] = max(self._degrees[parent], len(children))

    def _draw_fans(self, index: int) -> list[int]:
        rng = dice(self._seed, Topic.FANS, index)
        block, degree = self._block(index), self._degrees[index]
        chosen = set(self._children.get(index, ()))
        local = min(round(_LOCAL * degree), len(block.local) // 2)
        for pool, wanted in ((block.local, local), (block.wide, degree)):
            while len(chosen) < wanted:
                chosen.update(rng.sample(pool, min(wanted - len(chosen), len(pool))))
                chosen.discard(index)
        fans = sorted(chosen)  # the order of a set is no part of the world
        rng.shuffle(fans)
        return fans


def _large_part(main: int) -> list[_Block]:
    count = max(1, min(_COMMUNITIES, main // 25))
    edges = [main * k // count for k in range(count + 1)]
    near = range(edges[max(1, round(count * _NEAR))])
    blocks = []
    for k, (start, stop) in enumerate(pairwise(edges)):
        local = range(start, edges[min(k + 2, count)])
        blocks.append(_Block(start, stop, local, near, edges[k - 1] if k else None))
    return blocks


def _islands(main: int, size: int) -> list[_Block]:
    count = (size - main) // _ISLAND
    edges = [main + (size - main) * k // count for k in range(count + 1)] if count else []
    return [
        _Block(start, stop, range(start, stop), range(start, stop), None)
        for start, stop in pairwise(edges)
    ]
