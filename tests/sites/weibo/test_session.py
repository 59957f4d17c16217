"""The visitor session."""

from collections.abc import Mapping
from random import Random
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from tests.sites.weibo.helpers import NOON, SITE, fixture
from weibo_crawler.records import Kind, Page, Request
from weibo_crawler.sites.weibo import Weibo

_TOKENS = b'{"retcode":20000000,"msg":"succ","data":{"sub":"s","subp":"p"}}'


def answer(body: bytes, *cookies: str, status: int = 200) -> Page:
    headers = tuple(("set-cookie", cookie) for cookie in cookies)
    return Page("https://visitor.example/", status, headers, body, NOON)


def read(page: Page, asked: Request | None = None) -> Mapping[str, str] | Request | None:
    """As the answer to the first request, or to this one."""
    asked = asked or SITE.session(NOON, Random(1))
    assert asked is not None
    return SITE.read_session(page, asked)


def test_the_request_has_the_long_form() -> None:
    """Every field of the long form; its id from the dice, its time from the clock."""
    request = SITE.session(NOON, Random(1))
    assert request is not None
    assert (request.method, request.url) == ("POST", "https://visitor.example/genvisitor2")
    form = parse_qs((request.body or b"").decode(), keep_blank_values=True)
    request_id = form.pop("request_id")[0]
    assert len(request_id) == 32
    assert int(request_id, 16) >= 0
    assert form == {
        "cb": ["visitor_gray_callback"],
        "tid": [""],
        "from": ["weibo"],
        "ver": ["20250916"],
        "webdriver": ["false"],
        "rid": [str(int(NOON * 1000))],
        "return_url": ["https://m.weibo.cn/"],
    }
    assert SITE.session(NOON, Random(1)) == request
    assert SITE.session(NOON, Random(2)) != request


def test_no_address_no_session() -> None:
    """Where no visitor address is set, the site needs no session."""
    assert Weibo("https://m.weibo.cn", "", "agent").session(NOON, Random(1)) is None


def test_a_tid_alone_is_half_a_session() -> None:
    """The request that gives the cookies for it goes to the same host; its answer is read alike."""
    said = '{"retcode":20000000,"msg":"succ","data":{"tid":"01A/+=","new_tid":%s,"confidence":95}}'
    for new_tid, w in (("false", "2"), ("true", "3")):
        second = read(answer(f"window.f && f({said % new_tid});".encode()))
        assert isinstance(second, Request)
        assert (second.kind, second.method) == (Kind.SESSION, "GET")
        assert second.url == (
            f"https://visitor.example/visitor?a=incarnate&t=01A%2F%2B%3D&w={w}&c=095"
            "&cb=cross_domain&from=weibo"
        )
    for given, c in (("0", "000"), ("100", "100"), ("101", "100"), ("-1", "100"), ('"9"', "100")):
        body = said.replace("95", given) % "true"
        second = read(answer(f"window.f && f({body});".encode()))
        assert isinstance(second, Request)
        assert f"&c={c}&" in second.url
    assert read(answer(b'f({"retcode":20000000,"data":{"tid":"a b"}})')) is None
    both = (
        b'window.cross_domain && cross_domain({"retcode":20000000,"data":{"sub":"s","subp":"p"}});'
    )
    assert read(answer(both)) == {"SUB": "s", "SUBP": "p"}


_NO = b'visitor_gray_callback({"retcode":50111001,"msg":"no","data":{"sub":"a"}});'


@pytest.mark.parametrize(
    ("entered", "filled_in"),
    [
        (b'var request_id = "0a1b";', {"request_id": "0a1b"}),
        (
            b"{'request_id': '0a1b', \"rid\":\"01Cn_5z\", ver : '20260901'}",
            {"request_id": "0a1b", "rid": "01Cn_5z", "ver": "20260901"},
        ),
        (
            b'var request_id = "0a1b"; post("/visitor/genvisitor2", "cb=visitor_gray_callback'
            b'&ver=20260901&request_id=" + request_id + "&from=weibo"); request_id = \'other\';',
            {"request_id": "0a1b", "ver": "20260901"},
        ),
    ],
)
def test_who_is_not_let_in_comes_by_the_entry_page(
    entered: bytes, filled_in: dict[str, str]
) -> None:
    """Where our own form has no success the page from which browsers come is asked for, and the
    form is sent once more with what stands there; without success that ends it."""
    entry = read(answer(_NO))
    assert isinstance(entry, Request)
    assert (entry.kind, entry.method) == (Kind.SESSION, "GET")
    asked = urlsplit(entry.url)
    assert asked._replace(query="").geturl() == "https://visitor.example/visitor"
    query = dict(parse_qsl(asked.query))
    assert query.items() >= {"entry": "sinawap", "a": "enter", "url": "https://m.weibo.cn/"}.items()
    again = read(answer(b"<html><script>" + entered + b"</script></html>"), entry)
    assert isinstance(again, Request)
    assert (again.method, again.url) == ("POST", "https://visitor.example/genvisitor2")
    assert dict(again.headers)["Referer"] == entry.url
    form = dict(parse_qsl((again.body or b"").decode(), keep_blank_values=True))
    usual = {"ver": "20250916", "rid": str(int(NOON * 1000)), "from": "weibo", "tid": ""}
    assert form.items() >= (usual | filled_in).items()
    assert read(answer(_NO), again) is None
    assert read(answer(fixture("visitor.txt")), again) == {
        "SUB": "_2AkInventedSub",
        "SUBP": "0033InventedSubp",
    }


@pytest.mark.parametrize("body", [b"", b"<html>captcha</html>", b"var request_id = 7;", _NO])
def test_an_entry_page_without_a_request_id(body: bytes) -> None:
    """It leads nowhere, and neither does one that is refused."""
    entry = read(answer(_NO))
    assert isinstance(entry, Request)
    assert read(answer(body), entry) is None
    assert read(answer(b'var request_id = "0a1b";', status=403), entry) is None


def test_each_step_carries_the_cookies_of_those_before_it() -> None:
    """As a browser does: what an answer sets goes with the next request, and into the session; what
    a later one deletes does not."""
    entry = read(answer(_NO, "a=1; path=/", "b=1"))
    assert isinstance(entry, Request)
    assert dict(entry.headers)["Cookie"] == "a=1; b=1"
    again = read(answer(b'var request_id = "0a1b";', "a=; Max-Age=0", "c=3"), entry)
    assert isinstance(again, Request)
    assert dict(again.headers)["Cookie"] == "b=1; c=3"
    second = read(answer(b'f({"retcode":20000000,"data":{"tid":"01A"}})', "b=2"), again)
    assert isinstance(second, Request)
    assert dict(second.headers)["Cookie"] == "b=2; c=3"
    assert read(answer(_TOKENS), second) == {"b": "2", "c": "3", "SUB": "s", "SUBP": "p"}


@pytest.mark.parametrize(
    "around",
    [
        b"%s",
        b"\xef\xbb\xbf%s",
        b"try{visitor_gray_callback(%s);}catch(e){}",
        b"if(window.f){f(%s)}",
        b"(typeof f == 'function') && f( \n%s\n );",
        b"<script>document.domain='weibo.cn';parent.f(%s);done({})</script>",
        b"/* {a: 1} */ f(%s) // \xb3\xc9\xb9\xa6\xb3\xc9\xb9\xa6",
    ],
)
def test_whatever_stands_around_the_answer(around: bytes) -> None:
    """The object that says how it went is found in any frame of a script, or in none."""
    assert read(answer(around % _TOKENS)) == {"SUB": "s", "SUBP": "p"}


@pytest.mark.parametrize("data", [b"[]", b'""', b"null", b"{}", b"false"])
def test_no_tokens_need_be_no_object(data: bytes) -> None:
    """An empty one often is a list: a session is read from the headers, a refusal leads on."""
    assert read(answer(b'f({"retcode":20000000,"data":%s})' % data, "SUB=s")) == {"SUB": "s"}
    assert isinstance(read(answer(b'f({"retcode":50111001,"data":%s})' % data)), Request)


def test_cookies_that_are_none() -> None:
    """What has expired, or is meant for others, is no token, and hides none of the body."""
    gone = "SUB=old; expires=Thu, 01-Jan-1970 00:00:01 GMT"
    assert read(answer(_TOKENS, gone)) == {"SUB": "s", "SUBP": "p"}
    assert read(answer(_TOKENS, "SUB=")) == {"SUB": "s", "SUBP": "p"}
    assert read(answer(_TOKENS, "SUB=h", "SUB=x; domain=.other.example")) == {
        "SUB": "h",
        "SUBP": "p",
    }


def test_cookies_of_headers_and_body() -> None:
    """All cookies belong together; those of the headers win over the body's."""
    page = answer(
        fixture("visitor.txt"),
        "SUB=_2FromHeader; expires=Wed, 21 Nov 2029 10:00:00 GMT; domain=.weibo.cn; HttpOnly",
        "_T_WM=123; path=/",
        "OLD=deleted; Max-Age=0",
        "EVIL=a\r\nHost: b",
        "nothing",
    )
    assert read(page) == {
        "SUB": "_2FromHeader",
        "_T_WM": "123",
        "SUBP": "0033InventedSubp",
    }


def test_cookies_of_the_body_alone() -> None:
    """The tokens of the body are a session, without any cookie in the headers."""
    cookies = {"SUB": "_2AkInventedSub", "SUBP": "0033InventedSubp"}
    assert read(answer(fixture("visitor.txt"))) == cookies


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"()",
        b")(",
        b"visitor_gray_callback([])",
        b'visitor_gray_callback({"msg":"no retcode","data":{"sub":"a"}})',
        b'visitor_gray_callback({"retcode":20000000,"msg":"succ","data":null})',
        b'visitor_gray_callback({"retcode":20000000,"data":{"sub":"a b\\r\\n"}})',
        b'visitor_gray_callback({"retcode":20000000,"data":{"sub":7}})',
        b"visitor_gray_callback({" + b'"a":[' * 90000 + b"})",
        fixture("visitor.txt")[:150],
    ],
)
def test_no_session(body: bytes) -> None:
    """Without the known success and a token that fits into a header there is no session."""
    assert read(answer(body)) is None


def test_a_refused_session() -> None:
    """A session in the body of a refusal is none."""
    assert read(answer(fixture("visitor.txt"), status=403)) is None


def test_headers_of_a_session() -> None:
    """One user agent for the session, and all its cookies in one header."""
    assert SITE.session_headers({}) == (("User-Agent", "agent"),)
    assert SITE.session_headers({"SUB": "a", "SUBP": "b"}) == (
        ("User-Agent", "agent"),
        ("Cookie", "SUB=a; SUBP=b"),
    )
