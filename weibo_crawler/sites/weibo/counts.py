"""Counts as the site writes them: 143, "6905", "145.5万", "1.51亿", "100万+"."""

import re
from decimal import Decimal

from weibo_crawler.sites.weibo.drift import Drift

_COUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,8}(?=[万亿]))?)([万亿]?)\+?")
_UNITS = {"": 1, "万": 10_000, "亿": 100_000_000}
_LARGEST = 10**15  # far above anything countable, far below what a column holds


def read_count(value: int | str) -> int:
    """The number meant, exactly (decimal arithmetic); `100万+` is its lower bound 1000000.

    Errors: ValueError for what is negative, absurdly large or no count.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    elif isinstance(value, str):
        match = _COUNT.fullmatch(value.strip())
        if match is None:
            raise ValueError("no count")
        value = int(Decimal(match[1]) * _UNITS[match[2]])
    if not 0 <= value <= _LARGEST:
        raise ValueError("out of range")
    return value


def small_number(value: object) -> int | None:
    """A number that only decorates a row: in 32 bits, or left out."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31:
        return value
    return None


def optional_count(value: int | str | None, path: str) -> int | None:
    """None where the site does not say. Errors: Drift(path) for what is no count."""
    if value is None:
        return None
    try:
        return read_count(value)
    except ValueError:
        raise Drift(path) from None
