"""What mrjob needs to know of a job; the scripts in jobs/ inherit it."""

from mrjob.job import MRJob
from mrjob.protocol import RawValueProtocol

from weibo_crawler.posts.staged import own_runner


class MapJob(MRJob):  # type: ignore[misc]
    """Lines in, lines out, a map for each line of the input, and no reducers. Two tasks never do
    one thing."""

    INPUT_PROTOCOL = RawValueProtocol
    OUTPUT_PROTOCOL = RawValueProtocol
    HADOOP_INPUT_FORMAT = "org.apache.hadoop.mapred.lib.NLineInputFormat"
    JOBCONF = {"mapreduce.job.reduces": "0", "mapreduce.map.speculative": "false"}  # noqa: RUF012

    def _runner_class(self) -> type:
        return own_runner(self.options.runner) or super()._runner_class()
