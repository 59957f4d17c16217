"""Who may send under a pace limit, and what Ctrl-C says: shared by harvest and posts."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from weibo_crawler.errors import BadUsage
from weibo_crawler.home import Home

_HOLD_S = 60.0  # a run that says nothing for so long no longer holds the egresses


def hold(home: Home, owner: str) -> str:
    """Become or stay the holder; returns who is."""
    return home.users.hold_egresses(owner, now=time.time(), lease_s=_HOLD_S)


@contextmanager
def holding_egresses(home: Home, owner: str) -> Iterator[None]:
    """Under a pace limit only one run at a time sends (law 10): each paces by itself."""
    if not home.settings.pace.requests_per_second:
        yield
        return
    holder = hold(home, owner)
    if holder != owner:
        raise BadUsage(
            f"another run (process {holder.split('/')[1]}) is sending already, and two at once "
            "would break pace.requests_per_second: wait for it or end it"
        )
    try:
        yield
    finally:
        home.users.free_egresses(owner)


def say_stopping() -> None:
    """The answer to the first Ctrl-C."""
    print("stopping: finishing what is in flight (again: stop at once)", file=sys.stderr)
