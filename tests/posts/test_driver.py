"""How the end of a job is told: the driver over jobs that are small programs, and SQLite."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.webserver import answering
from weibo_crawler import config
from weibo_crawler.errors import BadConfig, CrawlerError, Interrupted, StoreFull
from weibo_crawler.posts import hadoop
from weibo_crawler.posts.archive import archives
from weibo_crawler.posts.cluster import SUBMITTED, Cluster
from weibo_crawler.posts.driver import JobFiles, LocalRun
from weibo_crawler.posts.due import Job
from weibo_crawler.posts.hadoop import HadoopRun
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sqlite.frontier import SqliteUsers

# a mapper that finds its settings gone, says so, and does not end by itself
BROKEN = """
import sys, time
from pathlib import Path
from weibo_crawler.posts.workers import ended_by
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.sqlite.frontier import SqliteUsers

row = WorkerRow("run", "mapper", "posts", 1.0, 2.0, ended_by(3, "crawler.toml is gone"), {})
SqliteUsers("sqlite:///users.db").report(row)
Path("ready").touch()
while not Path("end").exists():
    time.sleep(0.02)
sys.exit(1)
"""


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteUsers]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    with closing(SqliteUsers("sqlite:///users.db")) as users:
        yield users


def files(program: str) -> JobFiles:
    made = JobFiles(Path("job.py").absolute(), Path("ranges").absolute(), Path("log").absolute())
    made.script.write_text(program)
    made.manifest.write_text("{}\n")
    return made


@pytest.mark.parametrize(("stops", "kind"), [(2, Interrupted), (1, BadConfig)])
def test_a_run_that_is_stopped_twice_is_told_as_stopped(
    users: SqliteUsers, stops: int, kind: type[CrawlerError]
) -> None:
    """Mappers that are killed may miss files that go away with them: that is no fault of the
    settings. Stopped once, they end by themselves, and what they say counts."""
    run = LocalRun(users, Job("run", driver=new_owner()), files(BROKEN), runner="inline")

    def stop() -> None:
        while not Path("ready").exists():
            time.sleep(0.02)
        for _ in range(stops):
            run.stop()
        if stops == 1:
            Path("end").touch()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(kind, match="stopped; 0 users" if stops == 2 else "crawler.toml is gone"):
        run.run()
    thread.join()


LOADED = """
import sys
from pathlib import Path
import mrjob.job

Path("loaded").write_text(str("setuptools" in sys.modules))
"""


def test_a_job_loads_no_setuptools_where_python_has_distutils(users: SqliteUsers) -> None:
    """mrjob imports distutils, in whose place setuptools puts its own, which is all of it: a third
    of what a mapper takes to start."""
    LocalRun(users, Job("run", driver=new_owner()), files(LOADED), runner="local").run()
    assert Path("loaded").read_text() == str(sys.version_info >= (3, 12))


FULL = """
import sys
sys.exit("Traceback (most recent call last):\\n  x\\nweibo_crawler.errors.StoreFull: t.db: no room")
"""
# one was killed, and the other is ended by the driver, in order
KILLED = """
import sys
from weibo_crawler.posts.workers import ORDERED
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.sqlite.frontier import SqliteUsers

SqliteUsers("sqlite:///users.db").report(WorkerRow("run", "b", "posts", 1.0, 2.0, ORDERED, {}))
sys.exit(1)
"""


@pytest.mark.parametrize(
    ("program", "kind", "says"),
    [
        (FULL, StoreFull, "t.db: no room"),
        (KILLED, CrawlerError, r"a mapper was killed or broke; .*log says more"),
    ],
)
def test_what_no_mapper_could_report(
    users: SqliteUsers, program: str, kind: type[CrawlerError], says: str
) -> None:
    """A disk without room for the report itself, and a mapper that was killed: neither is the
    user's own stop."""
    run = LocalRun(users, Job("run", driver=new_owner()), files(program), runner="inline")
    with pytest.raises(CrawlerError, match=says) as caught:
        run.run()
    assert type(caught.value) is kind


@contextmanager
def resourcemanager() -> Iterator[str]:
    """A ResourceManager that was given no job; its address."""
    info = {"clusterInfo": {"id": 1}}
    with answering(lambda path: info if path.endswith("/info") else {"apps": None}) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("program", "kind", "says"),
    [
        (
            "",
            BadConfig,
            r"ran to its end, but not at {url}: name the ResourceManager that `.*/hadoop`",
        ),
        ("exit('Error: no queue')", CrawlerError, "could not be submitted: Error: no queue"),
    ],
)
def test_a_job_that_our_resourcemanager_never_saw(
    users: SqliteUsers,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    kind: type[CrawlerError],
    says: str,
) -> None:
    """Where it ended well, another one ran it, and the setting is wrong; else it was not
    submitted. Nothing stands in the way of the next run."""
    monkeypatch.setattr(hadoop, "_LATE_S", 0.2)
    command, jar = Path("hadoop").absolute(), Path("streaming.jar").absolute()
    # HDFS takes everything, and has the archives
    held = " ".join(f"/jobs/{each.name}" for each in archives(keeps_answers=False).values())
    command.write_text(f'#!/bin/sh\ncase "$*" in *-ls*) printf "%s\\n" {held} ;; esac\n')
    command.chmod(0o755)
    jar.touch()
    with resourcemanager() as url:
        settings = config.Settings(
            store=config.Store(users="mysql://me@host/db", tables="hbase://host:9090"),
            hadoop=config.Hadoop(command=str(command), streaming_jar=str(jar), resourcemanager=url),
        )
        job = Job("run", driver=new_owner())
        run = HadoopRun(users, job, files(program), cluster=Cluster(settings))
        with pytest.raises(kind, match=says.format(url=url)):
            run.run()
    assert SUBMITTED.get(users) is None
