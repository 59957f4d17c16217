"""What a visit knows of one user's posts: which are stored, cut, gone, unreadable. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from weibo_crawler.posts.changes import Held, is_edited, missing, span_of
from weibo_crawler.posts.texts import Found
from weibo_crawler.records import Id, Post, PostPage
from weibo_crawler.store.rows.cells import Ledger


class Sightings:
    """Sets of mids. known: stored before this visit; seen: shown by this visit; cut: whose text is
    missing; closed: whose text is shown to others only; gone: disappeared from the timeline;
    unreadable: shown, and not read by any visit; doubted: pages of this visit lack them, and are
    not believed; edited: known, and shown otherwise by this visit.

    old: the ledger before the visit; resumed: the visit goes on with what its last attempt saw;
    stored_before: how many rows were there before the run; exact_below: of the site.
    """

    def __init__(
        self, old: Ledger, *, resumed: bool, stored_before: int, exact_below: float
    ) -> None:
        self._exact_below = exact_below
        self.known: frozenset[Id] = frozenset()
        self.seen: set[Id] = set(old.pinned) if resumed else set()
        self.cut, self.closed, self.gone = set(old.cut), set(old.restricted), set(old.gone)
        self.unreadable = set(old.unreadable)
        self.unnamed = old.unnamed_now if resumed else 0
        self.skipped = old.skipped if resumed else 0
        self.doubted: set[Id] = set()
        self.edited: set[Id] = set()
        self._unreadable_here: set[Id] = set()  # on the pages of this attempt
        self._stored_before = stored_before
        self._gone_before = frozenset(old.gone)

    def met(self, page: PostPage) -> None:
        """A page that is about to be stored."""
        self.seen |= {post.mid for post in page.posts}
        mids = {card.mid for card in page.unreadable if card.mid is not None}
        self._unreadable_here |= mids
        self.unreadable = (self.unreadable | mids) - self.known - self.seen
        self.unnamed += sum(card.mid is None for card in page.unreadable)
        self.skipped += sum(page.skipped.values())

    def shown(self) -> set[Id]:
        """All mids that the pages of this visit showed."""
        return self.seen | self._unreadable_here

    def lost(self, page: PostPage, pinned: Iterable[Id], *, is_first: bool) -> set[Id]:
        """Posts that are known, and that should stand on this page, which is about to be stored,
        and do not. pinned: of the visit before this page; is_first: it is the first one."""
        has_unnamed = any(card.mid is None for card in page.unreadable)
        span = span_of(page.posts, is_first=is_first, has_unnamed=has_unnamed)
        shown = self.shown() | {post.mid for post in page.posts} | set(pinned)
        shown |= {card.mid for card in page.unreadable if card.mid is not None}
        return missing(self.known | self.unreadable, span, shown)

    def unseen(self, below: Id | None) -> set[Id]:
        """Stored posts that are not gone, that no page of this visit showed, and that would stand
        below this one, the last one shown. Between two pages something may have moved, or one of
        them was kept by a proxy; posts in no order have no such place."""
        lost = set(self.known - self.shown() - self.gone)
        if isinstance(below, int):
            lost = {mid for mid in lost if isinstance(mid, int) and mid < below}
        return lost

    def changed(self, posts: Iterable[Post], held: Mapping[Id, Held]) -> None:
        """Posts are stored as a page shows them, beside what was held of them."""
        for post in posts:
            before = held.get(post.mid)
            is_new_text = before is None or is_edited(before, post)
            if before is not None and is_new_text:
                self.note_edited(post.mid)
            if post.text_complete:
                self.cut.discard(post.mid)
                self.closed.discard(post.mid)
            elif is_new_text:
                if before is not None:  # an edited post may be open now
                    self.closed.discard(post.mid)
                if post.mid not in self.closed:
                    self.cut.add(post.mid)

    def note_edited(self, mid: Id) -> None:
        """A post is another than what is stored of it; of a new one this visit stored both."""
        if mid in self.known:
            self.edited.add(mid)

    def vanished(self, gone: Iterable[Id]) -> None:
        """Posts that should stand on a page and do not."""
        self.gone = (self.gone | (set(gone) & self.known)) - self.seen
        self.unreadable.difference_update(gone)

    def judged(self, mid: Id, found: Found) -> None:
        """What came of asking for a whole text."""
        if found.full is not None:
            self.cut.discard(mid)
            self.closed.discard(mid)
        elif found.gone and mid not in self.seen:
            self.cut.discard(mid)
            self.closed.discard(mid)
            self.gone.add(mid)
        elif found.why:
            self.cut.discard(mid)
            self.closed.add(mid)

    def lacking(self, announced: int | None) -> int:
        """How many posts are announced beyond those that the site is known to have."""
        return max(0, (announced or 0) - self.standing())

    def are_all_shown(self, announced: int | None, hidden: int = 0) -> bool:
        """Whether this visit was shown as many posts as are announced, by an exact number, but for
        so many that are hidden."""
        if announced is None or announced >= self._exact_below:
            return False
        return len(self.shown()) + self.unnamed >= announced - hidden

    def surplus(
        self, announced: int | None, page: PostPage | None = None, *, is_first: bool = False
    ) -> int:
        """How many more posts are held than are announced: so many were deleted where no visit has
        looked since. 0 or less: none, as far as is known. page: one that is not stored yet;
        is_first: it is the first one."""
        if announced is None or announced >= self._exact_below:
            return 0
        held, gone = self.known | self.seen, self.gone
        if page is not None:
            gone = gone | self.lost(page, (), is_first=is_first)
            held = held | {post.mid for post in page.posts}
        return len(held - gone) - announced

    def standing(self) -> int:
        """How many posts the site has, as far as is known: held and not gone, or unreadable."""
        return len((self.known | self.seen | self.unreadable) - self.gone) + self.unnamed

    def newly_gone(self) -> int:
        return len(self.gone - self._gone_before)

    def figures(self) -> dict[str, Any]:
        """Fields of the ledger, absolute: rows of the table, how many of them are of this run, and
        which of them are cut, gone, …"""
        stored = len(self.known | self.seen)
        return {
            "stored": stored,
            "new": max(0, stored - self._stored_before),
            "cut": tuple(sorted(self.cut)),
            "restricted": tuple(sorted(self.closed)),
            "gone": tuple(sorted(self.gone)),
            "unreadable": tuple(sorted(self.unreadable)),
            "unnamed_now": self.unnamed,
            "skipped": self.skipped,
        }
