"""An event loop whose clock jumps to the next thing to do: hours of waiting take no time.

While a thread works for the loop, as one that stores something does, the clock stands still.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    now = 0.0
    threads = 0  # that work for the loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.threads and timeout != 0:
            return super().select(None)  # the thread wakes the loop when it has ended
        if timeout is None:
            raise RuntimeError("nothing will ever happen again: every task waits for another one")
        self.now += max(0.0, timeout)
        only_itself = len(self.get_map()) == 1  # what threads wake it by, and none is at work
        return [] if only_itself else super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        self._jumping.threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._ended)
        return future

    async def shutdown_default_executor(self, *timeout: Any) -> None:  # from Python 3.12 on
        self._jumping.threads += 1
        await super().shutdown_default_executor(*timeout)
        self._jumping.threads -= 1

    def _ended(self, _: "asyncio.Future[Any]") -> None:
        self._jumping.threads -= 1


def run(main: Coroutine[Any, Any, T]) -> T:
    """asyncio.run in virtual time, which begins at 0."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
