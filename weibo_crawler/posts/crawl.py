"""A mapper's working part: the due users of a key range, many visits at once."""

import asyncio
import threading
import time
from asyncio import FIRST_COMPLETED
from collections import Counter, deque
from collections.abc import Callable, Iterable
from itertools import chain, islice
from random import Random
from typing import NamedTuple

from weibo_crawler import config
from weibo_crawler.config import Settings
from weibo_crawler.errors import CrawlerError, Interrupted, SiteSaysNo
from weibo_crawler.fetch import Fetcher, Leases, open_fetcher
from weibo_crawler.metrics import PURPOSE, Counters, OpenMetrics
from weibo_crawler.posts.asking import Asker
from weibo_crawler.posts.closing import outcome_of
from weibo_crawler.posts.due import USER_COLUMNS, Due, Job, is_due, revisit_of, users_in, visit_sort
from weibo_crawler.posts.echoes import EchoReader
from weibo_crawler.posts.info import Info
from weibo_crawler.posts.kept import KeptPages
from weibo_crawler.posts.manifest import KeyRange
from weibo_crawler.posts.orders import Orders
from weibo_crawler.posts.sharing import Sharing
from weibo_crawler.posts.silence import Silences
from weibo_crawler.posts.visit import Visitor
from weibo_crawler.posts.workers import (
    BARE,
    FAILED_BY,
    FIRST,
    FIRST_FAILED,
    MOST_REASONS,
    ORDERED,
    SILENT,
    WAITING,
    WAITING_AS,
    WAITING_FOR,
    ended_by,
    parse_said,
)
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import ECHO_LISTS, PEOPLE_LISTS, Answer, Kind, Outcome, Page
from weibo_crawler.sites import Site
from weibo_crawler.store import Tables, WorkerRow, notes
from weibo_crawler.store.guard import Guard, remove_user
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.rows.cells import read_ledger
from weibo_crawler.store.rows.keys import user_key
from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.walls import Walls
from weibo_crawler.warned import Warned

_REPORT_S = 1.0
_ORDERS_S = 0.05  # a silence, or news: as long as each mapper asks until it knows itself
_CHUNK = 256  # users read from the table at once
_LEFT = 10_000  # of those whom other runs visit, so many are looked at again at the end, ...
_LAST_LOOKS = 10  # ... so often: a process whose run was killed ends what is under way first
ELSEWHERE = "elsewhere"  # why a user is left alone: another run visits it
TERMINATED = "terminated"  # this mapper alone was told to end: its work is not done


Emit = Callable[[Outcome], None]


class Chunk(NamedTuple):
    """The next users of a mapper, with what is known of them; more: others follow."""

    users: list[Due]
    more: bool


class RangeCrawler:
    """Crawls key ranges, as one list of users, with one fetcher and one writer.

    Opened once a mapper process, used from its main thread; closes what it opened. `heartbeat` is
    called about once a second with a line for people. claims: keep others from the same
    users; closed with this. clock: seconds since the epoch, by which visits are dated and due.
    on_answer: as in `Fetcher`.
    """

    def __init__(
        self,
        settings: Settings,
        site: Site,
        frontier: Frontier,
        tables: Tables,
        job: Job,
        heartbeat: Callable[[str], None] = lambda line: None,
        leases: Leases | None = None,
        claims: VisitClaims | None = None,
        clock: Callable[[], float] = time.time,
        on_answer: Callable[[Answer], None] | None = None,
    ) -> None:
        self._clock, self._on_answer = clock, on_answer
        self._settings, self._site, self._job = settings, site, job
        self._revisit = revisit_of(settings.posts, job.revisit_posts)
        self._frontier, self._tables, self._leases = frontier, tables, leases
        self._guard = Guard(frontier)
        self._sharing, self._kept = Sharing(claims, clock), KeptPages(frontier)
        self._heartbeat = heartbeat
        self._owner = new_owner()
        self._worker = job.attempt or self._owner
        self._started_at = time.time()
        self._runner = asyncio.Runner()
        self._counters, self._warned = Counters(), Warned()
        self._failed_by: Counter[str] = Counter()
        # under a driver the driver shows the figures of all mappers together
        shown = config.Metrics() if job.driver else settings.metrics
        self._metrics = OpenMetrics(shown, self._counters, "posts")
        self._metrics.__enter__()
        self._reporting = threading.Lock()
        self._telling = asyncio.Lock()
        self._failure: Exception | None = None
        self._fetcher: Fetcher | None = None
        self._asker: Asker | None = None
        self._silences = Silences(frontier)
        self._walls = Walls()
        self._stopping = ""
        self._orders = Orders(frontier, job.run_id, job.driver)
        self._left: list[Due] = []  # to other runs, which visit them

    @property
    def stopping(self) -> str:
        """Why nothing new is begun, "" while it is."""
        return self._stopping

    def crawl(self, parts: Iterable[KeyRange], emit: Emit) -> None:
        """Every user of the ranges, each with its Outcome; raises as `crawl_users`. The users of
        the next range are begun while the last of one are still visited."""
        users = chain.from_iterable(users_in(self._tables, part) for part in parts)

        def take() -> Chunk:
            chunk = list(islice(users, _CHUNK))
            return Chunk(chunk, bool(chunk))

        self.crawl_users(take, emit)

    def crawl_users(self, take: Callable[[], Chunk], emit: Emit) -> None:
        """Every user that `take` gives, each with its Outcome, which `emit` gets. `take` is called
        in the thread of the tables.

        Raises SiteSaysNo (which ends the other mappers of the run as well), StoreError, and
        Interrupted after `stop`; then users that were not begun have no Outcome.
        """
        try:
            self._runner.run(self._crawl(take, emit))
            self._note_silence(is_ended=False)
        except CrawlerError as error:
            if isinstance(error, SiteSaysNo):
                self._note_silence(is_ended=True)
            self.failed(error)
            raise

    def _note_silence(self, *, is_ended: bool) -> None:
        """is_ended: the site ended the run; else it matters whether it is silent now."""
        asker = self._asker
        if asker is None or not asker.has_asked:
            return
        if asker.heard_at is not None:
            self._silences.talked(self._job.run_id, asker.heard_at)
        if is_ended or not asker.is_talking:
            self._silences.tell(self._job.run_id, asker.talked_at)

    def stop(self, why: str = "interrupted") -> None:
        """Begin nothing new; pages in flight are finished and stored."""
        self._stopping = self._stopping or why
        if self._fetcher is not None:
            self._fetcher.drain()

    def close(self) -> None:
        """Give back what was opened and write the last figures."""
        if self._fetcher is not None:
            self._runner.run(self._fetcher.close())
        self._runner.close()
        self._sharing.close()
        self._warned.close()
        self._metrics.__exit__(None, None, None)

    def failed(self, error: CrawlerError) -> None:
        """Tell the driver what ends this mapper."""
        is_stop = isinstance(error, Interrupted)
        self._report(ORDERED if is_stop else ended_by(error.exit_code, str(error)))

    def finished(self) -> None:
        """All ranges of this mapper are done."""
        self._report("done")

    # -- inside the event loop

    async def _crawl(self, take: Callable[[], Chunk], emit: Emit) -> None:
        self._look_for_orders()  # an attempt that follows one that was stopped begins nothing
        self._raise_if_stopped()
        if self._fetcher is None:
            self._fetcher = open_fetcher(
                *(self._settings, self._site, self._counters, self._leases, self._on_answer)
            )
        await self._share_facts(self._fetcher)
        writer = Writer(self._tables, self._guard)
        visitor = self._visitor(self._fetcher, writer)
        house = asyncio.create_task(self._keep_house())
        try:
            await writer.call(self._know_shown, visitor.asker)
            await self._visit_all(visitor, writer, take, emit)
        finally:
            house.cancel()
            await asyncio.gather(house, return_exceptions=True)
            writer.close()
            await asyncio.to_thread(self._kept.drop)
            await asyncio.to_thread(self._note_shown, visitor.asker)
            await self._share_facts(self._fetcher)
        if self._failure is not None:
            raise self._failure
        self._raise_if_stopped()
        self._report(None)

    def _raise_if_stopped(self) -> None:
        if self._stopping:
            if said := parse_said(self._stopping):
                raise SiteSaysNo(said.message)
            raise Interrupted(f"the posts job was stopped: {self._stopping}")

    async def _visit_all(
        self, visitor: Visitor, writer: Writer, take: Callable[[], Chunk], emit: Emit
    ) -> None:
        running: set[asyncio.Task[Outcome]] = set()
        due: deque[Due] = deque()
        more, looks = True, 0
        try:
            while not self._stopping:
                if more and len(due) < self._places:
                    chunk, more = await writer.call(self._welcome, take)
                    mine, others = await writer.call(self._shared, chunk)
                    due += mine
                    for outcome in others:
                        emit(self._count(outcome))
                while due and len(running) < self._places:
                    one = self._visit(visitor, writer, due.popleft())
                    running.add(asyncio.create_task(one))
                if running:
                    done, running = await asyncio.wait(running, return_when=FIRST_COMPLETED)
                    if not self._ended(done, emit):
                        await asyncio.to_thread(self._end_others)
                        break
                elif not more and not due:
                    if not self._left:
                        return
                    unfinished, visited, self._left = await writer.call(self._mine, self._left)
                    due += unfinished
                    if looks == _LAST_LOOKS:
                        visited, self._left = visited + self._left, []
                    for user in visited:
                        emit(self._count(_elsewhere(user)))
                    if self._left and not due:
                        looks += 1
                        await asyncio.sleep(_REPORT_S)
            if running:  # after a stop they end by themselves: the fetcher sends nothing more
                done, running = await asyncio.wait(running)
                self._ended(done, emit)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _visit(self, visitor: Visitor, writer: Writer, due: Due) -> Outcome:
        """One visit, whose requests are counted as those of a first or of a later one."""
        sort = visit_sort(due.ledger)
        PURPOSE.set(sort)
        self._counters.add(f"visits.{sort}.begun")
        try:
            await writer.begin(due.uid, self._clock(), is_first=due.ledger is None)
            outcome = await visitor.visit(due)
        finally:
            writer.end(due.uid)
        self._counters.add(f"visits.{sort}.ended", outcome.status != "unreached")
        return outcome

    def _ended(self, tasks: Iterable[asyncio.Task[Outcome]], emit: Emit) -> bool:
        """Of visits that ended. False: the site has ended the run, which is the failure of it.
        Raises what else broke one, an interruption aside."""
        broken = []
        for task in tasks:
            error = task.exception()
            if error is None:
                self._sharing.ended(task.result())
                self._kept.ended(task.result())
                emit(self._count(task.result()))
            elif not isinstance(error, Interrupted):
                broken.append(error)
        ends = [error for error in broken if isinstance(error, SiteSaysNo)]
        if len(ends) < len(broken):
            raise next(error for error in broken if error not in ends)
        if ends:
            self._failure = self._failure or ends[0]
        return not ends

    def _know_shown(self, asker: Asker) -> None:
        """Learn which pages other runs were shown of late: a run that begins while the site is
        silent has seen none. Before the first posts those of lists tell whether it talks."""
        self._guard.refresh()
        has, now, know = self._guard.has, self._clock(), asker.evidence.know
        for edge, kind in PEOPLE_LISTS.items():
            for page in notes.shown_of_late(self._frontier, kind, has, now):
                know(self._site.edge(edge, page.uid, page.cursor), page.nth)
        for page in notes.shown_of_late(self._frontier, Kind.POSTS, has, now):
            know(self._site.posts(page.uid, page.cursor), page.nth)

    def _note_shown(self, asker: Asker) -> None:
        pages = asker.evidence.shown_pages(Kind.POSTS, self._clock())
        notes.note_shown(self._frontier, Kind.POSTS, pages, self._guard.has)

    def _welcome(self, take: Callable[[], Chunk]) -> Chunk:
        """The next users, without whom `forget` removed: an import had read them before, and their
        rows go as well."""
        chunk = take()
        self._guard.refresh()
        for user in chunk.users:
            if self._guard.has(user.uid):
                remove_user(self._tables, user.uid)
        return chunk._replace(
            users=[
                user._replace(is_suspect=self._silences.is_suspect(user.ledger))
                for user in chunk.users
                if not self._guard.has(user.uid)
            ]
        )

    def _shared(self, chunk: list[Due]) -> tuple[list[Due], list[Outcome]]:
        """The users to visit, and the outcomes of the others: those who are not due, and those whom
        another run has visited since the row was read. Whom another run visits now is looked at
        again at the end: it may have been killed, and leave them unfinished."""
        now = self._clock()
        due = [user for user in chunk if is_due(user, self._job, now)]
        visits, visited, held = self._mine(due)
        outcomes = [self._known(user) for user in chunk if not is_due(user, self._job, now)]
        outcomes += [_elsewhere(user) for user in visited + held[_LEFT - len(self._left) :]]
        self._left += held[: _LEFT - len(self._left)]
        return visits, outcomes

    def _mine(self, due: list[Due]) -> tuple[list[Due], list[Due], list[Due]]:
        """Claim users; those that are this run's to visit, whom another run has visited since the
        row was read, and whom one visits now. A visit that it left unfinished is this run's."""
        mine = self._sharing.take(due)
        visits, visited, held = list[Due](), list[Due](), list[Due]()
        rows = self._tables.userlist.rows([user_key(user.uid) for user in due], USER_COLUMNS)
        for user in due:
            ledger = read_ledger(rows[user_key(user.uid)])
            is_as_read = ledger == user.ledger
            if user.uid in mine and (is_as_read or (ledger and ledger.state == "partial")):
                visits.append(user._replace(ledger=ledger))
            else:
                (visited if user.uid in mine else held).append(user)
        return self._kept.of(visits), visited, held

    def _known(self, user: Due) -> Outcome:
        """Of a user that is not due: what this run did with it already, else nothing (law 6)."""
        if user.ledger is not None and user.ledger.run_id == self._job.run_id:
            return outcome_of(user.uid, user.ledger)
        return Outcome(user.uid, "existing")

    def _count(self, outcome: Outcome) -> Outcome:
        add = self._counters.add
        add("users.input")
        add(f"users.{outcome.status}")
        add(f"users.{ELSEWHERE}", outcome.stopped == ELSEWHERE)
        if outcome.is_evidence and outcome.status not in ("existing", "unreached"):
            add(FIRST)
            add(FIRST_FAILED, outcome.status == "failed")
        self._failed_by.update([outcome.why] if outcome.why else [])
        add(SILENT, outcome.is_silent)
        add(BARE, outcome.is_bare)
        add("posts.new", outcome.new)
        add("posts.edited", outcome.edited)
        add("posts.gone", outcome.gone)
        add("long_texts.completed", outcome.completed)
        if outcome.status != "existing":
            add("long_texts.cut", outcome.cut)
            add("users.unsure", not outcome.sure)
        return outcome

    def _visitor(self, fetcher: Fetcher, writer: Writer) -> Visitor:
        async def keep(page: Page, why: str, body: bytes) -> None:
            await writer.call(
                self._frontier.keep_drifted,
                *(self._job.run_id, page.url, why, body, page.fetched_at),
            )

        own = self._clock, Random(), self._walls, self._on_answer
        room, is_forgotten = self._make_room(fetcher), self._guard.has
        self._asker = Asker(
            *(fetcher, keep, self._counters, *own), places=room, is_forgotten=is_forgotten
        )
        parts = self._site, self._asker, writer, self._counters, self._clock
        settings, run_id = self._settings.posts, self._job.run_id
        echoes = [
            EchoReader(
                *(one, *parts),
                run_id=run_id,
                most=getattr(settings, one.name),
                pages=settings.below_pages,
            )
            for one in ECHO_LISTS
        ]
        info_s = self._settings.posts.info_days * 86_400
        return Visitor(
            site=self._site,
            asker=self._asker,
            writer=writer,
            posts=self._tables.posts,
            clock=self._clock,
            is_forgotten=self._guard.has,
            run_id=self._job.run_id,
            max_pages=self._settings.posts.max_pages,
            revisit=self._revisit,
            profile_s=self._settings.posts.profile_days * 86_400,
            every=self._job.every,
            since=self._job.since,
            echoes=echoes,
            info=Info(*parts, rest_s=info_s) if info_s else None,
        )

    def _make_room(self, fetcher: Fetcher) -> int:
        """For as many visits at once as are of use now. Returns for how many requests."""
        places = fetcher.room().places
        self._places = self._settings.posts.users_in_flight or places
        return max(self._places, places)  # who waits for an egress or pauses keeps a place

    async def _keep_house(self) -> None:
        """Report, and end when the driver says so or is gone."""
        try:
            while True:
                await asyncio.to_thread(self._report, None)
                await asyncio.to_thread(self._sharing.keep)
                await asyncio.to_thread(self._kept.drop)
                await asyncio.to_thread(self._look_for_orders)
                if self._fetcher is not None:
                    await asyncio.shield(self._share_facts(self._fetcher))
                    room = self._make_room(self._fetcher)
                    if self._asker is not None:
                        self._asker.evidence.widen(room)
                await self._rest()
        except Exception as error:  # noqa: BLE001 - the top of a task: it ends the run, loudly
            self._failure = self._failure or error
            self.stop("failed")

    async def _rest(self) -> None:
        """Until the next report. While the site may be silent, look often whether another mapper
        knows it to be; looks that would save others some are told at once."""
        until = time.monotonic() + _REPORT_S
        while (left := until - time.monotonic()) > 0:
            if self._fetcher is not None and self._fetcher.may_be_silent:
                await asyncio.to_thread(self._look_for_orders)
            if self._fetcher is not None and self._fetcher.samples.is_news:
                await asyncio.shield(self._share_facts(self._fetcher))
            await asyncio.sleep(min(left, _ORDERS_S))

    async def _share_facts(self, fetcher: Fetcher) -> None:
        """Learn what other runs know of the site, what second looks have shown and what guests are
        not shown, and tell what this one has learnt. What was begun is finished: what is told once
        is not told again."""
        async with self._telling:
            call, held, now = asyncio.to_thread, self._frontier, self._clock()
            samples, walls = fetcher.samples, self._walls
            samples.learn(await call(notes.LOOKS.exchange, held, samples.news()))
            note = notes.WALLS.of("posts")
            walls.learn(await call(note.exchange, held, walls.news(now)), now)

    def _end_others(self) -> None:
        """Tell the other mappers of the run at once what the site has said."""
        if no := self._failure:
            why = ended_by(SiteSaysNo.exit_code, str(no))
            notes.STOP.of(self._job.run_id).put(self._frontier, why)

    def _look_for_orders(self) -> None:
        if why := self._orders.why():
            self.stop(why)

    def _report(self, ended: str | None) -> None:
        # one at a time, the figures taken inside: an older row must not land on a newer one
        with self._reporting:
            counters = self._counters.snapshot()
            reasons = self._failed_by.most_common(MOST_REASONS)
            counters.update({FAILED_BY + why: n for why, n in reasons})
            counters.update(self._warned.counters())
            waits_for = self._fetcher.waits_for if self._fetcher and ended is None else ""
            if waits_for:
                counters[WAITING] = counters[WAITING_AS + waits_for] = 1
            if ended is None and (store := self._tables.waits_for):
                counters[WAITING_FOR + store] = 1
            run_id, began = self._job.run_id, self._started_at
            row = WorkerRow(run_id, self._worker, "posts", began, time.time(), ended, counters)
            self._frontier.report(row)
        self._metrics.write()
        self._heartbeat(
            f"{counters.get('users.input', 0)} users, {counters.get('posts.new', 0)} new posts, "
            f"{counters.get('page.ok', 0)} pages" + (f"; waits: {waits_for}" if waits_for else "")
        )


def _elsewhere(user: Due) -> Outcome:
    return Outcome(user.uid, "existing", stopped=ELSEWHERE)
