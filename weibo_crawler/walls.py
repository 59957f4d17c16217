"""Which kinds of pages are closed to guests. Pure: `now` is an argument.

A guest may be shown no fan lists at all, or only the first pages of a list or a timeline
(weibo_api.md, "What decides the design", 3 and 4). That is a fact about a kind of page, not about
the users whose pages were asked for: harvest and posts go on without it, and try it again now and
then.
"""

import json
from collections import deque

WINDOW = 10  # answers of a kind; so few that all kinds together stay below a pace.stop_window
_CLOSED_AT = 9  # walls among them
PROBE_AFTER_S = 3600.0  # a closed kind is asked for again by one request an hour


class _Gate:
    """The last answers to pages of one number of a kind: True where it was a wall. is_shown:
    whether such a page, or a later one, was shown."""

    def __init__(self) -> None:
        self.answers: deque[bool] = deque(maxlen=WINDOW)
        self.is_shown = False
        self.probe_at = 0.0

    @property
    def is_closed(self) -> bool:
        return self.answers.count(True) >= _CLOSED_AT

    def close(self, probe_at: float) -> None:
        """Take it for closed, as others found it."""
        if not self.is_closed:
            self.answers.extend([True] * WINDOW)
        self.probe_at = max(self.probe_at, probe_at)


class Walls:
    """Open until 9 of the last 10 answers were login walls; then closed, but for a probe an hour.
    A probe that passes opens it again.

    A kind is an edge of a harvest, or what a request of a visit asks for. Its pages are told apart
    by their number, from 1: guests who see two pages of a list meet walls at page 3 alone, and more
    of those than answers of page 2. A wall closes what lies behind it, too, and a page that is
    shown opens those before it.
    """

    def __init__(self) -> None:
        self._gates: dict[str, dict[int, _Gate]] = {}
        self._noted: _Closed = {}  # as of the last exchange

    def may_ask(self, kind: str, nth: int, now: float) -> bool:
        """Whether to send: the kind is open as far as this page, or it is time for a probe, which
        this call grants."""
        closed = [gate for gate in self._until(kind, nth) if gate.is_closed]
        if closed and now < max(gate.probe_at for gate in closed):
            return False
        for gate in closed:
            gate.probe_at = now + PROBE_AFTER_S
        return True

    def met(self, kind: str, nth: int, now: float) -> None:
        """A request was answered by a login wall."""
        gate = self._gate(kind, nth)
        was_closed = gate.is_closed
        gate.answers.append(True)
        if gate.is_closed and not was_closed:
            gate.probe_at = now + PROBE_AFTER_S

    def shut(self, kind: str, nth: int, now: float) -> None:
        """Nobody is shown such a page, as others have proven."""
        gate = self._gate(kind, nth)
        if not gate.is_closed:
            gate.close(now + PROBE_AFTER_S)

    def passed(self, kind: str, nth: int) -> None:
        """A page was shown."""
        asked = self._gate(kind, nth)
        for gate in self._until(kind, nth):
            gate.is_shown = True
            if gate.is_closed:
                gate.answers.clear()
        asked.answers.append(False)

    def told_nothing(self, kind: str, nth: int, now: float) -> None:
        """A request was answered by neither: a probe that says nothing is no probe."""
        for gate in self._until(kind, nth):
            gate.probe_at = min(gate.probe_at, now)

    def is_closed(self, kind: str) -> bool:
        """Whether guests are shown nothing of the kind."""
        return self._gate(kind, 1).is_closed

    def is_proven_open(self, kind: str) -> bool:
        """Whether all that was asked of the kind was also shown to somebody, and still is."""
        gates = [gate for gate in self._gates.get(kind, {}).values() if gate.answers]
        return bool(gates) and all(gate.is_shown and not gate.is_closed for gate in gates)

    def exchange(self, note: str | None, now: float) -> str | None:
        """Learn from the note that all runs of a stage share what they found closed, and when it is
        to be tried again; the note with what this process has found since its last exchange, None:
        nothing. An odd note says nothing."""
        noted, mine = _read(note, now), self._closed()
        opened = self._noted.keys() - mine.keys()
        for kind, nth in (self._noted.keys() & mine.keys()) - noted.keys():
            self._gate(kind, nth).answers.clear()  # others passed
        for (kind, nth), probe_at in noted.items():
            if (kind, nth) not in opened:
                self._gate(kind, nth).close(probe_at)
        self._noted = self._closed()
        told = {f"{kind} {nth}": probe_at for (kind, nth), probe_at in self._noted.items()}
        return json.dumps(told) if self._noted != noted else None

    def _closed(self) -> "_Closed":
        return {
            (kind, nth): gate.probe_at
            for kind, gates in self._gates.items()
            for nth, gate in gates.items()
            if gate.is_closed
        }

    def _until(self, kind: str, nth: int) -> list[_Gate]:
        return [gate for n, gate in self._gates.get(kind, {}).items() if n <= nth]

    def _gate(self, kind: str, nth: int) -> _Gate:
        return self._gates.setdefault(kind, {}).setdefault(nth, _Gate())


_Closed = dict[tuple[str, int], float]  # kind and number of a page -> when to try it again


def _read(note: str | None, now: float) -> _Closed:
    """The gates of a note that can be read. What is to be tried much later than in an hour was
    noted by a clock that was ahead, and is tried now."""
    try:
        told = json.loads(note or "{}")
        names = [(name.partition(" "), float(at)) for name, at in told.items()]
        latest = now + 2 * PROBE_AFTER_S
        return {(kind, int(nth)): at if at <= latest else now for (kind, _, nth), at in names}
    except (ValueError, TypeError, AttributeError):
        return {}
