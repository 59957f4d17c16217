"""One suite for every home of the egress leases: law 10, in virtual time.

A backend adds a subclass with `open`, which opens the same database again at each call.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import ceil
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.examples import examples
from tests.fetch.rings import standings
from tests.processes import CLEAN
from weibo_crawler.config import Pace
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.records import LONGEST_LEASE_S, AllOut, EgressState, Health
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sql.egresses import EgressLeases

RATE, LEASE_S = 0.5, 30.0
INTERVAL_S = 1 / RATE
Opener = Callable[[str], EgressLeases]


class Clock:
    """The database's clock, and everybody's, as far as the tests tell."""

    now = 1_700_000_000.0


class Process:
    """A contender: a ring fed by leases, as the keeper does it, without threads or sleep, and
    without the time by which the keeper ends early."""

    def __init__(self, leases: EgressLeases, clock: Clock, names: list[str], direct: str) -> None:
        self.leases, self.clock, self.names, self.direct = leases, clock, names, direct
        self.ring = Ring([], Pace(requests_per_second=RATE), is_leased=True)
        self.rng = Random(leases.owner)
        self.sent: list[tuple[float, str]] = []
        self.unknown: list[str] = []
        self.join()

    def join(self) -> None:
        self.leases.join(self.named, rate=RATE, lease_s=LEASE_S)

    @property
    def named(self) -> list[str]:
        return [*filter(None, [self.direct]), *self.names]

    def enlist(self, names: list[str]) -> None:
        """Its list of proxies is another one now."""
        for name in set(self.names) - set(names):
            self.ring.retire(name)
        self.names = names
        self.leases.enlist(self.named, rate=RATE)

    def exchange(self) -> bool:
        now = self.clock.now
        released = self.ring.hand_back(now)
        handed_back, self.unknown = [*released, *self.unknown], []
        term = self.leases.exchange({**self.ring.changes(now), **released}, handed_back)
        if not term.renewed:
            self.ring.lose_all(now)
            self.join()
            return False
        self.ring.until = now + LEASE_S
        for name, state in term.granted.items():
            if name not in self.names and name != self.direct:
                self.unknown.append(name)
                continue
            self.ring.admit(Egress(name, f"http://{name}"), state, now)
        retired = [self.ring.retire(name) for name in term.recalled]
        if term.granted or any(retired):
            self.ring.rearrange(now)
        return True

    def renew(self) -> None:
        """An exchange, and one more where something is to be handed back."""
        if self.exchange() and any(True for _ in self.leaving()):
            self.exchange()

    def leaving(self) -> Iterator[str]:
        return (s.egress.name for s in self.ring._slots.values() if s.is_leaving)

    def send(self) -> None:
        """Send what may be sent now."""
        self.ring.rearrange(self.clock.now)  # nobody waits for a turn that was asked for in vain
        while True:
            choice = self.ring.choose(self.clock.now, self.rng)
            if choice.egress is None or choice.wait_s > 0:
                return
            if self.ring.go(choice, self.clock.now) != 0:
                return
            self.sent.append((self.clock.now, choice.egress.name))
            self.ring.landed(choice)

    def hurt(self, name: str) -> None:
        self.ring.refused(name, self.clock.now, self.rng, 60.0)

    def leave(self) -> None:
        self.leases.leave(self.ring.lose_all(self.clock.now))

    @property
    def held(self) -> set[str]:
        """What it would use now."""
        alive = self.clock.now < self.ring.until
        return {s.name for s in standings(self.ring)} - set(self.leaving()) if alive else set()


class LeaseMachine(RuleBasedStateMachine):
    """Processes that come, send, are refused, pause, die and go, in any order."""

    opener: Opener
    clock = Clock()
    examples = 0

    @initialize(egresses=st.integers(1, 5))
    def start(self, egresses: int) -> None:
        type(self).examples += 1
        self.clock.now += 100_000  # whatever was left by the last example is over
        self.names = sorted(f"e{self.examples}-{n}:80" for n in range(egresses))
        self.alive: list[Process] = []
        self.everybody: list[Process] = []
        self.paused: list[Process] = []

    @precondition(lambda self: len(self.alive) < 4)
    @rule()
    def comes(self) -> None:
        leases = type(self).opener(f"p{self.examples}-{len(self.everybody)}")
        process = Process(leases, self.clock, self.names, "")
        self.alive.append(process)
        self.everybody.append(process)
        process.renew()

    @rule(seconds=st.sampled_from([0.3, 1.0, 3.0, 9.0, 40.0]))
    def time_passes(self, seconds: float) -> None:
        """Whoever is alive does what it has to; 40 s at once is longer than a lease."""
        for _ in range(max(1, round(seconds / 10))):
            self.clock.now += min(seconds, 10.0)
            for process in self.alive:
                process.renew()
                process.send()

    @rule(seconds=st.sampled_from([1.0, 26.0, 31.0]))
    def the_database_hangs(self, seconds: float) -> None:
        self.clock.now += seconds
        for process in self.alive:
            process.send()

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def one_renews(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.alive)).exchange()

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def one_sends(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.alive)).send()

    @precondition(lambda self: any(p.held for p in self.alive))
    @rule(data=st.data())
    def is_refused(self, data: st.DataObject) -> None:
        process = data.draw(st.sampled_from([p for p in self.alive if p.held]))
        process.hurt(data.draw(st.sampled_from(sorted(process.held))))
        process.exchange()  # at once, as the keeper does

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def a_list_changes(self, data: st.DataObject) -> None:
        """One process sees another list than the others."""
        names = data.draw(st.lists(st.sampled_from(self.names), min_size=1, unique=True))
        process = data.draw(st.sampled_from(self.alive))
        process.enlist(names)
        assert process.held <= set(names)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def dies_or_pauses(self, data: st.DataObject) -> None:
        process = data.draw(st.sampled_from(self.alive))
        self.alive.remove(process)
        self.paused.append(process)

    @precondition(lambda self: self.paused)
    @rule()
    def wakes_up(self) -> None:
        process = self.paused.pop()
        process.send()  # before it knows anything
        self.alive.append(process)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        process = data.draw(st.sampled_from(self.alive))
        process.leave()
        self.alive.remove(process)

    @precondition(lambda self: self.alive)
    @rule()
    def all_is_quiet(self) -> None:
        """Who is alive shares what is usable, by halves and not by luck, when all see one list."""
        for process in self.alive:
            if sorted(process.names) != self.names:
                process.enlist(self.names)
        for _ in range(8):
            self.clock.now += 10.0
            for process in self.alive:
                process.renew()
        now = self.clock.now
        slots = [slot for p in self.alive for slot in p.ring._slots.values()]
        usable = [slot for slot in slots if not slot.is_out or slot.next_free <= now]
        share = len(self.names) / len(self.alive)
        if len(usable) == len(self.names):
            for process in self.alive:
                assert len(process.held) <= ceil(share)
                if share >= 1:
                    assert len(process.held) >= int(share)

    @invariant()
    def one_holder(self) -> None:
        holders: dict[str, Process] = {}
        for process in getattr(self, "everybody", []):
            for name in process.held:
                assert name not in holders
                holders[name] = process

    @invariant()
    def the_pace_holds_across_holders(self) -> None:
        sent = sorted(s for p in getattr(self, "everybody", []) for s in p.sent)
        for name in getattr(self, "names", []):
            times = [at for at, by in sent if by == name]
            assert all(b - a >= INTERVAL_S - 1e-3 for a, b in pairwise(times))

    def teardown(self) -> None:
        for process in getattr(self, "everybody", []):
            process.leases.close()


class EgressContract:
    """Mixin; each test has names of its own in a fresh database."""

    def open(self, owner: str) -> EgressLeases:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _clean(self) -> Iterator[None]:
        self.opened: list[EgressLeases] = []
        self.clock = Clock()
        yield
        for leases in self.opened:
            leases.close()

    def virtual(self, owner: str, clock: Clock | None = None) -> EgressLeases:
        """Leases by the clock of the test."""
        leases, at = self.open(owner), clock or self.clock
        leases.clock = lambda cursor: at.now  # type: ignore[method-assign]
        self.opened.append(leases)
        return leases

    def process(self, owner: str, names: list[str] = (), direct: str = "") -> Process:  # type: ignore[assignment]
        return Process(self.virtual(owner), self.clock, list(names), direct)

    def rounds(self, n: int, *processes: Process, by_s: float = 10.0) -> None:
        for _ in range(n):
            self.clock.now += by_s
            for process in processes:
                process.renew()

    def test_any_order_of_events(self) -> None:
        """Law 10: never two holders, never a pace broken across holders, shares, expiry."""

        class Machine(LeaseMachine):
            clock = self.clock
            opener = staticmethod(lambda owner: self.virtual(owner, self.clock))  # type: ignore[assignment]

        few = examples(
            25,
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(Machine, settings=few)

    def test_the_first_does_not_keep_all(self) -> None:
        """Who is alone holds all; each who comes gets its share; who leaves leaves it to others."""
        names = [f"proxy{n}:80" for n in range(10)]
        first = self.process("first", names)
        first.renew()
        assert len(first.held) == 10
        second, third = self.process("second", names), self.process("third", names)
        everybody = (first, second, third)
        self.rounds(3, *everybody)
        assert sorted(len(p.held) for p in everybody) == [3, 3, 4]
        assert set.union(*(p.held for p in everybody)) == set(names)
        first.leave()
        self.rounds(2, second, third)
        assert {len(second.held), len(third.held)} == {5}

    def test_fewer_egresses_than_processes(self) -> None:
        """Each waits for its turn, and has it; what is held is held for some time."""
        names = ["proxy1:80", "proxy2:80"]
        everybody = [self.process(f"p{n}", names) for n in range(5)]
        turns: dict[str, set[str]] = {}
        for _ in range(40):
            self.rounds(1, *everybody)
            held = [(p.leases.owner, name) for p in everybody for name in p.held]
            assert len(held) <= 2
            for owner, name in held:
                turns.setdefault(owner, set()).add(name)
        assert len(turns) == 5

    def test_a_direct_egress_is_one_per_address(self) -> None:
        """Two machines do not wait for each other; two processes of one machine do."""
        here = [self.process(f"here{n}", direct="direct@here") for n in range(2)]
        there = self.process("there", direct="direct@there")
        self.rounds(3, *here, there)
        assert there.held == {"direct@there"}
        assert sorted(len(p.held) for p in here) == [0, 1]

    def test_each_local_address_is_an_egress_of_its_own(self) -> None:
        """Who goes out by two addresses holds both, and shares with others that which is theirs as
        well."""
        two = self.process("two", ["direct@10.0.0.1", "direct@10.0.0.2"])
        other = self.process("other", ["direct@10.0.0.3"])
        self.rounds(3, two, other)
        assert two.held == {"direct@10.0.0.1", "direct@10.0.0.2"}
        assert other.held == {"direct@10.0.0.3"}
        poor = self.process("poor", ["direct@10.0.0.2"])
        self.rounds(3, two, other, poor)
        assert (two.held, poor.held) == ({"direct@10.0.0.1"}, {"direct@10.0.0.2"})

    def test_proxies_and_a_direct_egress(self) -> None:
        """Who can use nothing but the direct egress gets it from who has proxies as well."""
        rich = self.process("rich", ["proxy1:80", "proxy2:80"], "direct@here")
        rich.renew()
        assert len(rich.held) == 3
        poor = self.process("poor", direct="direct@here")
        self.rounds(3, rich, poor)
        assert poor.held == {"direct@here"}
        assert rich.held == {"proxy1:80", "proxy2:80"}

    def test_what_is_handed_back(self) -> None:
        """The next holder goes on with rate, rest, deaths and session, and no earlier."""
        first = self.virtual("first")
        first.join(["a:1", "b:1"], rate=RATE, lease_s=LEASE_S)
        assert set(first.exchange({}).granted) == {"a:1", "b:1"}
        resting = EgressState(0.25, 40.0, Health.RESTING, 2, 0, '{"session": 1}', 3.0)
        good = EgressState(0.5, 1.5, Health.GOOD, 0, 0, "", 0.0, trusted_for=400)
        first.leave({"a:1": resting, "b:1": good})
        self.clock.now += 1
        second = self.virtual("second")
        second.join(["a:1", "b:1"], rate=RATE, lease_s=LEASE_S)
        granted = dict(second.exchange({}).granted)
        assert set(granted) == {"b:1"}
        assert granted["b:1"].next_free_s == pytest.approx(0.5, abs=1e-3)
        assert granted["b:1"].trusted_for == 400
        self.clock.now += 40
        granted = dict(second.exchange({}).granted)
        state = granted["a:1"]
        assert (state.rate, state.rests, state.session) == (0.25, 2, '{"session": 1}')
        assert state.trusted_for == 0
        assert state.next_free_s == 0
        assert state.age_s == pytest.approx(44.0, abs=1e-3)

    def test_a_wait_that_no_rest_explains_is_cut(self) -> None:
        """After a clock that jumped nobody waits for a century: who rests is given out after an
        hour, as after the longest rest there is."""
        first = self.virtual("first")
        first.join(["a:1", "b:1"], rate=RATE, lease_s=LEASE_S)
        first.exchange({})
        resting = EgressState(RATE, 3.2e9, Health.RESTING, 2)
        first.leave({"a:1": resting, "b:1": resting._replace(next_free_s=1800.0)})
        second = self.virtual("second")
        second.join(["a:1", "b:1"], rate=RATE, lease_s=LEASE_S)
        waits = {name: k.state.next_free_s for name, k in second.known(["a:1", "b:1"]).items()}
        assert waits["a:1"] == pytest.approx(3600.0 + 2 / RATE, abs=1e-3)
        assert waits["b:1"] == pytest.approx(1800.0, abs=1e-3)
        self.clock.now += 3600.0 + 2 / RATE
        second.join(["a:1", "b:1"], rate=RATE, lease_s=LEASE_S)
        assert set(second.exchange({}).granted) == {"a:1", "b:1"}

    def test_a_session_of_a_clock_that_was_ahead_is_of_now(self) -> None:
        """Its age is never below 0: else the pause before the next session would last as long as
        the clock was ahead."""
        first = self.virtual("first", ahead := Clock())
        ahead.now += 3.2e7
        first.join(["a:1"], rate=RATE, lease_s=LEASE_S)
        first.exchange({})
        first.leave({"a:1": EgressState(RATE, session='{"session": 1}')})
        second = self.virtual("second")
        second.join(["a:1"], rate=RATE, lease_s=LEASE_S)
        state = second.exchange({}).granted["a:1"]
        assert (state.session, state.age_s) == ('{"session": 1}', 0.0)

    def test_a_lease_of_a_clock_that_was_ahead_ends(self) -> None:
        """Also that of a process elsewhere, of which nobody here knows whether it lives: within the
        longest lease that there is."""
        first = self.virtual("elsewhere/7/7/7", ahead := Clock())
        ahead.now += 3.2e7
        first.join(["a:1"], rate=RATE, lease_s=LEASE_S)
        first.exchange({})
        second = self.virtual("second")
        second.join(["a:1"], rate=RATE, lease_s=LEASE_S)
        assert not second.exchange({}).granted
        self.clock.now += LONGEST_LEASE_S
        second.join(["a:1"], rate=RATE, lease_s=LEASE_S)
        assert set(second.exchange({}).granted) == {"a:1"}

    def test_who_gets_nothing_is_told_that_all_are_out(self) -> None:
        """As an earlier run left them; not while somebody holds one, or one may go."""
        first = self.virtual("first")
        first.join(["a:1", "b:1"], rate=RATE, lease_s=LEASE_S)
        assert first.exchange({}).out is None
        resting, dead = (
            EgressState(RATE, 40.0, Health.RESTING),
            EgressState(RATE, 20.0, Health.DEAD),
        )
        told = {"a:1": resting, "b:1": dead}
        second = self.virtual("second")
        second.join(["a:1", "b:1"], rate=RATE, lease_s=LEASE_S)
        first.exchange(told)
        assert second.exchange({}).out is None
        first.leave(told)
        term = second.exchange({})
        out = term.out
        assert out is not None
        assert out == AllOut(1, 1, "b:1", pytest.approx(20.0, abs=1e-3))
        assert str(out).startswith("no egress may go (1 resting, 1 dead); the first")
        self.clock.now += 20.0
        term = second.exchange({})
        assert (set(term.granted), term.out) == ({"b:1"}, None)

    def test_an_expired_lease_is_lost_whole(self) -> None:
        """Who was paused for longer than its lease writes nothing and begins anew; the next holder
        waits for an interval after the end of the lease."""
        paused = self.process("paused", ["a:1"])
        paused.renew()
        assert paused.held == {"a:1"}
        other = self.process("other", ["a:1"])
        self.clock.now += LEASE_S + 0.5
        assert paused.held == set()
        other.renew()
        assert other.held == {"a:1"}
        other.send()
        assert other.sent == []
        paused.hurt("a:1")
        assert paused.exchange() is False
        self.clock.now += 1.1 * INTERVAL_S
        other.send()
        assert len(other.sent) == 1
        known = other.leases.known(["a:1", "unknown:1"])
        assert {name: (k.holder, k.state.health) for name, k in known.items()} == {
            "a:1": ("other", Health.UNCHECKED)
        }

    def test_a_guest_takes_what_is_left(self) -> None:
        """It holds free egresses only, and counts in nobody's share."""
        worker = self.process("worker", ["a:1", "b:1"])
        worker.renew()
        guest = self.virtual("guest")
        guest.join(["direct@here", "a:1", "b:1"], rate=RATE, lease_s=LEASE_S, is_guest=True)
        assert set(guest.exchange({}).granted) == {"direct@here"}
        self.rounds(2, worker)
        assert worker.held == {"a:1", "b:1"}

    def test_a_dead_proxy_is_probed_by_somebody(self) -> None:
        """It counts in no share, and is given away when its probe is due."""
        first = self.virtual("first")
        first.join(["a:1", "b:1"], rate=RATE, lease_s=LEASE_S)
        first.exchange({})
        first.leave({"a:1": EgressState(RATE, 20.0, Health.DEAD, 0, 3), "b:1": EgressState(RATE)})
        second = self.process("second", ["a:1", "b:1"])
        second.renew()
        assert second.held == {"b:1"}
        self.rounds(3, second)
        assert second.held == {"a:1", "b:1"}

    def test_other_files_of_proxies(self) -> None:
        """Who names other proxies shares only those that both name; those that nobody names any
        more are given to nobody."""
        old = self.process("old", ["a:1", "b:1", "c:1"])
        old.renew()
        new = self.process("new", ["c:1", "d:1"])
        self.rounds(3, old, new)
        assert old.held | new.held == {"a:1", "b:1", "c:1", "d:1"}
        assert {"a:1", "b:1"} <= old.held
        assert "d:1" in new.held
        old.leave()
        self.rounds(2, new)
        assert new.held == {"c:1", "d:1"}

    def test_a_list_that_changes(self) -> None:
        """What joins is shared by those who list it; what vanishes stays with its holder until that
        hands it back, and is then given to nobody who does not list it."""
        first, second = self.process("first", ["a:1", "b:1"]), self.process("second", ["a:1"])
        self.rounds(3, first, second)
        assert (first.held, second.held) == ({"b:1"}, {"a:1"})
        first.enlist(["b:1", "c:1", "d:1"])
        self.rounds(2, first, second)
        assert (first.held, second.held) == ({"b:1", "c:1", "d:1"}, {"a:1"})
        second.enlist(["c:1"])
        self.rounds(3, first, second)
        assert (first.held, second.held) == ({"b:1", "d:1"}, {"c:1"})
        assert first.leases.known(["a:1"])["a:1"].holder is None

    def test_what_was_dealt_out_by_an_older_list(self) -> None:
        """A grant that meets a holder who lists it no more goes back, and to those who list it."""
        first, second = self.process("first", ["a:1", "b:1"]), self.process("second", ["z:1"])
        second.exchange()  # deals out to both, before the first asks
        first.leases.enlist(["b:1"], rate=RATE)
        first.names = ["b:1"]
        first.renew()
        assert first.held == {"b:1"}
        second.enlist(["a:1", "z:1"])
        self.rounds(2, first, second)
        assert second.held == {"a:1", "z:1"}

    def test_who_lost_its_lease_lists_nothing(self) -> None:
        """After the end of a lease a new list is not written: the holder is told to join again."""
        lost, other = self.process("lost", ["a:1"]), self.process("other", ["b:1"])
        lost.renew()
        self.clock.now += LEASE_S + 1
        other.renew()
        lost.enlist(["a:1", "b:1"])
        assert lost.exchange() is False
        self.rounds(2, lost, other)
        assert (lost.held, other.held) == ({"a:1"}, {"b:1"})

    def test_thousands_of_egresses(self) -> None:
        """More than go into a few statements are taken, shared and handed back in a few calls."""
        names = [f"proxy{n}:80" for n in range(2400)]
        first, second = self.process("first", names), self.process("second", names)
        self.rounds(3, first, second)
        assert (len(first.held), len(second.held)) == (1200, 1200)
        first.leave()
        self.rounds(2, second)
        assert len(second.held) == 2400

    def test_a_killed_process_is_found_dead_at_once(self) -> None:
        """Kill -9 on the same machine: who asks next has its egresses, after an interval."""
        ours, theirs = CLEAN.Pipe()
        child = CLEAN.Process(target=hold_forever, args=(self.open, theirs))
        child.start()
        assert ours.recv() == ["a:1", "b:1"]
        leases = self.open(new_owner())
        self.opened.append(leases)
        leases.join(["a:1", "b:1"], rate=RATE, lease_s=600.0)
        assert not leases.exchange({}).granted
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        granted = leases.exchange({}).granted
        assert set(granted) == {"a:1", "b:1"}
        assert all(INTERVAL_S < s.next_free_s <= 1.2 * INTERVAL_S for s in granted.values())

    def test_the_clock_is_the_time(self) -> None:
        """The database's clock counts seconds since the epoch, with fractions."""
        leases = self.open("clock")
        self.opened.append(leases)
        seen = set()
        for _ in range(3):
            seen.add(leases._db.transaction(leases.clock))
            time.sleep(0.01)
        assert len(seen) == 3
        assert all(abs(at - time.time()) < 60 for at in seen)


def hold_forever(opener: Any, told: Any) -> None:
    """In another process: take both and say so."""
    leases = opener(new_owner())
    leases.join(["a:1", "b:1"], rate=RATE, lease_s=600.0)
    told.send(sorted(leases.exchange({}).granted))
    time.sleep(600)
