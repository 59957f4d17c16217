"""Rows to a Parquet file: row groups, encoded and compressed beside the reading of the next."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, BinaryIO

from weibo_crawler.analysis.batches import Batches
from weibo_crawler.analysis.columns import KNOWN
from weibo_crawler.analysis.writers import Rows

_GROUP = 10  # batches of a row group: about 10 MB of posts


def write_parquet(arrow: Any, rows: Rows, columns: Sequence[str], file: BinaryIO) -> int:
    """Write these columns of each row; returns how many rows. arrow: pyarrow, with pyarrow.parquet.

    Times are timestamps with a time zone, lists lists and objects structs. OSError is the file's.
    """
    made = Batches(arrow, {name: KNOWN[name] for name in columns})
    batches = made.of(rows)
    n = 0
    written: Future[None] | None = None
    with (
        arrow.parquet.ParquetWriter(file, made.schema, compression="zstd") as writer,
        # Arrow lets go of the GIL; a group is written while the next is read, so two are held
        ThreadPoolExecutor(1) as background,
    ):
        while group := list(islice(batches, _GROUP)):
            table = arrow.Table.from_batches(group, made.schema)
            n += table.num_rows
            if written is not None:
                written.result()
            written = background.submit(writer.write_table, table)
        if written is not None:
            written.result()
    return n
