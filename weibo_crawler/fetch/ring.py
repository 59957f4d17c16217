"""The ring of egresses: which one may go next, and when. Pure: `now` and `rng` are arguments.

`now` is seconds on any clock that never goes back.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import NamedTuple

from weibo_crawler.config import Pace
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.egress import Egress

_DEAD_AFTER = 3  # failures in a row
_RATE_FLOOR = 1 / 64  # of the ceiling
_RATE_STEP = 1 / 32  # of the ceiling, for each answer
_PACE_JITTER = 0.1  # a gap is one to 1.1 intervals, never less than one
_LATE = 0.8  # of an interval: a start this close behind another one is held back
_LATENCY_WEIGHT = 0.1


class Health(Enum):
    """What is known of an egress.

    unchecked   not used yet, back from a rest, or on probe after its death; may go
    good        its last answer was no refusal; may go
    resting     the site refused it: nothing goes before its rest ends, then it is unchecked.
                A rest doubles with each refusal in a row; a refusal that arrives during a rest
                belongs to the burst that caused it, and only a longer Retry-After adds to it
    dead        the proxy failed three times in a row: nothing goes before its next probe, which
                is one request. If that fails too it is dead for twice as long

    refused: unchecked, good, dead -> resting; the rate halves, down to 1/64 of the ceiling
    failed:  unchecked, good, resting -> the same, or dead after three in a row (a probe: at once);
             the direct egress never dies, it rests
    answered: unchecked, good, dead -> good; the rate rises by 1/32 of the ceiling. An answer that
             arrives during a rest was sent before it and does not end it
    """

    UNCHECKED = "unchecked"
    GOOD = "good"
    RESTING = "resting"
    DEAD = "dead"


class Choice(NamedTuple):
    """Wait wait_s, then use `egress` if the ring still says `go`; None: wait, then ask again."""

    egress: Egress | None
    wait_s: float
    turn: int = 0


class EgressStatus(NamedTuple):
    """How one egress stands. rate: requests per second, 0 = no limit; latency_s: of late."""

    name: str
    health: Health
    rate: float
    latency_s: float


@dataclass(slots=True)
class _Slot:
    egress: Egress
    order: int
    rate: float
    health: Health = Health.UNCHECKED
    next_free: float = float("-inf")
    started: float = float("-inf")  # the last request
    turn: int = 0  # reservations made for an earlier turn are void
    entry: int = 0  # the number of its valid heap entry
    rests: int = 0  # in a row
    failures: int = 0  # in a row
    deaths: int = 0  # in a row
    latency_s: float = 0.0

    @property
    def is_out(self) -> bool:
        return self.health in (Health.RESTING, Health.DEAD)


class Ring:
    """All egresses with their pace. A choice among 10,000 costs some microseconds.

    rest_base_s, rest_cap_s: the first and the longest rest (and time between probes of a dead
    egress), by default 30 and 900 s, or 0.2 and 2 s where the pace has no limit. Retry-After is
    obeyed up to four times the cap.
    """

    def __init__(
        self,
        egresses: Sequence[Egress],
        pace: Pace,
        *,
        rest_base_s: float | None = None,
        rest_cap_s: float | None = None,
    ) -> None:
        if not egresses:
            raise ValueError("a ring needs at least one egress")
        self._ceiling = pace.requests_per_second
        short = self._ceiling == 0
        self._rest_base_s = rest_base_s if rest_base_s is not None else (0.2 if short else 30.0)
        self._rest_cap_s = rest_cap_s if rest_cap_s is not None else (2.0 if short else 900.0)
        self._slots = [_Slot(egress, n, self._ceiling) for n, egress in enumerate(egresses)]
        self._by_name = {slot.egress.name: slot for slot in self._slots}
        # (next_free, order, entry); an entry whose number is not the slot's own is stale.
        self._heap = [(slot.next_free, slot.order, slot.entry) for slot in self._slots]

    def choose(self, now: float, rng: Random, excluding: str | None = None) -> Choice:
        """The egress that may go first, and its place in the queue reserved.

        excluding: a name to pass over where another egress may go.
        """
        slot = self._first()
        if slot.egress.name == excluding and len(self._slots) > 1:
            slot = self._other_than(slot, now)
        if slot.is_out and slot.next_free > now:
            return Choice(None, slot.next_free - now)
        at = max(now, slot.next_free)
        gap_s = self._interval(slot) * rng.uniform(1.0, 1.0 + _PACE_JITTER)
        if slot.health is Health.DEAD:  # a probe: nothing else until its outcome is known
            slot.failures = _DEAD_AFTER - 1
            gap_s = max(gap_s, self._rest_base_s)
        if slot.is_out:
            slot.health = Health.UNCHECKED
        self._free_at(slot, at + gap_s)
        return Choice(slot.egress, at - now, slot.turn)

    def go(self, choice: Choice, now: float) -> bool:
        """May the request of this choice start now? False: choose again.

        Not when its egress was refused or died since, nor when requests that were held up
        elsewhere would now start in a bunch.
        """
        assert choice.egress is not None
        slot = self._by_name[choice.egress.name]
        if slot.turn != choice.turn or now - slot.started < _LATE * self._interval(slot):
            return False
        slot.started = now
        return True

    def answered(self, name: str, now: float, elapsed_s: float) -> None:
        """The site answered by this egress, and it was no refusal. elapsed_s: how long it took."""
        slot = self._by_name[name]
        slot.latency_s += (elapsed_s - slot.latency_s) * (_LATENCY_WEIGHT if slot.latency_s else 1)
        was_dead = slot.deaths > 0
        slot.failures = slot.deaths = 0
        if slot.health is Health.RESTING:
            return
        slot.rests = 0
        slot.rate = min(self._ceiling, slot.rate + self._ceiling * _RATE_STEP)
        slot.health = Health.GOOD
        if was_dead:  # do not let it wait for its next probe
            self._free_at(slot, max(now, slot.started + self._interval(slot)))

    def refused(
        self, name: str, now: float, rng: Random, retry_after_s: float | None = None
    ) -> None:
        """The site refused this egress."""
        slot = self._by_name[name]
        asked_s = min(retry_after_s or 0.0, 4 * self._rest_cap_s)
        if slot.health is Health.RESTING:
            if now + asked_s > slot.next_free:
                self._put_out(slot, Health.RESTING, now + asked_s)
            return
        slot.rate = max(slot.rate / 2, self._ceiling * _RATE_FLOOR)
        slot.failures = slot.deaths = 0
        self._rest(slot, now, rng, asked_s)

    def failed(self, name: str, now: float, rng: Random) -> None:
        """The egress itself failed."""
        slot = self._by_name[name]
        if slot.egress.proxy_url is None:
            if slot.health is not Health.RESTING:
                self._rest(slot, now, rng, 0.0)
            return
        slot.failures += 1
        if slot.failures >= _DEAD_AFTER and slot.health is not Health.DEAD:
            until = now + backoff_s(slot.deaths, self._rest_base_s, self._rest_cap_s, rng)
            slot.deaths += 1
            if slot.health is Health.RESTING:
                until = max(until, slot.next_free)
            self._put_out(slot, Health.DEAD, until)

    def status(self) -> list[EgressStatus]:
        """All egresses in the order they were given."""
        return [EgressStatus(s.egress.name, s.health, s.rate, s.latency_s) for s in self._slots]

    def _interval(self, slot: _Slot) -> float:
        return 1.0 / slot.rate if slot.rate else 0.0

    def _first(self) -> _Slot:
        heap = self._heap
        while self._slots[heap[0][1]].entry != heap[0][2]:
            heapq.heappop(heap)
        return self._slots[heap[0][1]]

    def _other_than(self, slot: _Slot, now: float) -> _Slot:
        """The best egress but `slot`, which is the first; `slot` where no other may go."""
        entry = heapq.heappop(self._heap)
        other = self._first()
        heapq.heappush(self._heap, entry)
        return slot if other.is_out and other.next_free > now else other

    def _free_at(self, slot: _Slot, at: float) -> None:
        slot.next_free = at
        slot.entry += 1
        heapq.heappush(self._heap, (at, slot.order, slot.entry))

    def _rest(self, slot: _Slot, now: float, rng: Random, asked_s: float) -> None:
        rest_s = backoff_s(slot.rests, self._rest_base_s, self._rest_cap_s, rng)
        slot.rests += 1
        self._put_out(slot, Health.RESTING, now + max(rest_s, asked_s))

    def _put_out(self, slot: _Slot, health: Health, until: float) -> None:
        slot.health = health
        slot.turn += 1
        self._free_at(slot, max(until, slot.started + self._interval(slot)))
