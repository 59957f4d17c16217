"""Counters and their sinks: OpenMetrics over HTTP or into a file.

A counter's name is words joined by dots, such as `page.ok` or `users.kept`. One `Counters` belongs
to one worker; a worker's figures are absolute and written as a whole, never incremented (law 8).
"""

import glob
import os
import re
import threading
from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from weibo_crawler.config import Metrics, masked, resolve
from weibo_crawler.errors import BadConfig
from weibo_crawler.outputs import is_by_hand, is_of_database

# and a kind of page: requests that were not sent, as the site shows nobody any of that kind
LEFT_OUT = "left_out."
# what requests are sent for: an edge of a walk, the first or a later visit of a user, ids of posts.
# A task hands it down to the tasks that it starts
PURPOSE: ContextVar[str] = ContextVar("purpose", default="other")


class Counters:
    """Named whole numbers; safe to add to from several threads."""

    def __init__(self, start: Mapping[str, int] | None = None) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter(start or {})

    def add(self, name: str, n: int = 1) -> None:
        if n:
            with self._lock:
                self._counts[name] += n

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def replace(self, counts: Mapping[str, int]) -> None:
        """Other figures in place of these."""
        with self._lock:
            self._counts = Counter(counts)

    def snapshot(self) -> dict[str, int]:
        """A copy of all counters that are not zero."""
        with self._lock:
            return {name: n for name, n in sorted(self._counts.items()) if n}


def total(several: list[dict[str, int]]) -> dict[str, int]:
    """The sum of several workers' counters."""
    summed: Counter[str] = Counter()
    for counts in several:
        summed.update(counts)
    return dict(summed)


class OpenMetrics:
    """Shows one `Counters` to a scraper (`metrics.listen`) or in a file (`metrics.textfile`).

    Used as a context manager around a run; `write` refreshes the file.
    """

    def __init__(self, settings: Metrics, counters: Counters, stage: str) -> None:
        self._settings, self._counters, self._stage = settings, counters, stage
        self._registry: Any = None
        self._server: Any = None

    def __enter__(self) -> "OpenMetrics":
        if self._settings.listen is None and self._settings.textfile is None:
            return self
        from prometheus_client import CollectorRegistry

        self._registry = CollectorRegistry()
        self._registry.register(self)
        if self._settings.listen is not None:
            self._listen(self._settings.listen)
        if self._settings.textfile is not None:
            _remove_parts(resolve(self._settings.textfile))
        self.write()
        return self

    def _listen(self, place: str) -> None:
        from prometheus_client import start_http_server

        host, _, port = place.rpartition(":")
        try:
            if not port.isdecimal():
                raise OSError(0, "no port")  # the text of a ValueError would hold the value
            self._server, _ = start_http_server(int(port), host or "127.0.0.1", self._registry)
        except (OSError, OverflowError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or "no such port"
            raise BadConfig(
                f"metrics.listen: cannot listen on {masked(place)} ({why}); give a free host:port"
            ) from None

    def __exit__(self, *_: object) -> None:
        self.write()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def collect(self) -> Any:
        """prometheus_client's collector protocol."""
        from prometheus_client.core import CounterMetricFamily

        family = CounterMetricFamily(
            "weibo_crawler_events", "What happened, by name", labels=["stage", "name"]
        )
        for name, n in self._counters.snapshot().items():
            family.add_metric([self._stage, name], n)
        yield family

    def write(self) -> None:
        """Rewrite `metrics.textfile`, whole or not at all."""
        if self._registry is None or self._settings.textfile is None:
            return
        from prometheus_client import write_to_textfile

        path = resolve(self._settings.textfile)
        if path.exists() and not path.is_file():
            raise BadConfig(f"metrics.textfile: {masked(str(path))} is no file; name another")
        if is_of_database(path):
            raise BadConfig(f"metrics.textfile: {path} is part of a SQLite database; name another")
        if is_by_hand(path):
            raise BadConfig(f"metrics.textfile: {path} looks like settings, seeds or proxies")
        try:
            write_to_textfile(str(path), self._registry)
        except OSError as error:
            raise BadConfig(
                f"metrics.textfile: cannot write {masked(str(path))}: {error.strerror}"
            ) from None


def _remove_parts(path: Path) -> None:
    """Remove what runs that were killed while they wrote this file left beside it. The library
    that writes it adds process and thread to the name."""
    for part in path.parent.glob(f"{glob.escape(path.name)}.*.*"):
        found = re.fullmatch(r"\.(\d+)\.\d+", part.name.removeprefix(path.name), re.ASCII)
        if found and not _is_alive(int(found[1])):
            part.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
