"""The map-only posts job: users in, one Outcome a user out.

    python jobs/crawl_posts.py -r inline|local|hadoop MANIFEST

`weibo-crawler posts` writes the manifest and calls this; `weibo-crawler posts --manifest FILE`
writes one for use by hand. Settings are those of the crawler (WEIBO_CONFIG, WEIBO_* variables),
read where the mappers run. All tasks share the egresses by leases in the users' database.
`--input hbase`: a line is a row key from TableInputFormat, one map a region, as in the paper.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

from weibo_crawler.home import new_run_id
from weibo_crawler.mapjob import MapJob
from weibo_crawler.mapper import OPTIONS, ROWS, Mapper
from weibo_crawler.printable import guard_streams

_ROWS_FORMAT = "org.apache.hadoop.hbase.mapred.TableInputFormat"


class MRCrawlPosts(MapJob):
    """Visits the users of each range, and counts one outcome a user."""

    def configure_args(self) -> None:
        super().configure_args()
        run_id = os.environ.get("WEIBO_RUN_ID")
        self.add_passthru_arg("--run-id", default=run_id, help="name of the run in the tables")
        for name, how in OPTIONS.items():
            self.add_passthru_arg(name, **how)

    def hadoop_input_format(self) -> str:
        return _ROWS_FORMAT if self.options.input == ROWS else super().hadoop_input_format()

    def mapper_init(self) -> None:
        self.visits = Mapper(self.options, self.set_status)

    def mapper(self, _: object, line: str) -> None:
        self.visits.take(line)

    def mapper_final(self) -> Iterator[tuple[None, str]]:
        for outcome, line in self.visits.finish():
            self.increment_counter("users", "input")
            self.increment_counter("users", outcome.status)
            self.increment_counter("posts", "new", outcome.new)
            yield None, line


if __name__ == "__main__":
    # tasks run in folders of their own: relative paths are meant from where the job was started
    os.environ.setdefault("WEIBO_BASE_DIR", str(Path.cwd()))
    os.environ.setdefault("WEIBO_RUN_ID", new_run_id())  # one for all tasks
    guard_streams()  # they write the job's log
    gc.set_threshold(50_000)  # as in cli/main.py
    MRCrawlPosts.run()
