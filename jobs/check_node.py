"""A look around on a node of the cluster, as one map; `weibo-crawler doctor --nodes` submits it."""

from collections.abc import Iterator

from weibo_crawler.mapjob import MapJob
from weibo_crawler.posts.node import look_around


class MRCheckNode(MapJob):
    """Any one line in, what was found out: a line of JSON each."""

    def mapper(self, _: object, line: str) -> Iterator[tuple[None, str]]:
        for finding in look_around():
            yield None, finding.to_line()


if __name__ == "__main__":
    MRCheckNode.run()
