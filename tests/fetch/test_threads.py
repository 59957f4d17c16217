import asyncio
import threading

import pytest

from weibo_crawler.fetch.clients.threads import Threads


def test_results_and_errors_come_back() -> None:
    """What the call returns or raises is what the caller gets, whatever it is."""

    def fails() -> int:
        raise KeyError("x")

    async def scenario() -> None:
        threads: Threads[int] = Threads(2, "test")
        assert await threads.run(lambda: 7) == 7
        with pytest.raises(KeyError, match="x"):
            await threads.run(fails)
        threads.stop()

    asyncio.run(scenario())


def test_no_more_threads_than_allowed_and_none_for_nothing() -> None:
    """Calls one after the other share a thread; many at once are spread over `limit` of them."""

    async def scenario() -> tuple[set[str], set[str]]:
        threads: Threads[str] = Threads(3, "test")
        meet = threading.Barrier(3)

        def name_together() -> str:
            meet.wait(30)
            return threading.current_thread().name

        one = {await threads.run(lambda: threading.current_thread().name) for _ in range(5)}
        many = set(await asyncio.gather(*(threads.run(name_together) for _ in range(9))))
        threads.stop()
        return one, many

    one, many = asyncio.run(scenario())
    assert one == {"test-1"}
    assert many == {"test-1", "test-2", "test-3"}


def test_a_cancelled_future_is_left_alone() -> None:
    """A call that ends after its caller gave up disturbs nobody."""

    async def scenario() -> int:
        threads: Threads[int] = Threads(1, "test")
        go = threading.Event()

        def waits() -> int:
            go.wait(30)
            return 1

        given_up = threads.run(waits)
        given_up.cancel()
        go.set()
        result = await threads.run(lambda: 2)
        threads.stop()
        return result

    assert asyncio.run(scenario()) == 2


def test_a_loop_that_is_gone() -> None:
    """A call that outlives its event loop hinders no exit, and its end disturbs nobody."""
    go = threading.Event()

    async def scenario() -> None:
        threads: Threads[bool] = Threads(1, "orphan")
        threads.run(lambda: go.wait(30))

    asyncio.run(scenario())
    [orphan] = [thread for thread in threading.enumerate() if thread.name == "orphan-1"]
    assert orphan.daemon
    go.set()
    orphan.join(30)
    assert not orphan.is_alive()
