"""What of a timeline was read. Pure.

A timeline shows posts by falling mid, where mids are numbers and the site sorts by date; else it
has no order, and nothing below can be told of it. A visit reads it without a break from the newest
post down to some oldest one; where that is below the newest post of the visit before, the two meet,
else there is a gap between them. Pinned posts stand elsewhere and tell nothing about that.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from weibo_crawler.records import Post
from weibo_crawler.store.rows.gaps import Gap


def in_place(posts: Iterable[Post]) -> list[int]:
    """The mids of a page in its order, without pinned posts and those that stand above a newer one:
    an old post at the top that is not known as pinned must not tell how far the page reaches. None
    where more than one and more than a third are such: a page that is sorted by heat reaches
    nowhere."""
    kept: list[int] = []
    mids = [post.mid for post in posts if not post.is_pinned and isinstance(post.mid, int)]
    for mid in mids:
        while kept and kept[-1] < mid:
            kept.pop()
        kept.append(mid)
    misplaced = len(mids) - len(kept)
    return [] if misplaced > max(1, len(mids) / 3) else kept


def is_covered(mid: int, newest: int | None, gaps: Iterable[Gap]) -> bool:
    """Whether earlier visits read the place where this post stands. newest: the largest mid they
    read, None for none."""
    if newest is None or mid > newest:
        return False
    return not any(mid < gap.before and (gap.after is None or mid > gap.after) for gap in gaps)


def is_open_below(gaps: Iterable[Gap], mid: int) -> bool:
    """Whether some of the gaps reach below this post."""
    return any(gap.after is None or gap.after < mid for gap in gaps)


def after_visit(
    gaps: Sequence[Gap], newest: int | None, oldest: int | None, *, to_the_end: bool
) -> tuple[Gap, ...]:
    """The gaps that are left, newest first, when a visit read from the top down to `oldest`.

    gaps, newest: as earlier visits left them, newest None = there was none. oldest: None where the
    visit read no post in its place. to_the_end: the timeline surely has nothing older.
    """
    if to_the_end:
        return ()
    if oldest is None:
        return tuple(gaps)
    left = [
        replace(gap, before=oldest, before_at=None) if gap.before > oldest else gap
        for gap in gaps
        if gap.after is None or gap.after < oldest
    ]
    if newest is None or newest < oldest:
        left.append(Gap(oldest, newest))
    return tuple(sorted(left, key=lambda gap: gap.before, reverse=True))
