"""A scripted site for visits: timelines by user, newest first, ten posts a page."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta, timezone
from typing import Any

from msgspec.structs import replace

from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched, Room
from weibo_crawler.fetch.source import SHUT
from weibo_crawler.records import (
    ECHO_LISTS,
    EMPTY,
    BasicInfo,
    Echo,
    EchoPage,
    Expect,
    FullText,
    Kind,
    Page,
    Post,
    PostPage,
    Reading,
    Request,
    Unreadable,
    User,
    Verdict,
)
from weibo_crawler.samples import Samples

PAGE = 10


def post(uid: int, mid: int, **more: object) -> Post:
    """One post of the user; a long one shows only its beginning in lists."""
    text = f"text of {mid}"
    made = Post(mid, uid, "2026-01-01T00:00:00+08:00", "second", text, True, reposts=1)
    return replace(made, **more)


class ScriptedSite:
    clock = timezone(timedelta(hours=8))
    posts_a_page, exact_below = 10, 10_000
    kinds = frozenset(Kind)

    def profile(self, uid: int) -> Request:
        return Request(Kind.PROFILE, f"profile/{uid}", uid=uid)

    def info(self, uid: int) -> Request:
        return Request(Kind.INFO, f"info/{uid}", uid=uid)

    def posts(self, uid: int, cursor: str) -> Request:
        return Request(Kind.POSTS, f"posts/{uid}/{cursor}", uid=uid, cursor=cursor)

    def echoes(self, kind: Kind, mid: int, cursor: str = "") -> Request:
        return Request(kind, f"{kind}/{mid}{cursor and '/'}{cursor}", mid=mid, cursor=cursor)

    def full_text(self, uid: int, mid: int) -> tuple[Request, ...]:
        return (
            Request(Kind.EXTEND, f"extend/{mid}", uid=uid, mid=mid),
            Request(Kind.SHOW, f"show/{mid}", uid=uid, mid=mid),
        )

    def post(self, mid: int) -> tuple[Request, ...]:
        return self.full_text(0, mid)[1:]


class ScriptedFetcher:
    """Answers from `timelines`. trouble: url -> the verdicts to give before the true answer.

    texts: whole texts by mid. pinned: a post shown first on page 1, and in its place too. broken:
    mids of posts that cannot be read, nameless: those of them whose mid is not legible either.
    closed: url -> a fact about its post. shut: kinds that nobody is shown. doubted: urls whose
    answers are ambiguous. skipped: cards on each page that are no posts. lacks: what the posts do
    not show of their owner. parts: urls of which a drifted answer shows the posts that can be read.
    is_dead: no answer comes at all. old: url -> the timelines that the egress "old" had kept, for
    the next answers. said: mid -> what its own address says of a post. left: kind -> how many
    answers come before the site says no.
    disproved: the egresses that the caller has blamed.
    """

    waits_for = ""
    may_be_silent = False

    def __init__(
        self,
        timelines: Mapping[Any, Sequence[Post]],
        *,
        announced: Mapping[Any, int] | None = None,
        texts: Mapping[Any, str] | None = None,
        pinned: Mapping[Any, Post] | None = None,
        trouble: Mapping[str, Sequence[Verdict]] | None = None,
        broken: Collection[int] = (),
        nameless: Collection[int] = (),
        closed: Mapping[str, Verdict] | None = None,
        shut: Collection[Kind] = (),
        doubted: Collection[str] = (),
        skipped: Mapping[str, int] | None = None,
        lacks: Collection[str] = (),
        parts: Collection[str] = (),
        is_dead: bool = False,
        old: Mapping[str, Sequence[Sequence[Post]]] | None = None,
        said: Mapping[Any, Verdict] | None = None,
    ) -> None:
        self.old = {url: list(timelines) for url, timelines in (old or {}).items()}
        self.said, self.disproved = dict(said or {}), list[str]()
        self.timelines, self.announced = timelines, dict(announced or {})
        self.texts, self.pinned = dict(texts or {}), dict(pinned or {})
        self.trouble = {url: list(verdicts) for url, verdicts in (trouble or {}).items()}
        self.broken, self.nameless = frozenset(broken), frozenset(nameless)
        self.closed, self.doubted = dict(closed or {}), frozenset(doubted)
        self.shut = frozenset(shut)
        self.skipped, self.is_dead = dict(skipped or {}), is_dead
        self.lacks, self.parts = dict.fromkeys(lacks), frozenset(parts)
        self.info: dict[Any, BasicInfo] = {}
        # by their kind, then by mid
        self.echoes: dict[Kind, dict[Any, Sequence[Echo]]] = {one.kind: {} for one in ECHO_LISTS}
        self.samples = Samples(0.01)
        self.asked: list[str] = []
        self.expected: dict[str, Expect] = {}
        self.ends: dict[str, str] = {}
        self.nth: dict[str, int] = {}
        self.retried: list[str] = []
        self.contradicted: list[Kind] = []
        self.left: dict[Kind, int] = {}
        self.is_talking = True
        self.now = 1_700_000_000.0

    def drain(self) -> None:
        pass

    def disprove(self, egress: str) -> None:
        self.disproved.append(egress)

    def contradict(self, kind: Kind, page: Page) -> None:
        self.contradicted.append(kind)

    def room(self) -> Room:
        return Room(32)

    async def close(self) -> None:
        pass

    async def fetch(self, ask: Ask) -> Fetched:
        if (kind := ask.request.kind) in self.left:
            self.left[kind] -= 1
            if self.left[kind] < 0:
                raise SiteSaysNo("no more")
        self.ends[ask.request.url] = ask.end
        fetched = await self._once(ask)
        # an emptiness is looked at twice
        is_timeline = ask.request.kind is Kind.POSTS
        if is_timeline and ask.expect is Expect.CONTENT and fetched.reading.verdict in EMPTY:
            return await self._once(ask)
        return fetched

    async def _once(self, ask: Ask) -> Fetched:
        await asyncio.sleep(0)
        request = ask.request
        self.asked.append(request.url)
        self.expected[request.url] = ask.expect
        self.nth[request.url] = ask.nth
        if ask.is_retry:
            self.retried.append(request.url)
        self.now += 1
        if self.is_dead:
            return Fetched(Reading(Verdict.SERVER_TROUBLE, why="no route to host"), None)
        if request.kind in self.shut:
            return Fetched(SHUT, None)
        egress = "old" if self.old.get(request.url) else "direct"
        page = Page(request.url, 200, (), b"{}", self.now, egress)
        if verdict := self.closed.get(request.url):
            return Fetched(Reading(verdict, why="scripted"), page)
        if verdicts := self.trouble.get(request.url):
            is_doubt, verdict = request.url in self.doubted, verdicts.pop(0)
            is_part = verdict is Verdict.DRIFTED and request.url in self.parts
            record = self._answer(request).record if is_part else None
            return Fetched(Reading(verdict, record, why="scripted", ambiguous=is_doubt), page)
        return Fetched(self._answer(request), page)

    def _answer(self, request: Request) -> Reading:
        uid = request.uid
        if request.kind in (Kind.EXTEND, Kind.SHOW):
            text = self.texts.get(request.mid)
            verdict = self.said.get(request.mid, Verdict.SERVER_TROUBLE)
            if verdict is Verdict.OK and text is None:
                text = f"text of {request.mid}"
            if text is None:
                return Reading(verdict)
            topics = tuple(text.split("#")[1::2])
            return Reading(Verdict.OK, FullText(request.mid, text, topics))
        if request.kind in self.echoes:
            said = self.echoes[request.kind].get(request.mid)
            if said is None:
                return Reading(Verdict.EMPTY, ambiguous=True)
            n = int(request.cursor or 1)
            said, left = said[2 * n - 2 : 2 * n], said[2 * n :]
            users = tuple(User(one.uid, one.screen_name, 5) for one in said)
            following = str(n + 1) if left else None
            return Reading(Verdict.OK, EchoPage(request.mid, users, following, echoes=tuple(said)))
        if request.kind == Kind.INFO and uid in self.info:
            return Reading(Verdict.OK, self.info[uid])
        if uid not in self.timelines or request.kind == Kind.INFO:
            return Reading(Verdict.EMPTY, ambiguous=True)
        kept = self.old.get(request.url)
        timeline = kept.pop(0) if kept else self.timelines[uid]
        if request.kind == Kind.PROFILE:
            return Reading(Verdict.OK, self._user(uid))
        number = int(request.cursor or 1)
        posts = tuple(timeline[(number - 1) * PAGE : number * PAGE])
        if not posts:
            return Reading(Verdict.EMPTY if number == 1 else Verdict.END, ambiguous=True)
        if number == 1 and uid in self.pinned:
            posts = (replace(self.pinned[uid], is_pinned=True), *posts)
        return Reading(Verdict.OK, self._page(uid, posts, str(number + 1)))

    def _page(self, uid: int, posts: Sequence[Post], cursor: str) -> PostPage:
        odd = tuple(
            Unreadable("$.mblog.text", b"%d" % p.mid, None if p.mid in self.nameless else p.mid)
            for p in posts
            if p.mid in self.broken
        )
        legible = tuple(p for p in posts if p.mid not in self.broken)
        owner = replace(self._user(uid), **self.lacks) if legible else None
        return PostPage(uid, legible, cursor, skipped=self.skipped, unreadable=odd, profile=owner)

    def _user(self, uid: int) -> User:
        announced = self.announced.get(uid, len(self.timelines[uid]))
        told = (2, announced, "f", "", False, -1, None, 3, f"{uid}.jpg")
        return User(uid, f"name {uid}", 50, *told)
