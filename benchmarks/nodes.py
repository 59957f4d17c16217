"""How a job grows with the nodes of a cluster, on a site that limits by client address.

    python -m benchmarks.nodes [--minutes 10] [--round direct8 ...] [--docs docs/benchmarks.md]

Needs the stack with eight nodes (make stack-up NODES=8): YARN, HBase, MariaDB, and an address for
each node. Each run has a database, tables and a simulated site of its own. It is stopped after the
minutes; then the rest is crawled without a limit, and what the tables hold is compared with the
truth. A run of the harvest walks one level: all users of the world are its seeds.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import nodes_tables
from benchmarks.cluster import Cluster, why_not
from benchmarks.common import RESULTS, described, machine, say, write_json, write_section
from tests.cli.crawls import Crawl, Truth
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import Running, start
from weibo_crawler.simulator.served import Line

LIMIT = 2.0  # pages a second of one address: 8 nodes are far below what two cores fetch
POOL = 4  # proxies
_BUCKET_S = 10  # the site's limit is LIMIT * _BUCKET_S pages in so many seconds
_MASTER_MB = 256
_USERS_A_PAGE = 0.7  # users of the world a page to come, so that they do not run out
_READY_S = 240.0
REFUSALS = {"throttled", "throttled_418", "too_long_414", "soft_throttled"}
BANS = {"ban", "banned"}


class Run(NamedTuple):
    """One job. nodes: how many maps, one on each node; 0: no cluster, one process with the
    laptop's stores. proxies: shared by all of them, 0: direct connections. stage: "posts", or
    "harvest"."""

    name: str
    what: str
    nodes: int
    proxies: int = 0
    stage: str = "posts"

    @property
    def addresses(self) -> int:
        """How many the site sees, once all are at work."""
        return self.proxies or max(1, self.nodes)


# Runs of one round go side by side, on different nodes.
ROUNDS = {
    "8": (Run("direct8", "8 nodes", 8),),
    "1-2-4": (
        Run("direct4", "4 nodes", 4),
        Run("direct2", "2 nodes", 2),
        Run("direct1", "1 node", 1),
        Run("process", "one process on one machine, no cluster", 0),
    ),
    "pool": (
        Run("pool4", f"4 nodes, {POOL} proxies shared", 4, POOL),
        Run("pool1", f"1 node, {POOL} proxies", 1, POOL),
    ),
    "harvest-8": (Run("harvest8", "harvest, 8 nodes", 8, stage="harvest"),),
    "harvest-1": (Run("harvest1", "harvest, 1 node", 1, stage="harvest"),),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench-nodes", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="of each run, by default 10")
    parser.add_argument("--round", nargs="+", choices=list(ROUNDS), help="some instead of all")
    parser.add_argument("--docs", type=Path, help="put the table into this file, the plot beside")
    options = parser.parse_args(arguments)
    if reason := why_not_here():
        raise SystemExit(f"bench-nodes: {reason}")
    file = RESULTS / "nodes.json"
    runs = json.loads(file.read_text("utf-8"))["runs"] if file.exists() else {}
    work = (RESULTS / "nodes").resolve()  # crawls have working folders of their own
    for name in options.round or ROUNDS:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        with _watching() as load, ThreadPoolExecutor(len(ROUNDS[name])) as pool:
            jobs = [pool.submit(_measure, run, work / run.name, options) for run in ROUNDS[name]]
        for run, job in zip(ROUNDS[name], jobs, strict=True):
            if job.exception() is None:
                runs[run.name] = {**run._asdict(), **job.result(), **load}
                say(f"{run.what}: {runs[run.name]}")
        write_json(file, {"machine": machine(), "limit": LIMIT, "runs": runs})
        for job in jobs:  # what one of them broke on is raised when the others are kept
            job.result()
    ordered = [runs[run.name] for each in ROUNDS.values() for run in each if run.name in runs]
    text = f"{described(machine())}\n\n{nodes_tables.show(ordered, LIMIT)}"
    print(text)
    if options.docs is not None:
        plot = options.docs.with_name("nodes.svg")
        nodes_tables.write_plot(plot, ordered, LIMIT)
        write_section(options.docs, "nodes", f"{text}\n\n![pages by minute]({plot.name})")
    return 0


def why_not_here() -> str | None:
    """What is missing for eight nodes, for people; None: nothing is."""
    if reason := why_not():
        return reason
    running = len(_nodes(Cluster()))
    return None if running >= 8 else f"8 nodes are needed, {running} run: make stack-up NODES=8"


def _nodes(cluster: Cluster) -> list[dict[str, Any]]:
    nodes = cluster.yarn("nodes?states=RUNNING")["nodes"]
    return list(nodes["node"]) if nodes else []


def _measure(run: Run, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one run."""
    pages = LIMIT * run.addresses * (60 * options.minutes + 90)
    with prepared(run, folder, int(200 + _USERS_A_PAGE * pages)) as world:
        found = _run_for(run, world.crawl, world.truth, 60 * options.minutes)
        world.site.stop()
        with start(SimulatorOptions(**world.what)) as site:
            finish = _finish if run.stage == "posts" else _finish_walk
            address = {
                "WEIBO_SITE__BASE_URL": site.base_url,
                "WEIBO_SITE__VISITOR_URL": site.visitor_url,
            }
            found["posts"], found["differing"] = finish(world.crawl, world.truth, address)
        return found


class Prepared(NamedTuple):
    """what: the world, as the simulator's options name it."""

    crawl: Crawl
    truth: Truth
    site: Running
    what: dict[str, Any]


@contextmanager
def prepared(run: Run, folder: Path, users: int) -> Iterator[Prepared]:
    """A limited site, and stores of its own into which its users are imported."""
    folder.mkdir(parents=True)
    what: dict[str, Any] = {"users": users, "seed": 3}
    limited = what | {
        "rate_limit": f"{LIMIT * _BUCKET_S:.0f}/{_BUCKET_S}",
        "truth_out": str(folder / "truth.json"),
        "served_out": str(folder / "served.jsonl"),
        "proxies": run.proxies,
        "proxies_out": str(folder / "proxies.txt") if run.proxies else None,
    }
    with Cluster() as cluster, start(SimulatorOptions(**limited)) as site:
        crawl = Crawl(folder, site.base_url, site.visitor_url)
        if run.nodes:
            cluster.make_tables()
            crawl.env |= _on_yarn(run, cluster)
        if run.proxies:
            crawl.env["WEIBO_EGRESS__PROXIES_FILE"] = str(folder / "proxies.txt")
        truth = Truth(folder)
        (folder / "users.txt").write_text("\n".join(map(str, truth.depths)), "utf-8")
        crawl.run("init")
        crawl.run("seed", "users.txt")
        crawl.run("import")
        yield Prepared(crawl, truth, site, what)


def _on_yarn(run: Run, cluster: Cluster) -> dict[str, str]:
    """Settings by which each node has one map at most."""
    node_mb = max(node["availMemoryMB"] + node["usedMemoryMB"] for node in _nodes(cluster))
    return {
        **cluster.env(),
        **cluster.yarn_env(),
        "WEIBO_HADOOP__MAP_MEMORY_MB": str(node_mb - _MASTER_MB),
        "WEIBO_HADOOP__JOBCONF": f"yarn.app.mapreduce.am.resource.mb={_MASTER_MB}",
        "WEIBO_POSTS__RANGES": str(run.nodes),
    }


def _run_for(run: Run, crawl: Crawl, truth: Truth, seconds: float) -> dict[str, Any]:
    """Start the job, and stop it when all its addresses have been at work for so long."""
    runner = "hadoop" if run.nodes else "inline"
    began = time.time()
    process = crawl.start_anew(
        *(run.stage, "--runner", runner),
        WEIBO_PACE__REQUESTS_PER_SECOND=str(LIMIT),
        WEIBO_HARVEST__MAX_DEPTH="1",
    )
    try:
        since = _all_at_work(run, truth, process)
        say(f"{run.what}: all at work after {since - began:.0f} s")
        while time.time() < since + seconds + 1:
            if process.poll() is not None:
                raise SystemExit(f"{run.what}: it ended too early: {crawl.said(process)}")
            time.sleep(0.5)
    finally:
        _end(process)
    lines = [line for line in truth.served() if line.by == "site"]
    return {"starting_s": lines[0].time - began, **figures(lines, run.addresses, since, seconds)}


def _all_at_work(run: Run, truth: Truth, process: "subprocess.Popen[bytes]") -> float:
    """When the last address had its first answer."""
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline and process.poll() is None:
        first: dict[str, float] = {}
        for line in truth.served():
            first.setdefault(line.egress, line.time)
        if len(first) >= run.addresses:
            return max(first.values())
        time.sleep(1.0)
    raise SystemExit(f"{run.what}: not all of its addresses came to work")


def _end(process: "subprocess.Popen[bytes]") -> None:
    for patience_s in (120, 60):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue


def figures(
    lines: Iterable[Line], addresses: int, since: float, seconds: float
) -> dict[str, float | list[float]]:
    """What the site's log says of `seconds` from `since` on. by_minute: pages of each whole minute.
    used: of what the limit allows to so many addresses; least, most: pages of one address a second.
    """
    inside = [line for line in lines if since <= line.time < since + seconds]
    refused = [line for line in inside if line.served in REFUSALS]
    bans = [line for line in inside if line.served in BANS]
    pages = [line for line in inside if line.served in ("ok", "end")]
    minutes = Counter(int((line.time - since) // 60) for line in pages)
    of_each = Counter(line.egress for line in pages)
    rates = [n / seconds for n in of_each.values()]
    return {
        "seconds": seconds,
        "pages": len(pages),
        "by_minute": [minutes[n] for n in range(int(seconds // 60))],
        "median_minute": statistics.median([minutes[n] for n in range(int(seconds // 60))] or [0]),
        "used": len(pages) / (LIMIT * addresses * seconds),
        "addresses": len(of_each),
        "least": min(rates, default=0.0),
        "most": max(rates, default=0.0),
        "refused": len(refused),
        "bans": len(bans),
    }


def _finish(crawl: Crawl, truth: Truth, address: dict[str, str]) -> tuple[int, int]:
    """Crawl what is left, without a limit; how many posts there are, and how many then differ from
    the truth."""
    crawl.env.pop("WEIBO_EGRESS__PROXIES_FILE", None)
    crawl.env |= address
    crawl.run("posts", "--runner", "local", WEIBO_POSTS__RANGES="2")
    return len(truth.posts()), differing(crawl.scan("posts", "--columns", "mid,text"), truth)


def _finish_walk(crawl: Crawl, truth: Truth, address: dict[str, str]) -> tuple[int, int]:
    """The same of a harvest: how many users there are, and of how many a list was not read to its
    end, or holds more or fewer than the true one."""
    crawl.env |= address
    crawl.run("harvest", "--runner", "local", WEIBO_HARVEST__MAX_DEPTH="1")
    rows = crawl.scan("users", "--imported", "--columns", "id,walk,lists")
    read = {row["id"]: sum(one["listed"] for one in row["lists"] or ()) for row in rows}
    shown = truth.data["fan_lists"]
    fans = {uid: len(shown[str(uid)]) for uid in truth.depths}
    return len(fans), sum(read.get(uid) != fans.get(uid) for uid in read.keys() | fans.keys())


def differing(rows: Iterable[Mapping[str, Any]], truth: Truth) -> int:
    """How many posts are missing, too many, or have another text than the true ones."""
    held = {post["mid"]: post["text"] for post in rows}
    true = {mid: post["text"] for mid, post in truth.posts().items()}
    return sum(held.get(mid) != true.get(mid) for mid in held.keys() | true.keys())


@contextmanager
def _watching() -> Iterator[dict[str, float]]:
    """How busy the machine was until the end of the block: share of its processors, and load."""
    load: dict[str, float] = {}
    before = _ticks()
    yield load
    idle, total = (after - first for after, first in zip(_ticks(), before, strict=True))
    load["busy"] = 1 - idle / total
    load["load"] = os.getloadavg()[2]  # of the last quarter of an hour


def _ticks() -> tuple[int, int]:
    """(idle, all) since the start of the machine."""
    words = Path("/proc/stat").read_text("utf-8").splitlines()[0].split()[1:]
    ticks = [int(word) for word in words[:8]]
    return ticks[3] + ticks[4], sum(ticks)


if __name__ == "__main__":
    raise SystemExit(main())
