"""What the site's words may not do to a terminal or a log: move its cursor, colour it, turn the
reading order.

Every text of the command line and of the map job goes through `guard_streams`, whoever prints it:
closing lines, errors, warnings, tracebacks, `logging`. Data that is written as bytes is made safe
where it is written (analysis/writers.py).
"""

import io
import re
import sys
from typing import Any, TextIO

_ORDER_MARKS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ENDS_OF_LINES = (0x85, 0x2028, 0x2029)
_OBEYED = (*range(0x7F, 0xA0), *_ORDER_MARKS, 0x2028, 0x2029)  # beside C0, which JSON escapes
# the same characters in UTF-8
_OBEYED_BYTES = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)
_FIRST_BYTES = b"\x7f\xc2\xd8\xe2"  # most lines hold none of them


def _shown() -> dict[int, str]:
    shown = {code: chr(0x2400 + code) for code in range(0x20)}  # ESC is shown as ␛
    shown |= dict.fromkeys(_OBEYED, "\N{REPLACEMENT CHARACTER}")
    shown |= dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")
    return shown | {ord("\t"): " ", ord("\r"): ""} | dict.fromkeys(_ENDS_OF_LINES, "⏎")


_ONE_LINE = _shown() | {ord("\n"): "⏎"}
_LINES = {code: text for code, text in _ONE_LINE.items() if code != ord("\n")}
_ESCAPED = {code: f"\\u{code:04x}" for code in _OBEYED}


def printable(text: str) -> str:
    """Lines that a terminal shows and does not obey."""
    return text.translate(_LINES)


def one_line(text: str) -> str:
    """The same in one line."""
    return text.translate(_ONE_LINE)


def printable_json(text: str) -> str:
    """JSON of the same value whose text a terminal does not obey: such characters are escaped."""
    return text.translate(_ESCAPED)


def printable_json_bytes(line: bytes) -> bytes:
    """`printable_json` of UTF-8, many times as fast."""
    if len(line.translate(None, _FIRST_BYTES)) == len(line):
        return line
    return _OBEYED_BYTES.sub(lambda found: f"\\u{ord(found[0].decode()):04x}".encode(), line)


class _Guarded:
    """A text stream that a text cannot command; all but writing is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.unguarded = stream

    def write(self, text: str) -> int:
        self.unguarded.write(printable(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def guard_streams() -> None:
    """From now on whatever this process prints is printable. May be repeated: a stream that was
    put in the place of a guarded one is guarded too. A stream of bytes holds data, not text."""
    for name in ("stdout", "stderr"):
        if isinstance(getattr(sys, name), io.TextIOBase):
            setattr(sys, name, _Guarded(getattr(sys, name)))


def unguarded(stream: TextIO) -> TextIO:
    """The stream itself, for one who moves the cursor on purpose."""
    return stream.unguarded if isinstance(stream, _Guarded) else stream


def guard_task() -> None:
    """The streams of a job's task: mrjob's inline runner gives it a stderr of bytes."""
    if not isinstance(unguarded(sys.stderr), io.TextIOBase):
        sys.stderr = io.TextIOWrapper(sys.stderr, "utf-8", write_through=True)
        guard_streams()
