"""How long lists truly are, beside what their owners announce: measured on those that ended. Pure.

A site filters lists, caps them, or walls their later pages. So an announced count says little by
itself; but lists whose owners announce about as many people have about as many pages.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from weibo_crawler.store import ReadLists

_TELLING = 20  # lists of about one length that tell how long such lists are; else longer ones help
_WALLED = 0.5  # of the lists that should reach behind a page: where more met a wall, it is one
_SIZES = 16  # doublings of a length


class _Sum(NamedTuple):
    lists: int = 0
    pages: int = 0
    announced: int = 0  # pages
    walled: int = 0  # lists

    def plus(self, other: "_Sum") -> "_Sum":
        return _Sum(*(a + b for a, b in zip(self, other, strict=True)))


class Lengths:
    """Of the lists of one edge. announced: how many pages a list of so many people should have, 0
    where that is not announced (follows). wall: how many pages guests are shown, None: all."""

    def __init__(self, lists: Iterable[ReadLists], announced: Callable[[int], int]) -> None:
        self._announced, self._lists = announced, tuple(lists)
        self._by_size: dict[int, _Sum] = {}
        self._all = _Sum()
        for one in self._lists:
            should = announced(one.fans or 0)
            figures = _Sum(one.lists, one.pages, one.lists * should, one.lists * one.is_walled)
            size = should.bit_length()
            self._by_size[size] = self._by_size.get(size, _Sum()).plus(figures)
            self._all = self._all.plus(figures)
        self.wall = self._find_wall()

    @property
    def lists(self) -> int:
        """How many have ended."""
        return self._all.lists

    def variance(self, lists: Iterable[tuple[int | None, float]]) -> float | None:
        """Of the pages of these lists together: who announces how many fans, and how many lists.
        None where none has ended.

        A list differs from `pages` by chance and by a share of its length, which the lists that
        ended tell; all together may be longer or shorter by as much as the ratio of these is vague.
        """
        if not self.lists:
            return None
        known = [(one.lists, one.pages, self.pages(one.fans) or 0.0) for one in self._lists]
        gaps = sum((pages - n * likely) ** 2 for n, pages, likely in known)
        likely, squares = (sum(n * each**power for n, _, each in known) for power in (1, 2))
        share = gaps / squares if squares else 0.0
        coming = [(n, self.pages(fans) or 0.0) for fans, n in lists]
        pages, more = (sum(n * each**power for n, each in coming) for power in (1, 2))
        return pages + share * more + share * squares * (pages / likely) ** 2 if likely else pages

    def pages(self, fans: int | None) -> float | None:
        """How many pages the list of who announces so many fans is likely to have; None: unknown.

        Where none has ended it is as many as announced, which is a bound.
        """
        if fans is None:
            return self._all.pages / self.lists if self.lists else None
        should = self._announced(fans)
        if not self.lists:
            return float(should)
        known = self._near(should.bit_length())
        if should and known.announced:
            pages = should * known.pages / known.announced
        else:
            pages = known.pages / known.lists
        return pages if self.wall is None else min(pages, self.wall)

    @property
    def ended(self) -> int:
        """How many lists came to their own end, not to a wall."""
        return self._all.lists - self._all.walled

    def ends(self, fans: int | None) -> float:
        """How likely the list of who announces so many fans comes to its own end."""
        known = self._all if fans is None else self._near(self._announced(fans).bit_length())
        return 1 - known.walled / known.lists if known.lists else 1.0

    def _near(self, size: int) -> _Sum:
        """Lists of this size, and of the next sizes where these are few."""
        known = _Sum()
        for far in range(_SIZES):
            for near in {size - far, size + far}:
                known = known.plus(self._by_size.get(near, _Sum()))
            if known.lists >= _TELLING:
                return known
        return self._all

    def _find_wall(self) -> float | None:
        walled = [one for one in self._lists if one.is_walled]
        n = sum(one.lists for one in walled)
        if not n:
            return None
        wall = sum(one.pages for one in walled) / n
        long = [one for one in self._lists if self._announced(one.fans or 0) > wall]
        return wall if n >= _WALLED * sum(one.lists for one in long) else None
