"""The known figures of a crawl, from its stores."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from weibo_crawler.analysis.asked import Asked
from weibo_crawler.analysis.second_looks import second_looks
from weibo_crawler.analysis.status import topics_dict
from weibo_crawler.analysis.userlists import kept_in
from weibo_crawler.config import Settings
from weibo_crawler.metrics import NEW, total
from weibo_crawler.planning.outset import Known, Outset
from weibo_crawler.planning.plan import Pace
from weibo_crawler.planning.visits import Visits, read_held
from weibo_crawler.planning.walk import Walk
from weibo_crawler.posts.due import Due, Job, is_due, users_in, visit_sort
from weibo_crawler.records import OPTIONAL, Kind, State
from weibo_crawler.samples import of_kinds
from weibo_crawler.sites import Site
from weibo_crawler.store import Table, Tables, WorkerRow, notes
from weibo_crawler.store.homes import file_of
from weibo_crawler.store.rows.cells import Ledger, read_ledger
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.walls import Walls

_LASTED_S = 10.0  # a shorter run says nothing of how fast it goes
_SAMPLED = 1000  # rows by which a file is divided among users and posts
_MEANS = 100  # users by whom a mean of this crawl means something
_LAST_PAGE = 10**6
_OVER = (State.DONE, State.GONE, State.FAILED)


class Runs(NamedTuple):
    """What the runs of a stage have counted. n, n_last: processes; speed: requests a second of the
    last run that lasted, None for none."""

    asked: Asked
    last: Asked
    n: int
    n_last: int
    speed: float | None


def read_runs(users: Frontier, stage: str) -> Runs:
    """All runs of a stage that counted their requests by kind: older ones did not, and who fills
    the stores from an archive asks for nothing."""
    staged = [row for row in users.workers() if row.stage == stage]
    counted = (row for row in staged if any(name.startswith("asked.") for name in row.counters))
    rows = [*counted, *(row for row in staged if NEW in row.counters)]
    by_run: dict[str, list[WorkerRow]] = {}
    for row in rows:
        by_run.setdefault(row.run_id, []).append(row)
    last = max(by_run.values(), key=lambda run: max(row.updated_at for row in run), default=[])
    speeds = {max(row.updated_at for row in run): _speed(run) for run in by_run.values()}
    known = [speeds[at] for at in sorted(speeds) if speeds[at] is not None]
    n, n_last = (sum(NEW not in row.counters for row in some) for some in (rows, last))
    return Runs(_sum(rows), _sum(last), n, n_last, known[-1] if known else None)


def read_walk(
    settings: Settings, site: Site, users: Frontier, tables: Tables, runs: Runs, pace: Pace
) -> Walk:
    """All that `plan_walk` needs."""
    userlist = kept_in(users, tables)
    harvest, states = settings.harvest, userlist.states()
    kept = sum(states.values())
    size = _file_bytes(settings.store.users)
    if userlist is not users:
        size = kept * round(_cell_bytes(tables.userlist))
    return Walk(
        edges=harvest.edges,
        edges_if_walled=harvest.edges_if_walled,
        max_users=harvest.max_users,
        max_depth=harvest.max_depth,
        users=kept,
        walked=sum(states.get(state, 0) for state in _OVER),
        entries=userlist.open_entries(),
        lists=userlist.read_lists(),
        asked=runs.asked,
        runs=runs.n,
        last=runs.last,
        looks=of_kinds(second_looks(users)),
        announced=site.announced_pages,
        pace=pace,
        bytes_a_user=size / kept if size and kept and runs.asked["users.kept"] else None,
        topics=topics_dict(users.topics()),
        topic_pages=harvest.topic_pages,
    )


def _is_walled(users: Frontier) -> bool:
    """Whether the runs of posts have told one another that later pages are closed to guests."""
    walls = Walls()
    walls.learn(notes.WALLS.of("posts").get(users), time.time())
    return not walls.may_ask(Kind.POSTS, _LAST_PAGE, 0.0)


def read_visits(
    settings: Settings,
    site: Site,
    users: Frontier,
    tables: Tables,
    runs: Runs,
    pace: Pace,
    job: Job,
    now: float,
) -> Visits:
    """All that `plan_visits` needs, for a job that begins now."""
    urls = list(users.kept_urls())
    shown = {uid for uid, url in urls if url == site.posts(uid, "").url}
    told = {uid for uid, url in urls if url == site.profile(uid).url}
    kept, kept_profiles = Counter[str](), Counter[str]()

    def look(user: Due) -> tuple[Ledger | None, bool]:
        is_to_come = is_due(user, job, now)
        kept[visit_sort(user.ledger)] += is_to_come and user.uid in shown
        kept_profiles[visit_sort(user.ledger)] += is_to_come and user.uid in told
        return user.ledger, is_to_come

    held = read_held(map(look, users_in(tables)), now)
    return Visits(
        held=held,
        asked=runs.asked,
        runs=runs.n,
        last_runs=runs.n_last,
        looks=of_kinds(second_looks(users)),
        optional=[kind for kind, name in OPTIONAL.items() if getattr(settings.posts, name)],
        kept=kept,
        kept_profiles=kept_profiles,
        is_walled=_is_walled(users),
        pace=pace,
        bytes_a_post=bytes_a_post(settings, tables, held.stored),
    )


def measured(crawl: Outset, settings: Settings, users: Frontier, tables: Tables) -> Outset:
    """The same with what the crawl at hand has measured."""
    walked, visited = read_runs(users, "harvest").asked, read_runs(users, "posts").asked
    kept, size = sum(users.states().values()), _file_bytes(settings.store.users)
    if (n := walked["users.kept"]) >= _MEANS:
        crawl = crawl._replace(find=_each(walked.all().sent, n, "kept user"))
        if size:
            crawl = crawl._replace(bytes_a_user=_each(size, kept, "user"))
    if (n := visited["visits.first.ended"]) >= _MEANS:
        crawl = crawl._replace(first=_each(visited.all(["first"]).sent, n, "first visit"))
    if (n := visited["visits.again.ended"]) >= _MEANS:
        crawl = crawl._replace(again=_each(visited.all(["again"]).sent, n, "later visit"))
    rates, held = [], []
    for ledger in (read_ledger(row.cells) for row in tables.userlist.scan(columns=["crawl"])):
        if ledger is not None and ledger.visited_at is not None:
            held.append(ledger.stored)
            rates.append(ledger.posts_per_day or 0.0)
    if len(held) >= _MEANS:
        each = _each(sum(held), len(held), "visited user")
        crawl = crawl._replace(held=each, a_day=_each(sum(rates), len(held), "visited user"))
        if post := bytes_a_post(settings, tables, sum(held)):
            crawl = crawl._replace(bytes_a_post=_each(post * sum(held), sum(held), "post"))
    return crawl


def _each(sum_: float, n: int, what: str) -> Known:
    return Known(sum_ / n, f"measured in this crawl, by {n:,} {what}s")


def bytes_a_post(settings: Settings, tables: Tables, stored: int) -> float | None:
    """Of the file of the tables, what falls to a post; None where it is no file, or holds none."""
    size = _file_bytes(settings.store.tables)
    posts, users = _cell_bytes(tables.posts), _cell_bytes(tables.userlist)
    if not size or not stored or not posts:
        return None
    n_users = sum(1 for _ in tables.userlist.keys(""))
    share = stored * posts / (stored * posts + n_users * users)
    return size * share / stored


def _cell_bytes(table: Table) -> float:
    """What the cells of a row hold, by some of them."""
    rows = list(islice(table.scan(limit=_SAMPLED), _SAMPLED))
    held = sum(len(name) + len(value) for row in rows for name, value in row.cells.items())
    return held / len(rows) if rows else 0.0


def _file_bytes(url: str) -> int:
    path = file_of(url)
    return path.stat().st_size if path is not None and path.exists() else 0


def _sum(rows: Iterable[WorkerRow]) -> Asked:
    """Of jobs the reducers count who is new: maps keep whom others keep as well."""
    counters = total([row.counters for row in rows])
    if NEW in counters:
        counters = {name: n for name, n in counters.items() if not name.endswith(".kept")}
        counters["users.kept"] = counters[NEW]
    return Asked(counters)


def _speed(run: Sequence[WorkerRow]) -> float | None:
    span_s = max(row.updated_at for row in run) - min(row.started_at for row in run)
    sent = sum(row.counters.get("request.sent", 0) for row in run)
    return sent / span_s if span_s >= _LASTED_S and sent else None
