"""Second looks at ends that contradict a count, as an experiment: how often does one show more?

While that may be more often than a limit, every such end is looked at again. Once it is rare, only
a sample is, and the latest looks go on deciding: where they show more again, all are asked again.
Pure: the dice are an argument.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from random import Random
from typing import NamedTuple

_CONFIDENCE = 0.95
_REMEMBERED = 5.0  # looks by the limit: with 500 at 1 in 100 two finds end the sampling
_SAMPLED = 1 / 20  # of the ends, once second looks are known to be futile


class Figures(NamedTuple):
    """ends: met in all; looks: how many were looked at again; finds: how many of these showed more;
    most: the share of ends that a second look would open is below, at 95 %, by the latest looks."""

    ends: int
    looks: int
    finds: int
    most: float


class Samples:
    """The experiments of one run, by kind of end.

    limit: the share of second looks that show more below which only a sample is taken; 0: all ends
    are looked at again.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._kinds: dict[str, _Kind] = {}

    def wants(self, kind: str, rng: Random) -> bool:
        """Count an end of this kind; whether it is to be looked at again."""
        known = self._of(kind)
        known.ends += 1
        return not known.is_rare or rng.random() < _SAMPLED

    def looked(self, kind: str, *, found: bool) -> None:
        """Tell what a second look has shown. found: more than the first one."""
        self._of(kind).looked(found)

    def figures(self) -> dict[str, Figures]:
        """Of each kind of end that was met in this run."""
        return {kind: known.figures() for kind, known in self._kinds.items() if known.ends}

    def dump(self) -> dict[str, str]:
        """The latest looks of each kind, for a later run: one character a look, "1" where it found
        something."""
        return {kind: "".join("01"[found] for found in k.latest) for kind, k in self._kinds.items()}

    def load(self, looks: Mapping[str, str]) -> None:
        """Go on from what `dump` gave. What is no such text is left out."""
        for kind, said in looks.items():
            if not set(said) - {"0", "1"}:
                self._of(kind).remember(mark == "1" for mark in said)

    def _of(self, kind: str) -> "_Kind":
        if kind not in self._kinds:
            self._kinds[kind] = _Kind(self._limit)
        return self._kinds[kind]


class _Kind:
    """One experiment. latest: whether each of the latest looks found something; is_rare: whether so
    few finds would be a coincidence if their share were the limit."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self.latest = deque[bool](maxlen=round(_REMEMBERED / limit) if limit else 0)
        self.ends = self._looks = self._finds = 0
        self.is_rare = False

    def remember(self, looks: Iterable[bool]) -> None:
        self.latest.extend(looks)
        self.is_rare = self._limit > 0 and self._is_below(self._limit)

    def looked(self, found: bool) -> None:
        self._looks += 1
        self._finds += found
        self.remember([found])

    def figures(self) -> Figures:
        return Figures(self.ends, self._looks, self._finds, self._most())

    def _is_below(self, share: float) -> bool:
        n, finds = len(self.latest), sum(self.latest)
        return _chance_of_at_most(finds, n, share) <= 1 - _CONFIDENCE

    def _most(self) -> float:
        """The upper end of the one-sided Clopper-Pearson interval, to a millionth."""
        low, high = 0.0, 1.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if self._is_below(middle) else (middle, high)
        return high


def _chance_of_at_most(k: int, n: int, share: float) -> float:
    """Of the binomial distribution: at most k of n, where each comes with the chance `share`."""
    if share >= 1:
        return float(k >= n)
    term = total = (1 - share) ** n
    for i in range(k):
        term *= (n - i) / (i + 1) * share / (1 - share)
        total += term
    return total
