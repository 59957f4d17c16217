"""How many requests a session is good for, learnt from those before it. Pure."""

from collections.abc import Sequence

_LEAST = 20  # requests: shorter lives may be alike by chance, which gives up no session
_ALONE = 20  # requests that go alone
_ALIKE = 0.95  # what is counted differs by requests that failed, and by chance where time decides
_TRIED_EVERY = 10  # sessions: so often one is used to its end, which may come later by now


class Lives:
    """The sessions of one egress, numbered from 1, and how many requests each has answered.

    Some sites end a session after so many requests, others after a while, which is as many at a
    constant pace. All that is under way then meets a wall, and is asked for again. So where the
    last two that ended by a wall were good for about as many, the next ones are given up after the
    smaller number of them, but for one of ten. Of one that is used for longer than one of these the
    next requests go alone, so that its end costs one of them: where sessions live for one or two
    requests, all do.
    """

    def __init__(self, ended: Sequence[int] = ()) -> None:
        self._before = list(ended)
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
        self._ended = [*self._ended, number][-2:]

    def is_spent(self, number: int, uses: int) -> bool:
        """Whether this session, after so many requests, is likely to be over."""
        if number % _TRIED_EVERY == 0:
            return False
        ended = self.ended
        if len(ended) < 2 or min(ended) < max(_LEAST, _ALIKE * max(ended)):
            return False
        return uses >= min(ended)

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
        return [*self._before, *(self._answers[one] for one in self._ended)][-2:]
