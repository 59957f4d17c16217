"""A circuit breaker for each kind of page beside those of users: texts, comments, names. Pure.

A site may close or lose one of them and show all others. Then every request for it is spent in
vain, and an egress that is refused one rests, though nobody is banned. So what goes wrong with a
kind in a row is weighed, and counts against it as soon as a page of another kind is shown that was
asked for after it; once enough of it counts, nothing of the kind is asked for, but for one request
an hour. Login walls are not judged here, but by `Walls`. `now` is an argument, in
seconds of any one clock.
"""

from collections import defaultdict
from math import inf

from weibo_crawler.records import FACTS, OF_USERS, REFUSALS, Kind, Verdict

PROBE_AFTER_S = 3600.0
_ENOUGH = 24  # where four requests in ten fail, one row in 10^7 is as long
_REFUSAL = 2  # weighs so many troubles: an egress rests for it, and is asked again after its rest
_TELLING = (Verdict.OK, Verdict.GONE, Verdict.RESTRICTED)


class _Circuit:
    """bad: what went wrong since anything of the kind was shown, and no page of another kind has
    told yet whether that is the kind's fault; proven: what is. has_refusal: one is in `bad`."""

    def __init__(self) -> None:
        self.bad = self.proven = 0
        self.has_refusal = False
        self.bad_at = -inf
        self.probe_at = inf

    @property
    def is_shut(self) -> bool:
        return self.proven >= _ENOUGH

    def prove(self, begun: float, now: float) -> bool:
        """A page of another kind is shown, which was asked for at `begun`; whether this shuts the
        kind."""
        if not self.bad or begun < self.bad_at:
            return False
        was_shut = self.is_shut
        self.proven += self.bad
        self.bad, self.has_refusal = 0, False
        if was_shut or not self.is_shut:
            return False
        self.probe_at = now + PROBE_AFTER_S
        return True


class Endpoints:
    """What the site shows nobody at present."""

    def __init__(self) -> None:
        self._circuits: defaultdict[Kind, _Circuit] = defaultdict(_Circuit)

    def is_shut(self, kind: Kind) -> bool:
        """Whether nobody is shown anything of the kind, as far as is known."""
        return kind in self._circuits and self._circuits[kind].is_shut

    def grants_probe(self, kind: Kind, now: float) -> bool:
        """Whether this request may go though its kind is shut: the first one of each hour."""
        if not self.is_shut(kind):
            return False
        circuit = self._circuits[kind]
        if now < circuit.probe_at:
            return False
        circuit.probe_at = now + PROBE_AFTER_S
        return True

    def doubted_at(self, kind: Kind) -> float | None:
        """When the last answer came that may be the fault of the kind or of all egresses, where a
        page of another kind is to tell before more of it is asked for; None: go on."""
        circuit = self._circuits.get(kind)
        if circuit is None or circuit.is_shut:
            return None
        return circuit.bad_at if circuit.has_refusal or circuit.bad >= _ENOUGH else None

    def told(self, kind: Kind, verdict: Verdict, begun: float, now: float) -> list[Kind]:
        """Note an answer, or SERVER_TROUBLE where none came; returns the kinds that it shuts.
        begun: when it was asked for."""
        shut = []
        if verdict is Verdict.OK:
            others = ((k, circuit) for k, circuit in self._circuits.items() if k is not kind)
            shut = [other for other, circuit in others if circuit.prove(begun, now)]
        if kind in OF_USERS or verdict is Verdict.LOGIN_WALL:
            return shut
        if verdict in _TELLING:
            self._circuits.pop(kind, None)
        elif verdict not in FACTS:
            circuit = self._circuits[kind]
            circuit.bad += _REFUSAL if verdict in REFUSALS else 1
            circuit.has_refusal |= verdict in REFUSALS
            circuit.bad_at = now
        return shut
