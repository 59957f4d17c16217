"""`harvest --processes N`: several real processes on one store, compared with the truth."""

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl, Truth, simulated
from tests.forks import Forked
from weibo_crawler.cli.harvesters import Others
from weibo_crawler.errors import BadConfig, CrawlerError, Interrupted, SiteSaysNo, StoreError
from weibo_crawler.store.owners import is_dead
from weibo_crawler.store.sqlite.frontier import SqliteUsers

# several seconds long, so that all processes have begun before the middle
SLOW = {"users": 300, "seed": 5, "faults": "slow=0.3", "slow_s": 0.1}
FEW_AT_ONCE = {"WEIBO_FETCH__CONCURRENCY": "8"}


def harvesters(crawl: Crawl) -> dict[int, str]:
    """The owner's names of those at work, by process id."""
    users = SqliteUsers(f"sqlite:///{crawl.folder}/users.db")
    names = [row.worker for row in users.workers() if row.stage == "harvest" and not row.ended]
    users.close()
    return {int(name.split("/")[1]): name for name in names if not is_dead(name)}


def started(crawl: Crawl, truth: Truth, n: int) -> tuple[Forked, dict[int, str]]:
    """A run whose n harvesters are all at work in the middle of the walk, and those beside the
    first one."""
    process = crawl.start("harvest", "--processes", str(n), **FEW_AT_ONCE)
    while len(found := harvesters(crawl)) < n:
        assert process.poll() is None, "it ended before its harvesters had begun"
        time.sleep(0.05)
    asked = len(truth.served())
    while len(truth.served()) < asked + 60:
        assert process.poll() is None, "it ended before the middle"
        time.sleep(0.02)
    del found[process.pid]
    return process, found


def are_gone(names: dict[int, str]) -> bool:
    """Whether all of them end within a minute."""
    for _ in range(1200):
        if all(is_dead(name) for name in names.values()):
            return True
        time.sleep(0.05)
    return False


def assert_walked(crawl: Crawl, truth: Truth) -> None:
    users = crawl.scan("users")
    assert {user["id"]: user["depth"] for user in users} == truth.depths
    assert {user["state"] for user in users} == {"done"}


@pytest.mark.parametrize("n", [2, 3])
def test_several_processes_give_the_truth(tmp_path: Path, n: int) -> None:
    """Law 13 at any number of processes, among passing faults; the figures are the sums of all: as
    many requests as the site saw, as many new users as there are, in the metrics, too."""
    faults = "throttled=0.01,server_trouble=0.02,cut=0.02,no_content=0.02,slow=0.3"
    with simulated(tmp_path, users=300, seed=5, faults=faults, slow_s=0.03) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        asked = len(truth.served())
        crawl.env["WEIBO_HARVEST__PROCESSES"] = str(n)
        done = crawl.json("harvest", WEIBO_METRICS__TEXTFILE="weibo.prom")
        assert_walked(crawl, truth)
        assert (done["processes"], done["depths_exact"]) == (n, True)
        assert done["new"] == len(truth.depths) - len(truth.seeds)
        assert done["counters"]["entries.done"] == len(truth.depths)
        assert done["counters"]["request.sent"] == len(truth.served()) - asked
        metrics = (crawl.folder / "weibo.prom").read_text("utf-8")
        assert f'name="users.kept",stage="harvest"}} {done["new"]}.0' in metrics
        users = SqliteUsers(f"sqlite:///{crawl.folder}/users.db")
        rows = [row for row in users.workers() if row.stage == "harvest"]
        users.close()
        assert len({row.worker for row in rows}) == n
        assert len({row.run_id for row in rows}) == 1


def test_a_killed_harvester_is_said_and_costs_nobody(tmp_path: Path) -> None:
    """kill -9 of one process beside the first: the run goes on, ends right, and says so."""
    with simulated(tmp_path, **SLOW) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        process = subprocess.Popen(
            crawl.command("harvest", "--processes", "2"),
            cwd=crawl.folder,
            env=crawl.env | FEW_AT_ONCE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while len(found := harvesters(crawl)) < 2:
            assert process.poll() is None
            time.sleep(0.05)
        del found[process.pid]
        (other,) = found
        os.kill(other, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert "one of 2 harvesters was killed (signal 9)" in out
        assert "one of 2 harvesters was killed (signal 9); the others go on" in err
        assert_walked(crawl, truth)


def test_harvesters_end_with_a_killed_parent(tmp_path: Path) -> None:
    """kill -9 of the first process: the others end by themselves, cleanly, and a plain restart
    gives the truth."""
    with simulated(tmp_path, **SLOW) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        process, others = started(crawl, truth, 3)
        process.kill()
        process.wait()
        assert are_gone(others)
        states = {user["state"] for user in crawl.scan("users")}
        assert "queued" in states
        users = SqliteUsers(f"sqlite:///{crawl.folder}/users.db")
        ended = {row.worker: row.ended for row in users.workers()}
        users.close()
        assert {ended[name] for name in others.values()} == {"interrupted"}
        crawl.run("harvest")
        assert_walked(crawl, truth)


def test_a_signal_ends_all_of_them_cleanly(tmp_path: Path) -> None:
    """The first Ctrl-C, sent to the whole group as a terminal does: exit code 130, nobody is left
    at work or holds anything; the same command goes on."""
    with simulated(tmp_path, **SLOW) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        process, others = started(crawl, truth, 2)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
        assert all(is_dead(name) for name in others.values())
        assert {user["state"] for user in crawl.scan("users")} <= {"queued", "done", "resting"}
        crawl.run("harvest", "--processes", "2")
        assert_walked(crawl, truth)


def test_a_second_signal_ends_all_at_once(tmp_path: Path) -> None:
    """It waits for no page, in any process."""
    knobs = SLOW | {"faults": "slow=1", "slow_s": 0.1, "users": 2000}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        process, others = started(crawl, truth, 2)
        for name in others:  # it could not end cleanly
            os.kill(name, signal.SIGSTOP)
        os.kill(process.pid, signal.SIGTERM)
        time.sleep(0.3)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(20) == 130
        assert are_gone(others)


def test_max_users_is_exact_in_sum(tmp_path: Path) -> None:
    """Whoever stores the last one: exactly so many are kept, and all processes stop."""
    with simulated(tmp_path, **SLOW) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        cap = len(truth.depths) * 3 // 4
        done = crawl.json("harvest", "--processes", "3", WEIBO_HARVEST__MAX_USERS=str(cap))
        assert done["kept"] == len(crawl.scan("users")) == cap
        assert "max_users" in done["stopped"]
        assert harvesters(crawl) == {}
        crawl.run("harvest", "--processes", "2")
        assert_walked(crawl, truth)


def test_a_site_that_says_no_to_all_stops_all(tmp_path: Path) -> None:
    """Exit code 4, the reason told once; nothing is stored as a fact."""
    with simulated(tmp_path, faults="refused_403=1") as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        said = crawl.run("harvest", "--processes", "2", code=4).stderr
        assert said.count("weibo-crawler: ") == 1
        assert harvesters(crawl) == {}


def test_how_many_is_checked(tmp_path: Path) -> None:
    """Exit codes 2 and 3 with a word, before anything is started."""
    crawl = Crawl(tmp_path)
    for n in ("0", "-1", "65", "two"):
        assert "--processes" in crawl.run("harvest", "--processes", n, code=2).stderr
        said = crawl.run("harvest", code=3, WEIBO_HARVEST__PROCESSES=n).stderr
        assert "harvest.processes" in said
    assert not list(tmp_path.iterdir())


def test_why_a_harvester_failed_is_kept(tmp_path: Path) -> None:
    """Its message, under the error of its exit code."""
    missing = tmp_path / "missing.toml"
    others = Others(1, "run", missing)

    async def run() -> None:
        await others.start()
        await others.wait()

    asyncio.run(run())
    (failure,) = others.failures
    assert isinstance(failure, BadConfig)
    assert str(missing) in str(failure)
    (line,) = others.ended_early
    assert line == f"one of 2 harvesters failed: {failure}"


def test_the_worst_error_ends_the_command() -> None:
    """A store's before the site's before a stop, whoever met it; the first of a kind."""
    others = Others()
    own: CrawlerError = Interrupted("stopped")
    assert others.worst(own) is own
    others.failures = [SiteSaysNo("first"), SiteSaysNo("second")]
    assert str(others.worst(own)) == "first"
    assert str(others.worst(SiteSaysNo("own"))) == "own"
    others.failures.append(StoreError("disk"))
    assert str(others.worst(SiteSaysNo("own"))) == "disk"
