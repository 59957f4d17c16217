"""Rows to a file: JSON Lines, CSV or Parquet, there whole or not at all, in flat memory."""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from weibo_crawler.analysis.columns import KNOWN
from weibo_crawler.analysis.files import replacing
from weibo_crawler.analysis.parallel import Parted
from weibo_crawler.analysis.parquet import write_parquet
from weibo_crawler.analysis.writers import Rows, write
from weibo_crawler.errors import BadUsage, how_to_install
from weibo_crawler.store.rows.fields import Field

_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
COMPRESSED = ("parquet",)  # inside, so no .gz stands behind its name
EXCEL = "excel"  # of .csv as well
IDS = "ids"  # of any name


def export(
    rows: Rows | Parted,
    columns: Sequence[str],
    path: Path,
    format: str | None = None,
    fields: Mapping[str, Field] = KNOWN,
) -> int:
    """Write the rows to `path`, returns how many. format: of FORMATS, EXCEL, IDS; None: by suffix.
    fields: what the columns hold.

    A `.gz` at the end compresses JSON Lines and CSV. An old file stays until the new one is whole.
    BadUsage for an unknown format or a missing library; StoreFull, StoreError for the file.
    """
    format, is_gzip = _format(path, format)
    if format == "parquet":
        arrow = arrow_of()
        with replacing(path) as file:
            return write_parquet(arrow, rows, {name: fields[name] for name in columns}, file)
    with replacing(path) as file:
        if not is_gzip:
            return _write(rows, format, file, columns)
        # neither name nor time inside: equal rows give equal bytes
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            return _write(rows, format, cast(BinaryIO, packed), columns)


def _write(rows: Rows | Parted, format: str, stream: BinaryIO, columns: Sequence[str]) -> int:
    if isinstance(rows, Parted):
        return rows.write(format, stream, tuple(columns))
    return write(rows, format, stream, columns)


def _format(path: Path, format: str | None) -> tuple[str, bool]:
    is_gzip = path.suffix.lower() == ".gz"
    if format is None:
        suffix = (path.with_suffix("") if is_gzip else path).suffix.lower()
        format = _SUFFIXES.get(suffix)
    if format not in (*FORMATS, EXCEL, IDS):
        raise BadUsage(
            f"{path}: which format? Give --format {'|'.join(FORMATS)}, "
            f"or a name that ends in {', '.join(_SUFFIXES)}; .gz may follow"
        )
    if is_gzip and format in COMPRESSED:
        raise BadUsage(f"{path}: {format} is compressed inside; leave out .gz")
    return format, is_gzip


def arrow_of() -> Any:
    """pyarrow, with what exports need of it. BadUsage names the remedy where it is missing."""
    try:
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError:
        raise BadUsage(
            f"Parquet needs pyarrow: {how_to_install('analysis')}, or export to .jsonl"
        ) from None
    return pyarrow
