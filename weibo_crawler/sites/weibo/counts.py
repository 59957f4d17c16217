"""Counts as the site writes them: 143, "6905", "145.5万", "1.51亿", "100万+".

Others were not seen, but can mean one thing only, and a proxy or a later site may write them:
"1,234", "1.2萬", "12K", "1.2w" (万), full-width digits. "1.234" may be either number, and is none.
"""

import re
from collections.abc import Iterable

_UNITS = {
    "": 1,
    **dict.fromkeys("Kk", 1_000),
    **dict.fromkeys("万萬Ww", 10_000),
    **dict.fromkeys("Mm", 1_000_000),
    **dict.fromkeys("亿億", 100_000_000),
}
_UNIT = f"[{''.join(_UNITS)}]"
_COUNT = re.compile(
    rf"([0-9]{{1,15}}|[0-9]{{1,3}}(?:,[0-9]{{3}}){{1,4}})"
    rf"(?:\.([0-9]{{1,8}})(?= ?{_UNIT}))? ?({_UNIT}?)\+?"
)
_HALF_WIDTH = {full: full - 0xFEE0 for full in range(0xFF01, 0xFF5F)}
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


def first_count(values: Iterable[object], most: int) -> int | None:
    """The first of them that is a count, for what the site says in several places."""
    counts = (optional_count(value, most) for value in values)
    return next((count for count in counts if count is not None), None)


def _written(text: str) -> int | None:
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    match = _COUNT.fullmatch(text.translate(_HALF_WIDTH).strip())
    if match is None:
        return None
    whole, part, unit = match.groups("")
    number: int = int(whole.replace(",", "") + part) * _UNITS[unit] // 10 ** len(part)
    return number
