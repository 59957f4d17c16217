"""How complete is this? One scan over the ledgers, pure counting (law 12)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import inf, isinf
from typing import Any

import msgspec

from weibo_crawler.analysis.freshness import Ages
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.analysis.yields import visits_a_day
from weibo_crawler.records import Id
from weibo_crawler.store import Tables
from weibo_crawler.store.rows.cells import Ledger, from_iso, read_ledger
from weibo_crawler.store.rows.gaps import Gap
from weibo_crawler.store.rows.keys import ALL, Range, parse_user_key

WHY = {
    "end": "the site shows no more",
    "no_next_page": "the site names no next page",
    "odd_cursor": "what names the next page cannot be read",
    "no_new_post": "a page brought no new post",
    "repeated_cursor": "the site named a page again",
    "known": "met what was known",
    "nothing_shown": "the site shows nothing of the user",
    "max_pages": "posts.max_pages",
    "since": "older posts are left out on purpose",
    "too_many_pages": "the timeline does not end",
    "false_page": "a page lacked posts that the site shows",
    "in_doubt": "fewer posts than announced, looked for not long ago",
    "login_wall": "guests may read no further",
    "gone": "the user is gone",
    "trouble": "trouble, to be tried again",
}
_CUT_OFF = ("login_wall", "max_pages", "too_many_pages", "since")
_DAY_S = 86_400


class Completeness(msgspec.Struct, frozen=True):
    """What is held of what the site announced. users = visited + unvisited, and
    visited = done + partial + gone + failed + empty: the users of the table add up. empty: the site
    shows nothing of the user and does not say that it is gone, which another look is to settle.

    announced, stored: posts, summed over visited users; gone_posts: of those stored, gone from the
    site since. share: posts held (and not gone) of those announced, each user counted up to what it
    announced, so that one's surplus hides nobody's lack; None where nothing was announced. Profiles
    also count posts that nobody can see, so of those that can be seen more is held; but a stored
    post that was deleted where no visit has looked since counts as held. share_most is the most:
    nothing is missing but what is known to be, which is one post of each user whose next page was
    not read. uncounted: users of whom nobody knows how many posts they have, and who are not gone:
    neither share counts them. Both are as of the visits; posts_since: how many
    posts are to be expected since then, by each user's posting rate.
    limited: of those done, of whose timeline some part was never read: for a login wall, a setting,
    a gap, unreadable posts, or an end against the announced count. sure_share: of visited users,
    those of whom all is surely known (or that they are gone). unsure_users: whose end contradicts
    the announced count by much.
    gaps: parts between two visits that no visit read, of gap_users, gap_days long together;
    longest_gap_days, the longest; gap_posts: how many posts they are likely to hold, by each user's
    posting rate, at most those announced that are not held; oldest_unread: users whose oldest posts
    were never read. half_back_days: so many days back from its last visit, or more, the timeline of
    each of half of the visited users was read without a gap, to 5 %; tenths_back_days: of nine
    tenths. None where that is as far as the site shows, or nobody was visited; who is gone is not
    counted.
    cut_texts: long texts still cut; restricted_texts: those that the site shows to others only.
    unreadable: posts that were shown and could not be read, of unreadable_users. Visits: seconds
    since the epoch. age_s: of the last complete visits, to 5 %: half of the users' are not older,
    nine tenths are not. due: users whose next visit is due; due_share: of those that have a date;
    visits_a_day: by the dates of their last and next visits.
    """

    users: int = 0
    visited: int = 0
    done: int = 0
    limited: int = 0
    partial: int = 0
    gone: int = 0
    failed: int = 0
    empty: int = 0
    unvisited: int = 0
    announced: int = 0
    stored: int = 0
    gone_posts: int = 0
    share: float | None = None
    share_most: float | None = None
    uncounted: int = 0
    posts_since: float = 0.0
    sure_share: float | None = None
    unsure_users: int = 0
    gaps: int = 0
    gap_users: int = 0
    gap_days: float = 0.0
    longest_gap_days: float = 0.0
    gap_posts: float = 0.0
    oldest_unread: int = 0
    half_back_days: float | None = None
    tenths_back_days: float | None = None
    cut_texts: int = 0
    restricted_texts: int = 0
    unreadable: int = 0
    unreadable_users: int = 0
    long_completed: int = 0
    refused_pages: int = 0
    stopped: Mapping[str, int] = {}
    newest_visit: float | None = None
    oldest_visit: float | None = None
    median_age_s: float | None = None
    tenth_oldest_age_s: float | None = None
    due: int = 0
    due_share: float | None = None
    visits_a_day: float = 0.0


def left_out(figures: Completeness) -> str:
    """What the shares do not count, for people; "" where they count everybody."""
    if not figures.uncounted:
        return ""
    users = plural(figures.uncounted, "user")
    return f"{users} not counted: nobody knows how many posts they have"


def read_ledgers(tables: Tables, part: Range = ALL) -> Iterator[tuple[Id, Ledger | None]]:
    """(uid, ledger) of every imported user by row key; None: never visited."""
    columns = ["user:id", "crawl"]
    for row in tables.userlist.scan(start=part.start, stop=part.stop, columns=columns):
        if "user:id" in row.cells:  # a ledger alone is no imported user
            yield parse_user_key(row.key), read_ledger(row.cells)


def held(ledger: Ledger) -> int:
    """Posts stored that are not gone, at most as many as are announced."""
    return min(ledger.stored - len(ledger.gone), ledger.announced or 0)


def share_of(ledger: Ledger) -> float | None:
    """Posts held of those announced, 0 to 1; None where none are announced."""
    return held(ledger) / ledger.announced if ledger.announced else None


def seen_at_least(ledger: Ledger) -> int:
    """How many posts the site surely shows, at most as many as are announced: what is held, and one
    more where it named a page that was not read."""
    is_cut_off = ledger.stopped in _CUT_OFF and not ledger.whole
    return min(held(ledger) + is_cut_off, ledger.announced or 0)


def is_sure(ledger: Ledger) -> bool:
    """Whether all that the site shows of this user was read, or the user is surely gone."""
    return ledger.sure and (ledger.state == "gone" or (ledger.state == "done" and ledger.whole))


def back_s(ledger: Ledger) -> float:
    """How long before its last visit this timeline was read without a gap, in seconds: infinite
    where that is all that the site shows, 0.0 where nobody knows."""
    if ledger.state == "done" and ledger.whole:
        return inf
    gap = max(ledger.gaps, key=lambda gap: gap.before, default=None)
    if ledger.state != "done" or ledger.told_at is None or gap is None or gap.before_at is None:
        return 0.0
    try:
        return max(0.0, ledger.told_at - from_iso(gap.before_at))
    except ValueError:
        return 0.0


class Tally:
    """Ledgers on their way, counted. now: seconds since the epoch."""

    def __init__(self, now: float) -> None:
        self._now = now
        floats = dict.fromkeys(("posts_since", "gap_days", "gap_posts", "visits_a_day"), 0.0)
        self._sums: defaultdict[str, Any] = defaultdict(int, floats)  # many are of `Completeness`
        self._stopped: Counter[str] = Counter()
        self._longest_gap_days = 0.0
        self._ages, self._backs = Ages(), Ages()
        self._visits: tuple[float, float] | None = None  # oldest, newest

    def add(self, ledger: Ledger | None) -> None:
        sums = self._sums
        sums["users"] += 1
        if ledger is None:
            sums["unvisited"] += 1
            sums["uncounted"] += 1
            return
        sums[ledger.state] += 1
        sums["visited"] += 1
        sums["announced"] += ledger.announced or 0
        sums["uncounted"] += ledger.announced is None and ledger.state != "gone"
        sums["stored"] += ledger.stored
        sums["gone_posts"] += len(ledger.gone)
        sums["limited"] += ledger.state == "done" and not ledger.whole
        sums["unsure_users"] += not ledger.sure
        sums["cut_texts"] += len(ledger.cut)
        sums["restricted_texts"] += len(ledger.restricted)
        sums["unreadable"] += ledger.unread
        sums["unreadable_users"] += ledger.unread > 0
        sums["long_completed"] += ledger.completed
        sums["refused_pages"] += ledger.refused_pages
        if ledger.stopped:
            self._stopped[ledger.stopped] += 1
        sums["held"] += held(ledger)
        sums["seen"] += seen_at_least(ledger)
        sums["surely"] += is_sure(ledger)
        self._add_gaps(ledger)
        if ledger.state != "gone":
            self._backs.add(back_s(ledger))
        self._add_age(ledger)

    def _add_gaps(self, ledger: Ledger) -> None:
        """A gap holds as many posts as its owner is likely to have written, at most those that are
        not held."""
        sums, between = self._sums, [gap for gap in ledger.gaps if gap.after is not None]
        spans = [gap_days(gap) or 0.0 for gap in between]
        missing = inf if ledger.announced is None else ledger.announced - held(ledger)
        sums["gaps"] += len(between)
        sums["gap_users"] += bool(between)
        sums["oldest_unread"] += len(between) < len(ledger.gaps)
        sums["gap_days"] += sum(spans)
        sums["gap_posts"] += min((ledger.posts_per_day or 0.0) * sum(spans), missing)
        self._longest_gap_days = max(self._longest_gap_days, *spans, 0.0)

    def _add_age(self, ledger: Ledger) -> None:
        if (at := ledger.told_at) is not None:
            oldest, newest = self._visits or (at, at)
            self._visits = min(oldest, at), max(newest, at)
            age_s = max(0.0, self._now - at)
            self._ages.add(age_s)
            if ledger.state != "gone":
                self._sums["posts_since"] += (ledger.posts_per_day or 0.0) * age_s / _DAY_S
        self._sums["visits_a_day"] += visits_a_day(ledger)
        if ledger.next_visit is not None:
            self._sums["dated"] += 1
            self._sums["due"] += ledger.next_visit <= self._now

    def merge(self, other: "Tally") -> None:
        """Count what the other counted as well."""
        for name, n in other._sums.items():
            self._sums[name] += n
        self._stopped.update(other._stopped)
        self._longest_gap_days = max(self._longest_gap_days, other._longest_gap_days)
        self._ages.merge(other._ages)
        self._backs.merge(other._backs)
        visits = [*(self._visits or ()), *(other._visits or ())]
        self._visits = (min(visits), max(visits)) if visits else None

    def result(self) -> Completeness:
        """What was counted so far."""
        sums = self._sums
        oldest, newest = self._visits or (None, None)
        figures = {name: sums[name] for name in Completeness.__struct_fields__ if name in sums} | {
            "share": sums["held"] / sums["announced"] if sums["announced"] else None,
            "share_most": sums["held"] / sums["seen"] if sums["seen"] else None,
            "posts_since": round(sums["posts_since"], 1),
            "sure_share": sums["surely"] / sums["visited"] if sums["visited"] else None,
            "gap_days": round(sums["gap_days"], 2),
            "longest_gap_days": round(self._longest_gap_days, 2),
            "gap_posts": round(sums["gap_posts"], 1),
            "half_back_days": _days(self._backs.reached(0.5)),
            "tenths_back_days": _days(self._backs.reached(0.9)),
            "stopped": dict(self._stopped.most_common()),
            "oldest_visit": oldest,
            "newest_visit": newest,
            "median_age_s": self._ages.quantile(0.5),
            "tenth_oldest_age_s": self._ages.quantile(0.9),
            "visits_a_day": round(sums["visits_a_day"], 3),
            "due_share": sums["due"] / sums["dated"] if sums["dated"] else None,
        }
        return Completeness(**figures)


def gap_days(gap: Gap) -> float | None:
    """How long a gap is; None where one of its ends has no date: it reaches back to the beginning
    of the timeline, or the site showed none that can be read."""
    if gap.after_at is None or gap.before_at is None:
        return None
    try:
        return max(0.0, from_iso(gap.before_at) - from_iso(gap.after_at)) / _DAY_S
    except ValueError:
        return None


def _days(seconds: float | None) -> float | None:
    return None if seconds is None or isinf(seconds) else round(seconds / _DAY_S, 2)


def summarise(ledgers: Iterable[Ledger | None], now: float) -> Completeness:
    """The figures over all of them at a time (seconds since the epoch); None is a user never
    visited."""
    tally = Tally(now)
    for ledger in ledgers:
        tally.add(ledger)
    return tally.result()


def completeness(tables: Tables, now: float) -> Completeness:
    """The figures of the tables, in one scan. now: seconds since the epoch."""
    return summarise((ledger for _, ledger in read_ledgers(tables)), now)
