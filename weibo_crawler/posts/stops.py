"""When a timeline is read far enough. Pure: `now` is an argument."""

from collections.abc import Collection

from weibo_crawler.posts.coverage import in_place, is_covered, is_open_below
from weibo_crawler.records import Id, PostPage
from weibo_crawler.store.rows.cells import Ledger, from_iso
from weibo_crawler.store.rows.gaps import Gap

ENDS = ("end", "no_next_page", "no_new_post", "repeated_cursor", "known", "gone")
IN_DOUBT = "in_doubt"  # what is older is missing, and was looked for in vain not long ago
FALSE_PAGE = "false_page"  # a page lacked posts that the site shows, and no other egress mended it
SINCE = "since"  # what is older was left out on purpose
LIMITS = ("login_wall", "max_pages", "too_many_pages", "odd_cursor", SINCE)
_BARREN_PAGES = 5
_DELETED = 3  # of the newest known posts, since the last visit
_SPARE_PAGES = 50  # pages are sparse where the site hides posts
_PAGES_AT_MOST = 200  # of a user who announces no number


def most_pages(announced: int | None, posts_a_page: int) -> int:
    """How many pages a timeline can have: twice as many as the announced posts fill, and some. One
    that goes on behind them never ends, whatever its posts look like."""
    if announced is None:
        return _PAGES_AT_MOST
    return _SPARE_PAGES + 2 * announced // posts_a_page


class Stops:
    """The rules for one visit. posts_a_page: on a full one; resting: why what is older than the
    known posts is not asked for now, None: it is. down_to: what is known ends the visit only below
    this mid. since: nothing that was written before is asked for, seconds since the epoch."""

    def __init__(
        self,
        posts_a_page: int,
        cursor: str,
        resting: str | None,
        down_to: int | None = None,
        since: float = 0.0,
    ) -> None:
        self._posts_a_page = posts_a_page
        self._cursors = {cursor}
        self._resting, self._down_to, self._since = resting, down_to, since
        self._is_sorted = True  # by date, as far as the pages of this visit tell
        self._barren = 0  # pages in a row without a post new to this visit

    def at(
        self,
        page: PostPage,
        ledger: Ledger,
        *,
        known: Collection[Id],
        seen: Collection[Id],
        is_surplus: bool,
    ) -> str | None:
        """Why this page is the last one, None while there is more. known: mids stored before this
        visit; seen: those of the visit before this page; is_surplus: more posts are held than the
        site has, so some further down were deleted. Pinned posts are out of date order, so they
        never tell that the known part of a timeline is reached; nor does a page, once one of the
        visit was in no order at all."""
        mids = in_place(page.posts)
        self._is_sorted &= bool(mids) or all(post.is_pinned for post in page.posts)
        wanted = [gap for gap in ledger.gaps if not self._is_older(gap.before_at)]
        is_known = not is_surplus and _is_known(mids, ledger.newest, wanted, known)
        is_known = is_known and self._is_sorted
        is_known = is_known and (self._down_to is None or min(mids) < self._down_to)
        if page.next_cursor is None and "odd cursor" in page.skipped:
            return "known" if is_known else "odd_cursor"
        if page.next_cursor is None:
            return "no_next_page"
        if page.next_cursor in self._cursors:
            return "repeated_cursor"
        # new posts push old ones to the next page, so one page without a new one is no end
        is_barren = all(post.mid in seen for post in page.posts) and not page.unreadable
        self._barren = self._barren + 1 if is_barren else 0
        if self._barren >= _BARREN_PAGES:
            return "no_new_post"
        self._cursors.add(page.next_cursor)  # a last page may be looked at again
        if ledger.pages + 1 >= most_pages(ledger.announced, self._posts_a_page):
            return "too_many_pages"
        if is_known:
            return "known" if len(wanted) == len(ledger.gaps) else SINCE
        written = {post.mid: post.created_at for post in page.posts}
        if mids and self._is_older(written[mids[-1]]):
            return SINCE
        return self._resting if _meets(mids, ledger, known) else None

    def _is_older(self, written_at: str | None) -> bool:
        """Whether a date is before the bound; False where there is none that can be read."""
        try:
            return written_at is not None and from_iso(written_at) < self._since
        except ValueError:
            return False


def _meets(mids: list[int], ledger: Ledger, known: Collection[Id]) -> bool:
    """Whether a page reaches down to what the last complete visit knew, so that only older gaps are
    left."""
    if not mids or ledger.newest is None:
        return False
    return mids[-1] in known and mids[-1] <= ledger.newest


def _is_known(
    mids: list[int], newest: int | None, gaps: Collection[Gap], known: Collection[Id]
) -> bool:
    """Whether all that is older than the newest posts of a page was read before, but for what is
    not wanted. mids: those in their place; newest: of the last complete visit; gaps: what was not
    read, and is wanted.

    The page joins what is known where its new posts stand above the newest known one, or a few of
    those were deleted: older posts below new ones may be out of their places.
    """
    if newest is None:
        return False
    old = [mid for mid in mids if mid <= newest]
    return (
        bool(old)
        and (len(old) == len(mids) or _between(known, old[0], newest) <= _DELETED)
        and all(mid in known and is_covered(mid, newest, gaps) for mid in old)
        and not is_open_below(gaps, min(old))
    )


def _between(known: Collection[Id], mid: int, newest: int) -> int:
    """How many known posts stand above this one, the newest included."""
    return sum(isinstance(other, int) and mid < other <= newest for other in known)
