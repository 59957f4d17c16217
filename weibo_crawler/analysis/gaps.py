"""Gaps of timelines, counted and measured. Pure."""

from collections.abc import Sequence

from weibo_crawler.store.cells import from_iso
from weibo_crawler.store.gaps import Gap

_DAY_S = 86_400


def days(gap: Gap) -> float | None:
    """How long a gap is; None where one of its ends has no date: it reaches back to the beginning
    of the timeline, or the site showed none that can be read."""
    if gap.after_at is None or gap.before_at is None:
        return None
    try:
        return max(0.0, from_iso(gap.before_at) - from_iso(gap.after_at)) / _DAY_S
    except ValueError:
        return None


class GapTally:
    """Gaps of many users, on their way: gaps between two visits, how many users have one, how long
    they are, and how many users have oldest posts that were never read."""

    def __init__(self) -> None:
        self.gaps = self.users = self.oldest_unread = 0
        self.days = self.longest_days = 0.0

    def add(self, gaps: Sequence[Gap]) -> None:
        """The gaps of one user."""
        between = [gap for gap in gaps if gap.after is not None]
        self.gaps += len(between)
        self.users += bool(between)
        self.oldest_unread += len(between) < len(gaps)
        for gap in between:
            span = days(gap) or 0.0
            self.days += span
            self.longest_days = max(self.longest_days, span)
