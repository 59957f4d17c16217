"""One egress in the ring: its pace and its figures. Pure."""

from dataclasses import dataclass
from math import inf, log2

from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Health

_WEIGHT = 0.1  # of the newest in a moving average
_POOR = 0.5  # a proxy that works less often than this dies at its next failure
_LEAST = 1 / 64  # of the success that a cost or a rest is reckoned with
_LEAST_GAP = 1.005  # intervals: clocks differ, and a way may be shorter than any before
_TELLING = 4  # answers tell how long an exchange takes: the first ones meet cold connections
_NEAR = 0.05  # of a rate that was refused
_CAREFUL = 0.001  # of the rate: what an answer adds there


@dataclass(slots=True)
class Slot:
    """success: of the answers asked of the egress, the share that came, of late; refusals: the
    share of those that were refusals; latency_s: of late, 0.0: never answered.

    started: when the last request reached the site, at the latest that is known. First that is
    when it was sent; its answer may tell that it was on its way for longer than one need be, and
    the next one, which need not be, would come too early.
    refused_rate: the last one that was refused, inf: none, or it proved to be allowed.
    """

    egress: Egress
    number: int  # never given again
    rate: float
    health: Health = Health.UNCHECKED
    next_free: float = -inf
    started: float = -inf
    flying: int = 0  # requests under way
    is_tried: bool = False  # a request of this process went by it
    is_leaving: bool = False
    turn: int = 0  # reservations made for an earlier turn are void
    entry: int = 0  # the number of its valid entry in a queue
    place: int = -1  # among those that are free, -1: not there
    listed: Health | None = None  # as what it is counted, None: it is not
    rests: int = 0  # in a row
    failures: int = 0  # in a row
    deaths: int = 0  # in a row
    answers: int = 0
    least_s: float = inf  # the quickest of them
    refused_rate: float = inf
    latency_s: float = 0.0
    success: float = 1.0
    refusals: float = 0.0

    @property
    def is_out(self) -> bool:
        return self.health in (Health.RESTING, Health.DEAD)

    @property
    def is_down(self) -> bool:
        return self.health in (Health.DEAD, Health.PROBING)

    @property
    def interval_s(self) -> float:
        return 1.0 / self.rate if self.rate else 0.0

    @property
    def gap_s(self) -> float:
        """The least time between two requests."""
        return self.interval_s * _LEAST_GAP

    @property
    def ready_at(self) -> float:
        """Nothing may start before."""
        return self.started + self.gap_s

    @property
    def is_poor(self) -> bool:
        return self.success < _POOR

    @property
    def halvings(self) -> int:
        """How often its success was halved."""
        return int(-log2(max(self.success, _LEAST)))

    @property
    def cost_s(self) -> float:
        """Expected seconds per good answer: 0 for egresses that nobody has tried here, so that each
        is tried early; inf for one that was tried and never answered well, and for one that is
        just back from a rest or on probe."""
        if self.is_out or self.is_down or (self.is_tried and not self.answers):
            return inf
        return self.latency_s / max(self.success, _LEAST)

    def rise(self, step: float, ceiling: float) -> None:
        """Faster after an answer, by `step`; carefully around a rate that was refused."""
        if self.rate > self.refused_rate * (1.0 + _NEAR):
            self.refused_rate = inf
        careful_from = self.refused_rate * (1.0 - _NEAR)
        if self.rate < careful_from:
            rate = min(self.rate + step, careful_from)
        else:
            rate = self.rate + min(step, self.rate * _CAREFUL)
        self.rate = min(rate, ceiling)

    def fall(self, factor: float, floor: float, *, is_ban: bool) -> None:
        """Slower after a refusal. A ban does not tell which rate is too high; nor does it matter
        at the floor, where it would take hours to rise carefully."""
        refused, self.rate = self.rate, max(self.rate * factor, floor)
        if self.rate == floor:
            self.refused_rate = inf
        elif not is_ban:
            self.refused_rate = refused

    def arrived(self, now: float, elapsed_s: float) -> None:
        """The site has answered the request that took so long: it was there by now, less the
        shortest time that an exchange takes."""
        self.answers += 1
        self.least_s = min(self.least_s, elapsed_s)
        travel_s = self.least_s if self.answers > _TELLING else 0.0
        if self.started > -inf:
            self.started = max(self.started, now - travel_s)

    def note_answer(self, elapsed_s: float) -> None:
        self.latency_s += (elapsed_s - self.latency_s) * (_WEIGHT if self.latency_s else 1)
        self.success += (1.0 - self.success) * _WEIGHT
        self.refusals -= self.refusals * _WEIGHT

    def note_refusal(self) -> None:
        self.refusals += (1.0 - self.refusals) * _WEIGHT

    def note_failure(self) -> None:
        self.success -= self.success * _WEIGHT
