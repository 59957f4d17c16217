"""Counts as the site writes them: 143, "6905", "145.5万", "1.51亿", "100万+"."""

import re

_COUNT = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,8})(?=[万亿]))?([万亿]?)\+?")
_UNITS = {"": 1, "万": 10_000, "亿": 100_000_000}
MOST_FANS = 2 * 10**9  # what people can reach: ten times the largest account
MOST_POSTS = 10**7  # a post a minute for twenty years
MOST_REACTIONS = 10**10


def small_number(value: object) -> int | None:
    """A number that only decorates a row: in 32 bits, or left out."""
    return value if type(value) is int and abs(value) < 2**31 else None


def optional_count(value: object, most: int) -> int | None:
    """The number meant, exactly; `100万+` is its lower bound 1000000. None where the site does not
    say, or says what is no count, negative or larger than `most`. A float is none: 20.0 was never
    recorded, so nobody knows what wrote it."""
    if type(value) is str:
        value = _written(value)
    return value if type(value) is int and 0 <= value <= most else None


def _written(text: str) -> int | None:
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        return None
    whole, part, unit = match.groups("")
    number: int = int(whole + part) * _UNITS[unit] // 10 ** len(part)
    return number
