"""The visits of a posts job again, and posts asked for by their ids, from an archive."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from random import Random
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from weibo_crawler.archive.exchanges import Kept
from weibo_crawler.archive.reader import ArchiveIndex, Writer, key_of
from weibo_crawler.config import Posts
from weibo_crawler.fetch import Ask
from weibo_crawler.metrics import Counters
from weibo_crawler.posts.asking import Asker, Keep, Unreached
from weibo_crawler.posts.due import USER_COLUMNS, due_of, revisit_of
from weibo_crawler.posts.echoes import EchoReader
from weibo_crawler.posts.ids import ByIds, Came
from weibo_crawler.posts.info import Info
from weibo_crawler.posts.missed import BACK, FALLEN, MISSED
from weibo_crawler.posts.owner import NOBODY
from weibo_crawler.posts.sharing import is_open
from weibo_crawler.posts.texts import CUT, RESTRICTED
from weibo_crawler.posts.visit import Visitor
from weibo_crawler.posts.writer import Writer as TablesWriter
from weibo_crawler.records import ECHO_LISTS, OF_USERS, Id, Kind, Page, Request
from weibo_crawler.reparse.replay import VisitReplay, fetched_of
from weibo_crawler.sites import Site
from weibo_crawler.store import Put, Table, Tables
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.rows.cells import Ledger
from weibo_crawler.store.rows.keys import user_key
from weibo_crawler.store.sql.walk import Frontier

T = TypeVar("T")
_AT_ONCE = 32  # visits, so that their puts are grouped
_KNOWN = "existing"
_ALL = 1000  # posts of a page whose lists are read, and their pages: what lacks is not asked for


class Stores(NamedTuple):
    """Where the visits write."""

    frontier: Frontier
    tables: Tables
    guard: Guard


class _Asker(Asker):
    """Takes the ways to a whole text in the order in which they were taken then, second looks where
    they were taken then, and asks for what is asked for under a condition where it was asked for
    then: all this followed from visits of others. was_walled: whether guests were refused later
    pages: one that the archive lacks was spared then, else it was not answered. showed_others:
    whether first pages of others were shown after a time."""

    def __init__(
        self,
        replay: VisitReplay,
        keep: Keep,
        *,
        was_walled: bool,
        showed_others: Callable[[Id, float], bool],
    ) -> None:
        super().__init__(replay, keep, Counters(), replay.now, Random(0))
        self._replay, self._was_walled = replay, was_walled
        self._showed_others = showed_others

    async def shows_others(self, uid: Id) -> bool:
        return self._showed_others(uid, self._replay.now())

    def wants_look(self, end: str) -> bool:
        # of a restricted text any way may be asked: those that were not are left out by `may_ask`
        return end in (CUT, RESTRICTED) or self._replay.was_asked_again()

    def is_futile(self, end: str) -> bool:
        return end == NOBODY and self._replay.is_kind_next(Kind.PROFILE)

    def wants(self, end: str, request: Request) -> bool:
        # the address of a post may also be asked for because of its text, later in the visit
        if end in (BACK, FALLEN, MISSED):
            return self._replay.is_next(request)
        return self._replay.place_of(request) < inf

    def may_look_again(self, request: Request) -> bool:
        return self._replay.is_next(request)

    def may_ask(self, ask: Ask) -> bool:
        is_open = ask.nth > 1 and ask.request.kind in OF_USERS and not self._was_walled
        return is_open or self._replay.place_of(ask.request) < inf

    def by_lead(self, ways: tuple[Request, ...]) -> list[Request]:
        return sorted(ways, key=self._replay.place_of)


class _CutWriter(TablesWriter):
    """Of a visit that was cut short, by a kill or a power cut: the next one went on at `cursor`. So
    this ledger was put, and none that tells of what came after it, such as of the visit's end."""

    def __init__(self, writer: TablesWriter, cursor: str) -> None:
        self._writer, self._cursor, self._has_come = writer, cursor, False

    async def put(
        self,
        posts: Iterable[Put],
        users: Iterable[Put],
        echoes: Mapping[str, Iterable[Put]] = MappingProxyType({}),
    ) -> None:
        """As in `Writer`. Errors: Unreached at the first ledger that was not put."""
        users = list(users)
        for cursor in (put.cells["crawl:cursor"] for put in users if "crawl:cursor" in put.cells):
            if self._has_come and cursor != self._cursor:
                raise Unreached("the visit was cut short here")
            self._has_come |= cursor == self._cursor
        await self._writer.put(posts, users, echoes)

    async def call(self, function: Callable[..., T], *args: object) -> T:
        """As in `Writer`."""
        return await self._writer.call(function, *args)


async def replay_visits(
    index: ArchiveIndex, site: Site, stores: Stores, posts: Posts, say: Callable[[str], None]
) -> Counter[str]:
    """Visit everybody whom the posts jobs of the archive visited, run by run; how many visits ended
    how. A visit that the tables know to be over is not made again. Between them posts that were
    asked for by their ids are stored as they were then. Errors: StoreError."""
    outcomes: Counter[str] = Counter()
    for process in index.writers("posts", "ids"):
        users = index.users(process)
        writer = TablesWriter(stores.tables, stores.guard)
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(uid: Id, process: Writer = process, writer: TablesWriter = writer) -> str:
            async with places:  # noqa: B023 - of this round of the loop
                return await _visit(uid, index, process, site, stores, posts, writer)

        try:
            if process.stage == "ids":
                tables = writer, stores.tables.posts, stores.guard
                await replay_ids(index, process, site, *tables)
                continue
            for start in range(0, len(users), 1024):
                outcomes.update(await asyncio.gather(*map(one, users[start : start + 1024])))
                say(f"{sum(outcomes.values()):,} visits replayed")
        finally:
            writer.close()
    return outcomes


async def _visit(
    uid: Id,
    index: ArchiveIndex,
    process: Writer,
    site: Site,
    stores: Stores,
    posts: Posts,
    writer: TablesWriter,
) -> str:
    answers: Sequence[Kept] = index.of_user(process, uid)
    if stores.guard.has(uid):
        return "forgotten"
    cells = await writer.call(stores.tables.userlist.row, user_key(uid), USER_COLUMNS)
    due, replay = due_of(uid, cells), VisitReplay(site, answers)
    if due.ledger is not None and _is_over(due.ledger, process.run_id, index.runs):
        return _KNOWN

    if cursor := index.went_on_at(process, uid):
        writer = _CutWriter(writer, cursor)

    async def keep(page: Page, why: str, body: bytes) -> None:
        drifted = (process.run_id, page.url, why, body, page.fetched_at)
        await writer.call(stores.frontier.keep_drifted, *drifted)

    asker = _Asker(
        *(replay, keep),
        was_walled=index.was_walled(process),
        showed_others=partial(index.showed_others, process),
    )
    visitor = Visitor(
        site=site,
        asker=asker,
        writer=writer,
        posts=stores.tables.posts,
        clock=replay.now,
        is_forgotten=stores.guard.has,
        run_id=process.run_id,
        max_pages=posts.max_pages,
        revisit=revisit_of(posts),
        profile_s=posts.profile_days * 86_400,
        every=bool(process.options.get("every", False)),
        since=float(process.options.get("since", 0.0)),
        info=Info(site, asker, writer, Counters(), replay.now, rest_s=0.0),
        echoes=[
            EchoReader(
                *(one, site, asker, writer, Counters(), replay.now),
                run_id=process.run_id,
                most=_ALL,
                pages=_ALL,
            )
            for one in ECHO_LISTS
        ],
    )
    outcome = await visitor.visit(due)
    if not is_open(outcome):  # the pages that a replayed harvest has kept are among the answers
        await writer.call(stores.frontier.drop_pages, {uid: replay.now()})
    return outcome.status


def _is_over(ledger: Ledger, run_id: str, runs: Sequence[str]) -> bool:
    """Whether this visit, or a later one, is in the tables with its end. runs: of the archive, in
    their order; the name of another one tells its second."""
    if ledger.run_id == run_id:
        return ledger.state != "partial"
    if ledger.run_id in runs:
        return runs.index(ledger.run_id) > runs.index(run_id)
    return ledger.run_id > run_id


async def replay_ids(
    index: ArchiveIndex,
    process: Writer,
    site: Site,
    writer: TablesWriter,
    posts: Table,
    guard: Guard,
) -> Counter[Came]:
    """Store what one run was shown, and mark what it was told to be gone; how many came to what.
    Errors: StoreError."""
    came_to: Counter[Came] = Counter()
    by_ids = ByIds(site, writer, posts, guard, process.run_id, _nobody_asks)
    for kept in index.told(process):
        mid = kept.exchange.mid
        key = key_of(kept.exchange.kind, kept.url)
        for way in site.post(mid):
            if key_of(way.kind, way.url) == key:
                came = await by_ids.met(mid, fetched_of(site, way, kept))
                came_to.update(() if came is None else (came,))
    await by_ids.mark()
    return came_to


def _nobody_asks(mid: Id, came: Came) -> None: ...
