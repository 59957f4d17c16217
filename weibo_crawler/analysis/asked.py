"""What a stage has asked for so far, by purpose and kind: the counters `asked.*` of the fetcher."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weibo_crawler.records import EMPTY, Kind, Verdict

_PAGES = (Verdict.OK, Verdict.GONE, Verdict.RESTRICTED)


class Tally(NamedTuple):
    """Requests by what came of them. spoilt: refusals, troubles, no answer: to be sent again; kept:
    pages that were not asked for, as a harvest had read them."""

    pages: int = 0
    ends: int = 0
    walls: int = 0
    spoilt: int = 0
    kept: int = 0

    @property
    def told(self) -> int:
        """Those that told something."""
        return self.pages + self.ends + self.walls

    @property
    def sent(self) -> int:
        """All of them."""
        return self.told + self.spoilt

    @property
    def factor(self) -> float:
        """Requests sent for each that told something."""
        return 1 + self.spoilt / self.told if self.told else 1.0

    def plus(self, other: "Tally") -> "Tally":
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))


class Asked:
    """The counters of all runs of a stage together."""

    def __init__(self, counters: Mapping[str, int]) -> None:
        self._counters = counters
        self._tallies: dict[tuple[str, str], Tally] = {}
        for name, n in counters.items():
            first, *words = name.split(".")
            if first == "asked" and len(words) == 3:
                purpose, kind, verdict = words
                known = self._tallies.get((purpose, kind), Tally())
                self._tallies[purpose, kind] = known.plus(_tally(verdict, n))

    def of(self, purpose: str, kind: Kind) -> Tally:
        return self._tallies.get((purpose, kind.value), Tally())

    def kinds(self, purpose: str) -> list[Kind]:
        """Of which something was asked for this purpose."""
        return [kind for kind in Kind if (purpose, kind.value) in self._tallies]

    def all(self, purposes: Iterable[str] | None = None) -> Tally:
        """Sessions aside."""
        wanted = None if purposes is None else set(purposes)
        summed = Tally()
        for (purpose, _), tally in self._tallies.items():
            if wanted is None or purpose in wanted:
                summed = summed.plus(tally)
        return summed

    @property
    def sessions(self) -> int:
        return self._counters.get("session.asked", 0)

    def __getitem__(self, name: str) -> int:
        """A counter by its whole name."""
        return self._counters.get(name, 0)


def _tally(verdict: str, n: int) -> Tally:
    if verdict in _PAGES:
        return Tally(pages=n)
    if verdict in EMPTY:
        return Tally(ends=n)
    if verdict == Verdict.LOGIN_WALL:
        return Tally(walls=n)
    return Tally(kept=n) if verdict == "kept" else Tally(spoilt=n)
