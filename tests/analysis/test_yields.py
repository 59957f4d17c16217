"""What requests have brought, in words: pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.analysis.asked import Asked
from weibo_crawler.analysis.yields import Course, Tail, follow_line, tail, visits_a_day, yield_lines
from weibo_crawler.store.rows.cells import Ledger


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(0, 0), (1000, 980), (2000, 1000)], Tail(1000, 20, 0.5)),
        ([(0, 0), (1000, 500), (2000, 1000)], None),  # it brings as many as ever
        ([(0, 0), (100, 1000), (250, 1000)], None),  # too short to say so
        ([(0, 0), (9000, 1000), (9500, 1000)], None),  # a small part of the run
        ([(0, 0), (500, 0)], Tail(500, 0, 1.0)),  # nobody at all
        ([(0, 0)], None),
    ],
)
def test_a_run_that_has_run_dry_says_so(
    points: list[tuple[int, int]], expected: Tail | None
) -> None:
    """Its last requests, a fifth of all or more and 200 at least, brought a twentieth of its new
    users or fewer."""
    assert tail(points) == expected
    if expected:
        assert f"the last {expected.requests:,} requests" in expected.line()


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20)), min_size=1, max_size=2000))
def test_a_course_is_bounded_and_ends_where_the_run_does(steps: list[tuple[int, int]]) -> None:
    """However long a run is; a tail that it tells is one of the run, and brought next to nobody."""
    course, sent, kept, whole = Course(), 0, 0, [(0, 0)]
    for requests, users in steps:
        sent, kept = sent + requests, kept + users
        course.note(sent, kept)
        whole.append((sent, kept))
    assert len(course._points) <= 401
    assert course._points[-1] == (sent, kept)
    if found := course.tail():
        assert (sent - found.requests, kept - found.users) in whole
        assert found.users <= 0.05 * kept


def test_each_edge_says_what_a_user_costs() -> None:
    """Requests of all kinds for the edge; profiles of seeds are no edge."""
    asked = Asked(
        {
            "asked.fans.fans.ok": 40,
            "asked.fans.profile.throttled": 10,
            "edge.fans.kept": 100,
            "asked.seed.profile.ok": 3,
        }
    )
    assert list(yield_lines(asked)) == [
        "fans brought 100 users by 50 requests: 0.50 requests a user"
    ]


def test_following_is_told_against_the_pace() -> None:
    """At what a later visit costs; enough or too few."""
    asked = Asked({"visits.again.ended": 10, "asked.again.posts.ok": 15})
    assert "150 requests a day (as measured); the pace allows 864, enough" in follow_line(
        100, asked, 0.01
    )
    assert "100 requests a day (one a visit assumed); the pace allows 43, too few: 2.31" in (
        follow_line(100, Asked({}), 0.0005)
    )
    assert "pace" not in follow_line(100, asked, None)
    assert "no egress is usable" in follow_line(100, asked, 0.0)


def test_visits_a_day_are_by_the_dates() -> None:
    """None without both of them."""
    assert visits_a_day(Ledger("done", visited_at=0.0, next_visit=43_200.0)) == 2
    assert visits_a_day(Ledger("done", visited_at=0.0)) == 0
    assert visits_a_day(Ledger("done", next_visit=5.0)) == 0
