"""Users from MariaDB into HBase: the built-in importer beside Sqoop."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from benchmarks import cluster
from benchmarks.cluster import Cluster
from benchmarks.common import say
from benchmarks.crawls import ours
from benchmarks.figures import Figure, Scale, take_turns
from benchmarks.large_userlist import fill_mariadb
from benchmarks.processes import Wrong
from benchmarks.uids import uid
from weibo_crawler.store.rows.keys import user_key

_SAMPLES = 1000
_PAGE = 5000  # rows read at once


def importer(work: Path, scale: Scale) -> Iterator[Figure]:
    """A first import, from the start of the process to its end; Sqoop with two maps. Tables of
    their own: Sqoop's cells bear the time of the import, and would hide those of older times."""
    if why := cluster.why_not():
        say(f"import is skipped: {why}")
        return
    work.mkdir(parents=True)
    with Cluster() as one, Cluster() as other:
        with ThreadPoolExecutor() as threads:
            for _ in threads.map(partial(_make, users=scale.imported), (one, other)):
                pass
        builtin, sqoop = f"import of {scale.imported:,} users", "Sqoop"
        rates = take_turns(
            {
                builtin: _importing(work, one, scale.imported),
                sqoop: _importing(work, other, scale.imported, "--via", "sqoop"),
            },
            scale.runs,
            "users/s",
        )
    yield Figure(builtin, sqoop, rates[builtin], rates[sqoop], "users/s", 2)


def _make(stack: Cluster, users: int) -> None:
    stack.make_tables()
    fill_mariadb(stack, users)


def _importing(work: Path, stack: Cluster, users: int, *options: str) -> Callable[[], float]:
    """A run of the command; users a second."""
    known: set[str] = set()
    return partial(_import, work, stack, users, options, known)


def _import(
    work: Path, stack: Cluster, users: int, options: tuple[str, ...], known: set[str]
) -> float:
    forget_mark = "DELETE FROM meta WHERE name LIKE 'imported%'"
    stack.sql(forget_mark, database=stack.name)
    started = time.perf_counter()
    ours(work, stack.env(), "import", *options)
    seconds = time.perf_counter() - started
    run_id = _check(stack, users)
    if run_id in known:
        raise Wrong("the import wrote nothing")
    known.add(run_id)
    return users / seconds


def _check(stack: Cluster, users: int) -> str:
    """Every row is there, written by one run, which is returned; some are compared whole."""
    from weibo_crawler.store.mysql.frontier import MysqlUsers
    from weibo_crawler.store.rows.cells import user_cells

    with closing(stack.thrift()) as connection:
        table = connection.table(stack.table("userlist"))
        column = b"user:run_id"
        runs = Counter(cells[column] for _, cells in table.scan(columns=[column], batch_size=_PAGE))
        if runs.total() != users or len(runs) != 1:
            raise Wrong(f"{runs.total()} rows of {len(runs)} runs, not {users} of one")
        some = [uid(i) for i in range(0, users, max(1, users // _SAMPLES))]
        held = dict(table.rows([user_key(each).encode() for each in some], [b"user"]))
    run_id: str = next(iter(runs)).decode()
    with closing(MysqlUsers(stack.users, stack.password)) as frontier:
        for row in frontier.users(uids=some):
            cells = held.get(user_key(row.uid).encode(), {})
            if {k.decode(): v.decode() for k, v in cells.items()} != user_cells(row, run_id):
                raise Wrong(f"the row of user {row.uid} is not the one of the userlist")
    return run_id
