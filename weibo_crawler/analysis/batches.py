"""Rows as record batches of Arrow, each column of its type. Of posts without a record for each."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import astuple

from weibo_crawler.analysis.parallel import Parted
from weibo_crawler.analysis.scan import PostRows
from weibo_crawler.analysis.writers import Rows
from weibo_crawler.store import Row
from weibo_crawler.store.rows.cells import from_iso, read_post
from weibo_crawler.store.rows.fields import POSTS, Field, Kind, in_cells
from weibo_crawler.store.rows.keys import parse_post_key
from weibo_crawler.store.rows.packed import MORE

_BATCH = 1000  # rows, more of which Python does not hold
_CELLS = in_cells(POSTS)
_NOTHING = MORE.shape()
_SIMPLE: Mapping[Kind, Any] = {
    Kind.TEXT: str,
    Kind.NUMBER: int,
    Kind.SHARE: float,
    Kind.TRUTH: bool,
    Kind.TEXTS: tuple[str, ...],
}


class Batches:
    """Makes batches of these fields. arrow: the module pyarrow; schema: of the batches."""

    def __init__(self, arrow: Any, fields: Mapping[str, Field]) -> None:
        self._arrow, self._fields = arrow, fields
        types = [(name, _type(arrow, field)) for name, field in fields.items()]
        self.schema = arrow.schema(types)

    def of(self, rows: Rows | Parted) -> Iterator[Any]:
        """All rows, in their order; StoreError names a post that cannot be read."""
        if isinstance(rows, Parted):
            for file, _ in rows.made(partial(_write_batches, dict(self._fields))):
                with self._arrow.OSFile(str(file)) as stream:
                    yield from self._arrow.ipc.open_stream(stream)
            return
        if isinstance(rows, PostRows):
            while stored := list(islice(rows.stored, _BATCH)):
                yield self._of_posts(stored)
            return
        left = iter(rows)
        while some := list(islice(left, _BATCH)):
            yield self._of_rows(some)

    def _of_posts(self, stored: Sequence[Row]) -> Any:
        try:
            columns = post_columns(stored, self._fields)
        except ValueError:
            return self._of_rows([read_post(row) for row in stored])  # names the row
        return self._batch(columns)

    def _of_rows(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        return self._batch({name: [row.get(name) for row in rows] for name in self._fields})

    def _batch(self, columns: Mapping[str, Sequence[Any]]) -> Any:
        arrays = [
            self._array(columns[name], field.kind, self.schema.field(name).type)
            for name, field in self._fields.items()
        ]
        return self._arrow.record_batch(arrays, schema=self.schema)

    def _array(self, values: Sequence[Any], kind: Kind, type: Any) -> Any:
        if kind in (Kind.TIME, Kind.SITE_TIME):
            texts = [value or None for value in values]
            try:  # Arrow reads them itself
                return self._arrow.array(texts, self._arrow.string()).cast(type)
            except self._arrow.ArrowInvalid:
                return self._arrow.array([_when(text) for text in texts], type)
        if kind in (Kind.RECORD, Kind.RECORDS):
            values = msgspec.to_builtins(values)
        elif kind is Kind.WORDS:
            values = [None if value is None else [*value.items()] for value in values]
        return self._arrow.array(values, type)


def post_columns(rows: Sequence[Row], names: Collection[str]) -> dict[str, Sequence[Any]]:
    """What cells.read_post gives of each row, a column each, in a third of its time; originals are
    nested.WholeOriginal. names: which columns; others may come with them.

    ValueError for a row that read_post refuses, which can tell why.
    """
    ids = [parse_post_key(row.key) for row in rows]
    found: dict[str, Sequence[Any]] = {
        "mid": [str(mid) for _, mid in ids],
        "uid": [uid for uid, _ in ids],
    }
    cells = [row.cells for row in rows]
    for name in _CELLS.keys() & names:
        cell, read = _CELLS[name]
        texts = [each.get(cell) for each in cells]
        found[name] = texts if read is None else [read(text) if text else None for text in texts]
    if not set(MORE.names).isdisjoint(names):
        packed = (each.get("post:more") for each in cells)
        values = [astuple(MORE.unpack(text) if text else _NOTHING) for text in packed]
        found |= zip(MORE.names, zip(*values, strict=True), strict=True)
    return found


def _type(arrow: Any, field: Field) -> Any:
    if field.record is not None:
        record = _type_of(arrow, field.record)
        return record if field.kind is Kind.RECORD else arrow.list_(record)
    if field.kind in _SIMPLE:
        return _type_of(arrow, _SIMPLE[field.kind])
    if field.kind is Kind.WORDS:
        return arrow.map_(arrow.string(), arrow.string())
    return arrow.timestamp("ms", tz=field.zone)


@cache  # asking a record for the types of its fields takes longer than a range with few rows
def _type_of(arrow: Any, hint: Any) -> Any:
    """The type of Arrow for that of a value, or of one that may be None."""
    simple = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    if hint in simple:
        return simple[hint]
    if get_origin(hint) is tuple:
        return arrow.list_(_type_of(arrow, get_args(hint)[0]))
    if get_args(hint):
        return _type_of(arrow, get_args(hint)[0])
    fields = get_type_hints(hint)
    return arrow.struct([(name, _type_of(arrow, fields[name])) for name in hint.__struct_fields__])


def _write_batches(fields: Mapping[str, Field], rows: Rows, file: Path) -> int:
    """The rows of a range, for the process that puts them together."""
    import pyarrow

    made, n = Batches(pyarrow, fields), 0
    options = pyarrow.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with pyarrow.ipc.new_stream(str(file), made.schema, options=options) as writer:
        for batch in made.of(rows):
            n += batch.num_rows
            writer.write_batch(batch)
    return n


def _when(text: str | None) -> datetime | None:
    """A time that Arrow does not read; None where it is none."""
    try:
        return None if text is None else datetime.fromtimestamp(from_iso(text), UTC)
    except ValueError:
        return None
