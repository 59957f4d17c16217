"""What is refused before anything is sent to a cluster, and what a job is told."""

import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest

from weibo_crawler import config
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, CrawlerError, StoreError
from weibo_crawler.posts import archive as archive_module
from weibo_crawler.posts import cluster as cluster_module
from weibo_crawler.posts.archive import ENV, PACKAGES, WRONG_PYTHON
from weibo_crawler.posts.cluster import Cluster, Submitted, check_key, look, outdated
from weibo_crawler.posts.hdfs import HdfsCommand, streaming_jar
from weibo_crawler.posts.submission import Staged, command, ending, environment, jobconf
from weibo_crawler.posts.yarn import Application, Yarn, exit_codes
from weibo_crawler.resources import resource
from weibo_crawler.store.notes import Notes

CODE = "Error: java.lang.RuntimeException: PipeMapRed: subprocess failed with code"
STORE = config.Store(users="mysql://me@host/db", tables="hbase://host:9090")


@pytest.fixture
def hadoop(tmp_path: Path) -> config.Hadoop:
    """A command and a jar that are there, and a ResourceManager that is not."""
    command, jar = tmp_path / "bin" / "hadoop", tmp_path / "hadoop-streaming-3.jar"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    jar.touch()
    return config.Hadoop(
        command=str(command), streaming_jar=str(jar), resourcemanager="http://127.0.0.1:9"
    )


class Noting(Yarn):
    """A cluster that noted this about the attempts that failed."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def failures(self, app: str) -> list[str]:
        return self._notes


def refused(kind: type[CrawlerError], says: str, settings: Settings) -> None:
    with pytest.raises(kind, match=says):
        Cluster(settings)


def test_what_nodes_cannot_reach_is_refused() -> None:
    """Files of this machine are no home for a job on others."""
    refused(BadConfig, "store.users: .* needs mysql://", Settings())
    users = config.Store(users=STORE.users)
    refused(BadConfig, "store.tables: .* needs hbase://", Settings(store=users))
    archive = config.Archive(folder="/data/archive")
    refused(BadConfig, "archive.folder: .* hdfs://", Settings(store=STORE, archive=archive))


def test_a_missing_part_of_hadoop_is_named(hadoop: config.Hadoop, tmp_path: Path) -> None:
    """Command, jar and ResourceManager, each with its setting."""
    missing = str(tmp_path / "nothing")
    for part, kind in (
        ("command", BadConfig),
        ("streaming_jar", BadConfig),
        ("resourcemanager", StoreError),
    ):
        given = {part: missing} if part != "resourcemanager" else {}
        settings = Settings(store=STORE, hadoop=config.Hadoop(**_fields(hadoop) | given))
        refused(kind, f"hadoop.{part}", settings)


def _fields(hadoop: config.Hadoop) -> dict[str, str | None]:
    return {name: getattr(hadoop, name) for name in ("command", "streaming_jar", "resourcemanager")}


def test_the_streaming_jar_is_found_beside_the_command(hadoop: config.Hadoop) -> None:
    """In the layout of Hadoop's own tarball, sources passed over; else its setting is named."""
    with pytest.raises(BadConfig, match=r"hadoop\.streaming_jar"):
        streaming_jar("nothing-of-this-name", {})
    folder = Path(hadoop.command).parents[1] / "share/hadoop/tools/lib"
    folder.mkdir(parents=True)
    for name in ("hadoop-streaming-3.4.2-sources.jar", "hadoop-streaming-3.4.2.jar"):
        (folder / name).touch()
    assert streaming_jar(hadoop.command, {}).name == "hadoop-streaming-3.4.2.jar"
    home = {"HADOOP_HOME": str(folder.parents[3])}
    assert streaming_jar("nothing-of-this-name", home).parent == folder


def test_an_archive_goes_when_nobody_may_use_it() -> None:
    """A new archive takes the place of those before, but not while another run has a folder."""
    archives = {"env-3.11-aa.zip", "env-3.12-bb.zip"}
    assert outdated(archives | {"mine"}, "mine") == sorted(archives)
    assert outdated(archives | {"mine", "another"}, "mine") == []
    assert outdated({"mine"}, "mine") == []


class Folders(HdfsCommand):
    """Folders of this machine. sent: the archives that were uploaded."""

    def __init__(self) -> None:
        super().__init__(sys.executable)  # never run
        self.sent: list[Path] = []

    def make_folder(self, folder: str) -> None:
        Path(folder).mkdir(exist_ok=True)

    def names(self, folder: str) -> set[str]:
        if not Path(folder).exists():
            raise StoreError("no such folder yet")
        return {path.name for path in Path(folder).iterdir()}

    def put(self, sources: Iterable[Path], folder: str) -> None:
        if not Path(folder).parent.exists():
            raise StoreError("no such folder yet")
        for source in sources:
            shutil.copytree(source, folder)

    def put_once(self, source: Path, target: str) -> None:
        self.sent.append(Path(shutil.copy(source, target)))

    def remove(self, *paths: str) -> None:
        for path in map(Path, paths):
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("keeps_answers", [False, True])
def test_what_a_job_needs_is_sent_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, keeps_answers: bool
) -> None:
    """Unless it lies in HDFS, into a folder that may not be there yet. What keeps answers is part
    of it where they are kept. An archive that is new takes the place of those before, but for that
    which has not changed."""
    monkeypatch.setattr(archive_module, "_LEVEL", 0)  # how well it is compressed is all the same
    kept = config.Archive(folder="hdfs://host/answers" if keeps_answers else None)
    settings = Settings(store=STORE, archive=kept)
    cluster, hdfs = Cluster.__new__(Cluster), Folders()
    cluster.settings, cluster.hdfs, cluster.folder = settings, hdfs, str(tmp_path / "jobs")
    (manifest := tmp_path / "ranges").touch()

    def staged(run_id: str) -> set[Path]:
        made = cluster.stage(run_id, resource("jobs/crawl_posts.py"), manifest)
        assert Path(made.input).exists()
        shutil.rmtree(made.folder)  # at its end
        return {*map(Path, made.archives.values())}

    archives = staged("first")
    assert {*hdfs.sent} == archives
    (packages,) = (one for one in archives if not is_code(one))
    names = zipfile.ZipFile(packages).namelist()
    assert any("zstandard" in name for name in names) is keeps_answers
    assert not any("yaml" in name.partition("/")[0] for name in names)
    (code,) = archives - {packages}
    older = code.rename(code.with_name("env-3.11-older.zip"))
    assert staged("second") == archives
    assert hdfs.sent[2:] == [code]
    assert not older.exists()
    assert staged("third") == archives
    assert len(hdfs.sent) == 3


def is_code(archive: Path) -> bool:
    with zipfile.ZipFile(archive) as file:
        return "sitecustomize.py" in file.namelist()


def test_settings_reach_the_job() -> None:
    """Speculation is off, a map reads one line; the user's own settings win."""
    conf = jobconf(
        config.Hadoop(
            running_maps=5,
            map_memory_mb=700,
            attempts=3,
            task_timeout_s=90,
            queue="crawl",
            jobconf=("mapreduce.task.timeout = 5", "a=b=c"),
        ),
        "posts",
        "Run-1",
        by_range=True,
    )
    assert conf == {
        "mapreduce.job.name": "weibo-crawler posts Run-1",
        "mapreduce.job.tags": "run-1",
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
        "mapreduce.reduce.maxattempts": "3",
        "mapreduce.map.maxattempts": "3",
        "mapreduce.task.timeout": "5",
        "mapreduce.input.lineinputformat.linespermap": "1",
        "stream.map.input.ignoreKey": "true",
        "mapreduce.job.running.map.limit": "5",
        "mapreduce.map.memory.mb": "700",
        "mapreduce.job.queuename": "crawl",
        "a": "b=c",
    }


@pytest.mark.parametrize(
    ("note", "kind", "says"),
    [
        ('Cannot run program "nopython": error=2, No such file', BadConfig, "have no nopython"),
        (f"{CODE} {WRONG_PYTHON + 12}", BadConfig, "nopython on the nodes is Python 3.12, and"),
        (f"{CODE} 3", BadConfig, "exit code 3; .* yarn logs"),
        (f"{CODE} 5", StoreError, "exit code 5; .* yarn logs"),
    ],
)
def test_what_mappers_say_by_their_exit_code(
    note: str, kind: type[CrawlerError], says: str
) -> None:
    """A Python that is missing or another, settings and stores that cannot be read there: each is
    the error that it is. The notes are such as YARN gave."""
    app = Application("application_1_0001", "FINISHED", "FAILED", "Task failed\nmore")
    with pytest.raises(kind, match=says):
        ending(Noting([note]), app, "nopython")


def test_an_application_that_failed_otherwise_is_told_in_a_line() -> None:
    """By the last note, else by what YARN says of the whole; never by a Java stack."""
    app = Application("application_1_0001", "FINISHED", "FAILED", "Task failed\nmore")
    assert ending(Noting(["Container killed\n\tat org…"]), app, "python3") == (
        "application_1_0001 ended as FAILED: Container killed"
    )
    assert ending(Noting([]), app, "python3").endswith("ended as FAILED: Task failed")
    told = ending(Noting([f"{CODE} 5"]), app, "python3", is_told=True)
    assert told.startswith("application_1_0001 ended as FAILED: ")


def test_exit_codes_are_read_from_what_yarn_noted() -> None:
    """The Java stack around them aside."""
    note = "Error: java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed "
    assert exit_codes(
        [note + "with code 75\n\tat org…", "Container killed", note + "with code 4"]
    ) == [
        75,
        4,
    ]


@pytest.mark.parametrize("script", ["crawl_posts.py", "check_node.py"])
def test_a_job_that_is_staged_takes_one_start_of_hadoop(
    hadoop: config.Hadoop, tmp_path: Path, script: str
) -> None:
    """The script lies in HDFS with the rest, so mrjob only submits: it asks no version, makes no
    folder and copies nothing, each of which takes a JVM."""
    command_file, calls = Path(hadoop.command), tmp_path / "calls"
    command_file.write_text(f'#!/bin/sh\necho "$@" >>{calls}\n')
    archives = {ENV: "hdfs://nn:8020/crawl/env-3.zip", PACKAGES: "hdfs://nn:8020/crawl/env-4.zip"}
    staged = Staged("hdfs://nn:8020/crawl/run-1", archives, ["a.toml"])
    path = resource(f"jobs/{script}")
    words = command(hadoop, Path(str(hadoop.streaming_jar)), path, staged, {})
    words += ["--local-tmp-dir", str(tmp_path), staged.input]
    done = subprocess.run(
        words, env=environment(os.environ, hadoop, staged), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (call,) = calls.read_text().splitlines()
    assert call.startswith(f"jar {hadoop.streaming_jar} ")
    files = [f"{staged.folder}/{name}#{name}" for name in ("a.toml", script)]
    files += [f"{address}#{link}" for link, address in archives.items()]
    assert f"-files {','.join(files)} " in call
    assert "-D mapreduce.job.reduces=0 " in call


def test_mappers_need_a_key_where_thrift_asks_for_a_ticket() -> None:
    """Our own ticket does not travel: told before anything is uploaded."""
    check_key("hbase://h")
    check_key("hbase://h?auth=kerberos&keytab=/key")
    with pytest.raises(BadConfig, match="keytab=FILE"):
        check_key("hbase://h?auth=kerberos")


@pytest.mark.parametrize(("driver", "is_cleaned"), [("", True), ("ended", True), ("lives", False)])
@pytest.mark.parametrize("state", ["FINISHED", ""])
def test_a_job_that_is_over_is_cleaned_up_after_where_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, driver: str, is_cleaned: bool, state: str
) -> None:
    """Whether YARN still knows it or not: one that was sent off, and one whose driver died. A
    driver that lives does that itself, and reads there first why mappers ended."""

    class Web(Noting):
        def find(self, tag: str) -> Application | None:
            return Application("application_1", state, "SUCCEEDED", "") if state else None

    cleaned = list[Submitted]()
    monkeypatch.setattr(cluster_module, "yarn", lambda hadoop: Web([]))
    monkeypatch.setattr(cluster_module, "Cluster", lambda settings: None)
    monkeypatch.setattr(cluster_module, "is_dead", lambda owner: owner == "ended")
    monkeypatch.setattr(cluster_module, "finish", lambda *what: cleaned.append(what[-1]))
    submitted = Submitted("run", "/staging", driver, "application_1")
    seen = look(cast(Notes, None), Settings(), submitted)
    assert (seen.app, seen.state) == ("application_1", state or "UNKNOWN")
    assert cleaned == [submitted] * is_cleaned
