"""Rows to a Parquet file: row groups, encoded and compressed beside the reading of the next."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

from weibo_crawler.analysis.batches import Batches
from weibo_crawler.analysis.parallel import Parted
from weibo_crawler.analysis.writers import Rows
from weibo_crawler.store.rows.fields import Field

_GROUP_ROWS = 10_000  # about 10 MB of posts


def write_parquet(
    arrow: Any, rows: Rows | Parted, fields: Mapping[str, Field], file: BinaryIO
) -> int:
    """Write these columns of each row; returns how many rows. arrow: pyarrow, with pyarrow.parquet.

    Times are timestamps with a time zone, lists lists and objects structs. OSError is the file's.
    """
    made = Batches(arrow, fields)
    n = 0
    written: Future[None] | None = None
    with (
        arrow.parquet.ParquetWriter(file, made.schema, compression="zstd") as writer,
        # Arrow lets go of the GIL; a group is written while the next is read, so two are held
        ThreadPoolExecutor(1) as background,
    ):
        for table in _groups(arrow, made.of(rows), made.schema):
            n += table.num_rows
            if written is not None:
                written.result()
            written = background.submit(writer.write_table, table)
        if written is not None:
            written.result()
    return n


def _groups(arrow: Any, batches: Iterable[Any], schema: Any) -> Iterator[Any]:
    """The rows in tables of so many, however many come at once."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        while sum(one.num_rows for one in held) >= _GROUP_ROWS:
            table = arrow.Table.from_batches(held, schema)
            yield table.slice(0, _GROUP_ROWS)
            held = [one for one in table.slice(_GROUP_ROWS).to_batches() if one.num_rows]
    if held:
        yield arrow.Table.from_batches(held, schema)
