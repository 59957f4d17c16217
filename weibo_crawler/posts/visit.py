"""One user of the map job: timeline, profile, long texts, ledger; one Outcome (law 6)."""

from msgspec.structs import replace

from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.posts.asking import Unreached, UserForgotten, VisitDoubt, VisitTrouble
from weibo_crawler.posts.closing import EMPTY_WAIT_S, closed, empty, outcome_of
from weibo_crawler.posts.due import Due
from weibo_crawler.posts.missed import FALLEN, by_age
from weibo_crawler.posts.owner import Owner
from weibo_crawler.posts.profile import NOTHING, UNCOUNTED, was_empty
from weibo_crawler.posts.schedule import doubt_wait_s
from weibo_crawler.posts.stops import ENDS, FALSE_PAGE, IN_DOUBT, LIMITS
from weibo_crawler.posts.timeline import Timeline
from weibo_crawler.posts.under_way import GONE_ONCE, SILENCE, Needs, UnderWay
from weibo_crawler.records import EMPTY, Outcome, Verdict
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import Ledger, pinned_cells
from weibo_crawler.store.rows.keys import post_key

# of the announced posts: counts include posts that nobody can see any more
_MISSING_SHARE = 0.1


class Visitor(Needs):
    """Visits users."""

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
        except Unreached as error:
            return Outcome(due.uid, "unreached", is_evidence=False, why=str(error))
        except UserForgotten:
            return Outcome(0, "forgotten")  # the job's output names nobody forgotten either


class _Visit(UnderWay):
    """One visit, from its beginning to what the ledger says of its end."""

    def __init__(self, env: Needs, due: Due) -> None:
        super().__init__(env, due)
        self.owner = Owner(self)
        self.timeline = Timeline(self, self.owner)

    async def run(self) -> Outcome:
        if not self.is_first:
            self.sightings.known = await self.env.writer.call(self.holdings.mids)
        if await self.owner.is_nobody_still():
            return await self._nothing_shown()
        try:
            stopped = await self.timeline.read()
        except VisitTrouble as trouble:  # an odd page costs that page, not the texts before it
            if self.env.asker.is_talking and not isinstance(trouble, VisitDoubt):
                await self.pages.repair()
            raise
        if stopped is None:
            return await self._leave()
        seen = self.sightings.seen
        if not seen and stopped in ENDS:
            is_hidden, asker = self.profile in EMPTY, self.env.asker
            asker.misled |= self.profile is Verdict.OK and stopped == "gone"
            if self.profile is Verdict.GONE or (is_hidden and stopped == "gone"):
                if not await asker.is_gone(self.uid):
                    raise VisitDoubt(SILENCE)
                if asker.misled and self.old.last_error != GONE_ONCE:
                    raise VisitDoubt(GONE_ONCE)
                return await self._finish("gone", "gone", sure=True)
            if is_hidden:
                return await self._nothing_shown()
        sure = self._is_sure(stopped)
        is_bare = not self.ledger.pages and stopped in ENDS
        if is_bare and not sure and not was_empty(self.old):
            raise VisitDoubt(UNCOUNTED if self.ledger.announced is None else NOTHING)
        if self._is_whole(stopped):
            await self._vanish(is_sure=sure)
        is_false = bool(self.sightings.doubted - self.sightings.seen)
        if is_false or self.timeline.torn_at is not None:
            stopped, sure = FALSE_PAGE, False
        if is_false and self.old.announced is not None:
            # the count of an old page is no base for the next visit
            self.ledger = replace(self.ledger, announced=self.old.announced)
        await self.pages.repair()
        for reader in self.env.echoes:
            if self.kept.is_used_up:
                break
            mids = self.sightings.known | self.sightings.seen
            await reader.read_kept(self.uid, mids, self.kept)
        await self._unpin()
        if self.env.info is not None and not self.env.is_forgotten(self.uid):
            info_at = await self.env.info.read(self.uid, self.old.info_at)
            self.ledger = replace(self.ledger, info_at=info_at)
        return await self._finish("done", stopped, sure=sure)

    # -- the end

    def _is_sure(self, stopped: str) -> bool:
        """Law 4: an end that contradicts the announced count by much is no fact; nor is a page that
        shows again what others did, nor a wall that nobody confirmed, and who has just shown a
        profile is not gone."""
        announced = self.ledger.announced
        if stopped == "known":  # an older page, kept by a cache, may begin with a known post
            return -self._fallen_by() <= _MISSING_SHARE * (announced or 0)
        if self.timeline.is_repeat or stopped in ("too_many_pages", "odd_cursor", "gone", IN_DOUBT):
            return False
        if stopped == "login_wall" and self.ledger.walled_at is None:
            return False
        if stopped in LIMITS:
            return not self.sightings.surplus(announced) > 0
        if not self.ledger.pages and announced != 0:
            return False  # nothing at all was shown, however much is held
        return self.sightings.lacking(announced) <= _MISSING_SHARE * (announced or 0)

    def _is_whole(self, stopped: str) -> bool:
        """Whether this visit alone read the timeline from its beginning to its end, and was told
        how many posts there are."""
        is_end = stopped in ENDS and stopped != "known" and not self.resumed
        is_told = bool(self.ledger.pages) or self.profile is Verdict.OK
        return is_end and is_told and not self.is_count_old

    async def _vanish(self, *, is_sure: bool) -> None:
        """After a whole timeline: what would stand below its last page has disappeared where all
        that is announced was shown. Where fewer are announced than that explains, so many of the
        posts that were not shown are asked about, and those have that the site says are gone."""
        sightings = self.sightings
        below = sightings.unseen(self.ledger.read_oldest)
        is_all = sightings.are_all_shown(self.ledger.announced, _hidden(self.old))
        if below and is_sure and is_all and await self.belief.is_gone(below):
            await self.pages.vanish(below, self.timeline.shown_at)
        suspects = sorted(sightings.unseen(None) - sightings.doubted, key=by_age, reverse=True)
        surplus = sightings.surplus(self.ledger.announced)
        for mid in suspects[: max(0, surplus, self._fallen_by())]:
            if await self.missed.is_gone(mid, FALLEN):
                await self.pages.vanish([mid], self.timeline.shown_at)

    def _fallen_by(self) -> int:
        """By how much the exact number of posts has fallen since the last visit, beside what is
        known to be new, back or gone; less than 0: it has risen."""
        sightings, old, now = self.sightings, self.old, self.ledger.announced
        if self.is_count_old or now is None or old.announced is None or old.newest is None:
            return 0
        if max(now, old.announced) >= self.env.site.exact_below:
            return 0
        held = sightings.seen | sightings.known  # what a visit that died has stored is new as well
        new = sum(isinstance(mid, int) and mid > old.newest for mid in held)
        back = len(sightings.seen & set(old.gone))
        return old.announced + new + back - sightings.newly_gone() - now

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
            self.with_figures(),
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
        if self.ledger.read_oldest in self.old.gone:  # nobody has read what is back below it
            self.ledger = replace(self.ledger, newest=self._newest_below())
        self.ledger = await env.writer.call(
            closed, self.ledger, self.holdings, env.revisit, env.clock(), self.kept_at
        )
        await env.writer.put([], [self.pages.ledger_put(self.ledger)])
        return self._outcome()

    def _newest_below(self) -> int | None:
        """The newest stored post below the last one read that was never gone."""
        below = self.sightings.unseen(self.ledger.read_oldest)
        return max((mid for mid in below if isinstance(mid, int)), default=None)

    async def _leave(self) -> Outcome:
        """The visit is under way still; the next run goes on at the cursor."""
        self.ledger = replace(self.with_figures(), last_error="")
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
            is_silent=why == SILENCE and self.old.state != "empty",
            is_bare=why == NOTHING and not self.is_retry,
            why=why,
        )

    def _in_trouble(self, why: str) -> Ledger:
        return replace(
            self.with_figures(),
            last_error=why,
            stopped="trouble",
            pinned=self.ledger.pinned if self.ledger.pages else self.old.pinned,
        )

    def _outcome(self) -> Outcome:
        return replace(
            outcome_of(self.uid, self.ledger),
            completed=self.texts.completed,
            edited=len(self.sightings.edited),
            gone=self.sightings.newly_gone(),
            is_evidence=not self.is_retry,
        )


def _hidden(old: Ledger) -> int:
    """How many of the announced posts a whole visit was not shown."""
    standing = old.stored - len(old.gone) + old.unread
    return max(0, (old.announced or 0) - standing) if old.whole else 0
