"""How old the data is: ages in a histogram, so that memory does not grow with the users. Pure."""

import math
from collections import Counter

_STEP = 1.05  # each bin is 5 % wider than the one before
_LEAST_S = 60.0


class Ages:
    """Ages in seconds, counted in bins; quantiles are told to 5 %."""

    def __init__(self) -> None:
        self._bins: Counter[int] = Counter()

    def add(self, age_s: float) -> None:
        """One age; less than a minute counts as up to a minute."""
        self._bins[max(0, math.ceil(math.log(max(age_s, _LEAST_S) / _LEAST_S, _STEP)))] += 1

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
                return _LEAST_S * _STEP**number
        return None
