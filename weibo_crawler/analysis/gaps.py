"""Gaps of timelines, counted and measured. Pure."""

from collections.abc import Sequence

from weibo_crawler.store.rows.cells import from_iso
from weibo_crawler.store.rows.gaps import Gap

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
    they are, how many posts they are likely to hold, and how many users have oldest posts that were
    never read."""

    def __init__(self) -> None:
        self.gaps = self.users = self.oldest_unread = 0
        self.days = self.longest_days = self.posts = 0.0

    def add(self, gaps: Sequence[Gap], posts_per_day: float, missing: float) -> None:
        """The gaps of one user. posts_per_day: its posting rate; missing: how many posts are not
        held at most."""
        between = [gap for gap in gaps if gap.after is not None]
        self.gaps += len(between)
        self.users += bool(between)
        self.oldest_unread += len(between) < len(gaps)
        spans = [days(gap) or 0.0 for gap in between]
        self.days += sum(spans)
        self.longest_days = max(self.longest_days, *spans, 0.0)
        self.posts += min(posts_per_day * sum(spans), missing)

    def merge(self, other: "GapTally") -> None:
        """Count what the other counted as well."""
        self.gaps += other.gaps
        self.users += other.users
        self.oldest_unread += other.oldest_unread
        self.days += other.days
        self.longest_days = max(self.longest_days, other.longest_days)
        self.posts += other.posts
