"""User ids as a crawl finds them: ten digits, spread, in no order, each once.

One formula, in integers that SQLite and MariaDB compute as well: the i-th id lies somewhere in a
stratum of its own, strata come in an order that jumps to and fro.
"""

from array import array

MOST = 11_000_000  # strata
_FIRST, _WIDTH = 1_000_000_000, 627  # up to 7.9 billion
_JUMP, _INSIDE = 7_368_787, 2_654_435_761  # primes: no stratum comes twice
SQL = f"({_FIRST} + (({{i}} * {_JUMP}) % {MOST}) * {_WIDTH} + ({{i}} * {_INSIDE}) % {_WIDTH})"


def uid(i: int) -> int:
    """The i-th id, i from 0 to MOST - 1."""
    return _FIRST + i * _JUMP % MOST * _WIDTH + i * _INSIDE % _WIDTH


def uids(first: int, last: int) -> "array[int]":
    """Ids from the one with number `first` to the one before `last`."""
    return array("Q", map(uid, range(first, last)))
