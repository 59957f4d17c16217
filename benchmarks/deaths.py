"""A posts job on eight nodes while, one after the other, everything dies that may.

    python -m benchmarks.deaths [--minutes 60] [--every 180] [--docs docs/benchmarks.md]

Needs the stack with eight nodes (make stack-up NODES=8). The world is as large as the minutes; the
job is to end by itself. What the tables hold then is compared with the truth, and the same command
is given again.
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
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import deaths_tables, nodes
from benchmarks.cluster import Cluster, daemons
from benchmarks.common import RESULTS, described, machine, say, write_json, write_section
from benchmarks.processes import live_heap_bytes, resident_bytes
from tests.cli.crawls import Crawl, outcomes
from tests.stack.clusters import mappers
from weibo_crawler.simulator.served import Line

_PAGES_A_USER = 3.7  # of the world, whether kept or not: simulated people, 20 posts each
_PEACE_S = 60.0  # at the end of the minutes nothing dies
_LOOK_EVERY_S = 5.0
_HEAPS = 8  # looks at what is alive in the heaps of HBase, in all
_OF_HBASE = ("hbase", "regionserver", "thrift")
_STACK = Path(__file__).parents[1] / "stack" / "stack.py"


class Death(NamedTuple):
    """What dies, and for how long it is away. daemon: by its name; "" for a mapper, "master" for
    the node of the application master."""

    what: str
    daemon: str
    away_s: float


DEATHS = (
    Death("a mapper", "", 0.0),
    Death("a node", "node3", 15.0),
    Death("Thrift", "thrift", 60.0),
    Death("a region server", "regionserver2", 10.0),
    Death("MariaDB", "mariadb", 10.0),
    Death("the application master's node", "master", 15.0),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench-deaths", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="of crawling, by default 60")
    parser.add_argument("--every", type=float, default=180.0, help="seconds between two deaths")
    parser.add_argument("--docs", type=Path, help="put the table into this file, the plot beside")
    options = parser.parse_args(arguments)
    if reason := nodes.why_not_here():
        raise SystemExit(f"bench-deaths: {reason}")
    run, folder = nodes.ROUNDS["8"][0], (RESULTS / "deaths").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    users = int(60 * options.minutes * nodes.LIMIT * run.addresses / _PAGES_A_USER)
    with nodes.prepared(run, folder, users) as world:
        found = {"machine": machine(), "every_s": options.every, **_crawled(world, options)}
        write_json(RESULTS / "deaths.json", found)  # kept, should the comparison break
        found |= _compared(world)
    write_json(RESULTS / "deaths.json", found)
    text = f"{described(machine())}\n\n{deaths_tables.show(found)}"
    print(text)
    if options.docs is not None:
        plot = options.docs.with_name("deaths.svg")
        deaths_tables.write_plot(plot, found)
        write_section(options.docs, "deaths", f"{text}\n\n![pages by minute]({plot.name})")
    return 0


def _crawled(world: nodes.Prepared, options: argparse.Namespace) -> dict[str, Any]:
    """One job to its end, and what was seen of it meanwhile."""
    crawl, began = world.crawl, time.time()
    died, memory = list[tuple[float, str]](), list[tuple[float, str, float]]()
    process = crawl.start_anew("posts", "--runner", "hadoop", "--json", **_PACE)
    while not world.truth.served():
        if process.poll() is not None:
            raise SystemExit(f"bench-deaths: the job did not start: {crawl.said(process)}")
        time.sleep(0.5)
    first = time.time()
    until = first + 60 * options.minutes - _PEACE_S
    killer = threading.Thread(target=_kill, args=(process, until, options.every, died))
    killer.start()
    heaps_at = first
    while process.poll() is None:
        memory += [(time.time() - first, *each) for each in _resident(crawl)]
        if time.time() >= heaps_at:
            heaps_at += 60 * options.minutes / _HEAPS
            memory += [(time.time() - first, *each) for each in _alive()]
        time.sleep(_LOOK_EVERY_S)
    ended = time.time()
    killer.join()
    said = crawl.said(process).splitlines()
    done = json.loads(said[-1]) if process.returncode == 0 else {}
    return {
        "code": process.returncode,
        "said": said[-1][:300],
        "minutes": (ended - first) / 60,
        "starting_s": first - began,
        "deaths": [(at - first, what) for at, what in died],
        "users": len(world.truth.depths),
        "outcomes": outcomes(done.get("counters", {})),
        "memory": memory,
        **figures(world.truth.served(), first),
    }


_PACE = {"WEIBO_PACE__REQUESTS_PER_SECOND": str(nodes.LIMIT)}


def figures(lines: Iterable[Line], first: float) -> dict[str, Any]:
    """What the site's log says. by_minute: pages of each minute from `first` on."""
    of_site = [line for line in lines if line.by == "site"]
    pages = [line for line in of_site if line.served in ("ok", "end")]
    minutes = Counter(int((line.time - first) // 60) for line in pages)
    served = Counter(line.served for line in of_site)
    return {
        "by_minute": [minutes[n] for n in range(max(minutes, default=-1) + 1)],
        "pages": len(pages),
        "again": len(pages) - len({line.request for line in pages}),
        "bans": sum(served[name] for name in nodes.BANS),
        "refused": sum(served[name] for name in nodes.REFUSALS),
    }


def _compared(world: nodes.Prepared) -> dict[str, Any]:
    """The tables beside the truth, and what the same command finds to do once more."""
    rows = world.crawl.scan("posts", "--columns", "mid,text")
    found = {
        "posts": len(world.truth.posts()),
        "doubled": len(rows) - len({row["mid"] for row in rows}),
        "differing": nodes.differing(rows, world.truth),
    }
    asked = len(world.truth.served())
    again = world.crawl.json("posts", "--runner", "local", **_PACE)
    asked_again = len(world.truth.served()) - asked
    return found | {"new_again": again["new_posts"], "asked_again": asked_again}


def _resident(crawl: Crawl) -> Iterable[tuple[str, float]]:
    """(name, MB) of each daemon and mapper that runs."""
    for name, pid in [*daemons().items(), *(("mapper", pid) for pid in mappers(crawl))]:
        with suppress(OSError):  # it has just ended
            yield name, resident_bytes(pid) / 2**20


def _alive() -> Iterable[tuple[str, float]]:
    """(name, MB) of what is alive in the heap of each process of HBase: what is resident grows with
    the heap, which grows up to its limit before anything is collected."""
    java = Path(Cluster().stack["STACK_JAVA_HOME"])
    for name, pid in daemons().items():
        kind = name.rstrip("0123456789")
        if kind in _OF_HBASE:
            with suppress(OSError, subprocess.SubprocessError):  # it is away
                yield f"alive in the heap of {kind}", live_heap_bytes(java, pid) / 2**20


def _kill(
    process: "subprocess.Popen[bytes]", until: float, every_s: float, died: list[tuple[float, str]]
) -> None:
    """One death after the other, in turns, until the time or the job is over."""
    nth, at = 0, time.time() + every_s
    while at < until and _sleep_until(at, lambda: process.poll() is not None):
        death = DEATHS[nth % len(DEATHS)]
        say(f"dies: {death.what}")
        died.append((time.time(), death.what))
        _die(death, nth)
        nth, at = nth + 1, at + every_s


def _sleep_until(at: float, is_over: Callable[[], bool]) -> bool:
    """False where it is over before."""
    while time.time() < at:
        if is_over():
            return False
        time.sleep(0.5)
    return True


def _die(death: Death, nth: int) -> None:
    """nth: so that other mappers are killed each time."""
    if not death.daemon:
        running = sorted(mappers())
        if running:
            os.kill(running[nth % len(running)], signal.SIGKILL)
        return
    daemon = _master() if death.daemon == "master" else death.daemon
    _stack("kill", daemon)
    time.sleep(death.away_s)
    _stack("start", daemon)


def _master() -> str:
    """The node on which the application master of the running job is."""
    (app,) = Cluster().yarn("apps?states=RUNNING")["apps"]["app"]
    return str(app["amHostHttpAddress"]).partition(":")[0]


def _stack(what: str, name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(_STACK), what, name], capture_output=True, text=True, check=False
    )
    say(f"{what} {name}: {(done.stdout + done.stderr).strip()[-300:]}")


if __name__ == "__main__":
    raise SystemExit(main())
