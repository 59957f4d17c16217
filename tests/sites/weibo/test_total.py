"""The reader is total: any bytes, any status, any JSON give a Reading."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.sites.weibo.helpers import (
    DETAIL,
    OWNER,
    REQUESTS,
    SITE,
    check_law,
    fixture,
    judge,
    page,
    record,
    tree,
)
from weibo_crawler.records import Request, Verdict

NAMES = sorted(REQUESTS)
ALL_REQUESTS = [*REQUESTS.values(), DETAIL, SITE.name("x"), SITE.posts(OWNER, "since_id=9")]
ENVELOPE_KEYS = ["ok", "msg", "errno", "url", "data", "cards", "cardlistInfo", "since_id", "page"]
CARD_KEYS = ["card_type", "card_group", "mblog", "user", "id", "mid", "text", "created_at", "pics"]
USER_KEYS = ["userInfo", "screen_name", "followers_count", "retweeted_status"]
WORDS = st.sampled_from([*ENVELOPE_KEYS, *CARD_KEYS, *USER_KEYS])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.sampled_from([-100, 0, 1, 9, 10, 58, "", "1", "x", "\ud800", "a\0b", "100万+", "06-14"])
    | st.floats()
    | st.text(st.characters(), max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=12,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every node below `node`."""
    below = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in below:
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from places(child, (*path, key))


TREES = {name: tree(name) for name in NAMES}
PLACES = {name: list(places(TREES[name])) for name in NAMES}


@given(st.binary(max_size=200), st.sampled_from(ALL_REQUESTS), st.integers(0, 600))
def test_any_bytes(body: bytes, request_: Request, status: int) -> None:
    """Any bytes under any status give a Reading, which keeps its law."""
    check_law(SITE.read(request_, page(body, status)))
    check_law(SITE.read(request_, page(body)))


@given(VALUES, st.sampled_from(ALL_REQUESTS))
def test_any_json(value: Any, request_: Request) -> None:
    """Any JSON, NaN and lone surrogates included, gives a Reading."""
    check_law(judge(json.dumps(value), request_))
    check_law(judge(json.dumps({"ok": 1, "data": value}), request_))
    check_law(judge(json.dumps({"ok": 1, "data": {"cards": [value], "data": [value]}}), request_))


def parent_of(node: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        node = node[key]
    return node


@examples(200)
@given(st.sampled_from(NAMES), st.sampled_from(["remove", "retype", "repeat"]), st.data())
def test_pages_with_a_node_changed(name: str, action: str, data: st.DataObject) -> None:
    """A page with any node removed, retyped or repeated gives a Reading, which keeps its law."""
    path = data.draw(st.sampled_from(PLACES[name]))
    changed = copy.deepcopy(TREES[name])
    parent, key = parent_of(changed, path), path[-1]
    if action == "remove":
        del parent[key]
    elif action == "retype":
        parent[key] = data.draw(VALUES)
    elif isinstance(parent, list):
        parent.append(copy.deepcopy(parent[key]))
    else:
        parent[key] = [parent[key]] * 2
    check_law(judge(json.dumps(changed), REQUESTS[name]))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_that_misses_a_key(name: str) -> None:
    """Whichever key a page misses, it is read all the same or it is DRIFTED, with a path: never
    a refusal, and never the end of a list. Without its long text a post shows the cut one."""
    for path in PLACES[name]:
        if isinstance(path[-1], int):
            continue
        changed = copy.deepcopy(TREES[name])
        del parent_of(changed, path)[path[-1]]
        reading = judge(json.dumps(changed), REQUESTS[name])
        if path[-1] in ("longText", "longTextContent") and reading.verdict is Verdict.RESTRICTED:
            continue
        assert reading.verdict in (Verdict.OK, Verdict.DRIFTED), path
        assert reading.verdict is Verdict.OK or reading.why.startswith("$"), path


@examples(60)
@given(st.sampled_from(NAMES), st.data())
def test_pages_with_bytes_changed(name: str, data: st.DataObject) -> None:
    """A page with any stretch of bytes overwritten gives a Reading."""
    body = bytearray(fixture(name))
    start = data.draw(st.integers(0, len(body) - 1))
    body[start : start + 4] = data.draw(st.binary(max_size=4))
    check_law(judge(bytes(body), REQUESTS[name]))


@examples(60)
@given(st.sampled_from([*NAMES, "detail.html"]), st.data())
def test_pages_that_break_off(name: str, data: st.DataObject) -> None:
    """A page cut anywhere is TRUNCATED or, as HTML before its data, NOT_JSON: never a fact."""
    body = fixture(name).rstrip()
    cut = body[: data.draw(st.integers(1, len(body) - 1))]
    verdict = judge(cut, REQUESTS.get(name, DETAIL)).verdict
    if name != "detail.html":
        assert verdict is Verdict.TRUNCATED
    else:
        assert verdict in (Verdict.TRUNCATED, Verdict.NOT_JSON, Verdict.OK)


@pytest.mark.parametrize("request_", ALL_REQUESTS)
@pytest.mark.parametrize(
    "body",
    [
        '{"a":' * 100_000,
        "[" * 100_000,
        '{"ok":1,"data":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"ok":1,"data":{"cards":[' + '{"card_group":[' * 20_000 + "]}" * 20_000 + "]}}",
        '{"ok":1,"data":{"cards":[' + '{"card_group":[' * 600 + "]}" * 600 + "]}}",
    ],
)
def test_deep_nesting(body: str, request_: Request) -> None:
    """However deep a body is nested, it gives a Reading and is no fact: where an interpreter can
    follow it to its end, it is a list page without a list, which is asked again."""
    reading = judge(body, request_)
    check_law(reading)
    assert reading.verdict in (Verdict.DRIFTED, Verdict.NOT_JSON) or reading.ambiguous


@pytest.mark.parametrize("number", ["1" * 30, "1" * 6000, "1e999", "-1e999", "NaN", "Infinity"])
@pytest.mark.parametrize("key", ["ok", "errno", "id", "reposts_count", "isTop", "since_id"])
def test_odd_numbers(number: str, key: str) -> None:
    """Huge and odd numbers anywhere give a Reading."""
    body = fixture("posts_since_id.json").decode()
    body = body.replace(f'"{key}": ', f'"{key}": {number}, "was": ', 1)
    check_law(judge(body))
    check_law(judge(body.replace("置顶", "\\ud83d", 1)))


def test_half_an_emoji_does_not_cost_the_page() -> None:
    """Lone surrogates, NULs, raw control characters, a byte order mark and bytes that are no UTF-8
    are replaced in the text they stand in; the rest of the page is read as it is."""
    body = fixture("posts_page_mode.json").decode()
    for odd in ("\\ud83d", "\\udc00", "\\u0000"):
        posts = record(judge(body.replace("晚安", f"晚{odd}安"))).posts
        assert posts[4].text == "@灯塔 晚\ufffd安"
        assert len(posts) == 6
    assert record(judge(body.replace("晚安", "晚\t安"))).posts[4].text == "@灯塔 晚\t安"
    assert record(judge("\ufeff" + body)) == record(judge(body))
    broken = body.encode().replace("晚".encode(), b"\xff")
    assert record(judge(broken)).posts[4].text == "@灯塔 \ufffd安"


def test_the_last_of_two_equal_keys_counts() -> None:
    """As in a browser, a key given twice has its last value."""
    body = fixture("extend.json").decode()
    twice = body.replace('"longTextContent"', '"longTextContent": 7, "longTextContent"', 1)
    assert judge(twice, REQUESTS["extend.json"]) == judge(body, REQUESTS["extend.json"])
    twice = body.replace('"ok": 1', '"ok": 0, "ok": 1', 1)
    assert judge(twice, REQUESTS["extend.json"]).verdict is Verdict.OK
