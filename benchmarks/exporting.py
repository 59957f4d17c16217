"""Posts from each home to Parquet, beside reading the same rows and doing nothing with them.

`python -m benchmarks.exporting driver|scan|export|shared ADDRESS FILE LIMIT` reads the posts of
the tables at an address, by the bare driver, by the store's scan, or through to a file, in one
process or in two (shared: all of them), and prints a line of
JSON, {"rows": …, "seconds": …, "peak": bytes}. FILE: where the export goes.
"""

import argparse
import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import cache, partial
from pathlib import Path

from benchmarks import cluster
from benchmarks.cluster import Cluster
from benchmarks.common import medians, say
from benchmarks.figures import Figure, Scale
from benchmarks.post_puts import puts
from benchmarks.processes import Wrong, peak_bytes, run
from weibo_crawler.analysis.scan import PostRows, scan_posts
from weibo_crawler.store import Tables
from weibo_crawler.store.rows.keys import Range
from weibo_crawler.store.sqlite.base import database_path
from weibo_crawler.store.sqlite.tables import SqliteTables

_AT_ONCE = 1000  # rows of a put, and of a page of the raw scan
_MEMORY = 1.5  # times the memory of a tenth of the rows
_MB = 1e6


def exports(work: Path, scale: Scale) -> Iterator[Figure]:
    """`export posts` to Parquet from both homes, and its memory."""
    work.mkdir(parents=True)
    address = f"sqlite:///{work}/tables.db"
    _store(address, scale.stored)
    yield from _compare(work, "SQLite", address, scale.stored, scale.runs)
    if why := cluster.why_not():
        say(f"export from HBase is skipped: {why}")
        return
    with Cluster(has_tables=True) as stack:
        _store(stack.tables, scale.stored_hbase)
        yield from _compare(work, "HBase", stack.tables, scale.stored_hbase, scale.runs)


def _compare(work: Path, home: str, address: str, rows: int, runs: int) -> Iterator[Figure]:
    limits = {"driver": rows, "scan": rows, "export": rows, "shared": rows, "tenth": rows // 10}
    read: dict[str, list[dict[str, float]]] = {name: [] for name in limits}
    for number in range(runs):
        for name, limit in limits.items():
            how = "export" if name == "tenth" else name
            done = _read(work, how, address, limit)
            read[name].append(done)
            rate, peak = done["rows"] / done["seconds"], done["peak"] / _MB
            say(f"{number + 1}/{runs} {home} {name}: {rate:,.0f} posts/s, {peak:.0f} MB")
    found = {name: medians(each) for name, each in read.items()}
    rates = {name: each["rows"] / each["seconds"] for name, each in found.items()}
    what = f"export of {rows:,} posts, {home}"
    yield Figure(what, "raw scan", rates["export"], rates["scan"], "posts/s", 0.6)
    yield Figure(what, "the bare driver", rates["export"], rates["driver"], "posts/s")
    yield Figure(f"{what}, 2 processes", what, rates["shared"], rates["export"], "posts/s")
    peak, small = (found[name]["peak"] / _MB for name in ("export", "tenth"))
    yield Figure(f"{what}: memory", "a tenth of them", peak, small, "MB", _MEMORY, is_limit=True)


def _read(work: Path, how: str, address: str, limit: int) -> dict[str, float]:
    file = work / "posts.parquet"
    command = ["-m", "benchmarks.exporting", how, address, str(file), str(limit)]
    done: dict[str, float] = json.loads(run([sys.executable, *command], Path.cwd(), {}))
    if done["rows"] != limit:
        raise Wrong(f"{how}: {done['rows']} posts, not {limit}")
    return done


def _open(address: str) -> Tables:
    if address.startswith("sqlite:"):
        return SqliteTables(address)
    from weibo_crawler.store.hbase.tables import HbaseTables

    return HbaseTables(address)


def _store(address: str, posts: int) -> None:
    with closing(_open(address)) as tables:
        batch = []
        for put in puts(0, posts, "bench"):
            # one time for all of a batch: HBase takes one a call
            batch.append(put._replace(timestamp=1))
            if len(batch) == _AT_ONCE:
                tables.posts.put(batch)
                batch.clear()
        tables.posts.put(batch)


def _by_driver(address: str, limit: int) -> int:
    """Rows of the driver, nothing decoded or kept."""
    if address.startswith("sqlite:"):
        with closing(sqlite3.connect(database_path(address))) as conn:
            rows = conn.execute("SELECT row_key, family, ts, cells FROM cells_posts")
            return sum(family == "post" for _, family, _, _ in rows)
    import happybase

    from weibo_crawler.store.hbase.address import parse_address

    at = parse_address(address)
    connection = happybase.Connection(*at.servers[0], timeout=60_000)
    scan = connection.table(at.table("posts")).scan(batch_size=_AT_ONCE, limit=limit)
    return sum(1 for _ in scan)


def _by_scan(address: str, limit: int) -> int:
    """Rows of the store's own scan: each whole, and dropped."""
    with closing(_open(address)) as tables:
        return sum(1 for _ in tables.posts.scan(limit=limit))


def _export(address: str, file: Path, limit: int) -> int:
    from weibo_crawler.analysis.columns import POSTS
    from weibo_crawler.analysis.export import export

    with closing(_open(address)) as tables:
        return export(scan_posts(tables, limit=limit), tuple(POSTS), file)


def _shared(address: str, file: Path) -> int:
    from weibo_crawler.analysis.columns import POSTS
    from weibo_crawler.analysis.export import export
    from weibo_crawler.analysis.parallel import Parted, Readers

    with Readers(2, file) as readers:
        rows = Parted(readers, partial(_rows, address), lambda n: None)
        return export(rows, tuple(POSTS), file)


def _rows(address: str, part: Range) -> PostRows:
    return scan_posts(_held(address), part=part)


@cache
def _held(address: str) -> Tables:
    """Opened once in each process that reads, as in a command."""
    return _open(address)


def _check(file: Path, address: str) -> None:
    """The file holds what the table does: its first rows are compared."""
    import pyarrow.parquet

    written = pyarrow.parquet.read_table(file, columns=["mid", "uid", "text", "likes"])
    with closing(_open(address)) as tables:
        for i, row in enumerate(tables.posts.scan(limit=min(_AT_ONCE, written.num_rows))):
            one = written.slice(i, 1).to_pylist()[0]
            if (one["text"], str(one["likes"])) != (
                row.cells["post:text"],
                row.cells["count:likes"],
            ):
                raise Wrong(f"row {row.key} was not exported as it is")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("how", choices=("driver", "scan", "export", "shared"))
    parser.add_argument("address")
    parser.add_argument("file", type=Path)
    parser.add_argument("limit", type=int)
    options = parser.parse_args()
    started = time.perf_counter()
    if options.how == "driver":
        rows = _by_driver(options.address, options.limit)
    elif options.how == "scan":
        rows = _by_scan(options.address, options.limit)
    elif options.how == "shared":
        rows = _shared(options.address, options.file)
    else:
        rows = _export(options.address, options.file, options.limit)
    done = {"rows": rows, "seconds": time.perf_counter() - started, "peak": peak_bytes()}
    if options.how in ("export", "shared"):
        _check(options.file, options.address)
    print(json.dumps(done))


if __name__ == "__main__":
    main()
