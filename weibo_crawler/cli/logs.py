"""The lines that commands write to stderr while they work: progress, warnings, and why they failed.

`plain` writes the words alone, `time` a time and a level before them, `json` an object a line: at
(ISO 8601, UTC), level (info, warning, error), command, text.
"""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from weibo_crawler.printable import one_line

FORMS = ("plain", "time", "json")

_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


class _Lines(logging.Handler):
    """Writes to the stderr of the moment. command: its name, in lines of JSON."""

    def __init__(self, form: str, command: str) -> None:
        super().__init__()
        self.form, self._command = form, command

    def emit(self, record: logging.LogRecord) -> None:
        """One record, one line but for plain text."""
        try:
            print(self._line(record), file=sys.stderr, flush=True)
        except OSError:  # nobody reads it any more
            return

    def _line(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if self.form == "plain":
            return text
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        at, level = at[:-6] + "Z", record.levelname.lower()
        if self.form == "time":
            return f"{at} {level} {one_line(text)}"
        told = {"at": at, "level": level, "command": self._command, "text": one_line(text)}
        return json.dumps(told, ensure_ascii=False)


@contextmanager
def lines(form: str, command: str) -> Iterator[None]:
    """Write whatever any part of the program says meanwhile in this form. command: its name."""
    handler = _Lines(form, command)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def is_plain() -> bool:
    """Whether lines are for people: a terminal may show a live one."""
    ours = [one for one in logging.getLogger().handlers if isinstance(one, _Lines)]
    return all(one.form == "plain" for one in ours)


def say(text: str, level: int = logging.INFO) -> None:
    _log.log(level, "%s", text)
