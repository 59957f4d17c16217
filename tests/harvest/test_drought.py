"""When a walk finds hardly anybody any more."""

import pytest

from weibo_crawler.harvest.drought import WINDOW, Drought


@pytest.mark.parametrize(
    ("price", "every", "is_dry"),
    [(50.0, 40, False), (50.0, 60, True), (100.0, 60, False), (0.0, 10_000, False)],
)
def test_a_walk_is_dry_where_a_user_costs_more(price: float, every: int, is_dry: bool) -> None:
    drought = Drought(price)
    for sent in range(10 * WINDOW):
        drought.note(sent, sent // every)
    assert drought.is_here is is_dry


def test_few_requests_say_nothing() -> None:
    drought = Drought(50.0)
    for sent in range(WINDOW):
        drought.note(sent, 0)
        assert not drought.is_here
    drought.note(WINDOW, 0)
    assert drought.is_here
    assert drought.lately == (WINDOW, 0)


def test_only_the_latest_requests_count() -> None:
    """However many users the first ones brought, and however few came before the latest."""
    drought = Drought(50.0)
    drought.note(10_000, 9_000)
    drought.note(10_000 + WINDOW, 9_001)
    assert drought.is_here
    drought.note(10_000 + WINDOW + 10, 9_100)
    assert not drought.is_here


def test_what_was_judged_once_is_judged_anew() -> None:
    drought = Drought(50.0)
    drought.note(WINDOW, 0)
    assert drought.is_here
    drought.begin_anew()
    assert not drought.is_here
    drought.note(2 * WINDOW, 0)
    assert drought.is_here
