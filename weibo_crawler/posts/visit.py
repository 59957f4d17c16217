"""One user of the map job: profile, timeline, long texts, ledger; one Outcome (law 6)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from weibo_crawler.fetch import Fetched, Fetcher
from weibo_crawler.posts import texts
from weibo_crawler.posts.changes import (
    Held,
    Span,
    changed_cells,
    is_edited,
    missing,
    needs_text,
    span_of,
)
from weibo_crawler.posts.closing import closed, outcome_of
from weibo_crawler.posts.holdings import Holdings
from weibo_crawler.posts.schedule import Revisit
from weibo_crawler.posts.stops import ENDS, LIMITS, Stops
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import Expect, Outcome, Page, Post, PostPage, Request, User, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Cells, Put, Table
from weibo_crawler.store.cells import (
    Ledger,
    gone_cells,
    ledger_cells,
    pinned_cells,
    profile_cells,
    text_cells,
)
from weibo_crawler.store.keys import post_key, user_key

R = TypeVar("R")

# of the announced posts: counts include posts that nobody can see any more
_MISSING_SHARE = 0.1
_MAYBE_ROUNDED = 10_000  # announced: the site shows 1.2万
_NOTHING = "nothing is shown of the posts that are announced"  # when that stands, it is stored


class VisitTrouble(Exception):
    """The visit cannot go on now; what was read is stored, the next run goes on from there."""


class UserForgotten(Exception):
    """`forget` removed this user during the visit: nothing more is asked or stored."""


class Visitor(NamedTuple):
    """What visits need. posts: the table, for reading; clock: seconds; revisit: bounds of the time
    until the next visit; try_walls: ask also for what guests were refused at most `revisit.most_s`
    ago; is_forgotten: whether `forget` removed a user, as far as the last put
    knows."""

    site: Site
    fetcher: Fetcher
    writer: Writer
    posts: Table
    keep_drifted: Callable[[Fetched], Awaitable[None]]
    clock: Callable[[], float]
    is_forgotten: Callable[[int], bool]
    run_id: str
    max_pages: int | None
    revisit: Revisit
    try_walls: bool

    async def visit(self, uid: int, ledger: Ledger | None) -> Outcome:
        """Visit one user; whatever the site answers, the ledger says how it went."""
        visit = _Visit(self, uid, ledger)
        try:
            return await visit.run()
        except VisitTrouble as trouble:
            return await visit.give_up(str(trouble))
        except UserForgotten:
            return Outcome(0, "forgotten")  # the job's output names nobody forgotten either


class _Visit:
    """The state of one visit. `ledger` is what the next put will say; its figures are absolute.

    A visit that was cut short goes on at its cursor. A later one reads from the top until it meets
    what is known, or, while an older part is missing (a wall, a limit, a doubtful end, a gap), as
    far as it is let. Known is what the last complete visit left in the ledger, not all that is in
    the table: there a visit that died may have left posts above a part that it did not reach.
    """

    def __init__(self, env: Visitor, uid: int, before: Ledger | None) -> None:
        self.env, self.uid = env, uid
        old = before or Ledger(state="partial")
        self.resumed = old.state in ("partial", "failed") and bool(old.cursor)
        self.old = old
        self.is_first = before is None
        self.cursor = old.cursor or "" if self.resumed else ""
        self.holdings = Holdings(env.posts, uid, is_new=before is None)
        self.texts = texts.Texts(env.site, env.fetcher, env.keep_drifted, uid)
        self.known: frozenset[int] = frozenset()  # mids stored before this visit
        self.seen: set[int] = set(old.pinned) if self.resumed else set()  # mids of this visit
        self.cut, self.gone = set(old.cut), set(old.gone)
        self.edited = 0
        same_run = old.run_id == env.run_id  # an attempt that died had begun this visit
        self.stored_before = old.stored - (old.new if same_run else 0)
        self.ledger = replace(
            old,
            state="partial",
            new=old.new if same_run else 0,
            seen=old.seen if self.resumed else 0,
            pages=old.pages if self.resumed else 0,
            read_newest=old.read_newest if self.resumed else None,
            read_oldest=old.read_oldest if self.resumed else None,
            pinned=old.pinned if self.resumed else (),
            foreign=old.foreign if self.resumed else 0,
            refused_pages=old.refused_pages if self.resumed else 0,
            stopped="",
            last_error="",
            cursor=self.cursor,
            started_at=old.started_at if self.resumed else env.clock(),
            run_id=env.run_id,
        )

    async def run(self) -> Outcome:
        env = self.env
        if not self.is_first:
            self.known = await env.writer.call(self.holdings.mids)
        profile_empty = await self._profile()
        if profile_empty is None:
            return await self._finish("gone", "gone", sure=True)
        stopped = await self._timeline()
        if stopped == "gone":
            return await self._finish("gone", "gone", sure=True)
        if profile_empty and stopped == "end" and not self.seen:
            if self.known:
                raise VisitTrouble("the site shows nothing of a user whose posts are stored")
            return await self._finish("gone", "end", sure=False)
        sure = self._is_sure(stopped)
        if not self.seen and not sure and stopped in ENDS and self.old.last_error != _NOTHING:
            raise VisitTrouble(_NOTHING)
        await self._repair()
        await self._unpin()
        return await self._finish("done", stopped, sure=sure)

    # -- the pages

    async def _profile(self) -> bool | None:
        """Store the profile. True: the site shows nothing of this user; None: it says gone."""
        fetched = await self._fetch(self.env.site.profile(self.uid))
        reading = fetched.reading
        if reading.verdict == Verdict.GONE:
            return None
        if reading.verdict in (Verdict.EMPTY, Verdict.END):
            return True
        user, page = _of(reading.record, User), _page(fetched)
        self.ledger = replace(self.ledger, announced=user.posts)
        cells = profile_cells(user, page.fetched_at, self.env.run_id)
        await self.env.writer.put((), [Put(user_key(self.uid), cells, _ms(page.fetched_at))])
        return False

    async def _timeline(self) -> str:
        """Read pages until the site, a limit or what is known ends it; says why."""
        asked_again = False
        walls_rest_s = None if self.env.try_walls else self.env.revisit.most_s
        stops = Stops(self.cursor, walls_rest_s)
        while True:
            if self.env.max_pages is not None and self.ledger.pages >= self.env.max_pages:
                return "max_pages"
            fetched = await self._fetch(
                self.env.site.posts(self.uid, self.cursor),
                walled_ok=self.ledger.pages > 0,
                expect=Expect.NOTHING if self._is_all() else Expect.UNKNOWN,
            )
            verdict = fetched.reading.verdict
            if verdict == Verdict.LOGIN_WALL:
                self.ledger = replace(self.ledger, walled_at=self.env.clock())
                return "login_wall"
            if verdict == Verdict.GONE:
                return "gone"
            if verdict in (Verdict.EMPTY, Verdict.END):
                if asked_again or not self._missing():
                    return "end"
                asked_again = True
                await asyncio.sleep(texts.ASK_AGAIN_S)
                continue
            asked_again = False
            page = _of(fetched.reading.record, PostPage)
            why = stops.at(
                page,
                self.ledger,
                self.env.clock(),
                known=self.known,
                seen=self.seen,
                is_surplus=self._is_surplus(),
            )
            await self._store(page, _page(fetched), page.next_cursor if why is None else None)
            if why is not None:
                return why
            self.cursor = page.next_cursor or ""

    async def _store(self, page: PostPage, raw: Page, cursor: str | None) -> None:
        """Put what the page changes, then the ledger with the cursor after it."""
        fresh = [post for post in page.posts if post.mid not in self.seen]
        span = span_of(page.posts, is_first=not self.cursor)
        held = await self._held(fresh, span)
        whole = await self._complete(fresh, held)
        self.seen |= {post.mid for post in fresh}
        pinned = {*self.ledger.pinned, *(post.mid for post in fresh if post.is_pinned)}
        gone = missing(held, span, self.seen | pinned)
        puts = [
            self._post_put(
                post.mid, changed_cells(held.get(post.mid), post, raw, self.env.run_id), raw
            )
            for post in whole
        ]
        puts += [
            self._post_put(mid, gone_cells(raw.fetched_at), raw)
            for mid in gone
            if not held[mid]["gone_at"]
        ]
        self._count(whole, held, gone)
        self.ledger = replace(
            self.ledger,
            **self._figures(),
            **self._reach(page, span),
            seen=self.ledger.seen + len(fresh),
            pages=self.ledger.pages + 1,
            pinned=tuple(sorted(pinned)),
            foreign=self.ledger.foreign + page.foreign,
            cursor=cursor if cursor is not None else self.cursor,
        )
        await self.env.writer.put(puts, [self._ledger_put()])
        self.holdings.stored(whole)

    async def _held(self, posts: list[Post], span: Span | None) -> dict[int, Held]:
        """What is stored of the posts of a page and of what should stand between them."""
        if not self.known:
            return {}
        others = [post.mid for post in posts if post.mid in self.known]
        return await self.env.writer.call(self.holdings.beside, span, others)

    async def _complete(self, posts: list[Post], held: Mapping[int, Held]) -> list[Post]:
        """The posts with their whole texts; as they are where those are stored, or no way leads to
        them."""
        cut = [post.mid for post in posts if needs_text(held.get(post.mid), post)]
        if not cut:
            return posts
        texts = dict(zip(cut, await asyncio.gather(*map(self.texts.whole, cut)), strict=True))
        return [
            post
            if (text := texts.get(post.mid)) is None
            else replace(post, text=text, text_complete=True)
            for post in posts
        ]

    def _count(self, whole: list[Post], held: Mapping[int, Held], gone: set[int]) -> None:
        """Edits, cut texts and gone posts of a page."""
        for post in whole:
            before = held.get(post.mid)
            is_new_text = before is None or is_edited(before, post)
            self.edited += before is not None and is_new_text
            if post.text_complete:
                self.cut.discard(post.mid)
            elif is_new_text:
                self.cut.add(post.mid)
        self.gone = (self.gone | gone) - self.seen

    def _reach(self, page: PostPage, span: Span | None) -> dict[str, int | None]:
        """How far the pages so far reach without a break."""
        newest, oldest = self.ledger.read_newest, self.ledger.read_oldest
        if span is not None:
            oldest = span.oldest if oldest is None else min(oldest, span.oldest)
        if newest is None:
            newest = max((post.mid for post in page.posts), default=None)
        return {"read_newest": newest, "read_oldest": oldest}

    def _post_put(self, mid: int, cells: Cells, raw: Page) -> Put:
        return Put(post_key(self.uid, mid), cells, _ms(raw.fetched_at))

    async def _repair(self) -> None:
        """Long texts that earlier visits could not get and this one did not meet."""
        for mid in sorted(self.cut - self.seen):
            text = await self.texts.whole(mid)
            if text is not None:
                put = Put(post_key(self.uid, mid), text_cells(text), _ms(self.env.clock()))
                await self.env.writer.put([put], [])
                self.cut.discard(mid)

    # -- the end

    def _missing(self) -> int:
        """How many posts the announced count says there are beside those known."""
        return max(0, (self.ledger.announced or 0) - self._standing())

    def _is_all(self) -> bool:
        """Whether this visit was shown as many posts as are announced: what an empty answer says is
        expected then."""
        announced = self.ledger.announced
        return announced is not None and len(self.seen) >= announced < _MAYBE_ROUNDED

    def _is_surplus(self) -> bool:
        """Whether more posts are held than are announced: some were deleted where no visit has
        looked since."""
        announced = self.ledger.announced
        if announced is None or announced >= _MAYBE_ROUNDED:
            return False
        return self._standing() > announced

    def _standing(self) -> int:
        """How many posts are held that are not gone, as far as is known."""
        return len((self.known | self.seen) - self.gone)

    def _is_sure(self, stopped: str) -> bool:
        """Law 4: an end that contradicts the announced count by much is no fact."""
        if stopped == "known":
            return True
        if stopped in LIMITS:
            return not self._is_surplus()
        if not self.ledger.pages and self.ledger.announced:
            return False  # nothing at all was shown, however much is held
        return self._missing() <= _MISSING_SHARE * (self.ledger.announced or 0)

    async def _unpin(self) -> None:
        """Posts that were pinned at the last visit, are not now, and stand on no page read."""
        gone = set(self.old.pinned) - set(self.ledger.pinned) - self.seen
        if gone and not self.resumed:
            now = _ms(self.env.clock())
            puts = [Put(post_key(self.uid, mid), pinned_cells(False), now) for mid in gone]
            await self.env.writer.put(puts, [])

    async def _finish(self, state: str, stopped: str, *, sure: bool) -> Outcome:
        self.ledger = replace(
            self.ledger,
            state=state,
            stopped=stopped,
            sure=sure,
            **self._figures(),
            cursor=None,
            visited_at=self.env.clock(),
            doubts=0 if sure and not self.cut else self.old.doubts + 1,
        )
        self.ledger = await self.env.writer.call(
            closed, self.ledger, self.holdings, self.env.revisit, self.env.clock()
        )
        await self.env.writer.put([], [self._ledger_put()])
        return self._outcome()

    async def give_up(self, why: str) -> Outcome:
        """The ledger keeps cursor and figures; the next run goes on from there."""
        self.ledger = replace(
            self.ledger,
            state="failed",
            last_error=why,
            stopped="trouble",
            pinned=self.ledger.pinned if self.ledger.pages else self.old.pinned,
            completed=self.old.completed + self.texts.completed,
        )
        await self.env.writer.put([], [self._ledger_put()])
        return self._outcome()

    def _outcome(self) -> Outcome:
        return replace(
            outcome_of(self.uid, self.ledger),
            completed=self.texts.completed,
            edited=self.edited,
            gone=len(self.gone - set(self.old.gone)),
        )

    def _figures(self) -> dict[str, Any]:
        """Figures of the ledger: rows of the table, how many of them are of this run, and which of
        them are cut or gone."""
        stored = len(self.known | self.seen)
        return {
            "stored": stored,
            "new": max(0, stored - self.stored_before),
            "cut": tuple(sorted(self.cut)),
            "gone": tuple(sorted(self.gone)),
            "completed": self.old.completed + self.texts.completed,
        }

    def _ledger_put(self) -> Put:
        return Put(user_key(self.uid), ledger_cells(self.ledger), _ms(self.env.clock()))

    async def _fetch(
        self, request: Request, *, walled_ok: bool = False, expect: Expect = Expect.UNKNOWN
    ) -> Fetched:
        """A page that is a fact (or a wall that ends the timeline), else VisitTrouble. expect: as in
        `Fetcher.fetch`."""
        if self.env.is_forgotten(self.uid):
            raise UserForgotten
        fetched = await self.env.fetcher.fetch(request, expect=expect)
        reading = fetched.reading
        if reading.verdict in (Verdict.OK, Verdict.EMPTY, Verdict.END, Verdict.GONE):
            return fetched
        self.ledger = replace(self.ledger, refused_pages=self.ledger.refused_pages + 1)
        if reading.verdict == Verdict.LOGIN_WALL and walled_ok:
            return fetched
        if reading.verdict == Verdict.DRIFTED:
            await self.env.keep_drifted(fetched)
        raise VisitTrouble(f"{reading.verdict}: {reading.why}" if reading.why else reading.verdict)


def _of(record: object, kind: type[R]) -> R:
    """The record of an OK reading; another kind is a fault of the site's reader."""
    if not isinstance(record, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(record).__name__}")
    return record


def _page(fetched: Fetched) -> Page:
    if fetched.page is None:
        raise TypeError("a page that was read is missing")
    return fetched.page


def _ms(seconds: float) -> int:
    """A cell's timestamp: milliseconds."""
    return int(seconds * 1000)
