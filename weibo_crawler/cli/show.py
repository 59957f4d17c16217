"""What a run shows while it works: a live line on a terminal, plain lines elsewhere."""

import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weibo_crawler.cli import logs
from weibo_crawler.metrics import LEFT_OUT
from weibo_crawler.printable import guard_streams, one_line, unguarded

_PLAIN_EVERY_S = 5.0
_SPEED_LOOKS = 60  # a second apart or more: the speed is that of the last minute


_is_quiet = False  # of this command: --quiet


def be_quiet(*, is_quiet: bool) -> None:
    """Whether commands of this process show no progress."""
    global _is_quiet  # one command a process
    _is_quiet = is_quiet


class Progress:
    """A context manager; everything goes to stderr. Shows nothing after `be_quiet`."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._live: Any = None
        self._last = time.monotonic()

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty() and logs.is_plain() and not _is_quiet:
            from rich.console import Console

            self._live = Console(file=unguarded(sys.stderr)).status(self._title)
            self._live.start()
            guard_streams()  # what others print goes through rich now, which obeys some of it
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str, *, is_news: bool = False) -> None:
        """Where the run stands now. is_news: said at once where there is no live line, too."""
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(one_line(f"{self._title}: {text}")))
        elif not _is_quiet and (is_news or time.monotonic() - self._last >= _PLAIN_EVERY_S):
            self._last = time.monotonic()
            logs.say(f"{self._title}: {text}")


class Advance:
    """How far long work is, how fast it goes, and how long it will take at that speed.

    total: of how many things, 0: unknown. clock: seconds that never go back.
    """

    def __init__(self, total: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total, clock
        self._seen: deque[tuple[float, int]] = deque(maxlen=_SPEED_LOOKS)

    def words(self, done: int, what: str) -> str:
        """`254 of 551 users (46 %), 27 a second, 11.0 s left`. what: the things that are done."""
        now = self._clock()
        if not self._seen or now - self._seen[-1][0] >= 1.0:
            self._seen.append((now, done))
        is_known = 0 < done <= self._total
        of = f" of {self._total:,}" if is_known else ""
        share = f" ({100 * done // self._total} %)" if is_known else ""
        begun_at, before = self._seen[0]
        if now - begun_at < 1.0 or done <= before:
            return f"{done:,}{of} {what}{share}"
        per_s = (done - before) / (now - begun_at)
        speed = f"{per_s:,.0f} a second" if per_s >= 10 else f"{per_s * 60:,.0f} a minute"
        left = f", {seconds((self._total - done) / per_s)} left" if is_known else ""
        return f"{done:,}{of} {what}{share}, {speed}{left}"


def program() -> str:
    """How this program is called from here: by its name where that is on the path."""
    beside = Path(sys.executable).with_name("weibo-crawler")
    if shutil.which("weibo-crawler") or not beside.exists():
        return "weibo-crawler"
    return os.path.relpath(beside)


def grouped(n: int, zero: str) -> str:
    """1234 -> "1,234"; 0 -> a word."""
    return f"{n:,}" if n else zero


def seconds(span_s: float) -> str:
    """A span for people: 4.2 s, 3 min 20 s, 2 h 5 min, 3.1 days."""
    if span_s < 60:
        return f"{span_s:.1f} s"
    if span_s < 3600:
        return f"{span_s // 60:.0f} min {span_s % 60:.0f} s"
    if span_s < 86400:
        return f"{span_s // 3600:.0f} h {span_s % 3600 // 60:.0f} min"
    return f"{span_s / 86400:.1f} days"


def verdicts(counters: dict[str, int]) -> str:
    """Pages by verdict, the most frequent first, and kinds of which the site shows nobody any:
    "412 ok, 31 end; left out, as nobody is shown any: extend"."""
    pages = [(n, name.removeprefix("page.")) for name, n in counters.items() if "page." in name]
    listed = [f"{n:,} {name}" for n, name in sorted(pages, key=lambda p: (-p[0], p[1]))]
    shut = sorted(name.removeprefix(LEFT_OUT) for name in counters if name.startswith(LEFT_OUT))
    left_out = f"; left out, as nobody is shown any: {', '.join(shut)}" if shut else ""
    return (", ".join(listed) or "none") + left_out
