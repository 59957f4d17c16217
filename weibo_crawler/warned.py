"""Warnings of processes whose output nobody reads: they travel with the figures that a mapper
reports, and the command that waits for it says each once."""

import logging
import re
import sys
from collections import Counter

WARNED = "warned: "  # before the text of a warning, in place of a figure's name
_MOST = 20  # different ones of a process: more say nothing new
_NUMBER = re.compile(r"\d+")


class Warned(logging.Handler):
    """Keeps the warnings of this program from now on, and writes them to stderr, as they are
    written where nothing keeps them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._counts: Counter[str] = Counter()
        _program().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """One warning."""
        text = record.getMessage()
        print(text, file=sys.stderr, flush=True)
        if text in self._counts or len(self._counts) < _MOST:
            self._counts[text] += 1  # one at a time: `handle` holds the lock of handlers

    def counters(self) -> dict[str, int]:
        """How often each came, by WARNED and its text."""
        return {WARNED + text: n for text, n in self._counts.copy().items()}

    def close(self) -> None:
        """Keep nothing more."""
        _program().removeHandler(self)
        super().close()


class Once:
    """Tells what is said for the first time. Numbers make no difference: processes that wait for
    the same egresses differ in seconds and ports."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def is_news(self, text: str) -> bool:
        """Whether nothing of the kind was asked for before."""
        shape, n = _NUMBER.sub("0", text), len(self._said)
        self._said.add(shape)
        return len(self._said) > n


def _program() -> logging.Logger:
    return logging.getLogger(__package__)
