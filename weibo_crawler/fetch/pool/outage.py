"""When nothing usable comes: since when, what comes instead, when to look again, and when to give
up.

All egresses may be out, or the site itself away: then so many pages in a row bring nothing but
trouble as hardly would by chance. As long as it is, one request after the other looks whether it is
back, more and more seldom (a circuit breaker that is half open), and all others wait.
Pure: `now` is an argument.
"""

from collections import Counter, deque
from datetime import UTC, datetime
from math import ceil, inf, log
from typing import NamedTuple

_UNANSWERED = 1 / 4  # of the patience, where the site has answered nothing else so far
_SAID_S, _SAID_AGAIN_S = 5.0, 600.0  # shorter outages are not worth a line
# Pages with trouble in a row: so many would hardly be by chance, by the share of answers of late.
_AWAY_CHANCE, _AWAY_LEAST, _AWAY_MOST = 0.001, 3, 20
_OF_LATE = 300  # answers
_PRIOR_TROUBLE, _PRIOR = 0.5, 5.0  # answers added to those seen: few tell little
_REMEMBERED = 10_000  # pages that are broken for themselves
_LOOK_S, _LONGEST_LOOK_S = 0.5, 30.0  # between two looks at a site that is away
_LATER_S = 0.25
_GRAIN_S = 1e-6  # what is left of a time after rounding
_AWAY = "the site answers nothing but trouble"
_LATER = (
    "nothing is lost: come back later or with other egresses (`proxies check` tries them), then "
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
    enough where nothing else ever came.
    """

    def __init__(
        self,
        stop_s: float | None = None,
        give_up_s: float | None = None,
        *,
        refused_s: float = inf,
    ) -> None:
        self._stop_s, self._give_up_s, self._refused_s = stop_s, give_up_s, refused_s
        self._was_answered = False
        self._latest: deque[bool] = deque(maxlen=_OF_LATE)  # answers: whether they were trouble
        self._troubles = 0  # in a row
        self._troubled: set[str] = set()  # pages, since the site answered anything else
        self._broken: set[str] = set()  # pages, though others were shown after that
        self._is_away, self._looks, self._look_at = False, 0, -inf
        self.over = ""
        self._begin()

    def ended(self, page: str) -> bool:
        """This page was shown, or is known not to be; whether that ends an outage."""
        was_total = self.is_total
        self.answered()
        self._broken.discard(page)
        self._was_answered = True
        self._latest.append(False)
        self._begin()
        return was_total

    def answered(self) -> bool:
        """The site answers, whatever it says; whether it was away."""
        was_away, self._is_away = self._is_away, False
        if self._troubled:
            if not was_away:
                self._latest.extend([True] * self._troubles)
            self._troubles = 0
            self._broken |= self._troubled
            self._troubled.clear()
            if len(self._broken) > _REMEMBERED:
                self._broken.clear()
        self._looks, self._look_at = 0, -inf
        return was_away

    def _begin(self) -> None:
        self._refused_since = inf  # nothing but refusals
        self._bad_since = self._out_since = inf  # the first refusal; all were out
        self._bad_at = 0.0  # of the first refusal, since the epoch
        self._words, self._said_at = "", -inf
        self._whys: Counter[str] = Counter()

    @property
    def is_total(self) -> bool:
        """Whether all egresses were out, or the site was away, and none was answered since."""
        return self._out_since < inf or self._is_away

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
        """A refusal, trouble, or a failure of an egress or session. at: now, as seconds since the
        epoch."""
        if self._bad_since == inf:
            self._bad_since, self._bad_at = now, at
        self._whys[why] += 1
        self._refused_since = min(self._refused_since, now) if is_refusal else inf
        lasted_s = now - self._refused_since
        if lasted_s >= self._refused_s * (1.0 if self._was_answered else _UNANSWERED):
            self._words = self._words or "no pace is set, so no longer rest helps"
            self._stop(f"the site says no: nothing but refusals for {lasted_s:.0f} s: {self.words}")
        self._judge_patience(now)

    def troubled(self, page: str, why: str, now: float, at: float) -> None:
        """This page brought trouble, by an egress that is not to blame, and the site was there
        before."""
        self.bad(why, now, at)
        if self._is_away or page in self._broken:
            return
        self._troubled.add(page)
        self._troubles += 1
        share = (sum(self._latest) + _PRIOR_TROUBLE) / (len(self._latest) + _PRIOR)
        needed = ceil(log(_AWAY_CHANCE) / log(share))
        if len(self._troubled) >= min(max(needed, _AWAY_LEAST), _AWAY_MOST):
            self._is_away, self._look_at = True, now + _LOOK_S

    def hold_s(self, now: float, *, is_known: bool) -> float:
        """How long this request may not look whether the site is back; 0.0: it may, or the site is
        there. is_known: its page was shown before; one that was not tells less, so it looks only
        where no other does."""
        return max(0.0, self._look_at + (0.0 if is_known else _LATER_S) - now)

    def looks(self, now: float) -> None:
        """A request goes. Where the site is away it is the one that looks."""
        if self._is_away:
            self._looks += 1
            self._look_at = now + min(_LOOK_S * 2.0**self._looks, _LONGEST_LOOK_S)

    def met(self, words: str, wait_s: float, now: float) -> Advice:
        """Nothing may go. words: why, "" where nobody is out; wait_s: until something may."""
        words = words or (_AWAY if self._is_away else "")
        self._words = words
        if not words:
            return Advice(wait_s, is_news=False)
        self._out_since = min(self._out_since, now)
        lasted_s = now - self._out_since
        if self._stop_s is not None:
            if lasted_s >= self._stop_s - _GRAIN_S:
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
        if self._give_up_s is not None and lasted_s >= self._give_up_s - _GRAIN_S:
            self._words = self._words or "the site refuses all"
            is_long = lasted_s >= 3600
            lasted = f"{lasted_s / 3600:.1f} hours" if is_long else f"{lasted_s:.0f} s"
            self._stop(f"nothing usable has come for {lasted} (pace.give_up_s): {self.words}")

    def _stop(self, why: str) -> None:
        self.over = self.over or f"{why}; {_LATER}"
