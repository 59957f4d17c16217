"""Seeds: what they may be, and the clear error for what they may not."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weibo_crawler.errors import BadSeed
from weibo_crawler.records import Seed
from weibo_crawler.sites.weibo.seeds import read_seed


@pytest.mark.parametrize(
    ("text", "uid", "name"),
    [
        ("1234567890", 1234567890, None),
        ("https://m.weibo.cn/u/1234567890?jumpfrom=x", 1234567890, None),
        ("m.weibo.cn/u/1234567890", 1234567890, None),
        ("https://weibo.com/u/1234567890", 1234567890, None),
        ("weibo.com/1234567890", 1234567890, None),
        ("https://m.weibo.cn/profile/1234567890", 1234567890, None),
        ("https://m.weibo.cn/n/%E5%B1%B1%E6%B0%B4", None, "山水"),
        ("@山水-一日", None, "山水-一日"),
        ("quiet_river", None, "quiet_river"),
    ],
)
def test_a_seed_is_read(text: str, uid: int | None, name: str | None) -> None:
    """Uids, addresses and names are all seeds."""
    assert read_seed(text, "here") == Seed(uid, name, "here")


@pytest.mark.parametrize(
    "text",
    ["0", "9" * 30, "9" * 5000, "https://example.org/u/12", "m.weibo.cn/u/x", "a b", "-5", "/"],
)
def test_a_bad_line_is_named(text: str) -> None:
    """Law 14: the place where it stands begins the error."""
    with pytest.raises(BadSeed, match=r"^seeds\.txt:2: "):
        read_seed(text, "seeds.txt:2")


@example("[/")
@given(st.text())
def test_any_text_is_a_seed_or_a_clear_error(text: str) -> None:
    """No line of a file crashes the reader."""
    try:
        seed = read_seed(text.strip() or "x", "f:1")
    except BadSeed:
        return
    assert (seed.uid is None) != (seed.screen_name is None)
