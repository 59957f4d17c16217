"""The first page of the comments of posts: one request each, where posts.comments says so, none
where a harvest has read it."""

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from weibo_crawler.fetch import Ask
from weibo_crawler.metrics import Counters
from weibo_crawler.posts.asking import Asker
from weibo_crawler.posts.changes import Held
from weibo_crawler.posts.kept import Kept
from weibo_crawler.posts.writer import Writer, all_of
from weibo_crawler.records import CommentPage, Id, Post, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import comments_read_cells
from weibo_crawler.store.rows.comments import comment_puts
from weibo_crawler.store.rows.keys import post_key

# these are facts: the post has no comments to show to us
_NONE = (Verdict.EMPTY, Verdict.END, Verdict.GONE, Verdict.RESTRICTED)


class Comments:
    """Reads the comments of posts for all visits of a mapper. most: posts of each page; counters:
    comments.pages, comments.stored.

    A post says how many comments it had announced when they were read (`post:comments_read`), which
    is put after they are: so a visit that dies in between asks again.
    """

    def __init__(
        self,
        site: Site,
        asker: Asker,
        writer: Writer,
        counters: Counters,
        clock: Callable[[], float],
        *,
        run_id: str,
        most: int,
    ) -> None:
        self._site, self._asker, self._writer = site, asker, writer
        self._counters, self._clock = counters, clock
        self._run_id, self._most = run_id, most

    async def read(self, posts: Iterable[Post], held: Mapping[Id, Held], kept: Kept) -> None:
        """Ask for the comments of the newest of these posts, and put them, and those that a harvest
        has read; raises StoreError."""
        wanted = [post for post in posts if _is_wanted(post, held.get(post.mid))]
        newest = sorted(wanted, key=lambda post: post.mid, reverse=True)
        here = [post for post in newest[self._most :] if kept.holds(self._site.comments(post.mid))]
        await all_of(
            self._read(post.uid, post.mid, post.comments or 0, kept)
            for post in (*newest[: self._most], *here)
        )

    async def read_kept(self, uid: Id, mids: Iterable[Id], kept: Kept) -> None:
        """Put what a harvest has read of the comments of stored posts that no page of this visit
        showed: an attempt that died may have stored them before their comments."""
        left = (mid for mid in mids if kept.holds(self._site.comments(mid)))
        await all_of(self._read(uid, mid, None, kept) for mid in left)

    async def _read(self, uid: Id, mid: Id, announced: int | None, kept: Kept) -> None:
        ask = Ask(replace(self._site.comments(mid), uid=uid))
        fetched = kept.take(ask.request)
        if fetched is not None:
            fetched = await self._asker.shown_before(ask, fetched, is_enough=True)
        elif self._asker.may_ask(ask):
            fetched = await self._asker.fetch(ask)
        else:
            return
        reading, page = fetched.reading, fetched.page
        record = reading.record
        is_of_post = isinstance(record, CommentPage)
        if not is_of_post and (reading.verdict not in _NONE or not self._asker.is_talking):
            return
        at = self._clock() if page is None else page.fetched_at
        said = record.comments if isinstance(record, CommentPage) else ()
        puts = comment_puts(uid, mid, said, at, self._run_id)
        mark = comments_read_cells(len(said) if announced is None else announced)
        key = post_key(uid, mid)
        await self._writer.put([Put.at(key, mark, at)], [], puts)
        self._counters.add("comments.pages")
        self._counters.add("comments.stored", len(puts))


def _is_wanted(post: Post, held: Held | None) -> bool:
    """Whether a post announces comments of which none were read, or twice as many as there were."""
    if not post.comments:
        return False
    read = held["comments_read"] if held is not None else None
    return read is None or post.comments >= 2 * read
