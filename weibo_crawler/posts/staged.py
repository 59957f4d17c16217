"""mrjob's runner on YARN for a job that the program has staged: it submits, and that is all.

By itself mrjob asks Hadoop for its version, makes two folders and copies the script, each by a JVM
of its own. A job that somebody starts by hand is not staged, and is mrjob's alone.
"""

import os

STAGED = "WEIBO_STAGED"  # tells the job script its folder in HDFS


def staged_runner(runner: str) -> type | None:
    """The class for a job that was staged, None for others. runner: mrjob's name of it."""
    folder = os.environ.get(STAGED)
    if runner != "hadoop" or folder is None:
        return None
    from mrjob.hadoop import HadoopJobRunner  # tasks need none

    class StagedRunner(HadoopJobRunner):  # type: ignore[misc]
        """The script lies in the job's folder, under its own name."""

        def get_hadoop_version(self) -> str:
            return "3"  # what mrjob asks for is whether there is YARN, which is so since 2

        def _wd_mirror(self) -> str | None:
            return folder

        def _upload_local_files(self) -> None:
            pass

    return StagedRunner
