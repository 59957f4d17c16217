"""The whole way on real daemons: MariaDB, Sqoop, HBase, mrjob on YARN, through proxies; the same
with each of them killed on the way. What is held is what the simulated site says is true."""

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import Crawl, outcomes
from tests.cli.test_whole_way import assert_true
from tests.stack.clusters import (
    cluster_crawl,
    kill_daemon,
    mappers,
    start_again,
    wait_for_requests,
)
from tests.stack.conftest import Running, why_not
from tests.stores import table_of
from weibo_crawler.store import Tables
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.rows.cells import FAMILIES, LEDGER_TIMES
from weibo_crawler.store.sqlite.tables import SqliteTables

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

PROXIES = 4
PACE = {"WEIBO_PACE__REQUESTS_PER_SECOND": "40", "WEIBO_EGRESS__DIRECT": "false"}
# of a run, not of the site: the issue of equality leaves these out
OF_A_RUN = LEDGER_TIMES | {"run_id", "found_at", "fetched_at", "posts_per_day"}


def through_proxies(crawl: Crawl, folder: Path) -> None:
    """Two for each of the two mappers."""
    crawl.env |= PACE | {"WEIBO_EGRESS__PROXIES_FILE": str(folder / "proxies.txt")}


def world(folder: Path, **knobs: Any) -> dict[str, Any]:
    proxies = {"proxies": PROXIES, "proxies_out": str(folder / "proxies.txt")}
    return {"users": 150, "mean_posts": 8.0, **proxies, **knobs}


def posts_on_yarn(crawl: Crawl, **env: str) -> dict[str, Any]:
    """One run of the job; its outcomes add up to its input (law 6)."""
    done = crawl.json("posts", "--runner", "hadoop", **env)
    counters = done["counters"]
    assert outcomes(counters) == done["users"]
    return done


def held(tables: Tables) -> dict[str, dict[str, Any]]:
    """All cells of all tables, by row; what is packed as JSON is unpacked."""
    rows: dict[str, dict[str, Any]] = {}
    for name in FAMILIES:
        table = table_of(tables, name)
        for key, cells in table.scan():
            kept: dict[str, Any] = {
                column: value
                for column, value in cells.items()
                if column.partition(":")[2] not in OF_A_RUN
            }
            if "post:more" in kept:
                more = json.loads(kept["post:more"])
                kept["post:more"] = {n: v for n, v in more.items() if n not in ("egress", "run_id")}
            rows[f"{name} {key}"] = kept
    return rows


def test_the_whole_way_is_the_truth_and_the_laptops(stack: Running, tmp_path: Path) -> None:
    """seed, harvest into MariaDB, Sqoop, posts on YARN through proxies, scan: the truth, and the
    tables of the embedded home; a second round stores nothing and asks nothing."""
    alone = {"WEIBO_FETCH__CONCURRENCY": "1"}  # who is found by whom, and in which order
    with cluster_crawl(stack, tmp_path, by_script=True, **world(tmp_path)) as (crawl, truth):
        laptop = Crawl(crawl.folder, crawl.env["WEIBO_SITE__BASE_URL"])
        through_proxies(crawl, tmp_path)
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest", **alone)
        assert crawl.json("import", "--via", "sqoop")["new"] == len(truth.depths)
        assert posts_on_yarn(crawl)["users"] == len(truth.depths)
        assert_true(crawl, truth)
        assert len({line.egress for line in truth.served()}) == PROXIES
        asked = len(truth.served())
        assert crawl.json("harvest")["new"] == 0
        assert crawl.json("import", "--via", "sqoop") == {"new": 0, "changed": 0}
        again = posts_on_yarn(crawl)
        assert (again["existing"], again["new_posts"]) == (len(truth.depths), 0)
        assert len(truth.served()) == asked

        laptop.run("seed", *truth.seeds)
        laptop.run("harvest", **alone)
        laptop.run("import")
        laptop.run("posts")
        here = SqliteTables(f"sqlite:///{laptop.folder}/tables.db")
        there = HbaseTables(crawl.env["WEIBO_STORE__TABLES"])
        with closing(here), closing(there):
            assert held(there) == held(here)


def test_mariadb_restarts_during_the_harvest(stack: Running, tmp_path: Path) -> None:
    """Law 8: the database is killed in the middle of a harvest and comes back; nobody is lost or
    doubled, and depths are exact."""
    slow = {"users": 400, "seed": 5, "faults": "slow=0.3", "slow_s": 0.1}
    with cluster_crawl(stack, tmp_path, **slow) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        process = crawl.start("harvest")
        wait_for_requests(truth, 60, process)
        kill_daemon(stack, "mariadb")
        time.sleep(1)
        start_again(stack)
        process.wait(120)
        crawl.run("harvest")  # goes on where the first has given up, else finds nobody new
        users = crawl.scan("users")
        assert {user["id"]: user["depth"] for user in users} == truth.depths
        assert {user["state"] for user in users} == {"done"}


def _kill_a_mapper(_: Running, crawl: Crawl) -> None:
    until = time.monotonic() + 60
    while not (victims := mappers(crawl)):  # the one that was killed before may not be back yet
        assert time.monotonic() < until, "no mapper runs"
        time.sleep(0.1)
    with suppress(ProcessLookupError):
        os.kill(victims[0], signal.SIGKILL)


def _restart(*names: str) -> Callable[[Running, Crawl], None]:
    def restart(stack: Running, _: Crawl) -> None:
        for name in names:
            kill_daemon(stack, name)
        time.sleep(3)
        start_again(stack)

    return restart


@pytest.mark.parametrize(
    "faults",
    [
        (_kill_a_mapper, _restart("thrift"), _kill_a_mapper),
        (_restart("hbase"),),
        (_restart("node1"),),
    ],
    ids=["mappers and Thrift", "HBase", "NodeManager with the application master"],
)
def test_killed_on_the_way(
    stack: Running, tmp_path: Path, faults: tuple[Callable[[Running, Crawl], None], ...]
) -> None:
    """Law 8: the job ends by itself; nothing is lost, nothing doubled, the figures add up."""
    knobs = world(tmp_path, mean_posts=20.0, faults="slow=0.3", slow_s=0.1)
    with cluster_crawl(stack, tmp_path, **knobs) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        through_proxies(crawl, tmp_path)
        process = crawl.start("posts", "--runner", "hadoop")
        for fault in faults:
            wait_for_requests(truth, 150, process)
            fault(stack, crawl)
        assert process.wait(400) == 0
        assert_true(crawl, truth)
        again = crawl.json("posts", "--runner", "inline")  # the tables tell; the cluster need not
        assert (again["existing"], again["new_posts"]) == (len(truth.depths), 0)
        assert not mappers(crawl)
