"""Who meets whom in posts: who comments or reposts, whose posts are passed on, who is named. Pure.

near   people meet those near them: fans comment and repost, the active ones most; passed on and
       named are mostly accounts of the own community, the popular ones most; islands keep to
       themselves
even   everybody meets everybody alike, islands too: a walk over posts then finds users more easily
       than it would on any real site
"""

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from weibo_crawler.simulator.dice import Topic, dice, scatter
from weibo_crawler.simulator.graph import Graph

COMPANIES = ("near", "even")
_LOCAL = 0.8  # of the accounts that are passed on or named are of the own or the next community
_BY_FANS = 0.7  # of the comments and reposts
_CHOSEN_OF = 4  # drawn at once; the most popular, or the most active, one meets
_TRIES = 4  # draws for each of them that is wanted, before it is anybody near


class Company:
    """Users are handled by index."""

    def __init__(self, seed: int, graph: Graph, kind: str) -> None:
        self._seed, self._graph = seed, graph
        self._is_even = kind == "even"
        # a list is asked for page by page
        self.around = lru_cache(maxsize=1 << 12)(self._around)

    def _around(self, writer: int, mid: int, count: int, topic: Topic) -> Sequence[int]:
        """`around`: who commented on a post or reposted it, in the site's order: `count` at most,
        each once."""
        rng, size = dice(self._seed, topic, mid), self._graph.size
        if self._is_even:
            return tuple(rng.sample(range(size), min(count, size)))
        fans, others = self._graph.fans(writer), self._graph.near(writer)[1]
        chosen: dict[int, None] = {}
        for _ in range(count * _TRIES):
            if len(chosen) == count:
                break
            pool = fans if fans and rng.random() < _BY_FANS else others
            chosen[max(_draw(pool, rng), key=lambda index: scatter(index, 78))] = None
        left = [index for index in others if index not in chosen] if len(chosen) < count else []
        return *chosen, *rng.sample(left, min(count - len(chosen), len(left)))

    def met(self, writer: int, number: int) -> int:
        """Whom a user passes on or names; number: up to 32 bits that tell one time from another."""
        if self._is_even:
            return number % self._graph.size
        rng = Random(scatter(number, writer))
        local, wide = self._graph.near(writer)
        pool = local if rng.random() < _LOCAL else wide
        return max(_draw(pool, rng), key=self._graph.degree)


def _draw(pool: Sequence[int], rng: Random) -> list[int]:
    return [pool[int(rng.random() * len(pool))] for _ in range(_CHOSEN_OF)]
