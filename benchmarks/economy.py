"""Requests sent over requests needed, by the site's own log: `make bench-economy`.

    python -m benchmarks.economy [--users N] [--laws SEED,…] [--only WORD] [--docs FILE]

Prints tables, writes benchmarks/results/economy.json. The foreign worlds need nginx, and the folder
of their tools: WEIBO_FOREIGN, ../shared/foreign if unset.
"""

import argparse
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.common import RESULTS, described, machine, say, table, write_json, write_section
from benchmarks.foreign_world import Foreign
from benchmarks.lawful_world import Lawful
from benchmarks.needs import KINDS, SESSION, Errors, Sent, Tally, askers, tally
from tests.cli.crawls import Crawl

Site = Foreign | Lawful
AIM = 1.1
# A visit is due a moment after it was made: the only setting that is not the default, but for the
# addresses, the pace (none), and edges in place of fan lists that are walled (none).
_SETTINGS = {
    "WEIBO_POSTS__REVISIT_MIN_H": "0.0000001",
    "WEIBO_POSTS__REVISIT_MAX_D": "0.00000001",
    "WEIBO_HARVEST__EDGES_IF_WALLED": "",
}
STAGES = {"harvest": ("harvest",), "posts": ("posts",), "refresh": ("posts", "--refresh")}


class Measured(NamedTuple):
    """One world. due: users of whom the refresh asked something, of so many kept."""

    name: str
    stages: dict[str, Tally]
    due: int
    kept: int
    errors: Errors


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = _options(arguments)
    results = []
    for name in _names(options):
        say(f"{name}: begins")
        with _site(name, options) as site, TemporaryDirectory(prefix="bench-economy-") as work:
            results.append(measure(site, Path(work)))
        print(_line(results[-1]), flush=True)
    text = f"Measured on {described(machine())}\n\n" + show(results)
    print("\n" + text)
    write_json(options.out, {"machine": machine(), "worlds": [_plain(one) for one in results]})
    if options.docs is not None:
        write_section(options.docs, "economy", text)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-economy", description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=1200, help="of a foreign world (1200)")
    parser.add_argument("--lawful-users", type=int, default=300, help="of a world of laws (300)")
    parser.add_argument("--laws", default="14,23,40", metavar="SEED,…", help="(14,23,40)")
    parser.add_argument("--only", default="", metavar="WORD", help="worlds whose name has it")
    parser.add_argument("--out", type=Path, default=RESULTS / "economy.json", metavar="FILE")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="put the tables into its section")
    return parser.parse_args(arguments)


def _names(options: argparse.Namespace) -> list[str]:
    names = ["foreign", "foreign exact", *(f"laws {seed}" for seed in options.laws.split(","))]
    return [name for name in names if options.only in name]


@contextmanager
def _site(name: str, options: argparse.Namespace) -> Iterator[Site]:
    kind, _, rest = name.partition(" ")
    with TemporaryDirectory(prefix="bench-economy-site-") as folder:
        if kind == "laws":
            yield Lawful(Path(folder), int(rest), options.lawful_users)
            return
        tools = Path(os.environ.get("WEIBO_FOREIGN") or "../shared/foreign").resolve()
        if not (tools / "world.py").exists() or not _has_nginx():
            raise SystemExit(f"{name}: needs nginx, and world.py in {tools} (WEIBO_FOREIGN)")
        yield Foreign(tools, Path(folder), options.users, *(["--exact"] if rest else []))


def _has_nginx() -> bool:
    return shutil.which("nginx") is not None or Path("/usr/sbin/nginx").exists()


def measure(site: Site, work: Path) -> Measured:
    """The real commands against one site; then its log, cut at the times they began."""
    began: dict[str, float] = {}
    codes: dict[str, int] = {}
    with site.served() as (base, visitor):
        crawl = Crawl(work, base, visitor)
        crawl.env |= _SETTINGS
        crawl.run("init")
        crawl.run("seed", *site.seeds)
        for stage in STAGES:
            if stage == "posts":
                crawl.run("import")
            began[stage] = time.time()
            codes[stage] = crawl.ended(*STAGES[stage]).returncode
            say(f"{stage}: {time.time() - began[stage]:.1f} s")
        ended = time.time()
        errors = site.errors(crawl, codes)
    log = [line for line in site.log() if line.at < ended]
    parts = _cut(log, [began[stage] for stage in STAGES])
    stages = {
        stage: tally(part, site.needs(stage), site.number)
        for stage, part in zip(STAGES, parts, strict=True)
    }
    kept = len(site.needs("refresh").lists)
    return Measured(site.name, stages, len(askers(parts[-1])), kept, errors)


def _cut(log: Sequence[Sent], times: Sequence[float]) -> list[list[Sent]]:
    """The lines from each of the times to the next."""
    ends = [*times[1:], float("inf")]
    return [
        [line for line in log if begin <= line.at < end]
        for begin, end in zip(times, ends, strict=True)
    ]


# -- tables


def show(results: Sequence[Measured]) -> str:
    """Ratios by world, then requests by kind."""
    head = ["world", *STAGES, "due users asked", "missing", "extra", "wrong"]
    rows = [
        [
            one.name,
            *(_ratio(one, stage) for stage in STAGES),
            f"{one.due:,} of {one.kept:,}",
            *(f"{n:,}" for n in one.errors.values()),
        ]
        for one in results
    ]
    parts = [_MEANING, table(head, rows)]
    for stage in STAGES:
        parts += [
            f"Requests of `{' '.join(STAGES[stage])}`, needed → sent:",
            _kinds(results, stage),
        ]
    return "\n\n".join(parts)


_MEANING = f"""\
Requests sent, by the site's own log, over those needed, sessions aside; of the refresh, requests a
due user. Aim: {AIM:.2f} each; figures over it are bold. Missing, extra and wrong: users and posts
held, compared with the truth after the refresh. The refresh is `posts --refresh` by default
settings but for `posts.revisit_min_h` and `.revisit_max_d`, which make everybody due at once."""


def _ratio(one: Measured, stage: str) -> str:
    ratio = one.stages[stage].total / one.due if stage == "refresh" else one.stages[stage].ratio
    return f"{ratio:.2f}" if ratio <= AIM else f"**{ratio:.2f}**"


def _kinds(results: Sequence[Measured], stage: str) -> str:
    """A row for each kind that was sent or needed anywhere."""
    tallies = [one.stages[stage] for one in results]
    rows = [
        [kind, *(_cell(counted, kind) for counted in tallies)]
        for kind in KINDS
        if any(counted.needed[kind] or counted.sent[kind] for counted in tallies)
    ]
    rows.append(["all", *(f"{one.needed.total():,} → {one.total:,}" for one in tallies)])
    rows.append([SESSION, *(f"{one.sent[SESSION]:,}" for one in tallies)])
    return table([stage, *(one.name for one in results)], rows)


def _cell(counted: Tally, kind: str) -> str:
    parts = {
        "again": counted.again[kind],
        "not needed": counted.vain[kind],
        "refused": counted.refused[kind],
    }
    said = ", ".join(f"{n:,} {name}" for name, n in parts.items() if n)
    return f"{counted.needed[kind]:,} → {counted.sent[kind]:,}" + (f" ({said})" if said else "")


def _line(one: Measured) -> str:
    ratios = ", ".join(f"{stage} {_ratio(one, stage)}" for stage in STAGES)
    return f"{one.name}: {ratios}; {one.errors}"


def _plain(one: Measured) -> dict[str, Any]:
    stages = {stage: counted._asdict() for stage, counted in one.stages.items()}
    return one._asdict() | {"stages": stages}


if __name__ == "__main__":
    raise SystemExit(main())
