"""A posts job, the users that it visits, and when."""

from collections.abc import Iterator, Mapping
from math import inf
from typing import NamedTuple

from weibo_crawler import config
from weibo_crawler.posts.manifest import KeyRange
from weibo_crawler.posts.schedule import Revisit
from weibo_crawler.posts.workers import stopped
from weibo_crawler.records import Id
from weibo_crawler.store import Cells, Tables
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.rows.cells import Ledger, read_ledger
from weibo_crawler.store.rows.keys import ALL, Range, parse_user_key

_SKEW_S = 60.0  # clocks of machines differ by less

USER_COLUMNS = ("user:id", "user:screen_name", "crawl")  # what a visit is told of a user


class Job(NamedTuple):
    """What a mapper is told: which run it belongs to, and whether to come back to known users that
    are due (refresh), or to all of them, also where guests were refused not long ago (every).
    follow: another job comes soon, so who failed rests. revisit_posts: in place of the setting, 0 =
    as that says. since: older posts are not asked for (seconds since the epoch), 0 = the bound that
    the last run had for a user.

    driver: the owner name of the process that waits for this job, "" where none does (detached).
    attempt: the mapper's name in the figures of the run, "" = its lease owner's.
    """

    run_id: str
    refresh: bool = False
    driver: str = ""
    attempt: str = ""
    every: bool = False
    follow: bool = False
    revisit_posts: float = 0.0
    since: float = 0.0

    @property
    def stage(self) -> str:
        return "posts"

    def stopped(self, counters: Mapping[str, int], *, is_killed: bool) -> str:
        return stopped(counters, is_killed=is_killed)

    def options(self) -> list[str]:
        """As the job's script is told whom to come back to."""
        flags = {"--refresh": self.refresh, "--all": self.every, "--follow": self.follow}
        words = [flag for flag, is_set in flags.items() if is_set]
        numbers = {"--revisit-posts": self.revisit_posts, "--since": self.since}
        return words + [f"{name}={number}" for name, number in numbers.items() if number]


class Due(NamedTuple):
    """A user to visit. is_named: the site has told the user's name, so it has a profile to show.
    is_suspect: the site had fallen silent when the last visit ended by an emptiness. kept: what a
    harvest has read of it."""

    uid: Id
    ledger: Ledger | None
    is_named: bool = False
    is_suspect: bool = False
    kept: tuple[KeptPage, ...] = ()


def is_due(user: Due, job: Job, now: float) -> bool:
    """Whether a job visits this user. now: seconds since the epoch."""
    return due_at(user, job, now) <= now


def due_at(user: Due, job: Job, now: float = inf) -> float:
    """From when on a job visits this user, seconds since the epoch; 0 = at once, inf = never. now:
    likewise; what is noted by a clock that was ahead of it keeps nobody from being visited."""
    ledger = user.ledger
    if ledger is None or ledger.state == "partial":
        return 0.0
    was_ahead = max(ledger.started_at or 0.0, ledger.visited_at or 0.0) > now + _SKEW_S
    if ledger.state == "failed":
        return ledger.retry_at or 0.0 if job.follow and not was_ahead else 0.0
    if ledger.run_id == job.run_id:  # by an attempt of this task that died later
        return inf
    if user.is_suspect:
        return 0.0
    # who was gone may be back: those who are suspended for a month are called gone, too
    is_gone = ledger.state == "gone" and ledger.sure
    is_over = not job.refresh or (is_gone and not job.every)
    if is_over and ledger.state != "empty":
        return inf
    return 0.0 if job.every or was_ahead else ledger.next_visit or 0.0


def visit_sort(ledger: Ledger | None) -> str:
    """Whether a visit is a user's first one, as long as none was complete, or a later one: what
    they cost differs."""
    return "first" if ledger is None or ledger.visited_at is None else "again"


def users_in(tables: Tables, part: KeyRange | Range = ALL) -> Iterator[Due]:
    """The imported users of a key range."""
    for row in tables.userlist.scan(start=part.start, stop=part.stop, columns=USER_COLUMNS):
        if "user:id" in row.cells:  # a ledger alone is no imported user
            yield due_of(parse_user_key(row.key), row.cells)


def holds_users(tables: Tables, part: KeyRange) -> bool:
    """Whether anybody was imported into a key range."""
    rows = tables.userlist.scan(start=part.start, stop=part.stop, columns=["user:id"], limit=1)
    return next(iter(rows), None) is not None


def due_of(uid: Id, cells: Cells) -> Due:
    """A user by its row of `userlist`, of which USER_COLUMNS are read."""
    return Due(uid, read_ledger(cells), is_named=bool(cells.get("user:screen_name")))


def revisit_of(posts: config.Posts, wanted: float = 0.0) -> Revisit:
    """The bounds of the time until the next visit. wanted: new posts, in place of the setting."""
    wanted = wanted or posts.revisit_posts
    return Revisit(posts.revisit_min_h * 3600, posts.revisit_max_d * 86_400, wanted)
