"""mrjob's runners, where its own do not suit.

On YARN, for a job that the program has staged: it submits, and that is all. By itself mrjob asks
Hadoop for its version, makes two folders and copies the script, each by a JVM of its own. A job
that somebody starts by hand is not staged, and is mrjob's alone.
"""

import os
from collections.abc import Callable, Iterable

STAGED = "WEIBO_STAGED"  # tells the job script its folder in HDFS


def own_runner(runner: str) -> type | None:
    """The class in place of mrjob's; None where that will do. runner: mrjob's name of it."""
    if runner == "local":
        return _local_runner()
    folder = os.environ.get(STAGED)
    return None if runner != "hadoop" or folder is None else _staged_runner(folder)


def _local_runner() -> type:
    from multiprocessing.pool import ThreadPool  # tasks need none

    from mrjob.local import LocalMRJobRunner

    class LocalRunner(LocalMRJobRunner):  # type: ignore[misc]
        """Waits for its tasks, which are processes, in threads, until one fails. mrjob waits in
        processes, and for ever where one of those is killed."""

        def _run_multiple(self, tasks: Iterable[Callable[[], None]], _: object = None) -> None:
            with ThreadPool(self._opts["num_cores"]) as pool:
                list(pool.imap_unordered(lambda task: task(), tasks))

    return LocalRunner


def _staged_runner(folder: str) -> type:
    from mrjob.hadoop import HadoopJobRunner

    class StagedRunner(HadoopJobRunner):  # type: ignore[misc]
        """The script lies in the job's folder, under its own name."""

        def get_hadoop_version(self) -> str:
            return "3"  # what mrjob asks for is whether there is YARN, which is so since 2

        def _wd_mirror(self) -> str | None:
            return folder

        def _upload_local_files(self) -> None:
            pass

    return StagedRunner
