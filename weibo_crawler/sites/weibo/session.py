"""The visitor session: how a guest is let in without a login.

weibo_api.md, "What decides the design", 2: one POST, answered in JSONP with cookies in headers and
body; all cookies of a session are kept together. Where it gives a tid alone, a GET follows; where
it gives nothing, the page from which browsers come is asked for what they send.
"""

import re
from collections.abc import Mapping
from random import Random
from typing import Any
from urllib.parse import urlencode, urljoin

import msgspec

from weibo_crawler.records import Kind, Page, Request

_SUCCESS = "20000000"
_VERSION = "20250916"  # of the visitor script, as weibo_api.md has it
_ENTER = "entry=sinawap&a=enter"
# of the entry page: a variable of its script, or a part of the form that it puts together
_FILLED_IN = re.compile(
    rb"""\b(request_id|rid)["']?\s*[=:]\s*["']([\w-]{1,64})["']|\b(ver)["']?\s*[=:]\s*["']?(\d{8})\b"""
)
_HEADERS = (("Accept", "*/*"),)
_COOKIE_PART = re.compile(r"[!-+\--:<-~]+")  # visible ASCII without "," and ";"


class _Tokens(msgspec.Struct):
    sub: Any = None
    subp: Any = None
    tid: Any = None
    new_tid: Any = None
    confidence: Any = None


class _Answer(msgspec.Struct):
    retcode: int | str | None = None
    data: _Tokens | None = None


_DECODER = msgspec.json.Decoder(_Answer)


def session_request(visitor_url: str, return_url: str, now: float, rng: Random) -> Request:
    """The POST that opens a session, in its long form. now: seconds since the epoch."""
    own = {"request_id": f"{rng.getrandbits(128):032x}"}
    return _post(visitor_url, return_url, now, own, ())


def read_session(
    page: Page, asked: Request, visitor_url: str, return_url: str
) -> Mapping[str, str] | Request | None:
    """The cookies: all that are set, and SUB and SUBP, which the body holds too. Without a SUB: the
    request that is to follow.

    asked: what `page` answers. A tid alone is followed by the request that gives the cookies for
    it. Where a form that we filled in by ourselves has no success, the entry page follows, and that
    by the same form with what stands in the page; never more than once.

    None for a refusal, and for any other answer.
    """
    if not 200 <= page.status < 300:
        return None
    if asked.method == "GET" and _ENTER in asked.url:
        return _as_entered(page, asked, visitor_url, return_url)
    start, end = page.body.find(b"("), page.body.rfind(b")")  # window.f && f({…});
    try:
        answer = _DECODER.decode(page.body[start + 1 : max(end, 0)])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if str(answer.retcode) != _SUCCESS:
        is_first = asked.method == "POST" and "Referer" not in dict(asked.headers)
        is_known = is_first and answer.retcode is not None
        return _entry(visitor_url, return_url, page.fetched_at) if is_known else None
    cookies = dict(_set_cookies(page))
    if answer.data is not None:
        for name, value in (("SUB", answer.data.sub), ("SUBP", answer.data.subp)):
            if isinstance(value, str) and _COOKIE_PART.fullmatch(value):
                cookies.setdefault(name, value)
    if "SUB" in cookies:
        return cookies
    return None if answer.data is None else _incarnate(answer.data, visitor_url)


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
    if not cookies:
        return agent
    return (*agent, ("Cookie", "; ".join(f"{name}={value}" for name, value in cookies.items())))


def _set_cookies(page: Page) -> list[tuple[str, str]]:
    """Name and value of each Set-Cookie that sets something and fits into a header."""
    pairs = []
    for header, text in page.headers:
        name, _, value = text.partition(";")[0].partition("=")
        name, value = name.strip(), value.strip()
        fits = _COOKIE_PART.fullmatch(name) and _COOKIE_PART.fullmatch(value)
        if header == "set-cookie" and fits and value != "deleted":
            pairs.append((name, value))
    return pairs
