"""The pages that are asked for, each once where nothing goes wrong."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, PageSource
from weibo_crawler.records import (
    ECHO_LISTS,
    FACTS,
    OF_USERS,
    PEOPLE_LISTS,
    REFUSALS,
    EchoList,
    EchoPage,
    FanPage,
    Id,
    Kind,
    Post,
    PostPage,
    Reading,
    Request,
    User,
    Verdict,
)
from weibo_crawler.sites import Site

PROFILE, POSTS, LATER_POSTS, TEXT, NAME, INFO, TOPIC = (
    *("profile", "posts 1", "posts 2", "long text", "name"),
    *("information", "topic"),
)
ECHOES = {one.edge: one for one in ECHO_LISTS}  # each look bears the name of the list


class Look(NamedTuple):
    """A page that was asked for. reading None: it was not, and `why` says so."""

    name: str
    reading: Reading | None
    why: str = ""

    @property
    def is_shown(self) -> bool:
        return self.reading is not None and self.reading.verdict is Verdict.OK

    @property
    def is_walled(self) -> bool:
        """Whether guests are not shown it, which is a rule of the site and no fault."""
        return self.reading is not None and self.reading.verdict in _CLOSED

    @property
    def is_wrong(self) -> bool:
        """Whether the answer is one by which a crawl would end, or go without the page."""
        return self.reading is not None and self.reading.verdict not in {*FACTS, *_CLOSED}


_CLOSED = (Verdict.LOGIN_WALL, Verdict.RESTRICTED)


class Looks:
    """Asks for the pages of one user. After a refusal, or where the user is gone, no more is.

    patience_s: how long a page is waited for. wants_info: whether the crawl asks for the basic
    information of users, too. topic: the words of a topic of the crawl, "" where it reads none.
    """

    def __init__(
        self,
        site: Site,
        fetcher: PageSource,
        uid: Id,
        *,
        patience_s: float,
        wants_info: bool,
        topic: str = "",
    ) -> None:
        self._site, self._fetcher, self._uid = site, fetcher, uid
        self._patience_s, self._wants_info, self._topic = patience_s, wants_info, topic
        self._over, self._none = "", f"{site.title} has no such page"
        self._unread = ""  # why nobody knows what page 1 of the posts leads to

    async def run(self) -> AsyncIterator[Look]:
        """Each page as soon as it is known."""
        site, uid = self._site, self._uid
        yield (profile := await self._look(PROFILE, Ask(site.profile(uid))))
        yield (first := await self._look(POSTS, Ask(site.posts(uid, ""))))
        shown = first.reading.record if first.reading else None
        page = shown if isinstance(shown, PostPage) else PostPage(uid, (), None)
        if shown is not page:
            self._unread = "page 1 of the posts is not shown"
        yield await self._later(page)
        for edge in PEOPLE_LISTS:
            request = site.edge(edge, uid, "") if edge in site.edges else None
            yield await self._maybe(edge.value, request, self._none)
        if self._wants_info and Kind.INFO in site.kinds:
            yield await self._look(INFO, Ask(site.info(uid)))
        yield await self._text(page.posts)
        for which in ECHO_LISTS:
            yield await self._echoes(which, page.posts)
        owners = (profile.reading.record if profile.reading else None, page.profile)
        names = [one.screen_name for one in owners if isinstance(one, User) and one.screen_name]
        if Kind.NAME not in site.kinds:
            yield Look(NAME, None, self._none)
        else:
            request = site.name(names[0]) if names else None
            yield await self._maybe(NAME, request, "no name was shown")
        if self._topic:
            yield await self._look(TOPIC, Ask(site.search(self._topic, "")))

    async def _later(self, page: PostPage) -> Look:
        request = None
        if page.next_cursor is not None:
            request = self._site.posts(self._uid, page.next_cursor)
        why = self._unread or "page 1 names no next page"
        return await self._maybe(LATER_POSTS, request, why, nth=2)

    async def _text(self, posts: Iterable[Post]) -> Look:
        """By the ways to it, until one shows it. A way that has changed its shape is told, though
        another one shows the text: a crawl tries it, too."""
        cut = next((post for post in posts if not post.text_complete), None)
        if cut is None:
            return Look(TEXT, None, self._over or self._unread or "no text on page 1 is cut")
        look, changed = Look(TEXT, None), None
        for request in self._site.full_text(self._uid, cut.mid):
            look = await self._look(TEXT, Ask(request))
            if look.is_shown or look.reading is None:
                break
            changed = look if look.reading.verdict is Verdict.DRIFTED else changed
        return changed or look

    async def _echoes(self, which: EchoList, posts: Iterable[Post]) -> Look:
        if which.kind not in self._site.kinds:
            return Look(which.name, None, self._none)
        best = max(posts, key=lambda post: which.announced(post) or 0, default=None)
        request = None
        if best is not None and which.announced(best):
            request = self._site.echoes(which.kind, best.mid)
            request = replace(request, owners=which.owners(best))
        why = self._unread or "no post on page 1 announces any"
        return await self._maybe(which.name, request, why)

    async def _maybe(self, name: str, request: Request | None, why: str, nth: int = 1) -> Look:
        if request is None:
            return Look(name, None, self._over or why)
        return await self._look(name, Ask(request, nth=nth))

    async def _look(self, name: str, ask: Ask) -> Look:
        if self._over:
            return Look(name, None, self._over)
        try:
            async with asyncio.timeout(self._patience_s):
                reading = (await self._fetcher.fetch(ask)).reading
        except SiteSaysNo as no:
            reading = Reading(Verdict.REFUSED, why=str(no))
        except TimeoutError:
            why = f"no answer within {self._patience_s:.0f} s"
            reading = Reading(Verdict.SERVER_TROUBLE, why=why)
        is_refused = reading.verdict in REFUSALS and reading.verdict is not Verdict.LOGIN_WALL
        if is_refused and ask.request.kind in OF_USERS:
            self._over = f"not asked for: {name} was refused"
        elif reading.verdict is Verdict.GONE and ask.request.kind is Kind.PROFILE:
            self._over = "not asked for: there is no such user"
        return Look(name, reading, reading.why)


def content(look: Look) -> str:
    """What a page shows that was read, in words."""
    record = look.reading.record if look.reading is not None else None
    match record:
        case User():
            lacks = ", ".join(record.lacks)
            return f"all fields but {lacks}" if lacks else "all fields"
        case PostPage():
            said = f"{len(record.posts)} posts"
            if record.unreadable:
                said += f", {len(record.unreadable)} not legible ({record.unreadable[0].path})"
            return said + (", names a next page" if record.next_cursor else ", names no next page")
        case FanPage() | EchoPage():
            people = len(record.users) + len(record.uncounted)
            left = sum(record.skipped.values())
            return f"{people} people" + (f", {left} items left out" if left else "")
        case None:
            return ""
    return "as known"
