"""What the command line says of a posts job on YARN that it does not wait for."""

from typing import Any

from weibo_crawler.cli.main import Done
from weibo_crawler.errors import CrawlerError
from weibo_crawler.home import Home
from weibo_crawler.posts import cluster
from weibo_crawler.posts.hadoop import HadoopRun


def left_running(run: HadoopRun) -> Done:
    """The closing line of `posts --detach`."""
    app = run.application
    name = "" if app is None else app.id
    line = (
        f"posts: {name} is at work on YARN: `weibo-crawler status` shows how it goes, "
        f"`hadoop application -kill {name}` (or `yarn application …`) ends it"
    )
    return Done(line, {"application": name, "run_id": run.run_id})


def status(home: Home) -> tuple[list[str], dict[str, Any]]:
    """How the job that was submitted last is: lines, and the same for machines. One that is over
    is cleaned up after, if nobody else waits for it."""
    submitted = cluster.SUBMITTED.get(home.users)
    if submitted is None:
        return [], {}
    names = {"application": submitted.app, "run_id": submitted.run_id}
    try:
        seen = cluster.look(home.users, home.settings, submitted)
    except CrawlerError as error:
        line = f"yarn     {submitted.app or submitted.run_id}: {error}"
        return [line], names | {"error": str(error)}
    return [f"yarn     {seen.line}"], names | {"state": seen.state, "final": seen.final}
