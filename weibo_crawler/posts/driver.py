"""Starts a job, shows how it goes, and ends it: the part that stays on the user's machine.

What the mappers did and what ended them stands in the `workers` table, which is the same in every
runner; a stop is a note in the users' database that every mapper looks for, so it reaches mappers
anywhere. `hadoop.py` is this for YARN.
"""

import logging
import os
import re
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from weibo_crawler.errors import (
    BadConfig,
    BadUsage,
    CrawlerError,
    Interrupted,
    SiteSaysNo,
    StoreError,
    StoreFull,
)
from weibo_crawler.posts import workers
from weibo_crawler.store import WorkerRow, notes
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.temporary import open_private, owned_folder

_log = logging.getLogger(__name__)

RUNNERS = ("inline", "local")
# mrjob imports distutils, in whose place setuptools would put its own, and be imported whole
_HAS_DISTUTILS = sys.version_info < (3, 12)
_OWN_DISTUTILS = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} if _HAS_DISTUTILS else {}
_POLL_S = 0.2
_LOOK_S = 1.0
_BEAT_S = 5.0
_FULL = re.compile(rf"^{StoreFull.__module__}\.StoreFull: (.+)$", re.MULTILINE)


class Told(Protocol):
    """What a job is told. stage: what it is a part of, in the names of jobs and figures; driver:
    the owner name of the process that waits for it, "" where none does."""

    @property
    def stage(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def driver(self) -> str: ...

    def options(self) -> list[str]:
        """As its script is told, but for the run and the driver."""
        ...

    def stopped(self, counters: Mapping[str, int], *, is_killed: bool) -> str:
        """What is said of one that was told to stop."""
        ...


class JobFiles(NamedTuple):
    """script: of the job, in jobs/; manifest: the ranges; log: where the job's output goes."""

    script: Path
    manifest: Path
    log: Path


class JobRun(ABC):
    """One run of the job. progress: called about once a second with the summed counters and a note
    of the runner. `stop` may be called from a signal handler."""

    def __init__(
        self,
        frontier: Frontier,
        job: Told,
        files: JobFiles,
        progress: Callable[[dict[str, int], str], None] = lambda counters, note: None,
    ) -> None:
        self._frontier, self._job, self._files = frontier, job, files
        self._progress = progress
        self._stops, self._said_stop = 0, False
        self._shown: dict[str, int] = {}
        self._warned_of: set[str] = set()
        self._looked = self._beaten = 0.0

    def stop(self) -> None:
        """First call: mappers finish what is in flight. Second: they are killed."""
        self._stops += 1

    @abstractmethod
    def run(self) -> dict[str, int]:
        """Run to the end; the counters of all mappers together.

        Raises what stopped a mapper: StoreError, BadConfig, SiteSaysNo, Interrupted, else
        CrawlerError.
        """

    def counters(self) -> dict[str, int]:
        return workers.counters(self._rows())

    def _rows(self) -> list[WorkerRow]:
        return self._frontier.workers(self._job.run_id)

    def _look(self, note: str = "") -> None:
        """To be called often: pass a stop on, show progress, tell the mappers that we live."""
        if self._stops and not self._said_stop:
            notes.STOP.of(self._job.run_id).put(self._frontier, workers.ORDERED)
            self._said_stop = True
        now = time.monotonic()
        if self._job.driver and now - self._beaten >= _BEAT_S:
            notes.DRIVER.of(self._job.run_id).put(self._frontier, time.time())
            self._beaten = now
        if now - self._looked >= _LOOK_S:
            self._show(note)
            self._looked = now

    def _show(self, note: str = "") -> None:
        rows = self._rows()
        for words, text in workers.warnings(rows).items():
            if words not in self._warned_of:
                self._warned_of.add(words)
                _log.warning("%s", text)
        self._shown = workers.never_back(self._shown, workers.counters(rows))
        self._progress(self._shown, note)

    def _judge(self, failure: str) -> None:
        """Raise the worst of what the mappers said. failure: how the job ended, "" where well."""
        rows = self._rows()
        # mappers that are killed may say what they found missing as their folder went away
        said = [] if self._stops >= 2 else workers.said(rows)
        for kind in (StoreError, BadConfig, BadUsage, SiteSaysNo):
            for code, message in said:
                if code == kind.exit_code:
                    raise kind(message)
        is_broken = failure and not self._stops  # where one was killed, we stopped the others
        if not is_broken and (failure or workers.were_stopped(rows)):
            is_killed = self._stops >= 2
            raise Interrupted(self._job.stopped(self.counters(), is_killed=is_killed))
        if failure and (full := _told_full(self._files.log)):
            raise StoreFull(full)
        if failure:
            raise CrawlerError(f"{failure}; the same command goes on, {self._files.log} says more")


class LocalRun(JobRun):
    """On this machine, in a process group of its own; runner: inline or local of mrjob. mappers: at
    once, at most; None: one a core."""

    def __init__(
        self,
        frontier: Frontier,
        job: Told,
        files: JobFiles,
        progress: Callable[[dict[str, int], str], None] = lambda counters, note: None,
        *,
        runner: str,
        mappers: int | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        if runner not in RUNNERS:
            raise BadUsage(f"--runner {runner}: use one of {', '.join(RUNNERS)}")
        super().__init__(frontier, job, files, progress)
        self._runner, self._env = runner, env
        self._mappers = min(mappers or sys.maxsize, os.cpu_count() or 1)

    def run(self) -> dict[str, int]:
        with owned_folder("job") as folder:
            env = {**self._env, **_OWN_DISTUTILS, "WEIBO_BASE_DIR": _base(self._env)}
            process = start(self._command(str(folder)), self._files.log, env)
            try:
                self._watch(process)
            finally:
                end_group(process)
        code, stage = process.returncode, self._job.stage
        ended = f"the {stage} job ended early (exit code {code}): a mapper was killed or broke"
        self._judge(ended if code else "")
        return self.counters()

    def _command(self, folder: str) -> list[str]:
        files = self._files
        command = [sys.executable, str(files.script), "-r", self._runner, "--no-conf"]
        command += ["--output-dir", f"{folder}/out", "--no-cat-output", "--local-tmp-dir", folder]
        # tasks run by this Python, which has mrjob; its setup script would leave a lock in /tmp
        command += ["--no-bootstrap-mrjob"]
        # the tasks of inline come one after another: the fewer the better
        command += ["--num-cores", "1" if self._runner == "inline" else str(self._mappers)]
        command += ["--run-id", self._job.run_id, "--driver", self._job.driver]
        return [*command, *self._job.options(), str(files.manifest)]

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        while process.poll() is None:
            if self._stops >= 2:
                os.killpg(process.pid, signal.SIGKILL)
            self._look()
            time.sleep(_POLL_S)
        self._show()


def start(command: list[str], log: Path, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """A process in a group of its own, its output in a file for this account alone."""
    with open(log, "wb", opener=open_private) as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )


def end_group(process: "subprocess.Popen[bytes]") -> None:
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


def _told_full(log: Path) -> str:
    """What a mapper's traceback says of a full disk, which may have had no room either for what the
    mapper says in the users' database; "" where nothing."""
    try:
        found = _FULL.findall(log.read_text("utf-8", "replace"))
    except OSError:
        return ""
    return found[-1] if found else ""


def _base(env: Mapping[str, str]) -> str:
    return env.get("WEIBO_BASE_DIR") or str(Path.cwd())
