"""A task of a level's job: what it is told, where it works, and how it ends."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from weibo_crawler.errors import CrawlerError
from weibo_crawler.fetch.opening import settings_of_task
from weibo_crawler.home import Home
from weibo_crawler.posts.workers import ended_by, worker_name
from weibo_crawler.printable import guard_task
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.owners import new_owner
from weibo_crawler.warned import Warned

OPTIONS: dict[str, dict[str, Any]] = {  # of the job, as argparse takes them; --run-id beside them
    "--driver": {"default": "", "help": "end when this lease owner is dead"},
    "--level": {"type": int, "default": 0, "help": "walk users of at most this depth"},
    "--first": {"action": "store_true", "help": "the first job of a command"},
    "--topics": {"action": "store_true", "help": "read topics, in place of lists"},
    "--retry": {"action": "store_true", "help": "also lists that failed, or ended in doubt"},
}


class LevelJob(NamedTuple):
    """level: users of at most this depth are walked; is_first, retry: as in `Wanted`. topics: it
    reads topics, in place of lists; who wrote there stands in SQL then, as seeds do."""

    run_id: str
    level: int
    is_first: bool = False
    retry: bool = False
    driver: str = ""
    topics: bool = False

    @property
    def stage(self) -> str:
        return "harvest"

    def options(self) -> list[str]:
        """As the job's script is told which users to walk."""
        told = {"--first": self.is_first, "--retry": self.retry, "--topics": self.topics}
        return [f"--level={self.level}", *(name for name, is_set in told.items() if is_set)]

    def stopped(self, counters: Mapping[str, int], *, is_killed: bool) -> str:
        """What is said of a job that was told to stop."""
        left = "this level is walked again" if is_killed else "what was read is stored"
        return (
            f"stopped at level {self.level}; {counters.get('level.new', 0):,} new users; {left}, "
            "the same command goes on"
        )


class Task:
    """Opens what a task needs. options: OPTIONS and run_id. heartbeat: is called now and then with
    a line for people."""

    def __init__(self, options: argparse.Namespace, heartbeat: Callable[[str], None]) -> None:
        guard_task()
        self.run_id: str = options.run_id
        self.driver: str = options.driver
        self.level: int = options.level
        self.is_first: bool = options.first
        self.topics: bool = options.topics
        self.retry: bool = options.retry
        self.heartbeat = heartbeat
        self.worker = worker_name(os.environ, new_owner())
        self._began, self._warned = time.time(), Warned()
        # opens nothing yet. The driver had reached the stores, so what is away comes back
        self.home = Home(settings_of_task(), waits=True)

    def report(self, counters: dict[str, int], ended: str | None) -> None:
        """Tell the driver how far the task is. ended: why it ended, None while it works."""
        now, counters = time.time(), counters | self._warned.counters()
        self.home.users.report(
            WorkerRow(self.run_id, self.worker, "harvest", self._began, now, ended, counters)
        )

    @contextmanager
    def ending_in_order(self) -> Iterator[None]:
        """Leave an error in the users' database, where the driver looks for it. On YARN its exit
        code tells it as well."""
        try:
            yield
        except CrawlerError as error:
            with suppress(CrawlerError):
                self.report({}, ended_by(error.exit_code, str(error)))
            with suppress(CrawlerError):  # the archive, which a container takes with it
                self.close()
            if "CONTAINER_ID" not in os.environ:
                raise
            print(f"weibo-crawler: {error}", file=sys.stderr, flush=True)
            os._exit(error.exit_code)

    def close(self) -> None:
        self._warned.close()
        self.home.__exit__()
