"""Rows to a file: JSON Lines, CSV or Parquet, there whole or not at all, in flat memory."""

import gzip
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from weibo_crawler.analysis.columns import KINDS, Kind
from weibo_crawler.analysis.files import replacing
from weibo_crawler.analysis.writers import Rows, as_text, write
from weibo_crawler.errors import BadUsage

FORMATS = ("jsonl", "csv", "parquet")
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_GROUP = 10_000  # rows of a Parquet row group: about 10 MB of posts


def export(rows: Rows, columns: Sequence[str], path: Path, format: str | None = None) -> int:
    """Write the rows to `path`, returns how many. format: of FORMATS, None: by the suffix.

    A `.gz` at the end compresses JSON Lines and CSV. An old file stays until the new one is whole.
    BadUsage for an unknown format or a missing library; StoreFull, StoreError for the file.
    """
    format, is_gzip = _format(path, format)
    if format == "parquet":
        arrow = _arrow()
        with replacing(path) as file:
            return _write_parquet(arrow, rows, columns, file)
    with replacing(path) as file:
        if not is_gzip:
            return write(rows, format, file, columns)
        # neither name nor time inside: equal rows give equal bytes
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            return write(rows, format, cast(BinaryIO, packed), columns)


def _format(path: Path, format: str | None) -> tuple[str, bool]:
    is_gzip = path.suffix.lower() == ".gz"
    if format is None:
        suffix = (path.with_suffix("") if is_gzip else path).suffix.lower()
        format = _SUFFIXES.get(suffix)
    if format not in FORMATS:
        raise BadUsage(
            f"{path}: which format? Give --format {'|'.join(FORMATS)}, "
            "or a name that ends in .jsonl, .csv, .parquet, .jsonl.gz or .csv.gz"
        )
    if is_gzip and format == "parquet":
        raise BadUsage(f"{path}: Parquet is compressed inside; leave out .gz")
    return format, is_gzip


def _arrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise BadUsage(
            "Parquet needs pyarrow: pip install 'weibo-crawler[analysis]', or export to .jsonl"
        ) from None
    return pyarrow


def _write_parquet(arrow: Any, rows: Rows, columns: Sequence[str], file: BinaryIO) -> int:
    """Row groups of _GROUP rows; times of ours are timestamps, nested values JSON text."""
    kinds = [KINDS.get(name, Kind.TEXT) for name in columns]
    types = {
        Kind.TEXT: arrow.string(),
        Kind.WHOLE: arrow.int64(),
        Kind.TRUTH: arrow.bool_(),
        Kind.TIME: arrow.timestamp("ms", tz="UTC"),
        Kind.NESTED: arrow.string(),
    }
    schema = arrow.schema([(name, types[kind]) for name, kind in zip(columns, kinds, strict=True)])
    n = 0
    left = iter(rows)
    with arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(left, _GROUP)):
            arrays = [
                _array(arrow, [row[name] for row in group], kind, field.type)
                for name, kind, field in zip(columns, kinds, schema, strict=True)
            ]
            writer.write_batch(arrow.record_batch(arrays, schema=schema))
            n += len(group)
    return n


def _array(arrow: Any, values: list[Any], kind: Kind, type: Any) -> Any:
    """A column in Arrow, which reads texts of times itself."""
    if kind is Kind.TIME:
        return arrow.array(values, arrow.string()).cast(type)
    if kind is Kind.NESTED:
        values = [None if value is None else as_text(value) for value in values]
    return arrow.array(values, type)
