"""The visitor session: how a guest is let in without a login.

weibo_api.md, "What decides the design", 2: one POST, answered in JSONP with cookies in headers and
body; all cookies of a session are kept together. Where it gives a tid alone, a GET follows; where
it gives nothing, the page from which browsers come is asked for what they send.
"""

import re
from collections.abc import Mapping
from itertools import islice
from random import Random
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec

from weibo_crawler.records import Kind, Page, Request
from weibo_crawler.sites.cookies import merge_cookies
from weibo_crawler.sites.weibo.loose import NotJson, first_value

_SUCCESS = "20000000"
_VERSION = "20250916"  # of the visitor script, as weibo_api.md has it
_ENTER = "entry=sinawap&a=enter"
# of the entry page: a variable of its script, or a part of the form that it puts together
_FILLED_IN = re.compile(
    rb"""\b(request_id|rid)["']?\s*[=:]\s*["']([\w-]{1,64})["']|\b(ver)["']?\s*[=:]\s*["']?(\d{8})\b"""
)
_HEADERS = (("Accept", "*/*"),)
_DOMAIN = "weibo.cn"  # of the site, for which cookies are set wherever its answers come from
_OBJECTS = re.compile(r"\{")
_MOST_OBJECTS = 50  # that are looked at; a frame of a script has a few
_COOKIE_PART = re.compile(r"[!-+\--:<-~]+")  # visible ASCII without "," and ";"


class _Tokens(msgspec.Struct):
    sub: Any = None
    subp: Any = None
    tid: Any = None
    new_tid: Any = None
    confidence: Any = None


class _Answer(msgspec.Struct):
    retcode: int | str
    data: Any = None  # where there are no tokens often no object


_DECODER = msgspec.json.Decoder(_Answer)


def session_request(visitor_url: str, return_url: str, now: float, rng: Random) -> Request:
    """The POST that opens a session, in its long form. now: seconds since the epoch."""
    own = {"request_id": f"{rng.getrandbits(128):032x}"}
    return _post(visitor_url, return_url, now, own, ())


def read_session(
    page: Page, asked: Request, visitor_url: str, return_url: str
) -> Mapping[str, str] | Request | None:
    """The cookies: all that are set, and SUB and SUBP, which the body holds too. Without a SUB: the
    request that is to follow, which carries what is set until now.

    asked: what `page` answers. A tid alone is followed by the request that gives the cookies for
    it. Where a form that we filled in by ourselves has no success, the entry page follows, and that
    by the same form with what stands in the page; never more than once.

    None for a refusal, and for any other answer.
    """
    if not 200 <= page.status < 300:
        return None
    cookies = _cookies(page, asked, return_url)
    given = _given(page, asked, visitor_url, return_url)
    if isinstance(given, _Tokens):
        for name, value in (("SUB", given.sub), ("SUBP", given.subp)):
            if not cookies.get(name) and isinstance(value, str) and _COOKIE_PART.fullmatch(value):
                cookies[name] = value
        if cookies.get("SUB"):
            return cookies
        given = _incarnate(given, visitor_url)
    if given is None or not cookies:
        return given
    return msgspec.structs.replace(given, headers=(*given.headers, ("Cookie", _joined(cookies))))


def _given(
    page: Page, asked: Request, visitor_url: str, return_url: str
) -> _Tokens | Request | None:
    """What an answer holds, or what is to be asked for in its place."""
    if asked.method == "GET" and _ENTER in asked.url:
        return _as_entered(page, asked, visitor_url, return_url)
    answer = _answer(page)
    if answer is None:
        return None
    if str(answer.retcode) == _SUCCESS:
        return msgspec.convert(answer.data if isinstance(answer.data, dict) else {}, _Tokens)
    is_first = asked.method == "POST" and "Referer" not in dict(asked.headers)
    return _entry(visitor_url, return_url, page.fetched_at) if is_first else None


def _answer(page: Page) -> _Answer | None:
    """The object that says how it went, whatever frame it stands in: window.f && f({…});"""
    text = page.body.decode("utf-8", "replace")
    for begin in islice(_OBJECTS.finditer(text), _MOST_OBJECTS):
        try:
            return _DECODER.decode(first_value(text, begin.start()))
        except (NotJson, msgspec.DecodeError, RecursionError):
            continue
    return None


def _post(
    visitor_url: str,
    return_url: str,
    now: float,
    entered: Mapping[str, str],
    headers: tuple[tuple[str, str], ...],
) -> Request:
    """entered: what is not as usual."""
    form = {
        "cb": "visitor_gray_callback",
        "ver": _VERSION,
        "request_id": "",
        "tid": "",
        "from": "weibo",
        "webdriver": "false",
        "rid": str(int(now * 1000)),
        "return_url": return_url,
        **entered,
    }
    return Request(
        Kind.SESSION,
        visitor_url,
        method="POST",
        headers=(*_HEADERS, ("Content-Type", "application/x-www-form-urlencoded"), *headers),
        body=urlencode(form).encode(),
    )


def _entry(visitor_url: str, return_url: str, now: float) -> Request:
    """The page to which guests without a session are sent."""
    query = {
        "url": return_url,
        "domain": ".weibo.cn",
        "sudaref": "",
        "ua": "php-sso_sdk_client-0.6.36",
        "_rand": f"{now:.4f}",
    }
    url = urljoin(visitor_url, f"visitor?{_ENTER}&{urlencode(query)}")
    return Request(Kind.SESSION, url, headers=_HEADERS)


def _as_entered(page: Page, asked: Request, visitor_url: str, return_url: str) -> Request | None:
    """The form again, as the entry page fills it in."""
    pairs = [tuple(filter(None, match)) for match in _FILLED_IN.findall(page.body)]
    found = {name.decode(): value.decode() for name, value in reversed(pairs)}  # the first counts
    if "request_id" not in found:
        return None
    return _post(visitor_url, return_url, page.fetched_at, found, (("Referer", asked.url),))


def _incarnate(given: _Tokens, visitor_url: str) -> Request | None:
    """The second step, on the host of the first one."""
    if not isinstance(given.tid, str) or not _COOKIE_PART.fullmatch(given.tid):
        return None
    is_number = isinstance(given.confidence, int) and 0 <= given.confidence <= 100
    query = {
        "a": "incarnate",
        "t": given.tid,
        "w": "3" if given.new_tid is True else "2",
        "c": f"{given.confidence if is_number else 100:03d}",
        "cb": "cross_domain",
        "from": "weibo",
    }
    return Request(
        Kind.SESSION, urljoin(visitor_url, f"visitor?{urlencode(query)}"), headers=_HEADERS
    )


def session_headers(user_agent: str, cookies: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The same User-Agent for the whole session, and its cookies."""
    agent = (("User-Agent", user_agent),)
    return (*agent, ("Cookie", _joined(cookies))) if cookies else agent


def _cookies(page: Page, asked: Request, return_url: str) -> dict[str, str]:
    """Those that went with the request, and what its answer makes of them."""
    sent = dict(asked.headers).get("Cookie", "")
    before = dict(pair.split("=", 1) for pair in filter(None, sent.split("; ")))
    lines = [value for name, value in page.headers if name == "set-cookie"]
    hosts = (urlsplit(page.url).hostname or "", urlsplit(return_url).hostname or "", _DOMAIN)
    return merge_cookies(before, lines, hosts, page.fetched_at)


def _joined(cookies: Mapping[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
