"""The userlist from SQL into the tables, where Sqoop is not.

New users are those above the watermark, the largest seq that was imported; it moves after each
acknowledged batch, so a killed import goes on where it was. Known users whose row changed (seeds
that were named or lifted) are carried over as well. Tables that hold no user at all are filled from
the beginning.

HBase takes one timestamp a call, so the new users of a block of seqs share one: when the last of
them was found. It is older than none of them, so no deletion before a user was found hides the row;
it lies not in the future, where it would hide changes; and blocks are the same whenever they are
cut, so an import of the same users writes the same cells.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import groupby, islice
from typing import NamedTuple, TypeVar

from weibo_crawler.store import Put, Tables, UserRow, notes
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.rows.cells import WALK, user_cells
from weibo_crawler.store.rows.keys import user_key
from weibo_crawler.store.sql.walk import Frontier

T = TypeVar("T")
_BLOCK = 2000  # seqs, or rows, of a put: one call to HBase
_AT_ONCE = 2  # puts: while the server stores one block, the next is written out
_OVERLAP_S = 600.0  # a change is stamped before its transaction ends


class Imported(NamedTuple):
    """new: users that were not in the tables; changed: rows written again."""

    new: int
    changed: int


class _Block(NamedTuple):
    """seq: the last one; puts: the rows of all its users."""

    seq: int
    puts: list[Put]


class Watermark:
    """How far the tables at one address are. It is kept in the users' database, one for every way
    of importing, so that each goes on where the other was.

    seq: users up to it are in the tables; 0 where these hold no user at all, or `from_start`.
    changed_since: rows that changed before are in the tables as they are now; None where all
    are still to come. Seconds since the epoch. is_repair: the tables were filled once, and what
    they lost is written at the time of this import: a deleted row hides cells that are older.
    """

    def __init__(
        self, frontier: Frontier, tables: Tables, place: str, *, from_start: bool = False
    ) -> None:
        self._frontier, self._tables = frontier, tables
        self._seq, self._at = notes.IMPORTED_SEQ.of(place), notes.IMPORTED_AT.of(place)
        self.started_at = time.time()
        known_at = self._at.get(frontier)
        held = tables.userlist.scan(columns=["user:id"], limit=1)  # read when it is looked at
        anew = from_start or known_at is None or not any(held)
        self.is_repair = anew and known_at is not None
        self.seq = 0 if anew else self._seq.get(frontier) or 0
        self.changed_since = None if anew else (known_at or 0.0) - _OVERLAP_S
        if known_at is None:  # what changes from here on is new to a first import that is killed
            self._at.put(frontier, self.started_at)

    def changed(self) -> Iterator[UserRow]:
        """Known users of whom the table says something else."""
        if self.changed_since is None:
            return
        for row in self._frontier.changed_users(self.changed_since):
            if row.seq <= self.seq and _differs(self._tables, row):
                yield row

    def move(self, seq: int) -> None:
        """Users up to seq are acknowledged."""
        self._seq.put(self._frontier, seq)

    def finish(self) -> None:
        """What had changed when this import began is acknowledged."""
        self._at.put(self._frontier, self.started_at)


def import_users(
    frontier: Frontier,
    tables: Tables,
    place: str,
    run_id: str,
    progress: Callable[[int], None] = lambda done: None,
    *,
    from_start: bool = False,
) -> Imported:
    """Copy what the tables at `place` (their address) lack; safe beside a running harvest.
    progress: rows so far. from_start: all users, to repair tables that lost rows."""
    mark = Watermark(frontier, tables, place, from_start=from_start)
    guard = Guard(frontier)
    changed = 0
    for batch in _batches(mark.changed()):
        guard.put((tables.userlist, [_put(row, run_id, mark.started_at) for row in batch]))
        changed += len(batch)
    new = 0
    at = mark.started_at if mark.is_repair else None
    blocks = _blocks(frontier.users(after_seq=mark.seq))

    def put(block: _Block) -> None:
        guard.put((tables.userlist, block.puts))

    with closing(_side_by_side(put, _new_puts(blocks, run_id, at))) as done:
        for seq, puts in done:
            mark.move(seq)
            new += len(puts)
            progress(new)
    mark.finish()
    return Imported(new, changed)


def imported(users: Frontier, place: str) -> int:
    """How many users the tables at `place` hold, by the watermark of their imports, and where jobs
    harvest, by what these have counted."""
    by_jobs = notes.HELD.get(users)
    return by_jobs or users.count_upto(notes.IMPORTED_SEQ.of(place).get(users) or 0)


def _differs(tables: Tables, row: UserRow) -> bool:
    """Whether the table says something else of this user; which run said it does not count. Of whom
    jobs have walked the table says more than SQL."""
    held = tables.userlist.row(user_key(row.uid), ["user"])
    is_other = {**held, "user:run_id": ""} != {**user_cells(row, ""), "user:run_id": ""}
    return is_other and WALK not in held


def _put(row: UserRow, run_id: str, at: float) -> Put:
    return Put.at(user_key(row.uid), user_cells(row, run_id), at)


def _new_puts(blocks: Iterable[list[UserRow]], run_id: str, at: float | None) -> Iterator[_Block]:
    """The rows of each block at this time; None: when the last was found, but now at most, whatever
    the clock of who found it."""
    for rows in blocks:
        last = min(max(row.found_at for row in rows), time.time()) if at is None else at
        yield _Block(rows[-1].seq, [_put(row, run_id, last) for row in rows])


def _side_by_side(work: Callable[[T], None], items: Iterable[T]) -> Generator[T, None, None]:
    """Each item when it and all before it are worked on: by threads, some at once, while the next
    ones are made."""
    under_way: deque[tuple[T, Future[None]]] = deque()
    threads = ThreadPoolExecutor(_AT_ONCE)
    try:
        for item in items:
            under_way.append((item, threads.submit(work, item)))
            if len(under_way) > _AT_ONCE:
                yield _waited_for(*under_way.popleft())
        while under_way:
            yield _waited_for(*under_way.popleft())
    finally:
        threads.shutdown(
            cancel_futures=True
        )  # where one failed, what waits for its turn is dropped


def _waited_for(item: T, future: "Future[None]") -> T:
    future.result()
    return item


def _blocks(rows: Iterable[UserRow]) -> Iterator[list[UserRow]]:
    """Rows by rising seq, cut at the multiples of _BLOCK."""
    return (list(block) for _, block in groupby(rows, lambda row: (row.seq - 1) // _BLOCK))


def _batches(rows: Iterator[UserRow]) -> Iterator[list[UserRow]]:
    while batch := list(islice(rows, _BLOCK)):
        yield batch
