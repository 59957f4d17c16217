"""A mapper's working part: the due users of a key range, many visits at once."""

import asyncio
import threading
import time
from asyncio import FIRST_COMPLETED
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from weibo_crawler import config
from weibo_crawler.config import Settings
from weibo_crawler.errors import CrawlerError, Interrupted
from weibo_crawler.fetch import Fetched, Fetcher, open_fetcher
from weibo_crawler.metrics import Counters, OpenMetrics
from weibo_crawler.posts.manifest import KeyRange
from weibo_crawler.posts.visit import Visitor
from weibo_crawler.posts.writer import Writer
from weibo_crawler.records import Outcome
from weibo_crawler.sites import Site
from weibo_crawler.store import Frontier, Tables, WorkerRow
from weibo_crawler.store.cells import Ledger, read_ledger
from weibo_crawler.store.keys import parse_user_key
from weibo_crawler.store.owners import is_dead, new_owner

_REPORT_S = 1.0
_CHUNK = 256  # users read from the table at once
STOP = "stop."  # + run id: the meta entry by which a driver ends all mappers of its run


class Job(NamedTuple):
    """What a mapper is told: which run it belongs to, and whether to come back to known users.

    driver: the owner name of the process that waits for this job, "" where none does.
    """

    run_id: str
    refresh: bool = False
    driver: str = ""


class RangeCrawler:
    """Crawls key ranges, one after the other, with one fetcher and one writer.

    Opened once a mapper process, used from its main thread; closes what it opened. `heartbeat` is
    called about once a second with a line for people.
    """

    def __init__(
        self,
        settings: Settings,
        site: Site,
        frontier: Frontier,
        tables: Tables,
        job: Job,
        heartbeat: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._settings, self._site, self._job = settings, site, job
        self._frontier, self._tables = frontier, tables
        self._heartbeat = heartbeat
        self._owner = new_owner()
        self._started_at = time.time()
        self._runner = asyncio.Runner()
        self._counters = Counters()
        # under a driver the driver shows the figures of all mappers together
        shown = config.Metrics() if job.driver else settings.metrics
        self._metrics = OpenMetrics(shown, self._counters, "posts")
        self._metrics.__enter__()
        self._reporting = threading.Lock()
        self._failure: Exception | None = None
        self._fetcher: Fetcher | None = None
        self._stopping = ""

    def crawl(self, part: KeyRange) -> list[Outcome]:
        """Every user of the range, each with its Outcome.

        Raises SiteSaysNo, StoreError, and Interrupted after `stop`; then users that were not begun
        have no Outcome.
        """
        try:
            return self._runner.run(self._crawl(part))
        except CrawlerError as error:
            is_stop = isinstance(error, Interrupted)
            self._report("interrupted" if is_stop else f"exit {error.exit_code}: {error}")
            raise

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
        self._metrics.__exit__(None, None, None)

    def finished(self) -> None:
        """All ranges of this mapper are done."""
        self._report("done")

    # -- inside the event loop

    async def _crawl(self, part: KeyRange) -> list[Outcome]:
        if self._fetcher is None:
            self._fetcher = open_fetcher(self._settings, self._site, self._counters)
        writer = Writer(self._tables)
        house = asyncio.create_task(self._keep_house())
        try:
            outcomes = await self._visit_all(self._visitor(self._fetcher, writer), writer, part)
        finally:
            house.cancel()
            await asyncio.gather(house, return_exceptions=True)
            writer.close()
        if self._failure is not None:
            raise self._failure
        if self._stopping:
            raise Interrupted(f"the posts job was stopped: {self._stopping}")
        self._report(None)
        return outcomes

    async def _visit_all(self, visitor: Visitor, writer: Writer, part: KeyRange) -> list[Outcome]:
        outcomes: list[Outcome] = []
        running: set[asyncio.Task[Outcome]] = set()
        due: deque[tuple[int, Ledger | None]] = deque()
        users, places = self._users(part), self._settings.posts.users_in_flight
        more = True
        try:
            while not self._stopping:
                if more and len(due) < places:
                    chunk = await writer.call(lambda: list(islice(users, _CHUNK)))
                    more = bool(chunk)
                    due += (user for user in chunk if self._is_due(user[1]))
                    outcomes += (
                        self._count(Outcome(uid, "existing"))
                        for uid, ledger in chunk
                        if not self._is_due(ledger)
                    )
                while due and len(running) < places:
                    running.add(asyncio.create_task(visitor.visit(*due.popleft())))
                if running:
                    done, running = await asyncio.wait(running, return_when=FIRST_COMPLETED)
                    outcomes += self._ended(done)
                elif not more:
                    return outcomes
            if running:  # after a stop they end by themselves: the fetcher sends nothing more
                done, running = await asyncio.wait(running)
                outcomes += self._ended(done)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return outcomes

    def _ended(self, tasks: Iterable[asyncio.Task[Outcome]]) -> list[Outcome]:
        """The outcomes of visits that ended; raises what broke one, an interruption aside."""
        outcomes, broken = [], []
        for task in tasks:
            error = task.exception()
            if error is None:
                outcomes.append(self._count(task.result()))
            elif not isinstance(error, Interrupted):
                broken.append(error)
        if broken:
            raise broken[0]
        return outcomes

    def _users(self, part: KeyRange) -> Iterator[tuple[int, Ledger | None]]:
        rows = self._tables.userlist.scan(
            start=part.start, stop=part.stop, columns=["user:id", "crawl"]
        )
        for row in rows:
            if "user:id" in row.cells:  # a ledger alone is no imported user
                yield parse_user_key(row.key), read_ledger(row.cells)

    def _is_due(self, ledger: Ledger | None) -> bool:
        if ledger is None or ledger.state in ("partial", "failed"):
            return True
        return self._job.refresh and (ledger.state == "done" or not ledger.sure)

    def _count(self, outcome: Outcome) -> Outcome:
        add = self._counters.add
        add("users.input")
        add(f"users.{outcome.status}")
        add("posts.new", outcome.new)
        add("long_texts.completed", outcome.completed)
        if outcome.status != "existing":
            add("long_texts.cut", outcome.cut)
            add("users.unsure", not outcome.sure)
        return outcome

    def _visitor(self, fetcher: Fetcher, writer: Writer) -> Visitor:
        async def keep_drifted(fetched: Fetched) -> None:
            page = fetched.page
            if page is not None:
                await writer.call(
                    self._frontier.keep_drifted,
                    *(self._job.run_id, page.url, fetched.reading.why, page.body, page.fetched_at),
                )

        return Visitor(
            site=self._site,
            fetcher=fetcher,
            writer=writer,
            key_list=lambda prefix: list(self._tables.posts.keys(prefix)),
            keep_drifted=keep_drifted,
            clock=time.time,
            run_id=self._job.run_id,
            max_pages=self._settings.posts.max_pages,
        )

    async def _keep_house(self) -> None:
        """Report, and end when the driver says so or is gone."""
        try:
            while True:
                await asyncio.to_thread(self._report, None)
                note = STOP + self._job.run_id
                if why := await asyncio.to_thread(self._frontier.get_meta, note):
                    self.stop(why)
                elif self._job.driver and is_dead(self._job.driver):
                    self.stop("the process that had started the job is gone")
                await asyncio.sleep(_REPORT_S)
        except Exception as error:  # noqa: BLE001 - the top of a task: it ends the run, loudly
            self._failure = self._failure or error
            self.stop("failed")

    def _report(self, ended: str | None) -> None:
        # one at a time, the figures taken inside: an older row must not land on a newer one
        with self._reporting:
            counters = self._counters.snapshot()
            run_id, began = self._job.run_id, self._started_at
            row = WorkerRow(run_id, self._owner, "posts", began, time.time(), ended, counters)
            self._frontier.report(row)
        self._metrics.write()
        self._heartbeat(
            f"{counters.get('users.input', 0)} users, {counters.get('posts.new', 0)} new posts, "
            f"{counters.get('page.ok', 0)} pages"
        )
