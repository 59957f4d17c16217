"""What the posts of a crawl are, counted on their way: where from, by what, at which hour, and the
most liked ones. Memory does not grow with them."""

import heapq
import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

COLUMNS = ("post:created_at", "post:region", "post:source", "count:likes")
TOP = 10
_MOST_WORDS = 50_000  # different ones that are counted at once
_HOUR = re.compile(r".{10}T(\d\d):(\d\d):(\d\d)")


class Liked(NamedTuple):
    """A post by its row key."""

    likes: int
    key: str


class WordTally:
    """How often words stand, of which there may be any number: where there are too many of them,
    the rarest are dropped, so that rare ones may be counted too low."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, word: str, n: int = 1) -> None:
        self._counts[word] += n
        if len(self._counts) > _MOST_WORDS:
            self._counts = Counter(dict(self._counts.most_common(_MOST_WORDS // 2)))

    def merge(self, other: "WordTally") -> None:
        """Count what the other counted as well."""
        for word, n in other._counts.items():
            self.add(word, n)

    def top(self, n: int) -> list[tuple[str, int]]:
        """The most frequent ones, by count and then by word."""
        return sorted(self._counts.items(), key=lambda one: (-one[1], one[0]))[:n]

    @property
    def total(self) -> int:
        return self._counts.total()


class Contents:
    """hours: posts by the hour of the site's clock, of those whose time is told."""

    def __init__(self) -> None:
        self.regions, self.devices = WordTally(), WordTally()
        self.hours = [0] * 24
        self._liked: list[Liked] = []

    def add(self, key: str, cells: Mapping[str, str]) -> None:
        """A row of posts."""
        if region := cells.get("post:region", "").strip():
            self.regions.add(region)
        if device := cells.get("post:source", "").strip():
            self.devices.add(device)
        told = _HOUR.match(cells.get("post:created_at", ""))
        # a day without its time is written as its beginning
        if told is not None and told.groups() != ("00", "00", "00") and int(told[1]) < 24:
            self.hours[int(told[1])] += 1
        likes = cells.get("count:likes", "")
        if likes.isdecimal():
            self._like(Liked(int(likes), key))

    def _like(self, post: Liked) -> None:
        if len(self._liked) < TOP:
            heapq.heappush(self._liked, post)
        else:
            heapq.heappushpop(self._liked, post)

    def merge(self, other: "Contents") -> None:
        """Count what the other counted as well."""
        self.regions.merge(other.regions)
        self.devices.merge(other.devices)
        self.hours = [mine + theirs for mine, theirs in zip(self.hours, other.hours, strict=True)]
        for post in other._liked:
            self._like(post)

    @property
    def liked(self) -> list[Liked]:
        """The most liked posts, the first one first."""
        return sorted(self._liked, reverse=True)
