"""The timeline of one user, page by page, until the site, a limit or what is known ends it."""

from math import inf

from msgspec.structs import replace

from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.owner import Owner
from weibo_crawler.posts.profile import was_empty, was_walled
from weibo_crawler.posts.schedule import doubt_wait_s
from weibo_crawler.posts.stops import ENDS, IN_DOUBT, Stops
from weibo_crawler.posts.under_way import UnderWay, is_over, page_of, record_of
from weibo_crawler.records import EMPTY, Expect, PostPage, Reading, Verdict
from weibo_crawler.store.rows.cells import possible_posts

# kinds in `Samples`
_LAST = "posts.last"  # a page that names no next one, against the count
_END = "posts.end"  # an empty first page
_NAMED = "posts.named"  # an empty page that the page before has named
_MOVED = "posts.moved"  # the page before an empty one, which a harvest had read before that
_FULL = "posts.full"  # a page that names a next one, and all that is announced was shown: `is_full`
_OLD_S = 3600.0  # a page that was shown later is one of this walk, as good as any
_PAGES_A_RUN = 1000  # of one user; then others have their turn, and the next run goes on there
# page 1 says something of the user, if only that guests are not shown the posts
_TOLD = (Verdict.OK, Verdict.GONE, Verdict.LOGIN_WALL, Verdict.DRIFTED, *EMPTY)


class Timeline:
    """shown_at: when the last page was shown. torn_at: the oldest post above a place where posts
    may have moved to a page that was read before, None: there is none. is_repeat: the last page
    showed again what others of this visit did, which says nothing of an end."""

    def __init__(self, visit: UnderWay, owner: Owner) -> None:
        self._visit, self._owner = visit, owner
        self._asker, self._site = visit.env.asker, visit.env.site
        self._sightings = visit.sightings
        self._stops = self._rules()
        self._cursor = visit.start
        self._before: str | None = None  # the page before that one, as far as this attempt read it
        # who goes on later begins with the first of the pages that showed nothing
        self._shown_to = visit.start
        self._is_untold = True  # no page has told of the owner
        self._avoid = ""  # the egress that brought the last page
        self._is_again = False  # the first page was empty, and is looked at again
        self._looked: Fetched | None = None  # the last page, which is looked at again
        self._has_room = False  # the last page is not as full as a page, or another one, may be
        self._most_cards = 0  # on a page of this visit
        self.shown_at = 0.0
        self.torn_at: int | None = None
        self.is_repeat = False

    async def read(self) -> str | None:
        """Read pages; why that ended. None: there is more, for the next run."""
        visit, most = self._visit, self._visit.env.max_pages
        last_page = visit.ledger.pages + _PAGES_A_RUN
        while visit.ledger.pages < last_page:
            if most is not None and visit.ledger.pages >= most:
                return "max_pages"
            ask, is_full, is_after_old = self._page_to_ask(), self._is_full(), self._is_old()
            async with self._asker.alone(ask):
                if why := await self._spared(ask, is_full=is_full):
                    return why
                fetched = await self._shown(ask)
            await self._note(ask, fetched, is_full=is_full)
            end = await self._step(fetched, is_full=is_full, is_after_old=is_after_old)
            if end is not None:
                return end
        return None

    async def _spared(self, ask: Ask, *, is_full: bool) -> str:
        """Why the next page is not asked for, "" where it is, or where a harvest has read it."""
        if self._visit.kept.holds(ask.request):
            return ""
        if ask.nth > 1 and not self._asker.may_ask(ask):
            if self._is_untold:
                await self._owner.know_untold()
            return "end" if is_full else self._walled(self._visit.env.clock())
        return "end" if is_full and not self._asker.wants(_FULL, ask.request) else ""

    async def _shown(self, ask: Ask) -> Fetched:
        """The page, or what is believed in its place."""
        fetched = await self._visit.fetch(ask)
        if self._looked is not None and fetched.reading.verdict is not Verdict.OK:
            fetched = self._looked  # it was shown, whatever is shown now
        return await self._visit.belief.page(ask, fetched, self._visit.ledger.pinned)

    async def _note(self, ask: Ask, fetched: Fetched, *, is_full: bool) -> None:
        """What an answer tells whatever it is; raises where it is trouble."""
        visit, reading, page = self._visit, fetched.reading, fetched.page
        if page is not None:
            self.shown_at = page.fetched_at
        visit.read_at = inf if page is None else self.shown_at
        self._avoid = "" if page is None else page.egress
        if reading.verdict is Verdict.LOGIN_WALL and not visit.ledger.pages:
            visit.is_walled = await self._asker.shows_others(visit.uid)
        if self._is_untold and reading.verdict in _TOLD:
            visit.odd = reading.why if reading.verdict is Verdict.DRIFTED else ""
            self._is_untold = self._owner.is_told_later(reading)
            if not self._is_untold and reading.verdict is Verdict.LOGIN_WALL:
                await self._owner.know_untold()
            elif not self._is_untold:
                await self._owner.know(fetched, was_likely=ask.expect is Expect.LIKELY)
        if self._is_again:
            self._asker.looked(_END, found=reading.verdict not in EMPTY)
        if is_full and reading.verdict in (Verdict.OK, *EMPTY):
            self._asker.looked(_FULL, found=self._has_fresh(reading))
        if reading.verdict is Verdict.DRIFTED and isinstance(reading.record, PostPage):
            part = reading.record, page_of(fetched)
            visit.ledger = await visit.pages.store_part(*part, visit.ledger)
        is_expected = visit.ledger.announced == 0
        is_walled = visit.is_walled or visit.ledger.pages > 0
        visit.check(reading, is_expected=is_expected, walled_ok=is_walled)

    async def _step(self, fetched: Fetched, *, is_full: bool, is_after_old: bool) -> str | None:
        """Take what was shown; why this is the end, None: it is not."""
        reading = fetched.reading
        if reading.verdict is Verdict.LOGIN_WALL:
            # one that nobody confirmed is asked for again soon
            at = None if reading.ambiguous else self._visit.env.clock()
            return "end" if is_full else self._walled(at)
        if reading.verdict is Verdict.GONE:
            return "gone"
        if reading.verdict not in EMPTY:
            return await self._take(fetched, record_of(fetched, PostPage))
        if not self._is_again and self._contradicts() and self._asker.wants_look(_END):
            self._is_again = True
            return None
        await self._look_back_if_old(is_old=is_after_old)
        return "end"

    async def _take(self, fetched: Fetched, page: PostPage) -> str | None:
        """The same of a page with posts, which is stored, or is looked at again."""
        self._is_again, visit = False, self._visit
        if self._has_moved(page):
            await self._look_back()
            if page.profile is not None:
                await self._owner.put(page.profile, page_of(fetched))
        why = self._why_last(page)
        is_end = why in ENDS and why != "known"
        if visit.is_count_old and (why is None or (is_end and not self._is_as_before(page))):
            await self._owner.ask()
        if self._wants_second(fetched, is_doubtful=is_end and self._may_be_another(page)):
            return None
        self.is_repeat = is_end and self._is_repeat(page)
        following = self._cursor if why is not None else page.next_cursor or ""
        if not fetched.reading.ambiguous:
            self._shown_to = following
        self._note_room(page)
        stored = page, page_of(fetched), visit.ledger, self._shown_to
        visit.ledger = await visit.pages.store(*stored)
        if self.torn_at is not None:
            visit.ledger = replace(visit.ledger, read_oldest=self.torn_at)
        if why is None:
            self._before, self._cursor = self._cursor, following
        return why

    def _wants_second(self, fetched: Fetched, *, is_doubtful: bool) -> bool:
        """Whether to look at the last page again, once; and what that look has shown."""
        first, self._looked = self._looked, None
        if first is not None:
            if fetched is not first:
                self._asker.looked(_LAST, found=not is_doubtful)
            return False
        if is_doubtful and self._asker.wants_look(_LAST):
            self._looked = fetched
        return self._looked is not None

    def _has_moved(self, page: PostPage) -> bool:
        """Whether posts that stood first on this page may stand last on the one before by now, as
        others were deleted: fewer are announced than there. One that a harvest read is old."""
        announced = self._visit.ledger.announced
        if self._before is None or self._visit.is_count_old or announced is None:
            return False
        now = None if page.profile is None else possible_posts(page.profile.posts)
        return now is not None and now < announced < self._site.exact_below

    def _is_old(self) -> bool:
        """Whether the last page is one that a harvest read so long ago that posts may have been
        deleted since."""
        return self._visit.is_kept and self._visit.env.clock() - self.shown_at >= _OLD_S

    async def _look_back_if_old(self, *, is_old: bool) -> None:
        """At an empty page, where posts are missing: the page before, if that is old, may show them
        by now."""
        if (
            not is_old
            or self._before is None
            or not self._sightings.lacking(self._visit.ledger.announced)
        ):
            return
        if self._asker.wants(_MOVED, self._site.posts(self._visit.uid, self._before)):
            seen = len(self._sightings.seen)
            await self._look_back()
            self._asker.looked(_MOVED, found=len(self._sightings.seen) > seen)

    async def _look_back(self) -> None:
        """Read the page before this one again; where it is not shown, the timeline is read down to
        what it has shown."""
        visit = self._visit
        request = self._site.posts(visit.uid, self._before or "")
        if not self._asker.may_look_again(request):
            return
        nth, end = max(1, visit.ledger.pages), _NAMED if self._before else _END
        ask = Ask(request, Expect.CONTENT, nth=nth, is_retry=visit.is_retry, end=end)
        fetched = await visit.belief.page(ask, await visit.fetch(ask), visit.ledger.pinned)
        again = fetched.reading.record
        if fetched.reading.verdict is Verdict.OK and isinstance(again, PostPage):
            ledger = replace(visit.ledger, cursor=self._before, pages=visit.ledger.pages - 1)
            visit.ledger = await visit.pages.store(again, page_of(fetched), ledger, self._cursor)
        else:
            self.torn_at = visit.ledger.read_oldest

    def _is_as_before(self, page: PostPage) -> bool:
        """Whether this last page and those before it show the posts of an earlier visit that came
        to the same end, and no others, so that no count needs to judge it again."""
        shown, old = self._sightings.seen | {post.mid for post in page.posts}, self._visit.old
        is_ended = old.whole or old.stopped in ENDS
        return is_ended and shown == self._sightings.known - self._sightings.gone

    def _is_full(self) -> bool:
        """Whether this visit was shown all posts that are announced, those that are stored among
        them, and a last page with room: so the count, and the page that would hold one more post,
        say that this is the end."""
        announced = None if self._visit.is_count_old else self._visit.ledger.announced
        is_shown = self._sightings.are_all_shown(announced)
        return (
            self._has_room
            and is_shown
            and not self._sightings.unseen(self._visit.ledger.read_oldest)
        )

    def _note_room(self, page: PostPage) -> None:
        """Before a page is stored."""
        cards = len(page.posts) + len(page.unreadable) + page.foreign + sum(page.skipped.values())
        full = self._site.posts_a_page
        self._has_room = 0 < cards < min(full, self._most_cards or full)
        self._most_cards = max(self._most_cards, cards)

    def _has_fresh(self, reading: Reading) -> bool:
        """Whether it shows a post that this visit was not shown before."""
        page = reading.record
        return isinstance(page, PostPage) and any(
            post.mid not in self._sightings.seen for post in page.posts
        )

    def _may_be_another(self, page: PostPage) -> bool:
        """Whether this last page may be an older or a later one in place of the one that was asked
        for: a page of announced posts is missing behind it, or it is a repeat."""
        held = self._sightings.known | self._sightings.seen
        fresh = sum(post.mid not in held for post in page.posts)
        lacking = self._sightings.lacking(self._visit.ledger.announced) - fresh
        return lacking >= self._site.posts_a_page or self._is_repeat(page)

    def _is_repeat(self, page: PostPage) -> bool:
        """Whether this page, which is not stored yet, shows only what this visit was shown before,
        where more may be: announced posts are missing, or nobody knows how many there are. A post
        that was pinned is shown again in its place."""
        announced, seen = self._visit.ledger.announced, self._sightings.seen
        shown = {post.mid for post in page.posts} - set(self._visit.ledger.pinned)
        may_be_more = announced is None or self._sightings.lacking(announced) > 0
        return bool(shown) and shown <= seen and may_be_more

    def _page_to_ask(self) -> Ask:
        return Ask(
            self._site.posts(self._visit.uid, self._cursor),
            self._expected(),
            nth=self._visit.ledger.pages + 1,
            is_retry=self._visit.is_retry and self._cursor == self._visit.start,
            end=_NAMED if self._cursor else _END,
            avoid=self._avoid if self._is_again or self._looked is not None else "",
            was_walled=not self._cursor and was_walled(self._visit.old),
        )

    def _walled(self, at: float | None) -> str:
        """Guests may read no further: the site said so, or says so to all others of late."""
        ledger, old = self._visit.ledger, self._visit.old
        pinned = ledger.pinned if ledger.pages else old.pinned
        self._visit.ledger = replace(ledger, walled_at=at, pinned=pinned)
        return "login_wall"

    def _rules(self) -> Stops:
        """With `--all` walls are tried, and what could not be read is read again."""
        full = self._site.posts_a_page
        if self._visit.env.every:
            unread = (mid for mid in self._sightings.unreadable if isinstance(mid, int))
            deepest = min(unread, default=None)
            resting, down_to = None, 0 if self._visit.old.unnamed else deepest
        else:
            resting, down_to = self._resting(), None
        return Stops(full, self._visit.start, resting, down_to, self._visit.ledger.since or 0.0)

    def _resting(self) -> str | None:
        """Why this visit does not ask for what is older than the known posts: others did in vain
        not long ago. With each new post it lies deeper, so each visit would pay for it."""
        old, revisit, now = self._visit.old, self._visit.env.revisit, self._visit.env.clock()
        if not is_over(old.walled_at, revisit.most_s, now):
            return "login_wall"
        rest_s = doubt_wait_s(revisit.middle_s, revisit.most_s, old.doubts)
        return None if is_over(old.unsure_at, rest_s, now) else IN_DOUBT

    def _why_last(self, page: PostPage) -> str | None:
        visit = self._visit
        return self._stops.at(
            page,
            visit.ledger,
            known=self._sightings.known - self._sightings.gone,
            seen=self._sightings.seen,
            is_surplus=not visit.is_count_old
            and self._sightings.surplus(
                visit.ledger.announced, page, is_first=not visit.ledger.cursor
            )
            > 0,
        )

    def _expected(self) -> Expect:
        """What is known of the next page before it is asked for."""
        if self._cursor:  # the page before named it
            return Expect.CONTENT
        is_there = self._sightings.standing() or self._visit.ledger.announced
        if was_empty(self._visit.old) or self._visit.profile:
            return Expect.NOTHING
        return Expect.CONTENT if is_there else Expect.LIKELY

    def _contradicts(self) -> bool:
        """Whether page 1 is empty, and the profile that was asked for because of it does not say 0.
        Of later pages, and of those of which posts are held, the fetcher has taken a second
        look."""
        is_look = self._visit.ledger.announced != 0 and self._visit.profile is Verdict.OK
        return is_look and not self._cursor and not self._sightings.standing()
