"""A job on YARN that does one thing: each map is told a line, and what they say comes back.

It goes the way of the posts job (archive, private settings, mrjob, YARN).
"""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path

from weibo_crawler.errors import CrawlerError, StoreError
from weibo_crawler.posts.cluster import Cluster, maps_note
from weibo_crawler.posts.driver import end_group, start
from weibo_crawler.posts.submission import (
    Staged,
    command,
    ending,
    environment,
    jobconf,
    not_submitted,
)
from weibo_crawler.posts.yarn import Application
from weibo_crawler.store.temporary import owned_folder

_LOOK_S = 2.0
_MADE = "made"
_LEFT_OVER = timedelta(days=1)  # after so long nobody is about to submit a job


class Once:
    """One such job. what: the word of its name; script: a job of mrjob; patience_s: for so long it
    is waited for.

    It leaves nothing in HDFS but the archive, which the posts job uses too; what one that was
    killed has left, a later one of the same name removes after a day.
    """

    def __init__(
        self,
        cluster: Cluster,
        what: str,
        script: Path,
        run_id: str,
        *,
        patience_s: float = inf,
    ) -> None:
        self._cluster, self._what, self._script = cluster, what, script
        self._run_id = f"{what}-{run_id}"
        self._patience_s = patience_s

    @property
    def made(self) -> str:
        """A folder of HDFS that is there while the job runs, for what its maps make."""
        return f"{self._cluster.staging(self._run_id)}/{_MADE}"

    def run(
        self,
        lines: Sequence[str],
        told: Callable[[str], None] = lambda note: None,
        move_to: str = "",
    ) -> list[str]:
        """What the maps said, a line each. told: is called now and then with how far they are;
        move_to: the place that `made` has at the end, where all is well; "": it is deleted.

        Raises what keeps the job from running: BadConfig, StoreError, else CrawlerError.
        """
        hdfs = self._cluster.hdfs
        self._clean()
        with owned_folder(self._what) as folder:
            folder.joinpath("input").write_text("".join(f"{line}\n" for line in lines), "utf-8")
            made = _MADE if move_to else ""
            try:
                staged = self._cluster.stage(
                    self._run_id, self._script, folder / "input", made=made
                )
                self._submit(staged, folder, told)
                said = hdfs.read(f"{staged.output}/part-*").splitlines()
                if move_to:
                    hdfs.move(self.made, move_to)
            finally:
                with suppress(StoreError):  # the reason that is on its way says more
                    hdfs.remove(self._cluster.staging(self._run_id))
        return [line for line in said if line.strip()]

    def application(self) -> Application | None:
        """The job, as YARN knows it."""
        return self._cluster.yarn.find(self._run_id)

    def _clean(self) -> None:
        """Remove the folders of jobs whose driver was killed."""
        before = f"{self._what}-{datetime.now(UTC) - _LEFT_OVER:%Y%m%dT%H%M%S}"
        with suppress(StoreError):  # the folder of all jobs may not be there yet
            old = [
                name
                for name in self._cluster.hdfs.names(self._cluster.folder)
                if name.startswith(f"{self._what}-") and name < before
            ]
            apps = {name: self._cluster.yarn.find(name) for name in old}
            over = [name for name, app in apps.items() if app is None or app.is_over]
            self._cluster.hdfs.remove(*map(self._cluster.staging, over))

    def _submit(self, staged: Staged, folder: Path, told: Callable[[str], None]) -> None:
        hadoop, log = self._cluster.settings.hadoop, folder / "log"
        conf = jobconf(hadoop, self._what, self._run_id, by_range=True)
        words = command(hadoop, self._cluster.jar, self._script, staged, conf)
        words += ["--local-tmp-dir", str(folder), staged.input]
        process = start(words, log, environment(os.environ, hadoop, staged))
        try:
            self._wait(process, told)
        finally:
            is_over = process.poll() is not None
            end_group(process)
            if not is_over:
                self._kill()
        if process.returncode:
            app = self._cluster.yarn.find(self._run_id)
            raise CrawlerError(
                not_submitted(log)
                if app is None
                else ending(self._cluster.yarn, app, hadoop.python)
            )

    def _wait(self, process: "subprocess.Popen[bytes]", told: Callable[[str], None]) -> None:
        deadline, yarn = time.monotonic() + self._patience_s, self._cluster.yarn
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
                return
            if time.monotonic() > deadline:
                raise StoreError(
                    f"the job did not end within {self._patience_s:.0f} s: has YARN room for it? "
                    f"{yarn.overview()}"
                )
            with suppress(StoreError):  # away for a while
                app = yarn.find(self._run_id)
                told(maps_note(None if app is None else yarn.maps(app.id)))

    def _kill(self) -> None:
        with suppress(CrawlerError):  # on the way out
            if (app := self._cluster.yarn.find(self._run_id)) is not None:
                self._cluster.yarn.kill(app.id)
