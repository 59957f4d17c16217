"""The visitor session: how a guest is let in without a login.

weibo_api.md, "What decides the design", 2: one POST, answered in JSONP with cookies in headers and
body; all cookies of a session are kept together. Where it gives a tid alone, a GET follows.
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
    form = {
        "cb": "visitor_gray_callback",
        "ver": _VERSION,
        "request_id": f"{rng.getrandbits(128):032x}",
        "tid": "",
        "from": "weibo",
        "webdriver": "false",
        "rid": str(int(now * 1000)),
        "return_url": return_url,
    }
    return Request(
        Kind.SESSION,
        visitor_url,
        method="POST",
        headers=(("Accept", "*/*"), ("Content-Type", "application/x-www-form-urlencoded")),
        body=urlencode(form).encode(),
    )


def read_session(page: Page, visitor_url: str) -> Mapping[str, str] | Request | None:
    """The cookies: all that are set, and SUB and SUBP, which the body holds too. Without a SUB, but
    with a tid: the request that gives them for it.

    None for any other answer than the known success, and for one with neither.
    """
    if not 200 <= page.status < 300:
        return None
    start, end = page.body.find(b"("), page.body.rfind(b")")  # window.f && f({…});
    try:
        answer = _DECODER.decode(page.body[start + 1 : max(end, 0)])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if str(answer.retcode) != _SUCCESS:
        return None
    cookies = dict(_set_cookies(page))
    if answer.data is not None:
        for name, value in (("SUB", answer.data.sub), ("SUBP", answer.data.subp)):
            if isinstance(value, str) and _COOKIE_PART.fullmatch(value):
                cookies.setdefault(name, value)
    if "SUB" in cookies:
        return cookies
    return None if answer.data is None else _incarnate(answer.data, visitor_url)


def _incarnate(given: _Tokens, visitor_url: str) -> Request | None:
    """The second step, on the host of the first one."""
    if not isinstance(given.tid, str) or not _COOKIE_PART.fullmatch(given.tid):
        return None
    is_number = isinstance(given.confidence, int) and 0 <= given.confidence <= 100
    query = {
        "a": "incarnate",
        "t": given.tid,
        "w": "3" if given.new_tid is True else "2",
        "c": str(given.confidence if is_number else 100),
        "cb": "cross_domain",
        "from": "weibo",
    }
    url = urljoin(visitor_url, f"visitor?{urlencode(query)}")
    return Request(Kind.SESSION, url, headers=(("Accept", "*/*"),))


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
