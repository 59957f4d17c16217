import asyncio
import sys
from collections import Counter
from itertools import pairwise
from random import Random
from types import FrameType

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.examples import examples
from tests.fetch.rings import standings
from tests.fetch.virtual import run
from weibo_crawler.config import Pace
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.pool.ring import Choice, Ring
from weibo_crawler.records import EgressState, Health

PROXIES = [Egress(f"10.0.0.{n}:80", f"http://10.0.0.{n}:80") for n in range(4)]
BASE_S, CAP_S = 30.0, 900.0


def _ring(*egresses: Egress, rate: float = 0.5) -> Ring:
    return Ring(egresses, Pace(requests_per_second=rate))


def _health(ring: Ring, name: str) -> Health:
    return next(status.health for status in standings(ring) if status.name == name)


class RingMachine(RuleBasedStateMachine):
    """Any order of choices and answers, in virtual time."""

    @initialize(
        proxies=st.integers(0, 4),
        has_direct=st.booleans(),
        rate=st.sampled_from([0.0, 1 / 3, 4.0]),
        seed=st.integers(0, 99),
    )
    def start(self, proxies: int, has_direct: bool, rate: float, seed: int) -> None:
        self.egresses = ([DIRECT] if has_direct or not proxies else []) + PROXIES[:proxies]
        self.rate, self.now, self.rng = rate, 1000.0, Random(seed)
        self.ring = _ring(*self.egresses, rate=rate)
        self.base_s, self.cap_s = (BASE_S, CAP_S) if rate else (0.2, 2.0)
        self.spares = [Egress(f"10.0.1.{n}:80", f"http://10.0.1.{n}:80") for n in range(3)]
        self.reserved: list[tuple[float, Choice]] = []
        self.flying: list[str] = []
        self.started: list[Choice] = []
        self.starts: dict[str, list[float]] = {e.name: [] for e in self.egresses}
        self.rests_until = dict.fromkeys(self.starts, 0.0)

    @rule(seconds=st.sampled_from([0.0, 0.1, 1.0, 10.0, 100.0, 1000.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(data=st.data())
    def choose(self, data: st.DataObject) -> None:
        excluding = data.draw(st.sets(st.sampled_from(list(self.starts)), max_size=2))
        may_go = {
            s.name for s in standings(self.ring) if s.health in (Health.GOOD, Health.UNCHECKED)
        }
        choice = self.ring.choose(self.now, self.rng, excluding)
        assert choice.wait_s >= 0
        if choice.egress is None:
            assert choice.wait_s > 0
            assert choice.wait_s <= 4 * CAP_S + 200
            return
        if may_go - excluding:
            assert choice.egress.name not in excluding
        assert self.now + choice.wait_s >= self.rests_until[choice.egress.name]
        self.reserved.append((self.now + choice.wait_s, choice))

    @rule()
    def waiting_is_enough(self) -> None:
        until = self.now + 4 * CAP_S + 200
        choice = self.ring.choose(self.now, self.rng)
        self.now += choice.wait_s
        while choice.egress is None:
            self.now += 1e-6
            assert self.now < until
            choice = self.ring.choose(self.now, self.rng)
            self.now += choice.wait_s
        self.reserved.append((self.now, choice))

    @precondition(lambda self: self.reserved)
    @rule(late_s=st.sampled_from([0.0, 0.2, 5.0]))
    def go(self, late_s: float) -> None:
        at, choice = self.reserved.pop(0)
        self.now = max(self.now, at) + late_s
        assert choice.egress is not None
        name = choice.egress.name
        wait_s = self.ring.go(choice, self.now)
        if wait_s:
            self.now += wait_s
            wait_s = self.ring.go(choice, self.now)
        if wait_s == 0:
            assert self.now >= self.rests_until[name]
            self.starts[name].append(self.now)
            self.flying.append(name)
            self.started.append(choice)

    @precondition(lambda self: self.spares)
    @rule()
    def joins(self) -> None:
        egress = self.spares.pop()
        self.ring.join(egress)
        self.egresses.append(egress)
        self.starts[egress.name], self.rests_until[egress.name] = [], 0.0

    @precondition(lambda self: len(self.egresses) > 1)
    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        """Nothing goes by it any more; what flies lands; at the end no trace is left."""
        egress = data.draw(st.sampled_from(self.egresses))
        self.egresses.remove(egress)
        self.ring.retire(egress.name)
        for _, choice in self.reserved:
            assert choice.egress != egress or self.ring.go(choice, self.now) is None
        for choice in [c for c in self.started if c.egress == egress]:
            assert egress.name in {s.name for s in standings(self.ring)}
            self.started.remove(choice)
            self.flying.remove(egress.name)
            self.ring.landed(choice)
        assert egress.name not in {s.name for s in standings(self.ring)}
        del self.starts[egress.name]

    @precondition(lambda self: self.flying)
    @rule()
    def answered(self) -> None:
        name = self.lands()
        was_resting = _health(self.ring, name) is Health.RESTING
        self.ring.answered(name, self.now, 0.1)
        assert _health(self.ring, name) is (Health.RESTING if was_resting else Health.GOOD)

    @precondition(lambda self: self.flying)
    @rule(retry_after_s=st.none() | st.sampled_from([0.0, 60.0, 2000.0, 1e6]), is_ban=st.booleans())
    def refused(self, retry_after_s: float | None, is_ban: bool) -> None:
        name = self.lands()
        was_resting = _health(self.ring, name) is Health.RESTING
        self.ring.refused(name, self.now, self.rng, retry_after_s, is_ban=is_ban)
        assert _health(self.ring, name) is Health.RESTING
        rate = next(status.rate for status in standings(self.ring) if status.name == name)
        least_s = self.base_s / 2 if is_ban or not rate else min(self.base_s / 2, 1 / rate)
        rest_s = max(min(retry_after_s or 0.0, 4 * self.cap_s), 0.0 if was_resting else least_s)
        self.rests_until[name] = max(self.rests_until[name], self.now + rest_s)

    @precondition(lambda self: self.flying)
    @rule()
    def failed(self) -> None:
        self.ring.failed(self.lands(), self.now, self.rng)

    def lands(self) -> str:
        choice = self.started.pop(0)
        self.ring.landed(choice)
        assert choice.egress is not None
        self.flying.remove(choice.egress.name)
        return choice.egress.name

    @invariant()
    def pace_holds(self) -> None:
        if getattr(self, "rate", 0.0):
            for starts in self.starts.values():
                for i, first in enumerate(starts):
                    for n, last in enumerate(starts[i + 1 :], 1):
                        assert (last - first) * self.rate >= n - 0.2 - 1e-5

    @invariant()
    def rate_is_between_floor_and_ceiling(self) -> None:
        for status in standings(self.ring) if hasattr(self, "ring") else []:
            assert self.rate / 64 <= status.rate <= self.rate
            assert status.name != "direct" or status.health is not Health.DEAD


TestRing = RingMachine.TestCase
TestRing.settings = examples(60, stateful_step_count=40)


def _use(ring: Ring, now: float, excluding: str = "") -> str:
    choice = ring.choose(now, Random(0), {excluding})
    assert choice.egress is not None
    assert ring.go(choice, now + choice.wait_s) == 0
    return choice.egress.name


def _ask(ring: Ring, now: float, rng: Random) -> tuple[str, float]:
    """Send one request as soon as may be, answered after 0.3 s; by whom it went, and when."""
    while True:
        choice = ring.choose(now, rng)
        assert choice.egress is not None
        now += choice.wait_s
        while wait_s := ring.go(choice, now):
            now += wait_s
        if wait_s is None:
            continue
        ring.landed(choice)
        ring.answered(choice.egress.name, now + 0.3, 0.3)
        return choice.egress.name, now


def test_turns_are_an_interval_apart() -> None:
    """Reservations of one egress are one to 1.02 intervals apart, whenever they are asked for."""
    ring = _ring(DIRECT, rate=0.5)
    waits = [ring.choose(0.0, Random(n)).wait_s for n in range(20)]
    gaps = [b - a for a, b in pairwise(waits)]
    assert waits[0] == 0
    assert all(2.01 - 1e-9 <= gap <= 2.04 + 1e-9 for gap in gaps)


def test_nobody_waits_for_a_late_egress_while_others_are_free() -> None:
    """Where answers take long, requests go more rarely than was thought when turns were promised.
    Who waits for more than a turn chooses again: else more and more wait for the slow ones, and at
    the end of a level nobody for the others."""
    ring, rng = _ring(*PROXIES, rate=0.5), Random(0)
    slow = PROXIES[0].name
    for egress in reversed(PROXIES):  # the first one learns whether jitter is forgiven
        ring.answered(egress.name, -9.0, 0.01)
    waiting: list[tuple[float, float, Choice]] = []  # when to go, since when
    landing: list[tuple[float, float, Choice]] = []  # when, how long it takes
    now, left, waits = 0.0, 90, list[float]()
    while left or waiting or landing:
        while left and len(waiting) < 12:
            choice = ring.choose(now, rng)
            waiting.append((now + choice.wait_s, now, choice))
            left -= 1
        now = min(at for at, _, _ in waiting + landing)
        for landed in [one for one in landing if one[0] <= now]:
            landing.remove(landed)
            _, took_s, choice = landed
            assert choice.egress is not None
            ring.landed(choice)
            ring.answered(choice.egress.name, now, took_s)
        for one in [one for one in waiting if one[0] <= now]:
            waiting.remove(one)
            _, since, choice = one
            assert choice.egress is not None
            early_s = ring.go(choice, now)
            if early_s is None:
                again = ring.choose(now, rng)
                waiting.append((now + again.wait_s, since, again))
            elif early_s:
                waiting.append((now + early_s, since, choice))
            else:
                waits.append(now - since)
                took_s = 1.5 if choice.egress.name == slow else 0.01
                landing.append((now + took_s, took_s, choice))
    assert max(waits) <= 24.0  # as if all twelve had waited for one, which goes every two seconds


def test_all_take_part() -> None:
    """Egresses with equal pace take turns."""
    ring = _ring(*PROXIES, rate=0.5)
    assert sorted(_use(ring, 0.0) for _ in PROXIES) == [egress.name for egress in PROXIES]


def test_no_limit_never_waits() -> None:
    """Without a limit every choice may go at once."""
    ring = _ring(DIRECT, rate=0.0)
    assert {ring.choose(5.0, Random(0)).wait_s for _ in range(100)} == {0.0}


def test_rests_double_up_to_the_cap() -> None:
    """A refusal after each rest doubles the next rest, until the cap; an answer starts afresh."""
    ring, now, rests = _ring(DIRECT), 0.0, []
    for _ in range(8):
        _use(ring, now)
        ring.refused("direct", now, Random(0), is_ban=True)
        choice = ring.choose(now, Random(0))
        assert choice.egress is None
        rests.append(choice.wait_s)
        now += choice.wait_s + 1e-6
    assert all(BASE_S * 2**n / 2 <= rest for n, rest in enumerate(rests[:5]))
    assert CAP_S / 2 <= rests[-1] <= CAP_S
    _use(ring, now)
    ring.answered("direct", now, 0.1)
    ring.refused("direct", now, Random(0), is_ban=True)
    assert ring.choose(now, Random(0)).wait_s < max(BASE_S, 64 / 0.5) + 1


def test_who_was_only_too_fast_rests_shortly() -> None:
    """The first rest after a refusal for haste is of two intervals at most, the next in a row
    twice as long, and none at first longer than after a ban."""
    ring, now, rests = _ring(DIRECT, rate=1.0), 0.0, []
    for _ in range(3):
        _use(ring, now)
        ring.refused("direct", now, Random(0))
        interval_s = 1 / standings(ring)[0].rate
        rests.append(ring.choose(now, Random(0)).wait_s / interval_s)
        now += rests[-1] * interval_s + 1e-6
    assert all(2**n <= rest <= 2 * 2**n for n, rest in enumerate(rests))
    slow = _ring(DIRECT, rate=0.02)
    slow.refused("direct", 0.0, Random(0))
    assert slow.choose(0.0, Random(0)).wait_s <= BASE_S


def test_a_burst_is_one_refusal() -> None:
    """Refusals that arrive during a rest neither double it nor slow the pace further."""
    ring = _ring(DIRECT, rate=4.0)
    ring.refused("direct", 0.0, Random(0))
    first, rate = ring.choose(0.0, Random(0)).wait_s, standings(ring)[0].rate
    for _ in range(31):
        ring.refused("direct", 0.01, Random(0))
    assert ring.choose(0.0, Random(0)).wait_s == first
    assert standings(ring)[0].rate == rate == 3.0


def test_retry_after_is_obeyed() -> None:
    """Retry-After makes a rest longer, during a rest too, up to four caps."""
    ring = _ring(DIRECT)
    ring.refused("direct", 0.0, Random(0), 100.0)
    assert ring.choose(0.0, Random(0)).wait_s == 100.0
    ring.refused("direct", 0.0, Random(0), 200.0)
    assert ring.choose(0.0, Random(0)).wait_s == 200.0
    ring.refused("direct", 0.0, Random(0), 1e9)
    assert ring.choose(0.0, Random(0)).wait_s == 4 * CAP_S


def test_rate_falls_by_shares_and_rises_by_steps() -> None:
    """A refusal takes a quarter of the rate. Answers add 1/32 of the ceiling each, or half of that
    for each fall of late, up to 95 % of the rate that was refused, then a thousandth of the rate
    each; where it is 5 % above it was not that rate that was refused. Never above the ceiling."""
    ring = _ring(DIRECT, rate=1.0)
    ring.refused("direct", 0.0, Random(0))
    assert standings(ring)[0].rate == 0.75
    _use(ring, ring.choose(0.0, Random(0)).wait_s + 1)
    rates = []
    for n in range(80):
        ring.answered("direct", 100.0 + n, 0.1)
        rates.append(standings(ring)[0].rate)
    steps = [2 ** -(0.98**n) / 32 for n in range(11)]
    assert rates[:11] == pytest.approx([0.75 + sum(steps[: n + 1]) for n in range(11)])
    assert rates[11:13] == pytest.approx([0.95, 0.95 * 1.001])
    assert rates[-1] == 1.0


def test_a_rate_that_was_refused_by_mistake_is_forgotten() -> None:
    """Once answers came at 5 % above it the rate rises by whole steps again; a ban tells nothing of
    the rate, nor does what comes after a rest, nor is a refusal at the floor remembered."""
    ring = Ring([DIRECT], Pace(requests_per_second=1.0, fall_factor=0.5))
    now, rates = 0.0, []

    def refuse(*, is_ban: bool = False) -> None:
        nonlocal now
        ring.refused("direct", now, Random(0), is_ban=is_ban)
        now += 10_000.0
        ring.choose(now, Random(0))

    def answer() -> float:
        ring.answered("direct", now, 0.1)
        return standings(ring)[0].rate

    refuse()
    assert answer() == 0.5 + 1 / 64
    refuse()
    refuse()
    rates = [answer() for _ in range(400)]
    assert rates[0] == pytest.approx(33 / 256 + 2**-1.98 / 32, rel=1e-6)
    careful = next(n for n, rate in enumerate(rates) if rate >= 0.95 * 33 / 64)
    assert rates[careful : careful + 2] == pytest.approx([0.95 * 33 / 64, 0.95 * 33 / 64 * 1.001])
    assert rates[-1] == 1.0
    refuse(is_ban=True)
    assert [answer() for _ in range(3)] == pytest.approx([0.5 + n / 32 for n in range(1, 4)], 1e-3)
    for _ in range(9):
        refuse()
    assert answer() == pytest.approx(1 / 64 + 1 / 64, rel=1e-3)


class _Limit:
    """A site that allows one request in so many seconds, and so many at once, and refuses more."""

    def __init__(self, seconds: float, at_once: float = 1.0) -> None:
        self._seconds, self._at_once, self._tokens, self._at = seconds, at_once, at_once, 0.0

    def allows(self, now: float) -> bool:
        self._tokens = min(self._at_once, self._tokens + (now - self._at) / self._seconds)
        self._at = now
        is_allowed = self._tokens >= 1.0
        self._tokens -= is_allowed
        return is_allowed


@pytest.mark.parametrize("seed", range(5))
def test_an_unknown_limit_is_found(seed: int) -> None:
    """Under a ceiling three times too high an egress soon has 80 % of what the site allows, and few
    of its requests are refused."""
    ring, limit, rng, now = _ring(DIRECT, rate=1.0), _Limit(3.0), Random(seed), 0.0
    outcomes: list[tuple[float, bool]] = []
    while now < 3000.0:
        choice = ring.choose(now, rng)
        now += choice.wait_s
        if choice.egress is None or ring.go(choice, now) != 0:
            now += 1e-6
            continue
        ring.landed(choice)
        outcomes.append((now, limit.allows(now)))
        if outcomes[-1][1]:
            ring.answered("direct", now, 0.0)
        else:
            ring.refused("direct", now, rng)
    late = [is_allowed for at, is_allowed in outcomes if at > 300.0]
    assert sum(late) > 0.8 * 2700.0 / 3.0
    assert late.count(False) < 0.05 * len(late)


@pytest.mark.parametrize("seed", range(5))
def test_no_request_overtakes_the_pace(seed: int) -> None:
    """However unlike their ways, two requests reach the site no sooner than an interval apart."""
    ring, rng, now = _ring(DIRECT, rate=0.5), Random(seed), 0.0
    arrivals: list[float] = []
    while len(arrivals) < 60:
        choice = ring.choose(now, rng)
        now += choice.wait_s
        while wait_s := ring.go(choice, now):
            now += wait_s
        if wait_s is None:
            continue
        way_s = rng.choice([0.05, 0.05, 0.3, 0.9])
        arrivals.append(now + way_s)
        now += way_s + 0.05
        ring.landed(choice)
        ring.answered("direct", now, way_s + 0.05)
    assert all(later - earlier >= 2.0 for earlier, later in pairwise(arrivals))
    assert arrivals[-1] < 60 * 3.0


def test_reservations_lapse_with_a_refusal() -> None:
    """Who waited for a turn when the egress was refused must choose again."""
    ring = _ring(DIRECT)
    first, second = ring.choose(0.0, Random(0)), ring.choose(0.0, Random(0))
    assert ring.go(first, 0.0) == 0
    ring.refused("direct", 1.0, Random(0))
    assert ring.go(second, 10_000.0) is None


def test_a_proxy_dies_and_is_probed() -> None:
    """Three failures in a row kill a proxy; then one probe at a time, each later; one answer and
    it is good again."""
    ring, now = _ring(PROXIES[0], rate=4.0), 0.0
    name = PROXIES[0].name
    for _ in range(3):
        ring.failed(name, now, Random(0))
    waits = []
    for _ in range(4):
        assert _health(ring, name) is Health.DEAD
        waits.append(ring.choose(now, Random(0)).wait_s)
        now += waits[-1] + 1e-6
        _use(ring, now)
        assert _health(ring, name) is Health.PROBING
        assert ring.choose(now, Random(0)).wait_s >= BASE_S / 2  # no second probe beside it
        ring.failed(name, now, Random(0))
    assert waits == sorted(waits)
    assert waits[3] > 2 * waits[0]
    now += ring.choose(now, Random(0)).wait_s + 1e-6
    _use(ring, now)
    ring.answered(name, now, 0.1)
    assert _health(ring, name) is Health.GOOD
    assert ring.choose(now, Random(0)).wait_s <= 1.0


def test_the_direct_egress_rests_and_never_dies() -> None:
    """However often it fails, the direct egress rests; failures during a rest add nothing."""
    ring = _ring(DIRECT)
    ring.failed("direct", 0.0, Random(0))
    wait_s = ring.choose(0.0, Random(0)).wait_s
    for _ in range(10):
        ring.failed("direct", 0.0, Random(0))
    assert _health(ring, "direct") is Health.RESTING
    assert ring.choose(0.0, Random(0)).wait_s == wait_s <= BASE_S


def test_a_resting_proxy_that_fails() -> None:
    """Failures that arrive during a rest may kill the proxy, but do not shorten its rest; an
    answer that arrives then does not end it."""
    ring, name = _ring(PROXIES[0]), PROXIES[0].name
    ring.refused(name, 0.0, Random(0), 500.0)
    ring.answered(name, 0.1, 0.1)
    assert ring.choose(0.1, Random(0)).wait_s == pytest.approx(499.9)
    for _ in range(3):
        ring.failed(name, 0.1, Random(0))
    assert _health(ring, name) is Health.DEAD
    assert ring.choose(0.1, Random(0)).wait_s == pytest.approx(499.9)


def test_two_failures_and_an_answer_kill_nobody() -> None:
    """Only failures in a row count."""
    ring, name = _ring(PROXIES[0]), PROXIES[0].name
    for _ in range(10):
        ring.failed(name, 0.0, Random(0))
        ring.failed(name, 0.0, Random(0))
        ring.answered(name, 0.0, 0.1)
    assert _health(ring, name) is Health.GOOD


def test_excluded_where_it_is_the_only_one_left() -> None:
    """An excluded egress goes all the same where the others rest or there are none."""
    alone = _ring(DIRECT)
    assert _use(alone, 0.0, "direct") == "direct"
    ring = _ring(*PROXIES[:2])
    ring.refused(PROXIES[1].name, 0.0, Random(0))
    assert _use(ring, 0.0, PROXIES[0].name) == PROXIES[0].name


def test_latency_is_remembered() -> None:
    """The first answer sets the latency, later ones move it a little."""
    ring = _ring(DIRECT)
    ring.answered("direct", 0.0, 2.0)
    assert standings(ring)[0].latency_s == 2.0
    ring.answered("direct", 0.0, 1.0)
    assert 1.0 < standings(ring)[0].latency_s < 2.0


def test_no_egress() -> None:
    """A ring of nothing is a fault of the caller."""
    with pytest.raises(ValueError, match="at least one"):
        _ring()


def test_short_rests_without_a_limit() -> None:
    """Where the pace has no limit, rests begin at 0.2 s and end at 2 s."""
    ring, now = Ring([DIRECT], Pace(requests_per_second=0)), 0.0
    for n in range(6):
        ring.refused("direct", now, Random(0))
        wait_s = ring.choose(now, Random(0)).wait_s
        assert min(2.0, 0.2 * 2**n) / 2 <= wait_s <= min(2.0, 0.2 * 2**n)
        now += wait_s + 1e-6
        ring.choose(now, Random(0))


@pytest.mark.parametrize("is_ban", [False, True])
def test_a_rate_is_told_by_refusals_in_a_row(*, is_ban: bool) -> None:
    """Where the pace has no limit three refusals in a row say that an egress is too fast, whatever
    they are called: what was answered within the last second is its rate. One alone, or two, say
    nothing of the kind, and where the rate falls as low as rests alone keep it there is none
    again."""
    ring, rng = Ring([DIRECT], Pace(requests_per_second=0)), Random(0)
    for n in range(400):
        ring.answered("direct", n / 200, 0.001)
        if n % 50 == 0:
            ring.refused("direct", n / 200, rng, is_ban=is_ban)
            ring.refused("direct", n / 200, rng, is_ban=is_ban)
    assert standings(ring)[0].rate == 0.0
    rates = []
    for n in range(16):
        ring.refused("direct", 2.0, rng, is_ban=is_ban)
        rates.append(standings(ring)[0].rate)
        ring.choose(100.0 * n + 100.0, rng)
    rate = 199 * 0.75
    assert rates[:5] == pytest.approx([0.0, 0.0, rate, 0.75 * rate, 0.75**2 * rate])
    assert min(rate for rate in rates if rate) > 4.0
    assert rates[-1] == 0.0


def test_few_answers_tell_no_rate() -> None:
    """Refusals in a row right at the start, or where others have used up what an address may ask
    for, say nothing of how much that is: there is no rate yet."""
    ring, rng = Ring([DIRECT], Pace(requests_per_second=0)), Random(0)
    for n in range(9):
        ring.answered("direct", 0.1 * n, 0.01)
        ring.refused("direct", 0.1 * n, rng)
    assert standings(ring)[0].rate == 0.0


@pytest.mark.parametrize("is_ban", [False, True])
@pytest.mark.parametrize("allowed", [20.0, 100.0])
@pytest.mark.parametrize("processes", [1, 3])
def test_a_limit_is_found_where_no_pace_is_set(
    processes: int, allowed: float, *, is_ban: bool
) -> None:
    """Law 10: whatever a site calls a refusal, and however many processes ask by one address, they
    get most of what it allows, and after the beginning one request of twenty is refused at most.
    Each has twenty callers, who are answered within 30 ms."""
    limit, rng = _Limit(1 / allowed, allowed), Random(0)
    outcomes: list[tuple[float, bool]] = []

    async def ask(ring: Ring) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < 60.0:
            choice = ring.choose(loop.time(), rng)
            await asyncio.sleep(choice.wait_s)
            while wait_s := ring.go(choice, loop.time()):
                await asyncio.sleep(wait_s)
            if wait_s is None:
                continue
            await asyncio.sleep(rng.uniform(0.01, 0.03))
            ring.landed(choice)
            outcomes.append((loop.time(), limit.allows(loop.time())))
            if outcomes[-1][1]:
                ring.answered("direct", loop.time(), 0.03)
            else:
                ring.refused("direct", loop.time(), rng, is_ban=is_ban)

    async def ask_all() -> None:
        rings = [Ring([DIRECT], Pace(requests_per_second=0)) for _ in range(processes)]
        await asyncio.gather(*(ask(ring) for ring in rings for _ in range(20)))

    run(ask_all())
    late = [is_allowed for at, is_allowed in outcomes if at > 10.0]
    assert sum(late) > 0.8 * allowed * 50.0
    assert late.count(False) < 0.05 * len(late)


def test_the_floor_and_the_steps_are_settings() -> None:
    """Refusals slow an egress by fall_factor, never under the floor; answers speed it up by
    rise_share, never over the ceiling."""
    pace = Pace(
        requests_per_second=1.0, min_requests_per_second=0.2, fall_factor=0.7, rise_share=0.5
    )
    ring, now, rates = Ring([DIRECT], pace), 0.0, []
    for _ in range(6):
        ring.refused("direct", now, Random(0))
        rates.append(standings(ring)[0].rate)
        now += 10_000.0
        ring.choose(now, Random(0))
    assert rates == pytest.approx([0.7, 0.49, 0.343, 0.2401, 0.2, 0.2])
    for rate in (0.45, 0.45 + 0.5 * 2**-0.98, 0.45 + 0.5 * (2**-0.98 + 2**-0.9604), 1.0):
        ring.answered("direct", now, 0.1)
        assert standings(ring)[0].rate == pytest.approx(rate)


def _shares(ring: Ring, rng: Random, start: float, n: int = 4000) -> dict[str, float]:
    """How often each egress goes, of n requests that come when all are free."""
    counts = dict.fromkeys((status.name for status in standings(ring)), 0)
    for i in range(n):
        choice = ring.choose(start + 100.0 * i, rng)
        assert choice.egress is not None
        assert choice.wait_s == 0
        counts[choice.egress.name] += 1
    return {name: count / n for name, count in counts.items()}


def test_the_fast_go_more_often_and_all_go() -> None:
    """Of those that are free the fast and the reliable have most of the turns, and nobody none."""
    ring = _ring(*PROXIES)
    names = [egress.name for egress in PROXIES]
    for n, name in enumerate(names):
        for _ in range(20):
            ring.answered(name, 0.0, 0.1 * (n + 1))
    shares = _shares(ring, Random(1), 0.0)
    assert sorted(names, key=lambda name: -shares[name]) == names
    assert shares[names[0]] > 0.35
    assert shares[names[3]] > 0.01
    for _ in range(6):  # every other answer fails: never three in a row
        ring.failed(names[0], 0.0, Random(0))
        ring.answered(names[0], 0.0, 0.2)
    shares = _shares(ring, Random(1), 1e6)
    assert shares[names[1]] > shares[names[0]]


def test_who_was_tried_and_never_answered_well_comes_last() -> None:
    """A slow one that did is preferred to it; one that nobody tried goes before both."""
    ring = _ring(*PROXIES[:3])
    silent, slow, untried = (proxy.name for proxy in PROXIES[:3])
    choice = ring.choose(0.0, Random(0), (slow, untried))
    assert ring.go(choice, 0.0) == 0
    ring.landed(choice)
    ring.answered(slow, 0.0, 10.0)
    shares = _shares(ring, Random(1), 1e6)
    assert shares[untried] > shares[slow] > shares[silent]


def test_pace_before_response_time() -> None:
    """A slow egress that is free goes before a fast one that is not."""
    ring = _ring(*PROXIES[:2])
    ring.answered(PROXIES[0].name, 0.0, 0.01)
    ring.answered(PROXIES[1].name, 0.0, 10.0)
    assert {_use(ring, 0.0), _use(ring, 0.0)} == {PROXIES[0].name, PROXIES[1].name}


@pytest.mark.parametrize("others_fail_at", [0, 3])
def test_who_fails_more_often_than_others_dies(others_fail_at: int) -> None:
    """A proxy of which every third answer is broken dies, though it never fails twice in a row, and
    again after each return; where all others are like it, so the site is to blame, nobody does."""
    ring, now, deaths = _ring(*PROXIES[:4]), 0.0, Counter[str]()
    names = [proxy.name for proxy in PROXIES[:4]]
    fails_at = {name: 3 if name == names[0] else others_fail_at for name in names}
    for n in range(1, 300):
        now += 1000.0
        for name in names:
            if _health(ring, name) is Health.DEAD:
                _use(ring, now)  # probes
            if n > 20 and fails_at[name] and n % fails_at[name] == 0:
                ring.failed(name, now, Random(0))
                deaths[name] += _health(ring, name) is Health.DEAD
            else:
                ring.answered(name, now, 0.1)
    assert set(+deaths) == ({names[0]} if not others_fail_at else set())
    assert others_fail_at or deaths[names[0]] > 10


@pytest.mark.parametrize(("answers", "most_deaths"), [(0, 9), (1, 9), (4, 1)])
def test_good_answers_between_two_deaths_make_up_for_one(answers: int, most_deaths: int) -> None:
    """A proxy by which one of five requests fails comes back as soon each time; one that answers
    now and then comes back later and later."""
    ring, now, rng = _ring(*PROXIES[:2]), 0.0, Random(0)
    bad, good = (proxy.name for proxy in PROXIES[:2])
    ring.answered(good, now, 0.1)
    for _ in range(9):
        ring.failed(bad, now, rng)
        assert _health(ring, bad) is Health.DEAD
        now += 2000.0
        assert _use(ring, now, good) == bad  # a probe
        for _ in range(answers):
            ring.answered(bad, now, 0.1)
    state = ring.state(bad, now)
    assert state is not None
    assert state.deaths == most_deaths


def test_shares_of_an_egress() -> None:
    """Success moves with each outcome, and comes back."""
    ring = _ring(PROXIES[0])
    name = PROXIES[0].name
    ring.refused(name, 0.0, Random(0))
    ring.failed(name, 0.0, Random(0))
    status = standings(ring)[0]
    assert 0 < status.success < 1
    for _ in range(100):
        ring.answered(name, 0.0, 0.1)
    status = standings(ring)[0]
    assert status.success > 0.99


def test_an_outage_is_told() -> None:
    """Only where all egresses are out: how many of each kind, and which is tried first, when."""
    ring = _ring(*PROXIES[:2])
    ring.refused(PROXIES[0].name, 0.0, Random(0), 100.0)
    assert ring.outage(0.0) == ""
    for _ in range(3):
        ring.failed(PROXIES[1].name, 0.0, Random(0))
    assert "no egress may go (1 resting, 1 dead)" in ring.outage(0.0)
    assert PROXIES[1].name in ring.outage(0.0)
    assert ring.outage(200.0) == ""
    assert _leased().outage(0.0) == ""


def test_an_outage_counts_who_is_here() -> None:
    """Who left, is good again or was chosen to be tried again is not among those that are out."""
    ring, names = _ring(*PROXIES), [egress.name for egress in PROXIES]
    for name in names:
        ring.refused(name, 0.0, Random(0), 100.0)
    assert "(4 resting)" in ring.outage(0.0)
    ring.retire(names[0])
    for _ in range(3):
        ring.failed(names[1], 0.0, Random(0))
    assert "(2 resting, 1 dead)" in ring.outage(0.0)
    used = {_use(ring, 200.0), _use(ring, 200.0), _use(ring, 200.0)}
    assert used == set(names[1:])
    assert ring.outage(200.0) == ""
    for name in used:
        ring.refused(name, 201.0, Random(0), 100.0)
    assert "(3 resting)" in ring.outage(202.0)
    ring.join(Egress("new:1", "http://new:1"))
    assert ring.outage(202.0) == ""


def test_not_all_queue_at_a_slow_egress() -> None:
    """Who could only have a turn after the next one waits for an egress that is back sooner; where
    none is, turns are reserved further ahead."""
    ring = _ring(*PROXIES[:2], rate=0.01)
    slow = _use(ring, 0.0)
    ring.answered(slow, 0.0, 0.1)
    back = next(egress.name for egress in PROXIES[:2] if egress.name != slow)
    ring.rest(back, 0.0, 30.0)
    assert ring.choose(10.0, Random(0)).egress is not None  # its next turn, at 100 s
    choice = ring.choose(10.0, Random(0))
    assert choice.egress is None
    assert choice.wait_s == pytest.approx(20.0)
    assert _use(ring, 30.0) == back
    ring.rest(back, 30.0, 1e6)
    waits = [ring.choose(40.0, Random(0)).wait_s for _ in range(3)]
    assert waits[0] > 100.0
    assert waits == sorted(waits)


@pytest.mark.parametrize("dead", [0.0, 0.5, 0.99, 1.0])
def test_a_choice_costs_the_same_among_thousands(dead: float) -> None:
    """However many egresses there are, and however many of them are dead, a choice and the words of
    an outage take some dozen calls, which are some microseconds."""
    many = [Egress(f"10.1.{n // 256}.{n % 256}:80", "http://p:80") for n in range(10_000)]
    ring, rng, now, calls = _ring(*many, rate=0.5), Random(1), 0.0, 0
    for egress in many[: int(dead * len(many))]:
        for _ in range(3):
            ring.failed(egress.name, now, rng)
    ring.choose(now, rng)  # the first choice finds all newcomers free

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    for _ in range(1000):
        sys.setprofile(count)
        choice = ring.choose(now, rng)
        ring.outage(now)
        sys.setprofile(None)
        if choice.egress is not None and ring.go(choice, now + choice.wait_s) == 0:
            ring.landed(choice)
        now += 0.0005
    assert calls < 1000 * 100


def test_who_comes_back_while_it_leaves() -> None:
    """An egress that vanished and is listed again before its last request landed stays, with its
    rest; its address may be another."""
    ring = _ring(*PROXIES[:2])
    choice = ring.choose(0.0, Random(0))
    assert choice.egress is not None
    name = choice.egress.name
    assert ring.go(choice, 0.0) == 0
    ring.refused(name, 0.0, Random(0), 500.0)
    ring.retire(name)
    ring.join(Egress(name, "http://other:80"))
    ring.landed(choice)
    assert _health(ring, name) is Health.RESTING
    assert ring.choose(501.0, Random(0)).egress is not None
    ring.move(Egress(name, "http://third:80"))
    other = next(e.name for e in PROXIES[:2] if e.name != name)
    ring.retire(other)
    gone = ring.choose(2000.0, Random(0)).egress
    assert gone is not None
    assert gone.proxy_url == "http://third:80"


# -- leases


def _leased(*names: str, rate: float = 0.5) -> Ring:
    ring = Ring([], Pace(requests_per_second=rate), is_leased=True)
    ring.until = 1e9
    for name in names:
        ring.admit(Egress(name, f"http://{name}"), EgressState(rate), 0.0)
    return ring


def test_an_empty_ring_waits() -> None:
    """Where nothing is held nobody goes, and nobody spins."""
    ring = _leased()
    assert ring.is_empty
    choice = ring.choose(0.0, Random(0))
    assert choice.egress is None
    assert choice.wait_s > 0


def test_nothing_goes_after_the_lease() -> None:
    """From `until` on no turn is given, and a turn that was given before is void."""
    ring = _leased("a:1")
    ring.until = 10.0
    choice = ring.choose(9.0, Random(0))
    assert choice.egress is not None
    assert ring.go(choice, 10.0) is None
    assert ring.choose(10.0, Random(0)).egress is None


def test_the_pace_goes_on_at_the_next_holder() -> None:
    """What one ring hands back another one admits: not earlier, not faster, and still at rest."""
    ring = _leased("a:1", "b:1")
    assert {_use(ring, 0.0), _use(ring, 0.0)} == {"a:1", "b:1"}
    ring.refused("b:1", 1.0, Random(0), 100.0)
    states = ring.lose_all(1.0)
    assert ring.is_empty
    assert 1.0 <= states["a:1"].next_free_s <= 1.2 + 1e-9
    assert (states["b:1"].health, states["b:1"].next_free_s) == (Health.RESTING, 100.0)
    other = _leased()
    for name, state in states.items():
        other.admit(Egress(name, f"http://{name}"), state, 50.0)
    choice = other.choose(50.0, Random(0))
    assert choice.egress is not None
    assert choice.egress.name == "a:1"
    assert choice.wait_s == pytest.approx(states["a:1"].next_free_s)
    assert next(s.rate for s in standings(other) if s.name == "b:1") == 0.375
    assert other.choose(149.0, Random(0), {"a:1"}).egress is not None
    assert _use(other, 151.0, "a:1") == "b:1"


def test_trust_is_not_won_by_moving() -> None:
    """Who has answered a few times has to prove itself at the next holder as well; who is proven
    is."""
    ring = _leased("a:1", "b:1", "c:1")
    for name in ["a:1"] * 2 + ["b:1"] * 8:
        ring.answered(name, 0.0, 0.1)
    other = _leased("c:1")
    for name, state in ring.lose_all(1.0).items():
        if name != "c:1":
            other.admit(Egress(name, f"http://{name}"), state, 1.0)
    other.answered("c:1", 2.0, 0.1)
    for name, is_proven in (("a:1", False), ("b:1", True)):
        assert other.is_healthy(name) is is_proven
        other.failed(name, 3.0, Random(0))
        assert (_health(other, name) is Health.DEAD) is not is_proven


def test_an_emptiness_does_not_make_up_for_what_was_false() -> None:
    """A proxy that leaves pages empty that others show is refused by the site, or makes it up: it
    is not trusted for what it showed before, and dies for longer each time."""
    ring, rng = _ring(*PROXIES[:2]), Random(0)
    name = PROXIES[0].name
    ring.answered(PROXIES[1].name, 0.0, 0.1)
    ring.failed(name, 0.0, rng)
    for _ in range(4):
        ring.answered(name, 50.0, 0.1)
    ring.hollow(name, 60.0, rng)
    assert _health(ring, name) is Health.RESTING
    ring.failed(name, 100.0, rng)
    state = ring.state(name, 100.0)
    assert state is not None
    assert (state.health, state.deaths) == (Health.DEAD, 2)


def test_an_emptiness_ends_no_row_of_soft_refusals() -> None:
    """Who was shown nothing where others are, and shows nothing since, may be refused still: it is
    asked more and more rarely, however many emptinesses nobody contradicts. What it is shown ends
    that."""
    ring, rng = _ring(*PROXIES[:2]), Random(0)
    name = PROXIES[0].name
    now, rests = 0.0, []
    for _ in range(4):
        ring.answered(name, now, 0.1, is_shown=False)
        ring.hollow(name, now, rng)
        state = ring.state(name, now)
        assert state is not None
        rests.append(state.next_free_s)
        now += state.next_free_s
        assert _use(ring, now + 1.0, PROXIES[1].name) == name
        ring.answered(name, now, 0.1, is_shown=False)
    assert state.rests == 4
    assert rests[-1] > 3 * rests[0]
    slow = state.rate
    ring.answered(name, now, 0.1)
    state = ring.state(name, now)
    assert state is not None
    assert state.rests == 0
    assert state.rate > slow


def test_a_proven_proxy_that_hollows_pages_is_no_witness() -> None:
    """What it showed before does not prove that it shows all."""
    ring = _ring(*PROXIES[:2])
    name = PROXIES[0].name
    for _ in range(9):
        ring.answered(name, 0.0, 0.1)
    assert ring.is_healthy(name)
    ring.hollow(name, 1.0, Random(0))
    assert _use(ring, 1000.0, PROXIES[1].name) == name
    for n in range(8):
        assert not ring.is_healthy(name)
        ring.answered(name, 1001.0 + n, 0.1)
    assert ring.is_healthy(name)


def test_who_never_showed_anything_rests_at_its_first_broken_page() -> None:
    """Nobody knows yet whose fault it is; where others answer it is not asked at full pace until
    that is told. Where nobody has answered, or it is proven, it goes on."""
    ring, rng = _ring(*PROXIES[:2], DIRECT), Random(0)
    one, other = (egress.name for egress in PROXIES[:2])
    ring.broken(one, 0.0, rng)
    assert _health(ring, one) is Health.UNCHECKED
    for _ in range(8):
        ring.answered(other, 1.0, 0.1)
    ring.broken(other, 1.0, rng)
    ring.broken("direct", 1.0, rng)
    assert {_health(ring, name) for name in (other, "direct")} == {Health.GOOD, Health.UNCHECKED}
    ring.broken(one, 2.0, rng)
    assert _health(ring, one) is Health.DEAD


def test_who_is_not_proven_rests_until_others_tell_whose_fault_it_was() -> None:
    """A proxy of which half of the pages are false breaks one of them, and not five, before another
    egress shows it."""
    ring, rng = _ring(*PROXIES[:2], rate=0.5), Random(0)
    name = PROXIES[0].name
    for _ in range(3):
        ring.answered(name, 0.0, 0.1)
    ring.broken(name, 1.0, rng)
    assert _health(ring, name) is Health.RESTING
    assert ring.choose(1.0, rng, PROXIES[1].name).egress is PROXIES[1]
    state = ring.state(name, 1.0)
    assert state is not None
    assert state.next_free_s == 8.0
    ring.failed(name, 5.0, rng)
    assert _health(ring, name) is Health.DEAD


def test_reserved_turns_are_not_handed_on() -> None:
    """A long queue at one egress ends with its lease: the next holder waits for one interval."""
    ring = _leased("a:1")
    assert _use(ring, 0.0) == "a:1"
    for _ in range(50):
        ring.choose(0.0, Random(0))
    assert ring.lose_all(0.0)["a:1"].next_free_s <= 2.2


def test_a_retired_egress_goes_when_all_has_landed() -> None:
    """Nothing new starts by it; it is handed back when the last request is over."""
    ring = _leased("a:1", "b:1")
    for one in ("a:1", "b:1"):
        ring.answered(one, -100.0, 0.1)
    choice = ring.choose(0.0, Random(0))
    waiting = ring.choose(0.0, Random(0), {"b:1"})
    assert choice.egress is not None
    assert ring.go(choice, 0.0) == 0
    name = choice.egress.name
    assert ring.retire(name)
    assert not ring.retire(name)
    assert ring.hand_back(1.0) == {}
    assert ring.go(waiting, waiting.wait_s) is None or waiting.egress != choice.egress
    assert {_use(ring, 10.0 * n) for n in range(3)} == {"b:1" if name == "a:1" else "a:1"}
    assert not ring.is_news
    ring.landed(choice)
    assert ring.is_news
    assert list(ring.hand_back(2.0)) == [name]
    ring.answered(name, 3.0, 0.1)  # what is said of it later is passed over
    ring.refused(name, 3.0, Random(0))
    ring.failed(name, 3.0, Random(0))
    assert [status.name for status in standings(ring)] != [name]


def test_a_newcomer_is_used_at_once() -> None:
    """Those who queue at one egress choose anew when another comes, and no turn is wasted."""
    ring = _leased("a:1")
    assert _use(ring, 0.0) == "a:1"
    ring.answered("a:1", 0.0, 0.1)
    queue = [ring.choose(0.0, Random(0)) for _ in range(10)]
    ring.admit(Egress("b:1", "http://b:1"), EgressState(0.5), 0.5)
    ring.rearrange(0.5)
    assert all(ring.go(choice, choice.wait_s) is None for choice in queue)
    assert _use(ring, 0.5) == "b:1"
    assert ring.choose(0.5, Random(0), {"b:1"}).wait_s == pytest.approx(1.51)


@pytest.mark.parametrize("seed", range(3))
def test_the_cadence_is_learned_and_unlearned(seed: int) -> None:
    """One proxy goes at a cadence of send times, and all do once that was answered for long: the
    time of an exchange costs nothing, and no window holds more than its share and the slack. At a
    refusal that proxy waits from the latest possible arrival again, and its rate stays."""
    ring, rng = _ring(*PROXIES, rate=1.0), Random(seed)
    starts: dict[str, list[float]] = {egress.name: [] for egress in PROXIES}

    def ask(now: float, name: str) -> float:
        while True:
            one, sent = _ask(ring, now, rng)
            starts[one].append(sent)
            if one == name:
                return sent + 0.3
            now = sent

    now, first = 0.0, PROXIES[0].name
    for _ in range(400):
        now = ask(now, first)
    for times in starts.values():
        late = times[-100:]
        assert late[-1] - late[0] <= 99 * 1.02 + 0.2
        for i, begin in enumerate(late):
            assert all(end - begin >= n - 0.2 - 1e-6 for n, end in enumerate(late[i:]))
    ring.refused(first, now, rng)
    assert next(s.rate for s in standings(ring) if s.name == first) == 1.0
    for _ in range(30):
        now = ask(now, first)
    careful = starts[first][-20:]
    assert all(b - a >= 1.3 - 1e-6 - 0.3 for a, b in pairwise(careful))
    ring.refused(first, now, rng)
    assert next(s.rate for s in standings(ring) if s.name == first) == 0.75


@pytest.mark.parametrize("is_dead", [True, False])
def test_another_one_learns_the_cadence_where_the_learner_is_lost(*, is_dead: bool) -> None:
    """A proxy that dies, or leaves the list, before it has learned tells nothing of the site: the
    next one that is answered learns in its place, from the beginning."""
    lost, other = PROXIES[:2]
    ring, now, starts = _ring(lost, rate=1.0), 0.0, []
    for _ in range(20):
        now = _ask(ring, now, Random(0))[1] + 0.3
    ring.join(other)
    if is_dead:
        ring.failed(lost.name, now, Random(0), 3600.0)
    else:
        ring.retire(lost.name)
    ring.answered(other.name, now, 0.01)  # so that nobody knows how long others are on their way
    for _ in range(60):
        _, sent = _ask(ring, now, Random(0))
        starts.append(sent)
        now = sent + 0.3
    assert starts[-1] - starts[-11] <= 10 * 1.02 + 0.2


def test_one_request_at_a_time_by_who_never_answered() -> None:
    """Nothing more goes by a proxy of which nobody knows whether it answers, until it has landed;
    those who find nothing else look again soon, and reserve no turn."""
    ring = _ring(PROXIES[0], rate=4.0)
    first = ring.choose(0.0, Random(0))
    assert ring.go(first, 0.0) == 0
    others = [ring.choose(1.0, Random(0)) for _ in range(10)]
    assert all(choice.egress is None and choice.wait_s <= 0.1 for choice in others)
    ring.landed(first)
    ring.answered(PROXIES[0].name, 1.1, 1.1)
    assert ring.choose(1.2, Random(0)).egress == PROXIES[0]


def test_changes_are_told_once() -> None:
    """Refusals, deaths and rising rates are changes; a good answer at full rate is none."""
    ring = _leased("a:1", "b:1")
    for name in ("a:1", "b:1"):
        ring.answered(name, 0.0, 0.1)
    assert set(ring.changes(0.0)) == {"a:1", "b:1"}
    ring.answered("a:1", 1.0, 0.1)
    assert ring.changes(1.0) == {}
    ring.refused("b:1", 1.0, Random(0))
    assert ring.is_news
    assert ring.changes(1.0)["b:1"].health is Health.RESTING
    assert not ring.is_news


def test_a_probe_that_is_handed_on_stays_a_probe() -> None:
    """A dead egress whose probe is under way is dead for the next holder."""
    ring = _leased("a:1")
    for _ in range(3):
        ring.failed("a:1", 0.0, Random(0))
    assert _use(ring, 100.0) == "a:1"
    state = ring.lose_all(101.0)["a:1"]
    assert state.health is Health.DEAD
    assert state.deaths == 1


@pytest.mark.parametrize("health", list(Health))
def test_the_states_of_older_versions_are_admitted(health: Health) -> None:
    """Any state that was saved is gone on with: what is out waits, and what is dead is probed."""
    ring = _leased()
    is_out = health in (Health.RESTING, Health.DEAD)
    state = EgressState(0.5, 100.0 if is_out else 1.0, health, 2)
    assert ring.admit(Egress("a:1", "http://a:1"), state, 0.0)
    assert (ring.choose(0.0, Random(0)).egress is None) is is_out
    _use(ring, 200.0)
    was_down = health in (Health.DEAD, Health.PROBING)
    assert (_health(ring, "a:1") is Health.PROBING) is was_down
    ring.failed("a:1", 201.0, Random(0))
    assert (_health(ring, "a:1") is Health.GOOD) is (health is Health.GOOD)


@pytest.mark.parametrize(
    ("health", "wait_s", "longest_s"),
    [
        (Health.GOOD, 1.0, 1.0),
        (Health.GOOD, 3.2e9, 4.0),
        (Health.UNCHECKED, 5.0, 4.0),
        (Health.RESTING, 3600.0, 3600.0),
        (Health.RESTING, 3.2e9, 3604.0),
        (Health.DEAD, 3.2e9, 3604.0),
    ],
)
def test_a_wait_beyond_pace_and_rests_is_cut(
    health: Health, wait_s: float, longest_s: float
) -> None:
    """A clock that jumped locks nobody out: two intervals at most, or the longest rest. Others are
    told."""
    ring = _leased()
    is_sound = ring.admit(Egress("a:1", "http://a:1"), EgressState(0.5, wait_s, health), 0.0)
    assert is_sound is (wait_s == longest_s)
    assert ring.choose(0.0, Random(0)).wait_s == pytest.approx(longest_s)
    changed = ring.changes(0.0)
    assert ("a:1" in changed) is not is_sound


def test_a_probe_that_is_put_to_rest_is_dead() -> None:
    """Where a proxy on probe may not ask for a session yet it stays dead until then."""
    ring = _leased("a:1")
    for _ in range(3):
        ring.failed("a:1", 0.0, Random(0))
    assert _use(ring, 100.0) == "a:1"
    ring.rest("a:1", 100.0, 500.0)
    assert _health(ring, "a:1") is Health.DEAD
    assert ring.choose(100.0, Random(0)).wait_s == pytest.approx(500.0)
    assert _use(ring, 601.0) == "a:1"
    assert _health(ring, "a:1") is Health.PROBING


def test_who_has_died_is_probed_within_four_of_its_intervals() -> None:
    """Soon at first, as the site is not troubled by who is down; half of the rest is dice."""
    waits = []
    for seed in range(40):
        ring = _leased("a:1", rate=0.5)
        for _ in range(3):
            ring.failed("a:1", 0.0, Random(seed))
        waits.append(ring.choose(0.0, Random(0)).wait_s)
    assert 4.0 <= min(waits) < 5.0
    assert 7.0 < max(waits) <= 8.0


def test_a_proxy_that_stalls_dies_at_once_and_is_probed_seldom() -> None:
    """It holds up each page that it is tried with, so it rests for longer than its probe takes."""
    ring, rng = Ring(PROXIES[:2], Pace(requests_per_second=0)), Random(0)
    name = PROXIES[0].name
    for n in range(6):
        now = n * 1000.0
        ring.failed(name, now, rng, 7.0)
        health = {status.name: status.health for status in standings(ring)}
        assert health[name] is Health.DEAD
        if ring.choose(now + 6.9, rng, PROXIES[1].name).egress is PROXIES[0]:
            pytest.fail("a proxy that stalls is tried again too soon")
        probe = None
        while probe != PROXIES[0]:
            probe = ring.choose(now + 29.0, rng, PROXIES[1].name).egress


def test_one_short_failure_kills_no_proxy() -> None:
    """Of a proven proxy only what takes long is enough by itself; one that is not proven, though it
    answered now and then, dies at each failure."""
    ring = Ring(PROXIES[:2], Pace(requests_per_second=0))
    for name in [PROXIES[0].name] * 10 + [PROXIES[1].name] * 4:
        ring.answered(name, 0.0, 0.1)
    ring.failed(PROXIES[1].name, 0.0, Random(0), 0.5)
    assert standings(ring)[1].health is Health.DEAD
    ring.failed(PROXIES[0].name, 0.0, Random(0), 0.5)
    assert standings(ring)[0].health is not Health.DEAD
