"""What the mappers of one run wrote about themselves, read together. Pure.

On YARN a mapper's row bears the name of its task attempt. An attempt that died and the one that
took its place speak of the same users, so their outcomes must not be added up (law 6).
"""

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weibo_crawler.metrics import total
from weibo_crawler.store import WorkerRow
from weibo_crawler.warned import WARNED

ORDERED = "interrupted"  # how a mapper ends that was told to
WAITING = "mappers.waiting"  # the figure of a mapper that has no egress for now: 1
WAITING_AS = f"{WAITING} as "  # before why it has none
WAITING_FOR = f"{WAITING} for "  # before the name of a store that is away, and what it said
# visits that tell something about the site (no retries of what failed before, no doubts), and how
# many of them failed
FIRST, FIRST_FAILED = "users.first_visits", "users.first_visits_failed"
SILENT = "users.silent"  # visits that ended because the site showed nothing to anybody
BARE = "users.bare"  # first visits that were shown a profile, and none of the posts it announces
FAILED_BY = "failed by: "  # before why visits failed, or nobody was reached
MOST_REASONS = 3
_FIRST_AT_LEAST, _FAILED_AT_LEAST = 20, 5  # fewer say nothing about a share
_MOST_BARE = 0.5  # many hide their posts, yet not most
_NUMBER = re.compile(r"\d+")
_ATTEMPT = re.compile(r"attempt_(\d+_\d+_[mr]_\d+)_(\d+)")
# what an attempt says of each user again, also of those that attempts before it were done with
_OUTCOMES = ("users.", "posts.", "level.", FAILED_BY, WAITING)


class Said(NamedTuple):
    """What ended a mapper: the exit code of its error, and the error's text."""

    exit_code: int
    message: str


def worker_name(environ: Mapping[str, str], owner: str) -> str:
    """The name of this process's row: the task attempt on YARN, else its lease owner's name."""
    attempt = environ.get("mapreduce_task_attempt_id", "")
    return attempt if _ATTEMPT.fullmatch(attempt) else owner


def counters(rows: Iterable[WorkerRow]) -> dict[str, int]:
    """The figures of a run: outcomes by the last attempt of each task, pages and the rest, which
    happened as often as they were counted, by all of them."""
    earlier, last = _attempts(rows)
    events = [
        {name: n for name, n in row.counters.items() if not name.startswith(_OUTCOMES)}
        for row in earlier
    ]
    summed = total(events + [row.counters for row in last])
    return {name: n for name, n in summed.items() if not name.startswith(WARNED)}


def warnings(rows: Iterable[WorkerRow]) -> dict[str, str]:
    """What mappers warned of, by its words without the numbers: mappers that wait for the same
    egresses differ in seconds and ports."""
    names = (name for row in rows for name in row.counters if name.startswith(WARNED))
    texts = (name.removeprefix(WARNED) for name in names)
    return {_NUMBER.sub("0", text): text for text in texts}


def never_back(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """The figures of now as people see them: an attempt that follows one that died counts its users
    again from nothing, and none of them was lost meanwhile. Who waits is told as it is."""
    gone = {name: n for name, n in before.items() if not name.startswith(WAITING)}
    return {**gone, **{name: max(n, gone.get(name, 0)) for name, n in now.items()}}


def said(rows: Iterable[WorkerRow]) -> list[Said]:
    """The errors that ended the last attempt of each task."""
    return [found for row in _attempts(rows)[1] if (found := parse_said(row.ended or ""))]


def were_stopped(rows: Iterable[WorkerRow]) -> bool:
    """Whether a mapper ended early because it was told to."""
    return any(row.ended == ORDERED for row in _attempts(rows)[1])


def visited(counters: Mapping[str, int]) -> int:
    """How many visits were made."""
    return counters.get("users.input", 0) - counters.get("users.existing", 0)


def stopped(counters: Mapping[str, int], *, is_killed: bool = False) -> str:
    """What is said of a run that was told to stop."""
    left = "is asked for again" if is_killed else "is stored"
    return (
        f"stopped; {visited(counters):,} users visited, "
        f"{counters.get('posts.new', 0):,} new posts; what was in flight {left}, the same command "
        "goes on"
    )


def why_failed(counters: Mapping[str, int]) -> str:
    """Why visits failed, the most frequent reasons first, in brackets; "" where none did."""
    reasons = [(n, name) for name, n in counters.items() if name.startswith(FAILED_BY)]
    most = sorted(reasons, reverse=True)[:MOST_REASONS]
    said = ", ".join(f"{n:,} x {name.removeprefix(FAILED_BY)}" for n, name in most)
    return f" ({said})" if said else ""


class Latest:
    """The figures of the latest runs that together made twenty visits: fewer say nothing about a
    share, and what was long ago nothing about now."""

    def __init__(self) -> None:
        self._runs: deque[dict[str, int]] = deque()

    def add(self, counters: dict[str, int]) -> dict[str, int]:
        """One more run; the sums of those that count from now on."""
        self._runs.append(counters)
        visits = sum(map(visited, self._runs))
        while visits - visited(self._runs[0]) >= _FIRST_AT_LEAST:
            visits -= visited(self._runs.popleft())
        return total(list(self._runs))


def too_many_failed(counters: Mapping[str, int], most_share: float) -> bool:
    """Whether so large a share of the first visits failed that it is the site's fault."""
    first, failed = counters.get(FIRST, 0), counters.get(FIRST_FAILED, 0)
    if first < _FIRST_AT_LEAST or failed < _FAILED_AT_LEAST:
        return False
    return failed > most_share * first


def too_many_unreached(counters: Mapping[str, int], most_share: float) -> bool:
    """Whether the site had no answer for so many that the run has not done what it was for."""
    missed = counters.get("users.unreached", 0)
    return missed >= _FAILED_AT_LEAST and missed > most_share * visited(counters)


def fell_silent(counters: Mapping[str, int], visited: int, most_share: float) -> bool:
    """Whether the site showed nothing to anybody in this run, or to many from some moment on. Each
    mapper sees too few of them to tell."""
    silent = counters.get(SILENT, 0)
    if not silent or not counters.get("page.ok"):
        return silent > 0
    return silent >= _FAILED_AT_LEAST and silent > most_share * visited


def shows_no_posts(counters: Mapping[str, int]) -> bool:
    """Whether the site showed hardly anybody's posts, though profiles announce them: silence of one
    kind, of which each mapper, and so its circuit breaker, may see too little to tell."""
    bare = counters.get(BARE, 0)
    return bare >= _FIRST_AT_LEAST and bare > _MOST_BARE * (bare + counters.get(FIRST, 0))


def ended_by(exit_code: int, message: str) -> str:
    """What a row says of an error; `parse_said` reads it."""
    return f"exit {exit_code}: {message}"


def parse_said(text: str) -> Said | None:
    """The error in a row's `ended`, None where it is none."""
    match = re.fullmatch(r"exit (\d+): (.*)", text, re.DOTALL)
    return Said(int(match[1]), match[2]) if match else None


def _attempts(rows: Iterable[WorkerRow]) -> tuple[list[WorkerRow], list[WorkerRow]]:
    """(attempts that others came after, the last attempt of each task)."""
    last: dict[str, tuple[int, WorkerRow]] = {}
    earlier = []
    for row in rows:
        match = _ATTEMPT.fullmatch(row.worker)
        task, number = (match[1], int(match[2])) if match else (row.worker, 0)
        if task in last:
            first, second = sorted([last[task], (number, row)], key=lambda each: each[0])
            earlier.append(first[1])
            last[task] = second
        else:
            last[task] = number, row
    return earlier, [row for _, row in last.values()]
