"""Cells from many visits into the tables: one thread beside the event loop, grouped puts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from weibo_crawler.store import Put, Tables
from weibo_crawler.store.guard import Guard

T = TypeVar("T")


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
    """

    def __init__(self, tables: Tables, guard: Guard) -> None:
        self._tables, self._guard = tables, guard
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tables")
        self._waiting: list[_Waiting] = []
        self._running: asyncio.Task[None] | None = None

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
                (table, [put for item in group for put in item.echoes.get(name, ())])
                for name, table in self._tables.echoes.items()
            ),
            (self._tables.posts, [put for item in group for put in item.posts]),
            (self._tables.userlist, [put for item in group for put in item.users]),
        )

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
