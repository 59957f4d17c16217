"""All writing of a harvest: one thread beside the event loop, many pages in one transaction."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from weibo_crawler.store import Landed, Landing, PageCommit
from weibo_crawler.store.sql.walk import Frontier

T = TypeVar("T")
_LONG_S = 10.0  # a statement takes less, where nothing is wrong
_LOOK_AGAIN_S = 0.1  # how soon pages of a closed level are tried again, for what others finish


class Committer:
    """Groups the pages that wait while a transaction runs into the next one.

    A page whose level is not open yet is parked and tried again when the level may have opened: an
    entry was done with, or some time has passed, as others do their part. Its `commit` returns when
    it has landed. What the frontier raises reaches every waiting `commit`.
    """

    def __init__(self, frontier: Frontier, owner: str, run_id: str, max_users: int) -> None:
        self._frontier, self._owner, self._run_id = frontier, owner, run_id
        self._max_users = max_users
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")
        self._waiting: list[tuple[PageCommit, asyncio.Future[Landed]]] = []
        self._parked: list[tuple[PageCommit, asyncio.Future[Landed]]] = []
        self._wake = asyncio.Event()
        self._looks_again = False
        self._asked_at: float | None = None  # when the statement under way began

    @property
    def waits_for(self) -> str:
        """That the store keeps all waiting, in words; "" while it answers."""
        at = self._asked_at
        waited_s = 0.0 if at is None else time.monotonic() - at
        is_long = at is not None and waited_s >= _LONG_S
        return f"the users' database has not answered for {waited_s:.0f} s" if is_long else ""

    @property
    def parked(self) -> int:
        """Pages fetched ahead that wait for their level."""
        return len(self._parked)

    def ahead(self) -> list[PageCommit]:
        """These pages."""
        return [page for page, _ in self._parked]

    async def call(self, function: Callable[..., T], *args: object, **named: object) -> T:
        """Run one statement of the frontier in the writing thread; it may open a level."""
        try:
            return await self.ask(function, *args, **named)
        finally:
            self._look_again()

    async def ask(self, function: Callable[..., T], *args: object, **named: object) -> T:
        """As `call`, for what opens no level."""

        def run() -> T:
            self._asked_at = time.monotonic()
            try:
                return function(*args, **named)
            finally:
                self._asked_at = None

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def commit(self, page: PageCommit) -> Landed:
        """Store one page; returns when it is stored, or can never be."""
        future: asyncio.Future[Landed] = asyncio.get_running_loop().create_future()
        self._waiting.append((page, future))
        self._wake.set()
        return await future

    async def run(self) -> None:
        """Commit until cancelled."""
        while True:
            timeout = _LOOK_AGAIN_S if self._parked else None
            try:
                async with asyncio.timeout(timeout):
                    await self._wake.wait()
            except TimeoutError:
                self._looks_again = True
            self._wake.clear()
            await self._commit_batch()

    async def _commit_batch(self) -> None:
        batch, self._waiting = self._waiting, []
        if self._looks_again:
            batch, self._parked, self._looks_again = self._parked + batch, [], False
        batch = [one for one in batch if not one[1].done()]  # a cancelled walk wants nothing stored
        if not batch:
            return
        pages = [page for page, _ in batch]
        try:
            landed = await self.ask(
                self._frontier.commit, self._owner, self._run_id, pages, max_users=self._max_users
            )
        except Exception as error:  # noqa: BLE001 - handed on to every task that waits for it
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        is_entry_done = False
        for (page, future), one in zip(batch, landed, strict=True):
            if one.landing is Landing.AHEAD:
                self._parked.append((page, future))
                continue
            is_entry_done |= page.last
            if not future.done():
                future.set_result(one)
        if is_entry_done:
            self._look_again()

    def _look_again(self) -> None:
        """A level may be open now."""
        if self._parked:
            self._looks_again = True
            self._wake.set()

    def close(self) -> None:
        self._thread.shutdown(wait=True)
