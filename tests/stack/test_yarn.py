"""The posts job on YARN, from outside: whole, killed in the middle, stopped, left alone, and over
TableInputFormat. Nothing secret is left where others may look."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import Crawl, Truth
from tests.cli.test_whole_way import assert_true
from tests.stack.clusters import cluster_crawl, database, mappers, wait_for_requests
from tests.stack.conftest import Running, why_not
from tests.stack.hbase_worlds import connect

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

LOGIN = "spender:Sesam-oeffne-dich-42"
STATUSES = ("stored", "unchanged", "partial", "gone", "failed", "existing")
# the interpreter below any virtual environment: it has none of our packages
BARE_PYTHON = Path(sys.base_prefix, "bin", f"python3.{sys.version_info[1]}")
SLOW = {"faults": "slow=0.5", "slow_s": 0.5}


@pytest.fixture(scope="module")
def world(stack: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Users harvested and imported; posts only through proxies that ask for a login."""
    folder = tmp_path_factory.mktemp("yarn")
    proxies = folder / "proxies.txt"
    knobs = {"proxies": 3, "proxy_login": LOGIN, "proxies_out": str(proxies)}
    with cluster_crawl(stack, folder, users=120, mean_posts=9.0, **SLOW, **knobs) as made:
        crawl, truth = made
        crawl.env |= {
            "WEIBO_EGRESS__PROXIES_FILE": str(proxies),
            "WEIBO_HADOOP__PYTHON": str(BARE_PYTHON),
            "WEIBO_HADOOP__FOLDER": f"hdfs:///tmp/{folder.name}",
            "WEIBO_POSTS__RANGES": "2",
            "WEIBO_POSTS__USERS_IN_FLIGHT": "4",  # so that a run lasts until it is disturbed
            "TMPDIR": str(folder),
        }
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        yield crawl, truth
        stack.run(stack.addresses["STACK_HADOOP"], "fs", "-rm", "-r", f"/tmp/{folder.name}")


def test_a_killed_mapper_is_made_up_for_and_no_secret_is_told(
    stack: Running, world: tuple[Crawl, Truth]
) -> None:
    """kill -9 of a mapper: YARN starts another, and nothing is lost, doubled or counted twice
    (laws 6, 7, 8). The nodes need no more than python3. Password and proxy login stand in no
    argument, job setting, history or log (law 11); what is known to be there is found there."""
    crawl, truth = world
    secrets = [Path(stack.addresses["STACK_MYSQL_PASSWORD_FILE"]).read_text(), LOGIN.split(":")[1]]
    told: dict[str, str] = {}
    with start(crawl) as process:
        wait_for_requests(truth, 60, process)
        told["arguments"] = arguments()
        files = private_files(stack, crawl)
        seen = crawl.json("status")["yarn"]
        os.kill(mappers_of(seen["application"])[0], signal.SIGKILL)
        while process.poll() is None:
            for log in Path(crawl.env["TMPDIR"]).glob("weibo-crawler-posts-*.log"):
                told["mrjob's log"] = log.read_text()
            time.sleep(0.5)
        told["driver"], said = process.communicate()
    assert process.returncode == 0, said
    told["driver"] += said
    done = json.loads(told["driver"].splitlines()[0])
    counters = done["counters"]
    assert counters["users.input"] == len(truth.depths)
    assert sum(counters.get(f"users.{status}", 0) for status in STATUSES) == len(truth.depths)
    assert counters["posts.new"] == done["new_posts"] == len(truth.posts())
    assert "users.existing" not in counters
    assert_true(crawl, truth)

    assert set(files.values()) == {"-rw-------"}, files
    assert staging(stack, crawl) == []
    told |= history(stack, seen["application"])
    for place, text in told.items():
        assert not [secret for secret in secrets if secret in text], place
    for marker, places in (
        (seen["run_id"], ("arguments", "jhist", "conf")),
        ("weibo-settings.toml", ("arguments", "conf")),
        ("Submitted application", ("mrjob's log",)),
        ("users visited", ("driver",)),
        (f"{seen['application'].replace('application', 'attempt')}_m_000000_0", ("logs", "jhist")),
    ):
        assert all(marker in told[place] for place in places), marker


def test_a_detached_run_is_found_again(stack: Running, world: tuple[Crawl, Truth]) -> None:
    """--detach returns with the application's id, status finds it until it is over, a run beside it
    is refused; in the end nothing is left in HDFS. A run over what is known stores nothing."""
    crawl, truth = world
    asked = len(truth.served())
    detached = crawl.json("posts", "--runner", "hadoop", "--detach")
    seen = crawl.json("status")["yarn"]
    assert seen["application"] == detached["application"]
    assert detached["application"] in crawl.run("posts", "--runner", "hadoop", code=2).stderr
    states = [seen["state"]]
    while states[-1] not in ("FINISHED", "FAILED", "KILLED"):
        time.sleep(1)
        seen = crawl.json("status")["yarn"]
        states.append(seen["state"])
    assert seen["final"] == "SUCCEEDED"
    assert "RUNNING" in states
    assert crawl.json("status")["yarn"] == {}
    assert staging(stack, crawl) == []
    assert len(truth.served()) == asked
    assert_true(crawl, truth)


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_the_mappers(world: tuple[Crawl, Truth], presses: int) -> None:
    """Exit code 130: the first Ctrl-C lets the mappers finish what is in flight, the second kills
    them. Either way none is left when the command returns, and the site hears nothing more."""
    crawl, truth = world
    with start(crawl, "--refresh", "--all") as process:
        wait_for_requests(truth, 30, process)
        application = crawl.json("status")["yarn"]["application"]
        assert mappers_of(application)
        for _ in range(presses):
            os.kill(process.pid, signal.SIGINT)
            time.sleep(0.2)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert mappers_of(application) == []
    asked = len(truth.served())
    time.sleep(1.5)
    assert len(truth.served()) == asked
    assert crawl.json("status")["yarn"] == {}
    assert_true(crawl, truth)


def test_rows_of_a_table_are_read_as_in_the_paper(
    stack: Running, world: tuple[Crawl, Truth]
) -> None:
    """--input hbase: TableInputFormat gives the row keys of a table of bare uids, one map a region;
    every user in it is visited once, nobody else."""
    crawl, truth = world
    some = sorted(truth.depths)[:30]
    name = f"{database(crawl)}_paper"
    connection = connect(crawl.env["WEIBO_STORE__TABLES"])
    connection.create_table(name, {"user": {}})
    for uid in some:
        connection.table(name).put(str(uid).encode(), {b"user:id": str(uid).encode()})
    jars = hbase_jars(Path(crawl.env["TMPDIR"], "jars"), stack)
    try:
        done = crawl.json(
            *("posts", "--runner", "hadoop", "--refresh", "--all"),
            *("--input", "hbase", "--table", name),
            WEIBO_HADOOP__HBASE_JARS=",".join(jars),
            WEIBO_HADOOP__JOBCONF=zookeeper(stack),
        )
    finally:
        connection.delete_table(name, disable=True)
        connection.close()
    assert done["counters"]["users.input"] == done["users"] == len(some)
    assert "users.existing" not in done["counters"]
    assert_true(crawl, truth)


def hbase_jars(folder: Path, stack: Running) -> list[str]:
    """What TableInputFormat needs, from Maven: the same as `hbase mapredcp` names elsewhere."""
    done = stack.run(
        *("mvn", "-B", "-q", "-f", str(Path(__file__).with_name("hbase_mapreduce.xml"))),
        *("dependency:copy-dependencies", f"-DoutputDirectory={folder}"),
    )
    assert done.returncode == 0, done.stdout
    return [str(jar) for jar in sorted(folder.glob("*.jar"))]


def zookeeper(stack: Running) -> str:
    """Where HBase is, as settings of the job."""
    site = Path(stack.addresses["STACK_HADOOP"]).parents[1] / "conf" / "hbase" / "hbase-site.xml"
    pairs = re.findall("<name>(.*?)</name><value>(.*?)</value>", site.read_text())
    names = ("hbase.zookeeper.quorum", "hbase.zookeeper.property.clientPort")
    return ",".join(f"{name}={value}" for name, value in pairs if name in names)


def start(crawl: Crawl, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        crawl.command("posts", "--runner", "hadoop", "--json", *words),
        cwd=crawl.folder,
        env=crawl.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def mappers_of(application: str) -> list[int]:
    """The process ids of its mappers; other jobs may be at work on this machine."""
    found = []
    for pid in mappers():
        with suppress(OSError):  # it has ended
            if application in str(Path(f"/proc/{pid}/cwd").readlink()):
                found.append(pid)
    return found


def arguments() -> str:
    """What everybody sees of all processes but the simulator's, which is told its own login."""
    done = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True)
    return "\n".join(line for line in done.stdout.splitlines() if ".simulator" not in line)


def staging(stack: Running, crawl: Crawl) -> list[str]:
    """What lies in the job's folder beside the archive, which is kept."""
    folder = crawl.env["WEIBO_HADOOP__FOLDER"]
    lines = stack.run(stack.addresses["STACK_HADOOP"], "fs", "-ls", "-C", folder).stdout
    return [line for line in lines.split() if not line.endswith(".tar.gz")]


def private_files(stack: Running, crawl: Crawl) -> dict[str, str]:
    """The modes of the files that hold the secrets, by name."""
    command = stack.addresses["STACK_HADOOP"]
    (folder,) = staging(stack, crawl)
    lines = stack.run(command, "fs", "-ls", folder).stdout.splitlines()
    words = [line.split() for line in lines if line.endswith((".toml", ".txt"))]
    return {line[-1]: line[0] for line in words}


def read(command: str, path: str) -> str:
    """A file of HDFS; of a binary one, what is text in it."""
    done = subprocess.run([command, "fs", "-cat", path], capture_output=True, timeout=60)
    return done.stdout.decode("utf-8", "replace")


def history(stack: Running, application: str) -> dict[str, str]:
    """What the job history and the logs of the tasks hold of a job, by kind."""
    command = stack.addresses["STACK_HADOOP"]
    job = application.replace("application_", "job_")
    told: dict[str, str] = {}
    deadline = time.monotonic() + 60
    while not {"conf", "jhist"} <= told.keys():  # written a little after the job's end
        assert time.monotonic() < deadline, "the job history does not show up"
        find = ("fs", "-find", "/user/history", "-name", f"{job}*")
        for path in stack.run(command, *find).stdout.split():
            kind = "conf" if path.endswith("_conf.xml") else path.rpartition(".")[2]
            told[kind] = read(command, path)
    logs = Path(command).parents[1] / "logs" / "containers" / application
    files = [path for path in logs.rglob("*") if path.is_file()]
    assert len({path.parent for path in files}) >= 4  # the master, two maps, one of them twice
    told["logs"] = "".join(path.read_text("utf-8", "replace") for path in files)
    return told
