"""Rows as record batches of Arrow, each column of its type."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from weibo_crawler.analysis.columns import KINDS, Kind
from weibo_crawler.analysis.scan import PostRows
from weibo_crawler.analysis.writers import Rows
from weibo_crawler.store import Row
from weibo_crawler.store.rows.cells import read_post
from weibo_crawler.store.rows.post_columns import post_columns

_BATCH = 1000  # rows, more of which Python does not hold
_encode = msgspec.json.Encoder().encode


class Batches:
    """Makes batches of these columns. arrow: the module pyarrow; schema: of the batches."""

    def __init__(self, arrow: Any, columns: Sequence[str]) -> None:
        self._arrow = arrow
        types = {
            Kind.TEXT: arrow.string(),
            Kind.WHOLE: arrow.int64(),
            Kind.TRUTH: arrow.bool_(),
            Kind.TIME: arrow.timestamp("ms", tz="UTC"),
            Kind.NESTED: arrow.string(),
        }
        self._kinds = {name: KINDS.get(name, Kind.TEXT) for name in columns}
        self.schema = arrow.schema([(name, types[kind]) for name, kind in self._kinds.items()])

    def of(self, rows: Rows) -> Iterator[Any]:
        """All rows, in their order; StoreError names a post that cannot be read."""
        if isinstance(rows, PostRows):
            while stored := list(islice(rows.stored, _BATCH)):
                yield self._of_posts(stored)
            return
        left = iter(rows)
        while some := list(islice(left, _BATCH)):
            yield self._of_rows(some)

    def _of_posts(self, stored: Sequence[Row]) -> Any:
        try:
            columns = post_columns(stored, self._kinds)
        except ValueError:
            return self._of_rows([read_post(row) for row in stored])  # names the row
        return self._batch(columns)

    def _of_rows(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        return self._batch({name: [row[name] for row in rows] for name in self._kinds})

    def _batch(self, columns: Mapping[str, Sequence[Any]]) -> Any:
        arrays = [
            self._array(columns[name], kind, self.schema.field(name).type)
            for name, kind in self._kinds.items()
        ]
        return self._arrow.record_batch(arrays, schema=self.schema)

    def _array(self, values: Sequence[Any], kind: Kind, type: Any) -> Any:
        if kind is Kind.TIME:  # Arrow reads their texts itself
            return self._arrow.array(values, self._arrow.string()).cast(type)
        if kind is Kind.NESTED:
            values = [None if value is None else _encode(value) for value in values]
        return self._arrow.array(values, type)
