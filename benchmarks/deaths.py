"""A posts job on eight nodes while, one after the other, everything dies that may.

    python -m benchmarks.deaths [--minutes 60] [--every 180] [--docs docs/benchmarks.md]

Needs the stack with eight nodes. The world is as large as the minutes; the job is to end by itself.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import nodes
from benchmarks.cluster import why_not
from benchmarks.common import RESULTS, described, machine, say, table, write_json, write_section
from benchmarks.processes import resident_bytes
from tests.cli.crawls import outcomes
from tests.stack.clusters import mappers
from weibo_crawler.analysis.plots import import_pygal

_PAGES_A_USER = 3.4  # of the world: three in five are kept, with some six requests each
_STACK = Path(__file__).parents[1] / "stack" / "stack.py"


class Death(NamedTuple):
    """What dies, and for how long it is away. daemon: "" for one mapper."""

    what: str
    daemon: str
    away_s: float


DEATHS = (
    Death("a mapper", "", 0.0),
    Death("a node", "node3", 15.0),
    Death("Thrift", "thrift", 60.0),
    Death("a region server", "regionserver2", 10.0),
    Death("MariaDB", "mariadb", 10.0),
    Death("the node of the application master", "master", 15.0),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench-deaths", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="of crawling, by default 60")
    parser.add_argument("--every", type=float, default=180.0, help="seconds between two deaths")
    parser.add_argument("--docs", type=Path, help="put the table into this file, the plot beside")
    options = parser.parse_args(arguments)
    if reason := why_not():
        raise SystemExit(f"bench-deaths: {reason}")
    run, folder = nodes.ROUNDS["8"][0], (RESULTS / "deaths").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    users = int(60 * options.minutes * nodes.LIMIT * run.addresses / _PAGES_A_USER)
    with nodes.prepared(run, folder, users) as world:
        found = _crawled(world, options)
    write_json(RESULTS / "deaths.json", {"machine": machine(), **found})
    text = f"{described(machine())}\n\n{show(found)}"
    print(text)
    if options.docs is not None:
        plot = options.docs.with_name("deaths.svg")
        write_plot(plot, found)
        write_section(options.docs, "deaths", f"{text}\n\n![pages by minute]({plot.name})")
    return 0


def _crawled(world: nodes.Prepared, options: argparse.Namespace) -> dict[str, Any]:
    """One job to its end, and the same command again."""
    crawl, began, died, peaks = world.crawl, time.time(), list[tuple[float, str]](), list[float]()
    pace = {"WEIBO_PACE__REQUESTS_PER_SECOND": str(nodes.LIMIT)}
    process = crawl.start("posts", "--runner", "hadoop", "--json", **pace)
    while not world.truth.served():
        time.sleep(0.5)
    first = time.time()
    until = first + 60 * options.minutes - 60  # the last minute is left in peace
    killer = threading.Thread(target=_kill, args=(process, until, options.every, died))
    killer.start()
    while process.poll() is None:
        with suppress(OSError):  # one has just ended
            peaks.append(max(map(resident_bytes, mappers(crawl)), default=0) / 2**20)
        time.sleep(2.0)
    ended = time.time()
    killer.join()
    said = crawl.said(process).splitlines()
    counters = json.loads(said[-1])["counters"] if process.returncode == 0 else {}
    again = crawl.json("posts", "--runner", "local", **pace)
    lines = [line for line in world.truth.served() if line.by == "site" and line.time <= ended]
    return {
        "code": process.returncode,
        "said": said[-1][:300] if process.returncode else "",
        "minutes": (ended - first) / 60,
        "starting_s": first - began,
        "deaths": [(at - first, what) for at, what in died],
        "by_minute": _by_minute(lines, first),
        "users": len(world.truth.depths),
        "outcomes": outcomes(counters),
        "posts": len(world.truth.posts()),
        "differing": nodes.differing(crawl, world.truth),
        "new_again": again["new_posts"],
        "bans": sum(line.served in ("ban", "banned") for line in lines),
        "refused": sum(line.served.startswith(("throttled", "too_long", "soft")) for line in lines),
        "mapper_mb": peaks,
    }


def _by_minute(lines: Sequence[Any], first: float) -> list[int]:
    pages = [line for line in lines if line.served in ("ok", "end")]
    minutes = Counter(int((line.time - first) // 60) for line in pages)
    return [minutes[n] for n in range(max(minutes, default=0) + 1)]


def _kill(
    process: "subprocess.Popen[bytes]", until: float, every_s: float, died: list[tuple[float, str]]
) -> None:
    """One death after the other, in turns, until the time or the job is over."""
    nth = 0
    while time.time() + every_s < until and process.poll() is None:
        time.sleep(every_s)
        death = DEATHS[nth % len(DEATHS)]
        nth += 1
        say(f"dies: {death.what}")
        died.append((time.time(), death.what))
        if not death.daemon:
            for pid in mappers()[:1]:
                os.kill(pid, signal.SIGKILL)
            continue
        daemon = _master() if death.daemon == "master" else death.daemon
        _stack("kill", daemon)
        time.sleep(death.away_s)
        _stack("start", daemon)


def _master() -> str:
    """The node on which the application master of a job runs."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
                if b"org.apache.hadoop.mapreduce.v2.app.MRAppMaster" in words.split(b"\0"):
                    entries = (folder / "environ").read_bytes().split(b"\0")
                    named = [e for e in entries if e.startswith(b"WEIBO_STACK_NODE=")]
                    if named:
                        return named[0].partition(b"=")[2].decode()
            except OSError:  # it has ended
                continue
    return "node1"


def _stack(what: str, name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(_STACK), what, name], capture_output=True, text=True, check=False
    )
    if done.returncode:
        say(f"{what} {name}: {done.stderr.strip()[-300:]}")


def show(found: dict[str, Any]) -> str:
    """What held, a line each."""
    peaks = found["mapper_mb"] or [0.0]
    half = len(peaks) // 2
    rows = [
        ["the job ended by itself, exit code", f"{found['code']}", "0"],
        ["minutes, from the first page to its end", f"{found['minutes']:.1f}", ""],
        ["deaths", f"{len(found['deaths'])}", ""],
        ["users, and outcomes told", f"{found['users']:,}, {found['outcomes']:,}", "equal"],
        ["posts that differ from the truth", f"{found['differing']} of {found['posts']:,}", "0"],
        ["new posts, when the command is given again", f"{found['new_again']}", "0"],
        ["bans, refusals", f"{found['bans']}, {found['refused']}", "0, 0"],
        [
            "largest mapper in the first and in the second half, MB",
            f"{max(peaks[:half] or peaks):.0f}, {max(peaks[half:]):.0f}",
            "equal",
        ],
    ]
    died = ", ".join(f"{what} ({at / 60:.1f})" for at, what in found["deaths"])
    return table(("what", "found", "aim"), rows) + f"\n\nDied (minute): {died}."


def write_plot(file: Path, found: dict[str, Any]) -> None:
    """Pages of each minute; the minutes in which something died are marked."""
    pygal = import_pygal()
    chart = pygal.Bar(
        title="Pages by minute; dark: something died",
        show_legend=False,
        width=1000,
        height=360,
        style=pygal.style.Style(background="white", plot_background="white"),
        js=[],
        disable_xml_declaration=True,
    )
    died: dict[int, list[str]] = {}
    for at, what in found["deaths"]:
        died.setdefault(int(at // 60), []).append(what)
    chart.x_labels = [", ".join(died.get(n, [])) or str(n + 1) for n in _minutes(found)]
    chart.x_label_rotation = 40
    values = [
        {"value": pages, "color": "#b3402e" if n in died else "#2f7d4f"}
        for n, pages in enumerate(found["by_minute"])
    ]
    chart.add("pages", values)
    file.write_text(chart.render() + "\n", "utf-8")


def _minutes(found: dict[str, Any]) -> range:
    return range(len(found["by_minute"]))


if __name__ == "__main__":
    raise SystemExit(main())
