"""What the report shows, counted in one pass over each store; memory does not grow with them."""

import heapq
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from weibo_crawler import samples
from weibo_crawler.analysis.completeness import Completeness, Tally, read_ledgers, share_of
from weibo_crawler.analysis.contents import COLUMNS, Contents, Pair
from weibo_crawler.analysis.second_looks import second_looks
from weibo_crawler.analysis.userlists import Kept
from weibo_crawler.metrics import total
from weibo_crawler.records import Id, Verdict
from weibo_crawler.store import Tables, Topic, UserRow
from weibo_crawler.store.rows.keys import ALL, Range, parse_post_key
from weibo_crawler.store.sql.walk import Frontier

FANS_EDGES = (0, *(step * 10**power for power in range(10) for step in (1, 2, 5)))
SHARE_BINS = ("none", *("<10 %" if i == 0 else f"{10 * i}+ %" for i in range(10)), "all")
_TOP, _PAIRS = 10, 12
_MOST_DAYS, _MOST_MONTHS = 62, 72  # bars that can still be told apart
_LEAST_DAYS = 14  # a single bar tells nothing


class Figures(NamedTuple):
    """growth: users by time and depth. fans: users by FANS_EDGES. pages: by verdict. posts: by
    created_at; contents: what they are; pairs: who reposts whom most, with how often; people: those
    of them and of the most liked posts who are in the crawl, by uid. shares: users by SHARE_BINS.
    counters: of all workers of all runs together."""

    users: int
    unsure_lists: int
    second_looks: dict[str, samples.Figures]
    topics: list[Topic]
    states: dict[str, int]
    depths: dict[int, int]
    growth: "GrowthTally"
    fans: list[int]
    top: list[UserRow]
    pages: dict[str, int]
    counters: dict[str, int]
    posts: "DayTally"
    contents: Contents
    pairs: list[tuple[Pair, int]]
    people: dict[Id, UserRow]
    completeness: Completeness
    shares: list[int]


class Stored:
    """What the tables hold, counted: of all keys, or of some of them and then merged. now: seconds
    since the epoch."""

    def __init__(self, now: float) -> None:
        self.ledgers, self.shares = Tally(now), [0] * len(SHARE_BINS)
        self.posts, self.contents = DayTally(()), Contents()

    def read(self, tables: Tables, part: Range = ALL) -> "Stored":
        """Ledgers and posts; returns itself."""
        self.read_ledgers(tables, part)
        self.posts.add(self._dates(tables, part))
        return self

    def _dates(self, tables: Tables, part: Range) -> Iterator[str]:
        """When the posts were written; what else they are is counted on the way."""
        for row in tables.posts.scan(start=part.start, stop=part.stop, columns=COLUMNS):
            if (created_at := row.cells.get("post:created_at")) is not None:  # else no post
                self.contents.add(row.key, row.cells)
                yield created_at

    def read_ledgers(self, tables: Tables, part: Range = ALL) -> "Stored":
        for _, ledger in read_ledgers(tables, part):
            self.ledgers.add(ledger)
            if ledger is not None and (share := share_of(ledger)) is not None:
                self.shares[share_bin(share)] += 1
        return self

    def merge(self, other: "Stored") -> None:
        self.ledgers.merge(other.ledgers)
        self.shares = [
            mine + theirs for mine, theirs in zip(self.shares, other.shares, strict=True)
        ]
        self.posts.merge(other.posts)
        self.contents.merge(other.contents)


def gather(users: Frontier, stored: Stored, people: Kept | None = None) -> Figures:
    """Read the users once. stored: what the tables hold. people: who was kept, None: `users`."""
    people, growth, fans = people or users, GrowthTally(), [0] * len(FANS_EDGES)
    counters = total([worker.counters for worker in users.workers()])
    pages = {str(verdict): n for verdict in Verdict if (n := counters.get(f"page.{verdict}", 0))}
    top = heapq.nlargest(_TOP, _tallied(people, growth, fans), key=lambda row: row.fans or 0)
    states = people.states()
    pairs = stored.contents.pairs.top(_PAIRS)
    named = {uid for pair, _ in pairs for uid in pair}
    named |= {parse_post_key(post.key)[0] for post in stored.contents.liked}
    return Figures(
        users=sum(states.values()),
        unsure_lists=users.unsure_lists(),
        second_looks=second_looks(users),
        topics=users.topics(),
        states=states,
        depths=dict(sorted(people.depths().items())),
        growth=growth,
        fans=fans,
        top=top,
        pages=pages,
        counters=counters,
        posts=stored.posts,
        contents=stored.contents,
        pairs=pairs,
        people={row.uid: row for row in people.users(uids=sorted(named, key=str))},
        completeness=stored.ledgers.result(),
        shares=stored.shares,
    )


class GrowthTally:
    """Users by the time they were found and by depth, in at most `most` spans of time; whenever
    more are needed, two neighbours become one."""

    def __init__(self, most: int = 240) -> None:
        self._most = most
        self.span_s = 1 / 16
        self._counts: Counter[tuple[int, int]] = Counter()  # (number of the span, depth)
        self._first = self._last = 0

    def add(self, at: float, depth: int) -> None:
        """at: seconds since the epoch."""
        number = int(at // self.span_s)
        if not self._counts:
            self._first = self._last = number
        self._counts[number, depth] += 1
        self._first, self._last = min(self._first, number), max(self._last, number)
        while self._last - self._first >= self._most:
            self._halve()

    def _halve(self) -> None:
        self.span_s *= 2
        self._first, self._last = self._first // 2, self._last // 2
        halved: Counter[tuple[int, int]] = Counter()
        for (number, depth), n in self._counts.items():
            halved[number // 2, depth] += n
        self._counts = halved

    def times(self) -> list[float]:
        """Where each span ends, and before them the beginning: seconds since the epoch."""
        if not self._counts:
            return []
        return [number * self.span_s for number in range(self._first, self._last + 2)]

    def so_far(self, shallowest: int, deepest: float) -> list[int]:
        """How many users of these depths were found by each of `times`."""
        new: Counter[int] = Counter()
        for (number, depth), n in self._counts.items():
            if shallowest <= depth <= deepest:
                new[number] += n
        totals = [0]
        for number in range(self._first, self._last + 1):
            totals.append(totals[-1] + new[number])
        return totals if self._counts else []


class DayTally:
    """Posts by the day they were written, as the site's clock has it."""

    def __init__(self, created_at: Iterable[str]) -> None:
        self._days: Counter[date] = Counter()
        self.undated = 0
        self.add(created_at)

    def add(self, created_at: Iterable[str]) -> None:
        known: dict[str, date | None] = {}
        for text in created_at:
            day = text[:10]
            if day not in known:
                known[day] = _day(day)
            found = known[day]
            if found is None:
                known.pop(day)  # unbounded, unlike the days of a century
                self.undated += 1
            else:
                self._days[found] += 1

    def merge(self, other: "DayTally") -> None:
        self._days.update(other._days)
        self.undated += other.undated

    @property
    def total(self) -> int:
        return self._days.total() + self.undated

    def periods(self) -> tuple[str, list[tuple[str, int]]]:
        """("day" | "month" | "year", [(label, posts)]) without gaps; the finest one readable."""
        if not self._days:
            return "day", []
        first, last = min(self._days), max(self._days)
        days = max(_LEAST_DAYS, (last - first).days + 1)
        if days <= _MOST_DAYS:
            first = last - timedelta(days - 1)
            labels = [(first + timedelta(n)).isoformat() for n in range(days)]
            return "day", self._bars(labels, 10)
        months = range(12 * first.year + first.month - 1, 12 * last.year + last.month)
        if len(months) <= _MOST_MONTHS:
            return "month", self._bars([f"{m // 12}-{m % 12 + 1:02d}" for m in months], 7)
        return "year", self._bars([str(y) for y in range(first.year, last.year + 1)], 4)

    def _bars(self, labels: list[str], length: int) -> list[tuple[str, int]]:
        posts: Counter[str] = Counter()
        for day, n in self._days.items():
            posts[day.isoformat()[:length]] += n
        return [(label, posts[label]) for label in labels]


def fans_bin(fans: int) -> int:
    """The last of FANS_EDGES that is not above `fans`."""
    return bisect_right(FANS_EDGES, max(0, fans)) - 1


def share_bin(share: float) -> int:
    """Which of SHARE_BINS: none, ten tenths, all."""
    if share <= 0:
        return 0
    return len(SHARE_BINS) - 1 if share >= 1 else 1 + int(share * 10)


def _tallied(users: Kept, growth: GrowthTally, fans: list[int]) -> Iterator[UserRow]:
    for row in users.users():
        growth.add(row.found_at, row.depth)
        if row.fans is not None:
            fans[fans_bin(row.fans)] += 1
        yield row


def _day(text: str) -> date | None:
    """A day that a post can be of: hostile dates must not make a report of endless bars."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1990 <= day.year < 2100 else None
