"""What a reading process opens. A module of its own: each of them imports it at its start, and what
the tests need beside it takes longer than all that is read."""

import os
import signal
from functools import cache

from weibo_crawler.analysis.scan import PostRows, scan_posts
from weibo_crawler.errors import StoreError
from weibo_crawler.store import Tables
from weibo_crawler.store.rows.keys import Range
from weibo_crawler.store.sqlite.tables import SqliteTables

DIES_AT = "08"  # when some ranges have been read


@cache
def _tables(url: str) -> Tables:
    """Opened once in each process, as in a command."""
    if not url.startswith("hbase"):
        return SqliteTables(url)
    from weibo_crawler.store.hbase.tables import HbaseTables

    return HbaseTables(url)


def read(url: str, part: Range) -> PostRows:
    return scan_posts(_tables(url), part=part)


def killed(url: str, part: Range) -> PostRows:
    """One of the processes dies in its work."""
    if part.start == DIES_AT:
        os.kill(os.getpid(), signal.SIGKILL)
    return read(url, part)


def failing(url: str, part: Range) -> PostRows:
    if part.start == DIES_AT:
        raise StoreError("a row is broken")
    return read(url, part)
