"""The benchmark of coming back measures what it says."""

from math import inf

from benchmarks import revisits
from benchmarks.revisits import KINDS, USUAL, WAYS, Way
from weibo_crawler.posts.schedule import Revisit

DAY = 86_400.0


def test_who_is_never_late_catches_all() -> None:
    """One post an hour each, a visit each two hours: nothing is lost; each ten hours and a half: a
    page of ten is what is seen of ten or eleven."""
    posts = [[n * 3600.0 - 20 * DAY for n in range(40 * 24)] for _ in range(3)]
    often = revisits.run(posts, Way(Revisit(7200.0, 7200.0, 5.0)), inf)
    assert often["share"] == 1
    assert round(often["requests"]) == 3 * 12
    seldom = revisits.run(posts, Way(Revisit(42_000.0, 42_000.0, 5.0)), inf)
    assert 0.8 < seldom["share"] < 0.9


def test_no_more_is_asked_than_the_pace_allows() -> None:
    """Of each way; and a run can be repeated."""
    for kind in KINDS:
        posts = revisits.world(1, 40, kind)
        for way in WAYS.values():
            found = revisits.run(posts, way, 100.0)
            assert found == revisits.run(posts, way, 100.0)
            assert found["requests"] <= 100.5
            assert 0 < found["share"] < 1.05  # some were written before these days


def test_the_posts_are_as_heavy_tailed_as_the_docs_say() -> None:
    """Two fifths of the posts are by users who write more than 48 a day."""
    days = revisits._PAST_DAYS + revisits._DAYS
    for kind in KINDS:
        counts = [len(one) for one in revisits.world(1, 600, kind)]
        heavy = sum(n for n in counts if n > 48 * days)
        assert 0.3 < heavy / sum(counts) < 0.5


def test_the_table_has_every_way_and_pace() -> None:
    """And the pace that is a share of what the usual way sends is kept to."""
    measured = revisits.measure(1, 30)
    text = revisits.show(measured, 1, 30)
    assert all(text.count(f"| {name} |") == len(KINDS) for name in WAYS)
    for figures in measured.values():
        assert figures[0][f"{USUAL}: inf: requests"] == 1
        assert figures[0][f"{USUAL}: 0.5: requests"] <= 0.52
