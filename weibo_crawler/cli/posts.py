"""import and posts: from the userlist to stored posts."""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from weibo_crawler import config
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.sending import hold, holding_egresses, say_stopping
from weibo_crawler.cli.show import Progress, grouped, seconds, verdicts
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, SiteSaysNo
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.metrics import Counters, OpenMetrics
from weibo_crawler.posts.crawl import Job
from weibo_crawler.posts.driver import JobFiles, JobRun
from weibo_crawler.posts.manifest import manifest
from weibo_crawler.resources import resource
from weibo_crawler.store.owners import new_owner

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def import_(options: argparse.Namespace) -> Done:
    """Copy what the tables lack."""
    with Home(config.load(options.config)) as home:
        return run_import(home, "import")


def run_import(home: Home, title: str) -> Done:
    """One import with progress."""
    from weibo_crawler.importer import import_users

    with Progress(title) as progress:
        done = import_users(
            *(home.users, home.tables, home.settings.store.tables, new_run_id()),
            lambda n: progress.say(f"{n:,} users"),
        )
    line = f"import: {done.new:,} new users, {done.changed:,} changed"
    return Done(line if any(done) else "import: nothing new", done._asdict())


def posts(options: argparse.Namespace) -> Done:
    """Run the map job over all key ranges."""
    settings = config.load(options.config)
    if options.manifest is not None:
        try:
            options.manifest.write_text(manifest(settings.posts.ranges), encoding="utf-8")
        except OSError as error:
            raise BadConfig(f"{options.manifest}: cannot write: {error.strerror}") from None
        return Done(
            f"posts: {settings.posts.ranges} ranges written to {options.manifest}",
            {"ranges": settings.posts.ranges},
        )
    with Home(settings) as home:
        env = dict(os.environ)
        if options.config is not None:
            env["WEIBO_CONFIG"] = str(options.config.resolve())
        return run_posts(home, "posts", runner=options.runner, refresh=options.refresh, env=env)


def run_posts(home: Home, title: str, *, runner: str, refresh: bool, env: dict[str, str]) -> Done:
    """One run of the job with progress, and its figures."""
    started = time.monotonic()
    home.bind_site()
    home.tables  # noqa: B018 - created here, before several mappers ask for it at once
    job, shown = Job(new_run_id(), refresh, new_owner()), Counters()
    with (
        holding_egresses(home, job.driver),
        tempfile.TemporaryDirectory(prefix="weibo-posts-") as folder,
        Progress(title) as progress,
        OpenMetrics(home.settings.metrics, shown, "posts") as om,
    ):
        files = JobFiles(
            script=resource("jobs/crawl_posts.py"),
            manifest=Path(folder, "ranges.jsonl"),
            errors=Path(folder, "errors"),
            log=Path(tempfile.gettempdir(), f"weibo-crawler-posts-{job.run_id}.log"),
        )
        files.manifest.write_text(manifest(home.settings.posts.ranges), encoding="utf-8")

        def show(counters: dict[str, int]) -> None:
            if home.settings.pace.requests_per_second:
                hold(home, job.driver)
            shown.replace(counters)
            om.write()
            progress.say(_posts_line(counters))

        run = JobRun(
            home.users,
            job,
            files,
            runner=runner,
            processes=_processes(home.settings),
            env=env,
            progress=show,
        )

        def interrupted(*_: object) -> None:
            say_stopping()
            run.stop()

        handlers = {n: signal.signal(n, interrupted) for n in _SIGNALS}
        try:
            counters = run.run()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        files.log.unlink(missing_ok=True)  # of interest only where the job failed
    return _posts_done(home, counters, time.monotonic() - started)


def _processes(settings: Settings) -> int | None:
    """Each mapper paces by itself, so under a limit one process keeps it exactly; users are
    fetched side by side within it all the same."""
    return 1 if settings.pace.requests_per_second else None


def _posts_line(counters: dict[str, int]) -> str:
    visited = counters.get("users.input", 0) - counters.get("users.existing", 0)
    return (
        f"{visited:,} users visited, {counters.get('posts.new', 0):,} new posts, "
        f"{counters.get('page.ok', 0):,} pages"
    )


def _because(stopped: Mapping[str, int]) -> str:
    walled = stopped.get("login_wall", 0)
    return f"; {walled:,} users end at the login wall, guests may read no further" if walled else ""


def _posts_done(home: Home, counters: dict[str, int], span_s: float) -> Done:
    from weibo_crawler.analysis.completeness import completeness
    from weibo_crawler.analysis.numbers import percent

    get = counters.get
    total, failed, existing = (
        get("users.input", 0),
        get("users.failed", 0),
        get("users.existing", 0),
    )
    complete = completeness(home.tables)
    new = get("posts.new", 0)
    lines = [
        f"posts: {total:,} users ({existing:,} known, {total - existing:,} visited), "
        f"{grouped(new, 'no')} new posts of {complete.stored:,} stored, in {seconds(span_s)}",
        f"pages: {verdicts(counters)}",
        f"long texts: {get('long_texts.completed', 0):,} completed, "
        f"{complete.cut_texts:,} still cut",
    ]
    if complete.share is not None:
        lines.append(
            f"complete: {percent(complete.share)} of the {complete.announced:,} announced posts "
            f"are held{_because(complete.stopped)}"
        )
    if complete.gone:
        lines.append(f"{complete.gone:,} users are gone from the site, or show nothing")
    if failed:
        lines.append(f"{failed:,} users failed: the same command asks for them again")
    data = {
        "users": total,
        "existing": existing,
        "failed": failed,
        "new_posts": new,
        "stored_posts": complete.stored,
        "share": complete.share,
        "counters": counters,
        "seconds": round(span_s, 3),
    }
    visited = total - existing
    if visited and failed / visited > home.settings.posts.max_failed_share:
        raise SiteSaysNo(
            "\n".join([*lines, f"{failed:,} of {visited:,} users failed: stopped here"])
        )
    return Done("\n".join(lines), data)
