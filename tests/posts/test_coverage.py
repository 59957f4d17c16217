"""Gap arithmetic against a model that remembers every place of a timeline that was read."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.posts.worlds import post
from weibo_crawler.posts.coverage import after_visit, in_place, is_covered, is_open_below
from weibo_crawler.store.rows.gaps import Gap, pack_gaps, unpack_gaps

LAST = 60
# a visit: how many posts are new since the one before, how many it reads, whether it knows the end
visits = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 20), st.booleans()), min_size=1, max_size=8
)


@settings(deadline=None)
@given(visits)
def test_what_no_visit_read_is_in_a_gap_and_nothing_else(
    history: list[tuple[int, int, bool]],
) -> None:
    """Whatever the visits, gaps are the places below the newest known post that no visit read:
    none too many, none too few; they neither touch nor overlap, and come newest first."""
    gaps: tuple[Gap, ...] = ()
    newest: int | None = None
    read: set[int] = set()
    top = 0
    for new, reads, knows_end in history:
        top += new
        if not top:
            continue
        oldest = max(1, top - reads + 1) if reads else None
        to_the_end = knows_end and oldest == 1
        gaps = after_visit(gaps, newest, oldest, to_the_end=to_the_end)
        if oldest is not None:
            read |= set(range(oldest, top + 1))
            newest = top
        if to_the_end:
            read.add(0)  # the place before all posts
        for place in range(1, top + 1):
            assert is_covered(place, newest, gaps) == (newest is not None and place in read)
        opens_at_bottom = newest is not None and 0 not in read
        assert any(gap.after is None for gap in gaps) == opens_at_bottom
        for upper, lower in pairwise(gaps):
            assert upper.after is not None
            assert lower.before <= upper.after


@settings(deadline=None)
@given(st.integers(1, LAST), st.lists(st.integers(0, LAST), unique=True, max_size=6))
def test_open_below_is_a_place_not_covered_below(mid: int, ends: list[int]) -> None:
    """A visit goes on below a known post exactly where some gap reaches below it."""
    ends = sorted(ends)
    gaps = [Gap(hi, lo) for lo, hi in zip(ends[::2], ends[1::2], strict=False) if hi - lo > 1]
    has_place = any(not is_covered(place, LAST + 1, gaps) for place in range(mid))
    if has_place:
        assert is_open_below(gaps, mid)
    if not any(gap.after is None or gap.after < mid for gap in gaps):
        assert not has_place


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), unique=True, max_size=12), st.integers(0, 3))
def test_a_page_reaches_as_far_as_its_order_tells(mids: list[int], pinned: int) -> None:
    """What tells how far a page reaches falls strictly, leaves out pinned posts and what stands
    above a newer post; of a page in order nothing is left out, of one in none everything."""
    page = [post(6, mid, is_pinned=n < pinned) for n, mid in enumerate(mids)]
    placed = in_place(page)
    assert placed == sorted(placed, reverse=True)
    assert set(placed) <= set(mids[pinned:])
    assert placed[-1:] == mids[pinned:][-1:] or not placed
    assert not placed or len(mids[pinned:]) - len(placed) <= max(1, len(mids[pinned:]) / 3)
    ordered = sorted(mids[pinned:], reverse=True)
    assert in_place([post(6, mid) for mid in ordered]) == ordered


def test_an_old_post_at_the_top_hides_nothing() -> None:
    """A pinned post without any sign of it tells nothing about how far the page reaches."""
    assert in_place([post(6, 3), post(6, 50), post(6, 49)]) == [50, 49]


def test_gaps_come_back_from_their_cell() -> None:
    """Newest first, mids as text."""
    gaps = (Gap(90, 80, "2026-01-02T00:00:00+08:00"), Gap(10, None))
    assert unpack_gaps(pack_gaps(gaps[::-1])) == gaps
    assert '"before":"90"' in pack_gaps(gaps)
    assert pack_gaps(()) == ""


def test_visits_that_meet_at_a_post_leave_no_gap() -> None:
    """What the last visit read first, this one read last: nothing can stand between."""
    assert after_visit((), 5, 5, to_the_end=False) == ()
    assert after_visit((), 4, 5, to_the_end=False) == (Gap(5, 4),)


def test_a_page_that_is_sorted_by_heat_reaches_nowhere() -> None:
    mids = [57, 52, 59, 51, 60, 54, 53, 58, 56, 55]
    assert in_place([post(6, mid) for mid in mids]) == []
