"""One user of the map job: timeline, profile, long texts, ledger; one Outcome (law 6)."""

from collections.abc import Callable
from math import inf
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.posts.asking import Asker, Unreached, UserForgotten, VisitDoubt, VisitTrouble
from weibo_crawler.posts.closing import EMPTY_WAIT_S, begun, closed, empty, outcome_of
from weibo_crawler.posts.comments import Comments
from weibo_crawler.posts.due import Due
from weibo_crawler.posts.holdings import Holdings
from weibo_crawler.posts.info import Info
from weibo_crawler.posts.kept import Kept, is_all
from weibo_crawler.posts.missed import MISSED, Missed, Word, newest, telling
from weibo_crawler.posts.pages import Pages
from weibo_crawler.posts.profile import NOTHING, lacks_count, needs_profile, owner_of, was_empty
from weibo_crawler.posts.schedule import Revisit, doubt_wait_s
from weibo_crawler.posts.sightings import Sightings
from weibo_crawler.posts.stops import ENDS, FALSE_PAGE, IN_DOUBT, LIMITS, Stops
from weibo_crawler.posts.texts import Texts
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import Expect, Id, Outcome, Page, PostPage, Reading, User, Verdict
from weibo_crawler.sites import Site
from weibo_crawler.store import Put, Table
from weibo_crawler.store.rows.cells import Ledger, pinned_cells, possible_posts, profile_cells
from weibo_crawler.store.rows.keys import post_key, user_key

R = TypeVar("R")

# of the announced posts: counts include posts that nobody can see any more
_MISSING_SHARE = 0.1
# kinds in `Samples`
_LAST = "posts.last"  # a page that names no next one, against the count
_END = "posts.end"  # an empty first page
_NAMED = "posts.named"  # an empty page that the page before has named
_NOBODY = "posts.nobody"  # a profile that is empty as page 1 is
_MOVED = "posts.moved"  # the page before an empty one, which a harvest had read before that
_FULL = "posts.full"  # a page that names a next one, and all that is announced was shown: `is_full`
_SILENCE = "the site shows nothing, and has shown nothing to anybody of late: no evidence"
_PAGES_A_RUN = 1000  # of one user; then others have their turn, and the next run goes on there
_CLOSED_REST_S = 30 * 86_400.0  # restricted texts are asked for again after so long
_EMPTY = (Verdict.EMPTY, Verdict.END)
# page 1 says something of the user, if only that guests are not shown the posts
_TOLD = (Verdict.OK, Verdict.GONE, Verdict.LOGIN_WALL, Verdict.DRIFTED, *_EMPTY)


class Visitor(NamedTuple):
    """What visits need. posts: the table, for reading; clock: seconds; revisit: bounds of the time
    until the next visit; profile_s: posts.profile_days; every: ask also for what guests were
    refused at most `revisit.most_s` ago, and for posts that could not be read; since: no older
    posts are asked for, seconds since the epoch, 0 = the bound that a user's ledger holds;
    is_forgotten: whether `forget` removed a user, as far as the last put knows; comments, info:
    None where nobody asks for them."""

    site: Site
    asker: Asker
    writer: Writer
    posts: Table
    clock: Callable[[], float]
    is_forgotten: Callable[[Id], bool]
    run_id: str
    max_pages: int | None
    revisit: Revisit
    profile_s: float
    every: bool
    since: float = 0.0
    comments: Comments | None = None
    info: Info | None = None

    async def visit(self, due: Due) -> Outcome:
        """Visit one user; whatever the site answers, the ledger says how it went."""
        visit = _Visit(self, due)
        try:
            return await visit.run()
        except SiteSaysNo as no:
            await visit.leave_mark(no.met)
            raise
        except VisitTrouble as trouble:
            return await visit.give_up(str(trouble), is_doubt=isinstance(trouble, VisitDoubt))
        except Unreached:
            return Outcome(due.uid, "unreached", is_evidence=False)
        except UserForgotten:
            return Outcome(0, "forgotten")  # the job's output names nobody forgotten either


class _Visit:
    """The state of one visit. `ledger` is what the next put will say; its figures are absolute.

    A visit that was cut short goes on at its cursor. A later one reads from the top until it meets
    what is known, or, while an older part is missing (a wall, a limit, a doubtful end, a gap), as
    far as it is let. Known is what the last complete visit left in the ledger, not all that is in
    the table: there a visit that died may have left posts above a part that it did not reach.
    """

    def __init__(self, env: Visitor, due: Due) -> None:
        self.env, self.uid, self.is_named = env, due.uid, due.is_named
        old = due.ledger or Ledger(state="partial")
        if due.is_suspect:  # what it concluded about the older part is not known
            cut = (*old.cut, *old.restricted)
            old = replace(old, newest=None, gaps=(), whole=False, cut=cut, restricted=())
        self.old = old
        self.is_first = due.ledger is None
        self.resumed = old.state in ("partial", "failed") and bool(old.cursor)
        # a visit that goes on with what was in trouble or doubt tells nothing of the site
        self.is_retry = old.state in ("failed", "empty") or bool(old.last_error)
        # what the profile came to in this visit; None: it was not needed, or not yet
        self.profile: Verdict | None = None
        self.shown: User | None = None  # by the profile, in this visit
        # why page 1 could not be read, "" where it could
        self.odd = ""
        # whether the number of posts is that of an earlier visit
        self.is_count_old = False
        self.cursor = old.cursor or "" if self.resumed else ""
        self.start = self.cursor
        self.before: str | None = None  # the page before that one, as far as this attempt read it
        # the oldest post above a place where posts may have moved to a page that was read before
        self.torn_at: int | None = None
        self.has_room = False  # the last page is not as full as a page, or another one, may be
        self.most_cards = 0  # on a page of this visit
        same_run = old.run_id == env.run_id  # an attempt that died had begun this visit
        is_time = _is_over(old.restricted_at, _CLOSED_REST_S, env.clock())
        self.asks_closed = is_time and old.restricted_at is not None
        self.sightings = Sightings(
            old,
            resumed=self.resumed,
            stored_before=old.stored - (old.new if same_run else 0),
            exact_below=env.site.exact_below,
        )
        self.holdings = Holdings(env.posts, self.uid, is_new=self.is_first)
        self.kept = Kept(env.site, due.kept, since=old.visited_at or 0.0)
        # when the page before the next one was shown: an older one may lie above it by now
        self.read_at = inf if self.resumed else 0.0
        self.shown_at = 0.0  # when the last page was
        self.kept_at: float | None = None  # when a harvest was shown page 1
        self.is_kept = False  # whether a harvest was shown the last page
        self.texts = Texts(env.site, env.asker, self.uid)
        self.missed = Missed(env.site, env.asker, self.uid)
        self.pages = Pages(
            *(self.uid, env.run_id, env.writer, self.holdings, self.sightings, self.texts),
            *(env.asker, env.clock, self.asks_closed, env.comments, self.kept),
        )
        self.ledger = replace(
            begun(old, env.clock(), resumed=self.resumed),
            new=old.new if same_run else 0,
            restricted_at=env.clock() if self.asks_closed else old.restricted_at,
            cursor=self.cursor,
            since=env.since or old.since,
            run_id=env.run_id,
        )

    async def run(self) -> Outcome:
        if not self.is_first:
            self.sightings.known = await self.env.writer.call(self.holdings.mids)
        try:
            stopped = await self._timeline()
        except VisitTrouble as trouble:  # an odd page costs that page, not the texts before it
            if self.env.asker.is_talking and not isinstance(trouble, VisitDoubt):
                await self.pages.repair()
            raise
        if stopped is None:
            return await self._leave()
        seen = self.sightings.seen
        if not seen and stopped in ENDS:
            is_hidden = self.profile in _EMPTY
            if self.profile is Verdict.GONE or (is_hidden and stopped == "gone"):
                if not await self.env.asker.is_gone(self.uid):
                    raise VisitDoubt(_SILENCE)
                return await self._finish("gone", "gone", sure=True)
            if is_hidden:
                return await self._nothing_shown()
        sure = self._is_sure(stopped)
        is_bare = not self.ledger.pages and stopped in ENDS
        if is_bare and not sure and not was_empty(self.old):
            raise VisitDoubt(NOTHING)
        if sure and self._is_whole(stopped):
            await self._vanish()
        if self.torn_at is not None or self.sightings.doubted - self.sightings.seen:
            stopped, sure = FALSE_PAGE, False
        await self.pages.repair()
        if self.env.comments is not None and not self.kept.is_used_up:
            mids = self.sightings.known | self.sightings.seen
            await self.env.comments.read_kept(self.uid, mids, self.kept)
        await self._unpin()
        if self.env.info is not None and not self.env.is_forgotten(self.uid):
            info_at = await self.env.info.read(self.uid, self.old.info_at)
            self.ledger = replace(self.ledger, info_at=info_at)
        return await self._finish("done", stopped, sure=sure)

    # -- the pages

    def _is_told_later(self, reading: Reading) -> bool:
        """Whether a page shows nobody, and the next one, which is to be asked for, may show the
        owner. While the site is not talking the profile is the proof that it does."""
        page, most = reading.record, self.env.max_pages
        if not (isinstance(page, PostPage) and page.next_cursor and self.env.asker.is_talking):
            return False
        return owner_of(reading) is None and (most is None or self.ledger.pages + 1 < most)

    async def _know_owner(self, fetched: Fetched) -> None:
        """Store the profile as the first page with a post shows it, or ask for it."""
        owner, env = owner_of(fetched.reading), self.env
        is_recent = not _is_over(self.old.profile_at, env.profile_s, env.clock())
        if owner is not None:
            await self._put_profile(owner, _page(fetched))
        if needs_profile(
            fetched.reading, self.old, is_recent=is_recent, is_talking=env.asker.is_talking
        ) and (owner is None or self._may_fill(owner)):
            await self._ask_profile(is_bare=fetched.reading.verdict in _EMPTY)
            if owner is not None and self.shown is not None:
                found = set(owner.lacks) > set(self.shown.lacks)
                env.asker.looked(_lacking(owner), found=found)
        elif lacks_count(fetched.reading, self.old):
            self.is_count_old = True
            self.ledger = replace(self.ledger, announced=self.old.announced)

    def _may_fill(self, owner: User) -> bool:
        """Whether to ask for a profile that may tell what the posts do not show of their owner:
        there are sites of which none does, and who was not in the sample then is not now."""
        kind, asker = _lacking(owner), self.env.asker
        was_spared = not self.is_first and self.old.profile_at is None
        if was_spared and asker.is_futile(kind):
            return False
        return asker.wants(kind, self.env.site.profile(self.uid))

    async def _ask_profile(self, *, is_bare: bool = False) -> None:
        """is_bare: page 1 showed nothing. Then an empty profile is what is expected of a user of
        whom an earlier visit saw neither, where looking again at such shows nothing of late."""
        self.is_count_old = False
        is_known = self.is_named or self.old.announced is not None
        expect = Expect.CONTENT if is_known else Expect.UNKNOWN
        end = _NOBODY if is_bare and not self.sightings.known else ""
        if end and self.old.state == "empty" and self.env.asker.is_futile(end):
            expect = Expect.NOTHING
        request = self.env.site.profile(self.uid)
        async with self.env.asker.in_turn():
            asked = await self._fetch(Ask(request, expect, is_retry=self.is_retry, end=end))
        self._check(asked.reading)
        self.profile = asked.reading.verdict
        if self.profile is Verdict.OK:
            self.ledger = replace(self.ledger, profile_at=self.env.clock())
            self.shown = _of(asked.reading.record, User)
            await self._put_profile(self.shown, _page(asked))

    async def _put_profile(self, user: User, page: Page) -> None:
        self.ledger = replace(self.ledger, announced=possible_posts(user.posts), empty_since=None)
        cells = profile_cells(user, page.fetched_at, self.env.run_id)
        await self.env.writer.put((), [Put.at(user_key(self.uid), cells, page.fetched_at)])

    async def _timeline(self) -> str | None:
        """Read pages until the site, a limit or what is known ends it; says why. None: there is
        more, for the next run."""
        stops, is_first, is_again = self._stops(), True, False
        looked: Fetched | None = None  # the page at which to look again
        last_page, avoid, shown_to = self.ledger.pages + _PAGES_A_RUN, "", self.cursor
        while self.ledger.pages < last_page:
            if self.env.max_pages is not None and self.ledger.pages >= self.env.max_pages:
                return "max_pages"
            ask = self._page_to_ask(avoid if is_again or looked is not None else "")
            is_there = self.kept.holds(ask.request)
            is_full = self._is_full()
            if ask.nth > 1 and not (is_there or self.env.asker.may_ask(ask)):
                if is_first:
                    await self._ask_profile()
                return "end" if is_full else self._walled(self.env.clock())
            if is_full and not (is_there or self.env.asker.wants(_FULL, ask.request)):
                return "end"
            was_kept = self.is_kept
            fetched = await self._fetch(ask)
            is_second = looked is not None and fetched.reading.verdict is Verdict.OK
            if looked is not None and not is_second:  # it was shown, whatever is shown now
                fetched = looked
            fetched = await self._believed(ask, fetched)
            reading = fetched.reading
            if fetched.page is not None:
                self.shown_at = fetched.page.fetched_at
            self.read_at = inf if fetched.page is None else self.shown_at
            avoid = "" if fetched.page is None else fetched.page.egress
            if is_first and reading.verdict in _TOLD:
                self.odd = reading.why if reading.verdict is Verdict.DRIFTED else ""
                is_first = self._is_told_later(reading)
                if not is_first:
                    await self._know_owner(fetched)
            if is_again:
                self.env.asker.looked(_END, found=reading.verdict not in _EMPTY)
            if is_full and reading.verdict in (Verdict.OK, *_EMPTY):
                self.env.asker.looked(_FULL, found=self._has_fresh(reading))
            if reading.verdict is Verdict.DRIFTED and isinstance(reading.record, PostPage):
                part = reading.record, _page(fetched)
                self.ledger = await self.pages.store_part(*part, self.ledger)
            is_expected = self.ledger.announced == 0
            self._check(reading, is_expected=is_expected, walled_ok=self.ledger.pages > 0)
            if reading.verdict is Verdict.LOGIN_WALL:
                # one that nobody confirmed is asked for again soon
                at = None if reading.ambiguous else self.env.clock()
                return "end" if is_full else self._walled(at)
            if reading.verdict is Verdict.GONE:
                return "gone"
            if reading.verdict in _EMPTY:
                if is_again or not self._contradicts() or not self.env.asker.wants_look(_END):
                    await self._look_back_if_old(is_old=was_kept)
                    return "end"
                is_again = True
                continue
            is_again = False
            page = _of(reading.record, PostPage)
            if self._has_moved(page):
                await self._look_back()
                if page.profile is not None:
                    await self._put_profile(page.profile, _page(fetched))
            why = self._why_last(stops, page)
            is_end = why in ENDS and why != "known"
            if self.is_count_old and (why is None or (is_end and not self._is_as_before(page))):
                await self._ask_profile()
            is_doubtful = is_end and self._may_be_another(page)
            if is_second:
                self.env.asker.looked(_LAST, found=not is_doubtful)
            elif looked is None and is_doubtful and self.env.asker.wants_look(_LAST):
                looked = fetched
                continue
            looked = None
            following = self.cursor if why is not None else page.next_cursor or ""
            # who goes on later begins with the first of the pages that showed nothing
            shown_to = shown_to if reading.ambiguous else following
            self._note_room(page)
            self.ledger = await self.pages.store(page, _page(fetched), self.ledger, shown_to)
            if self.torn_at is not None:
                self.ledger = replace(self.ledger, read_oldest=self.torn_at)
            if why is not None:
                return why
            self.before, self.cursor = self.cursor, following
        return None

    async def _believed(self, ask: Ask, fetched: Fetched) -> Fetched:
        """A page, or what another egress shows in its place, where it lacks stored posts that the
        site shows, or where no word tells whether it does. What the one that is returned lacks, and
        what is not to be believed of it, stands in `Sightings.doubted`."""
        lost = self._lost(ask, fetched)
        if not lost or self.missed.is_told(telling(lost, _mids(fetched))):
            return fetched
        word = await self._word(lost, _mids(fetched))
        if word is Word.UNTOLD and ask.request.cursor:
            self.env.asker.looked(MISSED, found=False)
            return fetched
        if word in (Word.HIDDEN, Word.SPARED) or not self.env.asker.may_look_again(ask.request):
            return fetched
        second = await self._fetch(ask._replace(avoid=_page(fetched).egress))
        shown, still = _mids(second), self._lost(ask, second)
        if not shown:
            self.sightings.doubted |= lost
            return fetched
        if word is Word.UNTOLD:  # nobody knows which of them is true where they differ
            self.sightings.doubted |= lost ^ still
            self.env.asker.looked(MISSED, found=lost != still)
        else:
            if self.missed.shown & lost & shown:
                self.env.asker.disprove(_page(fetched).egress)
            if still:
                await self._word(still, shown)
        return second if newest(shown | _mids(fetched)) in shown else fetched

    def _lost(self, ask: Ask, fetched: Fetched) -> set[Id]:
        """Stored posts that should stand on this page, that do not, and of which no earlier visit
        knew that they are gone."""
        page = fetched.reading.record
        if fetched.reading.verdict is not Verdict.OK or not isinstance(page, PostPage):
            return set()
        lost = self.pages.lost(page, replace(self.ledger, cursor=ask.request.cursor))
        return (lost & self.sightings.known) - self.sightings.gone

    async def _word(self, lost: set[Id], shown: set[Id]) -> Word:
        """What the site says of posts that are missing on a page that shows others: they are in
        doubt where it shows one."""
        word = await self.missed.word(telling(lost, shown))
        if word is Word.SHOWN:
            self.sightings.doubted |= lost
        else:
            self.sightings.doubted -= lost
        return word

    async def _vanish(self) -> None:
        """After a whole timeline: what would stand below its last page has disappeared."""
        lost = self.pages.lost_below(self.ledger, _hidden(self.old))
        if not lost:
            return
        is_told = self.missed.is_told([newest(lost)])
        word = await self._word(lost, self.sightings.seen)
        if word is Word.UNTOLD and not is_told:
            self.env.asker.looked(MISSED, found=False)
        if word is not Word.SHOWN:
            await self.pages.vanish(lost, self.shown_at)

    def _has_moved(self, page: PostPage) -> bool:
        """Whether posts that stood first on this page may stand last on the one before by now, as
        others were deleted: fewer are announced than there. One that a harvest read is old."""
        announced = self.ledger.announced
        if self.before is None or self.is_count_old or announced is None:
            return False
        now = None if page.profile is None else possible_posts(page.profile.posts)
        return now is not None and now < announced < self.env.site.exact_below

    async def _look_back_if_old(self, *, is_old: bool) -> None:
        """At an empty page, where posts are missing: the page before, which a harvest had read, may
        show them by now."""
        if not is_old or self.before is None or not self.sightings.missing(self.ledger.announced):
            return
        if self.env.asker.wants(_MOVED, self.env.site.posts(self.uid, self.before)):
            seen = len(self.sightings.seen)
            await self._look_back()
            self.env.asker.looked(_MOVED, found=len(self.sightings.seen) > seen)

    async def _look_back(self) -> None:
        """Read the page before this one again; where it is not shown, the timeline is read down to
        what it has shown."""
        request = self.env.site.posts(self.uid, self.before or "")
        if not self.env.asker.may_look_again(request):
            return
        nth, end = max(1, self.ledger.pages), _NAMED if self.before else _END
        ask = Ask(request, Expect.CONTENT, nth=nth, is_retry=self.is_retry, end=end)
        fetched = await self._believed(ask, await self._fetch(ask))
        again = fetched.reading.record
        if fetched.reading.verdict is Verdict.OK and isinstance(again, PostPage):
            ledger = replace(self.ledger, cursor=self.before, pages=self.ledger.pages - 1)
            self.ledger = await self.pages.store(again, _page(fetched), ledger, self.cursor)
        else:
            self.torn_at = self.ledger.read_oldest

    def _is_as_before(self, page: PostPage) -> bool:
        """Whether this last page and those before it show the posts of an earlier visit that came
        to the same end, and no others, so that no count needs to judge it again."""
        shown = self.sightings.seen | {post.mid for post in page.posts}
        return self.old.whole and shown == self.sightings.known - self.sightings.gone

    def _is_full(self) -> bool:
        """Whether this visit was shown all posts that are announced, those that are stored among
        them, and a last page with room: so the count, and the page that would hold one more post,
        say that this is the end."""
        announced = None if self.is_count_old else self.ledger.announced
        is_shown = self.sightings.are_all_shown(announced)
        return self.has_room and is_shown and not self.sightings.unseen(self.ledger.read_oldest)

    def _note_room(self, page: PostPage) -> None:
        """Before a page is stored."""
        cards = len(page.posts) + len(page.unreadable) + page.foreign + sum(page.skipped.values())
        full = self.env.site.posts_a_page
        self.has_room = 0 < cards < min(full, self.most_cards or full)
        self.most_cards = max(self.most_cards, cards)

    def _has_fresh(self, reading: Reading) -> bool:
        """Whether it shows a post that this visit was not shown before."""
        page = reading.record
        return isinstance(page, PostPage) and any(
            post.mid not in self.sightings.seen for post in page.posts
        )

    def _may_be_another(self, page: PostPage) -> bool:
        """Whether this last page may be an older or a later one in place of the one that was asked
        for: a page of announced posts is missing behind it, or some are and it shows only what this
        visit was shown before."""
        seen = self.sightings.seen
        held = self.sightings.known | seen
        fresh = sum(post.mid not in held for post in page.posts)
        missing = self.sightings.missing(self.ledger.announced) - fresh
        is_repeated = bool(page.posts) and all(post.mid in seen for post in page.posts)
        return missing >= self.env.site.posts_a_page or (missing > 0 and is_repeated)

    def _page_to_ask(self, avoid: str) -> Ask:
        """avoid: the egress that brought this page before, where it is looked at again."""
        return Ask(
            self.env.site.posts(self.uid, self.cursor),
            self._expected(),
            nth=self.ledger.pages + 1,
            is_retry=self.is_retry and self.cursor == self.start,
            end=_NAMED if self.cursor else _END,
            avoid=avoid,
        )

    def _walled(self, at: float | None) -> str:
        """Guests may read no further: the site said so, or says so to all others of late."""
        self.ledger = replace(self.ledger, walled_at=at)
        return "login_wall"

    def _stops(self) -> Stops:
        """With `--all` walls are tried, and what could not be read is read again."""
        full = self.env.site.posts_a_page
        if self.env.every:
            unread = (mid for mid in self.sightings.unreadable if isinstance(mid, int))
            deepest = min(unread, default=None)
            resting, down_to = None, 0 if self.old.unnamed else deepest
        else:
            resting, down_to = self._resting(), None
        return Stops(full, self.cursor, resting, down_to, self.ledger.since or 0.0)

    def _resting(self) -> str | None:
        """Why this visit does not ask for what is older than the known posts: others did in vain
        not long ago. With each new post it lies deeper, so each visit would pay for it."""
        old, revisit, now = self.old, self.env.revisit, self.env.clock()
        if not _is_over(old.walled_at, revisit.most_s, now):
            return "login_wall"
        rest_s = doubt_wait_s(revisit.middle_s, revisit.most_s, old.doubts)
        return None if _is_over(old.unsure_at, rest_s, now) else IN_DOUBT

    def _why_last(self, stops: Stops, page: PostPage) -> str | None:
        return stops.at(
            page,
            self.ledger,
            known=self.sightings.known,
            seen=self.sightings.seen,
            is_surplus=not self.is_count_old
            and self.sightings.is_surplus(
                self.ledger.announced, page, is_first=not self.ledger.cursor
            ),
        )

    def _expected(self) -> Expect:
        """What is known of the next page before it is asked for."""
        if self.cursor:  # the page before named it
            return Expect.CONTENT
        is_there = self.sightings.standing() or self.ledger.announced
        if was_empty(self.old) or self.profile:
            return Expect.NOTHING
        return Expect.CONTENT if is_there else Expect.LIKELY

    def _contradicts(self) -> bool:
        """Whether page 1 is empty, and the profile that was asked for because of it does not say 0.
        Of later pages, and of those of which posts are held, the fetcher has taken a second
        look."""
        is_look = self.ledger.announced != 0 and self.profile is Verdict.OK
        return is_look and not self.cursor and not self.sightings.standing()

    # -- the end

    def _is_sure(self, stopped: str) -> bool:
        """Law 4: an end that contradicts the announced count by much is no fact; nor is a wall that
        nobody confirmed, and who has just shown a profile is not gone."""
        announced = self.ledger.announced
        if stopped == "known":
            return True
        if stopped in ("too_many_pages", "odd_cursor", "gone", IN_DOUBT):
            return False
        if stopped == "login_wall" and self.ledger.walled_at is None:
            return False
        if stopped in LIMITS:
            return not self.sightings.is_surplus(announced)
        if not self.ledger.pages and announced != 0:
            return False  # nothing at all was shown, however much is held
        return self.sightings.missing(announced) <= _MISSING_SHARE * (announced or 0)

    def _is_whole(self, stopped: str) -> bool:
        """Whether this visit alone read the timeline from its beginning to its end, and was told
        how many posts there are."""
        is_end = stopped in ENDS and stopped != "known" and not self.resumed
        is_told = bool(self.ledger.pages) or self.profile is Verdict.OK
        return is_end and is_told and not self.is_count_old

    async def _nothing_shown(self) -> Outcome:
        """Neither a profile nor a post is shown, and no word that the user is gone."""
        now = self.env.clock()
        self.ledger = replace(
            empty(self.ledger, bool(self.sightings.known), now, self.env.site.clock),
            **self.sightings.figures(),
        )
        if self.ledger.state == "gone":
            return await self._finish("gone", "nothing_shown", sure=False)
        return await self._finish("empty", "nothing_shown", sure=False)

    async def _unpin(self) -> None:
        """Posts that were pinned at the last visit, are not now, and stand on no page read."""
        gone = set(self.old.pinned) - set(self.ledger.pinned) - self.sightings.seen
        if gone and not self.resumed:
            now = self.env.clock()
            puts = [Put.at(post_key(self.uid, mid), pinned_cells(False), now) for mid in gone]
            await self.env.writer.put(puts, [])

    async def _finish(self, state: str, stopped: str, *, sure: bool) -> Outcome:
        env, doubts = self.env, self.old.doubts
        if stopped != IN_DOUBT:  # else nothing was looked for
            doubts = 0 if sure and not self.sightings.cut else doubts + 1
        self.ledger = replace(
            self._with_figures(),
            state=state,
            stopped=stopped,
            sure=sure,
            last_error="",
            failures=0,
            retry_at=None,
            empty_since=None if state == "done" else self.ledger.empty_since,
            cursor=None,
            visited_at=env.clock(),
            doubts=doubts,
        )
        self.ledger = await env.writer.call(
            closed, self.ledger, self.holdings, env.revisit, env.clock(), self.kept_at
        )
        await env.writer.put([], [self.pages.ledger_put(self.ledger)])
        return self._outcome()

    async def _leave(self) -> Outcome:
        """The visit is under way still; the next run goes on at the cursor."""
        self.ledger = replace(self._with_figures(), last_error="")
        await self.env.writer.put([], [self.pages.ledger_put(self.ledger)])
        return self._outcome()

    async def leave_mark(self, met: str) -> None:
        """The run ends during the visit. Where it was in trouble its user is for later runs one
        whose first attempt failed."""
        if why := met or self.odd:
            self.ledger = self._in_trouble(why)
            await self.env.writer.put([], [self.pages.ledger_put(self.ledger)])

    async def give_up(self, why: str, *, is_doubt: bool) -> Outcome:
        """The ledger keeps cursor and figures; the next run goes on from there, one that follows
        after a rest that grows."""
        bounds, failures = self.env.revisit, self.old.failures + 1
        rest_s = doubt_wait_s(bounds.least_s, bounds.most_s, failures)
        self.ledger = replace(
            self._in_trouble(why),
            state="failed",
            failures=failures,
            retry_at=self.env.clock() + rest_s,
        )
        if is_doubt and self.old.state == "empty" and not self.ledger.pages:
            self.ledger = replace(self.old, next_visit=self.env.clock() + EMPTY_WAIT_S)
        await self.env.writer.put([], [self.pages.ledger_put(self.ledger)])
        return replace(
            self._outcome(),
            is_evidence=not (is_doubt or self.is_retry),
            is_silent=why == _SILENCE and self.old.state != "empty",
            is_bare=why == NOTHING and not self.is_retry,
        )

    def _in_trouble(self, why: str) -> Ledger:
        return replace(
            self._with_figures(),
            last_error=why,
            stopped="trouble",
            pinned=self.ledger.pinned if self.ledger.pages else self.old.pinned,
        )

    def _with_figures(self) -> Ledger:
        figures = self.sightings.figures()
        at = self.ledger.restricted_at
        if at is None and figures["restricted"]:
            at = self.env.clock()
        return replace(
            self.ledger,
            **figures,
            restricted_at=at,
            completed=self.old.completed + self.texts.completed,
        )

    def _outcome(self) -> Outcome:
        return replace(
            outcome_of(self.uid, self.ledger),
            completed=self.texts.completed,
            edited=self.sightings.edited,
            gone=self.sightings.newly_gone(),
            is_evidence=not self.is_retry,
        )

    async def _fetch(self, ask: Ask) -> Fetched:
        """One page, as `Fetcher.fetch` gives it, or as a harvest was given it."""
        if self.env.is_forgotten(self.uid):
            raise UserForgotten
        kept = self.kept.take(ask.request, not_before=self.read_at)
        self.is_kept = False
        if kept is None:
            return await self.env.asker.fetch(ask)
        is_enough = bool(self.cursor) or is_all(_of(kept.reading.record, PostPage))
        fetched = await self.env.asker.shown_before(ask, kept, is_enough=is_enough)
        self.is_kept = fetched is kept
        if not self.cursor and self.is_kept:
            self.kept_at = _page(kept).fetched_at
        return fetched

    def _check(
        self, reading: Reading, *, is_expected: bool = False, walled_ok: bool = False
    ) -> None:
        """Raise VisitTrouble for what is no fact, nor a wall that ends the timeline. is_expected:
        an emptiness contradicts nothing."""
        is_bare = reading.verdict in _EMPTY or (reading.verdict is Verdict.OK and reading.ambiguous)
        if is_bare and not (is_expected or self.env.asker.is_talking):
            raise VisitDoubt(_SILENCE)
        if reading.verdict in (Verdict.OK, Verdict.GONE, *_EMPTY):
            return
        self.ledger = replace(self.ledger, refused_pages=self.ledger.refused_pages + 1)
        if reading.verdict is Verdict.LOGIN_WALL and walled_ok:
            return
        raise VisitTrouble(f"{reading.verdict}: {reading.why}" if reading.why else reading.verdict)


def _hidden(old: Ledger) -> int:
    """How many of the announced posts a whole visit was not shown."""
    standing = old.stored - len(old.gone) + old.unread
    return max(0, (old.announced or 0) - standing) if old.whole else 0


def _lacking(owner: User) -> str:
    """The kind in `Samples` of profiles that are asked for because posts lack the same."""
    return f"profile.{'+'.join(owner.lacks)}"


def _is_over(since: float | None, rest_s: float, now: float) -> bool:
    return since is None or now - since >= rest_s


def _of(record: object, kind: type[R]) -> R:
    """The record of an OK reading; another kind is a fault of the site's reader."""
    if not isinstance(record, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(record).__name__}")
    return record


def _mids(fetched: Fetched) -> set[Id]:
    """The posts of a page, none where it is not shown."""
    record = fetched.reading.record if fetched.reading.verdict is Verdict.OK else None
    return {post.mid for post in record.posts} if isinstance(record, PostPage) else set()


def _page(fetched: Fetched) -> Page:
    if fetched.page is None:
        raise TypeError("a page that was read is missing")
    return fetched.page
