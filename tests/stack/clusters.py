"""Crawls on the real stack: a database and tables of a test's own, and its daemons by name."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pymysql

from tests.cli.crawls import Background, Crawl, Truth, simulated
from tests.stack.conftest import ROOT, RUNNER, Running
from tests.stack.hbase_worlds import drop, make
from weibo_crawler.posts.handover import SETTINGS

_SCRIPTS = (b"crawl_posts.py", b"harvest_level.py")


def on_cluster(stack: Running, crawl: Crawl) -> None:
    """Let the crawl use MariaDB, HBase, Sqoop and YARN of the stack: settings only."""
    where = stack.addresses
    name = f"weibo_way_{secrets.token_hex(4)}"
    server = where["STACK_MYSQL"].rpartition("/")[0]
    crawl.env |= {
        "WEIBO_STORE__USERS": f"{server}/{name}",
        "WEIBO_STORE__PASSWORD_FILE": where["STACK_MYSQL_PASSWORD_FILE"],
        "WEIBO_STORE__TABLES": f"{where['STACK_TABLES']}/{name}",
        "WEIBO_STORE__HBASE_COMMAND": where["STACK_HBASE"],
        "WEIBO_SQOOP__COMMAND": where["STACK_SQOOP"],
        "WEIBO_HADOOP__COMMAND": where["STACK_HADOOP"],
        "WEIBO_HADOOP__STREAMING_JAR": where["STACK_STREAMING_JAR"],
        "WEIBO_HADOOP__NAMENODE": where["STACK_NAMENODE"],
        "WEIBO_HADOOP__RESOURCEMANAGER": where["STACK_RESOURCEMANAGER"],
        "WEIBO_HADOOP__JOBHISTORY": where["STACK_JOBHISTORY"],
        "WEIBO_HADOOP__PYTHON": sys.executable,
        "WEIBO_POSTS__RANGES": "2",  # each is a JVM and a Python to start; two are several
    }


@contextmanager
def cluster_crawl(
    stack: Running, folder: Path, *, by_script: bool = False, **knobs: object
) -> Iterator[tuple[Crawl, Truth]]:
    """A simulated site, and a crawl of it on the stack, its stores made by `init`. by_script: with
    the tables of the schema script, which takes HBase's shell and 16 regions each; else of one."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        simulated(folder, **knobs) as (crawl, truth),
        stores_of(stack, crawl, by_script=by_script),
    ):
        yield crawl, truth


@contextmanager
def stores_of(stack: Running, crawl: Crawl, *, by_script: bool = False) -> Iterator[None]:
    """Let the crawl use the stack, with stores of its own. by_script: see `cluster_crawl`."""
    on_cluster(stack, crawl)
    sql(stack, f"CREATE DATABASE {database(crawl)}")
    try:
        if not by_script:
            make(crawl.env["WEIBO_STORE__TABLES"])
        crawl.run("init")
        yield
    finally:
        sql(stack, f"DROP DATABASE {database(crawl)}")
        drop(crawl.env["WEIBO_STORE__TABLES"])


def database(crawl: Crawl) -> str:
    return urlsplit(crawl.env["WEIBO_STORE__USERS"]).path.strip("/")


def sql(stack: Running, statement: str) -> None:
    url = urlsplit(stack.addresses["STACK_MYSQL"])
    password = Path(stack.addresses["STACK_MYSQL_PASSWORD_FILE"]).read_text("utf-8")
    connection = pymysql.connect(
        host=url.hostname, port=url.port or 3306, user=url.username, password=password
    )
    with closing(connection), connection.cursor() as cursor:
        cursor.execute(statement)


def kill_daemon(stack: Running, name: str) -> None:
    """kill -9 of one daemon of the stack."""
    os.kill(_pid(stack, name), signal.SIGKILL)


def start_again(stack: Running) -> None:
    """Bring back what was killed."""
    done = subprocess.run(
        [sys.executable, str(RUNNER), "up"],
        env=stack.env,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def mappers(crawl: Crawl | None = None) -> list[int]:
    """The process ids of the maps of a crawl's jobs (None: of any) on this machine, those
    that run Python."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"--mapper" in words and any(word.endswith(_SCRIPTS) for word in words):
                settings = "" if crawl is None else (folder / "cwd" / SETTINGS).read_text()
                if crawl is None or database(crawl) in settings:
                    found.append(int(folder.name))
        except OSError:  # it has ended
            continue
    return found


def wait_for_requests(truth: Truth, more: int, process: Background) -> None:
    """Until the site was asked so many times more; the process must still run."""
    target = len(truth.served()) + more
    while len(truth.served()) < target:
        assert process.poll() is None, f"it ended before: exit code {process.returncode}"
        time.sleep(0.05)


def _pid(stack: Running, name: str) -> int:
    root = Path(stack.env.get("WEIBO_STACK_DIR") or ROOT / ".stack")
    return int(json.loads((root / "run" / f"{name}.pid").read_text())["pid"])
