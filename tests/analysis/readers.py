"""What a reading process opens. A module of its own: each of them imports it at its start, and what
the tests need beside it takes longer than all that is read."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from weibo_crawler.analysis.scan import PostRows, scan_posts
from weibo_crawler.errors import StoreError
from weibo_crawler.store import Tables
from weibo_crawler.store.rows.keys import Range
from weibo_crawler.store.sqlite.tables import SqliteTables

DIES_AT = "08"  # when some ranges have been read


def _tables(url: str) -> Tables:
    if not url.startswith("hbase"):
        return SqliteTables(url)
    from weibo_crawler.store.hbase.tables import HbaseTables

    return HbaseTables(url)


@contextmanager
def opened(url: str, part: Range) -> Iterator[PostRows]:
    tables = _tables(url)
    try:
        yield scan_posts(tables, part=part)
    finally:
        tables.close()


@contextmanager
def killed(url: str, part: Range) -> Iterator[PostRows]:
    """One of the processes dies in its work."""
    if part.start == DIES_AT:
        os.kill(os.getpid(), signal.SIGKILL)
    with opened(url, part) as rows:
        yield rows


@contextmanager
def failing(url: str, part: Range) -> Iterator[PostRows]:
    if part.start == DIES_AT:
        raise StoreError("a row is broken")
    with opened(url, part) as rows:
        yield rows
