"""A look around on a node of the cluster, as one map; `weibo-crawler doctor --nodes` submits it."""

from collections.abc import Iterator

from mrjob.job import MRJob
from mrjob.protocol import RawValueProtocol

from weibo_crawler.posts.node import look_around
from weibo_crawler.posts.staged import staged_runner


class MRCheckNode(MRJob):
    """Any one line in, what was found out: a line of JSON each."""

    INPUT_PROTOCOL = RawValueProtocol
    OUTPUT_PROTOCOL = RawValueProtocol
    HADOOP_INPUT_FORMAT = "org.apache.hadoop.mapred.lib.NLineInputFormat"
    JOBCONF = {"mapreduce.job.reduces": "0"}  # noqa: RUF012

    def _runner_class(self) -> type:
        return staged_runner(self.options.runner) or super()._runner_class()

    def mapper(self, _: object, line: str) -> Iterator[tuple[None, str]]:
        for finding in look_around():
            yield None, finding.to_line()


if __name__ == "__main__":
    MRCheckNode.run()
