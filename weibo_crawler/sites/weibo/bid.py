"""bid <-> mid: the short name of a post in its address.

The mid in groups of 7 decimal digits from the right, each written in base 62 with 4 characters:
z0JH2lOMb = 3501756485200075 (WEIBO_API).
"""

import re

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_IN_SCHEME = re.compile(r"/status/([0-9A-Za-z]{5,12})(?![0-9A-Za-z])")
_GROUP = 10**7


def bid_of(mid: int) -> str:
    """The bid of a mid."""
    groups = []
    while True:
        mid, group = divmod(mid, _GROUP)
        if not mid:
            groups.append(_base62(group))
            return "".join(reversed(groups))
        groups.append(_base62(group).rjust(4, "0"))


def bid_in_scheme(scheme: object) -> str:
    """The bid in a card's address; "" where there is none. A mid in its place is too long."""
    match = _IN_SCHEME.search(scheme) if isinstance(scheme, str) else None
    return match[1] if match else ""


def _base62(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 62)
        digits = _DIGITS[digit] + digits
        if not number:
            return digits
