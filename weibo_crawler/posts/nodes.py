"""`doctor --nodes`: a job of one map that looks around on a node, and what it found.

It goes the way of the posts job (archive, private settings, mrjob, YARN), so what stops that job
stops this one, before anybody is visited.
"""

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from weibo_crawler.config import Settings
from weibo_crawler.errors import CrawlerError, StoreError
from weibo_crawler.posts.cluster import Cluster
from weibo_crawler.posts.driver import end_group, start
from weibo_crawler.posts.node import Finding
from weibo_crawler.posts.submission import (
    Staged,
    command,
    ending,
    environment,
    jobconf,
    not_submitted,
)
from weibo_crawler.store.temporary import owned_folder

_PATIENCE_S = 240.0  # a busy cluster lets a job wait


def look_from_a_node(
    settings: Settings, script: Path, run_id: str, env: Mapping[str, str] = os.environ
) -> list[Finding]:
    """Let one node look around. script: jobs/check_node.py. Leaves nothing in HDFS but the archive,
    which the posts job uses too.

    Raises what keeps the job from running there: BadConfig, StoreError, else CrawlerError.
    """
    once = replace(settings, hadoop=replace(settings.hadoop, attempts=1))
    cluster = Cluster(once)
    with owned_folder("node") as folder:
        folder.joinpath("input").write_text("look\n", "utf-8")
        cluster.make_staging(run_id)
        try:
            staged = cluster.stage(run_id, script, folder / "input")
            _run(cluster, script, run_id, staged, folder, env)
            lines = cluster.hdfs.read(f"{staged.output}/part-*").splitlines()
        finally:
            with suppress(StoreError):  # the reason that is on its way says more
                cluster.hdfs.remove(cluster.staging(run_id))
    return [Finding.from_line(line) for line in lines if line.strip()]


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
    process = start([*words, staged.input], log, environment(env, hadoop, staged))
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise StoreError(
            f"the job did not end within {_PATIENCE_S:.0f} s: has YARN room for it? "
            f"{hadoop.resourcemanager}/cluster/apps"
        ) from None
    finally:
        is_over = process.poll() is not None
        end_group(process)
        if not is_over:
            _kill(cluster, run_id)
    if process.returncode:
        app = cluster.yarn.find(run_id)
        raise CrawlerError(
            not_submitted(log) if app is None else ending(cluster.yarn, app, hadoop.python)
        )


def _kill(cluster: Cluster, run_id: str) -> None:
    with suppress(CrawlerError):  # on the way out
        if (app := cluster.yarn.find(run_id)) is not None:
            cluster.yarn.kill(app.id)
