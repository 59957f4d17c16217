"""What ten million known users cost: storing a fan page, and starting again.

`python -m benchmarks.large_userlist ADDRESS` builds the seen-set from a userlist as a run that
starts does, and prints a line of JSON, {"users": …, "seconds": …}.
"""

import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks import cluster, uids
from benchmarks.cluster import Cluster
from benchmarks.common import say
from benchmarks.figures import Figure, Scale, take_turns, within
from benchmarks.processes import Wrong, run
from benchmarks.uids import uid
from weibo_crawler.records import Edge
from weibo_crawler.store import Found, Landing, PageCommit, Progress
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.sqlite.base import database_path
from weibo_crawler.store.sqlite.frontier import SqliteUsers

_BATCH = 32  # pages of one transaction
_NEW, _KNOWN = 10, 2  # users of a page; whom this process knows is not sent at all
_LEASE_S = 600.0
_DEPTH = 5  # of those who wait; the others are done
_WAITING = 3  # every third waits
_FILLED = 1_000_000  # users of one transaction
# ten users of a page at a time, 66 pages a second: what 200 proxies at the default pace fetch
_FOUND_AT = "1793462400.0 + (i - i % 10) * 0.0015"
_ROWS = """
    INSERT INTO userlist (seq, id, url, screen_name, fans, depth, found_from, found_edge, found_at,
                          changed_at, run_id, state)
    SELECT i + 1, {uid}, {url}, {name}, 10 + i % 5000, {depth}, {found_from}, 'fans',
           {found_at}, {found_at}, 'bench',
           CASE WHEN i % {waiting} = 0 THEN 'queued' ELSE 'done' END FROM {numbers}
"""


def large_userlist(work: Path, scale: Scale) -> Iterator[Figure]:
    """A fan page in a userlist of many users beside one of few; a restart with many."""
    work.mkdir(parents=True)
    with ExitStack() as opened:
        stacks: list[Cluster] = []
        if why := cluster.why_not():
            say(f"userlist in MariaDB is skipped: {why}")
        else:
            stacks = [opened.enter_context(Cluster()) for _ in range(2)]
        sizes = (scale.many, scale.few)
        files = [work / f"{users}.db" for users in sizes]
        with ThreadPoolExecutor() as threads:  # one is filled by this process, one by the server
            filled = [
                threads.submit(fill_mariadb, *each) for each in zip(stacks, sizes, strict=False)
            ]
            addresses = list(map(_sqlite, files, sizes))
            for each in filled:
                each.result()
        yield from _measure("SQLite", scale, addresses)
        if stacks:
            yield from _measure("MariaDB", scale, [_with_password(stack) for stack in stacks])


def _measure(home: str, scale: Scale, addresses: Sequence[str]) -> Iterator[Figure]:
    """addresses: of many users, and of few."""
    sizes = (scale.many, scale.few)
    names = [f"page into {users:,} users, {home}" for users in sizes]
    contenders: dict[str, Callable[[], float]] = {}
    for name, address, held in zip(names, addresses, sizes, strict=True):
        numbers = count(held)  # of users who are new here
        contenders[name] = partial(_store_pages, _open(address), scale.walk_pages, numbers, held)
    ms = take_turns(contenders, scale.runs, "ms a page")
    yield Figure(names[0], names[1], ms[names[0]], ms[names[1]], "ms", 1.2, is_limit=True)
    restart = f"restart with {scale.many:,} users, {home}"
    seconds = take_turns({restart: partial(_restart, addresses[0], scale.many)}, scale.runs, "s")
    yield within(restart, 20, seconds[restart], "s")


def _store_pages(frontier: Frontier, pages: int, new: "count[int]", held: int) -> float:
    """Claim entries and store a fan page of each, as a harvest does; milliseconds a page."""
    owner, stored, seconds = new_owner(), 0, 0.0
    while stored < pages:
        now = time.time()
        found = [_found(new, held) for _ in range(_BATCH)]
        started = time.perf_counter()
        entries = frontier.claim(
            owner, _BATCH, edges=[Edge.FANS], deepest=99, now=now, lease_s=_LEASE_S
        )
        batch = [
            PageCommit(
                *(entry.uid, Edge.FANS, "", Progress("", (), len(users), 1)),
                *(users, now, "end"),
                last=True,
            )
            for entry, users in zip(entries, found, strict=True)
        ]
        landed = frontier.commit(owner, "bench", batch, max_users=uids.MOST)
        seconds += time.perf_counter() - started
        if wrong := [one for one in landed if one != (Landing.STORED, _NEW)]:
            raise Wrong(f"a page did not land whole: {wrong[0]}")
        stored += len(batch)
    frontier.close()
    return 1000 * seconds / stored


def _found(new: "count[int]", held: int) -> tuple[Found, ...]:
    fresh = [next(new) for _ in range(_NEW)]
    numbers = [*fresh, *(one * 7919 % held for one in fresh[:_KNOWN])]
    return tuple(Found(uid(i), f"https://m.weibo.cn/u/{uid(i)}", f"用户{i}", 99) for i in numbers)


def _restart(address: str, users: int) -> float:
    """Seconds until a new process has its seen-set; more users may be there, whom pages added."""
    done = json.loads(
        run([sys.executable, "-m", "benchmarks.large_userlist", address], Path.cwd(), {})
    )
    if done["users"] < users:
        raise Wrong(f"the seen-set holds {done['users']} users, not {users}")
    return float(done["seconds"])


# -- userlists with their schema, filled by a few statements


def _sqlite(file: Path, users: int) -> str:
    address = f"sqlite:///{file}"
    frontier = SqliteUsers(address)
    frontier.last_seq()  # makes the tables
    frontier.close()
    conn = sqlite3.connect(database_path(address), isolation_level=None)
    conn.execute("PRAGMA cache_size = -2000000")  # kB: random ids in one transaction
    conn.execute("PRAGMA journal_mode = OFF")  # who opens the file next sets its own
    conn.execute("BEGIN")
    numbers = f"(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n \
                 WHERE i < {users} - 1) SELECT i FROM n)"
    conn.execute(_statement(numbers, "'{}' || {}"))
    conn.execute("COMMIT")
    conn.close()
    say(f"SQLite: {users:,} users, {file.stat().st_size / 1e6:,.0f} MB")
    return address


def fill_mariadb(stack: Cluster, users: int) -> None:
    """So many users in the tables of the stack's own database; some minutes for ten million."""
    from weibo_crawler.store.mysql.frontier import MysqlUsers

    frontier = MysqlUsers(stack.users, stack.password)
    frontier.last_seq()  # makes the tables
    frontier.close()
    numbers = "(SELECT seq AS i FROM seq_{}_to_{}) AS numbers"
    ranges = [(first, min(first + _FILLED, users) - 1) for first in range(0, users, _FILLED)]
    # an index is built by sorting much sooner than row by row
    ((_, made),) = stack.sql("SHOW CREATE TABLE userlist", database=stack.name)
    indexes = re.findall(r"^ *((?:UNIQUE )?KEY (`\w+`) .+?),?$", made, re.MULTILINE)
    stack.sql(
        "ALTER TABLE userlist " + ", ".join(f"DROP KEY {name}" for _, name in indexes),
        *(_statement(numbers.format(*each), "CONCAT('{}', {})") for each in ranges),
        "ALTER TABLE userlist " + ", ".join(f"ADD {index}" for index, _ in indexes),
        f"UPDATE gate SET next_seq = {users + 1}, users = {users}",
        database=stack.name,
    )
    say(f"MariaDB: {users:,} users")


def _statement(numbers: str, joined: str) -> str:
    """The rows of `numbers`, a table with a column i; joined: how the dialect joins two texts."""
    return _ROWS.format(
        numbers=numbers,
        uid=uids.SQL.format(i="i"),
        url=joined.format("https://m.weibo.cn/u/", uids.SQL.format(i="i")),
        name=joined.format("用户", "i"),
        depth=f"CASE WHEN i % {_WAITING} = 0 THEN {_DEPTH} ELSE i % {_DEPTH} END",
        found_from=uids.SQL.format(i="0"),
        found_at=_FOUND_AT,
        waiting=_WAITING,
    )


def _open(address: str) -> Frontier:
    if address.startswith("sqlite:"):
        return SqliteUsers(address)
    from weibo_crawler.store.mysql.frontier import MysqlUsers

    url, _, file = address.partition("#")
    return MysqlUsers(url, Path(file).read_text("utf-8").strip())


def _with_password(stack: Cluster) -> str:
    """The address, and after # the file of its password, which is not to be in argv."""
    return f"{stack.users}#{stack.stack['STACK_MYSQL_PASSWORD_FILE']}"


def main() -> None:
    from weibo_crawler.harvest.seen import SeenSet

    started = time.perf_counter()
    seen = SeenSet(_open(sys.argv[1]).known_ids())
    print(json.dumps({"users": len(seen), "seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main()
