"""The map-only posts job: users in, one Outcome a user out.

    python jobs/crawl_posts.py -r inline|local|hadoop MANIFEST

`weibo-crawler posts` writes the manifest and calls this; `weibo-crawler posts --manifest FILE`
writes one for use by hand. Settings are those of the crawler (WEIBO_CONFIG, WEIBO_* variables),
read where the mappers run. However many tasks run, and whatever runs beside them, they share the
egresses by leases in the users' database.

With `--input hbase` a line is a row key from TableInputFormat, one map a region, as in the paper.
"""

import gc
import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

import msgspec
from mrjob.job import MRJob
from mrjob.protocol import RawValueProtocol

from weibo_crawler import config
from weibo_crawler.errors import CrawlerError, Interrupted
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.posts.crawl import TERMINATED, Job, RangeCrawler
from weibo_crawler.posts.feed import Feed, row_uid
from weibo_crawler.posts.manifest import KeyRange, parse_line
from weibo_crawler.posts.workers import ended_by, worker_name
from weibo_crawler.printable import guard_streams, unguarded
from weibo_crawler.records import Outcome
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.owners import new_owner

_SPOOLED_BYTES = 8 * 1024 * 1024
_FORMATS = {
    "ranges": "org.apache.hadoop.mapred.lib.NLineInputFormat",
    "hbase": "org.apache.hadoop.hbase.mapred.TableInputFormat",
}


class MRCrawlPosts(MRJob):
    """Visits the users of each range, and counts one outcome a user."""

    INPUT_PROTOCOL = RawValueProtocol
    OUTPUT_PROTOCOL = RawValueProtocol
    JOBCONF = {"mapreduce.job.reduces": "0", "mapreduce.map.speculative": "false"}  # noqa: RUF012

    def configure_args(self) -> None:
        super().configure_args()
        self.add_passthru_arg(
            "--run-id", default=os.environ.get("WEIBO_RUN_ID"), help="name of the run in the tables"
        )
        self.add_passthru_arg("--driver", default="", help="end when this lease owner is dead")
        self.add_passthru_arg(
            "--refresh", action="store_true", help="come back to known users that are due"
        )
        self.add_passthru_arg("--all", action="store_true", help="and to those that are not")
        self.add_passthru_arg(
            "--follow", action="store_true", help="another job comes soon: who failed rests"
        )
        self.add_passthru_arg(
            "--revisit-posts", type=float, default=0.0, help="in place of posts.revisit_posts"
        )
        self.add_passthru_arg(
            "--input",
            choices=list(_FORMATS),
            default="ranges",
            help="what a line is: a key range of a manifest, or a row key of a table",
        )

    def hadoop_input_format(self) -> str:
        return _FORMATS[self.options.input]

    def mapper_init(self) -> None:
        if not isinstance(unguarded(sys.stderr), io.TextIOBase):  # mrjob's inline runner: bytes
            sys.stderr = io.TextIOWrapper(sys.stderr, "utf-8", write_through=True)
            guard_streams()
        options = self.options
        attempt = worker_name(os.environ, "")
        job = Job(
            run_id=options.run_id or new_run_id(),
            refresh=options.refresh,
            driver=options.driver,
            attempt=attempt,
            every=options.all,
            follow=options.follow,
            revisit_posts=options.revisit_posts,
        )
        with self._ending_in_order():
            self.home = Home(config.load())  # opens nothing yet
            stores = self.home.users, self.home.tables
            archive = self.home.archive("posts", job.run_id, {"every": job.every})
            self.crawler = RangeCrawler(
                *(self.home.settings, self.home.site, *stores, job, self.set_status),
                *(self.home.leases, self.home.claims(job.run_id)),
                on_answer=None if archive is None else archive.keep,
            )
        signal.signal(signal.SIGTERM, lambda *_: self.crawler.stop(TERMINATED))
        self.ranges: list[KeyRange] = []
        # of millions of users, so not in memory
        self.outcomes: IO[bytes] = SpooledTemporaryFile(_SPOOLED_BYTES)  # noqa: SIM115
        is_fed = options.input == "hbase"
        self.feed = Feed(self.crawler, self.home.tables, self.keep) if is_fed else None

    def keep(self, outcome: Outcome) -> None:
        """Until the mapper ends."""
        self.outcomes.write(msgspec.json.encode(outcome) + b"\n")

    def mapper(self, _: object, line: str) -> None:
        with self._ending_in_order():
            if self.feed is not None:
                self.feed.put(row_uid(line))
            else:
                self.ranges.append(parse_line(line))

    def mapper_final(self) -> Iterator[tuple[None, str]]:
        with self._ending_in_order():
            if self.feed is not None:
                self.feed.finish()
            else:
                self.crawler.crawl(self.ranges, self.keep)
            yield from self._counted()
            if not self.crawler.stopping:
                self.crawler.finished()
        self.crawler.close()
        self.home.__exit__()

    def _counted(self) -> Iterator[tuple[None, str]]:
        self.outcomes.seek(0)
        for line in self.outcomes:
            outcome = msgspec.json.decode(line, type=Outcome)
            self.increment_counter("users", "input")
            self.increment_counter("users", outcome.status)
            self.increment_counter("posts", "new", outcome.new)
            yield None, line.decode().rstrip("\n")

    def _tell(self, error: CrawlerError) -> None:
        """Leave the reason in the users' database, where the driver looks for it."""
        with suppress(CrawlerError):
            if hasattr(self, "crawler"):
                self.crawler.failed(error)
            else:
                name = worker_name(os.environ, new_owner())
                why, now = ended_by(error.exit_code, str(error)), time.time()
                row = WorkerRow(self.options.run_id or "", name, "posts", now, now, why, {})
                self.home.users.report(row)

    def _complete_archive(self) -> None:
        """The folder of a container goes with it. What went wrong with the archive was told."""
        with suppress(CrawlerError):
            if hasattr(self, "home"):
                self.home.close_archives()

    @contextmanager
    def _ending_in_order(self) -> Iterator[None]:
        """A mapper that was told to end has done its part: another attempt would end at once too.
        On YARN an error's exit code is the mapper's, by which the driver knows it in any case."""
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


if __name__ == "__main__":
    # tasks run in folders of their own: relative paths are meant from where the job was started
    os.environ.setdefault("WEIBO_BASE_DIR", str(Path.cwd()))
    os.environ.setdefault("WEIBO_RUN_ID", new_run_id())  # one for all tasks
    guard_streams()  # they write the job's log
    gc.set_threshold(50_000)  # as in cli/main.py
    MRCrawlPosts.run()
