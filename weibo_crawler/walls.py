"""Which kinds of pages are closed to guests. Pure: `now` is an argument.

A guest may be shown no fan lists at all, or only the first pages of a list or a timeline
(weibo_api.md, "What decides the design", 3 and 4). That is a fact about a kind of page, not about
the users whose pages were asked for: harvest and posts go on without it, and try it again now and
then.
"""

import json
from bisect import bisect_right, insort
from collections.abc import Callable
from math import ceil, inf, log

IN_A_ROW = 9  # walls, where nobody is shown such a page; so few that all kinds together stay below
# a pace.stop_window
_BY_CHANCE = 1e-6  # that so many are walled in a row where some are shown
PROBE_AFTER_S = 3600.0  # a closed kind is asked for again by one request an hour


class _Gate:
    """What was met at pages of one number of a kind. row: when the walls were asked for that were
    asked for after the last page that was shown, in order. is_shown: whether such a page, or a
    later one, was shown."""

    def __init__(self) -> None:
        self.walls = self.pages = 0
        self.row: list[float] = []
        self.shown_at = -inf  # when the last one was asked for
        self.is_shown = self.is_closed = False
        self.probe_at = 0.0

    def met(self, asked_at: float, *, is_again: bool) -> bool:
        """Count a wall; whether it closes the gate. Walls come later than pages, as they are asked
        for again, so what counts is the order in which they were asked for."""
        if is_again and self.pages:
            return False
        self.walls += 1
        if asked_at >= self.shown_at:
            insort(self.row, asked_at)
        was_closed = self.is_closed
        self.is_closed |= len(self.row) >= self._needed()
        return self.is_closed and not was_closed

    def passed(self, asked_at: float) -> None:
        """Count a page that was shown."""
        self.pages += 1
        self.shown_at = max(self.shown_at, asked_at)
        self.row = self.row[bisect_right(self.row, asked_at) :]

    def open(self) -> None:
        """Take it for open, until as many walls come again."""
        self.is_closed = False
        self.row = []

    def close(self, probe_at: float) -> None:
        """Take it for closed, as others found it."""
        self.is_closed = True
        self.probe_at = max(self.probe_at, probe_at)

    def _needed(self) -> int:
        """How many walls in a row are no chance: where lists of some are walled, and those of
        others are shown, a row of them says nothing of the kind."""
        if not self.pages:
            return IN_A_ROW
        before = self.walls - len(self.row)
        share = (before + 1) / (before + self.pages + 2)
        return max(IN_A_ROW, ceil(log(_BY_CHANCE) / log(share)))


class Walls:
    """Open until nine answers in a row were login walls, or as many as are no chance where some
    were shown; then closed, but for a probe an hour. A probe that passes opens it again.

    A kind is an edge of a harvest, or what a request of a visit asks for. Its pages are told apart
    by their number, from 1: guests who see two pages of a list meet walls at page 3 alone, and more
    of those than answers of page 2. A wall closes what lies behind it, too, and a page that is
    shown opens those before it.
    """

    def __init__(self) -> None:
        self._gates: dict[str, dict[int, _Gate]] = {}
        self._noted: _Closed = {}  # as of the latest `learn`

    def may_ask(self, kind: str, nth: int, now: float, *, shown: int = 0) -> bool:
        """Whether to send: the kind is open as far as this page, or it is time for a probe, which
        this call grants. shown: how many pages of this very list were shown: no wall at those of
        others tells of them."""
        closed = [gate for gate in self._until(kind, nth, shown) if gate.is_closed]
        if closed and now < max(gate.probe_at for gate in closed):
            return False
        for gate in closed:
            gate.probe_at = now + PROBE_AFTER_S
        return True

    def met(self, kind: str, nth: int, now: float, *, is_again: bool = False) -> None:
        """A request that was sent at this time was answered by a login wall. is_again: one for the
        same page was before. Where others are shown such pages, those that are walled are left over
        and come in a row in the end, which is no chance, and tells nothing of the kind."""
        gate = self._gate(kind, nth)
        if gate.met(now, is_again=is_again):
            gate.probe_at = now + PROBE_AFTER_S

    def shut(self, kind: str, nth: int, now: float) -> None:
        """Nobody is shown such a page, as others have proven."""
        gate = self._gate(kind, nth)
        if not gate.is_closed:
            gate.close(now + PROBE_AFTER_S)

    def passed(self, kind: str, nth: int, now: float) -> None:
        """A page was shown that was asked for at this time."""
        self._gate(kind, nth).passed(now)
        for gate in self._until(kind, nth):
            gate.is_shown = True
            if gate.is_closed:
                gate.open()

    def told_nothing(self, kind: str, nth: int, now: float) -> None:
        """A request was answered by neither: a probe that says nothing is no probe."""
        for gate in self._until(kind, nth):
            gate.probe_at = min(gate.probe_at, now)

    def is_closed(self, kind: str) -> bool:
        """Whether guests are shown nothing of the kind."""
        return self._gate(kind, 1).is_closed

    def is_proven_open(self, kind: str) -> bool:
        """Whether all that was asked of the kind was also shown to somebody, and still is."""
        gates = [gate for gate in self._gates.get(kind, {}).values() if gate.walls or gate.pages]
        return bool(gates) and all(gate.is_shown and not gate.is_closed for gate in gates)

    def news(self, now: float) -> Callable[[str | None], str] | None:
        """What adds to the note that all runs of a stage share what this process has found closed
        or open since the latest `learn`, and when it is to be tried again; None: that is nothing.
        It may be called more than once, in any thread."""
        mine, noted = self._closed(), self._noted
        opened = noted.keys() - mine.keys()
        closed = {of: at for of, at in mine.items() if at > noted.get(of, -inf)}

        def add(note: str | None) -> str:
            told = {of: at for of, at in _read(note, now).items() if of not in opened}
            told |= {of: max(at, told.get(of, at)) for of, at in closed.items()}
            return json.dumps({f"{kind} {nth}": at for (kind, nth), at in told.items()})

        return add if opened or closed else None

    def learn(self, note: str | None, now: float) -> None:
        """Learn from the note. An odd one says nothing."""
        noted, mine = _read(note, now), self._closed()
        opened = self._noted.keys() - mine.keys()
        for kind, nth in (self._noted.keys() & mine.keys()) - noted.keys():
            self._gate(kind, nth).open()  # others passed
        for (kind, nth), probe_at in noted.items():
            if (kind, nth) not in opened:
                self._gate(kind, nth).close(probe_at)
        self._noted = noted

    def _closed(self) -> "_Closed":
        return {
            (kind, nth): gate.probe_at
            for kind, gates in self._gates.items()
            for nth, gate in gates.items()
            if gate.is_closed
        }

    def _until(self, kind: str, nth: int, after: int = 0) -> list[_Gate]:
        return [gate for n, gate in self._gates.get(kind, {}).items() if after < n <= nth]

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
