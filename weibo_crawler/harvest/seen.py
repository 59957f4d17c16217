"""The in-memory set that spares the database work; the UNIQUE column is the truth (law 3)."""

from collections.abc import Iterable

from pyroaring import BitMap64


class SeenSet:
    """An exact set of uids, about two bytes each. An id enters after the commit that stored it."""

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._ids = BitMap64(ids)

    def __contains__(self, uid: int) -> bool:
        return uid in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def add_all(self, ids: Iterable[int]) -> None:
        self._ids.update(ids)
