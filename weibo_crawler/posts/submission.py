"""A job as mrjob submits it to YARN: its command line, its settings, and what its end says."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from weibo_crawler.config import Hadoop
from weibo_crawler.errors import BadConfig, Interrupted, StoreError
from weibo_crawler.posts.archive import ENV, WRONG_PYTHON
from weibo_crawler.posts.handover import SETTINGS
from weibo_crawler.posts.staged import STAGED
from weibo_crawler.posts.yarn import Application, Yarn, exit_codes


class Staged(NamedTuple):
    """What a job needs, in HDFS: its own folder, the archives by their names in a task's folder,
    the names of the private files."""

    folder: str
    archives: Mapping[str, str]
    names: list[str]

    @property
    def input(self) -> str:
        return f"{self.folder}/input/ranges.jsonl"

    @property
    def output(self) -> str:
        return f"{self.folder}/out"


def command(
    hadoop: Hadoop, jar: Path, script: Path, staged: Staged, conf: Mapping[str, str]
) -> list[str]:
    """Submits a job script of mrjob; the script's own options and the input are to follow.

    Nothing in it is secret: everybody on this machine may see it.
    """
    words = [sys.executable, str(script), "-r", "hadoop", "--no-conf"]
    words += ["--hadoop-bin", hadoop.command, "--hadoop-streaming-jar", str(jar)]
    words += ["--hadoop-tmp-dir", f"{staged.folder}/mrjob", "--output-dir", staged.output]
    words += ["--no-cat-output", "--no-read-logs", "--cleanup", "NONE"]
    words += ["--no-check-input-paths", "--no-bootstrap-mrjob", "--python-bin", hadoop.python]
    words += ["--cmdenv", f"PYTHONPATH={ENV}", "--cmdenv", f"WEIBO_CONFIG={SETTINGS}"]
    files = [f"{address}#{link}" for link, address in staged.archives.items()]
    files += [f"{staged.folder}/{name}#{name}" for name in staged.names]
    words += ["--files", ",".join(files)]
    for name, value in conf.items():
        words += ["-D", f"{name}={value}"]
    return words


def jobconf(hadoop: Hadoop, stage: str, run_id: str, *, by_range: bool) -> dict[str, str]:
    """The job's settings. They stand in the job history, so there is no secret among them."""
    conf = {
        "mapreduce.job.name": f"weibo-crawler {stage} {run_id}",
        "mapreduce.job.tags": run_id.lower(),
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
        "mapreduce.map.maxattempts": str(hadoop.attempts),
        "mapreduce.reduce.maxattempts": str(hadoop.attempts),
        "mapreduce.task.timeout": str(hadoop.task_timeout_s * 1000),
    }
    if by_range:
        conf["mapreduce.input.lineinputformat.linespermap"] = "1"
        conf["stream.map.input.ignoreKey"] = "true"  # else a line begins with its offset
    else:
        conf["hbase.mapred.tablecolumns"] = "user:id"
    if hadoop.running_maps is not None:
        conf["mapreduce.job.running.map.limit"] = str(hadoop.running_maps)
    if hadoop.map_memory_mb is not None:
        conf["mapreduce.map.memory.mb"] = str(hadoop.map_memory_mb)
    if hadoop.queue is not None:
        conf["mapreduce.job.queuename"] = hadoop.queue
    for item in hadoop.jobconf:
        name, _, value = item.partition("=")
        conf[name.strip()] = value.strip()
    return conf


def environment(env: Mapping[str, str], hadoop: Hadoop, staged: Staged) -> dict[str, str]:
    """For mrjob and Hadoop's client: without our settings, which may hold the password."""
    kept = {name: value for name, value in env.items() if not name.startswith("WEIBO_")}
    jars = [*hadoop.hbase_jars, kept.get("HADOOP_CLASSPATH", "")]
    kept["HADOOP_CLASSPATH"] = ":".join(filter(None, jars))
    kept[STAGED] = staged.folder
    return kept


def not_submitted(log: Path) -> str:
    """Why there is no application: the line of mrjob's output that says most."""
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if "Exception" in line or "Error" in line or "ERROR" in line]
    reason = (telling or lines or ["it said nothing"])[-1].strip()
    return f"the job could not be submitted: {reason}"


def ending(yarn: Yarn, app: Application, python: str, *, is_told: bool = False) -> str:
    """How an application that failed ended. Raises what the exit codes of its mappers say, by
    which they tell what they could not write into the users' database; not where is_told: they
    could. python: as the nodes call it."""
    notes = yarn.failures(app.id)
    if not is_told:
        _raise_exit_code(notes, app.id, python)
    why = (notes or [app.diagnostics])[-1].strip().partition("\n")[0]
    return f"{app.id} ended as {app.final}: {why or 'without a word'}"


def _raise_exit_code(notes: Iterable[str], app: str, python: str) -> None:
    notes = list(notes)
    logs = f"their stderr says why: yarn logs -applicationId {app}"
    for code in exit_codes(notes):
        if WRONG_PYTHON <= code < WRONG_PYTHON + 64:
            raise BadConfig(
                f"hadoop.python: {python} on the nodes is Python 3.{code - WRONG_PYTHON}, and the "
                f"packages were taken from Python 3.{sys.version_info[1]}: name a Python "
                f"3.{sys.version_info[1]} of the nodes, or run weibo-crawler under "
                f"3.{code - WRONG_PYTHON}"
            )
        for kind in (BadConfig, StoreError, Interrupted):
            if code == kind.exit_code:
                raise kind(f"mappers of {app} ended with exit code {code}; {logs}")
    if any("Cannot run program" in note for note in notes):
        raise BadConfig(
            f"hadoop.python: the nodes have no {python}: name a Python "
            f"3.{sys.version_info[1]} of theirs, by its path where it is not on their PATH"
        )
