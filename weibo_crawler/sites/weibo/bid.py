"""bid <-> mid: the short name of a post in its address.

The mid in groups of 7 decimal digits from the right, each written in base 62 with 4 characters:
z0JH2lOMb = 3501756485200075 (weibo_api.md).
"""

import re

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_IN_SCHEME = re.compile(r"/status/([0-9A-Za-z]{5,12})(?![0-9A-Za-z])")
_GROUP = 10**7
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]  # two digits of base 62


def bid_of(mid: int) -> str:
    bid = ""
    while True:
        mid, group = divmod(mid, _GROUP)
        high, low = divmod(group, len(_PAIRS))
        bid = _PAIRS[high] + _PAIRS[low] + bid
        if not mid:
            return bid.lstrip("0") or "0"


def mid_of_bid(bid: str) -> int:
    """The mid of a bid; of letters that are none, a number that is no mid. Errors: ValueError for
    other characters."""
    mid = 0
    for start in range(-(-len(bid) // 4) * -4, 0, 4):
        group = 0
        for letter in bid[start : start + 4 or None]:
            group = group * len(_DIGITS) + _DIGITS.index(letter)
        mid = mid * _GROUP + group
    return mid


def bid_in_scheme(scheme: object) -> str:
    """The bid in a card's address; "" where there is none. A mid in its place is too long."""
    match = _IN_SCHEME.search(scheme) if isinstance(scheme, str) else None
    return match[1] if match else ""
