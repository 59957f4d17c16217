"""A reducer: each user once, whoever was shown it, and how the walks ended."""

import time
from collections.abc import Collection, Iterable, Mapping
from itertools import islice

from weibo_crawler.levels.entries import found_cells, walked_cells
from weibo_crawler.levels.lines import Met, Seen, Told, together
from weibo_crawler.levels.task import Task
from weibo_crawler.metrics import NEW, Counters
from weibo_crawler.records import Id, read_id
from weibo_crawler.store import Cells, Put
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.notes import HELD
from weibo_crawler.store.rows.cells import WALK
from weibo_crawler.store.rows.keys import user_key

_BATCH = 500  # users
_COLUMNS = ("user:depth", "user:screen_name", WALK)
OPEN, FULL = "level.open", "level.full"


class LevelReducer:
    """Stores who is new. A row that is there stands as it is, so that a job which is made again
    changes nothing; but whom it left without a name a list may name. Counters: `level.new`,
    `level.open` (users who are to be walked, new or not), `level.full` (users for whom
    harvest.max_users has left no room)."""

    def __init__(self, task: Task) -> None:
        self._task, self._guard = task, Guard(task.home.users)
        self._userlist = task.home.tables.userlist
        self._counters = Counters()
        self._waiting: dict[Id, Told] = {}

    def take(self, key: str, lines: Iterable[str]) -> None:
        """Take all that maps tell of one user."""
        self._waiting[read_id(key)] = together(lines)
        if len(self._waiting) >= _BATCH:
            with self._task.ending_in_order():
                self._store()

    def finish(self) -> None:
        """Store the rest: there are no more users."""
        with self._task.ending_in_order():
            self._store()
            self._task.report(self._counters.snapshot(), "done")
        self._task.close()

    def _store(self) -> None:
        """Store who was found, and only then how the walks that found them ended."""
        waiting, self._waiting = self._waiting, {}
        found: dict[Id, tuple[Seen, Met]] = {}
        named: dict[Id, Met] = {}
        rows = self._userlist.rows([user_key(uid) for uid in waiting], _COLUMNS)
        for uid, told in sorted(waiting.items()):
            row = rows[user_key(uid)]
            if told.seen is None or told.met is None:
                continue
            if "user:depth" not in row:
                found[uid] = told.seen, told.met
                continue
            if WALK not in row and told.walked is None:
                self._counters.add(OPEN)
            if "user:screen_name" not in row and told.met.screen_name is not None:
                named[uid] = told.met
        room = self._take_room(len(found))
        new = dict(islice(found.items(), room))
        self._counters.add(NEW, room)
        self._counters.add(OPEN, room)
        self._counters.add(FULL, len(found) - room)
        self._put(
            {uid: self._row(uid, *of) for uid, of in new.items()}, [m.at for _, m in new.values()]
        )
        self._put(
            {uid: {"user:screen_name": met.screen_name or ""} for uid, met in named.items()},
            [met.at for met in named.values()],
        )
        ended = {uid: told.walked for uid, told in waiting.items() if told.walked is not None}
        run_id = self._task.run_id
        self._put(
            {uid: walked_cells(one, run_id) for uid, one in ended.items()},
            [one.at for one in ended.values()],
        )
        self._task.report(self._counters.snapshot(), None)
        self._task.heartbeat(f"{self._counters[NEW]:,} new users")

    def _row(self, uid: Id, seen: Seen, met: Met) -> Cells:
        url = self._task.home.site.home(uid)
        return found_cells(uid, url, seen, met, self._task.run_id)

    def _put(self, rows: Mapping[Id, Cells], times: Collection[float]) -> None:
        """Put these rows at the time of the last of them: HBase takes one time a call."""
        if rows:
            at = min(max(times), time.time())
            self._guard.put(
                (self._userlist, [Put.at(user_key(uid), cells, at) for uid, cells in rows.items()])
            )

    def _take_room(self, wanted: int) -> int:
        """Take room for as many of these users as harvest.max_users leaves; return how many. What a
        reducer has taken stays taken where it is killed."""
        most, taken = self._task.home.settings.harvest.max_users, 0

        def take(users: int | None) -> int:
            nonlocal taken
            taken = max(0, min(wanted, most - (users or 0)))
            return (users or 0) + taken

        if wanted:
            HELD.change(self._task.home.users, take)
        return taken
