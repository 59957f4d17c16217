"""How complete is this? One scan over the ledgers, pure counting (law 12)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from weibo_crawler.analysis.numbers import grouped, minute, percent
from weibo_crawler.store import Tables
from weibo_crawler.store.cells import Ledger, read_ledger
from weibo_crawler.store.keys import parse_user_key

WHY = {
    "end": "the site shows no more",
    "no_next_page": "the site names no next page",
    "no_new_post": "a page brought no new post",
    "repeated_cursor": "the site named a page again",
    "known": "met what was known",
    "max_pages": "posts.max_pages",
    "too_many_pages": "the timeline does not end",
    "login_wall": "guests may read no further",
    "gone": "the user is gone",
    "trouble": "trouble, to be tried again",
}


class Completeness(msgspec.Struct, frozen=True):
    """What is held of what the site announced. users = visited + unvisited, and
    visited = done + partial + gone + failed: the users of the table add up.

    announced, stored: posts, summed over visited users. share: posts held of those announced,
    each user counted up to what it announced, so that one's surplus hides nobody's gap; None where
    nothing was announced. limited: of those done, whose timeline was not read to an end that
    stands, for a login wall, a setting, or an end against the announced count. unsure_users: whose
    end contradicts the announced count by much.
    cut_texts: long texts still cut. Visits: seconds since the epoch.
    """

    users: int = 0
    visited: int = 0
    done: int = 0
    limited: int = 0
    partial: int = 0
    gone: int = 0
    failed: int = 0
    unvisited: int = 0
    announced: int = 0
    stored: int = 0
    share: float | None = None
    unsure_users: int = 0
    cut_texts: int = 0
    long_completed: int = 0
    refused_pages: int = 0
    stopped: Mapping[str, int] = {}
    newest_visit: float | None = None
    oldest_visit: float | None = None


def read_ledgers(tables: Tables) -> Iterator[tuple[int, Ledger | None]]:
    """(uid, ledger) of every imported user by row key; None: never visited."""
    for row in tables.userlist.scan(columns=["user:id", "crawl"]):
        if "user:id" in row.cells:  # a ledger alone is no imported user
            yield parse_user_key(row.key), read_ledger(row.cells)


def share_of(ledger: Ledger) -> float | None:
    """Posts held of those announced, at most 1; None where none are announced."""
    return min(ledger.stored, ledger.announced) / ledger.announced if ledger.announced else None


class Tally:
    """Ledgers on their way, counted."""

    def __init__(self) -> None:
        self._figures: Counter[str] = Counter()
        self._states: Counter[str] = Counter()
        self._stopped: Counter[str] = Counter()
        self._held = 0
        self._visits: tuple[float, float] | None = None  # oldest, newest

    def add(self, ledger: Ledger | None) -> None:
        figures = self._figures
        figures["users"] += 1
        if ledger is None:
            figures["unvisited"] += 1
            return
        self._states[ledger.state] += 1
        self._held += min(ledger.stored, ledger.announced or 0)
        figures["visited"] += 1
        figures["announced"] += ledger.announced or 0
        figures["stored"] += ledger.stored
        figures["limited"] += ledger.state == "done" and not ledger.whole
        figures["unsure_users"] += not ledger.sure
        figures["cut_texts"] += len(ledger.cut)
        figures["long_completed"] += ledger.completed
        figures["refused_pages"] += ledger.refused_pages
        if ledger.stopped:
            self._stopped[ledger.stopped] += 1
        if (at := ledger.visited_at) is not None:
            oldest, newest = self._visits or (at, at)
            self._visits = min(oldest, at), max(newest, at)

    def result(self) -> Completeness:
        """What was counted so far."""
        announced = self._figures["announced"]
        oldest, newest = self._visits or (None, None)
        return Completeness(
            **self._figures,
            **{state: self._states[state] for state in ("done", "partial", "gone", "failed")},
            share=self._held / announced if announced else None,
            stopped=dict(self._stopped.most_common()),
            oldest_visit=oldest,
            newest_visit=newest,
        )


def summarise(ledgers: Iterable[Ledger | None]) -> Completeness:
    """The figures over all of them; None is a user never visited."""
    tally = Tally()
    for ledger in ledgers:
        tally.add(ledger)
    return tally.result()


def completeness(tables: Tables) -> Completeness:
    """The figures of the tables, in one scan."""
    return summarise(ledger for _, ledger in read_ledgers(tables))


def completeness_lines(figures: Completeness) -> list[str]:
    """The figures for people, a line each."""
    if not figures.users:
        return ["no user is in the tables yet: run weibo-crawler import"]
    rows = [
        ("users in the tables", grouped(figures.users)),
        ("  never visited", grouped(figures.unvisited)),
        ("  visited to the end", grouped(figures.done - figures.limited)),
        ("  as far as site or limit let", grouped(figures.limited)),
        ("  visited in part", grouped(figures.partial)),
        ("  gone from the site", grouped(figures.gone)),
        ("  failed, to be tried again", grouped(figures.failed)),
        ("posts announced by profiles", grouped(figures.announced)),
        ("posts stored", grouped(figures.stored)),
        ("share held", percent(figures.share)),
        ("users whose end is unsure", grouped(figures.unsure_users)),
        ("long texts completed", grouped(figures.long_completed)),
        ("long texts still cut", grouped(figures.cut_texts)),
        ("pages refused", grouped(figures.refused_pages)),
        ("oldest visit", minute(figures.oldest_visit)),
        ("newest visit", minute(figures.newest_visit)),
        *((f"stopped: {WHY.get(why, why)}", grouped(n)) for why, n in figures.stopped.items()),
    ]
    left = max(len(name) for name, _ in rows)
    right = max(len(value) for _, value in rows)
    return [f"{name:<{left}}  {value:>{right}}" for name, value in rows]
