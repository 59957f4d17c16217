"""Rows as a table for a terminal: fixed columns, wide characters counted as two cells.

Streams: the first rows tell the widths, later rows are cut to them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import BinaryIO

_SAMPLE = 100  # rows that tell the widths
_GAP = "  "
_NARROWEST = 8  # cells of a column that gives way to others


def _printable() -> dict[int, str]:
    """What a text may not do to a terminal: move its cursor, colour it, turn the reading order."""
    shown = {code: chr(0x2400 + code) for code in range(0x20)}  # ESC is shown as ␛
    shown |= dict.fromkeys(range(0x7F, 0xA0), "\N{REPLACEMENT CHARACTER}")
    order = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    shown |= dict.fromkeys(order, "\N{REPLACEMENT CHARACTER}")
    shown |= dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")
    shown |= {ord("\t"): " ", ord("\r"): "", ord("\n"): "⏎", 0x2028: "⏎", 0x2029: "⏎", 0x85: "⏎"}
    return shown


_PRINTABLE = _printable()


def safe(text: str) -> str:
    """One line that a terminal shows and does not obey."""
    return text.translate(_PRINTABLE)


def write_table(rows: Iterable[Sequence[str]], columns: Sequence[str], stream: BinaryIO) -> None:
    """Print rows of texts under their columns; numbers stand to the right and are never cut."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=_Utf8(stream), highlight=False, markup=False)  # type: ignore[arg-type]
    shown = ([safe(text) for text in row] for row in rows)
    sample = list(islice(shown, _SAMPLE))
    numeric = [_is_numeric(row[i] for row in sample) for i in range(len(columns))]
    widths = _widths([list(columns), *sample], numeric, console.width)

    def show(row: Sequence[str], style: str = "") -> None:
        line = _GAP.join(map(_fit, row, widths, numeric)).rstrip()
        console.print(Text(line, style), soft_wrap=True)

    show([safe(name) for name in columns], "bold")
    for row in chain(sample, shown):
        show(row)


class _Utf8:
    """A text file as rich wants one, UTF-8 whatever the locale; holds nothing back."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        self._stream.write(text.encode())

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()


def _is_numeric(texts: Iterator[str]) -> bool:
    return all(text.isascii() and text.isdigit() for text in texts if text)


def _widths(rows: list[list[str]], numeric: Sequence[bool], room: int) -> list[int]:
    """Cells for each column: what its widest text takes, the widest column giving way first."""
    from rich.cells import cell_len

    widths = [
        max(cell_len(text[: 2 * room]) for text in column) for column in zip(*rows, strict=True)
    ]
    elastic = [i for i, fixed in enumerate(numeric) if not fixed]
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - room
    while over > 0 and elastic:
        widest = max(elastic, key=lambda i: widths[i])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
        over -= 1
    return widths


def _fit(text: str, width: int, to_the_right: bool) -> str:
    from rich.cells import cell_len, set_cell_size

    text = text[: 4 * width]  # marks that take no cell may follow each character
    size = cell_len(text)
    if size > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - size) + text if to_the_right else text + " " * (width - size)
