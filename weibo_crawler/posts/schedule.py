"""When to come back to a user: by its own posting rate, between two bounds. Pure."""

import math
from collections.abc import Sequence
from datetime import datetime, tzinfo
from itertools import pairwise
from typing import NamedTuple

_MOST_DOUBLINGS = 60  # beyond any bound; more would overflow
_DAY_S = 86_400
_ANOTHER_DAY_S = 20 * 3600
_PAGE = 10.0  # posts that a guest is shown: who waits for more loses some
_STEPS = 5


class Revisit(NamedTuple):
    """Bounds of the time between two visits, in seconds; posts: how many new ones are expected at a
    visit, so that a page of ten, which is all a guest may see, still meets what is known."""

    least_s: float
    most_s: float
    posts: float

    @property
    def middle_s(self) -> float:
        """As many times the least as the most is times this."""
        return math.sqrt(self.least_s * self.most_s)


def posting_rate(times: Sequence[float], now: float) -> float | None:
    """Posts a second, from when the newest posts were written (seconds, any order); None without.

    After the oldest of n posts n - 1 came until now; silence since the newest one counts. Half a
    post more stands for what a single post cannot tell. A clock that is behind the site's: the
    newest post is now.
    """
    if not times:
        return None
    span_s = max(now, *times) - min(times)
    return (len(times) - 0.5) / max(span_s, 1.0)


def interval_s(rate: float | None, revisit: Revisit, doubts: int = 0) -> float:
    """Seconds until the next visit. rate: posts a second, None = no post is known.

    doubts: how many visits in a row left something in doubt (an end against the announced count, a
    text still cut). After the first one the middle of the bounds is the longest wait, and twice as
    long after each further one: what is never mended does not cost a visit a day for ever.
    """
    longest = revisit.most_s
    if doubts:
        longest = min(longest, revisit.middle_s * 2 ** min(doubts - 1, _MOST_DOUBLINGS))
    wanted = revisit.posts / rate if rate else longest
    return min(max(wanted, revisit.least_s), longest)


class Demand:
    """How many visits a day users take, by how many new posts are waited for: from `revisit.posts`
    up to a page of ten. Where the pace does not suffice, waiting for more brings more posts."""

    def __init__(self, revisit: Revisit) -> None:
        spread = max(0.0, _PAGE - revisit.posts)
        steps = (revisit.posts + spread * n / _STEPS for n in range(_STEPS + 1))
        self._revisits = [revisit._replace(posts=posts) for posts in steps]
        self._visits = [0.0] * len(self._revisits)

    def add(self, rate: float | None, doubts: int = 0) -> None:
        """One user; see `interval_s`."""
        for n, revisit in enumerate(self._revisits):
            self._visits[n] += _DAY_S / interval_s(rate, revisit, doubts)

    def posts(self, visits_a_day: float | None) -> float:
        """How many new posts to wait for, so that about so many visits a day suffice; None: any
        number of visits does."""
        known = list(zip(self._visits, (one.posts for one in self._revisits), strict=True))
        if visits_a_day is None or known[0][0] <= visits_a_day:
            return known[0][1]
        for (more, few), (fewer, many) in pairwise(known):
            if fewer <= visits_a_day:
                return few + (many - few) * (more - visits_a_day) / (more - fewer)
        return known[-1][1]


def is_another_day(since: float, now: float, clock: tzinfo) -> bool:
    """Whether a second look is a witness of its own: on a later day of the site's clock, and not
    just after midnight. Seconds since the epoch."""
    first, second = (datetime.fromtimestamp(at, clock).date() for at in (since, now))
    return first < second and now - since >= _ANOTHER_DAY_S


def doubt_wait_s(least_s: float, most_s: float, doubts: int) -> float:
    """Seconds until a doubt is looked at again: least_s at first, twice as long each time that did
    not help. doubts: how many there were in a row, this one included."""
    times = 2.0 ** min(max(doubts - 1, 0), _MOST_DOUBLINGS)
    return min(least_s * times, max(least_s, most_s))
