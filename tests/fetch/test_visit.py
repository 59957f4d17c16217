from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from weibo_crawler.fetch.visit import Visit
from weibo_crawler.records import Kind

COOLDOWN_S, MEMORY_S = 60.0, 600.0
HOUR_S, PER_HOUR = 3600.0, 4
FIRST, LATER = (Kind.POSTS, True), (Kind.POSTS, False)


def _visit() -> Visit:
    visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S)
    visit.opened({"SUB": "1"}, 0.0)
    return visit


def _renew(visit: Visit, now: float) -> None:
    visit.expire(visit.generation)
    assert visit.wanted
    visit.opened({"SUB": str(visit.generation + 1)}, now)


class VisitMachine(RuleBasedStateMachine):
    """Walls, passes, renewals and handovers in any order: renewals never come closer than the
    cooldown, and in no hour is a session asked for more often than the ceiling allows."""

    @initialize()
    def start(self) -> None:
        self.visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S, per_hour=PER_HOUR)
        self.now = 0.0
        self.asked: list[float] = []
        self.renewed_at: float | None = None

    @rule(seconds=st.sampled_from([0.1, 5.0, 59.0, 61.0, 700.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(had=st.booleans())
    def open_where_wanted(self, had: bool) -> None:
        if not self.visit.wanted:
            assert self.visit.barred_s(self.now) == 0.0
            return
        barred_s = self.visit.barred_s(self.now)
        assert 0.0 <= barred_s <= HOUR_S + 1e-6
        in_this_hour = [at for at in self.asked if at > self.now - HOUR_S + 1e-6]
        assert (barred_s > 1e-6) == (len(in_this_hour) >= PER_HOUR)
        self.now += barred_s
        self.visit.asks(self.now)
        self.asked.append(self.now)
        assert sum(at > self.now - HOUR_S + 1e-6 for at in self.asked) <= PER_HOUR
        generation = self.visit.generation
        if self.renewed_at is not None:
            assert self.now - self.renewed_at >= COOLDOWN_S - 1e-6
        if had:
            self.visit.opened({"SUB": "x"}, self.now)
        else:
            self.visit.not_opened(self.now)
        if generation or not had:
            self.renewed_at = self.now
        assert self.visit.generation == generation + 1
        assert not self.visit.wanted
        assert bool(self.visit.cookies) is had

    @rule(behind=st.integers(0, 2), kind=st.sampled_from([FIRST, LATER]))
    def wall(self, behind: int, kind: tuple[Kind, bool]) -> None:
        generation = self.visit.generation - behind
        wait_s = self.visit.wall(generation, kind, self.now)
        if behind:
            assert wait_s == 0.0
        if wait_s is not None and self.visit.generation:
            assert 0.0 <= wait_s <= COOLDOWN_S
            self.now += wait_s
            self.visit.expire(generation)

    @rule(age_s=st.sampled_from([0.0, 30.0, 5000.0]))
    def goes_to_the_next_holder(self, age_s: float) -> None:
        saved, generation = self.visit.saved(self.now), self.visit.generation
        self.now += age_s
        if saved is None:
            return
        wanted, before = self.visit.wanted, self.visit.barred_s(self.now)
        self.visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S, per_hour=PER_HOUR)
        self.visit.restore(saved, age_s, self.now)
        assert self.visit.wanted is wanted
        assert abs(self.visit.barred_s(self.now) - before) < 1e-6
        assert self.visit.generation == 1 or not generation

    @rule(kind=st.sampled_from([FIRST, LATER]))
    def passed(self, kind: tuple[Kind, bool]) -> None:
        self.visit.passed(self.visit.generation, kind)


TestVisit = VisitMachine.TestCase
TestVisit.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_wall_renews_at_once() -> None:
    """The first session may be renewed at once, however young it is."""
    visit = _visit()
    assert visit.wall(1, FIRST, 0.1) == 0.0


def test_a_wall_of_an_older_generation() -> None:
    """A wall met with a session that is gone already renews nothing."""
    visit = _visit()
    _renew(visit, 1.0)
    assert visit.wall(1, FIRST, 1.1) == 0.0
    visit.expire(1)
    assert not visit.wanted


def test_what_visitors_may_not_see() -> None:
    """Still walled with a fresh session: for wall_memory_s no renewal for this sort of request,
    but for others."""
    visit = _visit()
    _renew(visit, 1.0)
    assert visit.wall(2, LATER, 2.0) is None
    assert visit.wall(2, LATER, 100.0) is None
    assert visit.wall(2, FIRST, 100.0) == 0.0
    assert visit.wall(2, LATER, 2.0 + MEMORY_S) == 0.0


def test_a_session_that_ends_early() -> None:
    """A sort that did pass with this session waits for the end of the cooldown, then renews."""
    visit = _visit()
    _renew(visit, 10.0)
    visit.passed(2, FIRST)
    assert visit.wall(2, FIRST, 15.0) == 55.0
    assert visit.wall(2, FIRST, 70.0) == 0.0


def test_passing_ends_the_memory() -> None:
    """A sort that passes after all is no longer taken for closed."""
    visit = _visit()
    _renew(visit, 1.0)
    assert visit.wall(2, LATER, 2.0) is None
    visit.passed(2, LATER)
    assert visit.wall(2, LATER, 100.0) == 0.0


def test_without_a_session_nothing_is_remembered() -> None:
    """Walls met without any session say nothing of what visitors may see."""
    visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S)
    visit.not_opened(0.0)
    assert visit.wall(1, FIRST, 1.0) is None
    assert visit.wall(1, FIRST, COOLDOWN_S) == 0.0


def test_cookies_are_merged() -> None:
    """Set-Cookie adds, replaces and deletes; a late answer of an older session changes nothing."""
    visit = _visit()
    assert visit.merge(1, ["_T_WM=7; path=/; HttpOnly", "SUB = 2 ;Max-Age=60", "nonsense", "=x"])
    assert visit.cookies == {"SUB": "2", "_T_WM": "7"}
    assert not visit.merge(1, ["SUB=2"])
    assert visit.merge(1, ["_T_WM=x; Max-Age=0"])
    assert visit.cookies == {"SUB": "2"}
    _renew(visit, 1.0)
    assert not visit.merge(1, ["SUB=old"])
    assert visit.cookies == {"SUB": "2"}


def _handed_over(visit: Visit, now: float, age_s: float) -> Visit:
    """At another holder, age_s later by a clock that reads 1000 s less."""
    saved = visit.saved(now)
    assert saved is not None
    other = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S)
    other.restore(saved, age_s, now + age_s - 1000.0)
    return other


def test_a_session_goes_to_the_next_holder() -> None:
    """It is not asked for again, and neither cooldown nor remembered walls begin anew."""
    visit = _visit()
    _renew(visit, 10.0)
    visit.passed(visit.generation, FIRST)
    assert visit.wall(visit.generation, LATER, 20.0) is None
    other = _handed_over(visit, 30.0, 5.0)
    assert not other.wanted
    assert other.cookies == visit.cookies
    assert other.wall(other.generation, LATER, -965.0) is None
    assert other.wall(other.generation, FIRST, -965.0) == visit.wall(visit.generation, FIRST, 35.0)
    assert other.wall(other.generation, LATER, 20.0 + MEMORY_S + 1 - 1000.0) == 0.0


def test_a_refused_session_is_not_handed_on() -> None:
    """The next holder asks for a new one; where none could be had it asks no earlier."""
    visit = _visit()
    visit.expire(visit.generation)
    assert visit.saved(1.0) is None
    visit.not_opened(1.0)
    other = _handed_over(visit, 2.0, 1.0)
    assert not other.wanted
    assert other.wall(other.generation, FIRST, 3.0 - 1000.0) is None
