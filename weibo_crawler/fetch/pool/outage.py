"""When no egress may go, or only to be tried again. Pure: `now` is an argument."""

from math import inf
from typing import NamedTuple

_SAID_S, _SAID_AGAIN_S = 5.0, 600.0  # shorter outages are not worth a line


class Advice(NamedTuple):
    """What to do in an outage. wait_s: at most, None: stop the run. is_news: it is to be said."""

    wait_s: float | None
    is_news: bool


class Outage:
    """Lasts from when all egresses are out until one is answered. words: of the last look, "" while
    there is none. limit_s: how long a run endures it, None: for ever."""

    def __init__(self, limit_s: float | None) -> None:
        self._limit_s = limit_s
        self._since: float | None = None
        self._said_at = -inf
        self.words = ""

    def __bool__(self) -> bool:
        return self._since is not None

    def met(self, words: str, wait_s: float, now: float) -> Advice:
        """Nothing may go. words: why, as `Ring.outage`; wait_s: until something may."""
        self.words = words
        if not words:
            return Advice(wait_s, is_news=False)
        if self._since is None:
            self._since = now
        lasted_s = now - self._since
        if self._limit_s is None:
            is_long = max(wait_s, lasted_s) >= _SAID_S
            is_news = is_long and now - self._said_at >= _SAID_AGAIN_S
            self._said_at = now if is_news else self._said_at
            return Advice(wait_s, is_news)
        left_s = self._limit_s - lasted_s
        return Advice(min(wait_s, left_s) if left_s > 0 else None, is_news=False)

    def ended(self) -> None:
        """An egress was answered."""
        self._since, self._said_at, self.words = None, -inf, ""
