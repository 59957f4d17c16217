"""Refusals and what is no page at all (WEIBO_API, "Refusals")."""

import pytest

from tests.sites.weibo.helpers import OWNER, SITE, fixture, judge, page
from weibo_crawler.records import Edge, Verdict

V = Verdict
LATER = SITE.posts(OWNER, "page=2")
NOTHING = '{"ok":0,"msg":"\\u8fd9\\u91cc\\u8fd8\\u6ca1\\u6709\\u5185\\u5bb9","data":{"cards":[]}}'
TOO_OFTEN = '{"ok":0,"errno":"100005","msg":"请求过于频繁,歇歇吧"}'
WALL = '{"ok":-100,"url":"https://passport.weibo.com/sso/signin?entry=wapsso&r=/captcha/show"}'
CAPTCHA = '{"ok":-100,"errno":"-100","msg":"","url":"https://m.weibo.cn/captcha/show?backUrl="}'


@pytest.mark.parametrize(
    ("status", "verdict", "why"),
    [
        (432, V.REFUSED, "432"),
        (418, V.THROTTLED, "418"),
        (414, V.THROTTLED, "414"),
        (429, V.THROTTLED, "429"),
        (403, V.REFUSED, "403"),
        (401, V.REFUSED, "401"),
        (404, V.REFUSED, "404"),
        (408, V.SERVER_TROUBLE, "408"),
        (500, V.SERVER_TROUBLE, "500"),
        (502, V.SERVER_TROUBLE, "502"),
        (504, V.SERVER_TROUBLE, "504"),
        (0, V.SERVER_TROUBLE, "0"),
        (999, V.SERVER_TROUBLE, "999"),
        (304, V.NOT_JSON, "304 to "),
    ],
)
@pytest.mark.parametrize("body", ["", "<html>", '{"ok":1,"data":{"cards":[]}}', NOTHING])
def test_statuses(status: int, verdict: Verdict, why: str, body: str) -> None:
    """A status that refuses is believed, and no body under it is taken for a fact."""
    reading = judge(body, status=status)
    assert (reading.verdict, reading.why) == (verdict, why)


@pytest.mark.parametrize(
    ("location", "verdict"),
    [
        ("https://visitor.passport.weibo.cn/visitor/visitor?entry=sinawap&url=x", V.LOGIN_WALL),
        ("/visitor/visitor?entry=sinawap", V.LOGIN_WALL),
        ("https://passport.weibo.cn/signin/welcome?entry=mweibo", V.LOGIN_WALL),
        ("https://m.weibo.cn/captcha/show?backUrl=x", V.CAPTCHA),
        ("https://m.weibo.cn/u/1?r=https://passport.weibo.cn/", V.NOT_JSON),
        ("http://portal.example/welcome", V.NOT_JSON),
        ("http://portal.example/login", V.NOT_JSON),
        ("http://weibo.cn.portal.example/captcha", V.NOT_JSON),
        ("http://[portal/login", V.NOT_JSON),
    ],
)
def test_redirects(location: str, verdict: Verdict) -> None:
    """A redirect to the visitor or login page is the wall; what its query quotes is not, nor
    is the login page of a proxy's captive portal."""
    reading = SITE.read(SITE.posts(OWNER, ""), page("", 302, location=location))
    assert reading.verdict is verdict


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    ("body", "verdict"),
    [(TOO_OFTEN, V.THROTTLED), (WALL, V.LOGIN_WALL), (CAPTCHA, V.CAPTCHA)],
)
def test_refusals_under_200_and_403(body: str, verdict: Verdict, status: int) -> None:
    """The site's own words say the reason, under 200 as under 403."""
    assert judge(body, status=status).verdict is verdict


@pytest.mark.parametrize(
    ("body", "verdict", "why"),
    [
        ('{"ok":-100}', V.LOGIN_WALL, "ok -100"),
        ('{"ok":"-100","url":7}', V.LOGIN_WALL, "ok -100"),
        ('{"ok":0,"url":"https://passport.weibo.com/x","msg":"?"}', V.LOGIN_WALL, "ok 0"),
        ('{"ok":0,"errno":100005}', V.THROTTLED, "100005"),
        ('{"errno":"100005","msg":"x"}', V.THROTTLED, "100005 x"),
        ('{"ok":0,"msg":"请求过于频繁"}', V.THROTTLED, "请求过于频繁"),
        (
            '{"ok":0,"errno":"100001","msg":"服务器走丢了"}',
            V.SERVER_TROUBLE,
            "100001 服务器走丢了",
        ),
        ('{"ok":0,"errno":"20003","msg":"x"}', V.GONE, "20003 x"),
        ('{"ok":0,"errno":20101}', V.GONE, "20101"),
        ('{"ok":0,"msg":"该用户不存在"}', V.GONE, "该用户不存在"),
        ('{"ok":0,"msg":"此微博已被删除"}', V.GONE, "此微博已被删除"),
        ('{"ok":0,"msg":"something new","data":{"cards":[]}}', V.SERVER_TROUBLE, "something new"),
        ('{"ok":0,"errno":"31415"}', V.SERVER_TROUBLE, "31415"),
        ('{"ok":0,"data":{"cards":[{}]}}', V.SERVER_TROUBLE, "ok 0"),
        ('{"ok":0,"data":{"longTextContent":"x"}}', V.SERVER_TROUBLE, "ok 0"),
        ('{"ok":2}', V.DRIFTED, "$.ok"),
        ("{}", V.DRIFTED, "$.ok"),
        ('{"ok":null}', V.DRIFTED, "$.ok"),
        ('{"error":"Forbidden"}', V.DRIFTED, "$.ok"),
        ("[]", V.DRIFTED, "$"),
        ("7", V.DRIFTED, "$"),
        ("null", V.DRIFTED, "$"),
        ('"text"', V.DRIFTED, "$"),
    ],
)
def test_what_an_answer_says_of_itself(body: str, verdict: Verdict, why: str) -> None:
    """Known words are believed; unknown ones are trouble and never an empty page (law 4)."""
    reading = judge(body, LATER)
    assert reading.verdict is verdict
    assert reading.why == why
    assert not reading.ambiguous


@pytest.mark.parametrize(
    "body",
    [
        NOTHING,
        '{"ok":0,"msg":"这里还没有内容"}',
        '{"ok":0,"msg":"这里还没有内容","data":[]}',
        '{"ok":0,"data":{"cards":[]}}',
        '{"ok":0,"errno":"0","msg":""}',
        '{"ok":0,"data":{"cardlistInfo":{"total":0},"cards":null}}',
        '{"ok":0}',
        '{"ok":1,"data":{"cards":[]}}',
        '{"ok":"1","data":{"cards":null}}',
        fixture("error_no_data.html").decode(),
    ],
)
@pytest.mark.parametrize(
    "request_",
    [SITE.posts(OWNER, ""), SITE.edge(Edge.FANS, OWNER, ""), SITE.edge(Edge.FOLLOWS, OWNER, "1")],
)
def test_no_content(body: str, request_: object) -> None:
    """The no-content answers are ambiguous: EMPTY on the first page, END on a later one."""
    first = judge(body, request_)  # type: ignore[arg-type]
    assert (first.verdict, first.ambiguous, first.record) == (V.EMPTY, True, None)
    later = judge(body, LATER)
    assert (later.verdict, later.ambiguous, later.record) == (V.END, True, None)


@pytest.mark.parametrize(
    ("body", "verdict", "why"),
    [
        (fixture("visitor_system.html"), V.LOGIN_WALL, "Sina Visitor System"),
        (fixture("error_no_user.html"), V.GONE, "用户不存在"),
        (fixture("error_busy.html"), V.SERVER_TROUBLE, "抱歉，网络繁忙"),
        ("<title>微博-出错了</title>".encode(), V.SERVER_TROUBLE, "微博-出错了"),
        ('<p class="h5-4con">新的话</p>'.encode(), V.SERVER_TROUBLE, "新的话"),
        ("<title>代理</title>用户不存在".encode(), V.NOT_JSON, "代理"),
        (b"<html><title>502 Bad\nGateway</title>", V.NOT_JSON, "502 Bad Gateway"),
        (b"plain words", V.NOT_JSON, ""),
        (b"\x1f\x8b\x08\x00garbage", V.NOT_JSON, ""),
        (b"", V.SERVER_TROUBLE, "empty body"),
        (b" \r\n", V.SERVER_TROUBLE, "empty body"),
    ],
)
def test_what_is_not_json(body: bytes, verdict: Verdict, why: str) -> None:
    """The site's own HTML pages are classified; the words of others are not believed."""
    reading = judge(body, LATER)
    assert (reading.verdict, reading.why) == (verdict, why)


def test_every_cut_of_a_small_body() -> None:
    """Every proper beginning of a JSON object is TRUNCATED."""
    body = '{"ok":-1.5e-3,"a":[true,false,null,{"b":"\\ud83d\\ude00\\\\文"}],"c":2E+1}'.encode()
    assert {judge(body[:end]).verdict for end in range(1, len(body))} == {V.TRUNCATED}


@pytest.mark.parametrize("body", ['{"ok":1,}', "{ok:1}", '{"ok":1} {}', '{"ok":1}<html>', "{]"])
def test_broken_json_is_not_truncated(body: str) -> None:
    """What is broken in its middle is NOT_JSON: asking for the rest would not help."""
    assert judge(body).verdict is V.NOT_JSON
