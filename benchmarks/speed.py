"""How fast each part is, beside what people would use instead and beside what the machine can do.

`make bench` runs all of it, `make bench-smoke` only sees that it runs and is right, `make
bench-compare` shows what moved against benchmarks/baseline.json. Every figure is a ratio of two
rates of one run, by medians; an aim that is missed is printed as missed.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import static_site
from benchmarks.common import RESULTS, described, machine, say, table, write_json, write_section
from benchmarks.crawls import Bench, Rate
from weibo_crawler.simulator.routes import Kind

_BASELINE = Path("benchmarks/baseline.json")
_DOCS = Path("docs/benchmarks.md")


class Figure(NamedTuple):
    """One line of the table. ours, theirs: in the unit; ratio: what the aim is about."""

    what: str
    against: str
    ours: float
    theirs: float
    unit: str
    ratio: float
    aim: str
    is_met: bool


class Scale(NamedTuple):
    """How much is measured; see `_SCALES`."""

    runs: int
    walk_users: int
    post_users: int
    mean_posts: float


_SCALES = {"full": Scale(3, 3000, 600, 20.0), "smoke": Scale(1, 60, 30, 6.0)}
Suite = Callable[[Path, Scale], Iterator[Figure]]


def _beside(contenders: dict[str, Callable[[], Rate]], runs: int) -> dict[str, float]:
    """Pages a second by name, the median of the runs; all take turns, so that what else the
    machine does meets all of them."""
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for run in range(runs):
        for name, contender in contenders.items():
            rate = contender()
            say(f"{run + 1}/{runs} {name}: {rate.pages} pages, {rate.per_second:,.0f}/s")
            rates[name].append(rate.per_second)
    return {name: statistics.median(each) for name, each in rates.items()}


def _least(what: str, against: str, ours: float, theirs: float, aim: float) -> Figure:
    ratio = ours / theirs
    return Figure(what, against, ours, theirs, "pages/s", ratio, f">= {aim:g}", ratio >= aim)


def harvest(work: Path, scale: Scale) -> Iterator[Figure]:
    """The walk of fan lists into SQLite."""
    if why := static_site.why_not():
        say(f"harvest is skipped: {why}")
        return
    kinds = (Kind.PROFILE, Kind.FANS)
    with Bench(work, users=scale.walk_users, mean_posts=2.0, kinds=kinds) as bench:
        rates = _beside(
            {
                "fetching alone, wreq": lambda: bench.fetching("wreq", Kind.FANS),
                "harvest, wreq": lambda: bench.harvest("wreq"),
                "harvest, requests": lambda: bench.harvest("requests"),
                "requests in a loop": lambda: bench.walk_of("fans_requests"),
                "requests in 16 threads": lambda: bench.walk_of("fans_requests", "--threads", "16"),
                "Scrapy": lambda: bench.walk_of("fans_scrapy"),
            },
            scale.runs,
        )
    fast, plain = "harvest, wreq", "harvest, requests"
    for ours, theirs, aim in (
        (fast, "fetching alone, wreq", 0.5),
        (fast, "Scrapy", 15),
        (fast, "requests in a loop", 5),
        (fast, "requests in 16 threads", 5),
        (plain, "requests in a loop", 1),
    ):
        yield _least(ours, theirs, rates[ours], rates[theirs], aim)


def posts(work: Path, scale: Scale) -> Iterator[Figure]:
    """Profile and posts of the users that a walk kept, into SQLite."""
    if why := static_site.why_not():
        say(f"posts is skipped: {why}")
        return
    kinds = (Kind.PROFILE, Kind.POSTS, Kind.EXTEND)
    size = {"users": scale.post_users, "mean_posts": scale.mean_posts}
    with Bench(work, **size, kinds=kinds) as bench:  # type: ignore[arg-type]
        rates = _beside(
            {
                "fetching alone, wreq": lambda: bench.fetching("wreq", *kinds),
                "posts, wreq": lambda: bench.posts("wreq"),
                "Scrapy": lambda: bench.posts_of("posts_scrapy"),
            },
            scale.runs,
        )
    ours = rates["posts, wreq"]
    fetching = "fetching alone, wreq"
    yield _least("posts, wreq", fetching, ours, rates[fetching], 0.3)
    yield _least("posts, wreq", "Scrapy", ours, rates["Scrapy"], 8)


_SUITES: dict[str, Suite] = {"harvest": harvest, "posts": posts}


def _row(figure: Figure) -> Sequence[str]:
    return (
        *(figure.what, figure.against),
        *(f"{figure.ours:,.4g}", f"{figure.theirs:,.4g}", figure.unit),
        *(f"{figure.ratio:.2f}", figure.aim, "yes" if figure.is_met else "**no**"),
    )


_HEAD = ("what", "against", "ours", "theirs", "unit", "ratio", "aim", "met")


def _compare(figures: Sequence[Figure]) -> str:
    """Each ratio beside the one of the baseline."""
    known: dict[str, float] = json.loads(_BASELINE.read_text("utf-8"))
    rows = []
    for figure in figures:
        before = known.get(f"{figure.what} / {figure.against}")
        change = "new" if before is None else f"{100 * (figure.ratio / before - 1):+.0f} %"
        rows.append(
            (figure.what, figure.against, f"{before or 0:.2f}", f"{figure.ratio:.2f}", change)
        )
    return table(("what", "against", "baseline", "now", "change"), rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[[], *_SUITES], help="default: all")
    parser.add_argument(
        "--smoke", action="store_true", help="small, once, only to see that it runs"
    )
    parser.add_argument(
        "--compare", action="store_true", help="show what moved against the baseline"
    )
    parser.add_argument("--save", action="store_true", help="make this run docs and baseline")
    return parser.parse_args()


def main() -> int:
    options = _options()
    scale = _SCALES["smoke" if options.smoke else "full"]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="weibo-bench-") as folder:
        for name in options.suites or _SUITES:
            say(f"== {name}: {_SUITES[name].__doc__}")
            figures += _SUITES[name](Path(folder) / name, scale)
    facts = machine()
    text = f"{described(facts)}\n\n{table(_HEAD, map(_row, figures))}"
    print(text)
    if options.compare:
        print(f"\n{_compare(figures)}")
    ratios = {f"{f.what} / {f.against}": round(f.ratio, 4) for f in figures}
    results: dict[str, Any] = {"machine": facts, "figures": [f._asdict() for f in figures]}
    if not options.smoke:
        write_json(RESULTS / "speed.json", results)
    if options.save:
        write_json(_BASELINE, ratios)
        write_section(_DOCS, "speed", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
