from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from weibo_crawler.analysis.figures import (
    FANS_EDGES,
    SHARE_BINS,
    DayTally,
    GrowthTally,
    fans_bin,
    share_bin,
)

FOUND = st.tuples(st.floats(1.6e9, 2e9), st.integers(0, 12))


@settings(deadline=None)
@given(st.lists(FOUND, min_size=1, max_size=200), st.integers(2, 40))
def test_growth_loses_nobody_and_stays_small(found: list[tuple[float, int]], most: int) -> None:
    """Whatever the times, the spans stay below their limit, totals never fall, depth by depth they
    end at the true number, and by the end of each span all found before it are counted."""
    growth = GrowthTally(most)
    for at, depth in found:
        growth.add(at, depth)
    times = growth.times()
    assert 2 <= len(times) <= most + 1
    for depth, n in Counter(depth for _, depth in found).items():
        totals = growth.so_far(depth, depth)
        assert totals == sorted(totals)
        assert (totals[0], totals[-1], len(totals)) == (0, n, len(times))
    everyone = growth.so_far(0, float("inf"))
    assert everyone == [sum(at < time for at, _ in found) for time in times]


def test_growth_of_nobody() -> None:
    """Nobody found gives no points."""
    assert (GrowthTally().times(), GrowthTally().so_far(0, 9)) == ([], [])


@settings(deadline=None)
@given(st.integers(0, 10**10))
def test_fans_fall_into_one_bin(fans: int) -> None:
    """A bin begins at its edge and ends before the next."""
    i = fans_bin(fans)
    assert FANS_EDGES[i] <= fans
    assert i + 1 == len(FANS_EDGES) or fans < FANS_EDGES[i + 1]


def test_share_bins_keep_none_and_all_apart() -> None:
    """0 and 1 have bins of their own; what is nearly all is not all."""
    shown = {share: SHARE_BINS[share_bin(share)] for share in (0, 0.001, 0.1, 0.55, 0.999, 1)}
    assert list(shown.values()) == ["none", "<10 %", "10+ %", "50+ %", "90+ %", "all"]


DAYS = st.dates().map(lambda day: day.isoformat() + "T11:00:31+08:00")


@examples(40)
@given(st.lists(DAYS | st.text(max_size=12), max_size=50))
def test_every_post_is_counted_once(created_at: list[str]) -> None:
    """Bars and undated posts add up to all posts, and there are never too many bars."""
    days = DayTally(iter(created_at))
    _, bars = days.periods()
    assert sum(n for _, n in bars) + days.undated == days.total == len(created_at)
    assert len(bars) <= 110
    labels = [label for label, _ in bars]
    assert labels == sorted(set(labels))


def test_the_period_follows_the_span() -> None:
    """Days for two months, months for six years, then years; gaps are bars of nothing."""

    def periods(*days: str) -> tuple[str, list[tuple[str, int]]]:
        return DayTally(f"{day}T00:00:00+08:00" for day in days).periods()

    unit, bars = periods("2021-06-01", "2021-06-20", "2021-06-20")
    assert (unit, len(bars), bars[0], bars[1], bars[-1]) == (
        ("day", 20, ("2021-06-01", 1), ("2021-06-02", 0), ("2021-06-20", 2))
    )
    unit, bars = periods("2020-12-31", "2021-06-01")
    assert (unit, [label for label, _ in bars][:2], len(bars)) == (
        ("month", ["2020-12", "2021-01"], 7)
    )
    assert periods("2012-01-01", "2021-06-01")[0] == "year"
    assert len(periods("2021-06-01")[1]) == 14
    assert periods() == ("day", [])
