"""When to come back to a user."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weibo_crawler import config
from weibo_crawler.errors import BadConfig
from weibo_crawler.posts.schedule import Demand, Revisit, interval_s, is_another_day, posting_rate

DAY = 86_400.0
CLOCK = timezone(timedelta(hours=8))
NOW = 1_790_000_000.0
USUAL = Revisit(3600.0, 30 * DAY, 5.0)

rates = st.none() | st.floats(0, 1e9)
doubts = st.integers(0, 10_000)
revisits = st.tuples(st.floats(1e-3, 1e7), st.floats(1, 1e4), st.floats(1e-3, 1e3)).map(
    lambda given: Revisit(given[0], given[0] * given[1], given[2])
)
ages = st.lists(st.floats(0, 1e9), min_size=1, max_size=20)


@settings(deadline=None)
@given(rates, revisits, doubts)
def test_the_interval_lies_between_the_bounds(
    rate: float | None, revisit: Revisit, doubts: int
) -> None:
    """Whatever the rate and the doubts, a user is asked neither too often nor never again."""
    assert revisit.least_s <= interval_s(rate, revisit, doubts) <= revisit.most_s * (1 + 1e-9)


@settings(deadline=None)
@given(st.floats(0, 1e3), st.floats(0, 1e3), revisits, doubts)
def test_who_posts_more_is_visited_sooner(
    one: float, other: float, revisit: Revisit, doubts: int
) -> None:
    """A higher rate never gives a longer interval."""
    slow, fast = sorted((one, other))
    assert interval_s(fast, revisit, doubts) <= interval_s(slow, revisit, doubts)


@settings(deadline=None)
@given(rates, revisits, st.integers(1, 200))
def test_doubt_brings_a_visit_sooner_and_fades(
    rate: float | None, revisit: Revisit, doubts: int
) -> None:
    """Doubt never makes an interval longer; one more doubt never makes it shorter, and many in a
    row are as none: what nothing can mend costs no more than others in the end."""
    assert interval_s(rate, revisit, doubts) <= interval_s(rate, revisit)
    assert interval_s(rate, revisit, doubts) <= interval_s(rate, revisit, doubts + 1)
    assert interval_s(rate, revisit, 100) == interval_s(rate, revisit)


def test_the_wanted_number_of_posts_is_met() -> None:
    """Ten posts a day and five wanted: half a day. Nobody's posts: the longest wait; in doubt the
    middle of the bounds, then twice that."""
    assert interval_s(10 / DAY, USUAL) == pytest.approx(DAY / 2)
    assert interval_s(None, USUAL) == USUAL.most_s
    assert interval_s(None, USUAL, 1) == pytest.approx((3600 * 30 * DAY) ** 0.5)
    assert interval_s(None, USUAL, 2) == pytest.approx(2 * (3600 * 30 * DAY) ** 0.5)


many = st.lists(st.tuples(rates, st.integers(0, 5)), max_size=5)


@settings(deadline=None)
@given(many, st.floats(1, 30), st.floats(0, 1e6), st.floats(0, 1e6))
def test_where_the_pace_is_short_visits_wait_for_more_posts(
    users: list[tuple[float | None, int]], posts: float, one: float, other: float
) -> None:
    """Never for fewer than the setting says, nor for more than a page unless that does; for more,
    the fewer visits a day are allowed; for as many as the setting says where its visits fit."""
    revisit = USUAL._replace(posts=posts)
    demand = Demand(revisit)
    for rate, doubts in users:
        demand.add(rate, doubts)
    short, long = (demand.posts(allowed) for allowed in sorted((one, other)))
    assert posts <= long <= short <= max(10.0, posts)
    usual = sum(DAY / interval_s(rate, revisit, doubts) for rate, doubts in users)
    assert demand.posts(None) == demand.posts(usual * (1 + 1e-9)) == posts


def test_so_many_visits_a_day_suffice() -> None:
    """Ten users who write ten posts a day: 20 visits with five awaited, 10 with ten, 15 in between;
    what a page cannot bring is left."""
    demand = Demand(USUAL)
    for _ in range(10):
        demand.add(10 / DAY)
    assert demand.posts(20) == 5
    assert 14.9 <= 100 / demand.posts(15) <= 15
    assert demand.posts(10) == pytest.approx(10)
    assert demand.posts(3) == 10


@settings(deadline=None)
@given(ages, st.floats(0, 1e8))
def test_silence_lowers_the_rate(ages: list[float], silence_s: float) -> None:
    """The rate is positive and never rises while nothing is posted."""
    times = [NOW - age for age in ages]
    before, after = posting_rate(times, NOW), posting_rate(times, NOW + silence_s)
    assert before is not None
    assert after is not None
    assert 0 < after <= before


@settings(deadline=None)
@given(ages, st.randoms())
def test_the_rate_is_of_times_in_any_order(ages: list[float], random: object) -> None:
    """Pinned posts and posts dated ahead of our clock break nothing."""
    times = [NOW - age for age in ages]
    shuffled = list(times)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert posting_rate(shuffled, NOW) == posting_rate(times, NOW)
    ahead = posting_rate([one + 2e9 for one in times], NOW)
    assert ahead is not None
    assert ahead > 0


def test_a_rate_is_posts_by_time() -> None:
    """One post a day, ten of them: about one a day. No post: no rate."""
    rate = posting_rate([NOW - n * DAY for n in range(10)], NOW)
    assert rate == pytest.approx(9.5 / (9 * DAY))
    assert posting_rate([], NOW) is None


def test_bounds_that_contradict_are_refused() -> None:
    """BadConfig names both settings."""
    crossed = {"WEIBO_POSTS__REVISIT_MIN_H": "49", "WEIBO_POSTS__REVISIT_MAX_D": "2"}
    with pytest.raises(BadConfig, match=r"posts\.revisit_min_h.*posts\.revisit_max_d"):
        config.load(environ=crossed)
    equal = {"WEIBO_POSTS__REVISIT_MIN_H": "48", "WEIBO_POSTS__REVISIT_MAX_D": "2"}
    assert config.load(environ=equal).posts.revisit_min_h == 48


def test_silence_counts_in_the_rate() -> None:
    """Who has posted nothing for a year posts less than who did so an hour ago, however close
    together the posts stood."""
    times = [NOW, NOW + 60, NOW + 120]
    assert posting_rate(times, NOW + 120) == pytest.approx(2.5 / 120)
    assert posting_rate(times, NOW + 365 * DAY) == pytest.approx(2.5 / (365 * DAY))


@pytest.mark.parametrize(
    ("since", "now", "is_another"),
    [
        ("2026-01-01T01:00", "2026-01-01T23:00", False),  # the same day, 22 hours later
        ("2026-01-01T23:00", "2026-01-02T01:00", False),  # just after midnight
        ("2026-01-01T23:00", "2026-01-02T18:59", False),
        ("2026-01-01T23:00", "2026-01-02T19:00", True),
        ("2026-01-01T01:00", "2026-01-02T00:30", True),
    ],
)
def test_what_another_day_is(since: str, now: str, is_another: bool) -> None:
    """By the site's clock, UTC+8, and twenty hours later at least."""
    first, second = (datetime.fromisoformat(f"{at}+08:00").timestamp() for at in (since, now))
    assert is_another_day(first, second, CLOCK) is is_another
