"""Small readings of addresses and headers. Pure."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from weibo_crawler.fetch.clients.transport import Headers

_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?([^/?#@]*)(?=[/?#]|$)")
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def host_of(url: str) -> str:
    """host[:port] of an address, in lower case, without an account; "" where there is none."""
    match = _HOST.match(url)
    return "" if match is None else match[1].lower()


def merge_headers(own: Headers, general: Headers) -> Headers:
    """A request's own headers, and those of the general ones it has not."""
    names = {name.lower() for name, _ in own}
    return own + tuple(header for header in general if header[0].lower() not in names)


def retry_after_s(headers: Mapping[str, str], at: float) -> float | None:
    """The Retry-After header, a number or a date, as seconds from the answer; None: none.

    headers: by lower-case names. at: when it came, in seconds since the epoch by our clock, which
    may be wrong: the answer's own Date goes before it.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    until, now = _date(text), _date(headers.get("date", ""))
    return None if until is None else until - (at if now is None else now)


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def snake_case(name: str) -> str:
    """ "BodyCut" as "body_cut"."""
    return _WORD_START.sub("_", name).lower()
