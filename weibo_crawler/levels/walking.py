"""A map: the users of its key ranges, walked as a harvest of its own."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from msgspec.structs import astuple, replace

from weibo_crawler.config import Harvest, Store
from weibo_crawler.errors import Interrupted, SiteSaysNo
from weibo_crawler.fetch import open_fetcher
from weibo_crawler.harvest.run import HarvestRun
from weibo_crawler.harvest.seen import SeenSet
from weibo_crawler.levels.entries import STANDING, Entry, Standing, Wanted, entries
from weibo_crawler.levels.lines import Met, Seen, Walked, to_line
from weibo_crawler.levels.task import Task
from weibo_crawler.metrics import Counters
from weibo_crawler.posts.manifest import KeyRange, parse_line
from weibo_crawler.posts.orders import Orders
from weibo_crawler.posts.workers import ended_by
from weibo_crawler.records import Id, State
from weibo_crawler.store import WALLED, EndOfList, Found, homes, notes
from weibo_crawler.store.rows.keys import user_key
from weibo_crawler.store.rows.nested import ListEnd
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.temporary import owned_folder

_CHUNK = 1000  # users that are seeded, or whose pages are handed on, at once
_NO_LIMIT = 10**12
_WALKED = (State.DONE, State.GONE, State.FAILED)
LEFT = "level.left"  # users whose walk has not ended, as the job was told to stop
WALKED = "level.walked"


class LevelMap:
    """Takes lines of the manifest, and tells what the walks of their users have found. What it is
    told to stop is told as far as it came: the users that are left are walked by the next job."""

    def __init__(self, task: Task) -> None:
        self._task, self._parts = task, list[KeyRange]()
        self._depths: dict[Id, int] = {}
        self._before: dict[Id, tuple[ListEnd, ...]] = {}  # of who was walked by earlier jobs

    def take(self, line: str) -> None:
        self._parts.append(parse_line(line))

    def finish(self) -> Iterator[tuple[str, str]]:
        """Walk; lines for reducers, each with the uid that it speaks of."""
        task = self._task
        with task.ending_in_order(), owned_folder("level") as folder:
            frontier = self._frontier(folder)
            counters = Counters()
            if task.topics or self._seed(frontier):
                asyncio.run(self._walk(frontier, counters))
            if why := frontier.depths_are_bounds():
                task.home.users.call_depths_bounds(why)
            self._hand_on(frontier)
            yield from self._lines(frontier, counters)
            task.report(counters.snapshot(), "done")
            frontier.close()
        task.close()

    def _frontier(self, folder: Path) -> Frontier:
        store = Store(users=f"sqlite:///{folder}/walk.db")
        return homes.open_users(store, create=True, ids=self._task.home.site.ids)

    def _seed(self, frontier: Frontier) -> bool:
        """Put the users to walk into the frontier; whether there are any."""
        task = self._task
        standing = STANDING.get(task.home.users) or Standing()
        wanted = Wanted(task.level, standing.pending, task.is_first, task.retry)
        gone = task.home.users.forgotten()
        found = chain.from_iterable(entries(task.home.tables, part, wanted) for part in self._parts)
        while some := list(islice(found, _CHUNK)):
            self._put([entry for entry in some if not gone.has(entry.uid)], frontier)
            task.heartbeat(f"{len(self._depths):,} users to walk")
        return bool(self._depths)

    def _put(self, some: Sequence[Entry], frontier: Frontier) -> None:
        site = self._task.home.site
        seeds = [Found(one.uid, site.home(one.uid), one.screen_name, one.fans) for one in some]
        frontier.add_seeds(seeds, self._task.run_id, time.time())
        self._depths.update({one.uid: one.depth for one in some})
        self._before.update({one.uid: one.lists for one in some if one.lists})
        ends = [EndOfList(one.uid, *astuple(end)) for one in some for end in one.lists]
        frontier.take_for_walked(ends, time.time())

    async def _walk(self, frontier: Frontier, counters: Counters) -> None:
        """Walk them all, or until the job is told to stop. What the site says against it stops the
        other maps as well, and the driver reads it there. Errors: StoreError."""
        task, home = self._task, self._task.home
        archive = home.archive("harvest", task.run_id)
        if archive is not None:
            seeds = [uid for uid, depth in self._depths.items() if not depth]
            archive.note("seeds", seeds, time.time())
        keep = None if archive is None else archive.keep
        fetcher = open_fetcher(home.settings, home.site, counters, home.leases, keep)
        orders = Orders(home.users, task.run_id, task.driver)

        def progress() -> None:
            if orders.why():
                run.stop("interrupted")
            waits = f"; waits: {fetcher.waits_for}" if fetcher.waits_for else ""
            task.heartbeat(f"{counters['page.ok']:,} pages{waits}")

        run = HarvestRun(
            self._settings(),
            *(frontier, home.site, fetcher, counters),
            owner=task.worker,
            run_id=task.run_id,
            room=fetcher.room,
            progress=progress,
            books=home.users,
            topics=home.users if task.topics else None,
            is_known=self._is_known,
        )
        try:
            await run.run()
        except Interrupted:
            pass
        except SiteSaysNo as no:
            notes.STOP.of(task.run_id).put(home.users, ended_by(no.exit_code, str(no)))
        finally:
            await fetcher.close()

    def _settings(self) -> Harvest:
        """Of topics: no more users come into SQL than the tables have room for."""
        settings, users = self._task.home.settings.harvest, self._task.home.users
        if not self._task.topics:
            return _one_step(settings)
        room = max(0, settings.max_users - (notes.HELD.get(users) or 0))
        return replace(_one_step(settings), max_users=sum(users.states().values()) + room)

    def _is_known(self, uid: Id) -> bool:
        return bool(self._task.home.tables.userlist.row(user_key(uid), ["user:id"]))

    def _hand_on(self, frontier: Frontier) -> None:
        """Keep for `posts` what was read of posts."""
        uids = iter(self._depths)
        while some := list(islice(uids, _CHUNK)):
            for uid, pages in frontier.kept_pages(some).items():
                self._task.home.users.keep_pages(uid, pages)

    def _lines(self, frontier: Frontier, counters: Counters) -> Iterator[tuple[str, str]]:
        ends = _ends(frontier)
        for row in frontier.users():
            if row.uid not in self._depths:
                yield str(row.uid), to_line(Met(row.found_at, row.fans, row.screen_name))
                continue
            lists, before = ends.get(row.uid, ()), self._before.get(row.uid)
            if before is not None and (lists == before or row.state not in _WALKED):
                continue  # guests are shown no more of them
            is_walked = row.state in _WALKED
            counters.add(WALKED if is_walked else LEFT)
            if is_walked:
                walked = Walked(time.time(), row.state, lists, row.fans, row.screen_name)
                yield str(row.uid), to_line(walked)
        known = SeenSet(frontier.known_ids())
        for page in frontier.seen_pages():
            seen = to_line(Seen(self._depths[page.owner], page.edge, page.owner))
            yield from ((str(uid), seen) for uid in self._found(page.uids, known))

    def _found(self, uids: Iterable[Id], known: SeenSet) -> Iterator[Id]:
        return (uid for uid in uids if uid in known and uid not in self._depths)


def _one_step(settings: Harvest) -> Harvest:
    """Those of a walk that reads the lists of its seeds, all of them, and keeps who was seen."""
    return replace(
        settings,
        max_depth=1,
        max_users=_NO_LIMIT,
        max_time_s=None,
        dry_price=0.0,
        keep_edges=True,
    )


def _ends(frontier: Frontier) -> dict[Id, tuple[ListEnd, ...]]:
    ends = defaultdict[Id, tuple[ListEnd, ...]](tuple)
    for end in frontier.list_ends():
        cursor = end.cursor if end.ended == WALLED else ""
        ends[end.uid] += (ListEnd(*end[1:-1], cursor),)
    return ends
