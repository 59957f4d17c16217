"""What a benchmark gives: figures, each of two numbers of one run; and how runs take turns."""

import statistics
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import say


class Figure(NamedTuple):
    """One line of the table: `what` beside `against`, both in the unit.

    aim: of ours / theirs, at least, or at most where is_limit; None: nothing is aimed at. Where
    the aim is a number of its own, theirs is that number, and against says so.
    """

    what: str
    against: str
    ours: float
    theirs: float
    unit: str
    aim: float | None = None
    is_limit: bool = False

    @property
    def name(self) -> str:
        return f"{self.what} / {self.against}"

    @property
    def ratio(self) -> float | None:
        """None where the other number is zero."""
        return self.ours / self.theirs if self.theirs else None

    @property
    def reached(self) -> float | None:
        """How many times the aim is reached: 1 and more is met; None: there is none."""
        if self.aim is None or not self.ratio:
            return None
        return self.aim / self.ratio if self.is_limit else self.ratio / self.aim

    @property
    def is_met(self) -> bool | None:
        reached = self.reached
        return None if reached is None else reached >= 1

    def as_dict(self) -> dict[str, Any]:
        """With what follows from the numbers, for programs."""
        return self._asdict() | {"ratio": self.ratio, "is_met": self.is_met}


class Scale(NamedTuple):
    """How much is measured. runs: of each contender. walk_users, post_users: of the worlds that are
    crawled, mean_posts of each user. few: users of the small userlist that a large one is compared
    with; walk_pages: fan pages stored into each. written: posts put into HBase; stored,
    stored_hbase: posts exported from each home."""

    runs: int
    walk_users: int
    post_users: int
    mean_posts: float
    starts: int
    seen: int
    few: int
    many: int
    walk_pages: int
    imported: int
    written: int
    stored: int
    stored_hbase: int

    def __str__(self) -> str:
        """For the docs, beside figures that do not name their size."""
        return (
            f"Medians of {self.runs} runs; users have {self.mean_posts:g} posts each on average, "
            f"{self.written:,} go into HBase; other sizes stand in the table."
        )


Suite = Callable[[Path, Scale], Iterator[Figure]]


def within(what: str, limit: float, ours: float, unit: str) -> Figure:
    """A number that has a limit of its own."""
    return Figure(what, "its limit", ours, limit, unit, 1, is_limit=True)


def take_turns(
    contenders: Mapping[str, Callable[[], float]], runs: int, unit: str
) -> dict[str, float]:
    """Of each contender the median of its numbers. All take turns, so that what else the machine
    does meets all of them."""
    numbers: dict[str, list[float]] = {name: [] for name in contenders}
    for run in range(runs):
        for name, contender in contenders.items():
            numbers[name].append(contender())
            say(f"{run + 1}/{runs} {name}: {numbers[name][-1]:,.4g} {unit}")
    return {name: statistics.median(each) for name, each in numbers.items()}
