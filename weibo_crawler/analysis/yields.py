"""What requests have brought: users by edge with their price, a walk that runs dry, and what it
costs to follow users. Pure."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import NamedTuple

from weibo_crawler.analysis.asked import Asked
from weibo_crawler.analysis.numbers import percent
from weibo_crawler.records import Edge
from weibo_crawler.store.rows.cells import Ledger

_DAY_S = 86_400
_DRY = 0.05  # of the new users of a run: where its last requests brought no more, it has run dry
_DRY_REQUESTS, _DRY_SHARE = 200, 0.2  # so many requests, and this share of all, or they say nothing
_KEPT = 400  # points of a run


class Price(NamedTuple):
    """The price of the users that an edge found. requests: sent for it; kept: users it brought."""

    edge: Edge
    requests: int
    kept: int

    @property
    def each(self) -> float | None:
        """Requests for each kept user; None: it has brought nobody."""
        return self.requests / self.kept if self.kept else None


def prices(asked: Asked) -> list[Price]:
    """Price each edge for which something was asked, the dearest last."""
    found = [
        Price(edge, tally.sent, asked[f"edge.{edge}.kept"])
        for edge in Edge
        if (tally := asked.all([edge])).told
    ]
    return sorted(found, key=lambda price: price.each or float("inf"))


def yield_lines(asked: Asked) -> Iterator[str]:
    """Say for people what each edge has brought, a line for each."""
    for price in prices(asked):
        if price.edge is not Edge.SEED:
            each = "nobody" if price.each is None else f"{price.each:.2f} requests a user"
            brought = f"{price.kept:,} users by {price.requests:,} requests"
            yield f"{price.edge} brought {brought}: {each}"


class Tail(NamedTuple):
    """The end of a run that brought next to nobody. share: of all requests of the run."""

    requests: int
    users: int
    share: float

    def line(self) -> str:
        """Say it for people."""
        return (
            f"run dry: the last {self.requests:,} requests ({percent(self.share)}) brought "
            f"{self.users:,} new users; more seeds or other edges bring more, and `posts` uses "
            "requests better"
        )


class Course:
    """How a run went: requests sent and users kept, noted while it goes on. Memory is bounded."""

    def __init__(self) -> None:
        self._points: list[tuple[int, int]] = [(0, 0)]

    def note(self, sent: int, kept: int) -> None:
        """Absolute figures, which never fall."""
        if (sent, kept) != self._points[-1]:
            self._points.append((sent, kept))
        if len(self._points) > _KEPT:
            self._points = self._points[:-1:2] + self._points[-1:]

    def tail(self) -> Tail | None:
        """The longest end that brought next to nobody; None: it was too short to say so."""
        return tail(self._points)


def tail(points: Sequence[tuple[int, int]]) -> Tail | None:
    """As `Course.tail`. points: (requests sent, users kept), in the order of time."""
    sent, kept = points[-1]
    for since, had in points:
        if kept - had <= _DRY * kept:
            requests = sent - since
            is_long = requests >= max(_DRY_REQUESTS, _DRY_SHARE * sent)
            return Tail(requests, kept - had, requests / sent) if is_long else None
    return None


def visits_a_day(ledger: Ledger) -> float:
    """Visits a day of a user, by the dates of the last visit and of the next one."""
    if ledger.told_at is None or ledger.next_visit is None:
        return 0.0
    span_s = ledger.next_visit - ledger.told_at
    return _DAY_S / span_s if span_s > 0 else 0.0


def each_again(asked: Asked) -> tuple[float, bool]:
    """Requests of a later visit, and whether that was measured; else one, for page 1."""
    n = asked["visits.again.ended"]
    return (asked.all(["again"]).sent / n, True) if n else (1.0, False)


def follow_line(visits: float, asked: Asked, most_per_s: float | None) -> str:
    """Say how many requests a day it takes to follow the visited users, and whether the pace allows
    them. visits: a day; most_per_s: requests a second that the pace allows, None: no limit."""
    each, is_measured = each_again(asked)
    a_day = visits * each
    how = "as measured" if is_measured else "one a visit assumed"
    said = f"to follow the visited users: {ceil(a_day):,} requests a day ({how})"
    if most_per_s is None:
        return said
    most = most_per_s * _DAY_S
    if not most:
        return f"{said}; no egress is usable now"
    if a_day <= most:
        return f"{said}; the pace allows {int(most):,}, enough ({percent(a_day / most)} of it)"
    times = f"{a_day / most:.3g} times as many egresses"
    return f"{said}; the pace allows {int(most):,}, too few: {times}, or larger posts.revisit_posts"
