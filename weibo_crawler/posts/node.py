"""`doctor --nodes`: one map that looks around on a node, and what it found, brought back.

It goes the way of the posts job (archive, private settings, mrjob, YARN), so what stops that job
stops this one, within half a minute and before anybody is visited.
"""

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec.structs import replace

from weibo_crawler.config import Settings
from weibo_crawler.errors import CrawlerError, StoreError
from weibo_crawler.posts.cluster import Cluster
from weibo_crawler.posts.driver import end_group, start
from weibo_crawler.posts.submission import (
    Staged,
    command,
    ending,
    environment,
    jobconf,
    not_submitted,
)

_PATIENCE_S = 240.0  # a busy cluster lets a job wait
# what the posts job imports, by the settings that make it do so
_MODULES = ("mrjob.job", "msgspec", "requests", "socks", "weibo_crawler.posts.crawl")
_STORES = ("pymysql", "happybase", "weibo_crawler.store.hbase_tables")


class Finding(msgspec.Struct, frozen=True):
    """A thing that was looked at on a node; exit_code: 0 where it is well."""

    name: str
    text: str
    exit_code: int = 0


def look_around(settings: Settings) -> list[Finding]:
    """On the node: Python, packages, and whether the stores answer from here."""
    wreq = ("wreq",) if settings.fetch.transport == "wreq" else ()
    found = [
        _judged("node python", _python),
        _judged("node packages", partial(_packages, (*_MODULES, *_STORES, *wreq))),
    ]
    if found[-1].exit_code:
        return found
    from weibo_crawler.store import hbase_check
    from weibo_crawler.store.mysql_check import MysqlCheck

    sql = MysqlCheck(settings.store.users, settings.store.read_password())
    checks: list[tuple[str, Callable[[], str]]] = [
        ("node sql", sql.server),
        ("node clock", lambda: f"{sql.clock()} from the database's"),
        ("node hbase", partial(hbase_check.protocol, settings.store.tables)),
    ]
    return found + [_judged(name, check) for name, check in checks]


def look_from_a_node(
    settings: Settings, script: Path, run_id: str, env: Mapping[str, str] = os.environ
) -> list[Finding]:
    """Let a node look around. script: jobs/check_node.py. Leaves nothing in HDFS but the archive,
    which the posts job uses too.

    Raises what keeps the job from running there: BadConfig, StoreError, else CrawlerError.
    """
    once = replace(settings, hadoop=replace(settings.hadoop, attempts=1))
    cluster = Cluster(once)
    with tempfile.TemporaryDirectory(prefix="weibo-node-") as folder:
        one = Path(folder, "input")
        one.write_text("look\n", "utf-8")
        try:
            staged = cluster.stage(run_id, one)
            _run(cluster, script, run_id, staged, Path(folder), env)
            lines = cluster.hdfs.read(f"{staged.output}/part-*").splitlines()
        finally:
            with suppress(StoreError):  # the reason that is on its way says more
                cluster.hdfs.remove(cluster.staging(run_id))
    return [msgspec.json.decode(line, type=Finding) for line in lines if line.strip()]


def _run(
    cluster: Cluster,
    script: Path,
    run_id: str,
    staged: Staged,
    folder: Path,
    env: Mapping[str, str],
) -> None:
    hadoop, log = cluster.settings.hadoop, folder / "log"
    conf = jobconf(hadoop, run_id, by_range=True)
    conf["mapreduce.job.name"] = f"weibo-crawler doctor {run_id}"
    words = [*command(hadoop, cluster.jar, script, staged, conf), "--local-tmp-dir", str(folder)]
    process = start([*words, staged.input], log, environment(env, hadoop))
    try:
        code = process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        page = f"{hadoop.resourcemanager}/cluster/apps"
        raise StoreError(
            f"the job did not end within {_PATIENCE_S:.0f} s: has YARN room for it? {page}"
        ) from None
    finally:
        is_ended = process.poll() is not None
        end_group(process)
        if not is_ended:
            _kill(cluster, run_id)
    if code:
        app = cluster.yarn.find(run_id)
        raise CrawlerError(
            not_submitted(log) if app is None else ending(cluster.yarn, app, hadoop.python)
        )


def _kill(cluster: Cluster, run_id: str) -> None:
    with suppress(CrawlerError):  # on the way out
        if (app := cluster.yarn.find(run_id)) is not None:
            cluster.yarn.kill(app.id)


def _python() -> str:
    return f"{platform.python_version()} on {platform.node()} ({sys.executable})"


def _packages(names: tuple[str, ...]) -> str:
    missing = []
    for name in names:
        try:
            import_module(name)
        except ImportError as error:
            missing.append(f"{name} ({error})")
    if missing:
        raise CrawlerError(
            f"cannot be imported: {', '.join(missing)}: is the node's system that of this machine? "
            "compiled parts come from here"
        )
    return f"{', '.join(name for name in names if '.' not in name)} and the rest import"


def _judged(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, check())
    except CrawlerError as error:
        return Finding(name, str(error), error.exit_code)
