"""The pages of one timeline into the tables: posts first, then the ledger, then whole texts.

A page is stored as it shows its posts, with cut texts, before their whole texts are asked for; each
text is put as it comes, at the time of its page, so it takes the place of the cut one. Whatever
ends the visit in between, nothing that was shown is lost, and the ledger names the texts that lack.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.posts.asking import Asker
from weibo_crawler.posts.changes import (
    Held,
    Span,
    changed_cells,
    is_edited,
    needs_text,
    span_of,
    without_old_text,
)
from weibo_crawler.posts.echoes import EchoReader
from weibo_crawler.posts.holdings import Holdings
from weibo_crawler.posts.kept import Kept
from weibo_crawler.posts.sightings import Sightings
from weibo_crawler.posts.texts import Found, Texts
from weibo_crawler.posts.writer import Writer, all_of
from weibo_crawler.records import Id, Page, Post, PostPage
from weibo_crawler.store import Cells, Put
from weibo_crawler.store.rows.cells import Ledger, gone_cells, ledger_cells, text_cells, why_cells
from weibo_crawler.store.rows.keys import post_key, user_key

_KEPT_CARDS = 10  # of one page: what is odd in ten of them is odd in all


class Pages(NamedTuple):
    """Stores what one visit is shown. asks_closed: ask also for texts that were restricted.
    echoes: who reads what is under the posts; kept: what a harvest has read."""

    uid: Id
    run_id: str
    writer: Writer
    holdings: Holdings
    sightings: Sightings
    texts: Texts
    asker: Asker
    clock: Callable[[], float]
    asks_closed: bool
    echoes: Sequence[EchoReader]
    kept: Kept

    async def store(self, page: PostPage, raw: Page, ledger: Ledger, cursor: str) -> Ledger:
        """Store one page. cursor: the page to go on with; returns the ledger as it was put."""
        sightings = self.sightings
        has_unnamed = any(card.mid is None for card in page.unreadable)
        span = span_of(page.posts, is_first=not ledger.cursor, has_unnamed=has_unnamed)
        held = await self._held(page.posts, span)
        fresh = self._fresh(page, held)
        new = [*fresh, *self._edited_since(page, held, ledger)]
        await self._keep_cards(page, raw)
        pinned = {*ledger.pinned, *(post.mid for post in new if post.is_pinned)}
        lost = sightings.lost(page, ledger.pinned, is_first=not ledger.cursor) - sightings.doubted
        sightings.met(page)
        sightings.vanished(lost)
        wanted = [post for post in new if self._wants(held.get(post.mid), post)]
        sightings.changed(new, held)
        ledger = replace(
            ledger,
            **sightings.figures(),
            **_reach(ledger, page, span),
            seen=ledger.seen + len(fresh),
            pages=ledger.pages + 1,
            pinned=tuple(sorted(pinned)),
            foreign=ledger.foreign + page.foreign,
            cursor=cursor,
        )
        puts = [self._post(p.mid, self._cells(held, p, raw), raw.fetched_at) for p in new]
        puts += [
            self._post(mid, gone_cells(raw.fetched_at), raw.fetched_at)
            for mid in lost & held.keys()
            if not held[mid]["gone_at"]
        ]
        if not self.kept.is_used_up or any(reader.asks for reader in self.echoes):
            # whoever goes on after a death begins with this page until all under it was read
            await self.writer.put(puts, [])
            puts = []
            for reader in self.echoes:
                await reader.read(fresh, held, self.kept)
        await self.writer.put(puts, [self.ledger_put(ledger)])
        self.holdings.stored(fresh)
        await all_of(self._complete(post, held.get(post.mid), raw) for post in wanted)
        return replace(ledger, **sightings.figures())

    async def store_part(self, page: PostPage, raw: Page, ledger: Ledger) -> Ledger:
        """Store the posts of a page of which most cannot be read. The visit ends before this page,
        so nothing follows from what it does not show. Returns the ledger as it was put."""
        held = await self._held(page.posts, None)
        fresh = self._fresh(page, held)
        new = [*fresh, *self._edited_since(page, held, ledger)]
        named = tuple(card for card in page.unreadable if card.mid is not None)
        self.sightings.met(replace(page, unreadable=named, skipped={}))
        self.sightings.changed(new, held)
        ledger = replace(ledger, **self.sightings.figures())
        puts = [self._post(p.mid, self._cells(held, p, raw), raw.fetched_at) for p in new]
        await self.writer.put(puts, [self.ledger_put(ledger)])
        self.holdings.stored(fresh)
        return ledger

    async def repair(self) -> None:
        """Long texts that earlier visits, or attempts that died, could not get and this one has not
        asked for; those that this one had trouble with, once more; and the restricted ones when it
        is their time. No page of this visit showed them, but what is stored is what one did."""
        sightings = self.sightings
        earlier = sightings.cut - self.texts.asked
        lacking = await self.writer.call(self.holdings.cut, earlier)
        sightings.cut -= earlier - lacking.keys()  # put by a visit that died before it could say so
        due = sightings.closed - self.texts.asked if self.asks_closed else set()
        closed = await self.writer.call(self.holdings.cut, due)
        whole, again, if_opened = self.texts.whole, self.texts.again, self.texts.if_opened
        asked = [(mid, whole(mid, text, is_retry=True)) for mid, text in lacking.items()]
        asked += [(mid, again(mid)) for mid in sightings.cut - earlier]
        asked += [(mid, if_opened(mid, text)) for mid, text in closed.items()]
        await all_of(self._mend(mid, what) for mid, what in asked)

    async def vanish(self, lost: Collection[Id], at: float) -> None:
        """These stored posts have disappeared, as of this time."""
        self.sightings.vanished(lost)
        await self.writer.put([self._post(mid, gone_cells(at), at) for mid in lost], [])

    def ledger_put(self, ledger: Ledger) -> Put:
        return Put.at(user_key(self.uid), ledger_cells(ledger), self.clock())

    def _post(self, mid: Id, cells: Cells, at: float) -> Put:
        return Put.at(post_key(self.uid, mid), cells, at)

    def _cells(self, held: Mapping[Id, Held], post: Post, raw: Page) -> Cells:
        return changed_cells(held.get(post.mid), post, raw, self.run_id)

    async def _held(self, posts: Sequence[Post], span: Span | None) -> dict[Id, Held]:
        """What is stored of the posts of a page and of what should stand between them; of those
        that this visit has stored where they were edited."""
        known, seen = self.sightings.known, self.sightings.seen
        others = [p.mid for p in posts if p.mid in known or (p.edit_count and p.mid in seen)]
        if not (known or others):
            return {}
        return await self.writer.call(self.holdings.beside, span if known else None, others)

    def _fresh(self, page: PostPage, held: Mapping[Id, Held]) -> list[Post]:
        """Posts that this visit was not shown before."""
        return [
            without_old_text(held.get(post.mid), post)
            for post in page.posts
            if post.mid not in self.sightings.seen
        ]

    def _edited_since(self, page: PostPage, held: Mapping[Id, Held], ledger: Ledger) -> list[Post]:
        """Posts that this visit has stored as an older page showed them; pinned stays pinned."""
        return [
            replace(post, is_pinned=post.is_pinned or post.mid in ledger.pinned)
            for post in page.posts
            if post.mid in self.sightings.seen
            and post.mid in held
            and post.edit_count > held[post.mid]["edit_count"]
        ]

    async def _keep_cards(self, page: PostPage, raw: Page) -> None:
        """Keep the cards that no visit has met before, for a developer."""
        new = [card for card in page.unreadable if card.mid not in self.sightings.unreadable]
        for card in new[:_KEPT_CARDS]:
            await self.asker.keep_card(raw, card.path, card.raw)
        self.asker.count_cards(page.skipped, len(page.unreadable))

    def _wants(self, held: Held | None, post: Post) -> bool:
        """Whether the whole text of a post is to be asked for."""
        is_closed = post.mid in self.sightings.closed and not self.asks_closed
        if is_closed and not (held and is_edited(held, post)):
            return False
        return needs_text(held, post)

    async def _complete(self, post: Post, held: Held | None, raw: Page) -> None:
        """Ask for a text of a page that is stored, and put what comes."""
        found = await self.texts.whole(post.mid, post.text)
        is_cut = post.mid in self.sightings.cut or post.mid in self.sightings.closed
        self.sightings.judged(post.mid, found)
        if found.full is None:
            if found.why and is_cut:
                await self._put(post.mid, why_cells(found.why), raw.fetched_at)
            return
        if held is None or is_edited(held, post):  # all its cells were put with the page
            await self._put(post.mid, text_cells(found.full), raw.fetched_at)
            return
        full = found.full
        whole = replace(
            post, text=full.text, text_complete=True, topics=full.topics, mentions=full.mentions
        )
        if is_edited(held, whole):
            self.sightings.note_edited(post.mid)
        await self._put(post.mid, changed_cells(held, whole, raw, self.run_id), raw.fetched_at)

    async def _mend(self, mid: Id, asked: Awaitable[Found]) -> None:
        """Put what comes for a text that was cut before."""
        was_closed = mid in self.sightings.closed
        found = await asked
        self.sightings.judged(mid, found)
        now = self.clock()
        if found.full is not None:
            cells = dict(text_cells(found.full))
            await self._put(mid, {**cells, **why_cells("")} if was_closed else cells, now)
        elif mid in self.sightings.gone:
            await self._put(mid, gone_cells(now), now)
        elif found.why:
            await self._put(mid, why_cells(found.why), now)

    async def _put(self, mid: Id, cells: Cells, at: float) -> None:
        await self.writer.put([self._post(mid, cells, at)], [])


def _reach(ledger: Ledger, page: PostPage, span: Span | None) -> dict[str, int | None]:
    """How far the pages so far reach without a break."""
    newest, oldest = ledger.read_newest, ledger.read_oldest
    if span is not None:
        oldest = span.oldest if oldest is None else min(oldest, span.oldest)
    if newest is None:
        newest = max((p.mid for p in page.posts if isinstance(p.mid, int)), default=None)
    return {"read_newest": newest, "read_oldest": oldest}
