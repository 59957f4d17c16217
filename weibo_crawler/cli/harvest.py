"""harvest."""

import argparse
import asyncio
import time
from collections.abc import Callable
from itertools import takewhile
from typing import Any, NoReturn

from weibo_crawler import config
from weibo_crawler.analysis.asked import Asked
from weibo_crawler.analysis.numbers import plural
from weibo_crawler.analysis.second_looks import looks_dict, looks_lines, second_looks
from weibo_crawler.analysis.status import (
    topic_lines,
    topics_dict,
    unsure_lines,
    walled_dict,
    walled_lines,
)
from weibo_crawler.analysis.yields import Course, prices, yield_lines
from weibo_crawler.cli.harvesters import Others, on_closed_stdin, tell
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.show import Advance, Progress, grouped, seconds, verdicts
from weibo_crawler.cli.stopping import stop_by_signals
from weibo_crawler.errors import BadConfig, BadUsage, CrawlerError, Interrupted, NoStore, SiteSaysNo
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.harvest.run import Ended, HarvestRun, is_over_share
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.metrics import Counters, OpenMetrics, total
from weibo_crawler.records import State
from weibo_crawler.store import WorkerRow, notes
from weibo_crawler.store.owners import new_owner

_FEW = 10  # sightings that nobody could read, by chance


def harvest(options: argparse.Namespace) -> Done:
    """Walk until a stop rule holds."""
    makes = () if options.runner is None else ["tables"]
    with Home(config.load(options.config), makes=makes) as home:
        _require_seeds(home)
        if options.runner is None:
            _check_not_by_jobs(home)
        if options.plan:
            from weibo_crawler.cli.plans import harvest_plan

            return harvest_plan(home, by_jobs=options.runner is not None)
        if options.runner is not None:
            return _by_levels(home, options)
        if options.of_run is not None:
            return _take_part(home, options.of_run)
        if options.retry_failed:
            home.users.requeue_failed()
        processes, run_id = options.processes or home.settings.harvest.processes, new_run_id()
        others = Others(processes - 1, run_id, options.config)
        return run_harvest(home, run_id, others)


def _by_levels(home: Home, options: argparse.Namespace) -> Done:
    """As jobs; what they need is imported here, as it is not for others."""
    if options.processes is not None:
        raise BadUsage("--runner walks by jobs, and --processes is for one machine: leave one out")
    from weibo_crawler.cli.levels import harvest_by_levels

    return harvest_by_levels(home, options)


def _check_not_by_jobs(home: Home) -> None:
    """BadUsage where a harvest on one machine would begin anew what jobs have walked."""
    if notes.HELD.get(home.users) is not None:
        raise BadUsage(
            f"the users of {home.place('users')} are walked by jobs: add --runner local or "
            "--runner hadoop, or give other stores (store.users, store.tables)"
        )


def _require_seeds(home: Home) -> None:
    """Raise BadUsage where nobody was seeded, whether or not the store is there; BadConfig where
    nothing was but topics, and nobody whom they show is to be kept."""
    try:
        if home.users.states():
            return
        if home.users.topics():
            if home.settings.harvest.max_depth == 0:
                raise BadConfig(
                    "harvest.max_depth: 0 keeps nobody but the seeds, and there are topics alone: "
                    "who writes in them stands at depth 1"
                )
            return
    except NoStore as error:
        raise BadUsage(str(error)) from None
    raise BadUsage(
        f"there is no seed in {home.place('users')} yet: weibo-crawler seed FILE|UID, then harvest"
    )


def _take_part(home: Home, run_id: str) -> Done:
    """In one of the other processes: take part in a run until it is over or the first one ends."""
    counters = Counters()
    run = _harvest(home, counters, run_id, lambda _: tell(counters.snapshot()), None)
    ended, _ = asyncio.run(run)
    return Done(ended.why, {"stopped": ended.why, "counters": counters.snapshot()})


def run_harvest(home: Home, run_id: str | None = None, others: Others | None = None) -> Done:
    """One harvest with progress, and the figures of all its processes."""
    home.bind_site()
    own, summed, started, course = Counters(), Counters(), time.monotonic(), Course()
    others, run_id = others or Others(), run_id or new_run_id()
    before = sum(home.users.states().values())
    advance = Advance()
    with (
        Progress("harvest") as progress,
        OpenMetrics(home.settings.metrics, summed, "harvest") as om,
    ):

        def show(waits_for: str) -> None:
            summed.replace(total([own.snapshot(), *others.counters]))
            course.note(summed["request.sent"], summed["users.kept"])
            om.write()
            kept = before + summed["users.kept"]
            progress.say(
                f"{advance.words(kept, 'users kept')}, {summed['users.filtered']:,} filtered, "
                f"{summed['page.ok']:,} pages, {summed['entries.done']:,} lists read"
                + (f"; waits: {waits_for}" if waits_for else "")
            )

        try:
            run = _harvest(home, own, run_id, show, others)
            ended, done = asyncio.run(run)
            try:
                done.judge_failures(summed)
            except SiteSaysNo as no:
                say_no(home, run_id, str(no))
        except Interrupted:
            raise others.worst(Interrupted(_where_it_stands(home, summed))) from None
        except CrawlerError as error:
            raise others.worst(error) from error.__cause__
    line, data = _harvest_figures(home, summed, ended, time.monotonic() - started)
    data["processes"] = len(others.counters) + 1
    dry = course.tail()
    data["dry"] = None if dry is None else dry._asdict()
    line = "\n".join([line, *([dry.line()] if dry else []), *others.ended_early])
    if others.failures:
        failure = others.worst(others.failures[0])
        raise type(failure)(line)
    is_barren = not summed["entries.done"] and not summed["entries.gone"]
    if not data["kept"] and data["topics"] and not data["topics"].get("done"):
        why = "there is no user to walk, and no topic was shown"
        say_no(home, run_id, why, line)
    if is_barren and _is_failed(data["states"], home.settings.harvest):
        why = "nothing was left to walk but what failed earlier: stopped here"
        if failed := summed["entries.failed"]:
            reasons = done.why_failed(summed)
            why = f"nobody could be read: {plural(failed, 'user')} failed again ({reasons})"
        say_no(home, run_id, why, line)
    if data["unread"] > max(_FEW, sum(data[one] for one in ("new", "filtered", "seen_again"))):
        why = "hardly anybody on the lists could be read: see what `doctor --site` makes of them"
        say_no(home, run_id, why, line)
    return Done(line, data)


def say_no(home: Home, run_id: str, why: str, line: str = "") -> NoReturn:
    """End with SiteSaysNo a run whose processes had all ended; `status` says why, too. line: what
    it has brought."""
    now = time.time()
    ended = f"failed: {why}"
    home.users.report(WorkerRow(run_id, new_owner(), "harvest", now, now, ended, {}))
    raise SiteSaysNo(f"{line}\n{why}" if line else why)


def _is_failed(states: dict[str, int], settings: config.Harvest) -> bool:
    """Whether more of the lists failed than may, in all runs before this one."""
    failed = states.get(State.FAILED, 0)
    ended = failed + states.get(State.DONE, 0) + states.get(State.GONE, 0)
    return is_over_share(failed, ended, settings.max_failed_share)


def _where_it_stands(home: Home, counters: Counters) -> str:
    states = home.users.states()
    left = sum(states.get(state, 0) for state in ("queued", "leased", "resting"))
    return (
        f"stopped; {sum(states.values()):,} users kept ({counters['users.kept']:,} new), {left:,} "
        "still to walk; what was in flight is stored, the same command goes on"
    )


async def _harvest(
    home: Home, counters: Counters, run_id: str, show: Callable[[str], None], others: Others | None
) -> tuple[Ended, HarvestRun]:
    """The part of this process, and its run, which judges the failures of all. show: is called
    about once a second with why nothing is asked for, "" while something is. others: started and
    stopped with it; None: it is one of them."""
    settings = home.settings
    archive = home.archive("harvest", run_id)
    if archive is not None:
        seeds = takewhile(lambda row: row.depth == 0, home.users.users())
        archive.note("seeds", [row.uid for row in seeds], time.time())
        archive.note("topics", [one.words for one in home.users.topics()], time.time())
    keep = None if archive is None else archive.keep
    fetcher = open_fetcher(settings, home.site, counters, home.leases, keep)
    run = HarvestRun(
        settings.harvest,
        home.users,
        home.site,
        fetcher,
        counters,
        owner=new_owner(),
        run_id=run_id,
        room=fetcher.room,
        progress=lambda: show(run.waits_for or fetcher.waits_for),
    )
    if others is None:
        on_closed_stdin(lambda: run.stop("interrupted"))
        others = Others()
    stop_by_signals(lambda: _stop(run, others), at_once=others.kill)
    ended: Ended | None = None
    try:
        await others.start()
        ended = await run.run()
        return ended, run
    finally:
        if ended is None or ended.level is not None:
            others.stop()
        await fetcher.close()
        await others.wait()
        show("")


def _stop(run: HarvestRun, others: Others) -> None:
    run.stop("interrupted")
    others.stop()


def _harvest_figures(
    home: Home, counters: Counters, ended: Ended, span_s: float
) -> tuple[str, dict[str, Any]]:
    counts, states = counters.snapshot(), home.users.states()
    depth = max(home.users.depths(), default=0)
    bounds, walled = home.users.depths_are_bounds(), home.users.walled()
    topics = home.users.topics()
    unsure, looks, asked = home.users.unsure_lists(), second_looks(home.users), Asked(counts)
    data = {
        "stopped": ended.why,
        "kept": sum(states.values()),
        "new": counts.get("users.kept", 0),
        "filtered": counts.get("users.filtered", 0),
        "seen_again": counts.get("users.seen_again", 0),
        "unread": counts.get("users.unread", 0),
        "depth": depth,
        "depths_exact": not bounds,
        "unsure_lists": unsure,
        "second_looks": looks_dict(looks),
        "walled": walled_dict(walled),
        "topics": topics_dict(topics),
        "yields": {price.edge: price._asdict() | {"each": price.each} for price in prices(asked)},
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
    if unread := counts.get("users.unread", 0):
        lines.append(
            f"{plural(unread, 'sighting')} left out: nobody could read who it is, or how many fans"
        )
    if failed := states.get("failed", 0):
        lines.append(f"{failed:,} users failed: `harvest --retry-failed` asks for them again")
    if bounds:
        lines.append(f"depths are upper bounds: {bounds}")
    if read := counts.get("pages.kept"):
        lines.append(f"{read:,} pages of posts and comments are kept for `posts`")
    lines += unsure_lines(unsure) + looks_lines(looks)
    lines += [*yield_lines(asked), *walled_lines(walled), *topic_lines(topics)]
    return "\n".join(lines), data
