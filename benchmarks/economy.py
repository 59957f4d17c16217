"""Requests sent over requests needed, by the site's own log: `make bench-economy`.

    python -m benchmarks.economy [--users N] [--laws SEED,…] [--only WORD] [--docs FILE]

Prints tables, writes benchmarks/results/economy.json. The foreign worlds need nginx, and the folder
of their tools: WEIBO_FOREIGN, ../shared/foreign if unset.
"""

import argparse
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from benchmarks.common import RESULTS, described, machine, say, write_json, write_section
from benchmarks.economy_tables import STAGES, Measured, show, shown_ratio
from benchmarks.foreign_world import TOOLS, Foreign
from benchmarks.lawful_world import Lawful
from benchmarks.needs import Ended, Sent, askers, tally
from tests.cli.crawls import Crawl
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import ledger_cells, read_ledger
from weibo_crawler.store.sqlite.tables import SqliteTables

Site = Foreign | Lawful
# All else is as by default, but for the addresses and the pace (none).
_SETTINGS = {"WEIBO_HARVEST__EDGES_IF_WALLED": ""}


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
    parser.add_argument("--lawful-users", type=int, default=3000, help="of a world of laws (3000)")
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
        if not (TOOLS / "world.py").exists() or not _has_nginx():
            raise SystemExit(f"{name}: needs nginx, and world.py in {TOOLS} (WEIBO_FOREIGN)")
        yield Foreign(TOOLS, Path(folder), options.users, *(["--exact"] if rest else []))


def _has_nginx() -> bool:
    return shutil.which("nginx") is not None or Path("/usr/sbin/nginx").exists()


def measure(site: Site, work: Path) -> Measured:
    """The real commands against one site; then its log, cut at the times they began."""
    began: dict[str, float] = {}
    ended = Ended()
    with site.served() as (base, visitor):
        crawl = Crawl(work, base, visitor)
        crawl.env |= _SETTINGS
        crawl.run("init")
        crawl.run("seed", *site.seeds)
        for stage in STAGES:
            if stage == "posts":
                crawl.run("import")
            if stage == "refresh":
                make_due(work)
            began[stage] = time.time()
            done = crawl.ended(*STAGES[stage], "--json")
            ended = _after(ended, done)
            say(f"{stage}: {time.time() - began[stage]:.1f} s" + _ending(done))
        over = time.time()
        errors = site.errors(crawl, ended)
    log = [line for line in site.log() if line.at < over]
    parts = _cut(log, [began[stage] for stage in STAGES])
    stages = {
        stage: tally(part, site.needs(stage), site.number, site.in_a_row)
        for stage, part in zip(STAGES, parts, strict=True)
    }
    kept = len(site.needs("refresh").lists)
    needs = {stage: site.needs(stage) for stage in STAGES}
    walled = {stage: one.walled for stage, one in needs.items()}
    due, ways = len(askers(parts[-1])), needs["posts"].ways
    return Measured(site.name, stages, due, kept, errors, ways, walled)


def _after(ended: Ended, done: subprocess.CompletedProcess[str]) -> Ended:
    """What is known of the commands once one more has ended."""
    said = json.loads(done.stdout) if not done.returncode else {}
    is_exact = ended.depths_exact and said.get("depths_exact", True)
    return Ended(ended.faults + bool(done.returncode), is_exact)


def _ending(done: subprocess.CompletedProcess[str]) -> str:
    """How a command ended, where that was not well."""
    if not done.returncode:
        return ""
    return f", exit code {done.returncode}: {done.stderr.strip().rpartition(chr(10))[2]}"


def make_due(work: Path) -> None:
    """Move the dates of all next visits to now. Nothing else is older than it was: what rests for
    days after a visit, such as walls, still rests."""
    tables, now = SqliteTables(f"sqlite:///{work}/tables.db"), time.time()
    puts = []
    for row in tables.userlist.scan(columns=["crawl"]):
        ledger = read_ledger(row.cells)
        if ledger is not None and ledger.next_visit is not None:
            due = ledger_cells(replace(ledger, next_visit=now))
            puts.append(Put(row.key, due, int(now * 1000)))
    tables.userlist.put(puts)
    tables.close()


def _cut(log: Sequence[Sent], times: Sequence[float]) -> list[list[Sent]]:
    """The lines from each of the times to the next."""
    ends = [*times[1:], float("inf")]
    return [
        [line for line in log if begin <= line.at < end]
        for begin, end in zip(times, ends, strict=True)
    ]


def _line(one: Measured) -> str:
    ratios = ", ".join(f"{stage} {shown_ratio(one, stage)}" for stage in STAGES)
    return f"{one.name}: {ratios}; {one.errors}"


def _plain(one: Measured) -> dict[str, Any]:
    stages = {stage: counted._asdict() for stage, counted in one.stages.items()}
    return one._asdict() | {"stages": stages}


if __name__ == "__main__":
    raise SystemExit(main())
