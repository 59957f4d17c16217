"""Users from MariaDB into HBase: the built-in importer beside Sqoop."""

import time
from collections.abc import Callable, Iterator
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
from weibo_crawler.store.keys import user_key

_SAMPLES = 1000


def importer(work: Path, scale: Scale) -> Iterator[Figure]:
    """A first import, from the start of the process to its end; Sqoop with two maps. Tables of
    their own: Sqoop's cells bear the time of the import, and would hide those of older times."""
    if why := cluster.why_not():
        say(f"import is skipped: {why}")
        return
    work.mkdir(parents=True)
    with Cluster(has_tables=True) as one, Cluster(has_tables=True) as other:
        for stack in (one, other):
            fill_mariadb(stack, scale.imported)
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
    from weibo_crawler.store.cells import user_cells
    from weibo_crawler.store.hbase_tables import HbaseTables
    from weibo_crawler.store.mysql_frontier import MysqlUsers

    with (
        closing(HbaseTables(stack.tables)) as tables,
        closing(MysqlUsers(stack.users, stack.password)) as frontier,
    ):
        runs = [row.cells["user:run_id"] for row in tables.userlist.scan(columns=["user:run_id"])]
        if len(runs) != users or len(set(runs)) != 1:
            raise Wrong(f"{len(runs)} rows of {len(set(runs))} runs, not {users} of one")
        some = [uid(i) for i in range(0, users, max(1, users // _SAMPLES))]
        for row in frontier.users(uids=some):
            if tables.userlist.row(user_key(row.uid), ["user"]) != user_cells(row, runs[0]):
                raise Wrong(f"the row of user {row.uid} is not the one of the userlist")
    return runs[0]
