"""How fast an egress may go where visitor sessions are over too soon. Pure.

Some sites answer who is too fast as if the visitor session were over (432, a login wall, the page
that opens a visitor session). Nothing in the answer says so, but an experiment does, and it costs
nothing: between a session that is over and the next one that may be asked for an egress stands
still, so as many requests can be spread over that time as well. A session that is good for so many
requests ends as before then. One that goes on shows that the pace had ended it, and a pace between
the two is searched for by bisection, since each that is too high costs a standstill.
"""

from math import inf, sqrt

_SOON_S = 1.0  # a standstill of less is none
_IN_A_ROW = 2  # sessions that were over too soon: one alone may be ended by anything
_MORE = 1.25  # times as many requests show that slower helps
_LASTING = 2.0  # times as many show that a pace is allowed
_CLOSE = 1.1  # times the pace that lasts: what is not much faster is not tried
_RISE = 0.0001  # by such a share a second rises the pace that lasts, as limits change
_BACK = 1.05  # so much slower where it does not last any more, and its square the next time
_MOST_BACK = 2.0
_SPARED = 10  # sessions after slower did not help


class Tempo:
    """rate: requests a second at most; inf: any."""

    def __init__(self) -> None:
        self.rate = inf
        self._lasting, self._failing = 0.0, inf  # rates
        self._first = inf  # the rate at which sessions were over too soon
        self._uses = 0  # that they were good for
        self._in_a_row = self._spared = 0
        self._answers = 0  # at this rate
        self._back = _BACK

    def answered(self) -> None:
        """A request was answered as it should be, with the present session."""
        if self.rate == inf:
            return
        self._answers += 1
        if self._answers < self._uses * (_LASTING if self._lasting else _MORE):
            return
        if self.rate > self._lasting:
            self._lasting = self.rate
            self._seek()
            return
        self._back = _BACK
        self._lasting = self.rate = self.rate + _RISE  # an answer, and there are `rate` a second
        if self.rate > self._first:
            self._leave()

    def over(self, uses: int, after_s: float, wait_s: float) -> None:
        """The session is over, by a wall, after so many answers and seconds; wait_s: until the next
        one may be asked for."""
        is_too_soon = wait_s > _SOON_S and uses > 0 and after_s > 0
        spread = uses / (after_s + wait_s) if is_too_soon else 0.0  # with no standstill
        if self.rate < inf:
            if not self._lasting:
                self._leave()
                self._spared = _SPARED
            elif is_too_soon:
                self._failing = self.rate
                if self._lasting >= self.rate:
                    self._lasting = max(self.rate / self._back, min(spread, self.rate))
                    self._back = min(self._back**2, _MOST_BACK)
                self._seek()
            self._answers = 0
            return
        self._in_a_row = self._in_a_row + 1 if is_too_soon else 0
        if self._spared:
            self._spared -= 1
        elif self._in_a_row >= _IN_A_ROW:
            self._first = self._failing = uses / after_s
            self._uses, self._answers = uses, 0
            self.rate = spread

    def _seek(self) -> None:
        """Try the rate between, unless it is close."""
        self._answers = 0
        is_close = self._failing <= self._lasting * _CLOSE
        self.rate = self._lasting if is_close else sqrt(self._lasting * self._failing)

    def _leave(self) -> None:
        self.rate, self._lasting, self._failing, self._in_a_row = inf, 0.0, inf, 0
