"""Counts as the site writes them: 143, "6905", "145.5万", "1.51亿", "100万+"."""

import re
from decimal import Decimal

_COUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,8}(?=[万亿]))?)([万亿]?)\+?")
_UNITS = {"": 1, "万": 10_000, "亿": 100_000_000}
_LARGEST = 10**15  # far above anything countable, far below what a column holds
MOST_FANS = 2 * 10**9  # what people can reach: ten times the largest account
MOST_POSTS = 10**7  # a post a minute for twenty years
MOST_REACTIONS = 10**10


def read_count(value: int | str, most: int = _LARGEST) -> int:
    """The number meant, exactly (decimal arithmetic); `100万+` is its lower bound 1000000.

    Errors: ValueError for what is negative, larger than `most` or no count.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    elif isinstance(value, str):
        match = _COUNT.fullmatch(value.strip())
        if match is None:
            raise ValueError("no count")
        value = int(Decimal(match[1]) * _UNITS[match[2]])
    if not 0 <= value <= most:
        raise ValueError("out of range")
    return value


def small_number(value: object) -> int | None:
    """A number that only decorates a row: in 32 bits, or left out."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31:
        return value
    return None


def optional_count(value: object, most: int) -> int | None:
    """None where the site does not say, or says what is no count. A float is none: 20.0 was never
    recorded, so nobody knows what wrote it."""
    if not isinstance(value, int | str) or isinstance(value, bool):
        return None
    try:
        return read_count(value, most)
    except ValueError:
        return None
