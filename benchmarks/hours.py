"""Thirty hours of a site that says no, by the virtual clock: does the crawl fall off, or grow?"""

from itertools import pairwise

from benchmarks import schedulers
from benchmarks.processes import resident_bytes

_MB = 1 << 20


def run(proxies: int, hours: int) -> dict[str, list[float]]:
    """by_hour: pages; memory: what the process holds at the end of each, in MB; and the figures of
    `schedulers.by_ring` of all hours. The fetcher alone: no store."""
    pages, memory = [0], []

    def look(so_far: int) -> None:
        pages.append(so_far)
        memory.append(resident_bytes() / _MB)

    seconds = hours * schedulers.HOUR_S + 1.0  # the last hour is looked at when it is over
    figures = schedulers.by_ring(1, schedulers.KNOWN, proxies, seconds, hourly=look)
    by_hour = [float(after - before) for before, after in pairwise(pages)]
    return {"by_hour": by_hour, "memory": memory, **{name: [n] for name, n in figures.items()}}
