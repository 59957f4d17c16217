"""A circuit breaker for each kind of page beside those of users: texts, comments, names. Pure.

A site may close or lose one of them and show all others. Then every request for it is spent in
vain, and an egress that is refused one rests, though nobody is banned. So what goes wrong with a
kind in a row is weighed, and counts against it as soon as a page of another kind is shown that was
asked for after it. Where enough counts, those owners that had a share of it are asked for no more;
where no owner brought more than a little of it, nobody is: the pages of one user may be odd, and
those of all others shown. A page proves little of what came before it, so that an outage which is
over proves nothing. One request an hour looks whether that has changed. Login walls are not
judged here, but by `login_walls`. `now` is an argument, in seconds of any one clock.
"""

from collections import Counter, defaultdict, deque
from math import inf

from weibo_crawler.records import FACTS, OF_USERS, REFUSALS, Kind, Request, Verdict
from weibo_crawler.walls import PROBE_AFTER_S

_OF_ONE = 4  # of what one owner brings, so much counts for all: six of them it takes
_ENOUGH = 24  # where four requests in ten fail, one row in 10^7 is as long
_REFUSAL = 2  # weighs so many troubles: an egress rests for it, and is asked again after its rest
_STEP = 4  # of what one page of another kind proves: all of it may come of one outage
_LOOKS = 2  # at one page, of which trouble is counted: retries come in a row
_REMEMBERED = 100_000  # pages of a kind that went wrong
_TELLING = (Verdict.OK, Verdict.GONE, Verdict.RESTRICTED)


class _Circuit:
    """bad: owners and weights of what went wrong last, while no page of another kind has told yet
    whether that is the kind's fault; proven: what is, since anything of the kind was shown.
    refusals: how many came since then."""

    def __init__(self) -> None:
        self.bad: deque[tuple[str, int]] = deque(maxlen=_STEP)
        self.proven = Counter[str]()
        self.looks = Counter[str]()  # what went wrong, by address
        self.refusals = 0
        self.bad_at = -inf
        self.probe_at = inf

    @property
    def is_shut(self) -> bool:
        return sum(min(weight, _OF_ONE) for weight in self.proven.values()) >= _ENOUGH

    @property
    def is_doubted(self) -> bool:
        """One refusal is the lot of any request; a second one, or one of a kind that was to blame
        before, is not."""
        least = 1 if self.proven else 2
        return self.refusals >= least or len(self.bad) >= _STEP

    def is_shut_for(self, owner: str) -> bool:
        return self.is_shut or (self.proven.total() >= _ENOUGH and self.proven[owner] >= _OF_ONE)

    def note(self, request: Request, is_refusal: bool, now: float) -> None:
        """An answer that is no page, or none."""
        self.bad_at = now
        self.looks[request.url] += 1
        if is_refusal or self.looks[request.url] <= _LOOKS:
            self.bad.append((_owner(request), _REFUSAL if is_refusal else 1))
        self.refusals += is_refusal

    def prove(self, begun: float, now: float) -> bool:
        """A page of another kind is shown, which was asked for at `begun`; whether this shuts the
        kind."""
        if not self.bad or begun < self.bad_at:
            return False
        was_shut = self.is_shut
        left = _STEP
        while self.bad and left > 0:
            owner, weight = self.bad.pop()
            self.proven[owner] += weight
            left -= weight
        self.bad.clear()
        self.refusals = 0
        if self.probe_at == inf:
            self.probe_at = now + PROBE_AFTER_S
        return self.is_shut and not was_shut


class Endpoints:
    """What the site shows nobody at present."""

    def __init__(self) -> None:
        self._circuits: defaultdict[Kind, _Circuit] = defaultdict(_Circuit)
        # pages that went wrong before others of their kind were shown: it is they that are odd, and
        # when the others are read they come in a row
        self._odd: defaultdict[Kind, set[str]] = defaultdict(set)

    def is_shut(self, kind: Kind) -> bool:
        """Whether nobody is shown anything of the kind, as far as is known."""
        return kind in self._circuits and self._circuits[kind].is_shut

    def is_suspected(self, kind: Kind) -> bool:
        """Whether as much as one page proves went wrong, and nothing of the kind was shown since:
        then one request at a time tells as much as many."""
        circuit = self._circuits.get(kind)
        if circuit is None or circuit.is_shut:
            return False
        return circuit.is_doubted or circuit.proven.total() >= _STEP

    def is_spared(self, request: Request) -> bool:
        """Whether this is of such a kind, or its owner had a share in what makes it look so."""
        circuit = self._circuits.get(request.kind)
        return circuit is not None and circuit.is_shut_for(_owner(request))

    def grants_probe(self, request: Request, now: float) -> bool:
        """Whether this request may go though it is spared: the first one of each hour."""
        if not self.is_spared(request):
            return False
        circuit = self._circuits[request.kind]
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
        return circuit.bad_at if circuit.is_doubted else None

    def told(self, request: Request, verdict: Verdict, begun: float, now: float) -> list[Kind]:
        """Note an answer, or SERVER_TROUBLE where none came; returns the kinds that it shuts.
        begun: when it was asked for."""
        kind, shut = request.kind, []
        if verdict is Verdict.OK:
            others = ((k, circuit) for k, circuit in self._circuits.items() if k is not kind)
            shut = [other for other, circuit in others if circuit.prove(begun, now)]
        if kind in OF_USERS or verdict is Verdict.LOGIN_WALL:
            return shut
        if verdict in _TELLING and kind in self._circuits:
            odd = self._odd[kind]
            odd.update(self._circuits.pop(kind).looks)
            if len(odd) > _REMEMBERED:
                odd.clear()
        elif verdict not in FACTS and request.url not in self._odd[kind]:
            circuit = self._circuits[kind]
            circuit.note(request, verdict in REFUSALS, now)
        return shut


def _owner(request: Request) -> str:
    """Whose page it is; where nobody is known, each page is its own."""
    return str(request.uid or request.url)
