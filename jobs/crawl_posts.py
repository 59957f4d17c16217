"""The map-only posts job: key ranges in, one Outcome a user out.

    python jobs/crawl_posts.py -r inline|local|hadoop MANIFEST

`weibo-crawler posts` writes the manifest and calls this; `weibo-crawler posts --manifest FILE`
writes one for use by hand. Settings are those of the crawler (WEIBO_CONFIG, WEIBO_* variables),
read where the job is started. By hand each task paces by itself: under a pace limit run one task
(`--num-cores 1`) and nothing beside it, or let `weibo-crawler posts` see to that.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
from mrjob.job import MRJob
from mrjob.protocol import RawValueProtocol

from weibo_crawler import config
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.posts.crawl import Job, RangeCrawler
from weibo_crawler.posts.driver import telling_driver
from weibo_crawler.posts.manifest import parse_line


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
            "--refresh", action="store_true", help="come back to known users for new posts"
        )

    def mapper_init(self) -> None:
        options = self.options
        job = Job(options.run_id or new_run_id(), options.refresh, options.driver)
        with telling_driver():
            self.home = Home(config.load())
            stores = self.home.users, self.home.tables
            self.crawler = RangeCrawler(
                self.home.settings, self.home.site, *stores, job, self.set_status
            )
        signal.signal(signal.SIGTERM, lambda *_: self.crawler.stop("terminated"))

    def mapper(self, _: object, line: str) -> Iterator[tuple[None, str]]:
        with telling_driver():
            outcomes = self.crawler.crawl(parse_line(line))
        for outcome in outcomes:
            self.increment_counter("users", "input")
            self.increment_counter("users", outcome.status)
            self.increment_counter("posts", "new", outcome.new)
            yield None, msgspec.json.encode(outcome).decode()

    def mapper_final(self) -> None:
        with telling_driver():
            self.crawler.finished()
            self.crawler.close()
            self.home.__exit__()


if __name__ == "__main__":
    # tasks run in folders of their own: relative paths are meant from where the job was started
    os.environ.setdefault("WEIBO_BASE_DIR", str(Path.cwd()))
    os.environ.setdefault("WEIBO_RUN_ID", new_run_id())  # one for all tasks
    MRCrawlPosts.run()
