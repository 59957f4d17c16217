"""One mapper of the posts job: what it is told, lines in, outcomes out, and how it ends.

Everything but what mrjob needs to know, which is in jobs/crawl_posts.py.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import msgspec

from weibo_crawler.errors import CrawlerError, Interrupted
from weibo_crawler.fetch.opening import settings_of_task
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.posts.crawl import TERMINATED, RangeCrawler
from weibo_crawler.posts.due import Job
from weibo_crawler.posts.feed import Feed, row_uid
from weibo_crawler.posts.manifest import KeyRange, parse_line
from weibo_crawler.posts.workers import ended_by, worker_name
from weibo_crawler.printable import guard_task
from weibo_crawler.records import Outcome
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.owners import new_owner

_SPOOLED_BYTES = 8 * 1024 * 1024

RANGES, ROWS = "ranges", "hbase"  # what a line is: a key range of a manifest, a row key of a table
OPTIONS: dict[str, dict[str, Any]] = {  # of the job, as argparse takes them; --run-id beside them
    "--driver": {"default": "", "help": "end when this lease owner is dead"},
    "--refresh": {"action": "store_true", "help": "come back to known users that are due"},
    "--all": {"action": "store_true", "help": "and to those that are not"},
    "--follow": {"action": "store_true", "help": "another job comes soon: who failed rests"},
    "--revisit-posts": {"type": float, "default": 0.0, "help": "in place of posts.revisit_posts"},
    "--since": {"type": float, "default": 0.0, "help": "seconds since 1970: no older posts"},
    "--input": {
        "choices": [RANGES, ROWS],
        "default": RANGES,
        "help": "what a line is: a key range of a manifest, or a row key of a table",
    },
}


class Mapper:
    """Takes lines, and crawls their users. options: OPTIONS and run_id. heartbeat: is called about
    once a second with a line for people.

    Whatever ends it is left in the users' database, where the driver looks for it. A mapper that
    was told to end has done its part: another attempt would end at once too. On YARN an error's
    exit code is the mapper's, by which the driver knows it in any case.
    """

    def __init__(self, options: argparse.Namespace, heartbeat: Callable[[str], None]) -> None:
        guard_task()
        job = Job(
            run_id=options.run_id or new_run_id(),
            refresh=options.refresh,
            driver=options.driver,
            attempt=worker_name(os.environ, ""),
            every=options.all,
            follow=options.follow,
            revisit_posts=options.revisit_posts,
            since=options.since,
        )
        self._run_id = options.run_id or ""
        self._home: Home | None = None
        self._crawler: RangeCrawler | None = None
        with self._ending_in_order():
            # opens nothing yet. The driver had reached the stores, so what is away comes back
            self._home = home = Home(settings_of_task(), waits=True)
            stores = home.users, home.tables
            told = {"every": job.every, "since": job.since}
            archive = home.archive("posts", job.run_id, told)
            self._crawler = RangeCrawler(
                *(home.settings, home.site, *stores, job, heartbeat),
                *(home.leases, home.claims(job.run_id)),
                on_answer=None if archive is None else archive.keep,
            )
        crawler = self.crawler
        signal.signal(signal.SIGTERM, lambda *_: crawler.stop(TERMINATED))
        self._ranges: list[KeyRange] = []
        # of millions of users, so not in memory
        self._outcomes: IO[bytes] = SpooledTemporaryFile(_SPOOLED_BYTES)  # noqa: SIM115
        is_fed = options.input == ROWS
        self._feed = Feed(crawler, home.tables, self._keep) if is_fed else None

    @property
    def crawler(self) -> RangeCrawler:
        assert self._crawler is not None  # what kept it from being made was raised
        return self._crawler

    def take(self, line: str) -> None:
        with self._ending_in_order():
            if self._feed is not None:
                self._feed.put(row_uid(line))
            else:
                self._ranges.append(parse_line(line))

    def finish(self) -> Iterator[tuple[Outcome, str]]:
        """Crawl what is left to crawl; gives the outcome of each user, and its line."""
        crawler = self.crawler
        with self._ending_in_order():
            if self._feed is not None:
                self._feed.finish()
            else:
                crawler.crawl(self._ranges, self._keep)
            self._outcomes.seek(0)
            for line in self._outcomes:
                yield msgspec.json.decode(line, type=Outcome), line.decode().rstrip("\n")
            if not crawler.stopping:
                crawler.finished()
        self.close()

    def close(self) -> None:
        self._outcomes.close()
        self.crawler.close()
        assert self._home is not None
        self._home.__exit__()

    def _keep(self, outcome: Outcome) -> None:
        self._outcomes.write(msgspec.json.encode(outcome) + b"\n")

    @contextmanager
    def _ending_in_order(self) -> Iterator[None]:
        try:
            yield
        except Interrupted:
            if self.crawler.stopping == TERMINATED:
                self._complete_archive()
                raise
        except CrawlerError as error:
            self._tell(error)
            self._complete_archive()
            if "CONTAINER_ID" not in os.environ:
                raise
            print(f"weibo-crawler: {error}", file=sys.stderr, flush=True)
            # the threads of what is under way do not matter any more: what is acknowledged is kept
            os._exit(error.exit_code)

    def _tell(self, error: CrawlerError) -> None:
        with suppress(CrawlerError):
            if self._crawler is not None:
                self._crawler.failed(error)
            elif self._home is not None:
                name = worker_name(os.environ, new_owner())
                why, now = ended_by(error.exit_code, str(error)), time.time()
                self._home.users.report(WorkerRow(self._run_id, name, "posts", now, now, why, {}))

    def _complete_archive(self) -> None:
        """The folder of a container goes with it. What went wrong with the archive was told."""
        with suppress(CrawlerError):
            if self._home is not None:
                self._home.close_archives()
