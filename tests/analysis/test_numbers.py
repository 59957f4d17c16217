import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weibo_crawler.analysis.numbers import duration, grouped, percent, plural, short


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0"), (1234567, "1,234,567"), (0.53, "0.53"), (3.0, "3"), (9.97, "10"), (1234.5, "1,234")],
)
def test_grouped(n: float, text: str) -> None:
    """Thousands are set apart, small fractions keep two digits."""
    assert grouped(n) == text


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0"), (999, "999"), (1000, "1k"), (1500, "1.5k"), (2e6, "2M"), (1e9, "1G")]
)
def test_short(n: float, text: str) -> None:
    """The largest unit that fits, one digit at most."""
    assert short(n) == text


@settings(deadline=None)
@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_nearly_all_is_not_all(share: float) -> None:
    """Only nothing is 0 %, only all is 100 %."""
    assert percent(share) not in ("0 %", "100 %")


def test_percent() -> None:
    """Ends are exact, unknown is said."""
    assert [percent(share) for share in (None, 0, 0.934, 1)] == [
        *("unknown", "0 %", "93.4 %", "100 %")
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (8.4, "8 s"),
        (3600, "1 h"),
        (725, "12 min 5 s"),
        (273600, "3 d 4 h"),
        (-3, "0 s"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    """The two largest units."""
    assert duration(seconds) == text


def test_plural() -> None:
    """One is singular."""
    assert [plural(n, "user") for n in (0, 1, 2000)] == ["0 users", "1 user", "2,000 users"]
