import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.sites.cookies import are_too_large, merge_cookies

HOSTS, NOW = ("m.weibo.cn",), 1_700_000_000.0


@pytest.mark.parametrize(
    ("line", "cookies"),
    [
        ("b=2; path=/; HttpOnly", {"a": "1", "b": "2"}),
        (" a = 2 ;Max-Age=60", {"a": "2"}),
        ("nonsense", {"a": "1"}),
        ("=x", {"a": "1"}),
        ("a=x; Max-Age=0", {}),
        ("a=x; max-age=-1", {}),
        ("a=x; Max-Age=-99999", {}),
        ("a=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT", {}),
        ("a=x; expires=Thu, 01-Jan-1970 00:00:01 GMT", {}),
        ("a=2; Expires=Thu, 01 Jan 2099 00:00:00 GMT", {"a": "2"}),
        ("a=2; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", {"a": "2"}),
        ("a=2; Expires=soon", {"a": "2"}),
        ("a=2; Domain=.weibo.cn", {"a": "2"}),
        ("a=2; domain=M.weibo.cn", {"a": "2"}),
        ("a=2; Domain=weibo.com", {"a": "1"}),
        ("a=2; Domain=eibo.cn", {"a": "1"}),
        ("a=2; Domain=x.m.weibo.cn", {"a": "1"}),
        ("a=值", {"a": "1"}),
        ("值=2", {"a": "1"}),
        ("b=\x1bz", {"a": "1"}),
        ("\ta=2", {"a": "2"}),
    ],
)
def test_what_a_header_does(line: str, cookies: dict[str, str]) -> None:
    """Set-Cookie adds, replaces and deletes what has expired; what is meant for other hosts, or no
    client would send back, is passed over."""
    assert merge_cookies({"a": "1"}, [line], HOSTS, NOW) == cookies


@given(st.lists(st.text()))
def test_any_text_is_read(lines: list[str]) -> None:
    """No header ends in an error, or makes a session that cannot be sent."""
    for name, value in merge_cookies({"a": "1"}, lines, HOSTS, NOW).items():
        assert f"{name}={value}".isascii()
        assert f"{name}={value}".isprintable()


def test_how_large_is_too_large() -> None:
    """50 cookies and 8 kB are enough."""
    assert not are_too_large({f"c{n}": "" for n in range(50)})
    assert are_too_large({f"c{n}": "" for n in range(51)})
    assert not are_too_large({"c": "x" * 8000})
    assert are_too_large({"c": "x" * 8192})
