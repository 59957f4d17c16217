"""A site that says no: the budget of 200 proxies, 10,000 pages through faults, users by edge.

    python -m benchmarks.polite [--quick] [--only proxies|hours|faults|edges] [--docs FILE]

Prints tables, writes benchmarks/results/polite.json. Figures are medians over the runs, each with a
seed of its own.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import edges, faults, hours, hours_posts, polite_tables, schedulers, sockets
from benchmarks.common import (
    RESULTS,
    described,
    machine,
    say,
    write_json,
    write_section,
)
from benchmarks.sizes import QUICK, Sizes
from benchmarks.virtual_site import LOOPBACK

Figures = dict[str, float]
Job = Callable[[], Figures]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = _options(arguments)
    sizes = QUICK if options.quick else Sizes()
    parts = [options.only] if options.only else list(_PARTS)
    results: dict[str, Any] = {"machine": machine(), "sizes": sizes._asdict()}
    sections = []
    for part in parts:
        say(f"{part}: begins")
        measure, show = _PARTS[part]
        results[part] = measure(sizes)
        sections.append(show(results[part], sizes))
    text = "\n\n".join([f"Measured on {described(results['machine'])}", *sections])
    print(text)
    write_json(options.out, results)
    if options.docs is not None:
        write_section(options.docs, "polite", text)
    say(f"done; all figures are in {options.out}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-polite", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, one run: does it work?")
    parser.add_argument("--only", choices=list(_PARTS), help="one part instead of all")
    parser.add_argument("--out", type=Path, default=RESULTS / "polite.json", metavar="FILE")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="put the tables into its section")
    return parser.parse_args(arguments)


# -- proxies


def measure_proxies(sizes: Sizes) -> dict[str, list[Figures]]:
    """Of each scheduler the figures of each run; and of one short run by both clocks."""
    n, seconds = sizes.proxies, sizes.seconds
    ways: dict[str, Callable[[int], Job]] = {
        "known": lambda seed: partial(schedulers.by_ring, seed, schedulers.KNOWN, n, seconds),
        "unknown": lambda seed: partial(schedulers.by_ring, seed, schedulers.UNKNOWN, n, seconds),
        "dice": lambda seed: partial(schedulers.by_dice, seed, n, seconds),
        "ideal": lambda seed: partial(schedulers.by_oracle, seed, n, seconds),
    }
    measured = _side_by_side(ways, sizes.runs, workers=cpu_count() or 1)
    say(f"proxies: real sockets, {sizes.real_s:g} s")
    measured["real clock"] = [sockets.run(1, n, sizes.real_s)]
    measured["virtual clock"] = [schedulers.by_ring(1, schedulers.KNOWN, n, sizes.real_s, LOOPBACK)]
    return measured


def measure_hours(sizes: Sizes) -> dict[str, dict[str, list[float]]]:
    """By hour, each in a process of its own: memory is measured."""
    parts: dict[str, tuple[Callable[..., dict[str, list[float]]], int]] = {
        "fetcher": (hours.run, sizes.hour_proxies),
        "posts": (hours_posts.run, sizes.hour_post_proxies),
    }
    measured = {}
    for name, (measure, proxies) in parts.items():
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            measured[name] = pool.submit(measure, proxies, sizes.hours).result()
    return measured


# -- faults


def measure_faults(sizes: Sizes) -> list[Figures]:
    """The figures of each run."""
    ways = {"faults": lambda seed: partial(_faults, seed, sizes)}
    return _side_by_side(ways, sizes.runs, workers=sizes.runs)["faults"]


def _faults(seed: int, sizes: Sizes) -> Figures:
    with TemporaryDirectory(prefix="bench-polite-") as folder:
        return faults.run(Path(folder), seed, sizes.fault_users, sizes.passes)


# -- edges


def measure_edges(sizes: Sizes) -> dict[str, list[Figures]]:
    """The figures of each run: of short walks by each edge, and of the default to its end."""
    users, requests = sizes.edge_users, sizes.edge_requests
    marks = (requests, 5 * requests)
    ways: dict[str, Callable[[int], Job]] = {
        "edges": lambda seed: partial(edges.run, seed, users, requests),
        "to the end": lambda seed: partial(edges.run_dry, seed, users, marks),
        "both stages": lambda seed: partial(edges.run_both, seed, users, 5 * requests),
    }
    return _side_by_side(ways, sizes.runs, workers=1)


def _side_by_side(
    ways: Mapping[str, Callable[[int], Job]], runs: int, *, workers: int
) -> dict[str, list[Figures]]:
    """Each way with the seeds 1 to `runs`, so many processes at a time."""
    measured: dict[str, list[Figures]] = {name: [] for name in ways}
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        jobs = {
            pool.submit(way(seed)): f"{name}, run {seed} of {runs}"
            for name, way in ways.items()
            for seed in range(1, runs + 1)
        }
        for job in as_completed(jobs):
            name = jobs[job].partition(",")[0]
            measured[name].append(job.result())
            say(jobs[job])
    return measured


_PARTS: dict[str, tuple[Callable[[Sizes], Any], Callable[[Any, Sizes], str]]] = {
    "proxies": (measure_proxies, polite_tables.show_proxies),
    "hours": (measure_hours, polite_tables.show_hours),
    "faults": (measure_faults, polite_tables.show_faults),
    "edges": (measure_edges, polite_tables.show_edges),
}

if __name__ == "__main__":
    raise SystemExit(main())
