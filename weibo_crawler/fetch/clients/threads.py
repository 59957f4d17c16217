"""Threads for blocking calls of one event loop.

Not concurrent.futures: the interpreter waits at its exit for the threads of that, and a thread that
hangs in a name lookup cannot be ended. These are daemons, started when needed.
"""

import asyncio
import functools
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")

_Job = tuple[Callable[[], T], "asyncio.Future[T]", asyncio.AbstractEventLoop]


class Threads(Generic[T]):
    """At most `limit` threads; what is over that waits its turn."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit, self._name = limit, name
        self._started = 0
        self._busy = 0
        self._jobs: SimpleQueue[_Job[T] | None] = SimpleQueue()

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Call `work` in a thread; its result or error goes to the future, unless that is done."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._busy += 1
        if self._busy > self._started and self._started < self._limit:
            self._started += 1
            name = f"{self._name}-{self._started}"
            threading.Thread(target=self._work, name=name, daemon=True).start()
        self._jobs.put((work, future, loop))
        return future

    def stop(self) -> None:
        """The threads end after what they are doing."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, future, loop = job
            try:
                settle = functools.partial(future.set_result, work())
            except BaseException as error:  # noqa: BLE001 - the caller gets it whole
                settle = functools.partial(future.set_exception, error)
            try:
                loop.call_soon_threadsafe(self._settle, future, settle)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return
            del job, work, future, settle  # a waiting thread keeps nothing alive

    def _settle(self, future: asyncio.Future[T], settle: Callable[[], None]) -> None:
        self._busy -= 1
        if not future.done():
            settle()
