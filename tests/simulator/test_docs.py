"""docs/simulator.md says what the simulator does."""

from pathlib import Path

import pytest

import weibo_crawler
from weibo_crawler.simulator.limits import FORBEARANCE, LONGEST
from weibo_crawler.simulator.proxies import HEALTH, Deed
from weibo_crawler.simulator.served import Line

DOCS = Path(weibo_crawler.__file__).parents[1] / "docs" / "simulator.md"
LABELS = ["throttled", "throttled_418", "too_long_414", "soft_throttled", "ban", "banned"]


@pytest.fixture(scope="module")
def text() -> str:
    return DOCS.read_text("utf-8")


@pytest.mark.parametrize("health", HEALTH)
def test_each_health_has_a_row(text: str, health: str) -> None:
    """Of the table of proxies."""
    assert f"\n| {health} | " in text


@pytest.mark.parametrize("label", [*LABELS, *(deed for deed in Deed if deed is not Deed.FORWARD)])
def test_each_label_of_the_log_is_named(text: str, label: str) -> None:
    """Of limits, and of what proxies do by themselves."""
    assert f"`{label}`" in text


@pytest.mark.parametrize("key", Line.__struct_fields__)
def test_each_key_of_a_line_is_shown(text: str, key: str) -> None:
    """In the example."""
    assert f'"{key}": ' in text


def test_the_numbers(text: str) -> None:
    """Those of the code."""
    assert ("a fourth time" in text) == (FORBEARANCE == 3)
    assert f"up to {LONGEST} times `--ban-s`" in text
