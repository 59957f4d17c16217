"""The userlist in the SQL that both homes understand: what readers see.

A statement reads a page of rows at a time, so that no snapshot stays open while a caller works.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from weibo_crawler.records import ECHO_LISTS, Edge, Id
from weibo_crawler.store import (
    LESS_SHOWN,
    WALLED,
    EndOfList,
    OpenEntries,
    ReadLists,
    SeenPage,
    UserRow,
    WalledEdge,
    WorkerRow,
)
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.sql.cursor import Database, chunks, marks, unpack_ids

PAGE = 1000  # rows read at once
_COLUMNS = ", ".join("id" if name == "uid" else name for name in UserRow._fields)
_IS_OPEN = "state IN ('queued', 'leased', 'resting')"
_OPEN_ENTRIES = f"""
    SELECT depth, fans, INSTR(COALESCE(last_error, ''), '{LESS_SHOWN}') > 0 AS is_doubted, COUNT(*),
           set_aside
    FROM userlist WHERE {_IS_OPEN} GROUP BY depth, fans, is_doubted, set_aside
"""
_NAMED = ", ".join(f"'{one.edge}'" for one in ECHO_LISTS)  # edges whose cursor names posts
_LEFT = f"""
    CASE WHEN ended IS NULL AND {{cursor}} <> '' AND edge IN ({_NAMED})
    THEN LENGTH({{cursor}}) - LENGTH(REPLACE({{cursor}}, ',', '')) + 1 ELSE 0 END
"""
_READ_LISTS = f"""
    SELECT edge, fans, {_IS_OPEN} AS is_open, ended IS NOT NULL AS is_over,
           COALESCE(ended, '') = '{WALLED}' AS is_walled, COUNT(*), SUM(pages),
           SUM({_LEFT})
    FROM progress JOIN userlist ON id = uid GROUP BY edge, fans, is_open, is_over, is_walled
"""
KEPT = "SELECT uid, url, fetched_at, body FROM kept_pages"
_SEEN = "SELECT owner, edge, nth, seen_at, uids FROM edges"
# written out: MariaDB does not look a row value up in an index
_LATER = "owner >= %s AND (owner > %s OR owner = %s AND (edge > %s OR edge = %s AND nth > %s))"
# whether a row has changed since its user was found, and when: until then both times are the same
CHANGED = "(depth = 0 OR changed_at > found_at) AND changed_at"


class SqlUserlist:
    """The userlist, as a reader sees it. Errors: StoreError where the database cannot be read or
    written."""

    next_page: str  # the column of a cursor
    below_all: Id = -1  # an id that comes before all others

    def __init__(self, db: Database) -> None:
        self._db: Database = db

    # -- reading: what importer, planning and analysis see

    def users(self, *, uids: Sequence[Id] | None = None, after_seq: int = 0) -> Iterator[UserRow]:
        """Kept users by seq, or `uids` in the order given, unknown ones left out. Pages inside, so
        a harvest may write meanwhile."""
        if uids is not None:
            for wanted in chunks(uids, PAGE):
                sql = f"SELECT {_COLUMNS} FROM userlist WHERE id IN ({marks(wanted)})"
                known = {row.uid: row for row in map(UserRow._make, self._rows(sql, *wanted))}
                yield from (known[uid] for uid in wanted if uid in known)
            return
        sql = f"SELECT {_COLUMNS} FROM userlist WHERE seq > %s ORDER BY seq LIMIT %s"
        while rows := self._rows(sql, after_seq, PAGE):
            yield from map(UserRow._make, rows)
            after_seq = rows[-1][0]

    def changed_users(self, since: float) -> Iterator[UserRow]:
        """Known users whose row changed at or after `since`: named since then, or seeds lifted."""
        sql = f"SELECT id FROM userlist WHERE {CHANGED} >= %s ORDER BY seq"
        return self.users(uids=[uid for (uid,) in self._rows(sql, since)])

    def seen_pages(self, *, owners: Sequence[Id] | None = None) -> Iterator[SeenPage]:
        """Whom pages showed, by owner, edge and page; pages inside, as `users`. owners: only of
        these."""
        if owners is not None:
            for owner in sorted(set(owners)):
                sql = f"{_SEEN} WHERE owner = %s ORDER BY edge, nth"
                yield from map(_seen_page, self._rows(sql, owner))
            return
        owner, edge, nth = self.below_all, "", 0
        sql = f"{_SEEN} WHERE {_LATER} ORDER BY owner, edge, nth LIMIT %s"
        while rows := self._rows(sql, owner, owner, owner, edge, edge, nth, PAGE):
            yield from map(_seen_page, rows)
            owner, edge, nth = rows[-1][:3]

    def last_seq(self) -> int:
        """The largest seq, 0 where there is nobody. Seqs become visible in their order, so nobody
        appears below it later, whoever is writing now."""
        return self._count("SELECT COALESCE(MAX(seq), 0) FROM userlist")

    def count_upto(self, seq: int) -> int:
        """How many users have a seq of at most this."""
        return self._count("SELECT COUNT(*) FROM userlist WHERE seq <= %s", seq)

    def states(self) -> dict[str, int]:
        """How many users are in each state; absent states are 0 and left out."""
        return dict(self._rows("SELECT state, COUNT(*) FROM userlist GROUP BY state"))

    def depths(self) -> dict[int, int]:
        """How many users at each depth."""
        sql = "SELECT depth, COUNT(*) FROM userlist GROUP BY depth ORDER BY depth"
        return dict(self._rows(sql))

    def open_entries(self) -> list[OpenEntries]:
        """The entries still to walk, by what they announce."""
        return [
            OpenEntries(depth, fans, bool(doubted), n, bool(put_off))
            for depth, fans, doubted, n, put_off in self._rows(_OPEN_ENTRIES)
        ]

    def read_lists(self) -> list[ReadLists]:
        """The lists that were begun, by edge and by what their owners announce."""
        sql = _READ_LISTS.format(cursor=self.next_page)
        return [
            ReadLists(edge, fans, *map(bool, (is_open, over, walled)), *map(int, (n, pages, left)))
            for edge, fans, is_open, over, walled, n, pages, left in self._rows(sql)
        ]

    def list_ends(self) -> Iterator[EndOfList]:
        """How far each list was read, by uid and edge; pages inside, as `users`."""
        sql = (
            f"SELECT uid, edge, ended, sure, listed, pages, {self.next_page} FROM progress "
            "WHERE uid >= %s AND (uid > %s OR edge > %s) ORDER BY uid, edge LIMIT %s"
        )
        uid, edge = self.below_all, ""
        while found := self._rows(sql, uid, uid, edge, PAGE):
            for uid, edge, ended, sure, *far in found:
                yield EndOfList(uid, edge, ended, bool(sure), *far)

    def unsure_lists(self) -> int:
        """Lists whose end contradicts the announced count; walled ones are not among them."""
        return self._count("SELECT COUNT(*) FROM progress WHERE sure = 0 AND ended <> %s", WALLED)

    def walled(self) -> list[WalledEdge]:
        """The edges that hold walled lists, by name."""
        sql = "SELECT name, value FROM meta WHERE name LIKE %s ORDER BY name"
        noted = self._rows(sql, "walled %")
        if not noted:  # no need to count
            return []
        sql = "SELECT edge, COUNT(*), SUM(sure) FROM progress WHERE ended = %s GROUP BY edge"
        lists = {edge: (int(n), int(alone)) for edge, n, alone in self._rows(sql, WALLED)}
        edges = [(Edge(name.removeprefix("walled ")), float(since)) for name, since in noted]
        told = ((edge, *lists.get(edge, (0, 0)), since) for edge, since in edges)
        return [WalledEdge(edge, n, since, alone) for edge, n, alone, since in told]

    def workers(self, run_id: str = "") -> list[WorkerRow]:
        """Every worker of this run, or of every run, oldest first; runs of which nobody said
        anything for 30 days are summed up, one row for each stage (past_runs.py)."""
        rows = self._rows(
            "SELECT run_id, worker, stage, started_at, updated_at, ended, counters "
            f"FROM workers {'WHERE run_id = %s' if run_id else ''} ORDER BY started_at, worker",
            *([run_id] if run_id else []),
        )
        return [WorkerRow._make([*row, json.loads(counters)]) for *row, counters in rows]

    def depths_are_bounds(self) -> str:
        """Why depths are upper bounds only, "" where they are exact."""
        return self.get_meta("depths_are_bounds") or ""

    def get_meta(self, name: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE name = %s", name)
        return str(rows[0][0]) if rows else None

    def kept_pages(self, uids: Sequence[Id]) -> dict[Id, list[KeptPage]]:
        """The pages that are kept of these users, by uid."""
        found: defaultdict[Id, list[KeptPage]] = defaultdict(list)
        for some in chunks(uids, PAGE):
            sql = f"{KEPT} WHERE uid IN ({marks(some)}) ORDER BY uid, url"
            for uid, *page in self._rows(sql, *some):
                found[uid].append(KeptPage._make(page))
        return dict(found)

    def _rows(self, sql: str, *values: object) -> Sequence[Any]:
        return self._db.read(sql, values)

    def _count(self, sql: str, *values: object) -> int:
        return int(self._rows(sql, *values)[0][0])


def _seen_page(row: Any) -> SeenPage:
    return SeenPage._make((*row[:4], unpack_ids(row[4])))
