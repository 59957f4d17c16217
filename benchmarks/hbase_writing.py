"""Posts into HBase: what one mapper's writer adds to the bare driver."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

from benchmarks import cluster
from benchmarks.cluster import Cluster
from benchmarks.common import say
from benchmarks.figures import Figure, Scale, take_turns
from benchmarks.post_puts import PAGE, puts
from benchmarks.processes import Wrong
from weibo_crawler.posts.writer import Writer
from weibo_crawler.store import Put, Table
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.rows.keys import owner_of, posts_prefix

_IN_FLIGHT = 64  # pages that wait to be stored
_BATCH = 5000  # cells of a batch of happybase's, which counts cells; the best of 1000 to 20000
_RUN = "bench"


def posts_hbase(work: Path, scale: Scale) -> Iterator[Figure]:
    """The writer of one mapper, guard and acknowledgements included, beside happybase's batches."""
    if why := cluster.why_not():
        say(f"posts_hbase is skipped: {why}")
        return
    from weibo_crawler.store.hbase.tables import HbaseTables
    from weibo_crawler.store.mysql.frontier import MysqlUsers

    users = count(0, scale.written)  # rows of every run are new ones
    with Cluster(has_tables=True) as stack, closing(HbaseTables(stack.tables)) as tables:
        guard = Guard(MysqlUsers(stack.users, stack.password))

        def ours() -> float:
            rows = list(puts(next(users), scale.written, _RUN))
            started = time.perf_counter()
            asyncio.run(_write(Writer(tables, guard), rows))
            return _checked(tables.posts, rows, time.perf_counter() - started)

        def theirs() -> float:
            rows = list(puts(next(users), scale.written, _RUN))
            started = time.perf_counter()
            _put_all(stack, rows)
            return _checked(tables.posts, rows, time.perf_counter() - started)

        contenders = {"posts into HBase": ours, "happybase, batches alone": theirs}
        rates = take_turns(contenders, scale.runs, "posts/s")
    mine, bare = contenders
    yield Figure(mine, bare, rates[mine], rates[bare], "posts/s", 0.7)


async def _write(writer: Writer, rows: Sequence[Put]) -> None:
    """Page by page, each stamped when it comes, as visits under way at once put them."""
    pages = iter(range(0, len(rows), PAGE))

    async def visit() -> None:
        for at in pages:
            now = time.time_ns() // 1_000_000
            await writer.put([put._replace(timestamp=now) for put in rows[at : at + PAGE]], ())

    await asyncio.gather(*[visit() for _ in range(_IN_FLIGHT)])
    writer.close()


def _put_all(stack: Cluster, rows: Sequence[Put]) -> None:
    connection = stack.thrift()
    with connection.table(stack.table("posts")).batch(batch_size=_BATCH) as batch:
        for put in rows:
            cells = {column.encode(): value.encode() for column, value in put.cells.items()}
            batch.put(put.key.encode(), cells)
    connection.close()


def _checked(table: Table, rows: Sequence[Put], seconds: float) -> float:
    """Posts a second, where the table holds them."""
    for prefix in {posts_prefix(owner_of(put.key)) for put in rows[:: len(rows) // 10]}:
        held = {row.key: row.cells for row in table.scan(prefix=prefix)}
        if held != {put.key: put.cells for put in rows if put.key.startswith(prefix)}:
            raise Wrong("the table does not hold what was put")
    return len(rows) / seconds
