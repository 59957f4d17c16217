"""The ring of egresses: which one may go next, and when. Pure: `now` and `rng` are arguments.

`now` is seconds on any clock that never goes back. `Health` says how an egress moves.
"""

from collections.abc import Collection, Sequence
from math import inf
from random import Random
from typing import NamedTuple

from weibo_crawler.config import Pace
from weibo_crawler.fetch.backoff import backoff_s
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.slot import PROVEN, UNLIMITED, Patience, Slot
from weibo_crawler.fetch.pool.turns import Turns
from weibo_crawler.records import LONGEST_REST_S, AllOut, EgressState, Health

_DEAD_AFTER = 3  # failures in a row
_STALL_S = 3.0  # a failure that took so long is enough
_DEAD_REST = 4.0  # intervals: the first rest of a dead one
_REDEEMS = 2  # good answers between two deaths make up for one of them
_STALL_REST = 4.0  # times as long as its probe takes is the longest rest of who stalls, at least
_PACE_JITTER = 0.015  # of an interval: at most so much more than the least gap
_LEAST_RATE = 4.0  # requests per second, where no pace is set: rests alone keep to less
_SHORT_REST = 2.0  # intervals: the first rest of who was only too fast
_FORGIVEN = 24  # answers to one egress at the cadence: then all others go at it as well
_TRIAL_S = 5.0  # nobody else goes meanwhile by an egress that has not answered yet
_TRIAL_LOOK_S = 0.1  # who finds nothing but trials looks again then
_RECENT = 1 / 32  # of the newest answer in what is usual everywhere
_GRAIN_S = 1e-6  # what is left of an interval after rounding
_COMPARED = 500  # pages with telling words of which one is compared, after the first one
_COMPARED_AGAIN = 20  # pages at most until the next one, where the last comparisons did not tell
_NEXT, _LEAST_NEXT_S = 3.0, 0.5  # intervals and answers until the next answers have come
_EMPTY_S = 1.0  # where there is no egress at all: ask again then


class Choice(NamedTuple):
    """Wait wait_s, then use `egress` if the ring still says `go`; None: wait, then ask again.
    is_trial: nobody knows whether it answers; at: when its turn was to come."""

    egress: Egress | None
    wait_s: float
    number: int = -1
    turn: int = 0
    is_trial: bool = False
    at: float = 0.0


class Ring:
    """All egresses with their pace. A choice among 10,000 costs some microseconds.

    Of those that are free now, one that answers fast and seldom fails is taken, with some chance
    for the others; where none is free, the one that is free first (`Turns.choose`).

    The first rest is of 30 s, the longest of 900 s; of 0.2 and 2 s where the pace has no limit. A
    rest of who was only too fast begins at two of its intervals, the time between the probes of a
    dead proxy at one. Retry-After is obeyed up to four times the longest rest (longest_s, at most
    an hour).

    Where the pace has no limit an egress goes without one until it is refused several times in a
    row, in whatever words: some sites say 403 to who is too fast. Then what was answered within the
    last second is its rate, and the one that was refused; it falls and rises as any other does, but
    without a ceiling. Where it is no more than _LEAST_RATE it was no haste, or rests alone serve
    better, and there is no limit again.

    is_leased: the ring begins empty; egresses are admitted, retired and lost as their leases come
    and go, and nothing goes from `until` on. What is said of an egress that is not here any more
    is passed over.
    """

    def __init__(
        self,
        egresses: Sequence[Egress],
        pace: Pace,
        *,
        is_leased: bool = False,
    ) -> None:
        if not egresses and not is_leased:
            raise ValueError("a ring needs at least one egress")
        self.ceiling = pace.requests_per_second
        self._floor = pace.floor if self.ceiling else _LEAST_RATE
        self._fall, self._rise = pace.fall_factor, pace.rise_share
        self._is_leased = is_leased
        self.until = -inf if is_leased else inf
        self._rest_base_s, self._rest_cap_s = (30.0, 900.0) if self.ceiling else (0.2, 2.0)
        self.longest_s = min(4 * self._rest_cap_s, LONGEST_REST_S)
        self._slots: dict[int, Slot] = {}
        self._by_name: dict[str, Slot] = {}
        self._touched: set[str] = set()
        self._numbers = 0
        self._usual_s = 0.0  # of all that answer
        self._is_shown = False  # whether anything was, by any of them
        self.was_answered = False  # whether the site answered here, or a holder before
        self._successes = 0.0  # of all, in sum
        self._canary: int | None = None
        self._forgiven = 0  # answers to the canary; -1: the site forgives no jitter
        self._turns = Turns()
        for egress in egresses:
            self.join(egress)

    def choose(self, now: float, rng: Random, excluding: Collection[str] = ()) -> Choice:
        """The egress that may go first, and its place in the queue reserved.

        excluding: names to pass over where another egress may go.
        """
        if now >= self.until:
            return Choice(None, _EMPTY_S)
        slot = self._turns.choose(now, rng, excluding)
        if slot is None:
            back_at = self._turns.back_at()
            return Choice(None, _EMPTY_S if back_at is None else back_at - now)
        is_trial = slot.is_on_trial  # nothing else until its outcome is known
        if slot.is_taken and slot.next_free > now:
            return Choice(None, min(slot.next_free - now, _TRIAL_LOOK_S))
        at = max(now, slot.next_free)
        after = max(now - slot.slack_s, slot.next_free) + slot.gap_s
        after += slot.interval_s * rng.uniform(0.0, _PACE_JITTER)
        if slot.is_down:
            slot.health = Health.PROBING
            after = max(after, at + self._rest_base_s)
        elif is_trial:
            after = max(after, at + _TRIAL_S)
            slot.is_taken = True
        if slot.health is Health.RESTING:
            slot.health = Health.UNCHECKED
        self._turns.put(slot, after)
        return Choice(slot.egress, at - now, slot.number, slot.turn, is_trial, at)

    def go(self, choice: Choice, now: float) -> float | None:
        """0: the request of this choice starts now; then `landed` says when it is over. More: it is
        early by so many seconds, ask again then. None: choose again.

        Choose again where its egress was refused, died or was lost since, and where the turns ahead
        of it were held up for so long that its own comes more than one turn later than promised.
        """
        slot = self._slots.get(choice.number)
        if slot is None or slot.is_leaving or slot.turn != choice.turn or now >= self.until:
            return None
        early_s = slot.due - now
        if early_s > _GRAIN_S:
            late_s = early_s if self.is_single else slot.due - choice.at
            return early_s if late_s <= slot.gap_s else None
        slot.start(now)
        slot.is_tried = True
        slot.flying += 1
        return 0.0

    def landed(self, choice: Choice, *, is_unused: bool = False) -> None:
        """A request that `go` let start is over. is_unused: it tells nothing of the egress."""
        slot = self._slots.get(choice.number)
        if slot is not None:
            slot.flying -= 1
            slot.is_tried = slot.is_tried and not is_unused
            if choice.is_trial and not slot.is_out and not slot.is_down:
                self._free_at(slot, slot.due)
            self._let_go(slot)

    def patience(self, choice: Choice) -> Patience:
        """How long to wait for the answer to the request of this choice."""
        slot = self._slots.get(choice.number)
        if slot is None or self.is_single or self.ceiling == 0:
            return UNLIMITED
        return slot.patience(self._usual_s)

    def stalled(self, name: str) -> None:
        """No answer came in the time that was given: it gets more of it."""
        slot = self._by_name.get(name)
        if slot is not None:
            slot.stalls += 1

    def heard(self, name: str, now: float, elapsed_s: float) -> None:
        """The site answered by this egress, and whether as it should nobody knows: only the pace
        hears of it. elapsed_s: how long it took."""
        slot = self._by_name.get(name)
        if slot is not None:
            slot.arrived(now, elapsed_s)

    def answered(self, name: str, now: float, elapsed_s: float, *, is_shown: bool = True) -> None:
        """The site answered by this egress, and it was no refusal. elapsed_s: how long it took;
        is_shown: something, without which nobody trusts it."""
        slot = self._by_name.get(name)
        if slot is None:
            return
        self._successes -= slot.success
        slot.note_answer(elapsed_s, is_shown=is_shown)
        self._successes += slot.success
        slot.arrived(now, elapsed_s)
        self._is_shown |= is_shown
        self.was_answered = True
        self._usual_s += (slot.usual_s - self._usual_s) * (_RECENT if self._usual_s else 1)
        was_on_trial = slot.is_down or slot.is_taken
        slot.failures = 0
        if slot.is_proven and not slot.is_poor(self._usual_success):
            slot.deaths = 0
        # refused, and shown nothing since: an emptiness may be a refusal, too
        is_hollow = not is_shown and slot.rests > 0 and not slot.streak
        if slot.health is Health.RESTING or (is_hollow and not slot.is_down):
            return
        if slot.rests or slot.rate < self.ceiling or slot.health is not Health.GOOD:
            self._touched.add(name)
        slot.note_allowed(now)
        slot.rests = 0
        if slot.rate:
            slot.rise((self.ceiling or slot.rate) * self._rise, self.ceiling or inf)
        slot.health = Health.GOOD
        self._learn(slot)
        if was_on_trial:  # do not let it wait for its next probe
            self._free_at(slot, max(now, slot.due))

    def refused(
        self,
        name: str,
        now: float,
        rng: Random,
        retry_after_s: float | None = None,
        *,
        is_ban: bool = False,
    ) -> None:
        """The site refused this egress. is_ban: not because this request came too early, as far as
        the words tell. The pace of one that goes at the cadence stays: it may have been the jitter
        of arrivals."""
        slot = self._by_name.get(name)
        if slot is None:
            return
        asked_s = min(retry_after_s or 0.0, self.longest_s)
        is_ban = is_ban and self.ceiling > 0  # where rests are short, what ends with one was haste
        if not is_ban:
            slot.was_hasty(now, self._floor)
        if slot.health is Health.RESTING:
            if now + asked_s > slot.next_free:
                self._put_out(slot, Health.RESTING, now + asked_s)
            return
        if slot.is_careful and slot.rate:
            slot.fall(self._fall, self._floor, is_news=not is_ban and not slot.rests)
            if not self.ceiling and slot.rate == self._floor:
                slot.rate = 0.0
        self._unlearn(slot)
        slot.failures = slot.deaths = 0
        self._rest(slot, now, rng, asked_s, inf if is_ban else _SHORT_REST * slot.interval_s)

    def hollow(self, name: str, now: float, rng: Random) -> None:
        """It showed nothing where another one is shown something: the site refuses it softly, or a
        proxy makes that up, so what it showed before proves nothing any more."""
        slot = self._by_name.get(name)
        if slot is None:
            return
        deaths = slot.deaths
        self.refused(name, now, rng)
        slot.deaths, slot.streak = deaths, 0
        self._note_failure(slot)

    def broken(self, name: str, now: float, rng: Random, took_s: float = 0.0) -> None:
        """Nothing usable came by it, and nobody knows yet whose fault that is: to tell takes a
        while, in which a bad proxy would break many pages. So where others are shown something, a
        proxy that is not proven rests until then, and one that has shown nothing has failed."""
        slot = self._by_name.get(name)
        if slot is None or slot.egress.proxy_url is None or slot.is_proven:
            return
        if self._is_shown and not self.is_single:
            if not slot.streak:
                self.failed(name, now, rng, took_s)
            elif slot.interval_s:
                self.rest(name, now, _DEAD_REST * slot.interval_s)

    def keep_to(self, name: str, most_per_s: float) -> None:
        """From now on so many requests a second by this egress at most, inf: as it is allowed."""
        slot = self._by_name.get(name)
        if slot is not None:
            slot.most_per_s = most_per_s

    def rest(self, name: str, now: float, for_s: float) -> None:
        """Nothing by this egress for so long, though nobody refused it."""
        slot = self._by_name.get(name)
        if slot is not None and now + for_s > slot.next_free:
            health = Health.DEAD if slot.is_down else Health.RESTING
            self._put_out(slot, health, now + for_s)

    def failed(
        self, name: str, now: float, rng: Random, took_s: float = 0.0, *, may_be_site: bool = False
    ) -> None:
        """The egress itself failed. took_s: a proxy that takes long to fail dies sooner, and rests
        for at least as long as its probe holds up a page. may_be_site: the site may do so to
        anybody, so only a proxy that fails more often than others dies of it."""
        slot = self._by_name.get(name)
        if slot is None:
            return
        if slot.egress.proxy_url is None:
            if slot.health is not Health.RESTING:
                self._rest(slot, now, rng, 0.0)
            return
        slot.failures += not may_be_site
        if not slot.is_down:  # that probes fail says how long it is down, not how often
            self._note_failure(slot)
            is_doubtful = not (slot.is_proven or may_be_site) and self._is_shown  # by others
            is_lost = took_s >= _STALL_S or is_doubtful
            is_lost = is_lost or slot.failures >= _DEAD_AFTER
            is_lost = is_lost or slot.is_poor(self._usual_success)
        else:
            is_lost = slot.health is Health.PROBING
        if is_lost:
            self._die(slot, now, rng, took_s)

    def revive(self, now: float, rng: Random) -> None:
        """Nothing worked, and something does now: it was not the proxies that failed. Each that had
        answered before is tried within an interval, however often it failed meanwhile."""
        for slot in self._slots.values():
            if slot.health is Health.DEAD and slot.answers and not slot.is_leaving:
                soon = now + rng.random() * slot.interval_s
                self._turns.put(slot, min(slot.next_free, max(soon, slot.due)))

    def is_healthy(self, name: str) -> bool:
        """Whether this is a proxy by which answers of the site came of late, as often as by
        others."""
        slot = self._by_name.get(name)
        return (
            slot is not None
            and slot.egress.proxy_url is not None
            and slot.health is Health.GOOD
            and not slot.failures
            and slot.is_proven
            and not slot.is_poor(self._usual_success)
        )

    def next_s(self, name: str) -> float:
        """In how many seconds the next answers by this egress are likely to have come, if anybody
        asks."""
        slot = self._by_name.get(name)
        if slot is None:
            return 0.0
        return _NEXT * (slot.interval_s + max(slot.usual_s, _LEAST_NEXT_S))

    def is_proxy(self, name: str) -> bool:
        """Whether there is a proxy of this name; the direct way makes up no page."""
        slot = self._by_name.get(name)
        return slot is not None and slot.egress.proxy_url is not None

    def is_untold(self, name: str) -> bool:
        """Whether nobody knows of this proxy that it shows the words that others show, and another
        egress may be asked."""
        slot = self._by_name.get(name)
        if slot is None or slot.egress.proxy_url is None or slot.trusted_for > 0:
            return False
        out = (Health.RESTING, Health.DEAD, Health.PROBING)
        return len(self._slots) - sum(map(self._turns.count, out)) > 1

    def wants_comparison(self, name: str, *, is_telling: bool) -> bool:
        """Count a page with words by this egress; whether to compare it with what another egress
        shows. is_telling: the same words there would prove something. Where none are, the next
        page that has some is compared in any case."""
        slot = self._by_name.get(name)
        if slot is None or not self.is_untold(name):
            if slot is not None:
                slot.trusted_for = max(0, slot.trusted_for - is_telling)
            return False
        slot.compare_in[is_telling] -= 1
        return slot.compare_in[is_telling] < 0

    def compared(self, name: str, *, is_same: bool | None, is_telling: bool = True) -> None:
        """What came of a comparison: whether another egress shows the same page; None: that is not
        known."""
        slot = self._by_name.get(name)
        if slot is None:
            return
        if is_same is None:
            slot.untold[is_telling] += 1
            slot.compare_in[is_telling] = min(2 ** slot.untold[is_telling], _COMPARED_AGAIN)
            return
        slot.untold, slot.compare_in = [0, 0], [0, 0]
        slot.trusted_for = _COMPARED if is_same else 0
        if not is_same:
            self._touched.add(name)

    def throughput(self) -> tuple[float, float]:
        """Requests a second while all egresses go at their pace, and how many are under way then:
        the sum of rate times response time (Little's law). Zeros where the pace has no limit."""
        if not self.ceiling:
            return 0.0, 0.0
        usable = [slot for slot in self._slots.values() if not slot.is_out and not slot.is_down]
        per_s = sum(slot.pace for slot in usable)
        return per_s, sum(slot.pace * (slot.latency_s or self._usual_s) for slot in usable)

    def outage(self, now: float) -> str:
        """Why nothing may go, in words, where all that is here rests or is dead; else ""."""
        first = self._turns.first_out(now)
        if first is None:
            return ""
        resting, dead = self._turns.count(Health.RESTING), self._turns.count(Health.DEAD)
        return str(AllOut(resting, dead, first.egress.name, first.next_free - now))

    # -- a list that changes

    def join(self, egress: Egress) -> None:
        """One more egress, or one back that was about to leave."""
        slot = self._by_name.get(egress.name)
        if slot is None:
            slot = self._add(egress, self.ceiling)
        slot.egress, slot.is_leaving = egress, False
        self._free_at(slot, slot.next_free)

    def move(self, egress: Egress) -> None:
        """The address behind a name is another one now."""
        slot = self._by_name.get(egress.name)
        if slot is not None:
            slot.egress = egress

    # -- leases

    @property
    def is_single(self) -> bool:
        """Whether there is one egress only, so that no other one can be a second witness."""
        return len(self._slots) < 2

    @property
    def is_empty(self) -> bool:
        """Whether there is no egress to choose."""
        return not any(not slot.is_leaving for slot in self._slots.values())

    @property
    def is_news(self) -> bool:
        """Whether others should soon be told: an egress is out, or may be handed back."""
        return any(self._by_name[name].is_out for name in self._touched) or any(
            slot.is_leaving and not slot.flying for slot in self._slots.values()
        )

    def admit(self, egress: Egress, state: EgressState, now: float) -> bool:
        """An egress was granted in this state: its pace goes on where the last holder left it.
        False: it was to wait longer than pace and rests allow; it does not, and others are told."""
        rate = min(self.ceiling, max(state.rate, self._floor))
        slot = self._add(egress, rate)
        slot.health, slot.rests, slot.deaths = state.health, state.rests, state.deaths
        is_known = state.health is Health.GOOD and not state.deaths
        slot.streak, slot.trusted_for = PROVEN if is_known else 0, state.trusted_for
        self.was_answered |= is_known
        sound = state.sound()
        slot.next_free = now + sound.next_free_s
        if not slot.is_out:
            slot.due = slot.next_free
        if rate != state.rate or sound is not state:
            self._touched.add(egress.name)
        self._free_at(slot, slot.next_free)
        return sound is state

    def retire(self, name: str) -> bool:
        """Start nothing more by this egress; when all has landed it is gone, where it is leased by
        `hand_back`. False: that was known."""
        slot = self._by_name.get(name)
        if slot is None or slot.is_leaving:
            return False
        slot.is_leaving = True
        self._turns.drop(slot)
        self._let_go(slot)
        return True

    def hand_back(self, now: float) -> dict[str, EgressState]:
        """The retired egresses by which nothing is under way; they are gone from here."""
        done = [s for s in self._slots.values() if s.is_leaving and not s.flying]
        states = {slot.egress.name: self._state(slot, now) for slot in done}
        for slot in done:
            self._remove(slot)
        return states

    def lose_all(self, now: float) -> dict[str, EgressState]:
        """Nothing is held any more; returns how all of it stood."""
        states = {name: self._state(slot, now) for name, slot in self._by_name.items()}
        for slot in list(self._slots.values()):
            self._remove(slot)
        self.until = -inf
        return states

    def changes(self, now: float) -> dict[str, EgressState]:
        """The states that changed, the pace of answered requests aside, since the last call."""
        names, self._touched = self._touched, set()
        return {name: self._state(self._by_name[name], now) for name in names}

    def state(self, name: str, now: float) -> EgressState | None:
        """How one egress stands; None: it is not here."""
        slot = self._by_name.get(name)
        return None if slot is None else self._state(slot, now)

    def rearrange(self, now: float) -> None:
        """Void all reservations, so that those who wait choose anew among what is here now."""
        for slot in self._slots.values():
            # a probe keeps its egress for itself until its outcome is known
            is_kept = slot.is_down or (slot.is_taken and slot.flying)
            is_waited_for = slot.next_free > max(now, slot.due) and not is_kept
            if is_waited_for and not slot.is_out and not slot.is_leaving:
                slot.turn += 1
                self._free_at(slot, slot.due)

    # -- inside

    @property
    def _usual_success(self) -> float:
        return self._successes / len(self._slots)

    def _note_failure(self, slot: Slot) -> None:
        self._successes -= slot.success
        slot.note_failure()
        self._successes += slot.success

    def _state(self, slot: Slot, now: float) -> EgressState:
        # reserved turns are not in it: they end with the lease
        ready = slot.due
        health = Health.DEAD if slot.is_down else slot.health
        if health is Health.GOOD and not slot.is_proven:
            health = Health.UNCHECKED  # the next holder does not trust it either
        if slot.is_out or slot.is_down:
            ready = slot.next_free
        return EgressState(
            *(slot.rate, max(0.0, ready - now), health, slot.rests, slot.deaths),
            trusted_for=slot.trusted_for,
        )

    def _add(self, egress: Egress, rate: float) -> Slot:
        slot = Slot(egress, self._numbers, rate)
        slot.is_careful = self._forgiven < _FORGIVEN
        self._numbers += 1
        self._slots[slot.number] = self._by_name[egress.name] = slot
        self._successes += slot.success
        return slot

    def _remove(self, slot: Slot) -> None:
        self._stop_learning(slot)
        self._turns.drop(slot)
        self._successes -= slot.success
        del self._slots[slot.number]
        del self._by_name[slot.egress.name]
        self._touched.discard(slot.egress.name)

    def _let_go(self, slot: Slot) -> None:
        if slot.is_leaving and not slot.flying and not self._is_leased:
            self._remove(slot)

    def _free_at(self, slot: Slot, at: float) -> None:
        slot.is_taken = False
        if slot.is_leaving:
            slot.next_free = at
        else:
            self._turns.put(slot, at)

    def _die(self, slot: Slot, now: float, rng: Random, took_s: float) -> None:
        # soon at first: the site is not troubled by the probes of a proxy that is down
        base_s = min(self._rest_base_s, _DEAD_REST * slot.interval_s or inf)
        base_s = max(base_s, 2 * took_s)  # less the jitter
        cap_s = max(self._rest_cap_s, _STALL_REST * took_s)
        slot.deaths = max(0, slot.deaths - slot.streak // _REDEEMS)
        until = now + backoff_s(slot.deaths + slot.halvings, base_s, cap_s, rng)
        slot.deaths, slot.streak = slot.deaths + 1, 0
        self._stop_learning(slot)
        if slot.health is Health.RESTING:
            until = max(until, slot.next_free)
        self._put_out(slot, Health.DEAD, until)

    def _learn(self, slot: Slot) -> None:
        """One egress goes at the cadence at first, to learn whether the site forgives the jitter of
        arrivals."""
        is_fit = slot.egress.proxy_url is not None  # nobody's own address is put at risk
        if self._canary is None and is_fit:
            self._canary, slot.is_careful = slot.number, False
        elif self._canary == slot.number and 0 <= self._forgiven < _FORGIVEN:
            self._forgiven += 1
            if self._forgiven == _FORGIVEN:
                for one in self._slots.values():
                    one.is_careful = False

    def _stop_learning(self, slot: Slot) -> None:
        """Let the next egress that is answered learn from the beginning, where this one was about
        to."""
        if self._canary == slot.number and 0 <= self._forgiven < _FORGIVEN:
            self._canary, self._forgiven, slot.is_careful = None, 0, True

    def _unlearn(self, slot: Slot) -> None:
        slot.is_careful = True
        if self._canary == slot.number and self._forgiven < _FORGIVEN:
            self._forgiven = -1

    def _rest(
        self, slot: Slot, now: float, rng: Random, asked_s: float, base_s: float = inf
    ) -> None:
        base_s = min(self._rest_base_s, base_s or inf)
        rest_s = backoff_s(slot.rests, base_s, self._rest_cap_s, rng)
        slot.rests += 1
        self._put_out(slot, Health.RESTING, now + max(rest_s, asked_s))

    def _put_out(self, slot: Slot, health: Health, until: float) -> None:
        slot.health = health
        slot.turn += 1
        self._touched.add(slot.egress.name)
        self._free_at(slot, max(until, slot.due))
