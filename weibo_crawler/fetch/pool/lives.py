"""How many requests a session is good for, learnt from those before it. Pure."""

from collections.abc import Sequence
from functools import cache
from math import ceil, comb, inf

_KEPT = 20  # sessions
_CHANCE = 0.001  # at most, that so many sessions ended alike though each may end at any time
_MOST = 0.75  # of the sessions that tell: one may end sooner, by a wall that passes
_ALONE = 20  # requests that go alone
_ALIKE = 0.95  # what is counted differs by requests that failed, and by chance where time decides
_TRIED_EVERY = 10  # sessions: so often one is used to its end, which may come later by now
_SURE, _TRIED_REQUESTS = 15, 300  # once so many were alike: only after so many requests


class Lives:
    """The sessions of one egress, numbered from 1, and how many requests each has answered.

    Some sites end a session after so many requests, others after a while, which is as many at a
    constant pace. All that is under way then meets a wall, and is asked for again. So where most
    of the last ones that were good for so many ended right then, the next ones are given up after
    as many, but for one of ten, and one in 300 requests once that is well known. So many tell as
    would hardly do so by chance, of long lives three. Of one that is used for longer than one of
    the last two the next requests go alone, so that its end costs one of them: where sessions live
    for one or two requests, all do.
    """

    def __init__(self, told: Sequence[int] = ()) -> None:
        self._before = list(told)
        self._ended: list[int] = []  # sessions; answers to the last of them may still come
        self._answers: dict[int, int] = {}
        self._doubts = 0  # walls of the present session that may or may not be its end
        self._limit: float | None = None  # of all sessions; None: to be found
        self._tried_every = _TRIED_EVERY

    def begin(self, number: int, answers: int = 0) -> None:
        """A new session, which has answered so many for the holders before."""
        kept = {*self._ended, number - 1}
        self._answers = {one: n for one, n in self._answers.items() if one in kept}
        self._answers[number] = answers
        self._doubts, self._limit = 0, None

    def answered(self, number: int, *, is_doubt: bool = False) -> None:
        """By this session a request passed, or met a wall that is not its end: the site counts it,
        too. is_doubt: a wall that is not, if anything passes after it. By a session of long ago it
        tells nothing."""
        if is_doubt:
            self._doubts += 1
        elif number in self._answers:
            self._answers[number] += 1 + self._doubts
            self._doubts = 0
            self._limit = None if number in self._ended else self._limit

    def end(self, number: int) -> None:
        """A wall says that this session is over."""
        if len(self._ended) == 2:
            self._before = [*self._before, self._answers[self._ended.pop(0)]][-_KEPT:]
        self._ended.append(number)

    def is_spent(self, number: int, uses: int) -> bool:
        """Whether this session, after so many requests, is likely to be over."""
        if self._limit is None:
            self._limit, alike = _limit(self.told)
            self._tried_every = _TRIED_EVERY
            if alike >= _SURE:
                self._tried_every = max(_TRIED_EVERY, ceil(_TRIED_REQUESTS / self._limit))
        return uses >= self._limit and number % self._tried_every != 0

    def may_be_over(self, uses: int) -> bool:
        """Whether one of the last two that answered ended after a few requests less."""
        return any(life and 0 < uses - life <= _ALONE for life in self.ended)

    def were_over(self, uses: int) -> bool:
        """Whether the last two both ended after a few requests less."""
        ended = self.ended
        return len(ended) == 2 and all(0 < uses - life <= _ALONE for life in ended)

    def of(self, number: int) -> int:
        """How many requests this session has answered."""
        return self._answers.get(number, 0)

    @property
    def ended(self) -> list[int]:
        """How many requests the last two answered that ended by a wall."""
        return [*self._before[-2:], *(self._answers[one] for one in self._ended)][-2:]

    @property
    def told(self) -> list[int]:
        """The same of all that are remembered."""
        return [*self._before, *(self._answers[one] for one in self._ended)]


def _limit(lives: Sequence[int]) -> tuple[float, int]:
    """The least number of requests at which most of those ended that were good for as many, and how
    many are known that did; inf: there is none that enough of them tell. lives: the latest last."""
    for life in sorted(set(lives) - {0}):
        alike = 0
        for n, one in enumerate((one for one in reversed(lives) if one >= life), 1):
            alike += one * _ALIKE <= life
            if alike >= _MOST * n and _chance(life, alike, n) <= _CHANCE:
                return life, sum(life <= one <= life / _ALIKE for one in lives)
    return inf, 0


@cache
def _chance(life: int, alike: int, n: int) -> float:
    """How likely so many of n sessions, or more, would end alike after so many requests where each
    request is the last one by the same chance, and they are good for as many on average."""
    each = 1 - (life / (life + 1)) ** (int(life / _ALIKE) - life + 1)
    return sum(comb(n, k) * each**k * (1 - each) ** (n - k) for k in range(alike, n + 1))
