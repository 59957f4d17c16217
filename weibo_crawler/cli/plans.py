"""--plan of harvest and posts, and the command plan."""

import argparse
import time
from collections.abc import Sequence
from contextlib import suppress

from weibo_crawler import config
from weibo_crawler.analysis.yields import each_again, follow_line
from weibo_crawler.cli.main import Done
from weibo_crawler.errors import BadConfig, ReadOnly
from weibo_crawler.fetch.opening import load_egresses
from weibo_crawler.home import Home
from weibo_crawler.levels.entries import STANDING, Standing
from weibo_crawler.planning import outset, reading, shown
from weibo_crawler.planning.plan import Pace, Plan, pace_of
from weibo_crawler.planning.visits import plan_visits
from weibo_crawler.planning.walk import plan_walk
from weibo_crawler.posts.due import Job
from weibo_crawler.records import EgressState
from weibo_crawler.store.homes import HBASE, file_of, home_of


def harvest_plan(home: Home, *, by_jobs: bool = False) -> Done:
    """Tell what the harvest would cost from here."""
    runs = reading.read_runs(home.users, "harvest")
    pace, stores = pace_now(home, runs.speed), (home.users, home.tables)
    plan = plan_walk(reading.read_walk(home.settings, home.site, *stores, runs, pace))
    if by_jobs:
        level = (STANDING.get(home.users) or Standing()).level
        said = f"one job a level, the next is level {level}; nobody knows how many follow"
        plan = plan._replace(
            later=(*plan.later, said), figures={**plan.figures, "next_level": level}
        )
    return _done(plan)


def posts_plan(home: Home, *, refresh: bool, every: bool) -> Done:
    """Tell what the posts job would cost now."""
    runs = reading.read_runs(home.users, "posts")
    job, pace = Job("", refresh, every=every), pace_now(home, runs.speed)
    visits = reading.read_visits(
        *(home.settings, home.site, home.users, home.tables, runs, pace, job, time.time())
    )
    done = _done(plan_visits(visits))
    if any(home.tables.userlist.scan(columns=["user:id"], limit=1)):
        return done
    return Done("nobody is imported: weibo-crawler import, and posts --plan again", done.data)


def plan(options: argparse.Namespace) -> Done:
    """Tell what a new crawl needs, by what the one at hand has measured, if there is one."""
    settings = config.load(options.config)
    crawl = outset.Outset(
        users=options.users,
        fresh_s=options.fresh,
        rate=settings.pace.requests_per_second,
        in_flight=settings.posts.users_in_flight,
        is_hbase=home_of(settings.store.tables) == HBASE,
    )
    if crawl.is_hbase:
        crawl = crawl._replace(bytes_a_post=outset.BYTES_A_POST["hbase"])
    store = settings.store
    files = map(file_of, (store.users, store.tables))
    if all(file is None or file.exists() for file in files):
        with Home(settings, makes=()) as home:
            crawl = reading.measured(crawl, settings, home.users, home.tables)
    return Done("\n".join(outset.lines(crawl)), outset.as_dict(crawl))


def follow(home: Home, visits_a_day: float) -> str:
    """What following the visited users takes, against the pace, where that is known."""
    asked = reading.read_runs(home.users, "posts").asked
    return follow_line(visits_a_day, asked, allowed_per_s(home))


def visits_allowed(home: Home) -> float | None:
    """How many later visits a day the pace allows; None: not known, or no limit."""
    most = allowed_per_s(home)
    each, _ = each_again(reading.read_runs(home.users, "posts").asked)
    return most * 86_400 / each if most and each else None


def allowed_per_s(home: Home) -> float | None:
    """Requests a second that the pace allows; None: no limit, or not known without a request for a
    list of proxies."""
    if home.settings.egress.proxies_url is None:
        with suppress(BadConfig):  # a list that cannot be read is said by who uses it
            pace = pace_now(home, None)
            return pace.rate if pace.setting else None
    return None


def pace_now(home: Home, speed: float | None) -> Pace:
    """The egresses of the settings, as the leases know them. speed: requests a second of the last
    run."""
    settings = home.settings
    egresses = load_egresses(settings.egress, settings.fetch)
    address = settings.egress.public_address
    names = [egress.lease_name(address) for egress in egresses]
    try:
        known = home.leases.known(names) if home.leases is not None else {}
    except ReadOnly:  # a store in which nobody has ever leased any
        known = {}
    states: Sequence[EgressState | None] = [
        known[name].state if name in known else None for name in names
    ]
    return pace_of(states, settings.pace.requests_per_second, speed)


def _done(plan: Plan) -> Done:
    return Done("\n".join(shown.lines(plan)), shown.as_dict(plan))
