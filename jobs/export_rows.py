"""Rows of the tables into files of HDFS, a map each: `weibo-crawler export -o hdfs://…`."""

import os
import sys
from collections.abc import Iterator

from weibo_crawler.cli.export_on_yarn import write_part
from weibo_crawler.errors import BadConfig, BadUsage, CrawlerError
from weibo_crawler.mapjob import MapJob


class MRExportRows(MapJob):
    """What to write in, how many rows that were out."""

    def mapper(self, _: object, line: str) -> Iterator[tuple[None, str]]:
        try:
            yield None, str(write_part(line, self.set_status))
        except CrawlerError as error:
            print(f"weibo-crawler: {error}", file=sys.stderr, flush=True)
            # by which the command knows it; what a node lacks is no wrong option there
            os._exit(BadConfig.exit_code if isinstance(error, BadUsage) else error.exit_code)


if __name__ == "__main__":
    MRExportRows.run()
