"""A look around on a node of the cluster, as one map; `weibo-crawler doctor --nodes` submits it."""

import time
from collections.abc import Iterator

from weibo_crawler.mapjob import MapJob
from weibo_crawler.posts.node import look_around


class MRCheckNode(MapJob):
    """For how many seconds to stay at least in, what was found out: a line of JSON each. While
    one stays, another map has to take another node."""

    def mapper(self, _: object, line: str) -> Iterator[tuple[None, str]]:
        until = time.monotonic() + float(line)
        for finding in look_around():
            yield None, finding.to_line()
        time.sleep(max(0.0, until - time.monotonic()))


if __name__ == "__main__":
    MRCheckNode.run()
