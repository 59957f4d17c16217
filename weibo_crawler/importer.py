"""The userlist from SQL into the tables, where Sqoop is not.

New users are those above the watermark, the largest seq that was imported; it moves after each
acknowledged batch, so a killed import goes on where it was. Known users whose row changed (seeds
that were named or lifted) are carried over as well. Equal rows are written at equal timestamps,
so an import may be repeated. The watermark is that of one address of tables; tables that hold no
user at all are filled from the beginning, whatever it says.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from weibo_crawler.store import Frontier, Put, Tables, UserRow
from weibo_crawler.store.cells import user_cells
from weibo_crawler.store.keys import user_key

_BATCH = 1000  # rows a put
_OVERLAP_S = 600.0  # a change is stamped before its transaction ends


class Imported(NamedTuple):
    """new: users that were not in the tables; changed: rows written again."""

    new: int
    changed: int


def import_users(
    frontier: Frontier,
    tables: Tables,
    place: str,
    run_id: str,
    progress: Callable[[int], None] = lambda done: None,
) -> Imported:
    """Copy what the tables at `place` (their address) lack; safe beside a running harvest.
    progress: rows so far."""
    started_at = time.time()
    mark, at = f"imported_seq {place}", f"imported_at {place}"
    is_empty = next(iter(tables.userlist.scan(columns=["user:id"], limit=1)), None) is None
    watermark = 0 if is_empty else int(frontier.get_meta(mark) or 0)
    since = None if is_empty else frontier.get_meta(at)
    changed = 0
    if since is not None:
        rows = (
            row for row in frontier.changed_users(float(since) - _OVERLAP_S) if row.seq <= watermark
        )
        for batch in _batches(row for row in rows if _differs(tables, row)):
            tables.userlist.put([_put(row, run_id, started_at) for row in batch])
            changed += len(batch)
    new = 0
    for batch in _batches(frontier.users(after_seq=watermark)):
        tables.userlist.put([_put(row, run_id, row.found_at) for row in batch])
        frontier.set_meta(mark, str(batch[-1].seq))
        new += len(batch)
        progress(new)
    frontier.set_meta(at, repr(started_at))
    return Imported(new, changed)


def _differs(tables: Tables, row: UserRow) -> bool:
    """Whether the table says something else of this user; which run said it does not count."""
    held = tables.userlist.row(user_key(row.uid), ["user"])
    return {**held, "user:run_id": ""} != {**user_cells(row, ""), "user:run_id": ""}


def _put(row: UserRow, run_id: str, at: float) -> Put:
    return Put(user_key(row.uid), user_cells(row, run_id), int(at * 1000))


def _batches(rows: Iterable[UserRow]) -> Iterator[list[UserRow]]:
    rows = iter(rows)
    while batch := list(islice(rows, _BATCH)):
        yield batch
