from collections.abc import Iterable
from itertools import count
from random import Random

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.examples import examples
from weibo_crawler.fetch.pool.lives import Lives
from weibo_crawler.fetch.pool.login_walls import CLOSED, Enders, Sort, Wall
from weibo_crawler.fetch.pool.visit import SavedVisit, Use, Visit
from weibo_crawler.records import Kind

COOLDOWN_S, MEMORY_S = 60.0, 600.0
HOUR_S, PER_HOUR = 3600.0, 4
FIRST, LATER, DEEP = (Kind.POSTS, 1), (Kind.POSTS, 2), (Kind.POSTS, 7)
FANS, LATER_FANS = (Kind.FANS, 1), (Kind.FANS, 2)
SORTS = [FIRST, LATER, DEEP, FANS, LATER_FANS]


def _visit() -> Visit:
    visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S)
    visit.opened({"SUB": "1"}, 0.0)
    return visit


def _renew(visit: Visit, now: float) -> None:
    visit.expire(visit.generation)
    assert visit.wanted
    visit.opened({"SUB": str(visit.generation + 1)}, now)


def _pass(visit: Visit, sort: Sort, now: float) -> None:
    visit.passed(visit.use(0.0), sort, now)


def _ends(visit: Visit, sort: Sort, now: float, url: str = "") -> bool:
    """Whether a few walls of this sort, one request after the other, end the session."""
    walls = [visit.wall(visit.use(0.0), sort, now, url=url)]
    while not visit.wanted and len(walls) < 8:
        walls.append(visit.wall(visit.use(0.0), sort, now, url=url))
    return walls == [*[Wall.DOUBT] * (len(walls) - 1), Wall.OVER]


class VisitMachine(RuleBasedStateMachine):
    """A site whose sessions live for some requests and seconds and that shows lists down to some
    page, but for one page of each sort that it never shows; requests are answered in any order.
    Renewals never come closer than the cooldown, in no hour is a session asked for more often than
    the ceiling allows, and nothing that the site shows is taken for closed."""

    @initialize(posts=st.sampled_from([0, 1, 2, 7]), fans=st.integers(0, 2))
    def start(self, posts: int, fans: int) -> None:
        shown = {(kind, n) for kind, n in SORTS if n <= {Kind.POSTS: posts, Kind.FANS: fans}[kind]}
        self.visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S, per_hour=PER_HOUR)
        self.shown = shown
        self.now = self.dies_at = 0.0
        self.uses = 0  # that are left of the session
        self.under_way: list[tuple[Use, Sort, bool]] = []
        self.asked: list[float] = []
        self.renewed_at: float | None = None

    @rule(seconds=st.sampled_from([0.1, 5.0, 59.0, 61.0, 700.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.visit.wanted)
    @rule(had=st.booleans(), uses=st.integers(1, 6), lives_s=st.sampled_from([61.0, 900.0]))
    def open(self, had: bool, uses: int, lives_s: float) -> None:
        barred_s = self.visit.barred_s(self.now)
        assert 0.0 <= barred_s <= HOUR_S + 1e-6
        in_this_hour = [at for at in self.asked if at > self.now - HOUR_S + 1e-6]
        assert barred_s > 1e-6 or len(in_this_hour) < PER_HOUR
        self.now += barred_s
        self.visit.request_started(self.now)
        self.asked.append(self.now)
        assert sum(at > self.now - HOUR_S + 1e-6 for at in self.asked) <= PER_HOUR
        generation = self.visit.generation
        if self.renewed_at is not None:
            assert self.now - self.renewed_at >= COOLDOWN_S - 1e-6
        if had:
            self.visit.opened({"SUB": "x"}, self.now)
        else:
            self.visit.not_opened(self.now)
        self.uses, self.dies_at = uses * had, self.now + lives_s
        if generation or not had:
            self.renewed_at = self.now
        assert self.visit.generation == generation + 1
        assert bool(self.visit.cookies) is had

    @precondition(lambda self: not self.visit.wanted)
    @rule(sort=st.sampled_from(SORTS), is_odd=st.booleans())
    def send(self, sort: Sort, is_odd: bool) -> None:
        self.under_way.append((self.visit.use(self.now), sort, is_odd))

    @precondition(lambda self: self.under_way)
    @rule(which=st.integers(0), is_empty=st.booleans(), is_refusal=st.booleans())
    def is_answered(self, which: int, is_empty: bool, is_refusal: bool) -> None:
        use, sort, is_odd = self.under_way.pop(which % len(self.under_way))
        self.visit.landed(use)
        is_alive = use.generation == self.visit.generation and self.uses and self.now < self.dies_at
        if is_alive:
            self.uses -= 1
        is_shown = sort in self.shown and not is_odd
        if is_alive and (is_shown or is_empty):
            self.visit.passed(use, sort, self.now, is_shown=not is_empty)
            return
        url = f"{sort}{is_odd}"
        wall = self.visit.wall(use, sort, self.now, url=url, is_refusal=is_refusal)
        if use.generation != self.visit.generation:
            assert wall is Wall.OVER
        assert wall not in CLOSED or not is_shown or not self.visit.cookies
        assert self.visit.wanted or wall is not Wall.OVER or use.generation < self.visit.generation

    @rule(age_s=st.sampled_from([0.0, 30.0, 5000.0]))
    def goes_to_the_next_holder(self, age_s: float) -> None:
        saved, generation = self.visit.saved(self.now), self.visit.generation
        if saved is None:
            return
        self.under_way.clear()
        self.now += age_s
        wanted, before = self.visit.wanted, self.visit.barred_s(self.now)
        self.visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S, per_hour=PER_HOUR)
        self.visit.restore(saved, age_s, self.now)
        assert self.visit.wanted is wanted
        assert abs(self.visit.barred_s(self.now) - before) < 1e-6
        assert self.visit.generation == 1 or not generation


TestVisit = VisitMachine.TestCase
TestVisit.settings = examples(100, stateful_step_count=60)


def test_a_wall_renews_at_once() -> None:
    """The first session may be renewed at once, however young it is."""
    visit = _visit()
    assert visit.wall(visit.use(0.0), FIRST, 0.1) is Wall.OVER
    assert visit.barred_s(0.1) == 0.0


def test_an_emptiness_opens_no_wall() -> None:
    """Guests are shown no page of this sort, and nothing now and then: the walls say nothing of the
    session, so nothing is renewed; else each would cost a session and its cooldown."""
    visit = _visit()
    assert visit.wall(visit.use(0.0), FIRST, 0.1) is Wall.OVER
    _renew(visit, 0.2)
    assert visit.wall(visit.use(0.0), FIRST, 0.3) is Wall.CLOSED
    for n in range(20):
        visit.passed(visit.use(0.0), FIRST, 1.0 + n, is_shown=False)
        assert visit.wall(visit.use(0.0), FIRST, 1.5 + n) is Wall.CLOSED
    assert not visit.wanted


def test_a_wall_of_an_older_generation() -> None:
    """A wall met with a session that is gone already renews nothing."""
    visit = _visit()
    use = visit.use(0.0)
    _renew(visit, 1.0)
    assert visit.wall(use, FIRST, 1.1) is Wall.OVER
    assert not visit.wanted


def test_what_visitors_may_not_see() -> None:
    """Walled with a fresh session: for wall_memory_s this sort of request renews nothing, while
    others do."""
    visit = _visit()
    _renew(visit, 1.0)
    assert visit.wall(visit.use(0.0), LATER, 2.0) is Wall.CLOSED
    _pass(visit, FIRST, 3.0)
    assert visit.wall(visit.use(0.0), LATER, 100.0) is Wall.CLOSED
    assert not visit.wanted
    assert visit.wall(visit.use(0.0), FIRST, 100.0) is Wall.OVER


def test_a_young_session_that_dies_early_closes_nothing() -> None:
    """Only the first answer of a renewed session tells that it was alive: a page that is walled by
    it later is not taken for closed while nothing else passed, however often it is walled: it is
    unsure for a while, so that others may tell, and then the next session does."""
    visit = _visit()
    _renew(visit, 1.0)
    first, later = visit.use(0.0), visit.use(0.0)
    assert visit.wall(first, FIRST, 2.0) is Wall.CLOSED  # with the one request that it lived for
    assert visit.wall(later, FANS, 2.1) is Wall.DOUBT
    said = [visit.wall(visit.use(0.0), FANS, 2.2 + n / 10) for n in range(5)]
    assert said == [Wall.UNSURE] * 4 + [Wall.OVER]
    visit.opened({"SUB": "3"}, 100.0)
    _pass(visit, FANS, 100.1)
    assert _ends(visit, FANS, 101.0)


def test_what_was_shown_of_late_is_not_closed_by_a_session_that_dies_early() -> None:
    """The first wall of a renewed session closes that page, not the kind that was shown before: the
    next wall of it ends the session, and pages behind it are asked for."""
    visit = _visit()
    _pass(visit, FIRST, 0.0)
    _renew(visit, 100.0)
    first, later, deeper = visit.use(0.0), visit.use(0.0), visit.use(0.0)
    assert visit.wall(first, FIRST, 101.0) is Wall.CLOSED
    assert visit.wall(deeper, LATER, 101.5) is Wall.DOUBT
    assert visit.wall(later, FIRST, 102.0) is Wall.DOUBT
    assert _ends(visit, FIRST, 102.0)


def test_only_the_first_request_answered_first_counts() -> None:
    """Requests overtake each other: where a later one was answered first, neither its wall nor one
    of the first request proves anything, for the others may have used the session up."""
    visit = _visit()
    _renew(visit, 1.0)
    first, later = visit.use(0.0), visit.use(0.0)
    assert visit.wall(later, LATER, 2.0) is Wall.DOUBT
    assert visit.wall(first, FIRST, 2.1) is Wall.DOUBT
    assert visit.wall(visit.use(0.0), FIRST, 2.2) is Wall.UNSURE


def test_a_doubt_of_all_who_begin_together() -> None:
    """Callers who ask for the same sorts in the same order, one of them closed after the other, as
    the first lists of a harvest: they go on, and what passes next tells. A session that shows
    nothing of two sorts is over."""
    visit, n = _visit(), 3
    _renew(visit, 1.0)
    assert visit.wall(visit.use(0.0), FANS, 2.0) is Wall.CLOSED
    for _ in range(n):
        uses = [visit.use(0.0) for _ in range(n)]
        said = {visit.wall(use, LATER, 2.1) for use in uses}
    assert said == {Wall.UNSURE}
    assert visit.wall(visit.use(0.0), FIRST, 2.2) is Wall.DOUBT
    assert visit.wall(visit.use(0.0), FIRST, 2.3) is Wall.OVER
    visit = _visit()
    _renew(visit, 1.0)
    said = {visit.wall(visit.use(0.0), LATER, 2.0 + k) for k in range(3)}
    assert visit.wall(visit.use(0.0), FANS, 5.0) is Wall.DOUBT
    assert visit.wall(visit.use(0.0), FANS, 5.0) is Wall.UNSURE
    _pass(visit, FIRST, 6.0)
    assert visit.wall(visit.use(0.0), FANS, 7.0) is Wall.CLOSED
    assert not visit.wanted


def test_what_visitors_may_not_see_beside_what_they_may() -> None:
    """A sort that is walled twice, while a request passes that was sent after the first wall, is
    closed, and the session goes on."""
    visit = _visit()
    _pass(visit, FIRST, 1.0)
    assert visit.wall(visit.use(0.0), LATER, 2.0) is Wall.DOUBT
    _pass(visit, FIRST, 3.0)
    assert visit.wall(visit.use(0.0), LATER, 4.0) is Wall.CLOSED
    assert not visit.wanted


def test_one_page_that_is_closed() -> None:
    """A single page that is walled, of a sort that passes, does not end a session by which later
    requests pass, nor are pages like it taken for closed."""
    visit = _visit()
    _pass(visit, FIRST, 1.0)
    walled = visit.use(0.0)
    _pass(visit, FIRST, 2.0)
    assert visit.wall(walled, FIRST, 3.0) is Wall.DOUBT
    assert not visit.wanted


def test_one_page_closes_no_sort() -> None:
    """A page that is walled by a session that was alive is closed, and only that page: it takes a
    second one, while no such page is shown, before others of its sort are believed at once."""
    visit = _visit()
    _renew(visit, 1.0)
    assert visit.wall(visit.use(0.0), FANS, 2.0, url="odd") is Wall.CLOSED
    assert visit.wall(visit.use(0.0), FANS, 2.1, url="2") is Wall.DOUBT
    assert visit.wall(visit.use(0.0), FANS, 2.2, url="odd") is Wall.CLOSED
    # nothing passes, and nothing will that could tell: the next session does
    assert visit.wall(visit.use(0.0), FANS, 2.3, url="2") is Wall.OVER
    visit.opened({"SUB": "3"}, 100.0)
    assert visit.wall(visit.use(0.0), FANS, 101.0, url="odd") is Wall.CLOSED
    assert visit.wall(visit.use(0.0), FANS, 101.1, url="2") is Wall.DOUBT
    _pass(visit, FIRST, 101.2)
    assert visit.wall(visit.use(0.0), FANS, 101.3, url="2") is Wall.CLOSED
    assert visit.wall(visit.use(0.0), FANS, 101.4, url="3") is Wall.CLOSED


def test_a_closed_page_is_walled_again_by_a_session_that_may_be_over() -> None:
    """What passed since its first wall tells that the session is alive; where something passed
    before, and nothing since, the second wall in a row is its end."""
    for passes, walls in (
        ((1, 2), [Wall.ALONE, Wall.ALONE]),
        ((1,), [Wall.ALONE, Wall.ALONE]),
        ((), [Wall.CLOSED, Wall.CLOSED]),
    ):
        visit = _visit()
        _renew(visit, 1.0)
        assert visit.wall(visit.use(0.0), FANS, 2.0, url="odd") is Wall.CLOSED
        for _ in passes:
            _pass(visit, FIRST, 2.1)
        assert [visit.wall(visit.use(0.0), FANS, 2.2, url="odd") for _ in walls] == walls
    visit.opened({"SUB": "3"}, 100.0)
    _pass(visit, FIRST, 100.1)
    assert visit.wall(visit.use(0.0), FANS, 100.2, url="odd") is Wall.DOUBT
    assert visit.wall(visit.use(0.0), FANS, 100.3, url="odd") is Wall.OVER


def test_a_doubt_about_one_page_tells_nothing_of_another() -> None:
    """An odd page is refused while the session is alive, then the session dies: the next page of
    the sort, which is shown, is not closed by what passed in between."""
    visit = _visit()
    _renew(visit, 1.0)
    _pass(visit, FIRST, 1.1)
    assert visit.wall(visit.use(0.0), FANS, 2.0, url="odd") is Wall.DOUBT
    _pass(visit, FIRST, 2.1)
    assert visit.wall(visit.use(0.0), FANS, 2.2, url="2") is Wall.DOUBT
    assert visit.wall(visit.use(0.0), FANS, 2.3, url="2") is Wall.UNSURE


def test_a_session_that_is_likely_to_be_over_is_not_asked_again() -> None:
    """Where the last two both ended after a few requests less, a wall is their end at once: to ask
    once more, or for what is shown, would use up the next ones. Before that it is a doubt."""
    visit = _visit()
    for now in (100.0, 200.0):
        _pass(visit, FIRST, now)
        assert visit.wall(visit.use(0.0), FIRST, now) is Wall.OVER
        visit.opened({"SUB": "2"}, now)
    _pass(visit, FIRST, 300.0)
    assert visit.wall(visit.use(0.0), LATER, 300.0) is Wall.OVER
    long = _visit()
    for now in (100.0, 200.0):
        for _ in range(5):
            _pass(long, FIRST, now)
        assert long.wall(long.use(0.0), FIRST, now) is Wall.OVER
        long.opened({"SUB": "2"}, now)
    _pass(long, FIRST, 300.0)
    assert long.wall(long.use(0.0), LATER, 300.0) is Wall.DOUBT


@pytest.mark.parametrize("is_refusal", [False, True])
def test_one_page_does_not_end_one_session_after_the_other(is_refusal: bool) -> None:
    """A page that ended a session, of whichever egress, is in doubt with the next one until others
    tell: where they pass it is the page alone, where nothing does the session is over as well. Of a
    page that is known to be walled alone its own wall tells nothing."""
    enders = Enders(MEMORY_S)

    def met(visit: Visit, now: float) -> Wall:
        return visit.wall(visit.use(0.0), FIRST, now, url="odd", is_refusal=is_refusal)

    known = None  # what its wall tells once it is known
    for others_pass in (True, False, True):
        visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S, enders=enders)
        visit.opened({"SUB": "1"}, 0.0)
        _pass(visit, FIRST, 1.0)
        if not enders.has("odd", 1.0):
            assert met(visit, 1.0) is Wall.OVER
            visit.opened({"SUB": "2"}, 1.0)
            _pass(visit, FIRST, 2.0)
        assert met(visit, 3.0) is (known or Wall.DOUBT)
        if others_pass:
            _pass(visit, FIRST, 4.0)
        elif not is_refusal:  # only many more tell, and they are one wall meanwhile
            assert [met(visit, 4.0) for _ in range(15)] == [Wall.DOUBT] * 15
        known = None if is_refusal else Wall.ALONE
        assert met(visit, 5.0) is (Wall.ALONE if others_pass else Wall.OVER)
        assert visit.wanted is not others_pass
    assert not enders.has("odd", 6.0 + MEMORY_S)


def test_where_pages_are_walled_alone_their_walls_end_no_session() -> None:
    """Once one is known, others of which the sort is shown leave a doubt each, and one request
    after the other tells; only where these are walled, too, the session is over."""
    visit = _visit()

    def shown(now: float, use: Use | None = None) -> None:
        use = use or visit.use(now)
        visit.passed(use, FIRST, now)
        visit.landed(use)

    def walled(now: float, url: str) -> Wall:
        use = visit.use(now)
        wall = visit.wall(use, FIRST, now, url=url)
        visit.landed(use)
        return wall

    shown(1.0)
    assert walled(1.0, "odd") is Wall.OVER
    visit.opened({"SUB": "2"}, 1.0)
    shown(2.0)
    assert walled(2.0, "odd") is Wall.DOUBT
    shown(2.0)
    assert walled(2.0, "odd") is Wall.ALONE
    assert walled(2.0, "odd") is Wall.DOUBT  # the session may have ended before that wall
    shown(2.0)
    assert walled(2.0, "odd") is Wall.ALONE
    for n in range(20):
        before = visit.use(3.0)
        assert walled(3.0, f"odd {n}") is Wall.DOUBT
        assert visit.is_full  # what was sent before that wall tells nothing, and lands first
        shown(3.0, before)
        assert not visit.is_full
        after = visit.use(3.0)
        assert visit.is_full
        shown(4.0, after)
        assert walled(4.0, f"odd {n}") is Wall.ALONE
    walls = [walled(5.0, str(n)) for n in range(20)]
    over_after = walls.index(Wall.OVER)  # a third of the pages were walled alone
    assert 1 / 3**over_after < 0.05
    assert over_after <= 5
    assert set(walls[:over_after]) == {Wall.DOUBT}
    assert visit.wanted


def test_while_it_is_too_early_for_another_session_others_tell_of_a_wall() -> None:
    """No page that is walled alone ends a session then, though none is known to be: the next one
    that passes tells so, and from then on, whenever another is walled."""
    visit = _visit()
    _renew(visit, 1.0)
    _pass(visit, FIRST, 2.0)
    assert visit.wall(visit.use(3.0), FIRST, 3.0, url="odd") is Wall.DOUBT
    _pass(visit, FIRST, 4.0)
    for now in (5.0, 100.0):  # the second one as late as another session may be asked for
        assert visit.wall(visit.use(now), FIRST, now, url=f"odd {now}") is Wall.DOUBT
        _pass(visit, FIRST, now)
    assert not visit.wanted


def test_a_page_that_ends_two_sessions_in_a_row_is_walled_alone() -> None:
    """Where such pages are shown, and it is the first answer of the next session, too. Who goes on
    with that session knows so as well."""
    visit = _visit()
    _pass(visit, FIRST, 1.0)
    assert visit.wall(visit.use(2.0), FIRST, 2.0, url="odd") is Wall.OVER
    visit.opened({"SUB": "2"}, 2.0)
    assert visit.wall(visit.use(3.0), FIRST, 3.0, url="odd") is Wall.CLOSED
    _pass(visit, FIRST, 4.0)
    saved = visit.saved(5.0)
    assert saved is not None
    other = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S)
    other.restore(saved, 1.0, 6.0)
    for one in (visit, other):
        assert one.wall(one.use(7.0), FIRST, 7.0, url="another") is Wall.DOUBT


def test_a_refused_page_after_a_renewal() -> None:
    """The first request with a new session is refused: nobody knows whether it is the page or the
    egress, of whichever sort, before another one passes."""
    for sort in (FIRST, LATER):
        visit = _visit()
        _pass(visit, FIRST, 1.0)
        _renew(visit, 100.0)
        refused = [visit.wall(visit.use(0.0), sort, 101.0, url="odd", is_refusal=True)]
        _pass(visit, FIRST, 102.0)
        refused.append(visit.wall(visit.use(0.0), sort, 103.0, url="odd", is_refusal=True))
        assert refused == [Wall.CLOSED, Wall.ALONE]
        assert not visit.wanted


def test_a_session_that_ends_early() -> None:
    """A sort that passed of late tells that the session is over; the next one waits for the end of
    the cooldown."""
    visit = _visit()
    _renew(visit, 10.0)
    _pass(visit, FIRST, 11.0)
    assert _ends(visit, FIRST, 15.0)
    assert visit.barred_s(15.0) == 55.0
    assert visit.barred_s(70.0) == 0.0


def test_the_cooldown_grows() -> None:
    """It doubles with each session by which nothing passed, up to an hour; one that is of use ends
    that."""
    visit, now, bars = _visit(), 0.0, []
    for _ in range(9):
        _renew(visit, now)
        visit.expire(visit.generation)
        bars.append(visit.barred_s(now))
        now += bars[-1]
    assert bars == [120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0, 3600.0, 3600.0, 3600.0]
    _renew(visit, now)
    _pass(visit, FIRST, now)
    visit.expire(visit.generation)
    assert visit.barred_s(now) == COOLDOWN_S


def test_passing_ends_the_memory() -> None:
    """A sort that passes after all is no longer taken for closed."""
    visit = _visit()
    _renew(visit, 1.0)
    assert visit.wall(visit.use(0.0), LATER, 2.0) is Wall.CLOSED
    _pass(visit, LATER, 3.0)
    assert _ends(visit, LATER, 100.0)


def test_without_a_session_nothing_is_remembered() -> None:
    """Walls met without any session say nothing of what visitors may see."""
    visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S)
    for n in range(3):  # one may be refused by chance
        visit.not_opened(n * MEMORY_S)
        said = visit.wall(visit.use(n * MEMORY_S), FIRST, n * MEMORY_S + 1.0)
        assert said is (Wall.OVER if n < 2 else Wall.ABSENT)
    assert visit.wall(visit.use(0.0), FIRST, 2 * MEMORY_S + 4 * COOLDOWN_S) is Wall.OVER


def test_what_needs_a_session_waits_for_the_next_one() -> None:
    """Where none could be had, what was shown of late with one is not asked for without."""
    visit = _visit()
    _pass(visit, FIRST, 0.0)
    assert visit.wall(visit.use(0.0), FIRST, 1.0) is Wall.OVER
    visit.not_opened(2.0)
    _pass(visit, LATER, 3.0)
    assert visit.wall(visit.use(2.0), FANS, 3.0) is Wall.ABSENT
    assert visit.wall(visit.use(2.0), FIRST, 3.0) is Wall.OVER
    assert visit.barred_s(3.0) == COOLDOWN_S - 1.0


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
    assert visit.wall(visit.use(0.0), LATER, 20.0) is Wall.CLOSED
    _pass(visit, FIRST, 20.0)
    other = _handed_over(visit, 30.0, 5.0)
    assert not other.wanted
    assert other.cookies == visit.cookies
    assert other.wall(other.use(-965.0), LATER, -965.0) is Wall.CLOSED
    assert _ends(other, FIRST, -965.0)
    assert other.barred_s(-965.0) == 35.0


def test_a_refused_session_is_not_handed_on() -> None:
    """The next holder asks for a new one; where none could be had it asks no earlier."""
    visit = _visit()
    visit.expire(visit.generation)
    assert visit.saved(1.0) is None
    visit.not_opened(1.0)
    other = _handed_over(visit, 2.0, 1.0)
    assert not other.wanted
    _pass(other, LATER, 3.0 - 1000.0)
    assert other.wall(other.use(-965.0), FANS, 3.0 - 1000.0) is Wall.ABSENT


@pytest.mark.parametrize("concurrency", [1, 5])
@pytest.mark.parametrize("depth", [1, 2, 6])
def test_lists_that_are_walled_behind_some_page(depth: int, concurrency: int) -> None:
    """Where guests are shown so many pages of each list and none behind, one renewal at most finds
    that out, however many lists are read; one more where all that are read at once meet the wall
    before anything passes."""
    visit, now = _visit(), 0.0
    for k in range(30):
        for nth, which in [(n, 5 * k + j) for n in range(1, depth + 2) for j in range(concurrency)]:
            for _ in range(3):
                now += 0.1
                if visit.wanted:
                    visit.opened({"SUB": str(visit.generation)}, now + visit.barred_s(now))
                use = visit.use(0.0)
                if nth <= depth:
                    visit.passed(use, (Kind.POSTS, nth), now)
                elif visit.wall(use, (Kind.POSTS, nth), now, url=f"{which}") is not Wall.CLOSED:
                    continue
                break
    assert visit.generation <= (2 if concurrency == 1 else 3)


def test_a_wall_covers_the_pages_behind_it() -> None:
    """Who is walled at a page is walled at the pages behind it, not at those before it; who is
    shown one may see those before it, and then no wall is left there."""
    visit = _visit()
    _renew(visit, 1.0)
    assert visit.wall(visit.use(0.0), LATER, 2.0) is Wall.CLOSED
    assert visit.wall(visit.use(0.0), DEEP, 3.0) is Wall.CLOSED
    assert visit.wall(visit.use(0.0), LATER_FANS, 3.0) is Wall.DOUBT
    _pass(visit, DEEP, 4.0)
    assert _ends(visit, LATER, 5.0, "another")


def test_what_is_saved_of_a_session_is_small() -> None:
    """What is saved is small however many pages passed, and what is too old is not saved."""
    text = b'{"cookies":{"SUB":"1"},"opened":true,"renewed_ago_s":5.0,"walled_for":[[["posts",2],'
    text += b'100.0]],"shown_ago_s":[[["posts",1],3.0],[["fans",2],3.0]]}'
    visit = Visit(cooldown_s=COOLDOWN_S, wall_memory_s=MEMORY_S)
    visit.restore(msgspec.json.decode(text, type=SavedVisit), 0.0, 10.0)
    assert visit.wall(visit.use(0.0), DEEP, 11.0) is Wall.CLOSED
    for nth in range(1, 1000):
        _pass(visit, (Kind.FANS, nth), 12.0 + nth)
    saved = visit.saved(1011.0)
    assert saved is not None
    assert saved.shown_ago_s == [((Kind.FANS, 999), 0.0)]
    assert saved.walled_for == []
    again = msgspec.json.decode(msgspec.json.encode(saved), type=SavedVisit)
    assert again == saved
    assert visit.wall(visit.use(0.0), FANS, 1012.0) is Wall.OVER


def _used_up(visit: Visit, lives: int, now: float, under_way: int = 5) -> int:
    """Use a session, so many requests at once, but for those that go alone, that lives for so many;
    how many met a wall."""
    generation, open_uses, walls = visit.generation, list[Use](), 0
    while not visit.wanted or open_uses:
        while not (visit.wanted or visit.is_full) and len(open_uses) < under_way:
            open_uses.append(visit.use(now))
        use = open_uses.pop(0)
        visit.landed(use)
        if use.number <= lives:
            visit.passed(use, FIRST, now)
        else:
            assert visit.wall(use, FIRST, now) in (Wall.OVER, Wall.DOUBT)
            walls += 1
    assert visit.generation == generation
    return walls


def _walls(lives: Iterable[int]) -> list[int]:
    """How many requests met a wall with each of these sessions, one after the other."""
    visit, now, walls = _visit(), 0.0, []
    for one in lives:
        walls.append(_used_up(visit, one, now))
        visit.opened({"SUB": "x"}, now := now + COOLDOWN_S)
        now += COOLDOWN_S
    return walls


def test_a_session_is_renewed_before_its_end_where_that_is_known() -> None:
    """Law 16: three that ended after as many requests tell when the next ones do; one of ten is
    used to its end. What goes after so many requests goes alone, so that an end costs one."""
    assert _walls([40] * 12) == [5, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0]


def test_sessions_that_end_sooner_or_later_now_are_used_to_their_ends() -> None:
    """What was learnt of them holds until they end otherwise."""
    walls = _walls([40] * 3 + [30] * 4 + [90] * 24)
    assert walls == [5, 1, 1, 5, 1, 1, *[0] * 3, 5, *[0] * 9, 1, 1, *[0] * 8, 1, 0]


@pytest.mark.parametrize("lives", [1, 2, 40, 200])
def test_a_session_that_lives_on_is_used_by_many_again(lives: int) -> None:
    """Twenty requests go alone after as many as those before it were good for, and no others."""
    visit = _visit()
    _used_up(visit, lives, 0.0)
    visit.opened({"SUB": "x"}, COOLDOWN_S)
    alone = []
    for _ in range(max(2 * lives, 50)):
        use = visit.use(COOLDOWN_S)
        if visit.is_full:
            alone.append(use.number)
        visit.landed(use)
        visit.passed(use, FIRST, COOLDOWN_S)
    assert alone == sorted({1, *range(lives + 1, lives + 21)})


@pytest.mark.parametrize("lives", [1, 2, 5, 19])
def test_the_end_of_a_short_life_costs_one_request(lives: int) -> None:
    """Law 16: after a session that lived for so few, the next requests go one after the other."""
    later = _walls([lives] * 4)[1:]
    assert later[0] == 1
    assert max(later) == 1


@pytest.mark.parametrize("lives", [1, 2, 5, 19, 40])
def test_the_end_of_the_first_session_costs_no_more_than_it_lived_for(lives: int) -> None:
    """Law 16: nobody knows when it is over, so no more is under way than it has answered."""
    visit = _visit()
    assert 1 <= _used_up(visit, lives, 0.0, under_way=100) <= lives + 1


@pytest.mark.parametrize(("lives", "needed"), [(1, 10), (2, 7), (5, 4), (19, 3), (40, 3), (200, 3)])
def test_a_life_is_known_once_so_many_were_as_long(lives: int, needed: int) -> None:
    """Law 16: fewer that are alike may be so by chance; then only one of ten is used to its end;
    once fifteen were, one in 300 requests where ten sessions have fewer."""
    every = max(10, -(-300 // lives))
    sure = 10 * (15 - needed + needed // 10)
    walls = _walls([lives] * (sure + 2 * every))
    assert 0 not in walls[:needed]
    assert sum(walls[needed:sure]) == 15 - needed
    assert 1 <= sum(walls[sure:]) <= 2
    assert set(walls[needed:]) == {0, 1}


@pytest.mark.parametrize("lives", [2, 5, 19])
def test_some_lives_may_differ_from_the_others(lives: int) -> None:
    """By a wall that passes one ends sooner, and counts as one that ended later."""
    told = [lives] * (90 // lives + 2)
    told[1::5] = [lives - 1] * len(told[1::5])
    told[3:4] = [lives + 1]
    assert not Lives(told).is_spent(101, lives - 1)
    assert Lives(told).is_spent(101, lives)


@pytest.mark.parametrize("usual", [3, 10, 40])
@pytest.mark.parametrize("seed", range(5))
def test_sessions_that_end_by_chance_are_hardly_given_up(seed: int, usual: int) -> None:
    """Law 16: where each request may be the last one, giving up a session costs a new one and
    spares nothing."""
    rng, lives = Random(seed), Lives()
    could = was = 0
    for session in range(1, 301):
        lives.begin(session)
        life = given = 1 + next(n for n in count() if rng.random() < 1 / usual)
        for use in range(1, life + 1):
            lives.answered(session)
            if lives.is_spent(session, use):
                given = use
                break
        else:
            lives.end(session)
        could, was = could + life, was + given
    assert was >= 0.8 * could


def test_a_session_is_not_given_up_before_a_new_one_may_be_had() -> None:
    """Neither within the cooldown, nor where as many were asked for as may be in an hour."""
    visit = _visit()
    for _ in range(3):
        _used_up(visit, 40, 0.0)
        visit.opened({"SUB": "x"}, 0.0)
    for _ in range(45):
        assert not visit.wanted
        visit.passed(visit.use(COOLDOWN_S - 1.0), FIRST, COOLDOWN_S - 1.0)
    visit.use(COOLDOWN_S)
    assert visit.wanted


def test_how_long_sessions_live_goes_to_the_next_holder() -> None:
    """So does how many requests the present one has answered."""
    visit = _visit()
    for _ in range(3):
        _used_up(visit, 40, 0.0)
        visit.opened({"SUB": "x"}, 0.0)
    for _ in range(30):
        _pass(visit, FIRST, 0.0)
    other = _handed_over(visit, 0.0, COOLDOWN_S)
    assert _used_up(other, 40, COOLDOWN_S - 1000.0) == 0
