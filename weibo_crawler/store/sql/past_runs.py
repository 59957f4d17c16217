"""The books of runs long past: summed up in a row a stage, so that they do not grow for ever.

Both SQL homes hold the same tables `workers` and `meta`; each passes in how it runs a statement.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from weibo_crawler.metrics import figures, total
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.notes import OF_WORK

PAST = "past"  # the run of the rows that sum up others
_KEPT_S = 30 * 86_400.0
_COLUMNS = ", ".join(WorkerRow._fields)
Run = Callable[[str, Sequence[object]], Sequence[Any]]  # a statement with %s -> its rows


def are_there(run: Run, now: float) -> bool:
    """Whether there is anything to sum up; takes no lock. now: seconds since the epoch."""
    sql = "SELECT 1 FROM workers WHERE updated_at < %s AND run_id <> %s LIMIT 1"
    return bool(run(sql, (now - _KEPT_S, PAST))) or any(True for _ in _idle_notes(run, now))


def sum_up(run: Run, now: float) -> None:
    """Runs of which no worker said anything for 30 days become part of the row of their stage, and
    what was noted for their mappers goes. Inside one transaction that excludes others like it. The
    sums over all rows, and the last word of each stage, stay as they were."""
    sql = f"SELECT {_COLUMNS} FROM workers WHERE run_id NOT IN "
    sql += "(SELECT run_id FROM workers WHERE updated_at >= %s AND run_id <> %s)"
    found = run(sql, (now - _KEPT_S, PAST))
    rows = [WorkerRow._make([*row, json.loads(counters)]) for *row, counters in found]
    for name in {row.run_id for row in rows}:
        run("DELETE FROM workers WHERE run_id = %s", (name,))
    for row in _sums(rows):
        run(
            f"INSERT INTO workers ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (*row[:6], json.dumps(row.counters)),
        )
    for note in list(_idle_notes(run, now)):
        run("DELETE FROM meta WHERE name = %s", (note,))


def _sums(rows: Iterable[WorkerRow]) -> Iterator[WorkerRow]:
    stages: dict[str, list[WorkerRow]] = {}
    for row in rows:
        stages.setdefault(row.stage, []).append(row)
    for stage, those in stages.items():
        latest = max(those, key=lambda row: row.updated_at)
        began = min(row.started_at for row in those)
        counters = figures(total([row.counters for row in those]))
        yield WorkerRow(PAST, stage, stage, began, latest.updated_at, latest.ended, counters)


def _idle_notes(run: Run, now: float) -> Iterator[str]:
    """Notes of runs that began long ago, which their names tell, and have no worker."""
    began = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(max(0.0, now - _KEPT_S)))
    for prefix in (note.name for note in OF_WORK):
        sql = "SELECT name FROM meta WHERE name >= %s AND name < %s"
        for (name,) in run(sql, (prefix, prefix + began)):
            if not run("SELECT 1 FROM workers WHERE run_id = %s LIMIT 1", (name[len(prefix) :],)):
                yield str(name)
