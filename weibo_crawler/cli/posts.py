"""import and posts: from the userlist to stored posts."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler import config
from weibo_crawler.analysis.completeness import Completeness, completeness, left_out
from weibo_crawler.analysis.numbers import percent, plural
from weibo_crawler.analysis.scan import parse_when
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.show import Advance, Progress, grouped, seconds, verdicts
from weibo_crawler.cli.stopping import say_stopping, stop_signals
from weibo_crawler.cli.yarn import left_running
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, BadUsage, CrawlerError, SiteSaysNo, needed
from weibo_crawler.fetch.opening import load_egresses
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.importer import Imported, import_users, imported
from weibo_crawler.metrics import Counters, OpenMetrics
from weibo_crawler.outputs import keep_inputs
from weibo_crawler.posts.cluster import Cluster
from weibo_crawler.posts.crawl import ELSEWHERE, Job, holds_users
from weibo_crawler.posts.driver import JobFiles, JobRun, LocalRun
from weibo_crawler.posts.hadoop import HadoopRun
from weibo_crawler.posts.manifest import manifest
from weibo_crawler.posts.stops import SINCE
from weibo_crawler.posts.workers import (
    BARE,
    FIRST,
    FIRST_FAILED,
    SILENT,
    WAITING,
    WAITING_FOR,
    ended_by,
    fell_silent,
    shows_no_posts,
    too_many_failed,
    visited,
)
from weibo_crawler.resources import resource
from weibo_crawler.sites import open_site
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.owners import is_at_work, new_owner
from weibo_crawler.store.temporary import log_of, owned_folder

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
    """One import with progress."""
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
    if options.comments is not None:
        settings = replace(settings, posts=replace(settings.posts, comments=options.comments))
    if options.info_days is not None:
        settings = replace(settings, posts=replace(settings.posts, info_days=options.info_days))
    _check_together(options)
    since = parse_when("--since", options.since, open_site(settings).clock) or 0.0
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
        env = dict(os.environ)
        if options.config is not None:
            env["WEIBO_CONFIG"] = str(options.config.resolve())
        table = _table(options, settings)
        # the mappers of this machine read the settings themselves
        env["WEIBO_POSTS__COMMENTS"] = str(settings.posts.comments)
        env["WEIBO_POSTS__INFO_DAYS"] = str(settings.posts.info_days)
        refresh = options.refresh or options.follow
        job = Job("", refresh, every=options.all, since=since)
        how = How(options.runner, job, options.detach, table)
        if options.follow:
            from weibo_crawler.cli.follow import follow_posts

            return follow_posts(home, how, env, options.span_s)
        return run_posts(home, how, env)


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
        "--comments": options.comments is not None,
        "--info-days": options.info_days is not None,
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
    """How the job runs. job: each run gives it its name and its driver. detach: leave it running on
    YARN; table: read users from this HBase table by TableInputFormat, "" = by key ranges."""

    runner: str
    job: Job = Job("")
    detach: bool = False
    table: str = ""


def run_posts(home: Home, how: How, env: dict[str, str]) -> Done:
    """One run of the job with progress, and its figures."""
    started = time.monotonic()
    cluster = prepared(home, how)
    job = how.job._replace(run_id=new_run_id(), driver="" if how.detach else new_owner())
    shown = Counters()
    advance = Advance(imported(home.users, home.settings.store.tables))
    with Progress("posts") as progress, OpenMetrics(home.settings.metrics, shown, "posts") as om:

        def show(counters: dict[str, int], note: str) -> None:
            shown.replace(counters)
            om.write()
            done = advance.words(counters.get("users.input", 0), "users")
            progress.say(", ".join(filter(None, [done, posts_line(counters), note])))

        with job_run(home, job, how, cluster, env, show) as run, stopped_by_signals(run.stop):
            counters = run.run()
    if isinstance(run, HadoopRun) and run.is_left_running:
        return left_running(run)
    why = site_says_no(counters, home.settings) or nobody_read(home, counters)
    note_refusal(home, job.run_id, why)
    return closed(home, counters, time.monotonic() - started, why, every=job.every)


def prepared(home: Home, how: How) -> Cluster | None:
    """Look at all that a job needs before one is started. Errors: BadConfig, StoreError."""
    settings, is_cluster = home.settings, how.runner == "hadoop"
    fed = mappers_fed(settings, is_cluster=is_cluster)
    if fed is not None:
        running = min(fed, settings.hadoop.running_maps or fed)
        settings = replace(settings, hadoop=replace(settings.hadoop, running_maps=running))
    cluster = Cluster(settings) if is_cluster else None
    home.bind_site()
    # opened here, before several mappers ask for it at once; what they could not read, we cannot
    next(iter(home.tables.posts.scan(limit=1)), None)
    next(iter(home.tables.userlist.scan(limit=1)), None)
    _warn_of_others(home)
    return cluster


def mappers_fed(settings: Settings, *, is_cluster: bool) -> int | None:
    """How many mappers the egresses can feed: under a pace one process at a time uses one. None:
    any number, as it is where each node of a cluster has direct connections of its own."""
    if not settings.pace.requests_per_second:
        return None
    egress = settings.egress
    if is_cluster and egress.use_direct and egress.direct_name is None:
        return None
    return max(1, len(load_egresses(egress, settings.fetch)))


@contextmanager
def job_run(
    home: Home,
    job: Job,
    how: How,
    cluster: Cluster | None,
    env: dict[str, str],
    show: Callable[[dict[str, int], str], None],
    ranges: int | None = None,
) -> Iterator[JobRun]:
    """A job that is to be run inside. ranges: of its input, None: posts.ranges. Its log stays where
    an error names it."""
    with owned_folder("posts") as folder:
        files = JobFiles(
            script=resource("jobs/crawl_posts.py"),
            manifest=folder / "ranges.jsonl",
            log=log_of(folder),
        )
        lines = manifest(ranges or home.settings.posts.ranges, partial(holds_users, home.tables))
        files.manifest.write_text(lines, encoding="utf-8")
        parts = home.users, job, files, show
        try:
            if cluster is None:
                fed = mappers_fed(home.settings, is_cluster=False)
                yield LocalRun(*parts, runner=how.runner, mappers=fed, env=env)
            else:
                yield HadoopRun(
                    *parts, cluster=cluster, table=how.table, detach=how.detach, env=env
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
        print(
            f"posts: another run is at work on these stores ({', '.join(sorted(others))}): its "
            "users are left to it",
            file=sys.stderr,
        )


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Inside, Ctrl-C and SIGTERM call `stop`, each time they come."""
    stops = count()

    def interrupted(*_: object) -> None:
        say_stopping(is_again=next(stops) > 0)
        stop()

    handlers = {n: signal.signal(n, interrupted) for n in stop_signals()}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def posts_line(counters: dict[str, int]) -> str:
    """What a run has brought, for people."""
    waiting = counters.get(WAITING, 0)
    waits = [f"; mappers that wait, as no egress may go: {waiting:,}"] if waiting else []
    waits += [
        f"; mappers that wait for {name.removeprefix(WAITING_FOR)}: {n:,}"
        for name, n in counters.items()
        if name.startswith(WAITING_FOR)
    ]
    pages = f"{counters.get('posts.new', 0):,} new posts, {counters.get('page.ok', 0):,} pages"
    return "".join([pages, *waits])


def _because(complete: Completeness) -> str:
    """What the share of the announced posts does not tell."""
    walled, bound = complete.stopped.get("login_wall", 0), complete.stopped.get(SINCE, 0)
    wall = f"{walled:,} users end at the login wall, guests may read no further" if walled else ""
    since = f"{bound:,} users end at a date (--since), older posts are left out on purpose"
    whys = (wall, since if bound else "", left_out(complete))
    return "".join(f"; {why}" for why in whys if why)


def nobody_read(home: Home, counters: dict[str, int]) -> str:
    """Why a run in which every visit failed ends with SiteSaysNo, as a harvest does of which nobody
    could be walked; "" where it does not: someone was read, or only such failed again as failed in
    runs before, while others are held (law 15)."""
    failed = counters.get("users.failed", 0)
    is_all = failed and failed + counters.get("users.unreached", 0) == visited(counters)
    if not is_all or home.settings.posts.max_failed_share == 1:
        return ""
    held = completeness(home.tables, time.time())
    if not counters.get(FIRST_FAILED) and held.failed < held.visited:
        return ""
    return (
        f"nobody could be read: {plural(failed, 'visit')} failed, and none did not; nobody was "
        "marked as gone or done by it: `status` and `report --completeness --format table` say more"
    )


def closed(
    home: Home,
    counters: dict[str, int],
    span_s: float,
    why: str = "",
    jobs: int | None = None,
    *,
    every: bool = False,
) -> Done:
    """What a run came to. why: what makes it end with SiteSaysNo, "" for nothing; jobs: how many
    there were, None: this one alone; every: as in `Job`."""
    from weibo_crawler.analysis.second_looks import looks_dict, looks_lines, second_looks

    get, looks = counters.get, second_looks(home.users)
    total, failed, existing = (
        get("users.input", 0),
        get("users.failed", 0),
        get("users.existing", 0),
    )
    complete = completeness(home.tables, time.time())
    new = get("posts.new", 0)
    users = f"{total:,} users ({existing:,} known, {total - existing:,} visited)"
    if jobs is not None:
        users = f"{plural(total, 'visit')} by {plural(jobs, 'job')}"
    lines = [
        f"posts: {users}, "
        f"{grouped(new, 'no')} new posts of {complete.stored:,} stored, in {seconds(span_s)}",
        f"pages: {verdicts(counters)}",
        f"long texts: {get('long_texts.completed', 0):,} completed, "
        f"{complete.cut_texts:,} still cut"
        + (f", {n:,} shown to others only" if (n := complete.restricted_texts) else ""),
    ]
    if complete.visits_a_day:
        from weibo_crawler.cli.plans import follow

        lines.append(follow(home, complete.visits_a_day))
    if not total and jobs is None:
        lines.append("nobody is imported: weibo-crawler import, and posts again")
    if complete.share is not None:
        lines.append(
            f"complete: {percent(complete.share)} of the {complete.announced:,} announced posts "
            f"are held{_because(complete)}"
        )
    elif complete.uncounted:
        lines.append(f"complete: not known{_because(complete)}")
    if taken := get("pages.from_harvest"):
        lines.append(f"{taken:,} pages were not asked for: the harvest had read them")
    if read := get("comments.pages"):
        lines.append(f"comments: {get('comments.stored', 0):,} stored, of {read:,} posts")
    if read := get("info.pages"):
        lines.append(f"basic information: read of {read:,} users")
    if get("posts.edited") or get("posts.gone"):
        lines.append(
            f"changed: {get('posts.edited', 0):,} stored posts were edited, "
            f"{get('posts.gone', 0):,} are gone from the site; their texts are kept"
        )
    if elsewhere := get(f"users.{ELSEWHERE}", 0):
        lines.append(f"{elsewhere:,} users were left to another run that is at work on them")
    lines += looks_lines({kind: one for kind, one in looks.items() if kind.startswith("posts.")})
    if complete.unsure_users and not every:
        lines.append(
            f"{plural(complete.unsure_users, 'user')} ended with fewer posts than announced: after "
            "a bad day of the site `posts --refresh --all` asks for them again, else the crawl "
            "comes back to each by the posting rate"
        )
    if complete.gaps:
        lines.append(f"{complete.gaps:,} gaps between visits: `report --completeness` says more")
    if complete.gone:
        lines.append(f"{complete.gone:,} users are gone from the site")
    if complete.unreadable:
        lines.append(
            f"{complete.unreadable:,} posts of {complete.unreadable_users:,} users could not be "
            "read: their JSON is kept (table `drifted`), look for a newer version"
        )
    if complete.partial:
        lines.append(f"{complete.partial:,} users have more pages: the same command goes on there")
    if complete.empty:
        lines.append(f"{complete.empty:,} users show nothing: `posts` looks again another day")
    if clamped := get("egress.clamped", 0):
        lines.append(
            "an egress was to wait longer than pace and rests allow, as the users' database says "
            f"(did a clock jump?): it went sooner ({clamped:,} x)"
        )
    if failed:
        lines.append(f"{failed:,} users failed: the same command asks for them again")
    if unreached := get("users.unreached", 0):
        lines.append(
            f"{unreached:,} users were not reached, no answer came: check site.base_url and the "
            "network, then run the same command again; nothing is lost"
        )
    data = {
        "users": total,
        "existing": existing,
        "failed": failed,
        "unreached": unreached,
        "new_posts": new,
        "edited_posts": get("posts.edited", 0),
        "gone_posts": get("posts.gone", 0),
        "stored_posts": complete.stored,
        "share": complete.share,
        "uncounted_users": complete.uncounted,
        "cut_texts": complete.cut_texts,
        "elsewhere": elsewhere,
        "second_looks": looks_dict(looks),
        "counters": counters,
        "jobs": 1 if jobs is None else jobs,
        "seconds": round(span_s, 3),
    }
    if why:
        no = SiteSaysNo("\n".join([*lines, why]))
        no.data = data
        raise no
    return Done("\n".join(lines), data)


def site_says_no(counters: dict[str, int], settings: Settings) -> str:
    """Why these figures say that the site talks to nobody, "" where they do not."""
    get, visits = counters.get, visited(counters)
    if get("users.unreached") and get("users.unreached") == visits:
        return "the site did not answer at all: stopped here"
    if fell_silent(counters, visits, settings.posts.max_failed_share):
        return (
            f"the site shows nothing: {get(SILENT, 0):,} visits found it silent to everybody; "
            "nobody was marked as gone or done by it: come back in an hour or more, then run the "
            "same command again"
        )
    if shows_no_posts(counters):
        bare, others = get(BARE, 0), get(FIRST, 0)
        return (
            f"the site shows no posts: at their first visit {bare:,} of {bare + others:,} users "
            "showed none of those that their profiles announce; nobody was marked as gone or done "
            "by it: come back in an hour or more, then run the same command again"
        )
    if too_many_failed(counters, settings.posts.max_failed_share):
        first, broken = get(FIRST, 0), get(FIRST_FAILED, 0)
        return f"{broken:,} of {first:,} users failed at their first visit: stopped here"
    return ""
