"""Counters and their sinks: OpenMetrics over HTTP or into a file.

A counter's name is words joined by dots, such as `page.ok` or `users.kept`. One `Counters` belongs
to one worker; a worker's figures are absolute and written as a whole, never incremented (law 8).
"""

import glob
import logging
import os
import re
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from weibo_crawler import __version__
from weibo_crawler.config import Metrics, masked, resolve
from weibo_crawler.errors import BadConfig
from weibo_crawler.outputs import is_by_hand, is_of_database

_log = logging.getLogger(__name__)

# and a kind of page: requests that were not sent, as the site shows nobody any of that kind
LEFT_OUT = "left_out."
# what requests are sent for: an edge of a walk, the first or a later visit of a user, ids of posts.
# A task hands it down to the tasks that it starts
NEW = "level.new"  # users whom reducers of a harvest by jobs have stored
PURPOSE: ContextVar[str] = ContextVar("purpose", default="other")
_ANSWERED = "answer_ms."  # and an upper bound of milliseconds: answers that took so long
_ANSWERED_IN_ALL = f"{_ANSWERED}sum"
_BOUNDS_MS = (50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000)


class _Family(NamedTuple):
    """Counters that scrapers see with labels: those whose name is the prefix and a word for each
    label."""

    name: str
    help: str
    prefix: str
    labels: tuple[str, ...]


_FAMILIES = (
    _Family(
        "weibo_crawler_requests",
        "Requests, by what they were sent for (an edge of the harvest, first or later visits of "
        "posts), the kind of page, and the verdict; unanswered: none came; kept: none was sent, a "
        "harvest had the page",
        "asked.",
        ("purpose", "kind", "answer"),
    ),
    _Family("weibo_crawler_pages", "Answers, by verdict", "page.", ("verdict",)),
)


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


def figures(counters: Mapping[str, int]) -> dict[str, int]:
    """Those that are numbers of something. A name with spaces is what a worker says, such as why it
    waits, which changes with every second: a monitor would take each for a counter of its own."""
    return {name: n for name, n in counters.items() if " " not in name}


def note_answer(counters: Counters, seconds: float) -> None:
    """Count an answer by how long it took."""
    took_ms = seconds * 1000
    place = bisect_left(_BOUNDS_MS, took_ms)
    bound = _BOUNDS_MS[place] if place < len(_BOUNDS_MS) else "more"
    counters.add(f"{_ANSWERED}{bound}")
    counters.add(_ANSWERED_IN_ALL, round(took_ms))


class OpenMetrics:
    """Shows one `Counters` to a scraper (`metrics.listen`) or in a file (`metrics.textfile`).

    Used as a context manager around a run; `write` refreshes the file. Errors: BadConfig, but
    where the file was written before and there is no room any more, say: that is logged.
    """

    def __init__(self, settings: Metrics, counters: Counters, stage: str) -> None:
        self._settings, self._counters, self._stage = settings, counters, stage
        self._began = time.time()
        self._registry: Any = None
        self._server: Any = None
        self._is_written, self._trouble = False, ""

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
            address = host.removeprefix("[").removesuffix("]") or "127.0.0.1"  # [::1]:9000
            self._server, _ = start_http_server(int(port), address, self._registry)
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

    def collect(self) -> Iterator[Any]:
        """prometheus_client's collector protocol."""
        counts, began = self._counters.snapshot(), {self._stage: self._began}
        yield from _labelled(counts, self._stage)
        yield _histogram(counts, self._stage)
        yield gauges("build_info", "The version at work", "version", {__version__: 1})
        yield gauges("run_start_timestamp_seconds", "When this run began", "stage", began)

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
            self._cannot(f"metrics.textfile: cannot write {masked(str(path))}: {error.strerror}")
        else:
            self._is_written, self._trouble = True, ""

    def _cannot(self, why: str) -> None:
        """Say why the file is not written: once for each reason, and where it never was by an
        error. Figures are no reason to end a run that has begun."""
        if not self._is_written:
            raise BadConfig(why)
        if why != self._trouble:
            _log.warning("%s; the run goes on, and the file is as it was", why)
        self._trouble = why


def gauges(name: str, said: str, label: str, values: Mapping[str, float]) -> Any:
    """Figures of one name, told apart by a label."""
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"weibo_crawler_{name}", said, labels=[label])
    for value, n in values.items():
        family.add_metric([value], n)
    return family


def _labelled(counts: Mapping[str, int], stage: str) -> Iterator[Any]:
    """The families of all counters; all of them by name in one more, for those without labels."""
    from prometheus_client.core import CounterMetricFamily

    for one in _FAMILIES:
        family = CounterMetricFamily(one.name, one.help, labels=["stage", *one.labels])
        for name, n in counts.items():
            words = name.removeprefix(one.prefix).split(".")
            if name.startswith(one.prefix) and len(words) == len(one.labels):
                family.add_metric([stage, *words], n)
        yield family
    events = CounterMetricFamily(
        "weibo_crawler_events", "Every counter by its name, as in --json", labels=["stage", "name"]
    )
    for name, n in counts.items():
        if not name.startswith(_ANSWERED):
            events.add_metric([stage, name], n)
    yield events


def _histogram(counts: Mapping[str, int], stage: str) -> Any:
    from prometheus_client.core import HistogramMetricFamily

    within = accumulate(counts.get(f"{_ANSWERED}{bound}", 0) for bound in (*_BOUNDS_MS, "more"))
    bounds = [*(str(bound / 1000) for bound in _BOUNDS_MS), "+Inf"]
    family = HistogramMetricFamily(
        "weibo_crawler_answer_seconds", "How long answers of the site took", labels=["stage"]
    )
    in_all_s = counts.get(_ANSWERED_IN_ALL, 0) / 1000
    family.add_metric([stage], list(zip(bounds, within, strict=True)), in_all_s)
    return family


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
        pass
    return True
