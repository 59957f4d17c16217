"""How a run is told to stop, and what it answers: shared by harvest and posts."""

import signal
import sys


def stop_signals() -> list[signal.Signals]:
    """Ctrl-C, SIGTERM, and a terminal that goes away, unless `nohup` said to go on without it."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


def say_stopping(
    *, is_again: bool = False, first: str = "finishing what is in flight (again: stop at once)"
) -> None:
    """The answer to the first of them, or to a later one."""
    how = "at once" if is_again else first
    try:
        print(f"stopping: {how}", file=sys.stderr)
    except OSError:  # nobody reads it any more
        return
