"""What runs commands of the program for the tests."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.crawls import simulated
from tests.forks import JOB, forks, needs_a_start, simulator
from tests.simulator.conftest import SMALL
from tests.simulator.test_run import wait_until_closed
from weibo_crawler.errors import BadUsage
from weibo_crawler.store.sqlite.frontier import SqliteUsers

ROOT = Path(__file__).parents[1]
OURS = {"PYTHONPATH": str(ROOT)}
PROGRAM = """
import sys
from tests.forks import needs_a_start, simulator
from weibo_crawler.simulator.options import SimulatorOptions
running = simulator(SimulatorOptions(users=40))
print(running.base_url, flush=True)
sys.stdin.read()
"""


def test_a_simulator_is_stopped() -> None:
    """It listens when it is given, and no more when it is stopped; a second stop does nothing."""
    running = simulator(SMALL)
    where = urlsplit(running.base_url)
    socket.create_connection((where.hostname, where.port), timeout=5).close()
    running.stop()
    wait_until_closed(running.base_url)
    running.stop()


def test_what_is_wrong_with_a_simulator_is_raised() -> None:
    """The error is that of a real start."""
    with pytest.raises(BadUsage, match="users: 7 is not between"):
        simulator(replace(SMALL, users=7))


def test_who_is_killed_leaves_nothing_behind() -> None:
    """A process that runs tests and is killed takes with it what it has asked for."""
    command = [sys.executable, "-c", PROGRAM]
    asking = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    with asking:
        assert asking.stdout is not None
        base_url = asking.stdout.readline().decode().strip()
        asking.kill()
    wait_until_closed(base_url)


def test_what_is_installed_beside_the_program_is_found(tmp_path: Path) -> None:
    """PYTHONPATH means in a fork what it means at a start, or there is a start."""
    ours = os.environ | OURS
    assert not needs_a_start(ours)
    assert not needs_a_start(ours | {"PYTHONPATH": f"{ROOT}:{tmp_path}"})
    assert needs_a_start(ours | {"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    assert needs_a_start(ours | {"PYTHONHASHSEED": "1"})


def test_a_job_is_what_it_is_when_it_is_started(tmp_path: Path) -> None:
    """A fork of the posts job has the output, the exit code and the session of a start."""
    told = []
    for name, words in (("help", ["--help"]), ("wrong", ["--no-such-option"])):
        started = subprocess.run([sys.executable, JOB, *words], capture_output=True, check=False)
        with (tmp_path / name).open("wb") as file:
            out = file.fileno()
            forked = forks().begin(JOB, words, tmp_path, os.environ | OURS, out, out)
        assert os.getsid(forked.pid) == forked.pid
        assert forked.wait(60) == started.returncode
        told.append((tmp_path / name).read_bytes() == started.stdout + started.stderr)
    assert told == [True, True]


def test_the_tasks_of_a_job_end_with_its_group(tmp_path: Path) -> None:
    """They are forks in the group of their job, as those that mrjob starts: who ends the group ends
    them, and the site hears nothing more."""
    with simulated(tmp_path, users=60, faults="slow=1", slow_s=0.3) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("import")
        crawl.run("posts", "--manifest", "ranges.jsonl")
        words = ["-r", "local", "--no-conf", "--no-bootstrap-mrjob", "--num-cores", "2"]
        words += ["--local-tmp-dir", str(tmp_path), "--no-cat-output", "ranges.jsonl"]
        with (tmp_path / "log").open("wb") as file:
            job = forks().begin(JOB, words, crawl.folder, crawl.env, file.fileno(), file.fileno())
        _wait(lambda: bool(truth.served()))
        told = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in _group(job.pid)]
        assert len(told) >= 3  # the job, the server of its tasks, a task
        assert [line for line in told if b"tests.forks" not in line] == []  # nothing was started
        os.killpg(job.pid, signal.SIGTERM)
        assert job.wait(60) == -signal.SIGTERM
        _wait(lambda: not _group(job.pid))
        asked = len(truth.served())
        time.sleep(1)
        assert len(truth.served()) == asked


def test_a_job_outlives_its_command(tmp_path: Path) -> None:
    """As one that was started does: its mappers see that nobody waits for them, and end in order,
    which they tell."""
    with simulated(tmp_path, users=60, faults="slow=1", slow_s=0.3) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("import")
        process = crawl.start("posts", "--runner", "local")
        _wait(lambda: bool(truth.served()))
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
        _wait(lambda: _have_ended(f"sqlite:///{crawl.folder}/users.db"))


def _have_ended(url: str) -> bool:
    with closing(SqliteUsers(url)) as users:
        rows = [row for row in users.workers() if row.stage == "posts"]
    return bool(rows) and all(row.ended for row in rows)


def _group(leader: int) -> list[int]:
    """The processes of a group that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            pid, state = (
                int(folder.name),
                (folder / "stat").read_text().rpartition(")")[2].split()[0],
            )
            if os.getpgid(pid) == leader and state != "Z":
                found.append(pid)
    return found


def _wait(come: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not come():
        assert time.monotonic() < deadline
        time.sleep(0.05)
