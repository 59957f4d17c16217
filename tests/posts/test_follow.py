"""Following users: jobs one after another, in virtual time."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.posts.crawls import Crawl, timeline
from tests.posts.worlds import ScriptedFetcher
from weibo_crawler import config
from weibo_crawler.posts.due import Due, Job, due_at, revisit_of
from weibo_crawler.posts.follow import Next, follow, next_due
from weibo_crawler.posts.workers import Latest, visited
from weibo_crawler.records import Verdict
from weibo_crawler.store.rows.cells import Ledger

NOW = 1_790_000_000.0
HOUR = 3600.0
FOLLOW = Job("now", refresh=True, follow=True)
BOUNDS = revisit_of(config.Posts())

spans = st.floats(1.0, 20.0).map(lambda hours: hours * HOUR)


class World:
    """Users who are due again so long after each visit; a clock that moves when somebody sleeps. A
    job takes a while. arrivals: when further users are imported, each with a span."""

    def __init__(self, every: Sequence[float], arrivals: Sequence[tuple[float, float]]) -> None:
        self.now = NOW
        self.every = list(every)
        self.due = [NOW] * len(self.every)
        self.arrivals = sorted((NOW + at, span) for at, span in arrivals)
        self.came = [-inf] * len(self.every)
        self.visits: list[tuple[float, int, float]] = []  # when, who, since when it was due
        self.jobs: list[float] = []
        self.slept: list[Next | None] = []
        self.stop_at = inf

    def clock(self) -> float:
        while self.arrivals and self.arrivals[0][0] <= self.now:
            at, span = self.arrivals.pop(0)
            self.every.append(span)
            self.due.append(at)
        return self.now

    def look(self, now: float) -> Next | None:
        ledgers = [Ledger("done", next_visit=at) for at in self.due]
        return next_due([Due(uid, one) for uid, one in enumerate(ledgers)], FOLLOW, now)

    def visit(self, users: int) -> None:
        due = [uid for uid, at in enumerate(self.due) if at <= self.now]
        assert len(due) == users > 0
        self.jobs.append(self.now)
        for uid in due:
            self.visits.append((self.now, uid, self.due[uid]))
            self.due[uid] = self.now + self.every[uid]
        self.now += 10.0 * users

    def sleep(self, seconds: float, due: Next | None) -> bool:
        assert seconds > 0
        self.slept.append(due)
        self.now += seconds
        return self.now < self.stop_at


@examples(60)
@given(
    st.lists(spans, max_size=5),
    st.lists(st.tuples(st.floats(0, 40 * HOUR), spans), max_size=3),
)
def test_everybody_is_visited_in_time_and_nobody_early(
    every: list[float], arrivals: list[tuple[float, float]]
) -> None:
    """Who is due is visited at most a tenth of the shortest interval later, jobs aside; who is
    imported meanwhile at most a shortest interval later; nobody before the time. Jobs begin a tenth
    apart, none for nobody, and the end comes when it was to come."""
    world, until = World(every, arrivals), NOW + 60 * HOUR
    known = len(every)
    follow(world.visit, world.look, world.sleep, world.clock, revisit=BOUNDS, until=until)
    pause_s, jobs_s = BOUNDS.least_s / 10, 10.0 * (len(every) + len(arrivals)) * 2
    first = set()
    for at, uid, due in world.visits:
        late_s = BOUNDS.least_s if uid >= known and uid not in first else 0.0
        first.add(uid)
        assert due <= at <= due + pause_s + late_s + jobs_s
    assert first == set(range(len(world.every)))
    assert all(b - a >= pause_s * (1 - 1e-9) for a, b in pairwise(world.jobs))
    assert until <= world.now <= until + jobs_s
    assert all(due > until - BOUNDS.least_s - jobs_s for due in world.due)


def test_it_ends_when_it_is_told_to_in_its_sleep() -> None:
    """After `sleep` said so nobody is visited, though somebody is due by then."""
    world = World([2 * HOUR], [])
    world.stop_at = NOW + 1.5 * HOUR
    follow(world.visit, world.look, world.sleep, world.clock, revisit=BOUNDS)
    assert world.jobs == [NOW]
    assert {next_ and next_.at for next_ in world.slept} == {NOW + 2 * HOUR}
    assert world.stop_at <= world.now < NOW + 2 * HOUR


def test_a_clock_that_is_set_back_holds_nobody_up() -> None:
    """A day earlier than at the last job: who is due is visited a pause later at the latest."""
    world = World([HOUR], [])
    began = NOW - 24 * HOUR

    def sleep(seconds: float, due: Next | None) -> bool:
        if world.now > NOW:  # the first sleep
            world.now, world.due = began, [began]
            return True
        return world.sleep(seconds, due)

    follow(world.visit, world.look, sleep, world.clock, revisit=BOUNDS, until=NOW + 60)
    assert world.jobs[0] == NOW
    assert began <= world.jobs[1] <= began + BOUNDS.least_s / 10


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(-9, 9), max_size=8))
def test_the_next_are_those_with_the_earliest_date(dates: list[int | None]) -> None:
    """All whose date is past count as due now; else who shares the earliest date. Who is gone for
    good is never due."""
    ledgers = [
        Ledger("gone", sure=True) if date is None else Ledger("done", next_visit=NOW + date)
        for date in dates
    ]
    found = next_due([Due(uid, ledger) for uid, ledger in enumerate(ledgers)], FOLLOW, NOW)
    times = [max(NOW, NOW + date) for date in dates if date is not None]
    assert found == (Next(min(times), times.count(min(times))) if times else None)


def test_who_fails_rests_longer_each_time(crawl_: Crawl) -> None:
    """Law 16: a job that follows leaves who failed alone for the shortest interval, then twice as
    long each time in a row; any other job asks at once; a visit that succeeds ends that."""
    crawl_.add(6)
    world, once = {6: timeline(6, 5)}, Job("other")
    for n in range(1, 4):
        broken = ScriptedFetcher(world, trouble={"posts/6/": [Verdict.SERVER_TROUBLE] * 9})
        assert crawl_.run(broken, clock=lambda: NOW)[6].status == "failed"
        user = Due(6, crawl_.ledger(6))
        assert due_at(user, FOLLOW) == NOW + BOUNDS.least_s * 2 ** (n - 1)
        assert due_at(user, once) == 0
    assert crawl_.run(ScriptedFetcher(world), clock=lambda: NOW)[6].status == "stored"
    assert (crawl_.ledger(6).failures, crawl_.ledger(6).retry_at) == (0, None)


jobs = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=30)


@given(jobs)
def test_the_latest_jobs_hold_twenty_visits(each: list[tuple[int, int]]) -> None:
    """What the site is judged by is the end of all jobs, as short as it may be with twenty visits;
    all of them while there were fewer."""
    latest, all_ = Latest(), [{"users.input": v + k, "users.existing": k} for v, k in each]
    for n, one in enumerate(all_, 1):
        sums = latest.add(one)
        ends = [all_[n - size : n] for size in range(1, n + 1)]
        enough = [end for end in ends if sum(map(visited, end)) >= 20]
        wanted = min(enough, key=len) if enough else all_[:n]
        assert visited(sums) == sum(map(visited, wanted))
        assert sums.get("users.existing", 0) == sum(end["users.existing"] for end in wanted)
