"""Rows as a table for a terminal: fixed columns, wide characters counted as two cells.

Streams: the first rows tell the widths, later rows are cut to them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import BinaryIO

from weibo_crawler.printable import one_line

_SAMPLE = 100  # rows that tell the widths
_GAP = "  "
_NARROWEST = 8  # cells of a column that gives way to others


def write_table(rows: Iterable[Sequence[str]], columns: Sequence[str], stream: BinaryIO) -> None:
    """Print rows of texts under their columns; numbers stand to the right and are never cut."""
    from rich.console import Console
    from rich.text import Text

    console = Console(force_terminal=stream.isatty())
    shown = ([one_line(text) for text in row] for row in rows)
    sample = list(islice(shown, _SAMPLE))
    numeric = [_is_numeric(row[i] for row in sample) for i in range(len(columns))]
    widths = _widths([list(columns), *sample], numeric, console.width)

    def line(row: Sequence[str]) -> str:
        return _GAP.join(map(_fit, row, widths, numeric)).rstrip()

    # rich styles but does not write: it ends the process itself where a pipe breaks
    with console.capture() as captured:
        console.print(Text(line(columns), "bold"), soft_wrap=True)
    stream.write(captured.get().encode())
    for row in chain(sample, shown):
        stream.write(line(row).encode() + b"\n")


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
