"""How many requests a session is good for, learnt from those before it. Pure."""

from collections.abc import Sequence
from math import ceil

_LEAST = 20  # requests: shorter lives may be alike by chance, so two of them do not tell, ...
_TELLING = 60  # ... but so many that were good for so many requests together do
_MOST = 0.75  # of those: one may end sooner, by a wall that passes
_ALONE = 20  # requests that go alone
_ALIKE = 0.95  # what is counted differs by requests that failed, and by chance where time decides
_TRIED_EVERY = 10  # sessions: so often one is used to its end, which may come later by now


class Lives:
    """The sessions of one egress, numbered from 1, and how many requests each has answered.

    Some sites end a session after so many requests, others after a while, which is as many at a
    constant pace. All that is under way then meets a wall, and is asked for again. So where the
    last two that ended by a wall were good for about as many (of short lives most of more than
    two, and none for more), the next ones are given up after the smallest number of them, but for
    one of ten. Of one that is used for longer than one of the last two the next requests go alone,
    so that its end costs one of them: where sessions live for one or two requests, all do.
    """

    def __init__(self, told: Sequence[int] = ()) -> None:
        self._before = list(told)
        self._ended: list[int] = []  # sessions; answers to the last of them may still come
        self._answers: dict[int, int] = {}

    def begin(self, number: int, answers: int = 0) -> None:
        """A new session, which has answered so many for the holders before."""
        kept = {*self._ended, number - 1}
        self._answers = {one: n for one, n in self._answers.items() if one in kept}
        self._answers[number] = answers

    def answered(self, number: int) -> None:
        """By this session a request passed; by one of long ago it tells nothing."""
        if number in self._answers:
            self._answers[number] += 1

    def end(self, number: int) -> None:
        """A wall says that this session is over."""
        if len(self._ended) == 2:
            self._before = [*self._before, self._answers[self._ended.pop(0)]][-_TELLING:]
        self._ended.append(number)

    def is_spent(self, number: int, uses: int) -> bool:
        """Whether this session, after so many requests, is likely to be over."""
        last = self.ended
        if len(last) < 2 or uses < min(last) or number % _TRIED_EVERY == 0:
            return False
        needed = 2 if max(last) >= _LEAST else ceil(_TELLING / max(1, *last))
        lives = self.told[-needed:]
        alike = [life for life in lives if life >= _ALIKE * max(lives)]
        is_rule = len(lives) == needed and len(alike) >= _MOST * needed
        return is_rule and 0 < min(alike) <= uses

    def may_be_over(self, uses: int) -> bool:
        """Whether one of the last two ended after a few requests less."""
        return any(0 < uses - life <= _ALONE for life in self.ended)

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
        return self.told[-2:]

    @property
    def told(self) -> list[int]:
        """The same of all that are remembered."""
        return [*self._before, *(self._answers[one] for one in self._ended)]
