"""Which edges are closed to guests. Pure: `now` is an argument.

A guest may be shown no fan lists at all, or only their first pages (WEIBO_API, "What decides the
design", 3 and 4). That is a fact about an edge, not about the users whose lists were asked for: the
walk goes on without that edge, and tries it again now and then.
"""

from collections import deque

from weibo_crawler.records import Edge

WINDOW = 10  # answers of an edge; so few that all edges together stay below a pace.stop_window
_CLOSED_AT = 9  # walls among them
_PROBE_AFTER_S = 3600.0  # a closed edge is asked again by one request an hour


class _Gate:
    """The last answers to one sort of page of one edge: True where it was a wall."""

    def __init__(self) -> None:
        self.answers: deque[bool] = deque(maxlen=WINDOW)
        self.passes = 0
        self.probe_at = 0.0

    @property
    def is_closed(self) -> bool:
        return sum(self.answers) >= _CLOSED_AT


class Walls:
    """Open until 9 of the last 10 answers were login walls; then closed, but for a probe an hour.
    A probe that passes opens it again. First pages and later ones of an edge are told apart."""

    def __init__(self) -> None:
        self._gates: dict[tuple[Edge, bool], _Gate] = {}

    def may_ask(self, edge: Edge, is_first: bool, now: float) -> bool:
        """Whether to send: the edge is open, or it is time for a probe, which this call grants."""
        gate = self._gate(edge, is_first)
        if not gate.is_closed:
            return True
        if now < gate.probe_at:
            return False
        gate.probe_at = now + _PROBE_AFTER_S
        return True

    def met(self, edge: Edge, is_first: bool, now: float) -> None:
        """A request was answered by a login wall."""
        gate = self._gate(edge, is_first)
        was_closed = gate.is_closed
        gate.answers.append(True)
        if gate.is_closed and not was_closed:
            gate.probe_at = now + _PROBE_AFTER_S

    def passed(self, edge: Edge, is_first: bool) -> None:
        """A page was shown."""
        gate = self._gate(edge, is_first)
        if gate.is_closed:
            gate.answers.clear()
        gate.answers.append(False)
        gate.passes += 1

    def is_closed(self, edge: Edge) -> bool:
        """Whether guests are shown nothing of the edge."""
        return self._gate(edge, True).is_closed

    def is_proven_open(self, edge: Edge) -> bool:
        """Whether all that was asked of the edge was also shown to somebody, and still is."""
        gates = [gate for (of, _), gate in self._gates.items() if of == edge and gate.answers]
        return bool(gates) and all(gate.passes and not gate.is_closed for gate in gates)

    def _gate(self, edge: Edge, is_first: bool) -> _Gate:
        gate = self._gates.get((edge, is_first))
        if gate is None:
            gate = self._gates[edge, is_first] = _Gate()
        return gate
