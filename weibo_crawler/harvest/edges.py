"""How a user leads to others: each edge read page by page.

edge             what one page is                                 its cursor
fans, follows    a page of the list                               the site's
reposts          the authors of the originals on a page of posts  the site's, of the posts
comments         the first commenters of one of the newest posts  mids still to ask for
mentions         who is named on a page of posts                  the site's, of the posts

Where a page does not tell a user's fans (names always, authors on some pages), a name is resolved
and a profile is asked for: two requests a name, one an author. The pages of posts of one entry
serve all its edges.
"""

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from weibo_crawler.config import Harvest
from weibo_crawler.fetch import Fetched
from weibo_crawler.harvest.asking import Asker, Doubtful, People, fetched_at
from weibo_crawler.harvest.seen import SeenSet
from weibo_crawler.harvest.trouble import EntryGone, PageDrifted, Unsure
from weibo_crawler.records import CommentPage, Edge, Expect, FanPage, PostPage, User, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Entry, Progress

_DOUBT = "?"  # begins a cursor of comments: an earlier post showed less than it announced


class Shown(NamedTuple):
    """What one page shows: users with their fans, and the progress behind it.

    ended, sure: as in PageCommit. again: users known already whose fans nobody asked for.
    is_proof: whether the site showed something that it refuses where the edge is walled.
    """

    users: tuple[User, ...]
    after: Progress
    ended: str | None
    fetched_at: float
    sure: bool = True
    again: int = 0
    is_proof: bool = True


class Source(NamedTuple):
    """What reading needs, the same for all entries of a run."""

    site: Site
    asker: Asker
    people: People
    seen: SeenSet
    settings: Harvest


class EdgeReader:
    """Reads the edges of one entry. Errors of `read`: Walled, EntryGone, EntryTrouble, Unsure."""

    def __init__(self, source: Source, entry: Entry) -> None:
        self._source, self._entry = source, entry
        self._doubted = entry.last_error
        self._listed = {edge: set(done.last_ids) for edge, done in entry.progress.items()}
        self._posts: dict[str, Fetched] = {}
        self._silent: bool | None = None

    async def read(self, edge: Edge, progress: Progress) -> Shown:
        """The next page of an edge."""
        if edge is Edge.REPOSTS:
            shown = await self._timeline(edge, progress, self._authors)
        elif edge is Edge.MENTIONS:
            shown = await self._timeline(edge, progress, self._mentioned)
        elif edge is Edge.COMMENTS:
            shown = await self._comments(progress)
        else:
            shown = await self._list(edge, progress)
        self._doubted = ""
        return shown

    # -- fans and follows

    async def _list(self, edge: Edge, progress: Progress) -> Shown:
        site, entry, listed = self._source.site, self._entry, self._listed[edge]
        is_all = edge is Edge.FANS and self._is_all(progress)
        expect = Expect.NOTHING if is_all else Expect.UNKNOWN
        fetched = await self._ask_of_owner(edge, progress.cursor, expect=expect)
        record = fetched.reading.record
        users = record.users if isinstance(record, FanPage) else ()
        ids = {user.uid for user in users}
        found = _Found()
        for uid in record.uncounted if isinstance(record, FanPage) else ():
            ids.add(uid)
            await self._add(uid, edge, found)
        self._ask_again_unless(found.sure, edge)
        fresh = ids - listed
        ended: str | None = "end"
        after, sure = progress, True
        if isinstance(record, FanPage) and (fresh or (record.skipped and not ids)):
            listed |= fresh
            ended = None if record.next_cursor is not None else "last_page"
            after = Progress(
                record.next_cursor or progress.cursor,
                tuple(sorted(ids)),
                progress.listed + len(fresh),
                progress.pages + 1,
            )
        elif ids:
            ended = "no_new_user"
        if ended in ("end", "no_new_user") and edge is Edge.FANS:
            # where nobody knows how many there are, some at least are wanted
            announced = 1 if entry.is_unread else site.announced_pages(edge, entry.fans)
            sure = after.pages >= announced
            self._ask_again_unless(sure, edge)
        users += tuple(found.users)
        sure = sure and found.sure
        return Shown(users, after, ended, fetched_at(fetched), sure, found.again)

    def _is_all(self, progress: Progress) -> bool:
        """Whether the list has shown as many fans as were announced, and a last page with room: the
        owner may have won many since."""
        one_more = self._source.site.announced_pages(Edge.FANS, progress.listed + 1)
        return 0 < self._entry.fans <= progress.listed and one_more <= progress.pages

    async def _ask_of_owner(
        self, edge: Edge, cursor: str, *, expect: Expect = Expect.UNKNOWN
    ) -> Fetched:
        site, uid = self._source.site, self._entry.uid
        is_list = edge in (Edge.FANS, Edge.FOLLOWS)
        request = site.edge(edge, uid, cursor) if is_list else site.posts(uid, cursor)
        fetched = await self._source.asker.ask(request, edge, expect=expect)
        if fetched.reading.verdict is Verdict.GONE:
            raise EntryGone
        return fetched

    # -- from pages of posts

    async def _timeline(
        self,
        edge: Edge,
        progress: Progress,
        find: "Callable[[PostPage], Awaitable[_Found]]",
    ) -> Shown:
        fetched, page = await self._post_page(edge, progress.cursor)
        is_proof, at = edge is Edge.REPOSTS, fetched_at(fetched)
        if page is None:
            sure = bool(progress.pages) or await self._is_silent(edge)
            self._ask_again_unless(sure, edge)
            return Shown((), progress, "end", at, sure, is_proof=is_proof)
        found = await find(page)
        self._ask_again_unless(found.sure, edge)
        listed = progress.listed + len(found.users) + found.again
        after = Progress(page.next_cursor or progress.cursor, (), listed, progress.pages + 1)
        ended = None
        if not found.sure:  # whoever asks again later begins with this page
            ended, after = "unsure", progress
        elif page.next_cursor is None:
            ended = "last_page"
        elif after.pages >= self._source.settings.posts_pages:
            ended = "limit"
        is_proof = is_proof or found.asked
        return Shown(tuple(found.users), after, ended, at, found.sure, found.again, is_proof)

    async def _post_page(self, edge: Edge, cursor: str) -> tuple[Fetched, PostPage | None]:
        """None: the timeline shows no more."""
        if cursor not in self._posts:
            self._posts[cursor] = await self._ask_of_owner(edge, cursor)
        fetched = self._posts[cursor]
        record = fetched.reading.record
        return fetched, record if isinstance(record, PostPage) else None

    async def _is_silent(self, edge: Edge) -> bool:
        """Law 4: a timeline without posts is a fact where the profile announces none. Errors:
        Walled where profiles are closed, too."""
        if self._silent is None:
            profile = self._source.site.profile(self._entry.uid)
            fetched = await self._source.asker.ask(profile, edge)
            if fetched.reading.verdict is Verdict.GONE:
                raise EntryGone
            record = fetched.reading.record
            self._silent = isinstance(record, User) and not record.posts
        return self._silent

    async def _authors(self, page: PostPage) -> "_Found":
        found = _Found()
        for author in page.authors:
            if isinstance(author, User):
                found.users.append(author)
            else:
                await self._add(author.uid, Edge.REPOSTS, found)
        return found

    async def _mentioned(self, page: PostPage) -> "_Found":
        found = _Found()
        for name in page.mentions[: self._source.settings.mentions_per_page]:
            found.asked |= not self._source.people.knows(name)
            try:
                uid = await self._source.people.named(name, Edge.MENTIONS)
            except Doubtful:
                found.sure = False
                continue
            if uid is not None:
                await self._add(uid, Edge.MENTIONS, found)
        return found

    async def _add(self, uid: int, edge: Edge, found: "_Found") -> None:
        """A user of whom only the uid is known; who is kept already needs no profile."""
        if uid in self._source.seen:
            found.again += 1
            return
        try:
            user = await self._source.people.user(uid, edge)
        except (Doubtful, PageDrifted):
            found.sure = False
            return
        if user is not None:
            found.users.append(user)

    # -- comments

    async def _comments(self, progress: Progress) -> Shown:
        doubt = progress.cursor.startswith(_DOUBT)
        mids = [int(mid) for mid in progress.cursor.removeprefix(_DOUBT).split(",") if mid]
        if not progress.cursor:
            fetched, page = await self._post_page(Edge.COMMENTS, "")
            if page is None:
                sure = await self._is_silent(Edge.COMMENTS)
                self._ask_again_unless(sure, Edge.COMMENTS)
                return Shown((), progress, "end", fetched_at(fetched), sure, is_proof=False)
            mids = self._most_recent(page)
        if not mids:
            return Shown((), progress, "last_page", time.time(), is_proof=False)
        fetched = await self._source.asker.ask(self._source.site.comments(mids[0]), Edge.COMMENTS)
        record = fetched.reading.record
        users = record.users if isinstance(record, CommentPage) else ()
        found = _Found()
        for uid in record.uncounted if isinstance(record, CommentPage) else ():
            await self._add(uid, Edge.COMMENTS, found)
        users += tuple(found.users)
        is_gone = fetched.reading.verdict is Verdict.GONE  # the post, not the user
        if not found.sure or (record is None and not is_gone):
            self._ask_again_unless(False, Edge.COMMENTS)
            doubt = True
        left = ",".join(map(str, mids[1:]))
        cursor = _DOUBT + left if doubt and left else left
        after = Progress(cursor, (), progress.listed + len(users), progress.pages + 1)
        is_sure = bool(left) or not doubt
        ended = None if left else "limit"
        return Shown(users, after, ended, fetched_at(fetched), is_sure, found.again)

    def _most_recent(self, page: PostPage) -> list[int]:
        """The mids of the newest posts that announce comments."""
        mids = (post.mid for post in page.posts if post.comments)
        return sorted(mids, reverse=True)[: self._source.settings.comments_posts]

    def _ask_again_unless(self, sure: bool, edge: Edge) -> None:
        """Law 4: what contradicts an announced count is asked for again later; when it stands, it
        is stored as unsure. Errors: Unsure."""
        if not sure and self._doubted != str(trouble := Unsure(edge)):
            raise trouble


class _Found:
    """Users found on a page, while they are looked up. again, sure: as in Shown. asked: whether
    the site was asked for a name."""

    def __init__(self) -> None:
        self.users: list[User] = []
        self.again = 0
        self.sure = True
        self.asked = False
