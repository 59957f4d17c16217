"""The posts job on YARN, from outside: killed in the middle, stopped, with users that fail, left
alone, and over TableInputFormat. Nothing secret is left where others may look.

A job costs half a minute, so each shows several things, and the tests go on where the one before
has left the tables. Each test alone brings them there by itself."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.crawls import Crawl, Truth, outcomes, simulated
from tests.cli.test_whole_way import assert_true
from tests.maven import jars
from tests.stack.clusters import cluster_crawl, database, mappers, wait_for_requests
from tests.stack.conftest import Running, why_not
from tests.stack.hbase_worlds import connect
from tests.stack.webhdfs import WebHdfs
from weibo_crawler.posts.yarn import Yarn
from weibo_crawler.records import Id
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.rows.cells import read_ledger
from weibo_crawler.store.rows.keys import parse_user_key

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

# what TableInputFormat needs: the same as `hbase mapredcp` names elsewhere
_TABLE_INPUT = Path(__file__).with_name("hbase_mapreduce.xml")
LOGIN = "spender:Sesam-oeffne-dich-42"
# the interpreter below any virtual environment: it has none of our packages
BARE_PYTHON = Path(sys.base_prefix, "bin", f"python3.{sys.version_info[1]}")
WORLD = {"users": 120, "mean_posts": 9.0}
SLOW = {"faults": "slow=0.5", "slow_s": 0.5}


@pytest.fixture(scope="module")
def world(stack: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Users harvested and imported; posts only through proxies that ask for a login."""
    folder = tmp_path_factory.mktemp("yarn")
    proxies = folder / "proxies.txt"
    knobs = {"proxies": 3, "proxy_login": LOGIN, "proxies_out": str(proxies)}
    with cluster_crawl(stack, folder, **WORLD, **SLOW, **knobs) as made:
        crawl, truth = made
        crawl.env |= {
            "WEIBO_EGRESS__PROXIES_FILE": str(proxies),
            "WEIBO_HADOOP__PYTHON": str(BARE_PYTHON),
            "WEIBO_HADOOP__FOLDER": f"hdfs:///tmp/{folder.name}",
            "WEIBO_POSTS__RANGES": "2",
            "WEIBO_POSTS__USERS_IN_FLIGHT": "3",  # so that a run lasts until it is disturbed
            "TMPDIR": str(folder),
        }
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        WebHdfs(stack).make_file(f"/tmp/{folder.name}/env-old.zip")
        yield crawl, truth
        WebHdfs(stack).remove(f"/tmp/{folder.name}")


@pytest.fixture(scope="module")
def visited(world: tuple[Crawl, Truth]) -> tuple[Crawl, Truth]:
    """The same with all posts stored, also where no test before has stored them."""
    world[0].run("posts", "--runner", "inline", WEIBO_POSTS__USERS_IN_FLIGHT="32")
    return world


def test_what_is_not_there_is_told_at_once(world: tuple[Crawl, Truth]) -> None:
    """HDFS, ResourceManager, streaming jar: each names its setting, and nothing is left that would
    keep the next run."""
    crawl, _ = world
    dead = "127.0.0.1:9"
    for name, value, code in (
        ("folder", f"hdfs://{dead}/tmp/nobody", 5),
        ("resourcemanager", f"http://{dead}", 5),
        ("streaming_jar", "/no/such.jar", 3),
    ):
        env = {f"WEIBO_HADOOP__{name.upper()}": value}
        said = crawl.run("posts", "--runner", "hadoop", code=code, **env).stderr
        assert f"hadoop.{name}: {value}" in said
        assert crawl.json("status")["yarn"] == {}


def test_ctrl_c_ends_a_job_that_is_not_accepted(world: tuple[Crawl, Truth], stack: Running) -> None:
    """YARN's client tries for a quarter of an hour to reach a ResourceManager: the first Ctrl-C is
    enough, and what was uploaded is deleted; but for the archives, which are kept in the place of
    those before."""
    crawl, _ = world
    away = "yarn.resourcemanager.address=127.0.0.1:9"
    with start(crawl, WEIBO_HADOOP__JOBCONF=away) as process:
        assert process.stderr is not None
        while "handing over to YARN" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    archives = in_hdfs(stack, crawl)
    assert len(archives) == 2
    assert all(archive.endswith(".zip") for archive in archives)
    assert "env-old" not in str(archives)


def test_what_is_killed_is_made_up_for_and_no_secret_is_told(
    stack: Running, world: tuple[Crawl, Truth]
) -> None:
    """kill -9 of the driver: its mappers end by themselves and the application with them; the next
    run deletes what it left and goes on. kill -9 of a mapper there: YARN starts another. Nothing is
    lost, doubled or counted twice (laws 6, 7, 8); the nodes need no more than python3. Password and
    proxy login stand in no argument, job setting, history or log (law 11); what is known to be
    there is found there."""
    crawl, truth = world
    ended = end_driver(stack, world)
    before = len(crawl.scan("posts"))
    assert 0 < before < len(truth.posts())
    told: dict[str, str] = {}
    with start(crawl) as process:
        wait_for_requests(truth, 15, process)
        told["arguments"] = arguments()  # before: on a busy machine the other mapper may end first
        os.kill(mappers(crawl)[0], signal.SIGKILL)
        seen = crawl.json("status")["yarn"]
        assert seen["run_id"] != ended
        files = private_files(stack, crawl)
        (log,) = Path(crawl.env["TMPDIR"]).glob("weibo-crawler.posts.*.log")
        while process.poll() is None:
            with suppress(FileNotFoundError):  # a run that ends well takes it away
                told["mrjob's log"] = log.read_text()
            time.sleep(0.5)
        told["driver"], said = process.communicate()
    assert process.returncode == 0, said
    told["driver"] += said
    done = json.loads(told["driver"].splitlines()[0])
    counters = done["counters"]
    assert counters["users.input"] == len(truth.depths)
    assert outcomes(counters) == len(truth.depths)
    assert counters["posts.new"] == done["new_posts"] == len(truth.posts()) - before
    assert_true(crawl, truth)
    assert set(files.values()) == {"600"}, files
    assert staging(stack, crawl) == []
    assert_nothing_is_told(told | history(stack, seen["application"]), stack, seen)


def assert_nothing_is_told(told: dict[str, str], stack: Running, seen: dict[str, Any]) -> None:
    secrets = [Path(stack.addresses["STACK_MYSQL_PASSWORD_FILE"]).read_text(), LOGIN.split(":")[1]]
    for place, text in told.items():
        assert not [secret for secret in secrets if secret in text], place
    for marker, places in (
        (seen["run_id"], ("arguments", "jhist", "conf")),
        ("weibo-settings.toml", ("arguments", "conf")),
        ("Submitted application", ("mrjob's log",)),
        ("new posts, ", ("driver",)),
        (f"{seen['application'].replace('application', 'attempt')}_m_000000_0", ("logs", "jhist")),
    ):
        assert [place for place in places if marker not in told[place]] == [], marker


def end_driver(stack: Running, world: tuple[Crawl, Truth]) -> str:
    """Begin a run and kill its driver, without looking after what it leaves; the run's name."""
    crawl, truth = world
    with start(crawl) as process:
        wait_for_requests(truth, 15, process)
        application = at_work(crawl)
        process.kill()
    (left,) = staging(stack, crawl)
    run_id = left.rpartition("/")[2]
    yarn = Yarn(stack.addresses["STACK_RESOURCEMANAGER"], stack.addresses["STACK_JOBHISTORY"], "")
    deadline = time.monotonic() + 60
    while not (app := yarn.find(run_id)) or not app.is_over:
        assert time.monotonic() < deadline, "the application goes on without its driver"
        time.sleep(0.5)
    assert app.id == application
    assert mappers_of(application) == []
    assert staging(stack, crawl) == [left]
    return run_id


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_the_mappers(visited: tuple[Crawl, Truth], presses: int) -> None:
    """Exit code 130: the first Ctrl-C lets the mappers finish what is in flight, the second kills
    them. Either way none is left when the command returns, and the site hears nothing more."""
    crawl, truth = visited
    with start(crawl, "--refresh", "--all") as process:
        wait_for_requests(truth, 20, process)
        application = at_work(crawl)
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


def test_users_that_fail(visited: tuple[Crawl, Truth], tmp_path: Path) -> None:
    """A few users whose pages fail for ever fail alone: the run is well, their ledgers say so, and
    that they fail again says nothing new of the site. Where more than posts.max_failed_share of
    the first visits fail, the run does, with exit code 4."""
    crawl, _ = visited
    env = {"WEIBO_EGRESS__PROXIES_FILE": "none", "WEIBO_FETCH__ATTEMPTS": "2"}
    few, more = (WORLD | {"faults": f"server_trouble:permanent={p}"} for p in (0.04, 0.12))
    with broken(tmp_path / "few", few) as site:
        done = crawl.json("posts", "--runner", "hadoop", "--refresh", "--all", **env | site)
        failed = [uid for uid, (state, _) in ledgers(crawl).items() if state == "failed"]
        assert len(failed) == done["failed"] > 0
        again = crawl.json("posts", "--runner", "inline", **env | site)  # it judges as there
        assert again["failed"] == len(failed) == again["users"] - again["existing"]
    with broken(tmp_path / "more", more) as site:
        env |= {"WEIBO_POSTS__MAX_FAILED_SHARE": "0.01", "WEIBO_POSTS__RANGES": "1"}
        words = ("posts", "--runner", "hadoop", "--refresh", "--all")
        said = crawl.run(*words, code=4, **env | site).stderr
    found = re.search(r"(\d+) of (\d+) users failed at their first visit", said)
    assert found is not None, said
    assert 0 < int(found[1]) <= int(found[2]) <= len(ledgers(crawl)) - len(failed)


@contextmanager
def broken(folder: Path, knobs: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The settings that lead to another site of the same users."""
    folder.mkdir()
    with simulated(folder, **knobs) as (other, _):
        yield {"WEIBO_SITE__BASE_URL": other.env["WEIBO_SITE__BASE_URL"]}


def test_a_detached_run_reads_the_papers_table(stack: Running, world: tuple[Crawl, Truth]) -> None:
    """--input hbase: TableInputFormat gives the row keys of the table of bare uids that the paper's
    own import makes; every user in it is visited. --detach returns with the application's id,
    status finds it until it is over, a run beside it is refused; in the end nothing is left in
    HDFS."""
    crawl, truth = world
    assert crawl.json("import", "--via", "sqoop", "--paper")["total"] == len(truth.depths)
    name = f"{database(crawl)}_paper"
    try:
        detached = crawl.json(
            *("posts", "--runner", "hadoop", "--detach", "--refresh", "--all"),
            *("--input", "hbase", "--table", name),
            WEIBO_HADOOP__HBASE_JARS=",".join(jars(_TABLE_INPUT)),
            WEIBO_HADOOP__JOBCONF=zookeeper(stack),
            WEIBO_POSTS__USERS_IN_FLIGHT="32",
        )
        assert detached["application"] in crawl.run("posts", "--runner", "hadoop", code=2).stderr
        states, final = until_over(crawl, detached["application"])
    finally:
        with closing(connect(crawl.env["WEIBO_STORE__TABLES"])) as connection:
            connection.delete_table(name, disable=True)
    assert (final, "RUNNING" in states) == ("SUCCEEDED", True)
    assert crawl.json("status")["yarn"] == {}
    assert staging(stack, crawl) == []
    assert ledgers(crawl) == dict.fromkeys(truth.depths, ("done", detached["run_id"]))
    assert_true(crawl, truth)


def test_rows_go_into_hdfs(stack: Running, visited: tuple[Crawl, Truth]) -> None:
    """`export -o hdfs://…`: a job of maps writes the rows that one process writes into a file, a
    file each, into a new folder; nothing else is left. A folder that is there is not touched."""
    crawl, hadoop = visited[0], stack.addresses["STACK_HADOOP"]
    dates = sorted(str(post["created_at"])[:10] for post in crawl.scan("posts"))
    which = ("posts", "--since", dates[len(dates) // 2])
    crawl.run("export", *which, "-o", "here.jsonl")
    folder = f"{crawl.env['WEIBO_HADOOP__FOLDER']}-rows"
    try:
        done = crawl.json("export", *which, "-o", folder, "--processes", "2")
        files = stack.run(hadoop, "fs", "-text", f"{folder}/*").stdout
        assert folder in crawl.run("export", *which, "-o", folder, code=2).stderr
        assert folder in crawl.run("forget", "1", "--dry-run").stdout
    finally:
        WebHdfs(stack).remove(urlsplit(folder).path)
    assert files == (crawl.folder / "here.jsonl").read_text("utf-8")
    assert 0 < done["rows"] == len(files.splitlines()) < len(dates)
    assert staging(stack, crawl) == []


def test_maps_count_for_the_report(stack: Running, visited: tuple[Crawl, Truth]) -> None:
    """`report --runner hadoop`: what maps have counted, merged, is what one process counts; nothing
    is left in HDFS."""
    crawl, _ = visited
    pages, sums = [], []
    for runner in ("inline", "hadoop"):
        crawl.run("report", "-o", "r.html", "--runner", runner, "--processes", "2")
        pages.append((crawl.folder / "r.html").read_text("utf-8").partition("<svg")[2])
        found = crawl.json("report", "--completeness", "--runner", runner)
        sums.append({name: n for name, n in found.items() if name in ("stored", "users", "share")})
    assert pages[1] == pages[0]
    assert sums[1] == sums[0]
    assert sums[0]["stored"] > 100
    assert staging(stack, crawl) == []


def until_over(crawl: Crawl, application: str) -> tuple[set[str], str]:
    """What status says of an application until it is over: its states, its end."""
    states: set[str] = set()
    while not states & {"FINISHED", "FAILED", "KILLED"}:
        time.sleep(0.5)
        seen = crawl.json("status")["yarn"]
        assert seen["application"] == application
        states.add(seen["state"])
    return states, seen["final"]


def ledgers(crawl: Crawl) -> dict[Id, tuple[str, str]]:
    """State and run of each user's last visit."""
    with closing(HbaseTables(crawl.env["WEIBO_STORE__TABLES"])) as tables:
        rows = {parse_user_key(row.key): read_ledger(row.cells) for row in tables.userlist.scan()}
    return {uid: (held.state, held.run_id) for uid, held in rows.items() if held is not None}


def zookeeper(stack: Running) -> str:
    """Where HBase is, as settings of the job."""
    site = Path(stack.addresses["STACK_HADOOP"]).parents[1] / "conf" / "hbase" / "hbase-site.xml"
    pairs = re.findall("<name>(.*?)</name><value>(.*?)</value>", site.read_text())
    names = ("hbase.zookeeper.quorum", "hbase.zookeeper.property.clientPort")
    return ",".join(f"{name}={value}" for name, value in pairs if name in names)


def start(crawl: Crawl, *words: str, **env: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        crawl.command("posts", "--runner", "hadoop", "--json", *words),
        cwd=crawl.folder,
        env=crawl.env | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def at_work(crawl: Crawl) -> str:
    """The application whose mappers run for this crawl; `status` takes longer to say so."""
    (found,) = {str(Path(f"/proc/{pid}/cwd").readlink()) for pid in mappers(crawl)[:1]}
    return next(part for part in Path(found).parts if part.startswith("application_"))


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


def in_hdfs(stack: Running, crawl: Crawl) -> list[str]:
    """What lies in the crawl's folder."""
    folder = crawl.env["WEIBO_HADOOP__FOLDER"]
    return [f"{folder}/{name}" for name in WebHdfs(stack).names(urlsplit(folder).path)]


def staging(stack: Running, crawl: Crawl) -> list[str]:
    """The same without the archive, which is kept."""
    return [path for path in in_hdfs(stack, crawl) if not path.endswith(".zip")]


def private_files(stack: Running, crawl: Crawl) -> dict[str, str]:
    """The modes of the files that hold the secrets, by name."""
    found = dict(WebHdfs(stack).files(urlsplit(crawl.env["WEIBO_HADOOP__FOLDER"]).path))
    found = {path: mode for path, mode in found.items() if path.endswith((".toml", ".txt"))}
    assert len(found) == 2  # those of the run before are gone
    return found


def history(stack: Running, application: str) -> dict[str, str]:
    """What the job history and the logs of the tasks hold of a job, by kind."""
    hdfs = WebHdfs(stack)
    job = application.replace("application_", "job_")
    told: dict[str, str] = {}
    deadline = time.monotonic() + 60
    while not {"conf", "jhist"} <= told.keys():  # written a little after the job's end
        assert time.monotonic() < deadline, "the job history does not show up"
        written = (path for path, _ in hdfs.files("/user/history"))
        for path in [path for path in written if path.rpartition("/")[2].startswith(job)]:
            kind = "conf" if path.endswith("_conf.xml") else path.rpartition(".")[2]
            if text := hdfs.read(path):  # the history server moves it, after it was found here
                told[kind] = text
    logs = Path(stack.addresses["STACK_HADOOP"]).parents[1] / "logs" / "containers" / application
    files = [path for path in logs.rglob("*") if path.is_file()]
    assert len({path.parent for path in files}) >= 4  # the master, two maps, one of them twice
    told["logs"] = "".join(path.read_text("utf-8", "replace") for path in files)
    return told
