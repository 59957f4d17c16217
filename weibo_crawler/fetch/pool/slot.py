"""One egress in the ring: its pace and its figures. Pure."""

from collections import deque
from dataclasses import dataclass, field
from math import inf, log2
from typing import NamedTuple

from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Health

_WEIGHT = 0.1  # of the newest in a moving average
_POOR = 0.75  # of what is usual: a proxy that works less often dies at its next failure
_LEAST = 1 / 64  # of the success that a cost or a rest is reckoned with
_LEAST_GAP = 1.005  # intervals: clocks differ, and a way may be shorter than any before
_TELLING = 4  # answers tell how long an exchange takes: the first ones meet cold connections
_SHORTEST = 24  # answers tell how short a way may be
PROVEN = 8  # good answers without dying between them
_SLACK = 0.2  # of an interval: who was held up for so long catches up
_DEVIATIONS = 4.0  # above the mean: within that nearly all answers come
_LEAST_USUAL_S = 0.25  # what a busy machine adds is no news of the egress
_LATE, _LEAST_LATE_S = 2.0, 0.5  # times what is usual elsewhere
_DEADLINE = 4.0  # times what is usual
_LEAST_DEADLINE_S = 3.0
_MOST_DOUBLINGS = 6
_SLOW_S, _SLOWED = 3.0, 2.0  # an answer that took longer, and so many times the least, was late
_FEW = 3.0  # requests under way where answers are late
_MOST_HALVINGS = 3  # of the pace, where some are late and others do not come at all
_NEAR = 0.05  # of a rate that was refused
_CAREFUL = 0.001  # of the rate: what an answer adds there
_MOST_FALLS, _FORGOTTEN = 6.0, 0.02  # falls of late, each of which halves a rise; by each answer
_LONG = 3  # refusals in a row: what is allowed is a number in some time, such as an hour
_OF_LATE_S = 1.0  # what was answered within that is the rate of an egress without one
_HASTY = 3  # refusals in a row: one alone may be any answer's fault


class Patience(NamedTuple):
    """How long to wait for an answer. late_s: then somebody else is asked as well (hedging), inf:
    nobody is; deadline_s: then it is given up, inf: when the transport gives up."""

    late_s: float = inf
    deadline_s: float = inf


UNLIMITED = Patience()


@dataclass(slots=True)
class Slot:
    """success: of the answers asked of the egress, the share that came, of late; latency_s: of
    late, 0.0: never answered; deviation_s: how far answers are from that.

    Requests are sent at a cadence (GCRA, the virtual scheduling algorithm): due is when the next
    one may go. In any time T at most (T + slack) / gap + 1 go, and they arrive with the jitter of
    the way. is_careful: the site does not forgive that, so each request waits until an interval
    after the one before it arrived at the latest: a request may be on its way for longer than one
    need be, and the next one, which need not be, would come too early.
    refused_rate: the last one that was refused, inf: none, or it proved to be allowed. falls: how
    often it fell of late.
    allowed: how many answers came since `allowed_since`, when it was answered again after the
    latest refusals; inf: it never was.
    most_per_s: a limit of its own (`Tempo`).
    came: when answers came of late, and refusals: how many came in a row, as long as there is no
    rate.
    """

    egress: Egress
    number: int  # never given again
    rate: float
    health: Health = Health.UNCHECKED
    next_free: float = -inf
    due: float = -inf
    is_careful: bool = True
    flying: int = 0  # requests under way
    is_tried: bool = False  # a request of this process went by it
    is_taken: bool = False  # on trial, by a request that has not landed
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
    latest_s: float = 0.0  # how long the latest one took
    refused_rate: float = inf
    falls: float = 0.0
    allowed: int = 0
    allowed_since: float = inf
    most_per_s: float = inf
    came: deque[float] = field(default_factory=deque)
    refusals: int = 0
    latency_s: float = 0.0
    deviation_s: float = 0.0
    stalls: int = 0  # in a row
    streak: int = 0  # good answers since it came, or since it died
    success: float = 1.0
    trusted_for: int = 0  # pages with telling words until one is compared with another egress's
    # comparisons in a row that did not tell, and pages until the next one: without telling words,
    # and with them
    untold: list[int] = field(default_factory=lambda: [0, 0])
    compare_in: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def is_out(self) -> bool:
        return self.health in (Health.RESTING, Health.DEAD)

    @property
    def is_down(self) -> bool:
        return self.health in (Health.DEAD, Health.PROBING)

    @property
    def pace(self) -> float:
        """Requests a second; 0.0: any. Where the latest answer was late, so many that only a few
        are under way (Little's law): some sites let who is too fast wait in place of a refusal."""
        rate = min(self.rate or inf, self.most_per_s)
        if self.rate and self.latest_s > max(_SLOW_S, _SLOWED * self.least_s):
            stalls = min(self.stalls, _MOST_HALVINGS)
            rate = min(rate, _FEW / self.latest_s / 2**stalls)
        return rate if rate < inf else 0.0

    @property
    def interval_s(self) -> float:
        return 1.0 / self.pace if self.pace else 0.0

    @property
    def gap_s(self) -> float:
        """The least time between two requests."""
        return self.interval_s * _LEAST_GAP

    @property
    def slack_s(self) -> float:
        return 0.0 if self.is_careful else _SLACK * self.interval_s

    @property
    def is_on_trial(self) -> bool:
        """Whether nobody knows if this proxy answers: it gets one request at a time."""
        is_known = self.answers > 0 or self.rate == 0 or self.egress.proxy_url is None
        return self.is_down or not is_known

    @property
    def is_proven(self) -> bool:
        """Whether a failure is news of this proxy: some liars tell the truth now and then."""
        return self.streak >= PROVEN

    @property
    def usual_s(self) -> float:
        """The time in which nearly all of its answers come; 0.0: not known yet."""
        if self.answers < _TELLING:
            return 0.0
        return max(_LEAST_USUAL_S, self.latency_s + _DEVIATIONS * self.deviation_s)

    def patience(self, others_usual_s: float) -> Patience:
        """How long to wait for an answer. others_usual_s: what is usual elsewhere, 0.0: unknown.
        The deadline doubles with each exchange in a row that met it."""
        usual_s = self.usual_s or others_usual_s
        late_s = max(_LEAST_LATE_S, _LATE * others_usual_s) if self.is_on_trial else inf
        if not usual_s:
            return Patience(late_s)
        tries = self.deaths if self.is_down else self.stalls
        least_s = max(_LEAST_DEADLINE_S, _DEADLINE * usual_s)
        return Patience(late_s, least_s * 2.0 ** min(tries, _MOST_DOUBLINGS))

    def is_poor(self, usual: float) -> bool:
        """Whether it works clearly less often than egresses do of late. usual: the mean success of
        all."""
        return self.success < _POOR * usual

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
        """Faster after an answer, by `step`, or by half of it for each fall of late: who comes from
        far above the limit would meet it again within a second or two, and some sites ban for a few
        refusals in a row. Carefully around a rate that was refused, and above it where there is no
        ceiling."""
        step /= 2.0**self.falls
        self.falls *= 1.0 - _FORGOTTEN
        if ceiling < inf and self.rate > self.refused_rate * (1.0 + _NEAR):
            self.refused_rate = inf
        careful_from = self.refused_rate * (1.0 - _NEAR)
        if self.rate < careful_from:
            rate = min(self.rate + step, careful_from)
        else:
            rate = self.rate + min(step, self.rate * _CAREFUL)
        self.rate = min(rate, ceiling)

    def was_hasty(self, now: float, least: float) -> None:
        """Where there is no rate, and several refusals in a row say that there should be one, take
        what was answered of late for the one that was refused, if it is more than the least."""
        self.refusals += not self.rate
        if self.refusals >= _HASTY:
            self._forget(now)
            rate, self.refusals = len(self.came) / _OF_LATE_S, 0
            if rate > least:
                self.rate = self.refused_rate = rate

    def _forget(self, now: float) -> None:
        while self.came and self.came[0] <= now - _OF_LATE_S:
            self.came.popleft()

    def fall(self, factor: float, floor: float, *, is_news: bool) -> None:
        """Slower after a refusal. is_news: it tells that the rate is too high. A ban does not, nor
        does what comes after a rest, at which nobody went at that rate; nor does it matter at the
        floor, where it would take hours to rise carefully."""
        self.falls = min(self.falls + is_news, _MOST_FALLS)
        refused, self.rate = self.rate, max(self.rate * factor, floor)
        if self.rate == floor:
            self.refused_rate = inf
        elif is_news:
            self.refused_rate = refused

    def note_allowed(self, now: float) -> None:
        """An answer came. Where it ends many refusals in a row, go on at the rate of all answers
        between those before and now, if that is more: so many the site allows in such a time."""
        if self.rests >= _LONG and now > self.allowed_since:
            per_s = self.allowed / (now - self.allowed_since)
            if per_s > self.rate > 0:
                self.rate = self.refused_rate = per_s
        if self.rests or self.allowed_since == inf:
            self.allowed, self.allowed_since = 0, now
        self.allowed += 1

    def start(self, now: float) -> None:
        """A request is sent now."""
        self.due = max(self.due, now - self.slack_s) + self.gap_s

    def arrived(self, now: float, elapsed_s: float) -> None:
        """The site has answered the request that took so long: it was there by now, less the
        shortest time that an exchange takes."""
        self.stalls = 0
        self.latest_s = elapsed_s
        self.least_s = min(self.least_s, elapsed_s)
        if not self.rate:
            self.refusals = 0
            self.came.append(now)
            self._forget(now)
        if self.is_careful and self.due > -inf:
            travel_s = self.least_s if self.answers > _SHORTEST else 0.0
            self.due = max(self.due, now - travel_s + self.gap_s)

    def note_answer(self, elapsed_s: float, *, is_shown: bool = True) -> None:
        """A good one."""
        self.answers += 1
        self.streak += is_shown
        if not self.latency_s:
            self.latency_s, self.deviation_s = elapsed_s, elapsed_s / 2
        error_s = elapsed_s - self.latency_s
        self.latency_s += error_s * _WEIGHT
        self.deviation_s += (abs(error_s) - self.deviation_s) * _WEIGHT
        self.success += (1.0 - self.success) * _WEIGHT

    def note_failure(self) -> None:
        self.success -= self.success * _WEIGHT
