"""A visit of one user while it is under way: what it knows, and how it asks."""

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.asking import Asker, UserForgotten, VisitDoubt, VisitTrouble
from weibo_crawler.posts.belief import Belief
from weibo_crawler.posts.closing import begun
from weibo_crawler.posts.due import Due
from weibo_crawler.posts.echoes import EchoReader
from weibo_crawler.posts.holdings import Holdings
from weibo_crawler.posts.info import Info
from weibo_crawler.posts.kept import Kept, is_all
from weibo_crawler.posts.missed import Missed
from weibo_crawler.posts.pages import Pages
from weibo_crawler.posts.schedule import Revisit
from weibo_crawler.posts.sightings import Sightings
from weibo_crawler.posts.texts import Texts
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import EMPTY, Id, Kind, Page, Reading, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Table
from weibo_crawler.store.rows.cells import Ledger

R = TypeVar("R")

SILENCE = "the site shows nothing, and has shown nothing to anybody of late: no evidence"
GONE_ONCE = "gone, says the site, which said so of somebody whom it shows: it is asked once more"
_CLOSED_REST_S = 30 * 86_400.0  # restricted texts are asked for again after so long


class Needs(NamedTuple):
    """What visits need. posts: the table, for reading; clock: seconds; revisit: bounds of the time
    until the next visit; profile_s: posts.profile_days; every: ask also for what guests were
    refused at most `revisit.most_s` ago, and for posts that could not be read; since: no older
    posts are asked for, seconds since the epoch, 0 = the bound that a user's ledger holds;
    is_forgotten: whether `forget` removed a user, as far as the last put knows; echoes: who reads
    what is under posts; info: None where nobody asks for it."""

    site: Site
    asker: Asker
    writer: Writer
    posts: Table
    clock: Callable[[], float]
    is_forgotten: Callable[[Id], bool]
    run_id: str
    max_pages: int | None
    revisit: Revisit
    profile_s: float
    every: bool
    since: float = 0.0
    echoes: Sequence[EchoReader] = ()
    info: Info | None = None


class UnderWay:
    """The state of one visit. `ledger` is what the next put will say; its figures are absolute.

    A visit that was cut short goes on at its cursor. A later one reads from the top until it meets
    what is known, or, while an older part is missing (a wall, a limit, a doubtful end, a gap), as
    far as it is let. Known is what the last complete visit left in the ledger, not all that is in
    the table: there a visit that died may have left posts above a part that it did not reach.
    """

    def __init__(self, env: Needs, due: Due) -> None:
        self.env, self.uid, self.is_named = env, due.uid, due.is_named
        old = due.ledger or Ledger(state="partial")
        if due.is_suspect:  # what it concluded about the older part is not known
            cut = (*old.cut, *old.restricted)
            old = replace(old, newest=None, gaps=(), whole=False, cut=cut, restricted=())
        self.old = old
        self.is_first = due.ledger is None
        self.resumed = old.state in ("partial", "failed") and bool(old.cursor)
        # a visit that goes on with what was in trouble or doubt tells nothing of the site
        self.is_retry = old.state in ("failed", "empty") or bool(old.last_error)
        # what the profile came to in this visit; None: it was not needed, or not yet
        self.profile: Verdict | None = None
        # why page 1 could not be read, "" where it could
        self.odd = ""
        # whether guests are refused page 1 while those of others are shown
        self.is_walled = False
        # whether the number of posts is that of an earlier visit
        self.is_count_old = False
        self.start = old.cursor or "" if self.resumed else ""  # the first page to ask for
        same_run = old.run_id == env.run_id  # an attempt that died had begun this visit
        is_time = is_over(old.restricted_at, _CLOSED_REST_S, env.clock())
        self.asks_closed = is_time and old.restricted_at is not None
        self.sightings = Sightings(
            old,
            resumed=self.resumed,
            stored_before=old.stored - (old.new if same_run else 0),
            exact_below=env.site.exact_below,
        )
        self.holdings = Holdings(env.posts, self.uid, is_new=self.is_first)
        self.kept = Kept(env.site, due.kept, since=old.visited_at or 0.0)
        # when the page before the next one was shown: an older one may lie above it by now
        self.read_at = inf if self.resumed else 0.0
        self.kept_at: float | None = None  # when a harvest was shown page 1
        self.is_kept = False  # whether a harvest was shown the last page
        self.texts = Texts(env.site, env.asker, self.uid)
        self.missed = Missed(env.site, env.asker, self.uid)
        self.belief = Belief(env.asker, self.missed, self.sightings, self.fetch)
        self.pages = Pages(
            *(self.uid, env.run_id, env.writer, self.holdings, self.sightings, self.texts),
            *(env.asker, env.clock, self.asks_closed, env.echoes, self.kept),
        )
        self.ledger = replace(
            begun(old, env.clock(), resumed=self.resumed),
            new=old.new if same_run else 0,
            restricted_at=env.clock() if self.asks_closed else old.restricted_at,
            cursor=self.start,
            since=env.since or old.since,
            run_id=env.run_id,
        )

    async def fetch(self, ask: Ask) -> Fetched:
        """One page, as `Fetcher.fetch` gives it, or as a harvest was given it."""
        if self.env.is_forgotten(self.uid):
            raise UserForgotten
        kept = self.kept.take(ask.request, not_before=self.read_at)
        self.is_kept = False
        if kept is None:
            return await self.env.asker.fetch(ask)
        is_enough = bool(ask.request.cursor) or is_all(kept.reading)
        fetched = await self.env.asker.shown_before(ask, kept, is_enough=is_enough)
        self.is_kept = fetched is kept
        if ask.request.kind is Kind.POSTS and not ask.request.cursor and self.is_kept:
            self.kept_at = page_of(kept).fetched_at
        return fetched

    def check(
        self, reading: Reading, *, is_expected: bool = False, walled_ok: bool = False
    ) -> None:
        """Raise VisitTrouble for what is no fact, nor a wall that ends the timeline. is_expected:
        an emptiness contradicts nothing."""
        is_bare = reading.verdict in EMPTY or (reading.verdict is Verdict.OK and reading.ambiguous)
        if is_bare and not (is_expected or self.env.asker.is_talking):
            raise VisitDoubt(SILENCE)
        if reading.verdict in (Verdict.OK, Verdict.GONE, *EMPTY):
            return
        self.ledger = replace(self.ledger, refused_pages=self.ledger.refused_pages + 1)
        if reading.verdict is Verdict.LOGIN_WALL and walled_ok:
            return
        raise VisitTrouble(f"{reading.verdict}: {reading.why}" if reading.why else reading.verdict)

    def with_figures(self) -> Ledger:
        figures = self.sightings.figures()
        at = self.ledger.restricted_at
        if at is None and figures["restricted"]:
            at = self.env.clock()
        return replace(
            self.ledger,
            **figures,
            restricted_at=at,
            completed=self.old.completed + self.texts.completed,
        )


def is_over(since: float | None, rest_s: float, now: float) -> bool:
    """Whether a rest that began then, if any did, has come to its end."""
    return since is None or not 0 <= now - since < rest_s  # a clock may have been ahead


def record_of(fetched: Fetched, kind: type[R]) -> R:
    """The record of an OK reading; another kind is a fault of the site's reader."""
    record = fetched.reading.record
    if not isinstance(record, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(record).__name__}")
    return record


def page_of(fetched: Fetched) -> Page:
    """The answer of a page that was read."""
    if fetched.page is None:
        raise TypeError("a page that was read is missing")
    return fetched.page
