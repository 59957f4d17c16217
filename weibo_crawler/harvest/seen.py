"""The in-memory set that spares the database work; the UNIQUE column is the truth (law 3)."""

from collections.abc import Iterable
from itertools import islice

from pyroaring import BitMap64

_AT_ONCE = 10_000


class SeenSet:
    """An exact set of uids. An id enters after the commit that stored it.

    An id takes two bytes in a Roaring container, but ids of ten digits are so far apart that the
    containers, each for 65,536 numbers, hold few, and weigh almost as much themselves.
    """

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._ids = BitMap64()
        ids = iter(ids)
        while some := list(islice(ids, _AT_ONCE)):  # it makes a list of all it is given at once,
            self._ids.update(some)  # ten times the set's own memory

    def __contains__(self, uid: int) -> bool:
        return uid in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def add_all(self, ids: Iterable[int]) -> None:
        self._ids.update(ids)
