"""Named faults: what may go wrong with an answer, how often, and when.

Which request fails is decided by seed, request and attempt alone, so a run is repeatable in any
order of requests. A request fails at most `max_consecutive` times in a row; but a fault marked
`:permanent` hits a share of the requests for ever.
"""

from random import Random
from typing import NamedTuple

from weibo_crawler.errors import BadUsage

FAULTS = {
    "throttled": 'errno 100005, with status 200 or 403: "too many requests"',
    "throttled_418": "status 418",
    "too_long_414": "status 414",
    "refused_403": "status 403, HTML",
    "refused_432": "status 432, no body",
    "captcha": "ok -100 with the address of a captcha",
    "login_wall": "ok -100 with the address of the sign-in",
    "geetest": "ok -100 with the address of a newer captcha",
    "server_trouble": "errno 100001",
    "unknown_words": "ok 0 with words that nobody knows",
    "unknown_keys": "ok 0 with message and error_code in the place of msg and errno",
    "bare_ok0": "ok 0 and nothing else",
    "ok1_refusal": "ok 1, no cards, and in msg the words of a rate limit",
    "status_502": "status 502, HTML",
    "empty_200": "status 200 without a body",
    "no_content": "the ambiguous ok 0 in the place of content",
    "html_busy": "the HTML page of a busy site",
    "not_json": "the HTML page of the visitor system",
    "truncated_json": "valid HTTP with the first part of the JSON",
    "slow": "the right answer, late",
    "stalled": "half of an answer, and then nothing for ever",
    "cut": "half of an answer, and then the connection is closed",
    "garbage_status": "something that is not HTTP",
    "early_close": "the connection is closed without a byte",
    "bad_gzip": "a body announced as gzip that is broken",
    "bomb": "a small gzip body that unpacks to 64 MiB",
    "drifted": "the right answer with a known key renamed",
}
_PERMANENT = "permanent"


class Rate(NamedTuple):
    """A fault and the share of requests it hits."""

    name: str
    share: float
    permanent: bool = False


def parse_faults(text: str) -> tuple[Rate, ...]:
    """`throttled=0.02,cut=0.01,drifted:permanent=0.001` as rates; "" is none.

    BadUsage for an unknown name, a share that is no number in 0 to 1, or shares over 1 in all.
    """
    rates = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        title, _, share = part.partition("=")
        name, _, mark = title.strip().partition(":")
        if name not in FAULTS or mark not in ("", _PERMANENT):
            known = ", ".join(FAULTS)
            raise BadUsage(
                f"--faults: there is no fault {title.strip()!r}; known are {known} "
                f"(each also as NAME:{_PERMANENT})"
            )
        rates.append(Rate(name, read_share("--faults", name, share), mark == _PERMANENT))
    if sum(rate.share for rate in rates) > 1:
        raise BadUsage("--faults: the rates add up to more than 1")
    return tuple(rates)


def read_share(option: str, name: str, text: str) -> float:
    """The share from 0 to 1 that an option such as "NAME=SHARE,..." gives a name."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise BadUsage(
            f"{option}: the share of {name} is {text!r}, it must be a number from 0 to 1, "
            f"such as {name}=0.02"
        )
    return share


class FaultPlan:
    """Decides which request gets which fault. A request is known by its path and query."""

    def __init__(self, seed: int, rates: tuple[Rate, ...], max_consecutive: int = 2) -> None:
        self._seed = seed
        self._passing = tuple(rate for rate in rates if not rate.permanent and rate.share)
        self._permanent = tuple(rate for rate in rates if rate.permanent and rate.share)
        self._max_consecutive = max_consecutive
        self._attempts: dict[str, int] = {}
        self._in_a_row: dict[str, int] = {}

    def fault(self, request: str) -> str | None:
        """The fault of this attempt, None for a right answer."""
        if self._permanent and (name := _draw(self._permanent, f"{self._seed} {request}")):
            return name
        if not self._passing:
            return None
        attempt = self._attempts[request] = self._attempts.get(request, 0) + 1
        fault = _draw(self._passing, f"{self._seed} {request} {attempt}")
        row = self._in_a_row.get(request, 0)
        if fault is None or row >= self._max_consecutive:
            self._in_a_row.pop(request, None)
            return None
        self._in_a_row[request] = row + 1
        return fault


def _draw(rates: tuple[Rate, ...], key: str) -> str | None:
    point = Random(key).random()
    for rate in rates:
        point -= rate.share
        if point < 0:
            return rate.name
    return None
