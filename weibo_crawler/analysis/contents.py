"""What the posts of a crawl are, counted on their way: where from, by what, at which hour, the most
liked ones, and who passes on whose. Memory does not grow with them."""

import heapq
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from weibo_crawler.records import Id
from weibo_crawler.store.rows.cells import glance
from weibo_crawler.store.rows.keys import parse_post_key

T = TypeVar("T", bound=Hashable)

COLUMNS = (
    *("post:created_at", "post:region", "post:source", "post:repost_of", "post:more"),
    "count:likes",
)
TOP = 10
_MOST = 50_000  # different things that are counted at once
_HOUR = re.compile(r".{10}T([01]\d|2[0-3]):")


class Liked(NamedTuple):
    """A post by its row key."""

    likes: int
    key: str


class Pair(NamedTuple):
    """Ids of who reposts and of whose post it is."""

    by: Id
    of: Id


class Frequent(Generic[T]):
    """How often things come, of which there may be any number: where there are too many of them,
    the rarest are dropped, so that what comes again after that is counted too low.

    total: how often any came. too_low: no count lacks more than this.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._counts: Counter[T] = Counter()
        self._most = most
        self.total = self.too_low = 0

    def add(self, thing: T, n: int = 1) -> None:
        self.total += n
        self._counts[thing] += n
        self._drop_rarest()

    def _drop_rarest(self) -> None:
        if len(self._counts) > self._most:
            ranked = self._counts.most_common()
            self.too_low += ranked[self._most // 2][1]
            self._counts = Counter(dict(ranked[: self._most // 2]))

    def merge(self, other: "Frequent[T]") -> None:
        """Count what the other counted as well."""
        self.total += other.total
        self.too_low += other.too_low
        self._counts.update(other._counts)
        self._drop_rarest()

    def top(self, n: int) -> list[tuple[T, int]]:
        """The most frequent ones with their counts, equal ones in the order of their texts."""
        return heapq.nsmallest(n, self._counts.items(), key=lambda one: (-one[1], str(one[0])))

    def __len__(self) -> int:
        return len(self._counts)


class Contents:
    """hours: posts by the hour of the site's clock, of those whose hour is told. reposts: of all
    posts; own: those of an own post; unknown: those whose original is deleted or hidden, so that
    nobody knows whose it is; pairs: the others."""

    def __init__(self) -> None:
        self.regions: Frequent[str] = Frequent()
        self.devices: Frequent[str] = Frequent()
        self.pairs: Frequent[Pair] = Frequent()
        self.hours = [0] * 24
        self.posts = self.reposts = self.own = self.unknown = 0
        self._liked: list[Liked] = []

    def add(self, key: str, cells: Mapping[str, str]) -> None:
        """A row of posts, of which these COLUMNS were read. StoreError where `post:more` does not
        hold what it should."""
        self.posts += 1
        if region := cells.get("post:region", "").strip():
            self.regions.add(region)
        if device := cells.get("post:source", "").strip():
            self.devices.add(device)
        precision, author = glance(key, cells)
        told = _HOUR.match(cells.get("post:created_at", ""))
        if told is not None and precision != "day":
            self.hours[int(told[1])] += 1
        if cells.get("post:repost_of"):
            self._repost(parse_post_key(key)[0], author)
        likes = cells.get("count:likes", "")
        if likes.isdecimal():
            self._like(Liked(int(likes), key))

    def _repost(self, by: Id, of: Id | None) -> None:
        self.reposts += 1
        if of is None:
            self.unknown += 1
        elif of == by:
            self.own += 1
        else:
            self.pairs.add(Pair(by, of))

    def _like(self, post: Liked) -> None:
        if len(self._liked) < TOP:
            heapq.heappush(self._liked, post)
        else:
            heapq.heappushpop(self._liked, post)

    def merge(self, other: "Contents") -> None:
        """Count what the other counted as well."""
        self.regions.merge(other.regions)
        self.devices.merge(other.devices)
        self.pairs.merge(other.pairs)
        self.hours = [mine + theirs for mine, theirs in zip(self.hours, other.hours, strict=True)]
        self.posts += other.posts
        self.reposts += other.reposts
        self.own += other.own
        self.unknown += other.unknown
        for post in other._liked:
            self._like(post)

    @property
    def liked(self) -> list[Liked]:
        """The most liked posts, the first one first."""
        return sorted(self._liked, reverse=True)
