"""Cells from many visits into the tables: one thread beside the event loop, grouped puts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from weibo_crawler.records import Id
from weibo_crawler.store import Put, Tables
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.rows.keys import owner_of, user_key

T = TypeVar("T")

STATE = "crawl:state"  # a cell of each ledger


class _Waiting(NamedTuple):
    """What one visit puts, and what it waits for."""

    posts: tuple[Put, ...]
    users: tuple[Put, ...]
    echoes: Mapping[str, Iterable[Put]]
    future: asyncio.Future[None]


class Writer:
    """Groups what waits while a put runs into the next one.

    Within a group echoes are put, and acknowledged, before any post, and posts before any row of
    `userlist`: a ledger never speaks of posts that are not stored, nor a post of comments (law 8).
    The guard keeps out whom `forget` removed.

    The newest timestamp wins, so what a clock that was ahead has written would hide for as long
    whatever follows. So all that a visit puts stands behind the newest ledger: `begin` and `end`
    are called around a visit, and where the clock is behind that ledger, its puts are dated as much
    later; and no ledger of a visit is older than the one before.
    """

    def __init__(self, tables: Tables, guard: Guard) -> None:
        self._tables, self._guard = tables, guard
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tables")
        self._waiting: list[_Waiting] = []
        self._running: asyncio.Task[None] | None = None
        self._ahead: dict[Id, int] = {}  # milliseconds by which a user's rows are ahead
        self._newest: dict[Id, int] = {}  # timestamp of the last ledger, of visits under way

    async def put(
        self,
        posts: Iterable[Put],
        users: Iterable[Put],
        echoes: Mapping[str, Iterable[Put]] = MappingProxyType({}),
    ) -> None:
        """Returns when all of it is acknowledged; raises StoreError. echoes: by their table."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(tuple(posts), tuple(users), echoes, future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._drain())
        await future

    async def begin(self, uid: Id, now: float, *, is_first: bool) -> None:
        """A visit begins. is_first: there is no ledger."""
        self._newest[uid] = 0
        if is_first:
            return
        found = await self.call(self._tables.userlist.versions, user_key(uid), STATE)
        if found and found[0].timestamp > now * 1000:
            self._ahead[uid] = found[0].timestamp + 1 - int(now * 1000)

    def end(self, uid: Id) -> None:
        """A visit is over."""
        self._newest.pop(uid, None)
        self._ahead.pop(uid, None)

    async def call(self, function: Callable[..., T], *args: object) -> T:
        """Run one reading of the tables in the same thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *args)

    async def _drain(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            try:
                await self.call(self._put_group, group)
            except Exception as error:  # noqa: BLE001 - handed on to every visit that waits for it
                _settle(group, error)
            else:
                _settle(group, None)

    def _put_group(self, group: list[_Waiting]) -> None:
        self._guard.put(
            *(
                (table, self._dated(put for item in group for put in item.echoes.get(name, ())))
                for name, table in self._tables.echoes.items()
            ),
            (self._tables.posts, self._dated(put for item in group for put in item.posts)),
            (self._tables.userlist, self._told(put for item in group for put in item.users)),
        )

    def _dated(self, puts: Iterable[Put]) -> list[Put]:
        if not self._ahead:
            return list(puts)
        ahead = self._ahead
        return [
            put._replace(timestamp=put.timestamp + ahead.get(owner_of(put.key), 0)) for put in puts
        ]

    def _told(self, puts: Iterable[Put]) -> list[Put]:
        found = list[Put]()
        for put in self._dated(puts):
            uid, at = owner_of(put.key), put.timestamp
            if STATE in put.cells and uid in self._newest:
                at = self._newest[uid] = max(at, self._newest[uid])
            found.append(put._replace(timestamp=at))
        return found

    def close(self) -> None:
        self._thread.shutdown(wait=True)


async def all_of(tasks: Iterable[Awaitable[None]]) -> None:
    """Wait for all of them, so that what comes is put whatever the others meet; then raise."""
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def _settle(group: list[_Waiting], error: Exception | None) -> None:
    for *_, future in group:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
