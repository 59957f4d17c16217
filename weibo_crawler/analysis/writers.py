"""Rows to a stream: JSON Lines, CSV, CSV for Excel, or a table for a terminal."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from weibo_crawler.analysis.columns import IDS
from weibo_crawler.analysis.table import write_table
from weibo_crawler.errors import BadUsage
from weibo_crawler.printable import printable, printable_json_bytes

Rows = Iterable[Mapping[str, Any]]
_encode = msgspec.json.Encoder().encode
_BOM = b"\xef\xbb\xbf"
_LIKE_A_NUMBER = re.compile("[0-9][0-9eE.,:/%-]*")  # or a date
_LIKE_A_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")


def write(rows: Rows, format: str, stream: BinaryIO, columns: Sequence[str]) -> int:
    """Write these columns of each row; returns how many rows. format: one of FORMATS.

    A BrokenPipeError of the stream is the caller's.
    """
    if format not in FORMATS:
        raise BadUsage(f"unknown format {format!r}; use one of: {', '.join(FORMATS)}")
    counted = _Counted(rows)
    FORMATS[format](counted, stream, columns)
    stream.flush()
    return counted.n


def write_jsonl(rows: Rows, stream: BinaryIO, columns: Sequence[str]) -> None:
    """One JSON object a line, UTF-8, every column in every line (null where there is none). What a
    terminal would obey is escaped, which changes no value."""
    for row in rows:
        line = _encode({name: row.get(name) for name in columns})
        stream.write(printable_json_bytes(line) + b"\n")


def write_csv(rows: Rows, stream: BinaryIO, columns: Sequence[str]) -> None:
    """RFC 4180 in UTF-8 with a header; None is empty, true/false as in JSON, lists and objects are
    JSON. Texts are as the site gave them: a spreadsheet may take `=1+1` for a formula. On a
    terminal they are printable instead."""
    writer = csv.writer(_Encoded(stream))
    writer.writerow(columns)
    writer.writerows([as_text(row.get(name)) for name in columns] for row in rows)


def _write_excel(rows: Rows, stream: BinaryIO, columns: Sequence[str]) -> None:
    """CSV for Excel: a byte order mark, by which it knows UTF-8, and cells that it shows as they
    are."""
    stream.write(_BOM)
    shown = ({name: _for_excel(name, row.get(name)) for name in columns} for row in rows)
    write_csv(shown, stream, columns)


def _for_excel(name: str, value: object) -> object:
    """A value that Excel shows as it is. It would make a number or a date of a text that looks like
    one, round ids of more than 15 digits, and calculate formulas."""
    if name in IDS and value is not None:
        value = str(value)
    if not isinstance(value, str):
        return value
    if _LIKE_A_NUMBER.fullmatch(value):
        return f'="{value}"'
    return f"'{value}" if _LIKE_A_FORMULA.match(value) else value


def as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else _encode(value).decode()


def _write_table(rows: Rows, stream: BinaryIO, columns: Sequence[str]) -> None:
    write_table(([as_text(row.get(name)) for name in columns] for row in rows), columns, stream)


def _write_ids(rows: Rows, stream: BinaryIO, columns: Sequence[str]) -> None:
    """The first of the columns alone, a value a line."""
    for row in rows:
        stream.write(as_text(row.get(columns[0])).encode() + b"\n")


FORMATS: Mapping[str, Callable[[Rows, BinaryIO, Sequence[str]], None]] = {
    "table": _write_table,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "excel": _write_excel,
    "ids": _write_ids,
}


class _Encoded:
    """What csv writes to. A TextIOWrapper would hold back text and try to write it once more, at
    its end, to a pipe that broke."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._is_terminal = stream, stream.isatty()

    def write(self, text: str) -> None:
        self._stream.write((printable(text) if self._is_terminal else text).encode())


class _Counted:
    """Rows on their way, counted. n: how many were taken."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.n = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for row in self._rows:
            self.n += 1
            yield row
