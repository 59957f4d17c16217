"""The in-memory set that spares the database work; the UNIQUE column is the truth (law 3)."""

from collections.abc import Iterable
from itertools import islice

from pyroaring import BitMap64

from weibo_crawler.records import Id

_AT_ONCE = 10_000


class SeenSet:
    """An exact set of uids. An id enters after the commit that stored it.

    Numbers are held in a Roaring bitmap, texts in a set.
    An id takes two bytes in a Roaring container, but ids of ten digits are so far apart that the
    containers, each for 65,536 numbers, hold few, and weigh almost as much themselves.
    """

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self._ids, self._texts = BitMap64(), set[str]()
        ids = iter(ids)
        while some := list(islice(ids, _AT_ONCE)):  # it makes a list of all it is given at once,
            self.add_all(some)  # ten times the set's own memory

    def __contains__(self, uid: Id) -> bool:
        return uid in self._texts if isinstance(uid, str) else uid in self._ids

    def __len__(self) -> int:
        return len(self._ids) + len(self._texts)

    def add_all(self, ids: Iterable[Id]) -> None:
        """Ids of one site, all of which are numbers, or none."""
        ids = [*ids]
        if ids and isinstance(ids[0], str):
            self._texts.update(ids)  # type: ignore[arg-type]
        else:
            self._ids.update(ids)  # type: ignore[arg-type]
