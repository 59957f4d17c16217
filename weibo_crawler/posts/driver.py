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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from weibo_crawler.errors import BadUsage, CrawlerError, Interrupted, SiteSaysNo, StoreError
from weibo_crawler.metrics import total
from weibo_crawler.posts.crawl import STOP, Job
from weibo_crawler.store import Frontier, WorkerRow

RUNNERS = ("inline", "local")
_POLL_S = 0.2
_LOOK_S = 1.0
_TAIL = 15  # lines of the job's log in an error


class JobFiles(NamedTuple):
    """script: jobs/crawl_posts.py; manifest: the ranges; log: where the job's stderr goes."""

    script: Path
    manifest: Path
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

        Raises what stopped a mapper: StoreError, SiteSaysNo, Interrupted, else CrawlerError.
        """
        with tempfile.TemporaryDirectory(prefix="weibo-job-") as folder:
            with self._files.log.open("wb") as log:
                process = subprocess.Popen(
                    self._command(folder),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**self._env, "WEIBO_BASE_DIR": _base(self._env)},
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
        """The worst of what the mappers said."""
        if self._stops:
            raise Interrupted("the posts job was stopped; the same command goes on")
        if returncode == 0:
            return
        said = [w.ended for w in self._workers() if w.ended and w.ended.startswith("exit ")]
        for kind in (StoreError, SiteSaysNo, Interrupted):
            for why in said:
                code, _, message = why.removeprefix("exit ").partition(": ")
                if code == str(kind.exit_code):
                    raise kind(message)
        tail = self._files.log.read_text(errors="replace").splitlines()[-_TAIL:]
        raise CrawlerError(
            "\n".join([f"the posts job failed (exit code {returncode}); its log ends:", *tail])
        )


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
