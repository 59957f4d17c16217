"""How old the data is, and how far back it goes: ages in a histogram, so that memory does not grow
with the users. Pure."""

import math
from collections import Counter

_STEP = 1.05  # each bin is 5 % wider than the one before
_LEAST_S = 60.0


class Ages:
    """Ages in seconds, counted in bins; quantiles are told to 5 %."""

    def __init__(self) -> None:
        self._bins: Counter[float] = Counter()

    def add(self, age_s: float) -> None:
        """One age, which may be infinite; less than a minute counts as up to a minute."""
        steps = math.log(max(age_s, _LEAST_S) / _LEAST_S, _STEP)
        self._bins[steps if math.isinf(steps) else max(0, math.ceil(steps))] += 1

    def merge(self, other: "Ages") -> None:
        """Count what the other counted as well."""
        self._bins.update(other._bins)

    def quantile(self, share: float) -> float | None:
        """An age that at least this share of the ages does not exceed, at most 5 % more than the
        smallest such age (or a minute); None without ages."""
        left = math.ceil(share * self._bins.total())
        for number in sorted(self._bins):
            left -= self._bins[number]
            if left <= 0:
                return _LEAST_S * math.pow(_STEP, number)
        return None

    def reached(self, share: float) -> float | None:
        """An age that at least this share of the ages reach, at most 5 % less than the largest such
        age, 0.0 for one of up to a minute; None without ages."""
        left = math.ceil(share * self._bins.total())
        for number in sorted(self._bins, reverse=True):
            left -= self._bins[number]
            if left <= 0:
                return _LEAST_S * math.pow(_STEP, number - 1) if number else 0.0
        return None
