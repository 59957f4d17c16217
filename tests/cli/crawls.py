"""Whole crawls from outside: the command line as a user calls it, the simulator as the site."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.forks import CRAWLER, Forked, forks, needs_a_start, simulator
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.served import Line, read_served

# what a terminal obeys: C0 without the line's end, C1, marks that turn the reading order
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_PATIENCE_S = 300.0  # a job on a busy cluster; pytest ends what hangs elsewhere

# what becomes of a user of the map job
STATUSES = ("stored", "unchanged", "partial", "gone", "failed", "empty", "unreached", "existing")

Background = Forked | subprocess.Popen[Any]


class Crawl:
    """A working folder with settings by variables alone."""

    def __init__(self, folder: Path, base_url: str = "", visitor_url: str = "") -> None:
        self.folder = folder
        self._started: list[Background] = []
        self.env = {n: v for n, v in os.environ.items() if not n.startswith("WEIBO_")}
        self.env |= {
            "WEIBO_SITE__BASE_URL": base_url or "http://127.0.0.1:9",
            "WEIBO_SITE__VISITOR_URL": visitor_url,
            "WEIBO_STORE__USERS": "sqlite:///users.db",
            "WEIBO_STORE__TABLES": "sqlite:///tables.db",
            "WEIBO_PACE__REQUESTS_PER_SECOND": "0",
            "WEIBO_HARVEST__REST_S": "0.2",
            "WEIBO_POSTS__RANGES": "2",  # each mapper is a Python to start; two are several
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "weibo_crawler", *arguments]

    def run(self, *arguments: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        """One command; fails the test with all it printed where the exit code is another."""
        done = self.ended(*arguments, **env)
        assert done.returncode == code, (
            f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done

    def ended(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """One command, however it ends."""
        env = self.env | env
        if needs_a_start(env):
            return self._finished(self.command(*arguments), env)
        return forks().run(arguments, self.folder, env, _PATIENCE_S)

    def on_terminal(self, *arguments: str, typed: str = "", **env: str) -> str:
        """All that a command writes to a terminal that takes no colours, and on which this was
        typed."""
        env = self.env | {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"} | env
        assert not needs_a_start(env)
        ours, theirs = pty.openpty()
        process = forks().begin(CRAWLER, arguments, self.folder, env, theirs, theirs, theirs)
        os.close(theirs)
        with os.fdopen(ours, "r+b", buffering=0) as terminal:
            terminal.write(typed.encode())
            parts = []
            with suppress(OSError):  # Linux says so when the last program has closed it
                while part := terminal.read(65536):
                    parts.append(part)
        process.wait(60)
        return b"".join(parts).decode("utf-8").replace("\r\n", "\n")

    def shell(self, line: str) -> subprocess.CompletedProcess[str]:
        """One line of bash, however it ends."""
        return self._finished(["bash", "-c", line], self.env)

    def _finished(
        self, command: list[str], env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )

    def json(self, *arguments: str, **env: str) -> dict[str, Any]:
        return self.json_of(0, *arguments, **env)

    def json_of(self, code: int, *arguments: str, **env: str) -> dict[str, Any]:
        """What a command prints that ends with this exit code."""
        data: dict[str, Any] = json.loads(self.run(*arguments, "--json", code=code, **env).stdout)
        return data

    def start(self, *arguments: str, **env: str) -> Forked:
        """One command in the background, in a group of its own."""
        env = self.env | env
        assert not needs_a_start(env)
        with self._output(len(self._started)).open("wb") as file:
            output = file.fileno()
            process = forks().begin(CRAWLER, arguments, self.folder, env, output, output)
        self._started.append(process)
        return process

    def start_anew(self, *arguments: str, **env: str) -> "subprocess.Popen[bytes]":
        """The same as a child of ours, whose job is a child of it."""
        with self._output(len(self._started)).open("wb") as output:
            process = subprocess.Popen(
                self.command(*arguments),
                cwd=self.folder,
                env=self.env | env,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def said(self, process: Background) -> str:
        """All that a started command printed so far."""
        return self._output(self._started.index(process)).read_text("utf-8", "replace")

    def _output(self, nth: int) -> Path:
        return self.folder / f"started-{nth}.log"

    def end(self) -> None:
        """Kill what a failed test left running, so that no other test fails for it."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def scan(self, *arguments: str, **env: str) -> list[dict[str, Any]]:
        done = self.run("scan", *arguments, "--format", "jsonl", **env)
        return [json.loads(line) for line in done.stdout.splitlines()]


class Truth:
    """What the simulator says is so, and what it served."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = json.loads((folder / "truth.json").read_text("utf-8"))
        self.seeds = [str(uid) for uid in self.data["seeds"]]
        self.depths = {u["uid"]: u["depth"] for u in self.data["users"] if u["kept"]}

    def posts(self) -> dict[str, dict[str, Any]]:
        """All posts of kept users, by mid."""
        return {
            post["mid"]: post
            for uid, posts in self.data["posts"].items()
            if int(uid) in self.depths
            for post in posts
        }

    def served(self) -> list[Line]:
        return read_served(self.folder / "served.jsonl")


def until(crawl: Crawl, process: Background, come: Callable[[], bool]) -> None:
    """Wait for something that a started command brings about."""
    deadline = time.monotonic() + _PATIENCE_S
    while not come():
        assert process.poll() is None, crawl.said(process)
        assert time.monotonic() < deadline, crawl.said(process)
        time.sleep(0.05)


def outcomes(counters: dict[str, int]) -> int:
    """How many users of a map job had an outcome: as many as went in (law 6)."""
    return sum(counters.get(f"users.{status}", 0) for status in STATUSES)


@contextmanager
def simulated(folder: Path, **knobs: Any) -> Iterator[tuple[Crawl, Truth]]:
    """A simulator, its truth, and a crawl's working folder."""
    site, work = folder / "site", folder / "work"
    site.mkdir()
    work.mkdir()
    options = SimulatorOptions(
        **({"users": 200, "mean_posts": 6.0, "seed": 3} | knobs),
        truth_out=str(site / "truth.json"),
        served_out=str(site / "served.jsonl"),
    )
    with simulator(options) as running:
        crawl = Crawl(work, running.base_url, running.visitor_url)
        try:
            yield crawl, Truth(site)
        finally:
            crawl.end()


def walk_with_echoes(crawl: Crawl, truth: Truth) -> None:
    """The whole way, with the comments and reposts of one post a page."""
    crawl.run("seed", *truth.seeds)
    crawl.run("harvest")
    crawl.run("import")
    crawl.run("posts", "--runner", "inline", "--comments", "1", "--reposts", "1")
