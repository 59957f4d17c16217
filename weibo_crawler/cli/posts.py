"""import and posts: from the userlist to stored posts."""

import argparse
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler import config
from weibo_crawler.analysis.scan import parse_when
from weibo_crawler.cli import logs
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.posts_closing import closed, left_early, nobody_read, site_says_no
from weibo_crawler.cli.show import Advance, Progress
from weibo_crawler.cli.stopping import stopped_by_signals
from weibo_crawler.cli.yarn import left_running
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, BadUsage, CrawlerError, SiteSaysNo, needed
from weibo_crawler.fetch.opening import load_egresses
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.importer import Imported, import_users, imported
from weibo_crawler.metrics import Counters, OpenMetrics, figures
from weibo_crawler.outputs import keep_inputs
from weibo_crawler.posts.cluster import Cluster
from weibo_crawler.posts.driver import JobFiles, JobRun, LocalRun, Told
from weibo_crawler.posts.due import Job, holds_users
from weibo_crawler.posts.hadoop import HadoopRun
from weibo_crawler.posts.manifest import manifest
from weibo_crawler.posts.workers import (
    WAITING,
    WAITING_AS,
    WAITING_FOR,
    ended_by,
)
from weibo_crawler.records import OPTIONAL
from weibo_crawler.resources import resource
from weibo_crawler.sites import open_site
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.owners import is_at_work, new_owner
from weibo_crawler.store.temporary import log_of, owned_folder

Show = Callable[[dict[str, int], str], None]

_AT_WORK_S = 30.0  # who said nothing for longer is not


def import_(options: argparse.Namespace) -> Done:
    """Copy what the tables lack."""
    if options.paper and options.via != "sqoop":
        raise BadUsage("--paper is the paper's own command of Sqoop: use it with --via sqoop")
    with Home(config.load(options.config), makes=["tables"]) as home:
        if options.via == "sqoop":
            return _by_sqoop(home, from_start=options.from_start, paper=options.paper)
        return run_import(home, "import", from_start=options.from_start)


def run_import(home: Home, title: str, *, from_start: bool = False) -> Done:
    place = home.settings.store.tables
    known = 0 if from_start else imported(home.users, place)
    advance = Advance(home.users.count_upto(home.users.last_seq()) - known)
    with Progress(title) as progress:
        done = import_users(
            *(home.users, home.tables, place, new_run_id()),
            lambda n: progress.say(advance.words(n, "users")),
            from_start=from_start,
        )
    return _imported(done, from_start=from_start)


def _by_sqoop(home: Home, *, from_start: bool, paper: bool) -> Done:
    with needed("import --via sqoop needs PyMySQL and happybase", "cluster"):
        from weibo_crawler import sqoop_import
    name = "paper" if paper else "userlist"
    sqoop = sqoop_import.prepare(home.settings, name, new_run_id(), os.environ)
    with Progress("import") as progress:
        if paper:
            n = sqoop_import.import_paper(sqoop, home.users, progress.say)
            return Done(f"import: {n:,} users in table {sqoop.table}", {"total": n})
        done = sqoop_import.import_users(
            sqoop, home.users, home.tables, progress.say, from_start=from_start
        )
    return _imported(done, from_start=from_start)


def _imported(done: Imported, *, from_start: bool) -> Done:
    written = "users written, known ones too" if from_start else "new users"
    line = f"import: {done.new:,} {written}, {done.changed:,} changed"
    return Done(line if any(done) else "import: nothing new", done._asdict())


def posts(options: argparse.Namespace) -> Done:
    """Run the map job over all key ranges."""
    settings = config.load(options.config)
    given = {name: getattr(options, name) for name in OPTIONAL.values()}
    given = {name: value for name, value in given.items() if value is not None}
    settings = replace(settings, posts=replace(settings.posts, **given))
    _check_together(options)
    since = parse_when("--since", options.since, open_site(settings).clock) or 0.0
    if since > time.time():
        raise BadUsage(
            f"--since: {options.since} is still to come, and later visits would keep to it"
        )
    if options.manifest is not None:
        keep_inputs(options.manifest)
        try:
            options.manifest.write_text(manifest(settings.posts.ranges), encoding="utf-8")
        except OSError as error:
            raise BadConfig(f"{options.manifest}: cannot write: {error.strerror}") from None
        return Done(
            f"posts: {settings.posts.ranges} ranges written to {options.manifest}",
            {"ranges": settings.posts.ranges},
        )
    with Home(settings, makes=() if options.plan else ["tables"]) as home:
        home.users.states()  # first of all: a wrong address of the users makes no tables
        if options.ids is not None:
            from weibo_crawler.cli.by_ids import posts_by_ids

            return posts_by_ids(home, options.ids)
        if options.plan:
            from weibo_crawler.cli.plans import posts_plan

            return posts_plan(home, refresh=options.refresh, every=options.all)
        table, env = _table(options, settings), environ_of(options)
        # the mappers of this machine read the settings themselves
        for name in OPTIONAL.values():
            env[f"WEIBO_POSTS__{name.upper()}"] = str(getattr(settings.posts, name))
        refresh = options.refresh or options.follow
        job = Job("", refresh, every=options.all, since=since)
        how = How(options.runner, env, options.detach, table)
        if options.follow:
            from weibo_crawler.cli.follow import follow_posts

            return follow_posts(home, how, job, options.span_s)
        return run_posts(home, how, job)


def environ_of(options: argparse.Namespace) -> dict[str, str]:
    """The variables of jobs on this machine, which read the same settings."""
    named = {} if options.config is None else {"WEIBO_CONFIG": str(options.config.resolve())}
    return {**os.environ, **named}


def _check_together(options: argparse.Namespace) -> None:
    """Raise BadUsage for options that do not go together."""
    if options.all and not options.refresh:
        raise BadUsage("--all is for --refresh: add that")
    for name, is_set in _of_a_job(options).items():
        if options.ids is not None and is_set:
            raise BadUsage(
                f"--ids asks for posts one by one, and {name} is for users: leave one out"
            )
    if options.manifest is not None and options.plan:
        raise BadUsage("--manifest and --plan exclude each other: one writes, the other only tells")
    if options.since is not None and options.plan:
        raise BadUsage("--plan knows the pages of whole timelines, not how many are of that time")
    once = {
        "--all": options.all,
        "--plan": options.plan,
        "--detach": options.detach,
        "--manifest": options.manifest is not None,
    }
    for name, is_set in once.items():
        if options.follow and is_set:
            raise BadUsage(f"--follow goes on and on, and {name} is for one job: leave one out")
    if options.span_s is not None and not options.follow:
        raise BadUsage("--for is for --follow: add that")


def _of_a_job(options: argparse.Namespace) -> dict[str, bool]:
    """The options of the map job, and whether they are given."""
    return {
        "--refresh": options.refresh,
        "--follow": options.follow,
        "--all": options.all,
        "--plan": options.plan,
        "--detach": options.detach,
        "--since": options.since is not None,
        "--manifest": options.manifest is not None,
        **{
            f"--{name.replace('_', '-')}": getattr(options, name) is not None
            for name in OPTIONAL.values()
        },
        "--runner hadoop": options.runner == "hadoop",
    }


def _table(options: argparse.Namespace, settings: Settings) -> str:
    """The HBase table that is the job's input, "" for key ranges."""
    if options.runner != "hadoop" and (options.detach or options.input != "ranges"):
        raise BadUsage("--detach and --input hbase are for --runner hadoop")
    if options.input == "ranges":
        if options.table is not None:
            raise BadUsage("--table names the input of --input hbase: add that")
        return ""
    if options.table is not None:
        return str(options.table)
    from weibo_crawler.store.hbase.address import parse_address

    return parse_address(settings.store.tables).table("userlist")


class How(NamedTuple):
    """How jobs run. env: variables of those on this machine. detach: leave it running on YARN;
    table: read users from this HBase table by TableInputFormat, "" = by key ranges. cluster: None:
    this machine, or not opened yet."""

    runner: str
    env: Mapping[str, str]
    detach: bool = False
    table: str = ""
    cluster: Cluster | None = None


def run_posts(home: Home, how: How, job: Job) -> Done:
    """One run of the job, which gets its name and driver here, with progress, and its figures."""
    started, how = time.monotonic(), prepared(home, how)
    job = job._replace(run_id=new_run_id(), driver="" if how.detach else new_owner())
    shown = Counters()
    advance = Advance(imported(home.users, home.settings.store.tables))
    with Progress("posts") as progress, OpenMetrics(home.settings.metrics, shown, "posts") as om:

        def show(counters: dict[str, int], note: str) -> None:
            shown.replace(figures(counters))
            om.write()
            done = advance.words(counters.get("users.input", 0), "users")
            progress.say(", ".join(filter(None, [done, posts_line(counters), note])))

        with posts_run(home, job, how, show) as run, stopped_by_signals(run.stop):
            counters = run.run()
    if isinstance(run, HadoopRun) and run.is_left_running:
        return left_running(run)
    share = home.settings.posts.max_failed_share
    why = site_says_no(counters, home.settings) or left_early(counters, share)
    why = why or nobody_read(home, counters)
    note_refusal(home, job.run_id, why)
    return closed(home, counters, time.monotonic() - started, why, every=job.every)


def prepared(home: Home, how: How) -> How:
    """Look at all that a job needs before one is started. Errors: BadConfig, StoreError."""
    how = with_cluster(home.settings, how)
    home.bind_site()
    # opened here, before several mappers ask for it at once; what they could not read, we cannot
    next(iter(home.tables.posts.scan(limit=1)), None)
    next(iter(home.tables.userlist.scan(limit=1)), None)
    _warn_of_others(home)
    return how


def with_cluster(settings: Settings, how: How) -> How:
    """With the cluster where one is asked for, on which no more maps run at once than the egresses
    can feed. Errors: as `Cluster`."""
    if how.runner != "hadoop":
        return how
    fed = mappers_fed(settings, is_cluster=True)
    if fed is not None:
        running = min(fed, settings.hadoop.running_maps or fed)
        settings = replace(settings, hadoop=replace(settings.hadoop, running_maps=running))
    return how._replace(cluster=Cluster(settings))


def mappers_fed(settings: Settings, *, is_cluster: bool) -> int | None:
    """How many mappers the egresses can feed: under a pace one process at a time uses one. None:
    any number, as it is where each node of a cluster has direct connections of its own."""
    if not settings.pace.requests_per_second:
        return None
    egress = settings.egress
    if is_cluster and egress.use_direct and egress.direct_name is None:
        return None
    return max(1, len(load_egresses(egress, settings.fetch)))


def posts_run(
    home: Home, job: Job, how: How, show: Show, ranges: int | None = None
) -> AbstractContextManager[JobRun]:
    """A job that is to be run inside. ranges: of its input, None: posts.ranges."""
    lines = manifest(ranges or home.settings.posts.ranges, partial(holds_users, home.tables))
    return job_run(home, job, how, show, "jobs/crawl_posts.py", lines)


@contextmanager
def job_run(
    home: Home, job: Told, how: How, show: Show, script: str, lines: str
) -> Iterator[JobRun]:
    """A job that is to be run inside. lines: of its input. Its log stays where an error names
    it."""
    with owned_folder(job.stage) as folder:
        files = JobFiles(resource(script), folder / "ranges.jsonl", log_of(folder))
        files.manifest.write_text(lines, encoding="utf-8")
        parts = home.users, job, files, show
        try:
            if how.cluster is None:
                fed = mappers_fed(home.settings, is_cluster=False)
                yield LocalRun(*parts, runner=how.runner, mappers=fed, env=how.env)
            else:
                yield HadoopRun(
                    *parts, cluster=how.cluster, table=how.table, detach=how.detach, env=how.env
                )
        except CrawlerError as error:
            if str(files.log) not in str(error):
                files.log.unlink(missing_ok=True)
            raise
        files.log.unlink(missing_ok=True)  # of interest only where the error names it


def note_refusal(home: Home, run_id: str, why: str) -> None:
    """All mappers together say what none of them could tell. why: "" where the site says nothing of
    the kind."""
    if why:
        now, ended = time.time(), ended_by(SiteSaysNo.exit_code, why)
        home.users.report(WorkerRow(run_id, new_owner(), "posts", now, now, ended, {}))


def _warn_of_others(home: Home) -> None:
    """Two runs on one store share its users and egresses."""
    now = time.time()
    others = {
        row.run_id
        for row in home.users.workers()
        if row.stage == "posts" and is_at_work(row, now, _AT_WORK_S)
    }
    if others:
        logs.say(
            f"posts: another run is at work on these stores ({', '.join(sorted(others))}): its "
            "users are left to it",
            logging.WARNING,
        )


def posts_line(counters: dict[str, int]) -> str:
    """What a run has brought, for people."""
    waiting = counters.get(WAITING, 0)
    whys = (name.removeprefix(WAITING_AS) for name in counters if name.startswith(WAITING_AS))
    why = max(whys, key=len, default="no egress may go")  # each says much the same of its own
    waits = [f"; mappers that wait: {waiting:,} ({why})"] if waiting else []
    waits += [
        f"; mappers that wait for {name.removeprefix(WAITING_FOR)}: {n:,}"
        for name, n in counters.items()
        if name.startswith(WAITING_FOR)
    ]
    pages = f"{counters.get('posts.new', 0):,} new posts, {counters.get('page.ok', 0):,} pages"
    return "".join([pages, *waits])
