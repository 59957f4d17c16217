"""When nothing usable comes: since when, what comes instead, and when to give up.

Pure: `now` is an argument.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from math import inf
from typing import NamedTuple

_UNANSWERED = 1 / 4  # of the patience, where the site has answered nothing else so far
_SAID_S, _SAID_AGAIN_S = 5.0, 600.0  # shorter outages are not worth a line
_LATER = (
    "nothing is lost: come back later{} or with other egresses (`proxies check` tries them), then "
    "run the same command again"
)


class Advice(NamedTuple):
    """What to do while no egress may go. wait_s: at most so long; is_news: it is to be said."""

    wait_s: float
    is_news: bool


class Outage:
    """What has come since the last good answer. `over`: why the run must stop, "" while it may go
    on.

    stop_s: how long all egresses may rest or be dead, None: as long as they do. give_up_s: how long
    refusals and failures may be all that comes, None: for ever. refused_s: the same of refusals
    alone, where nobody is spared by waiting; inf: no other time. A quarter of it is
    enough where nothing else ever came. pace: the one to set, in words.
    """

    def __init__(
        self,
        stop_s: float | None = None,
        give_up_s: float | None = None,
        *,
        refused_s: float = inf,
        pace: Callable[[], str] = str,
    ) -> None:
        self._pace = pace
        self._stop_s, self._give_up_s, self._refused_s = stop_s, give_up_s, refused_s
        self._was_answered = False
        self.over = ""
        self._begin()

    def ended(self) -> None:
        """A good answer came."""
        self._was_answered = True
        self._begin()

    def _begin(self) -> None:
        self._refused_since = inf  # nothing but refusals
        self._bad_since = self._out_since = inf  # the first refusal; all were out
        self._bad_at = 0.0  # of the first refusal, since the epoch
        self._words, self._said_at = "", -inf
        self._whys: Counter[str] = Counter()

    @property
    def is_total(self) -> bool:
        """Whether all egresses were out, and none was answered since."""
        return self._out_since < inf

    @property
    def words(self) -> str:
        """Why nothing goes, as it was seen last; "" where something does."""
        if not self._words or not self._whys:
            return self._words
        most = ", ".join(f"{why} {n:,} x" for why, n in self._whys.most_common(3))
        more = ", …" if len(self._whys) > 3 else ""
        since = datetime.fromtimestamp(self._bad_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"{self._words}; in the way since {since}: {most}{more}"

    def bad(self, why: str, now: float, at: float, *, is_refusal: bool = False) -> None:
        """A refusal, or a failure of an egress or session. at: now, as seconds since the epoch."""
        if self._bad_since == inf:
            self._bad_since, self._bad_at = now, at
        self._whys[why] += 1
        self._refused_since = min(self._refused_since, now) if is_refusal else inf
        lasted_s = now - self._refused_since
        if lasted_s >= self._refused_s * (1.0 if self._was_answered else _UNANSWERED):
            self._words = self._words or "no pace is set, so no longer rest helps"
            why = f"the site says no: nothing but refusals for {lasted_s:.0f} s: {self.words}"
            self._stop(why, self._pace())
        self._judge_patience(now)

    def met(self, words: str, wait_s: float, now: float) -> Advice:
        """Nothing may go. words: why, "" where nobody is out; wait_s: until something may."""
        self._words = words
        if not words:
            return Advice(wait_s, is_news=False)
        self._out_since = min(self._out_since, now)
        lasted_s = now - self._out_since
        if self._stop_s is not None:
            if lasted_s >= self._stop_s:
                self._stop(f'{self.words}; egress.when_empty = "stop" ends the run')
            return Advice(min(wait_s, self._stop_s - lasted_s), is_news=False)
        self._judge_patience(now)
        if self._give_up_s is not None:
            since = min(self._bad_since, self._out_since)
            wait_s = min(wait_s, since + self._give_up_s - now)
        is_long = max(wait_s, lasted_s) >= _SAID_S
        is_news = is_long and now - self._said_at >= _SAID_AGAIN_S
        self._said_at = now if is_news else self._said_at
        return Advice(wait_s, is_news)

    def _judge_patience(self, now: float) -> None:
        lasted_s = now - min(self._bad_since, self._out_since)
        if self._give_up_s is not None and lasted_s >= self._give_up_s:
            self._words = self._words or "the site refuses all"
            is_long = lasted_s >= 3600
            lasted = f"{lasted_s / 3600:.1f} hours" if is_long else f"{lasted_s:.0f} s"
            self._stop(f"nothing usable has come for {lasted} (pace.give_up_s): {self.words}")

    def _stop(self, why: str, pace: str = "") -> None:
        self.over = self.over or f"{why}; {_LATER.format(pace and f', with {pace},')}"
