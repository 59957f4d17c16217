"""What a page changes in the rows of a user: new posts, edits, deletions, counts. Pure.

A post that stands as it is stored gets its counts only. One that was edited is written anew at the
time of the fetch, so the old text stays as an older version of the cell. A stored post that should
stand between two posts of a page and does not is marked as gone since then, and its text is kept;
so is that of a reposted one in whose place the site shows a notice.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import convert
from msgspec.structs import replace

from weibo_crawler.posts.coverage import in_place
from weibo_crawler.records import Id, Original, Page, Post
from weibo_crawler.store import Cells
from weibo_crawler.store.rows.cells import (
    count_cells,
    gone_cells,
    pinned_cells,
    post_cells,
    text_cells,
    unlinked_cells,
    why_cells,
)
from weibo_crawler.store.rows.packed import repack

Held = Mapping[str, Any]  # a stored post, as cells.read_post gives it
_MARK_OF_CUT = 6  # characters: what a cut text may end in that the whole one does not hold, " ..."


class Span(NamedTuple):
    """Where the posts of a page stand: oldest <= mid <= newest; newest None: the newest there is.

    is_strict: no post on it stands out of order, so that one that is missing in between is gone.
    """

    newest: int | None
    oldest: int
    is_strict: bool


def span_of(posts: Collection[Post], *, is_first: bool, has_unnamed: bool = False) -> Span | None:
    """The span of a page, None where no post stands in its place. is_first: of the first page;
    has_unnamed: it shows a post whose mid is not legible, which may be any that seems missing."""
    placed = in_place(posts)
    if not placed:
        return None
    is_strict = not has_unnamed and len(placed) == sum(not post.is_pinned for post in posts)
    return Span(None if is_first else placed[0], placed[-1], is_strict)


def needs_text(held: Held | None, post: Post) -> bool:
    """Whether the whole text of a cut post has to be asked for."""
    if post.text_complete:
        return False
    return held is None or not held["text_complete"] or _is_other(held, post)


def is_edited(held: Held, post: Post) -> bool:
    """Whether the post is another than the stored one. post: with its whole text, if there is a
    way to it: a difference between a whole text and the beginning that a list shows is no proof."""
    if post.edit_count > held["edit_count"]:
        return True
    return bool(held["text_complete"]) and post.text_complete and post.text != held["text"]


def without_old_text(held: Held | None, post: Post) -> Post:
    """The post, whose text is no whole one where it has fewer edits than the stored one: such a
    post stands on an older page, which a cache has kept."""
    is_old = held is not None and post.edit_count < held["edit_count"]
    return replace(post, text_complete=False) if is_old else post


def changed_cells(held: Held | None, post: Post, page: Page, run_id: str) -> Cells:
    """The cells to write of a post on a page; post: with its whole text, if there is a way to it.

    held: None where it is not stored. Of an edited one the time of posting stays as it was read
    first: lists show it the less precisely the older it is.
    """
    if held is None:
        return post_cells(post, page.fetched_at, page.egress, run_id)
    if is_edited(held, post):
        dated = replace(
            post,
            created_at=held["created_at"] or post.created_at,
            created_at_precision=held["created_at_precision"] or post.created_at_precision,
            original=_original(held, post),
        )
        linked = post_cells(dated, page.fetched_at, page.egress, run_id)
        cells = {**unlinked_cells(), **linked}
    else:
        cells = dict(count_cells(post))
        if post.text_complete and not held["text_complete"]:
            cells.update(text_cells(post))
        if post.is_pinned != held["is_pinned"]:
            cells.update(pinned_cells(post.is_pinned))
        if _turns_original(held, post):
            cells["post:more"] = repack(held, _original(held, post))
    if held["gone_at"]:
        cells.update(gone_cells(None))
    if held["text_why"] and "post:text" in cells:
        cells.update(why_cells(""))
    return cells


def missing(held: Iterable[Id], span: Span | None, shown: Collection[Id]) -> set[Id]:
    """Stored posts that should stand on a page and do not. shown: the mids of the visit so far, of
    this page, and what is pinned."""
    if span is None or not span.is_strict:
        return set()
    return {
        mid
        for mid in held
        if isinstance(mid, int)
        and mid not in shown
        and span.oldest < mid
        and (span.newest is None or mid < span.newest)
    }


def _turns_original(held: Held, post: Post) -> bool:
    """Whether the reposted post was shown and is not any more, or the other way round."""
    shown, kept = post.original, held["original"]
    return bool(shown and kept and shown.available != kept["available"])


def _original(held: Held, post: Post) -> Original | None:
    """The reposted post with the words that are held, where the site now shows a notice."""
    shown, kept = post.original, held["original"]
    if shown is None or shown.available or not kept:
        return shown
    return convert(kept | {"mid": shown.mid, "available": False}, Original)


def _is_other(held: Held, post: Post) -> bool:
    """Whether a cut post on a page cannot be the one whose whole text is stored."""
    if post.edit_count != held["edit_count"]:
        return bool(post.edit_count > held["edit_count"])
    least = max(0, len(post.text) - _MARK_OF_CUT)
    return not (held["text"] or "").startswith(post.text[:least])
