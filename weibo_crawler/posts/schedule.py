"""When to come back to a user: by its own posting rate, between two bounds. Pure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

_MOST_DOUBLINGS = 60  # beyond any bound; more would overflow
_SITE_OFFSET_S = 8 * 3600  # the site's clock is UTC+8
_DAY_S = 86_400
_ANOTHER_DAY_S = 20 * 3600


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


def is_another_day(since: float, now: float) -> bool:
    """Whether a second look is a witness of its own: on a later day of the site's clock, and not
    just after midnight. Seconds since the epoch."""
    days = [(at + _SITE_OFFSET_S) // _DAY_S for at in (since, now)]
    return days[0] < days[1] and now - since >= _ANOTHER_DAY_S


def doubt_wait_s(least_s: float, most_s: float, doubts: int) -> float:
    """Seconds until a doubt is looked at again: least_s at first, twice as long each time that did
    not help. doubts: how many there were in a row, this one included."""
    times = 2.0 ** min(max(doubts - 1, 0), _MOST_DOUBLINGS)
    return min(least_s * times, max(least_s, most_s))
