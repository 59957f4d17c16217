"""harvest."""

import argparse
import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

from weibo_crawler import config
from weibo_crawler.analysis.status import walled_dict, walled_lines
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.show import Progress, grouped, seconds, verdicts
from weibo_crawler.cli.stopping import say_stopping, stop_signals
from weibo_crawler.errors import BadUsage, Interrupted, SiteSaysNo
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.harvest.run import Ended, HarvestRun
from weibo_crawler.home import Home, new_run_id
from weibo_crawler.metrics import Counters, OpenMetrics
from weibo_crawler.records import Edge, State
from weibo_crawler.store.owners import new_owner


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
    from weibo_crawler.fetch.roster import load_egresses
    from weibo_crawler.harvest.plan import make_plan

    egresses = len(load_egresses(home.settings.egress, home.settings.fetch))
    users = sum(home.users.states().values())
    plan = make_plan(home.settings, home.site, users, home.users.open_fans(), egresses)
    return Done("\n".join(plan.lines()), plan._asdict())


def run_harvest(home: Home, title: str) -> Done:
    """One harvest with progress, and its figures."""
    home.bind_site()
    counters, started, owner = Counters(), time.monotonic(), new_owner()
    before = sum(home.users.states().values())
    with (
        Progress(title) as progress,
        OpenMetrics(home.settings.metrics, counters, "harvest") as om,
    ):

        def show() -> None:
            om.write()
            kept = before + counters["users.kept"]
            progress.say(
                f"{kept:,} users kept, {counters['users.filtered']:,} filtered, "
                f"{counters['page.ok']:,} pages, {counters['entries.done']:,} lists read"
            )

        try:
            ended = asyncio.run(_harvest(home, counters, owner, show))
        except Interrupted:
            raise Interrupted(_where_it_stands(home, counters)) from None
    line, data = _harvest_figures(home, counters, ended, time.monotonic() - started)
    if not counters["entries.done"] and _is_failed(data["states"], home.settings.harvest):
        raise SiteSaysNo(f"{line}\nnothing was left to walk but what failed earlier: stopped here")
    return Done(line, data)


def _is_failed(states: dict[str, int], settings: config.Harvest) -> bool:
    """Whether more of the lists failed than may, in this run and all before it."""
    failed = states.get(State.FAILED, 0)
    ended = failed + states.get(State.DONE, 0) + states.get(State.GONE, 0)
    return failed > settings.max_failed_share * ended


def _where_it_stands(home: Home, counters: Counters) -> str:
    states = home.users.states()
    left = sum(states.get(state, 0) for state in ("queued", "leased", "resting"))
    return (
        f"stopped; {sum(states.values()):,} users kept ({counters['users.kept']:,} new), {left:,} "
        "still to walk; what was in flight is stored, the same command goes on"
    )


async def _harvest(home: Home, counters: Counters, owner: str, show: Callable[[], None]) -> Ended:
    settings = home.settings
    fetcher = open_fetcher(settings, home.site, counters, home.leases)
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
        say_stopping()
        run.stop("interrupted")

    loop = asyncio.get_running_loop()
    for signal_number in stop_signals():
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
    bounds, walled = home.users.depths_are_bounds(), home.users.walled()
    data = {
        "stopped": ended.why,
        "kept": sum(states.values()),
        "new": counts.get("users.kept", 0),
        "filtered": counts.get("users.filtered", 0),
        "seen_again": counts.get("users.seen_again", 0),
        "depth": depth,
        "depths_exact": not bounds,
        "unsure_lists": home.users.unsure_lists(),
        "walled": walled_dict(walled),
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
    return "\n".join(lines + _by_edge(counts) + walled_lines(walled)), data


def _by_edge(counts: dict[str, int]) -> list[str]:
    """Which edges found the new users, where it was not by fan lists alone."""
    found = {edge: n for edge in Edge if (n := counts.get(f"edge.{edge}.kept", 0))}
    if not set(found) - {Edge.FANS}:
        return []
    return ["found by " + ", ".join(f"{edge} {n:,}" for edge, n in found.items())]
