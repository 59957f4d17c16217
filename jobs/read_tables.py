"""Ranges of the tables, read on YARN: `weibo-crawler export -o hdfs://…` and
`report --runner hadoop`."""

import os
import sys
from collections.abc import Iterator

from weibo_crawler.cli.on_yarn import read_part
from weibo_crawler.errors import BadConfig, BadUsage, CrawlerError
from weibo_crawler.mapjob import MapJob


class MRReadTables(MapJob):
    """A line of the input says what to read, and one of the output what came of it."""

    def mapper(self, _: object, line: str) -> Iterator[tuple[None, str]]:
        try:
            yield None, read_part(line, self.set_status)
        except CrawlerError as error:
            print(f"weibo-crawler: {error}", file=sys.stderr, flush=True)
            # by which the command knows it; what a node lacks is no wrong option there
            os._exit(BadConfig.exit_code if isinstance(error, BadUsage) else error.exit_code)


if __name__ == "__main__":
    MRReadTables.run()
