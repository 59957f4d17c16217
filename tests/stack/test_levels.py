"""`harvest --runner hadoop` on the real cluster: maps on YARN, the shuffle, reducers, HBase."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl, until
from tests.stack.clusters import cluster_crawl, mappers
from tests.stack.conftest import Running, why_not

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

# jobs, of two reducers each: each is a JVM and a Python to start; two are several
TWO = {
    "WEIBO_HARVEST__MAX_DEPTH": "2",
    "WEIBO_HADOOP__JOBCONF": "mapreduce.job.reduces=2",
    # the interpreter below any virtual environment: it has none of our packages
    "WEIBO_HADOOP__PYTHON": str(Path(sys.base_prefix, "bin", f"python3.{sys.version_info[1]}")),
}
WORLD = {"users": 60, "mean_posts": 0.0}


def depths(crawl: Crawl) -> dict[int, int]:
    rows = crawl.scan("users", "--imported", "--columns", "id,depth")
    return {row["id"]: row["depth"] for row in rows}


def test_jobs_on_yarn_find_the_truth(stack: Running, tmp_path: Path) -> None:
    """A map is killed in the middle of a level, and YARN makes it again: users and depths are the
    truth, and nobody is counted twice (laws 3, 8, 13)."""
    slow = {"faults": "slow=0.5", "slow_s": 0.2}
    with cluster_crawl(stack, tmp_path, **WORLD, **slow) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        process = crawl.start("harvest", "--runner", "hadoop", **TWO)
        until(crawl, process, lambda: len(truth.served()) > 20 and bool(mappers(crawl)))
        with suppress(ProcessLookupError):
            os.kill(mappers(crawl)[0], signal.SIGKILL)
        assert process.wait(500) == 0, crawl.said(process)
        near = {uid: depth for uid, depth in truth.depths.items() if depth <= 2}
        assert max(near.values()) == 2
        assert depths(crawl) == near
        assert f"harvest: {len(near):,} users kept" in crawl.said(process)
