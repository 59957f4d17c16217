"""What the cells of a post's ids, `post:uid` and `post:mid`, cost when posts are written."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

from benchmarks import cluster
from benchmarks.cluster import Cluster
from benchmarks.common import say
from benchmarks.figures import Figure, Scale, take_turns
from benchmarks.post_puts import puts
from weibo_crawler.store import Put, Table, Tables
from weibo_crawler.store.sqlite.tables import SqliteTables

_AT_ONCE = 500  # rows of a put: the best size for HBase
_IDS = ("post:uid", "post:mid")


def post_ids(work: Path, scale: Scale) -> Iterator[Figure]:
    """Posts into each home with and without the two cells."""
    work.mkdir(parents=True)
    with closing(SqliteTables(f"sqlite:///{work}/tables.db")) as tables:
        yield _compare("SQLite", tables, scale)
    if why := cluster.why_not():
        say(f"posts into HBase are skipped: {why}")
        return
    from weibo_crawler.store.hbase.tables import HbaseTables

    with Cluster(has_tables=True) as stack, closing(HbaseTables(stack.tables)) as tables:
        yield _compare("HBase", tables, scale)


def _compare(home: str, tables: Tables, scale: Scale) -> Figure:
    users = count(0, scale.written)  # rows of every run are new ones

    def whole() -> float:
        return _rate(tables.posts, list(puts(next(users), scale.written, "bench")))

    def bare() -> float:
        rows = puts(next(users), scale.written, "bench")
        return _rate(tables.posts, [row._replace(cells=_without_ids(row)) for row in rows])

    with_ids, without = f"posts with ids as cells, {home}", "without them"
    rates = take_turns({with_ids: whole, without: bare}, scale.runs, "posts/s")
    return Figure(with_ids, without, rates[with_ids], rates[without], "posts/s")


def _without_ids(row: Put) -> dict[str, str]:
    return {cell: value for cell, value in row.cells.items() if cell not in _IDS}


def _rate(table: Table, rows: Sequence[Put]) -> float:
    started = time.perf_counter()
    for at in range(0, len(rows), _AT_ONCE):
        table.put(rows[at : at + _AT_ONCE])
    return len(rows) / (time.perf_counter() - started)
