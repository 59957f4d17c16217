"""What the table of posts holds of one user: mids, rows beside a page, dates. To be called in the
thread of the tables."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence

from weibo_crawler.posts.changes import Held, Span
from weibo_crawler.records import Id, Post
from weibo_crawler.store import Row, Table
from weibo_crawler.store.rows.cells import from_iso, read_post
from weibo_crawler.store.rows.keys import parse_post_key, post_key, posts_prefix


class Holdings:
    """The posts of one user in the table. is_new: all of them are stored by this visit, which tells
    `stored` of them, so their dates need not be read."""

    def __init__(self, posts: Table, uid: Id, *, is_new: bool = False) -> None:
        self._posts, self._uid = posts, uid
        self._prefix = posts_prefix(uid)
        self._dates: dict[Id, str] | None = {} if is_new else None

    def stored(self, posts: Iterable[Post]) -> None:
        """This visit has stored these posts."""
        if self._dates is not None:
            self._dates.update((post.mid, post.created_at) for post in posts)

    def mids(self) -> frozenset[Id]:
        """All that are stored."""
        return frozenset(parse_post_key(key)[1] for key in self._posts.keys(self._prefix))

    def beside(self, span: Span | None, others: Iterable[int]) -> dict[Id, Held]:
        """By mid: the stored posts within the span of a page, and these others."""
        held: dict[Id, Held] = {}
        if span is not None:
            start = self._prefix if span.newest is None else post_key(self._uid, span.newest)
            stop = post_key(self._uid, span.oldest) + "\0"  # the smallest key after it
            for row in self._posts.scan(start=start, stop=stop, columns=["post"]):
                held[parse_post_key(row.key)[1]] = read_post(row)
        for mid, cells in self._rows(set(others) - held.keys(), ["post"]):
            if cells:
                held[mid] = read_post(Row(post_key(self._uid, mid), cells))
        return held

    def cut(self, mids: Iterable[Id]) -> dict[Id, str]:
        """Those of these posts whose text is not whole, and what is stored of it."""
        columns = ["post:text_complete", "post:text"]
        return {
            mid: cells.get("post:text", "")
            for mid, cells in self._rows(mids, columns)
            if cells.get("post:text_complete") != "true"
        }

    def dates(self, mids: Iterable[Id]) -> Mapping[Id, str]:
        """When these posts were written, as stored; those not stored are left out."""
        column = "post:created_at"
        rows = self._rows(mids, [column])
        return {mid: cells[column] for mid, cells in rows if column in cells}

    def _rows(
        self, mids: Iterable[Id], columns: Sequence[str]
    ) -> Iterator[tuple[Id, dict[str, str]]]:
        """Of each post what is stored, {} for nothing."""
        keys = {mid: post_key(self._uid, mid) for mid in mids}
        rows = self._posts.rows([*keys.values()], columns)
        return ((mid, rows[key]) for mid, key in keys.items())

    def newest_times(self, n: int, since: int) -> list[float]:
        """When the newest posts were written, at most n, seconds: those of mids from `since` on."""
        times = []
        for date in self._newest_dates(n, since):
            try:
                times.append(from_iso(date))
            except ValueError:
                continue  # a date that the site showed without a year, or worse
        return heapq.nlargest(n, times)

    def _newest_dates(self, n: int, since: int) -> list[str]:
        if self._dates is not None:
            numbers = (mid for mid in self._dates if isinstance(mid, int) and mid >= since)
            texts = [date for mid, date in self._dates.items() if isinstance(mid, str)]
            return texts + [self._dates[mid] for mid in heapq.nlargest(n, numbers)]
        column, stop = "post:created_at", post_key(self._uid, since) + "\0"
        rows = [*self._posts.scan(start=self._prefix, stop=stop, columns=[column], limit=n)]
        if not rows:  # their ids may be texts, which tell no order
            rows += self._posts.scan(prefix=f"{self._prefix}~", columns=[column])
        return [row.cells[column] for row in rows]
