"""The first pages of a list under posts, of their comments or reposts: one request each, where a
setting says so, none where a harvest has read it."""

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.metrics import Counters
from weibo_crawler.posts.asking import Asker
from weibo_crawler.posts.changes import Held
from weibo_crawler.posts.kept import Kept
from weibo_crawler.posts.writer import Writer, all_of
from weibo_crawler.records import EMPTY, EchoList, EchoPage, Id, Post, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import echoes_read_cells
from weibo_crawler.store.rows.echoes import echo_puts
from weibo_crawler.store.rows.keys import post_key

# these are facts: the post has none to show to us
_NONE = (*EMPTY, Verdict.GONE, Verdict.RESTRICTED)


class EchoReader:
    """Reads one list under posts for all visits of a mapper. most: posts of each page; pages: of
    the list of one post; counters: <list>.pages, <list>.stored,
    <list>.cut (lists of which a later page failed), <list>.failed and <list>.walled (lists whose
    first page failed, or is not shown to guests), <list>.unreadable.

    A post says how many comments it had announced when they were read (`post:comments_read`), which
    is put after they are, and before the ledger of its user moves on: so a visit that dies in
    between asks again.
    """

    def __init__(
        self,
        which: EchoList,
        site: Site,
        asker: Asker,
        writer: Writer,
        counters: Counters,
        clock: Callable[[], float],
        *,
        run_id: str,
        most: int,
        pages: int,
    ) -> None:
        self._which = which
        self._site, self._asker, self._writer = site, asker, writer
        self._counters, self._clock = counters, clock
        self._run_id, self._most, self._pages = run_id, most, pages

    @property
    def asks(self) -> bool:
        """Whether it asks for what no harvest has read."""
        return self._most > 0

    async def read(self, posts: Iterable[Post], held: Mapping[Id, Held], kept: Kept) -> None:
        """Ask for the list of the newest of these posts, and put it, and those that a harvest has
        read; raises StoreError."""
        wanted = [post for post in posts if self._is_wanted(post, held.get(post.mid))]
        newest = sorted(wanted, key=lambda post: post.mid, reverse=True)
        here = [post for post in newest[self._most :] if self._is_kept(post.mid, kept)]
        lists = [(post, self._pages) for post in newest[: self._most]]
        await all_of(
            self._read(post.uid, post.mid, post, kept, pages)
            for post, pages in (*lists, *((post, 1) for post in here))
        )

    async def read_kept(self, uid: Id, mids: Iterable[Id], kept: Kept) -> None:
        """Put what a harvest has read under stored posts that no page of this visit showed: an
        attempt that died may have stored them before their comments."""
        left = (mid for mid in mids if self._is_kept(mid, kept))
        await all_of(self._read(uid, mid, None, kept, 1) for mid in left)

    def _is_kept(self, mid: Id, kept: Kept) -> bool:
        """Whether a harvest has read the list of a post; not all sites have it."""
        kind = self._which.kind
        return kind in self._site.kinds and kept.holds(self._site.echoes(kind, mid))

    async def _read(self, uid: Id, mid: Id, post: Post | None, kept: Kept, pages: int) -> None:
        """Put page after page as it comes, then that they were read. What ends it behind page 1
        takes nothing from what was shown: what guests are not shown is the end, and where a page
        failed, a later visit begins anew. So it does where a page is another post's. post: None:
        its page is not at hand; what a harvest kept of it was compared with it then."""
        owners = self._which.owners(post) if post is not None else ()
        at, cursor, name, has_failed = None, "", self._which.name, False
        stored = set[str]()  # a list repeats some on later pages
        for nth in range(1, pages + 1):
            request = self._site.echoes(self._which.kind, mid, cursor)
            request = replace(request, uid=uid, owners=owners)
            ask = Ask(request, nth=nth, end=f"{name}.named" if cursor else "")
            fetched = await self._fetch(ask, kept)
            if fetched is None:
                break
            page, record = fetched.page, fetched.reading.record
            is_page = isinstance(record, EchoPage) and not fetched.reading.ambiguous
            has_failed = not (is_page or self._is_none(fetched))
            if has_failed:
                break
            at = self._clock() if page is None else page.fetched_at
            if not isinstance(record, EchoPage):
                break
            puts = echo_puts(self._which, uid, mid, record.echoes, at, self._run_id)
            await self._writer.put([], [], {name: puts})
            stored.update(put.key for put in puts)
            if record.unreadable:
                self._counters.add(f"{name}.unreadable", record.unreadable)
            if record.next_cursor is None:
                break
            cursor = record.next_cursor
        if at is None:
            self._counters.add(f"{name}.{'failed' if has_failed else 'walled'}")
            return
        if has_failed:
            self._counters.add(f"{name}.cut")
        else:
            announced = len(stored) if post is None else self._which.announced(post) or 0
            mark = echoes_read_cells(self._which, announced)
            await self._writer.put([Put.at(post_key(uid, mid), mark, at)], [])
        self._counters.add(f"{name}.pages")
        self._counters.add(f"{name}.stored", len(stored))

    async def _fetch(self, ask: Ask, kept: Kept) -> Fetched | None:
        """What came of a request for a page; None: guests are not shown it."""
        fetched = kept.take(ask.request)
        if fetched is not None:
            return await self._asker.shown_before(ask, fetched, is_enough=True)
        if not self._asker.may_ask(ask):
            return None
        fetched = await self._asker.fetch(ask)
        is_closed = fetched.is_shut or fetched.reading.verdict is Verdict.LOGIN_WALL
        return None if is_closed else fetched

    def _is_none(self, fetched: Fetched) -> bool:
        """Whether it is the fact that there is no such page."""
        return fetched.reading.verdict in _NONE and self._asker.is_talking

    def _is_wanted(self, post: Post, held: Held | None) -> bool:
        """Whether a post announces some of which none were read, or twice as many as there were."""
        announced = self._which.announced(post)
        if not announced:
            return False
        read = held[f"{self._which.name}_read"] if held is not None else None
        return read is None or announced >= 2 * read
