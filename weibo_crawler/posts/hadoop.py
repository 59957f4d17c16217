"""A job on YARN: handed over, watched, ended. Its script is submitted by mrjob."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.posts import workers
from weibo_crawler.posts.cluster import (
    SUBMITTED,
    Cluster,
    NoFolder,
    Submitted,
    finish,
    maps_note,
    settle,
    wait_for,
)
from weibo_crawler.posts.driver import JobFiles, JobRun, Told, end_group, start
from weibo_crawler.posts.submission import (
    Staged,
    command,
    ending,
    environment,
    jobconf,
    not_submitted,
)
from weibo_crawler.posts.yarn import Application
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.temporary import owned_folder

_POLL_S = 0.5
_MAPS_S = 2.0
_PATIENCE_S = 300.0  # a ResourceManager that is away for so long is given up
_QUIET_S = 3.0  # mappers report every second: after so long without a word none is left
_LATE_S = 5.0  # after a submission was cut short the application may still appear


class HadoopRun(JobRun):
    """table: read this HBase table by TableInputFormat, one map a region; "" = the key ranges of
    the manifest. detach: `run` returns as soon as YARN has accepted the job; the job names no
    driver then, and nobody is waited for. Else mappers end when their driver is gone: on its own
    machine its process tells, elsewhere its heartbeat in the users' database, once that stood still
    for three minutes."""

    def __init__(
        self,
        frontier: Frontier,
        job: Told,
        files: JobFiles,
        progress: Callable[[dict[str, int], str], None] = lambda counters, note: None,
        *,
        cluster: Cluster,
        table: str = "",
        detach: bool = False,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(frontier, job, files, progress)
        self._cluster, self._yarn = cluster, cluster.yarn
        self._table, self._detach, self._env = table, detach, env
        self.application: Application | None = None
        self._note, self._noted = "handing over to YARN", 0.0
        self._reached = time.monotonic()
        self._ran_unseen = False  # mrjob says well done, and our ResourceManager never saw it

    @property
    def run_id(self) -> str:
        return self._job.run_id

    @property
    def is_left_running(self) -> bool:
        """Whether `run` returned without waiting for the end."""
        app = self.application
        return self._leaves and app is not None and not app.is_over

    @property
    def _leaves(self) -> bool:
        return self._detach and not self._stops

    def run(self) -> dict[str, int]:
        settle(self._frontier, self._cluster)
        submitted = self._hand_over()
        try:
            self._watch()
        finally:
            # an error may end the driver alone: then the mappers end, and the next run cleans up
            if self.application is None or self.application.is_over:
                finish(self._frontier, self._cluster, submitted)
        if not self.is_left_running:
            self._judge(self._failure())
        return self.counters()

    def _hand_over(self) -> Submitted:
        job = self._job
        submitted = Submitted(job.run_id, self._cluster.staging(job.run_id), job.driver)
        SUBMITTED.put(self._frontier, submitted)
        try:
            files = self._files
            self._staged = self._cluster.stage(job.run_id, files.script, files.manifest)
        except NoFolder:
            SUBMITTED.clear(self._frontier)
            raise
        except BaseException:
            with suppress(StoreError):  # the reason that is on its way says more
                finish(self._frontier, self._cluster, submitted)
            raise
        self._command = self._submission(self._staged)
        return submitted

    def _submission(self, staged: Staged) -> list[str]:
        job, cluster = self._job, self._cluster
        hadoop = cluster.settings.hadoop
        conf = jobconf(hadoop, job.stage, job.run_id, by_range=not self._table)
        words = command(hadoop, cluster.jar, self._files.script, staged, conf)
        words += ["--run-id", job.run_id]
        words += ["--driver", job.driver] if job.driver else []  # Streaming drops an empty word
        words += job.options()
        if not self._table:
            return [*words, staged.input]
        if hadoop.hbase_jars:
            words += ["--libjars", ",".join(hadoop.hbase_jars)]
        # TableInputFormat takes the last part of the path for the table's name
        return [*words, "--input", "hbase", f"{staged.folder}/{self._table}"]

    def _watch(self) -> None:
        """Until the application is over, or accepted where nobody waits for it."""
        with owned_folder("job") as folder:
            words = [*self._command, "--local-tmp-dir", str(folder)]
            env = environment(self._env, self._cluster.settings.hadoop, self._staged)
            process = start(words, self._files.log, env)
            ended_at = None
            try:
                while True:
                    if ended_at is None and process.poll() is not None:
                        ended_at = time.monotonic()
                    self._find()
                    if self._is_end(ended_at):
                        break
                    self._look(self._note)
                    if self._stops >= 2 or (self._stops and self.application is None):
                        self._kill(process.pid)
                    time.sleep(_POLL_S)
                if not self._leaves:
                    with suppress(TimeoutError):
                        wait_for(lambda: process.poll() is not None, 20.0)
            finally:
                end_group(process)
        self._ran_unseen = self.application is None and process.returncode == 0
        if self._stops >= 2:
            self._wait_until_quiet()
        if not self._leaves:
            self._show(self._note)

    def _find(self) -> None:
        """Ask YARN how the application is; it may be away for a while."""
        try:
            app = self._yarn.find(self._job.run_id)
            self._reached = time.monotonic()
            if app is not None and self.application is None:
                self._noted_as(app)
            self.application = app or self.application
            if app is not None and time.monotonic() - self._noted >= _MAPS_S:
                self._note, self._noted = maps_note(self._yarn.maps(app.id)), time.monotonic()
        except StoreError:
            if time.monotonic() - self._reached > _PATIENCE_S:
                raise

    def _noted_as(self, app: Application) -> None:
        run_id, driver = self._job.run_id, self._job.driver
        staging = self._cluster.staging(run_id)
        SUBMITTED.put(self._frontier, Submitted(run_id, staging, driver, app.id))

    def _is_end(self, ended_at: float | None) -> bool:
        app = self.application
        if app is not None:
            return app.is_over or (self._leaves and app.state in ("ACCEPTED", "RUNNING"))
        return ended_at is not None and time.monotonic() - ended_at > _LATE_S

    def _kill(self, pid: int) -> None:
        """What the second Ctrl-C asks for, or the first where nothing was submitted yet, which may
        take YARN's client a quarter of an hour. May be repeated."""
        if self.application is not None:
            with suppress(StoreError):  # away for a while
                self._yarn.kill(self.application.id)
        else:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def _wait_until_quiet(self) -> None:
        """YARN says KILLED a moment before the last mapper is gone."""
        rows, since = self._rows(), time.monotonic()
        while time.monotonic() - since < _QUIET_S:
            time.sleep(_POLL_S)
            if (now := self._rows()) != rows:
                rows, since = now, time.monotonic()

    def _failure(self) -> str:
        """How the application ended, "" where well. Raises what the mappers' exit codes say."""
        app = self.application
        if self._ran_unseen:
            raise BadConfig(
                "hadoop.resourcemanager: the job ran to its end, but not at "
                f"{self._cluster.settings.hadoop.resourcemanager}: name the ResourceManager that "
                f"`{self._cluster.settings.hadoop.command}` submits to; what it brought is stored"
            )
        if app is None:
            return "the job was not submitted" if self._stops else not_submitted(self._files.log)
        if app.final == "SUCCEEDED":
            return ""
        is_told = bool(self._stops or workers.said(self._rows()))
        return ending(self._yarn, app, self._cluster.settings.hadoop.python, is_told=is_told)
