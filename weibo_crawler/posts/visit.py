"""One user of the map job: profile, timeline, long texts, ledger; one Outcome (law 6)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from weibo_crawler.fetch import Fetched, Fetcher
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import FullText, Outcome, Page, Post, PostPage, Request, User, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Put
from weibo_crawler.store.cells import (
    Ledger,
    count_cells,
    ledger_cells,
    post_cells,
    profile_cells,
    text_cells,
)
from weibo_crawler.store.keys import parse_post_key, post_key, posts_prefix, user_key

R = TypeVar("R")

_ASK_AGAIN_S = 1.0  # before an end that contradicts the announced count, or a cut text, is believed
# of the announced posts: counts include posts that nobody can see any more
_MISSING_SHARE = 0.1
_BARREN_PAGES = 5
_PAGES_AT_MOST = 200  # and as many as posts are announced: a timeline that never ends is none
_ENDS = ("end", "no_next_page", "no_new_post", "repeated_cursor", "known", "gone")
_LIMITS = ("login_wall", "max_pages", "too_many_pages")


class VisitTrouble(Exception):
    """The visit cannot go on now; what was read is stored, the next run goes on from there."""


class UserForgotten(Exception):
    """`forget` removed this user during the visit: nothing more is asked or stored."""


class Visitor(NamedTuple):
    """What visits need. key_list: the stored row keys with a prefix; clock: seconds;
    is_forgotten: whether `forget` removed a user, as far as the last put knows."""

    site: Site
    fetcher: Fetcher
    writer: Writer
    key_list: Callable[[str], Sequence[str]]
    keep_drifted: Callable[[Fetched], Awaitable[None]]
    clock: Callable[[], float]
    is_forgotten: Callable[[int], bool]
    run_id: str
    max_pages: int | None

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

    A visit that was cut short goes on at its cursor. When a timeline was once read to its end, the
    next visit reads from the top until it meets what is known; until then, be it for a wall, a
    limit or a doubtful end, each visit reads as far as it is let.
    """

    def __init__(self, env: Visitor, uid: int, before: Ledger | None) -> None:
        self.env, self.uid = env, uid
        old = before or Ledger(state="partial")
        self.resumed = old.state in ("partial", "failed") and bool(old.cursor)
        self.old = old
        self.is_first = before is None
        self.until_known = old.whole and not self.resumed
        self.cursor = old.cursor or "" if self.resumed else ""
        self.known: frozenset[int] = frozenset()  # mids stored before this visit
        self.seen: set[int] = set(old.pinned) if self.resumed else set()  # mids of this visit
        self.barren = 0  # pages in a row without a post new to this visit
        self.texts_completed = 0
        self.cut = set(old.cut)
        same_run = old.run_id == env.run_id  # an attempt that died had begun this visit
        self.stored_before = old.stored - (old.new if same_run else 0)
        self.ledger = replace(
            old,
            state="partial",
            new=old.new if same_run else 0,
            pages=old.pages if self.resumed else 0,
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
            keys = await env.writer.call(env.key_list, posts_prefix(self.uid))
            self.known = frozenset(parse_post_key(key)[1] for key in keys)
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
        await self._repair()
        await self._unpin()
        return await self._finish("done", stopped, sure=self._is_sure(stopped))

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
        cursors = {self.cursor}
        while True:
            if self.env.max_pages is not None and self.ledger.pages >= self.env.max_pages:
                return "max_pages"
            fetched = await self._fetch(
                self.env.site.posts(self.uid, self.cursor), walled_ok=self.ledger.pages > 0
            )
            verdict = fetched.reading.verdict
            if verdict == Verdict.LOGIN_WALL:
                return "login_wall"
            if verdict == Verdict.GONE:
                return "gone"
            if verdict in (Verdict.EMPTY, Verdict.END):
                if asked_again or not self._missing():
                    return "end"
                asked_again = True
                await asyncio.sleep(_ASK_AGAIN_S)
                continue
            asked_again = False
            page = _of(fetched.reading.record, PostPage)
            why = self._stop_at(page, cursors)
            await self._store(page, _page(fetched), page.next_cursor if why is None else None)
            if why is not None:
                return why
            self.cursor = page.next_cursor or ""
            cursors.add(self.cursor)

    def _stop_at(self, page: PostPage, cursors: set[str]) -> str | None:
        """Why this page is the last one, None while there is more. Pinned posts are out of date
        order, so they never tell that the known part of a timeline is reached."""
        in_place = [post.mid for post in page.posts if not post.is_pinned]
        if page.next_cursor is None:
            return "no_next_page"
        if page.next_cursor in cursors:
            return "repeated_cursor"
        # new posts push old ones to the next page, so one page without a new one is no end
        self.barren = (
            0 if any(post.mid not in self.seen for post in page.posts) else self.barren + 1
        )
        if self.barren >= _BARREN_PAGES:
            return "no_new_post"
        if self.ledger.pages >= _PAGES_AT_MOST + (self.ledger.announced or 0):
            return "too_many_pages"
        if self.until_known and in_place and all(mid in self.known for mid in in_place):
            return "known"
        return None

    async def _store(self, page: PostPage, raw: Page, cursor: str | None) -> None:
        """Put the page's posts, then the ledger with the cursor after it."""
        fresh = [post for post in page.posts if post.mid not in self.seen]
        whole = [
            post
            for post in fresh
            if not (self.until_known and post.mid in self.known and post.mid not in self.cut)
        ]
        whole = list(await asyncio.gather(*map(self._complete, whole)))
        stamp = _ms(raw.fetched_at)
        puts = [
            Put(
                post_key(self.uid, post.mid),
                post_cells(post, raw.fetched_at, raw.egress, self.env.run_id),
                stamp,
            )
            for post in whole
        ]
        stored = {post.mid for post in whole}
        puts += [
            Put(post_key(self.uid, post.mid), _sighting(post), stamp)
            for post in fresh
            if post.mid not in stored
        ]
        mids = {post.mid for post in fresh}
        self.seen |= mids
        self.cut = (self.cut - stored) | {post.mid for post in whole if not post.text_complete}
        pinned = {*self.ledger.pinned, *(post.mid for post in fresh if post.is_pinned)}
        self.ledger = replace(
            self.ledger,
            **self._stored(),
            completed=self.old.completed + self.texts_completed,
            pages=self.ledger.pages + 1,
            cut=tuple(sorted(self.cut)),
            pinned=tuple(sorted(pinned)),
            foreign=self.ledger.foreign + page.foreign,
            cursor=cursor if cursor is not None else self.cursor,
        )
        await self.env.writer.put(puts, [self._ledger_put()])

    # -- long texts

    async def _complete(self, post: Post) -> Post:
        """The post with its whole text; as it is where no way leads to it."""
        if post.text_complete:
            return post
        text = await self._full_text(post.mid)
        return post if text is None else replace(post, text=text, text_complete=True)

    async def _full_text(self, mid: int) -> str | None:
        """The whole text by the first way that has it; all of them are tried once more."""
        for is_last in (False, True):
            for request in self.env.site.full_text(self.uid, mid):
                fetched = await self.env.fetcher.fetch(request)
                if isinstance(fetched.reading.record, FullText):
                    self.texts_completed += 1
                    return fetched.reading.record.text
                if fetched.reading.verdict == Verdict.DRIFTED:
                    await self.env.keep_drifted(fetched)
            if not is_last:
                await asyncio.sleep(_ASK_AGAIN_S)
        return None

    async def _repair(self) -> None:
        """Long texts that earlier visits could not get and this one did not meet."""
        for mid in sorted(self.cut - self.seen):
            text = await self._full_text(mid)
            if text is not None:
                put = Put(post_key(self.uid, mid), text_cells(text), _ms(self.env.clock()))
                await self.env.writer.put([put], [])
                self.cut.discard(mid)

    # -- the end

    def _missing(self) -> int:
        """How many posts the announced count says there are beside those known."""
        return max(0, (self.ledger.announced or 0) - len(self.known | self.seen))

    def _is_sure(self, stopped: str) -> bool:
        """Law 4: an end that contradicts the announced count by much is no fact."""
        if stopped == "known":
            return True
        return self._missing() <= _MISSING_SHARE * (self.ledger.announced or 0)

    async def _unpin(self) -> None:
        """Posts that were pinned at the last visit, are not now, and stand on no page read."""
        gone = set(self.old.pinned) - set(self.ledger.pinned) - self.seen
        if gone and not self.resumed:
            now = _ms(self.env.clock())
            puts = [Put(post_key(self.uid, mid), {"post:is_pinned": "false"}, now) for mid in gone]
            await self.env.writer.put(puts, [])

    async def _finish(self, state: str, stopped: str, *, sure: bool) -> Outcome:
        is_end = stopped in _ENDS
        self.ledger = replace(
            self.ledger,
            state=state,
            stopped=stopped,
            sure=sure or not is_end,
            whole=is_end and sure,
            **self._stored(),
            cut=tuple(sorted(self.cut)),
            completed=self.old.completed + self.texts_completed,
            cursor=None,
            visited_at=self.env.clock(),
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
            completed=self.old.completed + self.texts_completed,
        )
        await self.env.writer.put([], [self._ledger_put()])
        return self._outcome()

    def _outcome(self) -> Outcome:
        return replace(outcome_of(self.uid, self.ledger), completed=self.texts_completed)

    def _stored(self) -> dict[str, int]:
        """Figures of the ledger: rows of the table, and how many of them are of this run."""
        stored = len(self.known | self.seen)
        return {"stored": stored, "new": max(0, stored - self.stored_before)}

    def _ledger_put(self) -> Put:
        return Put(user_key(self.uid), ledger_cells(self.ledger), _ms(self.env.clock()))

    async def _fetch(self, request: Request, *, walled_ok: bool = False) -> Fetched:
        """A page that is a fact (or a wall that ends the timeline), else VisitTrouble."""
        if self.env.is_forgotten(self.uid):
            raise UserForgotten
        fetched = await self.env.fetcher.fetch(request)
        reading = fetched.reading
        if reading.verdict in (Verdict.OK, Verdict.EMPTY, Verdict.END, Verdict.GONE):
            return fetched
        self.ledger = replace(self.ledger, refused_pages=self.ledger.refused_pages + 1)
        if reading.verdict == Verdict.LOGIN_WALL and walled_ok:
            return fetched
        if reading.verdict == Verdict.DRIFTED:
            await self.env.keep_drifted(fetched)
        raise VisitTrouble(f"{reading.verdict}: {reading.why}" if reading.why else reading.verdict)


def outcome_of(uid: int, ledger: Ledger) -> Outcome:
    """What the ledger's run did with this user; `completed` aside, which it does not tell apart."""
    status = ledger.state
    if status == "done":
        status = "stored" if ledger.new else "unchanged"
        if ledger.stopped in _LIMITS:
            status = "partial"
    return Outcome(
        uid,
        status,
        announced=ledger.announced,
        stored=ledger.stored,
        new=ledger.new,
        pages=ledger.pages,
        cut=len(ledger.cut),
        stopped=ledger.stopped,
        sure=ledger.sure,
    )


def _of(record: object, kind: type[R]) -> R:
    """The record of an OK reading; another kind is a fault of the site's reader."""
    if not isinstance(record, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(record).__name__}")
    return record


def _page(fetched: Fetched) -> Page:
    if fetched.page is None:
        raise TypeError("a page that was read is missing")
    return fetched.page


def _sighting(post: Post) -> dict[str, str]:
    """What a later visit stores of a post whose text is stored already."""
    return {**count_cells(post), "post:is_pinned": "true" if post.is_pinned else "false"}


def _ms(seconds: float) -> int:
    """A cell's timestamp: milliseconds."""
    return int(seconds * 1000)
