"""The visitor session: how a guest is let in without a login.

weibo_api.md, "What decides the design", 2: one POST, answered in JSONP with cookies in headers and
body; all cookies of a session are kept together.
"""

import re
from collections.abc import Mapping
from random import Random
from typing import Any
from urllib.parse import urlencode

import msgspec

from weibo_crawler.records import Kind, Page, Request

_SUCCESS = "20000000"
_VERSION = "20250916"  # of the visitor script, as weibo_api.md has it
_COOKIE_PART = re.compile(r"[!-+\--:<-~]+")  # visible ASCII without "," and ";"


class _Tokens(msgspec.Struct):
    sub: Any = None
    subp: Any = None


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


def read_session(page: Page) -> Mapping[str, str] | None:
    """The cookies: all that are set, and SUB and SUBP, which the body holds too.

    None for any other answer than the known success, and for one without a SUB.
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
    return cookies if "SUB" in cookies else None


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
