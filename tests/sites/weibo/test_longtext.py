"""Whole texts, three ways, and names."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.sites.weibo.helpers import (
    BARE,
    DETAIL,
    LONG_MID,
    OWNER,
    SITE,
    fixture,
    judge,
    page,
    read,
    record,
)
from weibo_crawler.records import FullText, NamedUser, Reading, Verdict

Tree = Any
WHOLE = FullText(LONG_MID, "开头\n" + "很长的信。" * 40)


def _text(reading: Reading) -> Tree:
    """The text, without the post that some ways show."""
    return replace(record(reading), post=None)


@pytest.mark.parametrize("name", ["extend.json", "show.json"])
def test_the_whole_text(name: str) -> None:
    """extend and show give the same text, as a reader sees it; extend does not name its post."""
    assert _text(read(name)) == replace(WHOLE, is_named=name == "show.json")


def test_the_whole_text_in_html() -> None:
    """The detail page holds the post in a script."""
    assert _text(judge(fixture("detail.html"), DETAIL)) == WHOLE


@pytest.mark.parametrize(
    "reading", [read("show.json"), judge(fixture("detail.html"), DETAIL)], ids=["show", "detail"]
)
def test_the_whole_post(reading: Reading) -> None:
    """show and detail hold all of it: who, when, how often."""
    post = record(reading).post
    assert (post.mid, post.uid, post.text, post.text_complete) == (
        LONG_MID,
        OWNER,
        WHOLE.text,
        True,
    )
    assert post.created_at_precision == "second"
    assert post.likes is not None


@pytest.mark.parametrize("change", [{"user": {"id": "x"}}, {"user": []}])
def test_a_text_of_nobody(change: Tree) -> None:
    """Where the post is not legible its text still is."""
    reading = read("show.json", lambda tree: tree["data"].update(change))
    assert record(reading) == WHOLE


@pytest.mark.parametrize("end", ["...<a href='/detail/1'>全文</a>", "…<span>展开</span>"])
def test_a_text_that_says_that_it_is_cut(end: str) -> None:
    """Wherever it leads to the whole."""

    def change(tree: Tree) -> None:
        del tree["data"]["longText"]
        tree["data"]["text"] = "begin" + end

    assert read("show.json", change).verdict is Verdict.RESTRICTED


def test_show_without_long_text() -> None:
    """The text of the post itself will do where it is not cut."""

    def change(tree: Tree) -> None:
        del tree["data"]["longText"]
        tree["data"]["text"] = "whole"

    assert _text(read("show.json", change)) == FullText(LONG_MID, "whole")


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("extend.json", lambda t: t["data"].pop("longTextContent"), "$.data.longTextContent"),
        ("extend.json", lambda t: t["data"].update(longTextContent=""), "$.data.longTextContent"),
        ("extend.json", lambda t: t["data"].update(longTextContent=7), "$.data.longTextContent"),
        ("extend.json", lambda t: t.pop("data"), "$.data"),
        ("show.json", lambda t: t["data"].update(mid="7"), "$.data.id"),
        ("show.json", lambda t: t["data"].update(mid="7", id="7"), "$.data.mid"),
        ("show.json", lambda t: t.pop("data"), "$.data"),
    ],
)
def test_no_whole_text(name: str, change: Callable[[Tree], None], why: str) -> None:
    """A text that is missing or of another post is never taken for the whole."""
    reading = read(name, change)
    assert (reading.verdict, reading.why) == (Verdict.DRIFTED, why)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (
            "extend.json",
            lambda t: t["data"].update(longTextContent='a<a href="/status/1">全文</a>'),
        ),
        ("extend.json", lambda t: t["data"].update(ok=0)),
        ("show.json", lambda t: t["data"].pop("longText")),
        ("show.json", lambda t: t["data"].update(longText=[])),
    ],
)
def test_a_way_that_shows_the_cut_text(name: str, change: Callable[[Tree], None]) -> None:
    """It is a known form, which says that the whole is not to be had this way: neither the whole
    text nor an unknown shape, of which a few would end a run."""
    reading = read(name, change)
    assert (reading.verdict, reading.is_cut) == (Verdict.RESTRICTED, True)


@pytest.mark.parametrize("sign", [{"user": None, **BARE}, {"deleted": "1"}, {"state": 8}])
def test_a_deleted_post_has_no_text(sign: dict[str, object]) -> None:
    """The notice in the place of a deleted post is not its text."""
    assert read("show.json", lambda tree: tree["data"].update(sign)).verdict is Verdict.GONE


def test_a_text_whose_author_lacks_is_the_text() -> None:
    """What was asked for is there; of whom the post is this answer does not say."""
    reading = read("show.json", lambda tree: tree["data"].update(user=None))
    whole = read("show.json")
    assert isinstance(reading.record, FullText)
    assert isinstance(whole.record, FullText)
    assert reading.record == replace(whole.record, post=None)


@pytest.mark.parametrize(
    ("body", "verdict", "why"),
    [
        (fixture("detail.html")[:1500], Verdict.TRUNCATED, ""),
        (b"<script>var $render_data = [{}][0] || {};", Verdict.DRIFTED, "$[0].status"),
        (b"<script>var $render_data = [][0]", Verdict.DRIFTED, "$[0].status"),
        (b"<script>var $render_data = [7][0]", Verdict.DRIFTED, "$[0].status"),
        (b"<script>var $render_data = [}", Verdict.NOT_JSON, ""),
        (b"<script>var $render_data = " + b"[" * 99999, Verdict.DRIFTED, "$: nested too deeply"),
        (b"<script>no data", Verdict.NOT_JSON, ""),
        (fixture("error_no_user.html"), Verdict.GONE, "用户不存在"),
        (b'{"ok":-100,"url":"https://passport.weibo.com/x"}', Verdict.LOGIN_WALL, "ok -100"),
        (b'{"ok":1}', Verdict.DRIFTED, "$"),
    ],
)
def test_other_detail_pages(body: bytes, verdict: Verdict, why: str) -> None:
    """A detail page without its post is judged like any other HTML or JSON."""
    reading = judge(body, DETAIL)
    assert (reading.verdict, reading.why) == (verdict, why)


def name(location: str | None, status: int = 302, body: str = "") -> Reading:
    return SITE.read(SITE.name("青藤邮局"), page(body, status, location=location))


@pytest.mark.parametrize("location", ["/u/77", "https://m.weibo.cn/u/77", "/u/77?from=n", "/u/77/"])
def test_a_name_is_resolved_by_a_redirect(location: str) -> None:
    """The redirect to /u/<uid> names the user; it need not be followed."""
    assert record(name(location)) == NamedUser(77)


@pytest.mark.parametrize(
    ("location", "verdict"),
    [
        ("https://visitor.passport.weibo.cn/visitor/visitor?url=/u/77", Verdict.LOGIN_WALL),
        ("https://m.weibo.cn/captcha/show?backUrl=/u/77", Verdict.CAPTCHA),
        ("https://m.weibo.cn/", Verdict.NOT_JSON),
        ("/u/", Verdict.NOT_JSON),
        ("/u/99999999999999999999", Verdict.NOT_JSON),
        (None, Verdict.NOT_JSON),
    ],
)
def test_other_redirects_name_nobody(location: str | None, verdict: Verdict) -> None:
    """Any other redirect is a wall or nothing we know."""
    assert name(location).verdict is verdict


def test_an_unknown_name() -> None:
    """The site's own error page says that nobody has this name."""
    body = fixture("error_no_user.html").decode()
    assert name(None, 200, body).verdict is Verdict.GONE
    assert name(None, 404, body).verdict is Verdict.GONE
