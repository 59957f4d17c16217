"""What the ledger says when a visit begins, and when it came to its end: gaps, when to come back,
the outcome. `closed` reads the table, so it is to be called in its thread."""

from datetime import tzinfo

from msgspec.structs import replace

from weibo_crawler.posts.coverage import after_visit
from weibo_crawler.posts.holdings import Holdings
from weibo_crawler.posts.schedule import (
    Revisit,
    doubt_wait_s,
    interval_s,
    is_another_day,
    posting_rate,
)
from weibo_crawler.posts.stops import ENDS, FALSE_PAGE, IN_DOUBT, LIMITS
from weibo_crawler.records import Id, Outcome
from weibo_crawler.store.rows.cells import Ledger
from weibo_crawler.store.rows.gaps import Gap

_RATE_POSTS = 20  # the newest ones, from which the posting rate is told
_DAY_S = 86_400
EMPTY_WAIT_S = 86_400.0  # until a user of whom nothing is shown is looked at again


def begun(old: Ledger, now: float, *, resumed: bool) -> Ledger:
    """The ledger of a visit under way. resumed: it goes on with what the last attempt had read."""
    kept = old if resumed else Ledger(state="partial", started_at=now)
    return replace(
        old,
        state="partial",
        seen=kept.seen,
        pages=kept.pages,
        read_newest=kept.read_newest,
        read_oldest=kept.read_oldest,
        pinned=kept.pinned,
        unnamed_now=kept.unnamed_now,
        foreign=kept.foreign,
        skipped=kept.skipped,
        refused_pages=kept.refused_pages,
        stopped="",
        started_at=kept.started_at,
    )


def closed(
    ledger: Ledger, holdings: Holdings, revisit: Revisit, now: float, kept_at: float | None = None
) -> Ledger:
    """The ledger of a complete visit, with what is known from now on and the date of the next one.

    ledger: state, stopped, sure and doubts are those of the visit that ends; newest and gaps those
    of the one before. now: seconds since the epoch; kept_at: when a harvest had been shown page 1,
    None: the visit was. The date moves nowhere else.
    """
    at = now if ledger.started_at is None else ledger.started_at
    at = at if kept_at is None else min(at, kept_at)
    ledger = replace(ledger, unnamed=_unnamed(ledger), unnamed_now=0)
    if ledger.state == "done":
        ledger = _with_gaps(ledger, holdings)
    if ledger.state == "gone" and ledger.sure:
        return replace(ledger, read_newest=None, read_oldest=None, next_visit=None)
    # the rate of a part without gaps: posts that were not seen would make it look slower
    since = ledger.gaps[0].before if ledger.gaps else 0
    rate = posting_rate(holdings.newest_times(_RATE_POSTS, since), at)
    wait_s = interval_s(rate, revisit, ledger.doubts)
    if ledger.state == "empty":
        wait_s = doubt_wait_s(EMPTY_WAIT_S, revisit.most_s, ledger.doubts)
    elif _is_soon_over(ledger):
        wait_s = min(wait_s, doubt_wait_s(revisit.least_s, revisit.most_s, ledger.doubts))
    elif ledger.stopped == "login_wall" and not ledger.pages:
        wait_s = revisit.most_s  # as what lies behind any other wall
    return replace(
        ledger,
        read_newest=None,
        read_oldest=None,
        walled_at=ledger.walled_at if ledger.stopped in ("login_wall", FALSE_PAGE) else None,
        unsure_at=_unsure_at(ledger, now),
        as_of=at,
        next_visit=at + wait_s,
        posts_per_day=None if rate is None else round(rate * _DAY_S, 4),
    )


def empty(ledger: Ledger, is_held: bool, now: float, clock: tzinfo) -> Ledger:
    """The ledger of a user of whom the site shows neither profile nor post, without a word that it
    is gone: a doubt until a look on another day sees the same. is_held: posts are stored, which
    such silence never contradicts for good (law 4). clock: the site's."""
    since = now if ledger.empty_since is None else ledger.empty_since
    is_gone = not is_held and is_another_day(since, now, clock)
    return replace(ledger, state="gone" if is_gone else "empty", empty_since=since)


def outcome_of(uid: Id, ledger: Ledger) -> Outcome:
    """What the ledger's run did with this user; except completed, edited and gone,
    which it does not tell apart."""
    status = ledger.state
    if status == "done":
        status = "stored" if ledger.new else "unchanged"
        if ledger.stopped in LIMITS:
            status = "partial"
    return Outcome(
        uid,
        status,
        announced=ledger.announced,
        stored=ledger.stored,
        new=ledger.new,
        pages=ledger.pages,
        cut=len(ledger.cut),
        stopped=ledger.stopped,
        sure=ledger.sure,
    )


def _unnamed(ledger: Ledger) -> int:
    """Posts without a legible mid: of a visit that read the whole timeline they are all, else at
    least as many as any visit met."""
    is_all = ledger.stopped in ENDS and ledger.stopped != "known" and ledger.sure
    return ledger.unnamed_now if is_all else max(ledger.unnamed, ledger.unnamed_now)


def _is_soon_over(ledger: Ledger) -> bool:
    """Whether the doubt of this visit is one that another egress, or session, may end: a wall that
    nobody confirmed, a page that somebody had kept."""
    is_unconfirmed = ledger.stopped == "login_wall" and ledger.walled_at is None
    return is_unconfirmed or ledger.stopped == FALSE_PAGE


def _unsure_at(ledger: Ledger, now: float) -> float | None:
    """When an end against the announced count was last met."""
    if ledger.stopped in (IN_DOUBT, FALSE_PAGE):
        return ledger.unsure_at
    return now if ledger.stopped in ENDS and not ledger.sure else None


def _with_gaps(ledger: Ledger, holdings: Holdings) -> Ledger:
    is_end = ledger.stopped in ENDS and ledger.stopped != "known"
    if is_end and not ledger.sure:  # whatever was known below is in doubt again
        gaps = after_visit((), None, ledger.read_oldest, to_the_end=False)
    else:
        gaps = after_visit(ledger.gaps, ledger.newest, ledger.read_oldest, to_the_end=is_end)
    # a visit that was shown pinned posts alone, and then no more, has read no part of the timeline
    is_read = ledger.read_oldest is not None or (is_end and ledger.sure)
    read = ledger.read_newest if is_read else None
    tops = [mid for mid in (ledger.newest, read) if mid is not None]
    is_joined = bool(tops) and not gaps and (is_read or ledger.stopped == "known")
    is_whole = ledger.sure and (is_end or is_joined)
    return replace(
        ledger,
        newest=max(tops, default=None),
        gaps=_dated(gaps, holdings),
        whole=is_whole and not ledger.unread,
    )


def _dated(gaps: tuple[Gap, ...], holdings: Holdings) -> tuple[Gap, ...]:
    """The gaps with the dates of the posts at their ends."""
    ends = {gap.before for gap in gaps if gap.before_at is None}
    ends |= {gap.after for gap in gaps if gap.after_at is None and gap.after is not None}
    dates = holdings.dates(ends)
    return tuple(
        replace(
            gap,
            before_at=gap.before_at or dates.get(gap.before),
            after_at=gap.after_at or (None if gap.after is None else dates.get(gap.after)),
        )
        for gap in gaps
    )
