"""How a user leads to others: each edge read page by page.

edge             what one page is                                 its cursor
fans, follows    a page of the list                               the site's
reposts          the authors of the originals on a page of posts  the site's, of the posts
comments         who stands under one of the best posts           posts still to ask for
reposters        the same, of its reposts                         the same
mentions         who is named on a page of posts                  the site's, of the posts

Where a page does not tell a user's fans (names always, authors on some pages), a name is resolved
and a profile is asked for: two requests a name, one an author. The pages of posts of one entry
serve all its edges.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple, NoReturn

from msgspec.structs import replace

from weibo_crawler.evidence import Place
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.harvest.asking import (
    FULL,
    KINDS,
    UNNAMED,
    Doubtful,
    end_of,
    fetched_at,
)
from weibo_crawler.harvest.sightings import Sightings, Source, illegible_on
from weibo_crawler.harvest.trouble import (
    DOUBTS,
    EntryTrouble,
    NoPage,
    PutOff,
    Silent,
    Unsure,
    UnsureWall,
    Walled,
    WalledTwice,
)
from weibo_crawler.records import (
    ECHO_LISTS,
    PEOPLE_LISTS,
    EchoList,
    EchoPage,
    Edge,
    Expect,
    FanPage,
    Id,
    PostPage,
    Reading,
    User,
    Verdict,
    read_id,
)
from weibo_crawler.store import Entry, Progress
from weibo_crawler.store.kept import KeptPage, pack
from weibo_crawler.walls import Walls

_EDGES = frozenset(map(str, Edge))
_ECHOES = {one.edge: one for one in ECHO_LISTS}
_BARREN_PAGES = 3  # in a row that hold nobody legible, though each names the next one
_NOT_SHOWN = "nothing is shown, nor is the profile, or such a page of anybody"
THIN = 10  # comments, of a post whose first page of them is no half page
_DOUBT = "?"  # begins a cursor of posts: an earlier post showed less than it announced


class Shown(NamedTuple):
    """What one page shows: users with their fans, and the progress behind it.

    ended, sure: as in PageCommit. again: users known already whose fans nobody asked for. seen: all
    whom it shows.
    is_proof: whether the site showed something that it refuses where the edge is walled.
    illegible: how many people it may show who could not be read.
    is_put_off: the rest of the list waits for the end of the walk.
    """

    users: tuple[User, ...]
    after: Progress
    ended: str | None
    fetched_at: float
    sure: bool = True
    again: int = 0
    is_proof: bool = True
    seen: tuple[Id, ...] = ()
    is_put_off: bool = False
    illegible: int = 0


class EdgeReader:
    """Reads the edges of one entry. walls: which pages others are refused; whoever calls `read`
    asks them before, and tells them after it. doubted: what earlier walks doubted and no page has
    settled, in the words of the doubts. puts_off: whether posts with few comments, and timelines of
    which no posts are announced, wait for the end of the walk. behind: so many pages that show
    nobody the last `read` passed.
    Errors of `read`: Walled, EntryGone, EntryTrouble, Unsure, PutOff."""

    def __init__(self, source: Source, entry: Entry, walls: Walls) -> None:
        self._source, self._entry, self._walls = source, entry, walls
        self.doubted = {said for said in entry.last_error.split(DOUBTS) if _edge_of(said)}
        self._listed = {edge: set(done.last_ids) for edge, done in entry.progress.items()}
        self._repeats = dict.fromkeys(entry.progress, 0)  # who stood on an earlier page, too
        self._unread = dict.fromkeys(entry.progress, 0)  # who stood there and could not be read
        self._barren = dict.fromkeys(entry.progress, 0)
        self._retried = set(entry.progress) if entry.is_retry else set()
        self._unsure = set[Edge]()  # lists of which a page showed less than it should
        self._posts: dict[str, Fetched] = {}
        self._read: list[KeptPage] = []
        self._silent: bool | None = None
        self._told: Fetched | None = None  # the profile that told whether that is so
        self._thin = set[tuple[Edge, Id]]()  # lists under posts, met by this walk, that are short
        self.puts_off = False
        self.behind = 0
        self._waits = False  # whether the posts are not looked at yet, as none are announced
        self._is_unnamed = False  # the last page did not name the next one, where others do
        self._is_looked = False  # whether an end that is met now was looked at
        self._is_awaited = False  # whether this is the look at an end that an earlier visit met

    async def read(self, edge: Edge, progress: Progress) -> Shown:
        """The next page of an edge. A wall that nobody confirmed is one when it is met again."""
        asker, uid = self._source.asker, self._entry.uid
        is_second_look = self._is_awaited = str(Unsure(edge)) in self.doubted
        is_needless = is_second_look and asker.is_needless(uid, edge)
        try:
            if is_needless:  # the end stands that the last visit met
                shown = Shown((), progress, "end", time.time(), sure=False)
            else:
                shown = await self._next(edge, progress)
        except UnsureWall as wall:
            if str(wall) in self.doubted:
                raise WalledTwice(wall.said) from None
            raise
        self.doubted = {said for said in self.doubted if _edge_of(said) != edge}
        self._retried.discard(edge)
        if is_second_look and not is_needless:
            asker.looked_later(uid, edge, found=shown.after.listed > progress.listed)
        return shown

    def take_read(self) -> tuple[KeptPage, ...]:
        """The pages of posts and comments to keep that were read since the last call."""
        read, self._read = tuple(self._read), []
        return read

    async def _next(self, edge: Edge, progress: Progress) -> Shown:
        if edge is Edge.REPOSTS:
            return await self._timeline(edge, progress, self._authors)
        if edge is Edge.MENTIONS:
            return await self._timeline(edge, progress, self._mentioned)
        if edge in _ECHOES:
            return await self._echoes(_ECHOES[edge], progress)
        return await self._list(edge, progress)

    # -- fans and follows

    async def _list(self, edge: Edge, progress: Progress) -> Shown:
        """The next page of a list. One that has shown all that was announced ends with the last
        page, and so does one whose last page names no next one where others do, but for samples:
        the look behind such a page is the second look at its end, unless such looks show more."""
        asker, expect = self._source.asker, self._expected(edge, progress)
        is_full = expect is Expect.NOTHING and progress.pages > 0
        kinds = [kind for kind, is_it in ((FULL, is_full), (UNNAMED, self._is_unnamed)) if is_it]
        self._is_looked = self._is_unnamed and asker.is_end(edge)
        self._is_unnamed = False
        if not all(asker.wants_end(edge, kind) for kind in kinds):
            sure = self._is_whole(edge, progress)
            if not is_full:
                await self._end(edge, sure=sure, is_later=True)
            return Shown((), progress, "end", time.time(), sure)
        try:
            shown = await self._list_page(edge, progress, expect)
        except Unsure:
            self._looked(edge, kinds, found=False)
            raise
        self._looked(edge, kinds, found=shown.after.listed > progress.listed)
        return shown

    def _looked(self, edge: Edge, kinds: Iterable[str], *, found: bool) -> None:
        for kind in kinds:
            self._source.asker.looked(edge, kind, found=found)

    async def _list_page(self, edge: Edge, progress: Progress, expect: Expect) -> Shown:
        """A page, or the first one behind a few that show nobody and name the next. Where these do
        not end, whoever asks again later begins with the first of them."""
        at = progress
        for behind in range(1 + _BARREN_PAGES):
            self.behind = behind
            if behind and not self._walls.may_ask(edge, at.pages + 1, time.time()):
                raise Walled(Verdict.LOGIN_WALL)
            fetched = await self._ask_of_owner(edge, at, expect)
            record = fetched.reading.record
            if not (isinstance(record, FanPage) and fetched.reading.ambiguous):
                return await self._listed_page(edge, at, expect, fetched)
            self._source.count_skipped(record)
            if record.next_cursor is None:
                break
            at = Progress(record.next_cursor, at.last_ids, at.listed, at.pages + 1)
        await self._end(edge, sure=True, expect=Expect.CONTENT, is_later=True)
        self._unsure.add(edge)
        return Shown((), progress, "barren", fetched_at(fetched), sure=False)

    async def _listed_page(
        self, edge: Edge, progress: Progress, expect: Expect, fetched: Fetched
    ) -> Shown:
        record, asker = fetched.reading.record, self._source.asker
        if not isinstance(record, FanPage):
            sure = self._is_whole(edge, progress)
            is_later = bool(progress.cursor)
            await self._end(edge, sure=sure, expect=expect, bare=fetched, is_later=is_later)
            return Shown((), progress, "end", fetched_at(fetched), sure)
        self._source.count_skipped(record)
        found = Sightings(illegible=illegible_on(record))
        await self._source.look_up(record.users, record.uncounted, edge, found)
        after, ended = self._step(edge, progress, record)
        if record.is_next_named:
            asker.naming.add(edge)
        self._is_unnamed = not record.is_next_named and edge in asker.naming
        sure = ended in (None, "last_page") or self._is_enough(edge, after)
        if ended == "barren":  # whoever asks again later begins behind it
            self._unsure.add(edge)
        elif not sure or not found.sure:
            await self._end(edge, sure=False, is_later=bool(progress.cursor))
            self._unsure.add(edge)
        sure = edge not in self._unsure
        return _shown(found, after, ended, fetched_at(fetched), sure)

    def _expected(self, edge: Edge, progress: Progress) -> Expect:
        """What is known of the next page of a list. That the page before names it is no promise: on
        some sites the last page does so, too."""
        fans = self._entry.fans if edge is Edge.FANS else None
        if not progress.pages:
            return Expect.UNKNOWN if fans is None else Expect.CONTENT if fans else Expect.NOTHING
        is_all = fans is not None and self._is_all(progress, fans)
        return Expect.NOTHING if is_all else Expect.UNKNOWN

    def _is_all(self, progress: Progress, fans: int) -> bool:
        """Whether the list has shown as many fans as were announced, and a last page with room: the
        owner may have won many since."""
        one_more = self._source.site.announced_pages(Edge.FANS, progress.listed + 1)
        return 0 < fans <= progress.listed and one_more <= progress.pages

    def _is_whole(self, edge: Edge, progress: Progress) -> bool:
        """Whether nothing would contradict the end of a list here."""
        return self._is_enough(edge, progress) and edge not in self._unsure

    def _is_enough(self, edge: Edge, progress: Progress) -> bool:
        """Whether the end of a list agrees with what is announced. Where there are some, or
        nobody knows how many, somebody at least must have been shown; and where as many places were
        shown as are announced, but some users twice, others have no place yet: the list moved while
        it was read."""
        fans = self._entry.fans if edge is Edge.FANS else None
        if fans is None:
            return progress.pages >= 1 and progress.listed > 0
        pages = self._source.site.announced_pages(edge, fans)
        shown = progress.listed + self._unread[edge]
        # an earlier visit has doubted this end, or this one met some users twice
        if shown < fans and (self._is_awaited or fans <= shown + self._repeats[edge]):
            return False
        return progress.pages >= pages and (progress.listed > 0 or not pages)

    def _step(self, edge: Edge, progress: Progress, page: FanPage) -> tuple[Progress, str | None]:
        """The progress behind a page, and why the list ends with it. A page that shows only who was
        shown before is the end. One that shows nobody is none where it names the next one, or
        holds what could not be read."""
        ids = {user.uid for user in page.users} | set(page.uncounted)
        fresh = ids - self._listed[edge]
        self._listed[edge] |= fresh
        self._repeats[edge] += len(ids) - len(fresh)
        self._unread[edge] += sum(page.skipped.values())
        self._barren[edge] = 0 if fresh else self._barren[edge] + 1
        if ids and not fresh:
            return progress, "no_new_user"
        has_more = page.is_next_named or page.skipped
        if not ids and (page.next_cursor is None or not has_more):
            return progress, "end"
        if self._barren[edge] > _BARREN_PAGES:
            return progress, "barren"
        after = Progress(
            page.next_cursor or progress.cursor,
            tuple(sorted(ids)) or progress.last_ids,
            progress.listed + len(fresh),
            progress.pages + 1,
        )
        return after, "last_page" if page.next_cursor is None else None

    async def _ask_of_owner(
        self, edge: Edge, progress: Progress, expect: Expect = Expect.UNKNOWN
    ) -> Fetched:
        site, uid, cursor = self._source.site, self._entry.uid, progress.cursor
        is_list = edge in PEOPLE_LISTS
        request = site.edge(edge, uid, cursor) if is_list else site.posts(uid, cursor)
        ask = Ask(
            request,
            Expect.NOTHING if is_list and (self._is_looked or self._is_awaited) else expect,
            nth=progress.pages + 1,
            is_retry=edge in self._retried,
            end=end_of(edge) if is_list or not cursor else "",  # a page of posts has named it
            is_looked_later=is_list and not self._is_whole(edge, progress),
        )
        fetched = await self._source.asker.ask(ask, edge)
        if fetched.reading.verdict is Verdict.GONE:
            await self._raise_gone(edge)
        return fetched

    async def _raise_gone(self, edge: Edge) -> NoReturn:
        """Raise EntryGone, or EntryTrouble where the profile of the owner is shown."""
        try:
            record = (await self._profile(edge)).reading.record
        except Walled:  # so nothing contradicts it
            record = None
        if isinstance(record, User):
            self._source.asker.misled.add(self._entry.uid)
            raise EntryTrouble(f"{edge}: the list says gone, and the profile is shown")
        await self._source.asker.raise_gone(self._entry, edge)

    # -- from pages of posts

    async def _timeline(
        self, edge: Edge, progress: Progress, find: Callable[[PostPage], Awaitable[Sightings]]
    ) -> Shown:
        fetched, page = await self._post_page(edge, progress)
        is_proof, at = edge is Edge.REPOSTS, fetched_at(fetched)
        if page is None:
            sure = bool(progress.pages) or await self._is_silent(edge)
            expect = Expect.CONTENT if progress.cursor else Expect.UNKNOWN
            await self._end(edge, sure=sure, expect=expect, is_later=bool(progress.cursor))
            self._keep_nothing(fetched)
            return Shown((), progress, "end", at, sure, is_proof=is_proof)
        found = await find(page)
        found.illegible += len(page.unreadable) + page.illegible * (edge is Edge.REPOSTS)
        # a page may be named behind this one that cannot be asked for
        is_hidden = page.next_cursor is None and "odd cursor" in page.skipped
        is_hidden = is_hidden and progress.pages + 1 < self._source.settings.posts_pages
        if is_hidden or not found.sure:
            await self._end(edge, sure=False, is_later=bool(progress.cursor))
        listed = progress.listed + len(found.users) + found.again
        after = Progress(page.next_cursor or progress.cursor, (), listed, progress.pages + 1)
        ended = None
        if not found.sure:  # whoever asks again later begins with this page
            ended, after = "unsure", progress
        elif page.next_cursor is None:
            ended = "last_page"
        elif after.pages >= self._source.settings.posts_pages:
            ended = "limit"
        sure = found.sure and not is_hidden
        return _shown(found, after, ended, at, sure, is_proof=is_proof or found.asked)

    async def _post_page(self, edge: Edge, progress: Progress) -> tuple[Fetched, PostPage | None]:
        """None: the timeline shows no more. A later page was named by the one before it."""
        cursor = progress.cursor
        self._put_off_postless()
        if cursor not in self._posts:
            expect = Expect.CONTENT if cursor else Expect.UNKNOWN
            self._posts[cursor] = await self._ask_of_owner(edge, progress, expect)
            self._keep(self._posts[cursor])
        fetched = self._posts[cursor]
        record = fetched.reading.record
        return fetched, record if isinstance(record, PostPage) else None

    def _put_off_postless(self) -> None:
        """Where none are announced and the order is free, raise PutOff, in one visit."""
        if self.puts_off and not self._posts:
            self._waits = self._waits or self._source.postless.is_to_wait(self._entry.uid)
        if self._waits:
            raise PutOff

    def _keep(self, fetched: Fetched) -> None:
        """Keep what has content: an emptiness is evidence of the moment."""
        reading, page = fetched.reading, fetched.page
        is_sure = reading.verdict is Verdict.OK and not reading.ambiguous
        if self._source.settings.keep_posts and is_sure and page is not None:
            self._read.append(pack(page))

    def _keep_nothing(self, empty: Fetched) -> None:
        """Keep an empty page 1 that is believed, with the profile that was asked because of it and
        announces no posts: together they are a fact (law 4)."""
        told, self._told = self._told, None
        if told is None or empty.page is None or empty.reading.verdict is not Verdict.EMPTY:
            return
        profile = told.reading.record
        if self._source.settings.keep_posts and isinstance(profile, User) and profile.posts == 0:
            self._read.append(pack(empty.page))
            self._keep(told)

    async def _is_silent(self, edge: Edge) -> bool:
        """Law 4: a timeline without posts is a fact where the profile announces none. Errors:
        Walled where profiles are closed, too."""
        if self._silent is None:
            self._told = await self._profile(edge)
            record = self._told.reading.record
            self._silent = isinstance(record, User) and not record.posts
        return self._silent

    async def _profile(self, edge: Edge) -> Fetched:
        """The profile of the owner, who is known to be there where a name is stored."""
        expect = Expect.UNKNOWN if self._entry.screen_name is None else Expect.CONTENT
        profile = self._source.site.profile(self._entry.uid)
        ask = Ask(profile, expect, is_retry=self._entry.is_retry)
        fetched = await self._source.asker.ask(ask, edge)
        if fetched.reading.verdict is Verdict.GONE:
            await self._source.asker.raise_gone(self._entry, edge)
        return fetched

    async def _authors(self, page: PostPage) -> Sightings:
        found = Sightings()
        users = [author for author in page.authors if isinstance(author, User)]
        others = [author.uid for author in page.authors if not isinstance(author, User)]
        await self._source.look_up(users, others, Edge.REPOSTS, found)
        return found

    async def _mentioned(self, page: PostPage) -> Sightings:
        found = Sightings()
        for name in page.mentions[: self._source.settings.mentions_per_page]:
            found.asked |= not self._source.people.knows(name)
            try:
                uid = await self._source.people.named(name, Edge.MENTIONS)
            except Doubtful:
                found.sure = False
                continue
            if uid is not None:
                found.seen.append(uid)
                await self._source.add(uid, Edge.MENTIONS, found)
        return found

    # -- from what is under posts

    async def _echoes(self, which: EchoList, progress: Progress) -> Shown:
        edge = which.edge
        doubt = progress.cursor.startswith(_DOUBT)
        lists = _lists_at(progress.cursor.removeprefix(_DOUBT))
        if not progress.cursor:
            fetched, page = await self._post_page(edge, progress)
            if page is None:
                sure = await self._is_silent(edge)
                await self._end(edge, sure=sure)
                self._keep_nothing(fetched)
                return Shown((), progress, "end", fetched_at(fetched), sure, is_proof=False)
            lists = self._longest(which, page)
        if not lists:
            return Shown((), progress, "last_page", time.time(), is_proof=False)
        if self.puts_off and (edge, lists[0][0]) in self._thin:
            if progress.cursor:
                raise PutOff
            after = Progress(_cursor_of(lists))
            return Shown((), after, None, time.time(), is_proof=False, is_put_off=True)
        request = self._source.site.echoes(which.kind, lists[0][0])
        request = replace(request, owners=lists[0])
        ask = Ask(request, end=end_of(edge), is_looked_later=True)
        try:
            fetched = await self._source.asker.ask(ask, edge)
        except NoPage as trouble:  # it costs this post
            fetched = Fetched(Reading(Verdict.SERVER_TROUBLE, why=str(trouble)), None)
        self._keep(fetched)
        record, found = fetched.reading.record, Sightings()
        if isinstance(record, EchoPage):
            self._source.count_skipped(record)
            found.illegible = illegible_on(record)
            await self._source.look_up(record.users, record.uncounted, edge, found)
        # these two are facts about the post, not about its user
        is_fact = fetched.reading.verdict in (Verdict.GONE, Verdict.RESTRICTED)
        is_page = record is not None and not fetched.reading.ambiguous  # of this post
        if not (found.sure and (is_page or is_fact)):
            await self._end(edge, sure=False)
            doubt = True
        left = _cursor_of(lists[1:])
        cursor = _DOUBT + left if doubt and left else left
        after = Progress(cursor, (), progress.listed + len(found.users), progress.pages + 1)
        is_sure, ended = bool(left) or not doubt, None if left else "limit"
        at, is_proof = fetched_at(fetched), fetched.page is not None
        return _shown(found, after, ended, at, is_sure, is_proof=is_proof)

    def _longest(self, which: EchoList, page: PostPage) -> list[tuple[Id, ...]]:
        """The owners of the longest of such lists that posts announce, of as long ones those of the
        newest first; the first owner is the post itself."""
        announced = [(n, which.owners(post)) for post in page.posts if (n := which.announced(post))]
        self._thin |= {(which.edge, owners[0]) for n, owners in announced if n < THIN}
        most: int = getattr(self._source.settings, f"{which.edge}_posts")
        return [owners for _, owners in sorted(announced, reverse=True)[:most]]

    # -- ends

    async def _end(
        self,
        edge: Edge,
        *,
        sure: bool,
        expect: Expect = Expect.UNKNOWN,
        bare: Fetched | None = None,
        is_later: bool = False,
    ) -> None:
        """Return where the end of a list, or of what a page shows, may be believed (law 4).

        What contradicts an announced count (not sure) is asked for again later, or a sample of it,
        unless it was the second look; when it stands, it is stored as unsure. Nothing is believed
        of a site that shows nothing to anybody: an end that contradicts anything, or is one of many
        in a row, waits until something of the same kind comes that was asked for after it, which is
        asked for where nothing else is; while the site is not talking the owner's profile must be
        shown, too, and it alone is the proof where no such page was shown yet. is_later: the end is
        met behind a first page. Errors: Unsure, Silent, EntryGone."""
        if sure and expect is Expect.NOTHING:
            return
        asker, uid, now = self._source.asker, self._entry.uid, time.monotonic()
        place = asker.evidence.proof_of(Place(KINDS[edge], is_later), uid, sure=sure)
        if not sure and str(Unsure(edge)) not in self.doubted:
            is_heard = asker.is_talking and (
                not asker.evidence.is_quiet(place)
                or await asker.is_given_to_others(uid, now, place)
            )
            if not is_heard and not await self._is_shown(edge, place, now):
                raise Silent(f"{edge}: {_NOT_SHOWN}", place)
            if not self._is_looked and asker.wants_look(uid, edge, bare):
                raise Unsure(edge)
        if asker.is_talking and (
            (sure and expect is Expect.UNKNOWN and not asker.evidence.is_quiet(place))
            or await asker.evidence.came_after(now, place)
            or await asker.is_given_to_others(uid, now, place)
        ):
            return
        if not await self._is_shown(edge, place, now):
            raise Silent(f"{edge}: {_NOT_SHOWN}", place)

    async def _is_shown(self, edge: Edge, place: Place, at: float) -> bool:
        """Whether the site shows the owner's profile now and, where others are known who were shown
        such a page, one of these after `at`."""
        asker, uid = self._source.asker, self._entry.uid
        if asker.evidence.knows(uid, place) and not await asker.is_given_to_others(uid, at, place):
            return False
        try:
            return (await self._profile(edge)).reading.record is not None
        except (Walled, UnsureWall, NoPage):
            return False


def _lists_at(cursor: str) -> list[tuple[Id, ...]]:
    """The owners of the lists under posts that are still to be read."""
    return [tuple(map(read_id, part.split("/"))) for part in cursor.split(",") if part]


def _cursor_of(lists: Iterable[tuple[Id, ...]]) -> str:
    return ",".join("/".join(map(str, owners)) for owners in lists)


def _edge_of(said: str) -> str:
    """The edge that the words of a doubt begin with, "" for other words."""
    edge = said.partition(":")[0]
    return edge if edge in _EDGES else ""


def _shown(
    found: Sightings,
    after: Progress,
    ended: str | None,
    at: float,
    sure: bool,
    *,
    is_proof: bool = True,
) -> Shown:
    users, seen = tuple(found.users), tuple(dict.fromkeys(found.seen))
    return Shown(
        *(users, after, ended, at, sure, found.again, is_proof, seen), illegible=found.illegible
    )
