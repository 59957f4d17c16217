"""Starts the map job, shows how it goes, and ends it: the part that stays on the user's machine.

The mappers' figures come from the `workers` table, which is the same in every runner; a stop is a
note in the users' database that every mapper looks for, so it reaches mappers anywhere.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from weibo_crawler.errors import (
    BadConfig,
    BadUsage,
    CrawlerError,
    Interrupted,
    SiteSaysNo,
    StoreError,
)
from weibo_crawler.metrics import total
from weibo_crawler.posts.crawl import STOP, Job
from weibo_crawler.store import Frontier, WorkerRow

RUNNERS = ("inline", "local")
_POLL_S = 0.2
_LOOK_S = 1.0
_ERRORS = "WEIBO_JOB_ERRORS"  # to the mappers: the file JobFiles.errors


class JobFiles(NamedTuple):
    """script: jobs/crawl_posts.py; manifest: the ranges; errors: where mappers tell what ended
    them, a line each; log: where the job's output goes."""

    script: Path
    manifest: Path
    errors: Path
    log: Path


class JobRun:
    """One run of the job in a process group of its own. progress: called with the summed counters
    about once a second. `stop` may be called from a signal handler."""

    def __init__(
        self,
        frontier: Frontier,
        job: Job,
        files: JobFiles,
        *,
        runner: str,
        processes: int | None = None,
        env: Mapping[str, str] = os.environ,
        progress: Callable[[dict[str, int]], None] = lambda counters: None,
    ) -> None:
        if runner not in RUNNERS:
            raise BadUsage(f"--runner {runner}: use one of {', '.join(RUNNERS)}")
        self._frontier, self._job, self._files = frontier, job, files
        self._runner, self._processes, self._env = runner, processes, env
        self._progress = progress
        self._stops = 0

    def stop(self) -> None:
        """First call: mappers finish what is in flight. Second: they are killed."""
        self._stops += 1

    def run(self) -> dict[str, int]:
        """Run to the end; the counters of all mappers together.

        Raises what stopped a mapper: StoreError, BadConfig, SiteSaysNo, Interrupted, else
        CrawlerError.
        """
        with tempfile.TemporaryDirectory(prefix="weibo-job-") as folder:
            with self._files.log.open("wb") as log:
                process = subprocess.Popen(
                    self._command(folder),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={
                        **self._env,
                        "WEIBO_BASE_DIR": _base(self._env),
                        _ERRORS: str(self._files.errors),
                    },
                    start_new_session=True,
                )
            try:
                self._watch(process)
            finally:
                _end_group(process)
        self._judge(process.returncode)
        return self.counters()

    def counters(self) -> dict[str, int]:
        return total([worker.counters for worker in self._workers()])

    def _command(self, folder: str) -> list[str]:
        files = self._files
        command = [sys.executable, str(files.script), "-r", self._runner, "--no-conf"]
        command += ["--output-dir", f"{folder}/out", "--no-cat-output", "--local-tmp-dir", folder]
        command += ["--run-id", self._job.run_id, "--driver", self._job.driver]
        if self._job.refresh:
            command.append("--refresh")
        if self._runner == "local" and self._processes is not None:
            command += ["--num-cores", str(self._processes)]
        return [*command, str(files.manifest)]

    def _workers(self) -> list[WorkerRow]:
        return [w for w in self._frontier.workers() if w.run_id == self._job.run_id]

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        said_stop, looked = False, 0.0
        while process.poll() is None:
            if self._stops >= 2:
                os.killpg(process.pid, signal.SIGKILL)
            elif self._stops and not said_stop:
                self._frontier.set_meta(STOP + self._job.run_id, "interrupted")
                said_stop = True
            if time.monotonic() - looked >= _LOOK_S:
                self._progress(self.counters())
                looked = time.monotonic()
            time.sleep(_POLL_S)
        self._progress(self.counters())

    def _judge(self, returncode: int) -> None:
        """Raise the worst of what the mappers said."""
        if returncode == 0:
            return
        said = self._said()
        for kind in (StoreError, BadConfig, SiteSaysNo, Interrupted):
            for code, message in said:
                if code == kind.exit_code and not (kind is Interrupted and self._stops):
                    raise kind(message)
        if self._stops:
            done = self.counters()
            visited = done.get("users.input", 0) - done.get("users.existing", 0)
            raise Interrupted(
                f"stopped; {visited:,} users visited, {done.get('posts.new', 0):,} new posts; what "
                "was in flight is stored, the same command goes on"
            )
        raise CrawlerError(
            f"the posts job ended early (exit code {returncode}): a mapper was killed or broke; "
            f"the same command goes on, {self._files.log} says more"
        )

    def _said(self) -> list[tuple[int, str]]:
        try:
            lines = self._files.errors.read_text("utf-8").splitlines()
        except OSError:  # no mapper had anything to say
            return []
        return [(int(code), message) for code, _, message in (s.partition(" ") for s in lines)]


@contextmanager
def telling_driver() -> Iterator[None]:
    """In a mapper: what ends it is told to the driver as well, beside the traceback in the log."""
    try:
        yield
    except CrawlerError as error:
        if place := os.environ.get(_ERRORS):
            message = " ".join(str(error).split())
            with suppress(OSError), Path(place).open("a", encoding="utf-8") as file:
                file.write(f"{error.exit_code} {message}\n")
        raise


def _base(env: Mapping[str, str]) -> str:
    return env.get("WEIBO_BASE_DIR") or str(Path.cwd())


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """mrjob leaves tasks behind when it ends early: end the whole group, gently at first."""
    for sign, wait_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        deadline = time.monotonic() + wait_s
        try:
            os.killpg(process.pid, sign)
            while time.monotonic() < deadline:
                process.poll()
                os.killpg(process.pid, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            break
    process.wait()
