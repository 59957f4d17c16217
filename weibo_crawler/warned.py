"""Warnings of processes whose output nobody reads: they travel with the figures that a mapper
reports, and the command that waits for it says each once."""

import logging
from collections import Counter
from typing import TextIO

WARNED = "warned: "  # before the text of a warning, in place of a figure's name
_MOST = 20  # different ones of a process: more say nothing new


class Warned(logging.StreamHandler[TextIO]):
    """Keeps the warnings of this program from now on, and writes them to stderr, as `logging` does
    where nobody handles them."""

    def __init__(self) -> None:
        super().__init__()
        self.setLevel(logging.WARNING)
        self._counts: Counter[str] = Counter()
        _program().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """One warning; `handle` holds the lock meanwhile."""
        super().emit(record)
        text = record.getMessage()
        if text in self._counts or len(self._counts) < _MOST:
            self._counts[text] += 1

    def counters(self) -> dict[str, int]:
        """How often each came, by WARNED and its text."""
        return {WARNED + text: n for text, n in self._counts.copy().items()}

    def close(self) -> None:
        """Keep nothing more."""
        _program().removeHandler(self)
        super().close()


def _program() -> logging.Logger:
    return logging.getLogger(__package__)
