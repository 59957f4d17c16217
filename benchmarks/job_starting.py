"""How soon a posts job on YARN is at work, beside a streaming job that does nothing."""

import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.cluster import Cluster, why_not
from benchmarks.common import say
from benchmarks.figures import Figure, Scale, take_turns
from benchmarks.processes import Wrong, environment
from tests.cli.crawls import Crawl, Truth
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import start
from weibo_crawler.simulator.served import read_served

_OURS = "posts job on YARN: command to its first request"
_EMPTY = "an empty streaming job: command to its first map"
_USERS = 30
_AIM = 1.5


def job_starts(work: Path, scale: Scale) -> Iterator[Figure]:
    """From the command until the first request of the first map; of the empty job until its first
    map runs. One map each, and whole jobs, so that the next one finds the cluster at rest."""
    if why := why_not():
        say(f"the start of a job is skipped: {why}")
        return
    work.mkdir(parents=True)
    served = work / "served.jsonl"
    with (
        Cluster(has_tables=True) as cluster,
        start(_world(work, served)) as site,
    ):
        crawl = Crawl(work, site.base_url, site.visitor_url)
        crawl.env |= cluster.env() | cluster.yarn_env() | {"WEIBO_POSTS__RANGES": "1"}
        for words in (("init",), ("seed", *map(str, Truth(work).depths)), ("import",)):
            crawl.run(*words)
        contenders = {
            _OURS: partial(_ours_s, crawl, served),
            _EMPTY: partial(_empty_s, cluster, work),
        }
        seconds = take_turns(contenders, scale.runs, "s")
    yield Figure(_OURS, _EMPTY, seconds[_OURS], seconds[_EMPTY], "s", _AIM, is_limit=True)


def _world(work: Path, served: Path) -> SimulatorOptions:
    truth = str(work / "truth.json")
    return SimulatorOptions(users=_USERS, truth_out=truth, served_out=str(served))


def _ours_s(crawl: Crawl, served: Path) -> float:
    """Each job visits everybody again."""
    began = time.time()
    crawl.run("posts", "--runner", "hadoop", "--refresh", "--all")
    return next(line.time for line in read_served(served) if line.time > began) - began


def _empty_s(cluster: Cluster, work: Path) -> float:
    """As mrjob submits one: one line of input, no reducer, a mapper that only writes when."""
    hadoop, folder = cluster.stack["STACK_HADOOP"], f"/tmp/{cluster.name}"
    began_file, mapper = work / "began", work / "mapper.sh"
    mapper.write_text(f"#!/bin/sh\ndate +%s.%N >>{began_file}\ncat\n", "utf-8")
    mapper.chmod(0o755)
    began_file.unlink(missing_ok=True)
    (work / "line").write_text("line\n", "utf-8")
    _run(hadoop, "fs", "-rm", "-r", "-f", folder)
    _run(hadoop, "fs", "-mkdir", "-p", folder)
    _run(hadoop, "fs", "-put", str(work / "line"), f"{folder}/in")
    began = time.time()
    _run(
        *(hadoop, "jar", cluster.stack["STACK_STREAMING_JAR"], "-D", "mapreduce.job.reduces=0"),
        *("-D", "mapreduce.job.maps=1", "-input", f"{folder}/in", "-output", f"{folder}/out"),
        *("-mapper", str(mapper)),
    )
    first = min(map(float, began_file.read_text("utf-8").split()))
    _run(hadoop, "fs", "-rm", "-r", "-f", folder)
    return first - began


def _run(*words: str) -> None:
    done = subprocess.run(
        words, env=environment({}), capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        raise Wrong(f"{' '.join(words[:4])}: {done.stderr[-500:]}")
