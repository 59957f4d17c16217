"""Refusals and what is no page at all (weibo_api.md, "Refusals")."""

import json

import pytest
from msgspec.structs import replace

from tests.sites.weibo.helpers import OWNER, SITE, fixture, judge, page
from weibo_crawler.records import ECHO_LISTS, Edge, Request, Verdict

V = Verdict
NOT_UTF_8 = "another encoding: {} of {} characters are no UTF-8"
LATER = SITE.posts(OWNER, "page=2")
NOTHING = '{"ok":0,"msg":"\\u8fd9\\u91cc\\u8fd8\\u6ca1\\u6709\\u5185\\u5bb9","data":{"cards":[]}}'
TOO_OFTEN = '{"ok":0,"errno":"100005","msg":"请求过于频繁,歇歇吧"}'
LED = "a page that leads to the login"
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


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("body", ["", "<html>", NOTHING])
def test_trouble_that_says_when_to_come_back_is_a_refusal(status: int, body: str) -> None:
    """Law 10: who says so is not asked again before that, and no page fails by it."""
    answer = replace(page(body.encode(), status), headers=(("retry-after", "30"),))
    reading = SITE.read(LATER, answer)
    assert (reading.verdict, reading.why, reading.is_ban) == (V.THROTTLED, str(status), False)


def test_a_lost_address_of_texts_refuses_nobody() -> None:
    """Law 5: a 404 there is the site's own trouble, no egress is to blame."""
    for request in OF_A_POST:
        assert judge("<html>", request, status=404).verdict is V.SERVER_TROUBLE
        assert judge("<html>", request, status=403).verdict is V.REFUSED


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
        ("https://login.sina.com.cn/sso/login.php?url=x", V.LOGIN_WALL),
        ("https://passport.weibo.com/sso/signin?entry=wapsso", V.LOGIN_WALL),
        ("/sso/signin?entry=wapsso", V.LOGIN_WALL),
        ("https://m.weibo.cn/captcha?scene=limit&referer=/", V.CAPTCHA),
        ("https://m.weibo.cn/api/geetest?testType=1&backUrl=/", V.CAPTCHA),
        ("/api/geetest?testType=1", V.CAPTCHA),
        ("https://m.weibo.cn//Captcha/show", V.CAPTCHA),
        ("https://m.weibo.cn/u/1?captcha", V.NOT_JSON),
        ("https://m.weibo.cn/n/captcha", V.NOT_JSON),
        ("https://captcha.weibo.com/show", V.CAPTCHA),
        ("https://m.weibo.cn/h5/captcha-v2", V.CAPTCHA),
        ("https://m.weibo.cn./captcha.html", V.CAPTCHA),
        ("https://m.weibo.cn/%63aptcha/show", V.CAPTCHA),
        ("https://captcha.weibo.com.portal.example/show", V.NOT_JSON),
        ("https://notgeetest.com/load", V.NOT_JSON),
        ("/p/captcha-x", V.NOT_JSON),
        ("/login/hotspot", V.NOT_JSON),
        ("https://m.weibo.cn/login/hotspot?r=/visitor/visitor", V.NOT_JSON),
        ("/login", V.NOT_JSON),
        ("/hotspot/visitor/visitor", V.NOT_JSON),
        ("http://portal.example/visitor/visitor", V.NOT_JSON),
        ("http://passport.weibo.cn.portal.example/sso/signin", V.NOT_JSON),
    ],
)
def test_redirects(location: str, verdict: Verdict) -> None:
    """A redirect to the visitor or login page is the wall; what its query quotes is not, nor
    is the login page of a captive portal, even on the site's own host name."""
    reading = SITE.read(SITE.posts(OWNER, ""), page("", 302, location=location))
    assert reading.verdict is verdict
    assert reading.why.startswith("302 to ")
    assert reading.is_of_session == (verdict is V.LOGIN_WALL)
    assert reading.is_ban == (verdict is not V.NOT_JSON)


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
        ('{"ok":0,"errno":"20003"}', V.GONE, "20003"),
        (
            '{"ok":0,"errno":"20003","msg":"User does not exists"}',
            V.GONE,
            "20003 User does not exists",
        ),
        ('{"ok":0,"msg":"该用户不存在"}', V.GONE, "该用户不存在"),
        ('{"ok":0,"msg":"请求频率过高"}', V.THROTTLED, "请求频率过高"),
        (
            '{"ok":0,"msg":"访问频次过高，请稍后再试","error_type":"toast"}',
            V.THROTTLED,
            "访问频次过高，请稍后再试",
        ),
        ('{"ok":0,"errno":"100006","msg":"请求非法"}', V.REFUSED, "100006 请求非法"),
        ('{"ok":0,"msg":"需要验证码"}', V.CAPTCHA, "需要验证码"),
        ('{"ok":0,"msg":"请完成安全验证"}', V.CAPTCHA, "请完成安全验证"),
        ('{"ok":-100,"msg":"人机验证"}', V.CAPTCHA, "ok -100"),
        ('{"ok":0,"msg":"请先完成验证"}', V.CAPTCHA, "请先完成验证"),
        ('{"ok":-100,"msg":"需要验证码"}', V.CAPTCHA, "ok -100"),
        ('{"ok":-100,"data":{"url":"https://api.geetest.com/x"}}', V.CAPTCHA, "ok -100"),
        ('{"ok":0,"data":{"jump":"https://m.weibo.cn/captcha/1"},"msg":"?"}', V.CAPTCHA, "ok 0"),
        (
            '{"ok":-100,"url":"https://passport.weibo.com/x","msg":"请输入验证码"}',
            V.CAPTCHA,
            "ok -100",
        ),
        ('{"ok":1,"msg":"请求过于频繁"}', V.THROTTLED, "请求过于频繁"),
        ('{"ok":1,"msg":"频繁","data":{"cards":[]}}', V.THROTTLED, "频繁"),
        ('{"ok":1,"errno":"100005","data":{"cards":[]}}', V.THROTTLED, "100005"),
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
    ("body", "words"),
    [
        ('{"ok":0}', "no word"),
        ('{"ok":0,"msg":""}', "msg"),
        ('{"ok":0,"data":{"cards":[]}}', "data"),
        ('{"ok":0,"errno":"0","msg":""}', "0"),
        ('{"ok":0,"data":{"cardlistInfo":{"total":0},"cards":null}}', "data"),
        ('{"ok":0,"data":{"cards":[{}]}}', "data"),
        ('{"ok":0,"data":{"longTextContent":"x"}}', "data"),
        ('{"ok":0,"msg":"something new","data":{"cards":[]}}', "something new"),
        ('{"ok":0,"errno":"31415"}', "31415"),
        ('{"ok":0,"errno":"31415","msg":"用户不存在"}', "31415 用户不存在"),
        ('{"ok":0,"errno":[],"msg":"用户不存在"}', "用户不存在"),
        ('{"ok":0,"msg":"不知道用户不存在与否"}', "不知道用户不存在与否"),
        ('{"ok":0,"msg":"用户不存在","data":{"cards":[{"card_type":9}]}}', "用户不存在"),
        ('{"ok":0,"msg":"用户不存在","error_code":7}', "7 用户不存在"),
        ('{"ok":0,"message":"这里还没有内容"}', "这里还没有内容"),
        ('{"ok":0,"msg":"这里还没有内容","error_code":7}', "7 这里还没有内容"),
        ('{"ok":0,"msg":"这里还没有内容","errno":"100017"}', "100017 这里还没有内容"),
        ('{"ok":0,"msg":"这里还没有内容了吗"}', "这里还没有内容了吗"),
        ('{"ok":0,"msg":"这里还没有内容","data":{"cards":[{}]}}', "这里还没有内容"),
        ('{"ok":0,"msg":"这里还没有内容","data":{"cards":[],"cardlistInfo":{"page":3}}}', "这里"),
        ('{"ok":0,"msg":"还没有人转发过"}', "还没有人转发过"),
        ('{"ok":"0","msg":"这里还没有内容"}', "这里还没有内容"),
        ('{"ok":false,"msg":"这里还没有内容"}', "这里还没有内容"),
        ('{"ok":0,"message":"未登录","error_code":20170}', "20170 未登录"),
        ('{"ok":0,"errno":"20101"}', "20101"),
        ('{"ok":0,"msg":"此微博已被删除"}', "此微博已被删除"),
        ('{"ok":0,"msg":"微博不存在"}', "微博不存在"),
        ('{"ok":0,"errno":"20112","msg":"暂无查看权限"}', "20112 暂无查看权限"),
        ('{"ok":1,"msg":"something new","data":{"cards":[]}}', "something new"),
        ('{"ok":1,"msg":"用户不存在"}', "用户不存在"),
        ('{"ok":1,"errno":"7","data":{"cards":[]}}', "7"),
        ('{"ok":1,"message":"x","data":{"cards":[]}}', "x"),
        ('{"ok":1,"data":{"msg":"请求过于频繁","cards":[]}}', "请求过于频繁"),
        ('{"ok":1,"data":{"errno":"7","cards":[]}}', "7"),
        ('{"ok":1,"data":{"errmsg":"请稍后","cards":[]}}', "请稍后"),
        ('{"ok":1,"data":{"error":7,"cards":[]}}', "7"),
        ('{"ok":true,"data":{"cards":[]}}', "data"),
        ('{"ok":"1","data":{"cards":[]}}', "1"),
    ],
)
def test_a_refusal_that_nobody_knows(body: str, words: str) -> None:
    """Unknown words, keys and numbers, words about a post where a user was asked for, or no word at
    all: trouble with its own words, never a fact."""
    for request in (SITE.posts(OWNER, ""), LATER, SITE.edge(Edge.FANS, OWNER, "2")):
        reading = judge(body, request)
        assert (reading.verdict, reading.ambiguous) == (V.SERVER_TROUBLE, False)
        assert reading.why.startswith("unknown refusal: ")
        assert reading.why.removeprefix("unknown refusal: ").startswith(words) or words == "1"


OF_A_POST = [*SITE.full_text(OWNER, 9), *(SITE.echoes(one.kind, 9) for one in ECHO_LISTS)]
HIDDEN = "由于博主设置，目前内容暂不可见。"


@pytest.mark.parametrize("request_", OF_A_POST)
@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ('{"ok":0,"errno":"20174","msg":"请前往微博客户端登录查看完整内容"}', V.RESTRICTED),
        (
            '{"ok":0,"errno":"20112","msg":"暂无查看权限","error_type":"alert",'
            '"extra":"Permission Denied!"}',
            V.RESTRICTED,
        ),
        ('{"ok":0,"message":"x","error_code":20170}', V.RESTRICTED),
        ('{"ok":0,"msg":"微博不存在或暂无查看权限!"}', V.RESTRICTED),
        ('{"ok":0,"msg":"目前内容暂不可见"}', V.RESTRICTED),
        ('{"ok":0,"msg":"查看完整内容请前往微博客户端"}', V.RESTRICTED),
        ('{"ok":0,"msg":"请在客户端打开"}', V.RESTRICTED),
        ('{"ok":0,"msg":"客户端版本过低，请升级"}', V.SERVER_TROUBLE),
        ('{"ok":1,"msg":"暂无查看权限"}', V.RESTRICTED),
        ('{"ok":0,"msg":"客户端版本过低"}', V.SERVER_TROUBLE),
        ('{"ok":0,"msg":"客户端网络异常，请稍后再试"}', V.SERVER_TROUBLE),
        ('{"ok":0,"errno":"20101","msg":"x"}', V.GONE),
        ('{"ok":0,"msg":"此微博已被删除"}', V.GONE),
        ('{"ok":0,"msg":"抱歉，此微博已被作者删除。"}', V.GONE),
        ('{"ok":0,"message":"x","error_code":20101}', V.SERVER_TROUBLE),
        ('{"ok":0,"errno":"100005","msg":"暂无查看权限"}', V.THROTTLED),
        ('{"ok":0,"errno":"7","msg":"暂无查看权限"}', V.SERVER_TROUBLE),
        (f'<title>微博-出错了</title><p class="h5-4con">{HIDDEN}</p>', V.RESTRICTED),
    ],
)
def test_what_is_said_of_a_post(body: str, verdict: Verdict, request_: Request) -> None:
    """Restricted and gone posts are facts about that post, and only where it was asked for."""
    assert judge(body, request_).verdict is verdict
    of_user = judge(body, SITE.posts(OWNER, "")).verdict
    assert of_user in (V.SERVER_TROUBLE, V.THROTTLED)


def test_why_a_post_is_restricted() -> None:
    """In the words of the site, in either envelope."""
    for body in (
        '{"ok":0,"message":"未登录","error_code":20170}',
        '{"ok":0,"errno":20170,"msg":"未登录"}',
    ):
        assert judge(body, OF_A_POST[0]).why == "20170 未登录"


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        *((status, V.RESTRICTED) for status in (400, 403, 404, 410, 431, 451)),
        *((status, V.REFUSED) for status in (401, 432)),
        (418, V.THROTTLED),
    ],
)
def test_a_restricted_post_under_a_status_that_says_so(status: int, verdict: Verdict) -> None:
    """The site's own words are about the post, not about who asks, whatever the status says, but
    for one of who asks (401, 432) or of haste."""
    assert judge('{"ok":0,"errno":"20112"}', OF_A_POST[0], status=status).verdict is verdict
    assert judge("<p>forbidden</p>", OF_A_POST[0], status=403).verdict is V.REFUSED


def test_the_page_of_a_restricted_post() -> None:
    """The HTML of a post says it in words; a proxy's page, or that of a user, does not."""
    for words in (HIDDEN, "微博不存在或暂无查看权限!", "你暂时没有这条微博的查看权限哦"):
        html = f"<html><title>微博</title><body>{words}</body></html>"
        for request in OF_A_POST:
            assert judge(html, request).verdict is V.RESTRICTED
        assert judge(html, SITE.posts(OWNER, "")).verdict is V.NOT_JSON


@pytest.mark.parametrize(
    "body",
    [
        '{"ok":0,"errno":"20003","msg":"系统繁忙,请稍候"}',
        '{"ok":0,"errno":"20003","msg":"该微博不存在"}',
        '{"ok":0,"errno":"20003","msg":"用户请求受限"}',
        '{"ok":0,"errno":"20003","msg":"用户不存在,请稍后再试"}',
        '{"ok":0,"errno":"20003","msg":"用户不存在","data":{"userInfo":{"id":9}}}',
        '{"ok":0,"msg":"这里还没有内容","data":{"userInfo":{"id":9}}}',
        '{"ok":0,"errno":"20003","msg":"这里还没有内容"}',
        '{"ok":0,"errno":"20101","msg":"这里还没有内容","data":{"cards":[]}}',
    ],
)
def test_what_contradicts_itself_is_no_fact(body: str) -> None:
    """A number beside words about something else, or nothing beside a user, is a refusal that
    nobody knows."""
    assert judge(body).verdict is V.SERVER_TROUBLE


@pytest.mark.parametrize("status", [401, 403, 404, 410, 451])
@pytest.mark.parametrize(
    "body", ['{"ok":0,"errno":"20003","msg":"用户不存在"}', fixture("error_no_user.html").decode()]
)
def test_who_is_gone_under_which_status(body: str, status: int) -> None:
    """Under a status that refuses nobody is gone, but under a 404."""
    expected = V.GONE if status == 404 else V.REFUSED
    assert judge(body, status=status).verdict is expected


@pytest.mark.parametrize(
    "url",
    [
        "https://m.weibo.cn/captcha/show?backUrl=",
        "https://m.weibo.cn/captcha?scene=limit&referer=/",
        "https://m.weibo.cn/api/geetest?testType=1&backUrl=/",
        "/api/geetest?testType=1&backUrl=/",
        "/captcha/show?backUrl=",
        "https://m.weibo.cn/geetest?backUrl=",
        "https://m.weibo.cn//captcha",
        "https://weibo.com/Captcha/show",
        "https://security.weibo.com/verify/captcha?token=x",
        "https://captcha.weibo.com/show",
        "https://gcaptcha4.geetest.com/load?captcha_id=x",
    ],
)
@pytest.mark.parametrize("status", [200, 403, 414, 418, 429, 432])
def test_captchas(url: str, status: int) -> None:
    """All spellings are a captcha, which rests the egress."""
    for said in ({"ok": -100, "errno": "-100", "msg": "", "extra": ""}, {"ok": 0}, {"ok": 1}):
        reading = judge(json.dumps(said | {"url": url}), status=status)
        assert (reading.verdict, reading.is_ban) == (V.CAPTCHA, True)


@pytest.mark.parametrize(
    ("status", "is_of_session", "is_ban"),
    [
        (432, True, True),
        (400, True, True),
        (431, True, True),
        (418, False, False),
        (414, False, False),
        (429, False, False),
        (403, False, True),
        (401, False, True),
        (500, False, False),
    ],
)
def test_what_a_status_says_of_session_and_egress(
    status: int, is_of_session: bool, is_ban: bool
) -> None:
    """So that nobody else needs to know the numbers."""
    reading = judge("", status=status)
    assert (reading.is_of_session, reading.is_ban) == (is_of_session, is_ban)


def test_another_encoding_is_no_page() -> None:
    """Where more than a hundredth of the characters had to be replaced, or most of what is no
    ASCII: of a page nine parts of ten are keys and addresses. Some damage alone is none."""
    reading = judge(fixture("posts_page_mode.json").decode().encode("utf-8"))
    assert reading.verdict is V.OK
    text = "今天的信到了" * 50
    body = json.dumps({"ok": 1, "data": {"longTextContent": text}}, ensure_ascii=False)
    request = SITE.full_text(OWNER, 9)[0]
    assert judge(body, request).verdict is V.OK
    reading = judge(body.encode("gbk"), request)
    assert reading.verdict is V.NOT_JSON
    assert reading.why.startswith("another encoding: ")
    html = f"<title>微博-出错了</title><p class=h5-4con>用户不存在</p>{text}"
    assert judge(html.encode("gbk")).verdict is V.NOT_JSON
    long = {"ok": 1, "data": {"longTextContent": "今天的信" + "https://m.weibo.cn/" * 500}}
    body = json.dumps(long, ensure_ascii=False)
    assert judge(body, request).verdict is V.OK
    assert judge(body.encode("gbk"), request).verdict is V.NOT_JSON
    damaged = body.encode().replace("信".encode(), b"\xff\xff\xff")
    assert judge(damaged, request).verdict is V.OK


@pytest.mark.parametrize(("damaged", "verdict"), [(0, V.OK), (19, V.OK), (21, V.NOT_JSON)])
def test_how_many_characters_may_be_replaced(damaged: int, verdict: Verdict) -> None:
    """A hundredth of all, where they are not most of the words."""
    start, end = b'{"ok":1,"data":{"longTextContent":"', b'"}}'
    words = "信".encode() * (2000 - len(start + end) - damaged)
    body = start + words + b"\xff" * damaged + end
    assert judge(body, SITE.full_text(OWNER, 9)[0]).verdict is verdict


@pytest.mark.parametrize(
    "body",
    [
        NOTHING,
        '{"ok":0,"msg":"这里还没有内容"}',
        '{"ok":0,"msg":"这里还没有内容","data":[]}',
        '{"ok":0,"msg":"这里还没有内容","data":{"cards":[],"cardlistInfo":{"page":null}}}',
        '{"ok":1,"data":{"cards":[]}}',
        '{"ok":1,"data":{"cards":null}}',
        '{"ok":1,"msg":"","data":{"cards":[],"cardlistInfo":{"since_id":""}}}',
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
        (
            "<title>微博</title><script>if (window.wbBotDetector) wbBotDetector.load()</script>",
            V.LOGIN_WALL,
            "a page for guests without a session",
        ),
        (
            '<script>var request_id = "0a"; var cb = "visitor_gray_callback";</script>',
            V.LOGIN_WALL,
            "a page for guests without a session",
        ),
        (
            '<script src="https://passport.example/visitor/mini_original.js"></script>',
            V.LOGIN_WALL,
            "a page for guests without a session",
        ),
        (fixture("error_no_user.html"), V.GONE, "用户不存在"),
        (fixture("error_busy.html"), V.SERVER_TROUBLE, "抱歉，网络繁忙"),
        (
            "<title>微博-出错了</title>".encode(),
            V.SERVER_TROUBLE,
            "unknown refusal: 微博-出错了",
        ),
        (
            '<p class="h5-4con">新的话</p>'.encode(),
            V.SERVER_TROUBLE,
            "unknown refusal: 新的话",
        ),
        (
            '<p class="h5-4con">用户不存在</p>'.encode(),
            V.SERVER_TROUBLE,
            "unknown refusal: 用户不存在",
        ),
        ("<title>代理</title>用户不存在".encode(), V.NOT_JSON, "代理"),
        (b"<html><title>502 Bad\nGateway</title>", V.NOT_JSON, "502 Bad Gateway"),
        (b"plain words", V.NOT_JSON, ""),
        (b"\x1f\x8b\x08\x00garbage", V.NOT_JSON, NOT_UTF_8.format(1, 11)),
        (
            b'<html><script src="https://static.geetest.com/v4/gt4.js"></script>',
            V.CAPTCHA,
            "a page that loads a captcha",
        ),
        (b"<form action=/c/captcha/check method=post>", V.CAPTCHA, "a page that loads a captcha"),
        (b'<a href="https://www.geetest.com/">', V.NOT_JSON, ""),
        (b'<script src="https://cdn.example/captcha.js">', V.NOT_JSON, ""),
        (
            b'<meta http-equiv="refresh" content="0;url=https://m.weibo.cn/captcha/show">',
            V.CAPTCHA,
            "a page that loads a captcha",
        ),
        (b"<script>initGeetest({gt: 1})</script>", V.CAPTCHA, "a page that loads a captcha"),
        (
            b'<script>location.replace("https://m.weibo.cn/captcha/show")</script>',
            V.CAPTCHA,
            "a page that loads a captcha",
        ),
        *(
            (script % b"'https://passport.weibo.com/visitor/visitor?a=enter'", V.LOGIN_WALL, LED)
            for script in (
                b"<script>location.href = %s</script>",
                b"<script>window.location=%s;</script>",
                b"<script>top.location.replace( %s )</script>",
                b'<meta http-equiv=refresh content="0; URL=%s">',
            )
        ),
        (b'<script src="https://login.sina.com.cn/js/ssologin.js"></script>', V.NOT_JSON, ""),
        (b"<script>location = 'http://portal.example/sso/signin'</script>", V.NOT_JSON, ""),
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


def test_a_small_body_with_an_odd_byte_is_no_page() -> None:
    """One of fewer than a hundred characters is more than a hundredth; one that ends within a
    character is cut."""
    small = '{"ok":0,"msg":"这里还没有内容\udcff"}'.encode("utf-8", "surrogateescape")
    assert judge(small).verdict is V.NOT_JSON
    assert judge('{"ok":0,"msg":"这里还'.encode()[:-1]).verdict is V.TRUNCATED
