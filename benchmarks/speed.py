"""How fast each part is, beside what people would use instead and beside what the machine can do.

`make bench` runs all of it, `make bench-whole` at the sizes that the aims name, `make bench-smoke`
only sees that it runs and is right, `make bench-compare` shows what moved against
benchmarks/baseline.json. Every figure is a ratio of two rates of one run, by medians; an aim that
is missed is printed as missed.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import (
    crawling,
    exporting,
    foreign_crawls,
    hbase_writing,
    importing,
    job_starting,
    large_userlist,
    post_ids,
    seen,
    starting,
)
from benchmarks.chart import write_chart
from benchmarks.common import RESULTS, described, machine, say, table, write_json, write_section
from benchmarks.figures import Figure, Scale, Suite

_BASELINE = Path("benchmarks/baseline.json")
_DOCS, _CHART = Path("docs/benchmarks.md"), Path("docs/benchmarks.svg")


_DEFAULT = Scale(
    runs=3,
    walk_users=1500,
    post_users=600,
    mean_posts=20.0,
    starts=10,
    seen=10_000_000,
    few=10_000,
    many=10_000_000,
    walk_pages=1000,
    imported=100_000,
    written=20_000,
    stored=100_000,
    stored_hbase=50_000,
)
_SCALES = {
    "smoke": Scale(
        runs=1,
        walk_users=60,
        post_users=30,
        mean_posts=6.0,
        starts=1,
        seen=10_000,
        few=1000,
        many=2000,
        walk_pages=40,
        imported=2000,
        written=1000,
        stored=1000,
        stored_hbase=1000,
    ),
    "default": _DEFAULT,
    "whole": _DEFAULT._replace(
        walk_users=8000,
        post_users=2400,
        imported=500_000,
        stored=1_000_000,
        stored_hbase=1_000_000,
    ),
}
_SIZES = {
    "smoke": "small, once, only to see that it runs, in a minute",
    "whole": "the sizes that the aims name: 500,000 users imported, 1,000,000 posts exported from "
    "each home, longer crawls; some forty minutes, where the default takes less than nine",
}
_RESULTS = {"default": "speed.json", "whole": "speed-whole.json"}
_ALONE: dict[str, Suite] = {
    "harvest": crawling.harvest,
    "posts": crawling.posts,
    "foreign_harvest": foreign_crawls.foreign_harvest,
    "foreign_posts": foreign_crawls.foreign_posts,
    "seen": seen.seen_set,
    "userlist": large_userlist.large_userlist,
    "start": starting.starts,
}
_ON_CLUSTER: dict[str, Suite] = {
    "posts_hbase": hbase_writing.posts_hbase,
    "post_ids": post_ids.post_ids,
    "job_start": job_starting.job_starts,
    "export": exporting.exports,
    "import": importing.importer,  # last: HBase is busy with what it brought for some time after
}
_SUITES = _ALONE | _ON_CLUSTER
_GROUPS = {"alone": _ALONE, "on_cluster": _ON_CLUSTER}


def _row(figure: Figure) -> Sequence[str]:
    return (
        *(figure.what, figure.against),
        *(_number(figure.ours), _number(figure.theirs), figure.unit),
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        "" if figure.aim is None else f"{'<=' if figure.is_limit else '>='} {figure.aim:g}",
        {True: "yes", False: "**no**", None: ""}[figure.is_met],
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


_HEAD = ("what", "against", "ours", "theirs", "unit", "ratio", "aim", "met")


def _baseline() -> dict[str, float]:
    """Ratios by the figure's name, which tells the size where scales differ in it."""
    known: dict[str, float] = json.loads(_BASELINE.read_text("utf-8"))
    return known


def _compare(figures: Sequence[Figure]) -> str:
    """Each ratio beside the one of the baseline."""
    known = _baseline()
    rows = []
    for figure in figures:
        before, now = known.get(figure.name), figure.ratio
        if now is None:
            continue
        change = "new" if before is None else f"{100 * (now / before - 1):+.0f} %"
        rows.append((figure.what, figure.against, f"{before or 0:.2f}", f"{now:.2f}", change))
    return table(("what", "against", "baseline", "now", "change"), rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[[], *_SUITES, *_GROUPS], help="default: all")
    sizes = parser.add_mutually_exclusive_group()
    for name, text in _SIZES.items():
        sizes.add_argument(
            f"--{name}",
            dest="scale",
            action="store_const",
            const=name,
            default="default",
            help=text,
        )
    parser.add_argument(
        "--compare", action="store_true", help="show what moved against the baseline"
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="make this run docs and baseline; of parts that were not run, the last figures stay",
    )
    options = parser.parse_args()
    if options.save and options.scale == "smoke":
        parser.error("what --smoke measures is not worth saving")
    return options


def main() -> int:
    options = _options()
    scale = _SCALES[options.scale]
    suites = [name for one in options.suites or _SUITES for name in _GROUPS.get(one, [one])]
    file = RESULTS / _RESULTS.get(options.scale, "smoke.json")
    others = {} if set(suites) == set(_SUITES) else _measured(file, scale, besides=suites)
    if options.save and set(suites) | set(others) != set(_SUITES):
        print("nothing is saved before all parts have been measured once", file=sys.stderr)
        return 2
    measured: dict[str, list[Figure]] = {}
    with tempfile.TemporaryDirectory(prefix="weibo-bench-") as folder:
        for name in suites:
            say(f"== {name}: {_SUITES[name].__doc__}")
            measured[name] = list(_SUITES[name](Path(folder) / name, scale))
    facts = machine()
    figures = [figure for name in suites for figure in measured[name]]
    print(_text(facts, scale, figures))
    if options.compare:
        print(f"\n{_compare(figures)}")
    if options.scale == "smoke":
        return 0
    measured |= others
    figures = [figure for name in _SUITES for figure in measured.get(name, ())]
    dicts = {name: [figure.as_dict() for figure in each] for name, each in measured.items()}
    write_json(file, {"machine": facts, "scale": scale._asdict(), "figures": dicts})
    if options.save:
        ratios = {f.name: round(f.ratio, 4) for f in figures if f.ratio is not None}
        write_json(_BASELINE, _baseline() | ratios)  # figures of the other scale stay
        write_section(_DOCS, "speed", _text(facts, scale, figures))
        write_chart(_CHART, figures)
    return 0


def _text(facts: Mapping[str, str], scale: Scale, figures: Sequence[Figure]) -> str:
    return f"{described(facts)}\n{scale}\n\n{table(_HEAD, map(_row, figures))}"


def _measured(file: Path, scale: Scale, besides: Sequence[str]) -> dict[str, list[Figure]]:
    """What an earlier run of this scale has measured of the other suites."""
    if not file.exists():
        return {}
    results = json.loads(file.read_text("utf-8"))
    if results.get("scale") != scale._asdict():
        return {}
    return {
        name: [Figure(**{field: one[field] for field in Figure._fields}) for one in figures]
        for name, figures in results["figures"].items()
        if name in _SUITES and name not in besides
    }


if __name__ == "__main__":
    sys.exit(main())
