"""The breadth-first loop: claims entries, walks many at once, stops by rule."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from weibo_crawler.config import Harvest
from weibo_crawler.errors import Interrupted, SiteSaysNo, StoreError, without_passwords
from weibo_crawler.evidence import Evidence
from weibo_crawler.fetch import Fetched, PageSource, Room
from weibo_crawler.harvest.asking import SHOWN, Asker, People
from weibo_crawler.harvest.claims import Claims
from weibo_crawler.harvest.committer import Committer
from weibo_crawler.harvest.drought import Drought
from weibo_crawler.harvest.reopening import Reopening
from weibo_crawler.harvest.seen import SeenSet
from weibo_crawler.harvest.sightings import Postless, Source
from weibo_crawler.harvest.topics import TopicReader
from weibo_crawler.harvest.trouble import (
    EntryGone,
    EntryLost,
    EntryTrouble,
    HandBack,
    NoAnswer,
    NoPage,
    PutOff,
    Refused,
    Silent,
    UsersFull,
    costs_attempt,
)
from weibo_crawler.harvest.walk import Walker
from weibo_crawler.metrics import Counters
from weibo_crawler.records import PEOPLE_LISTS, Edge, Id, State
from weibo_crawler.sites import Site
from weibo_crawler.store import Entry, Landed, TopicPage, WorkerRow, notes
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.walls import Walls

_log = logging.getLogger(__name__)

_FIRST_USERS = 100  # among them some are known who may be asked for as a witness
_POLL_S = 0.1  # how often a run that waits for others, or for rest to end, looks again
_REPORT_S = 1.0
_NEWS_S = 0.05
_AHEAD_S = 10.0  # while a level does not end, the next one is read ahead for so many seconds, ...
_AHEAD = 4000  # ... but at most so many pages, which wait in memory
_REST_CAP_S = 3600.0
_LONGEST_REST = 1.25  # times that: rests are spread
# a share of failures means something from here on
_MIN_WALKED, _MIN_FAILED = 20, 5


class Ended(NamedTuple):
    """Why a harvest is over, for people."""

    why: str
    level: int | None  # the smallest depth still open, None: nothing is


class HarvestRun:
    """One harvesting process. `run` returns when a stop rule holds; `stop` ends it early.

    room: how many walks at once are of use now, asked about once a second; progress is called as
    often, whatever the store does. Who started it, and others beside it, is to judge the failures
    of all of them by `judge_failures`. books: where it notes what other processes are to know, and
    its figures, in place of the frontier. topics: where the topics stand that it reads, and who is
    found there. is_known: whether somebody whom the frontier does not hold was found by others; it
    may wait, and is called in the frontier's thread.
    """

    def __init__(
        self,
        settings: Harvest,
        frontier: Frontier,
        site: Site,
        fetcher: PageSource,
        counters: Counters,
        *,
        owner: str,
        run_id: str,
        room: Callable[[], Room],
        progress: Callable[[], None] = lambda: None,
        books: Frontier | None = None,
        topics: Frontier | None = None,
        is_known: Callable[[Id], bool] = lambda uid: False,
    ) -> None:
        others = tuple(edge for edge in settings.edges_if_walled if edge in site.edges)
        settings = replace(settings, edges_if_walled=others)
        self._settings, self._frontier, self._site = settings, frontier, site
        self._books, self._is_known = books or frontier, is_known
        self._topics_in = topics or frontier
        self._fetcher, self._counters = fetcher, counters
        self._owner, self._run_id, self._ask_room = owner, run_id, room
        self._room = room()
        self._progress = progress
        self._rng = Random(owner)
        self._committer = Committer(frontier, owner, run_id, settings.max_users)
        self._walls = Walls()
        self._reopening = Reopening(frontier, self._walls, settings)
        self._claims = Claims(self._committer, frontier, owner, settings)
        self._evidence = Evidence(self._room.places)
        self._unheard: Counter[Id] = Counter()  # visits of an entry while nothing was shown
        self._unheard_at = 0  # and how much had been shown until then
        self._refused: Counter[Id] = Counter()  # visits of an entry that were refused
        self._drought = Drought(settings.dry_price)
        self._nameless: set[Id] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sharing = asyncio.Lock()
        self._failed_by: Counter[str] = Counter()
        self._stopping: str | None = None
        self._failure: BaseException | None = None
        self._started_at = time.time()

    @property
    def waits_for(self) -> str:
        """As `Committer.waits_for`."""
        return self._committer.waits_for

    def stop(self, why: str) -> None:
        """Begin nothing new; what is in flight is finished and stored."""
        if self._stopping is None:
            self._stopping = why
            self._fetcher.drain()

    def _stop_full(self) -> None:
        self.stop(f"harvest.max_users = {self._settings.max_users:,} is reached")

    async def run(self) -> Ended:
        """Harvest until nobody new is found or another stop rule holds.

        Raises SiteSaysNo, StoreError, Interrupted (stopped by `stop("interrupted")`); whatever
        happens, what this process held is back in the frontier.
        """
        begin = self._frontier.begin_waiting
        await self._committer.call(begin, self._started_at, _LONGEST_REST * _REST_CAP_S)
        seen = await self._committer.call(lambda: SeenSet(self._frontier.known_ids()))
        self._walker = self._make_walker(seen)
        if len(seen) >= self._settings.max_users:
            self._stop_full()
        else:
            await self._committer.call(self._begin)
            await self._share_looks()
        helpers = [
            asyncio.create_task(self._committer.run()),
            asyncio.create_task(self._loudly(self._keep_house())),
            asyncio.create_task(self._loudly(self._tell())),
        ]
        ended: Ended | None = None
        try:
            ended = await self._loop()
        finally:
            await self._let_go(helpers, ended.why if ended else "failed")
        if self._failure is not None:
            raise self._failure
        if self._stopping == "interrupted":
            raise Interrupted("stopped; what was in flight is stored, the same command goes on")
        return ended

    def _begin(self) -> None:
        """Reopen what earlier runs could not read; remember who may be asked for as a witness."""
        note_rules(self._frontier, self._settings, State.DONE in self._frontier.states())
        self._reopening.begin()
        self._frontier.requeue_unread()
        self._frontier.requeue_unheard()
        self._topics_in.requeue_topics()
        for row in islice(self._frontier.users(), _FIRST_USERS):
            if row.screen_name is None and row.fans is not None:
                self._nameless.add(row.uid)
            if row.screen_name is not None and row.state not in (State.GONE, State.FAILED):
                self._evidence.know(self._site.profile(row.uid))
            edge = Edge(row.found_edge)
            if row.found_from is not None and edge in PEOPLE_LISTS:
                self._evidence.know(self._site.edge(edge, row.found_from, ""))  # it showed this one
        has = self._books.forgotten().has
        for edge, kind in PEOPLE_LISTS.items():
            for page in notes.shown_of_late(self._books, kind, has, time.time()):
                self._evidence.know(self._site.edge(edge, page.uid, page.cursor), page.nth)

    def _note_shown(self) -> None:
        has = self._books.forgotten().has
        for kind in PEOPLE_LISTS.values():
            pages = self._evidence.shown_pages(kind, time.time())
            notes.note_shown(self._books, kind, pages, has)

    async def _share_looks(self) -> None:
        """Learn what second looks of other runs have shown, and tell what those of this have. What
        was begun is finished: what is told once is not told again. One of many that each walk a
        part shares its walls as well; else a run begins with trying them."""
        call, books, walls = self._committer.call, self._books, notes.WALLS.of("harvest")
        async with self._sharing:
            samples = self._fetcher.samples
            samples.learn(await call(notes.LOOKS.exchange, books, samples.news()))
            if books is not self._frontier:
                now = time.time()
                self._walls.learn(await call(walls.exchange, books, self._walls.news(now)), now)

    def _make_walker(self, seen: SeenSet) -> Walker:
        async def keep_drifted(fetched: Fetched) -> None:
            page = fetched.page
            if page is not None:
                await self._committer.call(
                    self._books.keep_drifted,
                    *(self._run_id, page.url, fetched.reading.why, page.body, page.fetched_at),
                )

        async def commit_topic(page: TopicPage) -> Landed:
            return await self._committer.call(self._commit_topic, page)

        self._fetcher.leave_walls()
        self._asker = asker = Asker(
            self._fetcher, self._counters, keep_drifted, self._evidence, self._rng, {}, set(), set()
        )
        people = People(self._site, asker)
        source = Source(
            *(self._site, asker, people, seen, self._nameless, self._settings),
            postless=Postless(),
            is_known=lambda uid: self._committer.ask(self._is_known, uid),
        )

        def may_go_on() -> bool:
            return self._stopping is None

        self._topics = TopicReader(source, self._walls, commit_topic, may_go_on)
        return Walker(
            source=source,
            walls=self._walls,
            counters=self._counters,
            committer=self._committer,
            frontier=self._frontier,
            owner=self._owner,
            reopening=self._reopening,
            noted=set(),
            may_go_on=may_go_on,
        )

    def _commit_topic(self, page: TopicPage) -> Landed:
        new = tuple(user for user in page.found if not self._is_known(user.uid))
        max_users = self._settings.max_users
        page = page._replace(found=new)
        return self._topics_in.commit_topic(page, self._run_id, max_users=max_users)

    # -- the loop

    async def _loop(self) -> Ended:
        while self._stopping is None:
            level = await self._committer.ask(self._frontier.open_level)
            is_last = level is None
            if is_last:  # what is set aside is walked last
                level = await self._committer.ask(self._frontier.next_level)
            if not self._tasks and not self._claims:
                if await self._read_topic():
                    continue
                if ended := await self._committer.call(self._over):
                    return ended
                if level is None:  # lists were reopened
                    continue
            if is_last and (why := await self._has_run_dry()):
                return Ended(why, level)
            await self._start_walks(level, is_last=is_last)
            await self._wait()
        return Ended(self._stopping, await self._committer.call(self._frontier.next_level))

    async def _has_run_dry(self) -> str:
        """Why the walk ends where only what promises little is left, which has brought next to
        nobody of late; "" where it goes on. What rests is waited for, as it may promise more."""
        self._drought.note(self._counters["request.sent"], self._counters["users.kept"])
        if not self._drought.is_here:
            return ""
        states = await self._committer.call(self._frontier.states)
        if states.get(State.RESTING):
            self._drought.begin_anew()
            return ""
        sent, kept = self._drought.lately
        waiting = states.get(State.QUEUED, 0) + states.get(State.LEASED, 0)
        return (
            f"hardly anybody new is found ({kept} by the last {sent} requests); {waiting:,} users "
            "were put off, with whom the same command goes on"
        )

    async def _read_topic(self) -> bool:
        """Read a topic that waits, before any entry is walked, and at the end what came meanwhile;
        whether there was one. Another process may do the same: it seldom draws the same one."""
        if self._settings.max_depth == 0:  # nobody is kept but the seeds
            return False
        waiting = await self._committer.ask(self._topics_in.topics, "queued")
        if waiting:
            await self._guarded(self._topics.read(self._rng.choice(waiting)))
        return bool(waiting)

    def _over(self) -> Ended | None:
        """How the walk is over where nobody is left to walk, set aside or not, and no list is to be
        reopened. One call in the frontier's thread: the housekeeping reopens lists as well."""
        level, most = self._frontier.next_level(), self._settings.max_depth
        if level is not None and (most is None or level < most):
            return None
        if self._reopening.go_on():
            return None
        if level is None:
            return Ended("nobody new is found", None)
        return Ended(f"harvest.max_depth = {most} is reached", level)

    async def _start_walks(self, level: int | None, *, is_last: bool) -> None:
        """Fill the free places, from the open level or one ahead of it; with what is set aside
        where that is the last (is_last), or nothing else could go."""
        if level is None:
            return
        places, per_s = self._room
        deepest = level + (self._committer.parked < max(places, min(_AHEAD, _AHEAD_S * per_s)))
        if self._settings.max_depth is not None:
            deepest = min(deepest, self._settings.max_depth - 1)
        is_idle = not self._claims and len(self._tasks) <= self._committer.parked
        await self._claims.fill(places, level, deepest, with_aside=is_last or is_idle)
        while len(self._tasks) - self._committer.parked - self._evidence.waiting < places:
            entry = self._claims.pop() if self._stopping is None else None
            if entry is None:
                break
            task = asyncio.create_task(self._guarded(self._walk(entry)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _wait(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
        else:  # nothing may start: others hold the level, or its entries rest
            await asyncio.sleep(_POLL_S)

    # -- one entry

    async def _guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except UsersFull:
            self._stop_full()
        except Interrupted:
            return  # what this process holds is given back at its end
        except Exception as error:  # noqa: BLE001 - the top of a task: it ends the run, loudly
            self._failure = self._failure or error
            self.stop("failed")

    async def _walk(self, entry: Entry) -> None:
        call, frontier = self._committer.call, self._frontier
        shown = self._counters[SHOWN]
        try:
            if not await self._walker.walk(entry):  # its lists were read before, under other
                await call(frontier.finish, self._owner, entry.uid, State.DONE, "")  # settings
            self._count("entries.done", entry)
        except HandBack:
            await call(frontier.give_back, self._owner, [entry.uid])
        except PutOff:
            self._counters.add("entries.put_off")
            await call(frontier.put_off, self._owner, entry.uid)
        except EntryGone:
            self._count("entries.gone", entry)
            await call(frontier.finish, self._owner, entry.uid, State.GONE, "the site says gone")
        except EntryTrouble as trouble:
            was_answered = await self._was_answered(entry, trouble, shown)
            await self._settle(entry, trouble, costs_attempt(trouble, was_answered=was_answered))
        except SiteSaysNo as no:
            if no.met:  # for later runs this was a first attempt, and failed
                await self._rest(entry, no.met, time.time(), counts=False)
            raise
        except EntryLost:
            self._counters.add("entries.lost")
        except UsersFull:
            self._stop_full()
            await call(frontier.give_back, self._owner, [entry.uid])

    def _count(self, name: str, entry: Entry) -> None:
        """One entry more, apart if it failed, was in trouble, or met a wall in an earlier run."""
        self._counters.add(name)
        was_at_rest = entry.troubled_at is not None and entry.troubled_at <= self._started_at
        if entry.is_retried or was_at_rest or self._reopening.is_news(entry.uid):
            self._counters.add(f"{name}.retried")

    async def _was_answered(self, entry: Entry, trouble: EntryTrouble, shown: int) -> bool:
        """Whether the site showed pages while the entry was walked. Where none came, or those that
        came may be older than the silence, it is asked for one that it showed before.

        Errors: SiteSaysNo, where nothing at all is shown while an entry has all its attempts."""
        if isinstance(trouble, Refused):  # an egress may be refused; or these pages are, for good
            self._refused[entry.uid] += 1
            is_shown = self._counters[SHOWN] > shown
            is_first = self._refused[entry.uid] == 1 and not entry.is_retry
            if is_shown or is_first:
                return is_shown
            return await self._asker.is_given_to_others(entry.uid, time.monotonic(), None)
        if not isinstance(trouble, (NoAnswer, NoPage, Silent)):
            return self._counters[SHOWN] > shown
        is_shown = self._counters[SHOWN] > shown and not isinstance(trouble, Silent)
        now = time.monotonic()
        place = trouble.place if isinstance(trouble, Silent) else None
        if is_shown or await self._asker.is_given_to_others(entry.uid, now, place):
            return True
        if self._unheard_at != self._counters[SHOWN]:
            self._unheard.clear()
            self._unheard_at = self._counters[SHOWN]
        self._unheard[entry.uid] += 1
        if self._unheard[entry.uid] >= self._settings.max_attempts:
            what = (
                "does not answer" if isinstance(trouble, NoAnswer) else "shows nothing to anybody"
            )
            raise SiteSaysNo(
                f"the site {what} ({trouble}); nothing is concluded from that "
                "and nothing is lost: check site.base_url and the network, or come back later "
                "with the same command"
            )
        return False

    async def _settle(self, entry: Entry, trouble: EntryTrouble, counts: bool) -> None:
        """Let the entry rest; fail it where this was the last of its attempts."""
        why = str(trouble)
        if counts and entry.attempts + 1 >= self._settings.max_attempts:
            self._count("entries.failed", entry)
            self._failed_by[why] += 1
            await self._committer.call(
                self._frontier.finish, self._owner, entry.uid, State.FAILED, why
            )
            return
        self._counters.add("entries.rested")
        rests = entry.attempts + self._unheard[entry.uid]
        rest_s = min(self._settings.rest_s * 2 ** min(rests, 30), _REST_CAP_S)
        if isinstance(trouble, Silent) and not counts:
            why = entry.last_error  # no conclusion: the mark of the entry stays as it is
        rest_s *= self._rng.uniform(0.75, _LONGEST_REST)
        await self._rest(entry, why, time.time() + rest_s, counts=counts)

    async def _rest(self, entry: Entry, why: str, until: float, *, counts: bool) -> None:
        await self._committer.call(
            self._frontier.rest,
            *(self._owner, entry.uid),
            now=time.time(),
            until=until,
            why=why,
            counts=counts,
        )

    # -- beside the loop

    async def _loudly(self, helper: Coroutine[Any, Any, None]) -> None:
        try:
            await helper
        except Exception as error:  # noqa: BLE001 - the top of a task: it ends the run, loudly
            self._failure = self._failure or error
            self.stop("failed")

    async def _keep_house(self) -> None:
        """Renew leases, free what the dead held, report to others, and watch the clock."""
        renewed, looked, began = 0.0, 0.0, time.monotonic()
        call, frontier, settings = self._committer.call, self._frontier, self._settings
        while True:
            now = time.time()
            if now < looked:  # set back: what rests until then would rest for ever so long
                await call(frontier.begin_waiting, now, settings.rest_s)
            looked = now
            if not 0 <= now - renewed < settings.lease_s / 4:  # the clock may be set back
                await call(frontier.renew, self._owner, now=now, lease_s=settings.lease_s)
                renewed = now
            await call(frontier.reclaim_dead)
            await call(frontier.set_aside, now=now, level_wait_s=settings.level_wait_s)
            await call(self._books.report, self._worker_row(None))
            await asyncio.shield(self._share_looks())
            await call(self._reopening.go_on)
            self._room = self._ask_room()
            self._evidence.widen(self._room.places)
            if settings.max_time_s and time.monotonic() - began >= settings.max_time_s:
                self.stop(f"harvest.max_time_s = {settings.max_time_s:g} is over")
            await self._until_report()

    async def _until_report(self) -> None:
        """Until the next report. Looks that would save other runs some are told at once."""
        until = time.monotonic() + _REPORT_S
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, _NEWS_S))
            if self._fetcher.samples.is_news:
                await asyncio.shield(self._share_looks())

    async def _tell(self) -> None:
        """Say how far it is, also while the store keeps all else waiting."""
        while True:
            self._progress()
            await asyncio.sleep(_REPORT_S)

    def _worker_row(self, ended: str | None) -> WorkerRow:
        return WorkerRow(
            self._run_id,
            self._owner,
            "harvest",
            self._started_at,
            time.time(),
            ended,
            self._counters.snapshot(),
        )

    async def _let_go(self, helpers: list[asyncio.Task[None]], why: str) -> None:
        """Finish what is in flight, hand back the rest, write the last figures."""
        self.stop(why)
        while len(self._tasks) > self._committer.parked:
            await asyncio.wait(self._tasks, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
        ahead = [page for page in self._committer.ahead() if page.kept]
        for task in [*self._tasks, *helpers]:
            task.cancel()
        await asyncio.gather(*self._tasks, *helpers, return_exceptions=True)
        try:
            for page in ahead:  # they are read again by whoever opens their level
                await self._walker.keep(page.uid, page.kept)
            await self._committer.call(self._frontier.give_back, self._owner)
            await self._share_looks()
            await self._committer.call(self._note_shown)
            ended = f"failed: {without_passwords(str(self._failure))}" if self._failure else why
            await self._committer.call(self._books.report, self._worker_row(ended))
        except StoreError as error:
            self._failure = self._failure or error
        finally:
            self._committer.close()
        self._progress()

    def judge_failures(self, counters: Counters) -> None:
        """A run that could not walk its entries has not seen the site: SiteSaysNo. Entries that had
        failed in an earlier run say nothing about it."""
        failed, walked = (
            sum(counters[name] - counters[f"{name}.retried"] for name in names)
            for names in (["entries.failed"], ["entries.done", "entries.gone"])
        )
        if is_over_share(failed, failed + walked, self._settings.max_failed_share):
            raise SiteSaysNo(
                f"{failed} of {failed + walked} users could not be walked "
                f"({self.why_failed(counters)}); their lists "
                "are marked failed, and `harvest --retry-failed` asks for them again"
            )

    def why_failed(self, counters: Counters) -> str:
        """Why entries failed in this process, the most frequent reasons first. counters: of all."""
        reasons = ", ".join(f"{n} x {why}" for why, n in self._failed_by.most_common(3))
        has_none = counters["session.asked"] and not counters["session.opened"]
        return f"no visitor session could be had; {reasons}" if has_none else reasons


def note_rules(frontier: Frontier, settings: Harvest, is_begun: bool) -> None:
    """Who was walked by other rules is not walked again, so that there may be shorter ways.
    is_begun: whether anybody was walked."""
    rules = f"harvest.edges = {', '.join(sorted(settings.edges))}, "
    rules += f"harvest.min_fans = {settings.min_fans}"
    before = notes.RULES.get(frontier) or rules
    if before != rules and is_begun:
        frontier.call_depths_bounds("edges or min_fans changed after the walk had begun")
        _log.warning(
            "this walk began with %s, and goes on with %s: users who are done are not read "
            "again, and from now on depths are upper bounds; a new store walks anew",
            *(before, rules),
        )
    notes.RULES.put(frontier, rules)


def is_over_share(failed: int, of: int, share: float) -> bool:
    """Whether so many failures end a run: all of them, or more than the share of a sample that is
    large enough to mean something."""
    is_sample = of >= _MIN_WALKED and failed >= _MIN_FAILED
    return failed > 0 and share < 1 and (failed == of or (is_sample and failed / of > share))
