"""How a run is told to stop: Ctrl-C, SIGTERM, and a terminal that goes away."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from weibo_crawler.cli import logs
from weibo_crawler.errors import Interrupted

_FINISHING = "finishing what is in flight (again: stop at once)"
_AT_ONCE = "at once; what was stored stays, and the same command goes on from there"


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Inside, each of the signals calls `stop`, each time it comes."""
    stops = count()

    def interrupted(*_: object) -> None:
        _say(_AT_ONCE if next(stops) else _FINISHING)
        stop()

    handlers = {n: signal.signal(n, interrupted) for n in _signals()}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def stop_by_signals(
    stop: Callable[[], None],
    *,
    at_once: Callable[[], None] = lambda: None,
    first: str = _FINISHING,
) -> None:
    """On the event loop that is running: the first signal calls `stop`, the next one ends the
    process. at_once: called before that; first: what is said of the first one."""
    stops = count()

    def interrupted() -> None:
        if next(stops):
            _say(_AT_ONCE)
            at_once()
            os._exit(Interrupted.exit_code)
        _say(first)
        stop()

    loop = asyncio.get_running_loop()
    for number in _signals():
        loop.add_signal_handler(number, interrupted)


def _signals() -> list[signal.Signals]:
    """SIGHUP is not among them where `nohup` said to go on without the terminal."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


def _say(how: str) -> None:
    logs.say(f"stopping: {how}")
