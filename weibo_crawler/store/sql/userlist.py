"""The userlist in the SQL that both homes understand: what readers see, and what `forget` cleans.

A statement reads a page of rows at a time, so that no snapshot stays open while a caller works.
"""

import json
import zlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from weibo_crawler.records import Edge, Id
from weibo_crawler.store import (
    WALLED,
    OpenEntries,
    ReadLists,
    SeenPage,
    UserRow,
    WalledEdge,
    WorkerRow,
)
from weibo_crawler.store.forgotten import NOBODY, Forgotten
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.sql.cursor import (
    Database,
    chunks,
    marks,
    pack_ids,
    part_of_packed,
    unpack_ids,
)

PAGE = 1000  # rows read at once
_COLUMNS = ", ".join("id" if name == "uid" else name for name in UserRow._fields)
_IS_OPEN = "state IN ('queued', 'leased', 'resting')"
_DOUBT = "less was shown"  # of harvest.trouble.Unsure
_OPEN_ENTRIES = f"""
    SELECT depth, fans, INSTR(COALESCE(last_error, ''), '{_DOUBT}') > 0 AS is_doubted, COUNT(*)
    FROM userlist WHERE {_IS_OPEN} GROUP BY depth, fans, is_doubted
"""
_READ_LISTS = f"""
    SELECT edge, fans, {_IS_OPEN} AS is_open, ended IS NOT NULL AS is_over,
           COALESCE(ended, '') = '{WALLED}' AS is_walled, COUNT(*), SUM(pages)
    FROM progress JOIN userlist ON id = uid GROUP BY edge, fans, is_open, is_over, is_walled
"""
_KEPT = "SELECT uid, url, fetched_at, body FROM kept_pages"
# tables of lists: the packed ids, and the key
_LISTS = (("progress", "last_ids", "uid", "edge"), ("edges", "uids", "owner", "edge", "nth"))
_AT_ONCE = 50  # ids looked for in one pass over all lists
_SEEN = "SELECT owner, edge, nth, seen_at, uids FROM edges"
# written out: MariaDB does not look a row value up in an index
_LATER = "owner >= %s AND (owner > %s OR owner = %s AND (edge > %s OR edge = %s AND nth > %s))"


# of a row, and when; of a user who is as they were found both times are the same
CHANGED = "(depth = 0 OR changed_at > found_at) AND changed_at"


class SqlUserlist(ABC):
    """What the userlists of both homes do alike. Errors: StoreError where the database cannot be
    read or written."""

    below_all: Id = -1  # an id that comes before all others

    def __init__(self, db: Database) -> None:
        self._db: Database = db

    @abstractmethod
    def forgotten(self, known: Forgotten = NOBODY) -> Forgotten:
        """Whom `forget` removed; `known` itself where nobody was since."""

    # -- reading: what importer, planning and analysis see

    def users(self, *, uids: Sequence[Id] | None = None, after_seq: int = 0) -> Iterator[UserRow]:
        """Kept users by seq; `uids` in the order given, unknown ones left out."""
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
        sql = f"SELECT id FROM userlist WHERE {CHANGED} >= %s ORDER BY seq"
        return self.users(uids=[uid for (uid,) in self._rows(sql, since)])

    def seen_pages(self, *, owners: Sequence[Id] | None = None) -> Iterator[SeenPage]:
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
        return self._count("SELECT COALESCE(MAX(seq), 0) FROM userlist")

    def count_upto(self, seq: int) -> int:
        return self._count("SELECT COUNT(*) FROM userlist WHERE seq <= %s", seq)

    def states(self) -> dict[str, int]:
        return dict(self._rows("SELECT state, COUNT(*) FROM userlist GROUP BY state"))

    def depths(self) -> dict[int, int]:
        sql = "SELECT depth, COUNT(*) FROM userlist GROUP BY depth ORDER BY depth"
        return dict(self._rows(sql))

    def open_entries(self) -> list[OpenEntries]:
        return [
            OpenEntries(depth, fans, bool(doubted), n)
            for depth, fans, doubted, n in self._rows(_OPEN_ENTRIES)
        ]

    def read_lists(self) -> list[ReadLists]:
        return [
            ReadLists(edge, fans, bool(is_open), bool(over), bool(walled), int(n), int(pages))
            for edge, fans, is_open, over, walled, n, pages in self._rows(_READ_LISTS)
        ]

    def unsure_lists(self) -> int:
        """Lists whose end contradicts the announced count; walled ones are not among them."""
        return self._count("SELECT COUNT(*) FROM progress WHERE sure = 0 AND ended <> %s", WALLED)

    def walled(self) -> list[WalledEdge]:
        sql = "SELECT name, value FROM meta WHERE name LIKE %s ORDER BY name"
        noted = self._rows(sql, "walled %")
        if not noted:  # no need to count
            return []
        sql = "SELECT edge, COUNT(*) FROM progress WHERE ended = %s GROUP BY edge"
        lists: dict[str, int] = dict(self._rows(sql, WALLED))
        edges = [(Edge(name.removeprefix("walled ")), float(since)) for name, since in noted]
        return [WalledEdge(edge, lists.get(edge, 0), since) for edge, since in edges]

    def workers(self, run_id: str = "") -> list[WorkerRow]:
        rows = self._rows(
            "SELECT run_id, worker, stage, started_at, updated_at, ended, counters "
            f"FROM workers {'WHERE run_id = %s' if run_id else ''} ORDER BY started_at, worker",
            *([run_id] if run_id else []),
        )
        return [WorkerRow._make([*row, json.loads(counters)]) for *row, counters in rows]

    def depths_are_bounds(self) -> str:
        return self.get_meta("depths_are_bounds") or ""

    def get_meta(self, name: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE name = %s", name)
        return str(rows[0][0]) if rows else None

    def kept_pages(self, uids: Sequence[Id]) -> dict[Id, list[KeptPage]]:
        found: defaultdict[Id, list[KeptPage]] = defaultdict(list)
        for some in chunks(uids, PAGE):
            sql = f"{_KEPT} WHERE uid IN ({marks(some)}) ORDER BY uid, url"
            for uid, *page in self._rows(sql, *some):
                found[uid].append(KeptPage._make(page))
        return dict(found)

    # -- whom `forget` removed

    def _strip_lists(self, uids: Sequence[Id]) -> None:
        """Take the ids out of what others' lists remember, and of the pages that showed them. What
        moves on meanwhile is left: a page that is committed after the hashes holds none of them."""
        for some in chunks(uids, _AT_ONCE):
            packed = [part_of_packed(uid) for uid in some]
            for table, ids, *key in _LISTS:
                where = " OR ".join([f"INSTR({ids}, %s) > 0"] * len(some))
                sql = f"SELECT {', '.join(key)}, {ids} FROM {table} WHERE {where}"
                is_it = " AND ".join(f"{name} = %s" for name in (*key, ids))
                for *place, before in self._rows(sql, *packed):
                    left = pack_ids([uid for uid in unpack_ids(before) if uid not in some])
                    sql = f"UPDATE {table} SET {ids} = %s WHERE {is_it}"
                    self._db.write(sql, (left, *place, before))

    def _drop_naming(self) -> None:
        """Delete the kept pages, and those of unknown shape, that name somebody forgotten."""
        forgotten = self.forgotten()
        for key in self._rows("SELECT uid, url FROM kept_pages"):
            is_it = "uid = %s AND url = %s"
            for _, *page in self._rows(f"{_KEPT} WHERE {is_it}", *key):
                if KeptPage._make(page).names(forgotten):
                    self._db.write(f"DELETE FROM kept_pages WHERE {is_it}", key)
        for (seq,) in self._rows("SELECT seq FROM drifted"):
            sql = "SELECT url, why, body FROM drifted WHERE seq = %s"
            for url, why, body in self._rows(sql, seq):
                if forgotten.is_named_in(f"{url} {why} ".encode() + zlib.decompress(body)):
                    self._db.write("DELETE FROM drifted WHERE seq = %s", (seq,))

    def _rows(self, sql: str, *values: object) -> Sequence[Any]:
        return self._db.read(sql, values)

    def _count(self, sql: str, *values: object) -> int:
        return int(self._rows(sql, *values)[0][0])


def _seen_page(row: Any) -> SeenPage:
    return SeenPage._make((*row[:4], unpack_ids(row[4])))
