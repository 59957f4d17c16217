"""seed, harvest, import, posts."""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weibo_crawler import config
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.show import Progress, grouped, seconds, verdicts
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, BadSeed, BadUsage, Interrupted, SiteSaysNo
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.harvest.run import Ended, HarvestRun
from weibo_crawler.harvest.seeds import Seed, parse_seed, parse_seeds
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.metrics import Counters, OpenMetrics
from weibo_crawler.posts.crawl import Job
from weibo_crawler.posts.driver import JobFiles, JobRun
from weibo_crawler.posts.manifest import manifest
from weibo_crawler.records import NamedUser
from weibo_crawler.resources import resource
from weibo_crawler.store import Found
from weibo_crawler.store.owners import new_owner

_HOLD_S = 60.0  # a run that says nothing for so long no longer holds the egresses

# -- seed


def seed(options: argparse.Namespace) -> Done:
    """Store seeds; all are parsed and resolved before any is stored."""
    seeds = read_seeds(options.seeds)
    with Home(config.load(options.config)) as home:
        home.bind_site()
        uids = (
            asyncio.run(_resolve(seeds, home))
            if any(s.uid is None for s in seeds)
            else [s.uid for s in seeds if s.uid is not None]
        )
        found = [Found(uid, home.site.home(uid), "", 0) for uid in dict.fromkeys(uids)]
        new = home.users.add_seeds(found, new_run_id(), time.time())
        known = len(found) - new
    line = f"seed: {new} new, {known} known already; next: weibo-crawler harvest"
    return Done(line, {"new": new, "known": known})


def read_seeds(arguments: list[str]) -> list[Seed]:
    """Files and single seeds of the command line, in order."""
    seeds = []
    for argument in arguments:
        path = Path(argument)
        if path.suffix == ".txt" or (len(argument) < 255 and path.is_file()):
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "it is not UTF-8"
                raise BadConfig(
                    f"{path}: cannot read the seeds: {why}; a seeds file holds a uid, a profile "
                    "address or a screen name a line"
                ) from None
            seeds += parse_seeds(lines, argument)
        else:
            seeds.append(parse_seed(argument.strip(), "command line"))
    if not seeds:
        raise BadSeed(
            f"{', '.join(arguments)}: no seed in it; give a uid or a profile address a line"
        )
    return seeds


async def _resolve(seeds: list[Seed], home: Home) -> list[int]:
    """The uid of each seed; screen names are asked of the site."""
    fetcher = open_fetcher(home.settings, home.site, Counters())

    async def one(seed: Seed) -> int:
        if seed.uid is not None:
            return seed.uid
        fetched = await fetcher.fetch(home.site.name(seed.screen_name or ""))
        record = fetched.reading.record
        if not isinstance(record, NamedUser):
            raise BadSeed(
                f"{seed.where}: the site names no user {seed.screen_name!r} "
                f"({fetched.reading.verdict}); correct the name or give the uid"
            )
        return record.uid

    try:
        return list(await asyncio.gather(*map(one, seeds)))
    finally:
        await fetcher.close()


# -- harvest


def harvest(options: argparse.Namespace) -> Done:
    """Walk until a stop rule holds."""
    with Home(config.load(options.config)) as home:
        if not home.users.states():
            raise BadUsage("there is no seed yet: weibo-crawler seed FILE|UID, then harvest")
        if options.plan:
            return _plan(home)
        if options.retry_failed:
            home.users.requeue_failed()
        return run_harvest(home, "harvest")


def _plan(home: Home) -> Done:
    from weibo_crawler.fetch.egress import load_egresses
    from weibo_crawler.harvest.plan import make_plan

    egresses = len(load_egresses(home.settings.egress))
    users = sum(home.users.states().values())
    plan = make_plan(home.settings, home.site, users, home.users.open_fans(), egresses)
    return Done("\n".join(plan.lines()), plan._asdict())


def run_harvest(home: Home, title: str) -> Done:
    """One harvest with progress, and its figures."""
    home.bind_site()
    counters, started, owner = Counters(), time.monotonic(), new_owner()
    before = sum(home.users.states().values())
    with (
        _egresses(home, owner),
        Progress(title) as progress,
        OpenMetrics(home.settings.metrics, counters, "harvest") as om,
    ):

        def show() -> None:
            om.write()
            if home.settings.pace.requests_per_second:
                _hold(home, owner)  # stay the holder
            kept = before + counters["users.kept"]
            progress.say(
                f"{kept:,} users kept, {counters['users.filtered']:,} filtered, "
                f"{counters['page.ok']:,} pages, {counters['entries.done']:,} lists read"
            )

        try:
            ended = asyncio.run(_harvest(home, counters, owner, show))
        except Interrupted:
            raise Interrupted(_where_it_stands(home, counters)) from None
    return Done(*_harvest_figures(home, counters, ended, time.monotonic() - started))


def _hold(home: Home, owner: str) -> str:
    return home.users.hold_egresses(owner, now=time.time(), lease_s=_HOLD_S)


@contextmanager
def _egresses(home: Home, owner: str) -> Iterator[None]:
    """Under a pace limit only one run at a time sends (law 10): each paces by itself."""
    if not home.settings.pace.requests_per_second:
        yield
        return
    holder = _hold(home, owner)
    if holder != owner:
        raise BadUsage(
            f"another run (process {holder.split('/')[1]}) is sending already, and two at once "
            "would break pace.requests_per_second: wait for it or end it"
        )
    try:
        yield
    finally:
        home.users.free_egresses(owner)


def _say_stopping() -> None:
    print("stopping: finishing what is in flight (again: stop at once)", file=sys.stderr)


def _where_it_stands(home: Home, counters: Counters) -> str:
    states = home.users.states()
    left = sum(states.get(state, 0) for state in ("queued", "leased", "resting"))
    return (
        f"stopped; {sum(states.values()):,} users kept ({counters['users.kept']:,} new), {left:,} "
        "still to walk; what was in flight is stored, the same command goes on"
    )


async def _harvest(home: Home, counters: Counters, owner: str, show: Callable[[], None]) -> Ended:
    settings = home.settings
    fetcher = open_fetcher(settings, home.site, counters)
    run = HarvestRun(
        settings.harvest,
        home.users,
        home.site,
        fetcher,
        counters,
        owner=owner,
        run_id=new_run_id(),
        concurrency=settings.fetch.concurrency,
        progress=show,
    )
    stops = 0

    def interrupted() -> None:
        nonlocal stops
        stops += 1
        if stops > 1:
            os._exit(130)
        _say_stopping()
        run.stop("interrupted")

    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, interrupted)
    try:
        return await run.run()
    finally:
        await fetcher.close()


def _harvest_figures(
    home: Home, counters: Counters, ended: Ended, span_s: float
) -> tuple[str, dict[str, Any]]:
    counts, states = counters.snapshot(), home.users.states()
    depth = max(home.users.depths(), default=0)
    bounds = home.users.depths_are_bounds()
    data = {
        "stopped": ended.why,
        "kept": sum(states.values()),
        "new": counts.get("users.kept", 0),
        "filtered": counts.get("users.filtered", 0),
        "seen_again": counts.get("users.seen_again", 0),
        "depth": depth,
        "depths_exact": not bounds,
        "unsure_lists": home.users.unsure_lists(),
        "states": states,
        "counters": counts,
        "seconds": round(span_s, 3),
    }
    lines = [
        f"harvest: {data['kept']:,} users kept "
        f"({grouped(counts.get('users.kept', 0), 'none')} new), "
        f"{data['filtered']:,} sightings filtered, {data['seen_again']:,} seen again, "
        f"depth {depth}, in {seconds(span_s)}: {ended.why}",
        f"pages: {verdicts(counts)}",
    ]
    if failed := states.get("failed", 0):
        lines.append(f"{failed:,} users failed: `harvest --retry-failed` asks for them again")
    if bounds:
        lines.append(f"depths are upper bounds: {bounds}")
    if unsure := data["unsure_lists"]:
        lines.append(
            f"{unsure:,} lists ended before their announced count: the site hides users, or held "
            "them back; `harvest --retry-failed` asks again"
        )
    return "\n".join(lines), data


# -- import


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


# -- posts


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
        _egresses(home, job.driver),
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
                _hold(home, job.driver)
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
            _say_stopping()
            run.stop()

        handlers = {n: signal.signal(n, interrupted) for n in _SIGNALS}
        try:
            counters = run.run()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        files.log.unlink(missing_ok=True)  # of interest only where the job failed
    return _posts_done(home, counters, time.monotonic() - started)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
