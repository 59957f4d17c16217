"""The userlist in SQLite as a frontier.

How an entry moves: `add_seeds` or `commit` insert it as queued; `claim` leases it; `commit` stores
a page of its list; `finish` ends it, `rest` and `give_back` return it. A write names the lease it
relies on in its own WHERE, so that a process that was paused past its lease writes nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from sqlite3 import Connection
from typing import Any

from weibo_crawler.records import Edge
from weibo_crawler.store import Entry, Found, Landed, PageCommit, Progress
from weibo_crawler.store.sql.claimed import claimed, held_lists
from weibo_crawler.store.sql.cursor import pack_ids, unpack_ids
from weibo_crawler.store.sql.frontier import RELEASE
from weibo_crawler.store.sql.landing import Batch, held_entries, to_keep, users_of
from weibo_crawler.store.sqlite.base import Statements, immediate
from weibo_crawler.store.sqlite.forget import forgotten_among
from weibo_crawler.store.sqlite.users import SqliteUserlist

_CLAIMABLE = """
    SELECT seq, id, screen_name, fans, depth, found_edge, attempts, last_error, retried,
           resting_since
    FROM userlist
    WHERE state = ? AND set_aside = ? AND depth <= ? {more} ORDER BY depth, seq LIMIT ?
"""
_QUEUED = _CLAIMABLE.format(more="")
_RESTED = _CLAIMABLE.format(more="AND resting_until <= ?")
_AMONG = "IN (SELECT value FROM json_each(?))"
_LEASE = f"""
    UPDATE userlist SET state = 'leased', lease_owner = ?, lease_until = ? WHERE seq {_AMONG}
"""
_LISTS = f"""
    SELECT uid, edge, cursor, last_ids, listed, pages, ended FROM progress WHERE uid {_AMONG}
"""
_OWNERS = f"""
    SELECT id, state = 'leased' AND lease_owner = ?, set_aside, attempts,
           edge, cursor, ended IS NOT NULL
    FROM userlist LEFT JOIN progress ON uid = id WHERE id {_AMONG}
"""
_ADVANCE = """
    INSERT INTO progress (uid, edge, cursor, last_ids, listed, pages, ended, sure)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uid, edge) DO UPDATE SET
    cursor = excluded.cursor, last_ids = excluded.last_ids, listed = excluded.listed,
    pages = excluded.pages, ended = excluded.ended, sure = excluded.sure
"""
_SEEN = """
    INSERT INTO edges (owner, edge, nth, seen_at, uids) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (owner, edge, nth) DO UPDATE SET seen_at = excluded.seen_at, uids = excluded.uids
"""
_INSERT = """
    INSERT INTO userlist (id, url, screen_name, fans, depth, found_from, found_edge, found_at,
                          changed_at, run_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
"""
_DONE = f"UPDATE userlist SET state = 'done', {RELEASE} WHERE id {_AMONG}"
_FRESH = f"""
    UPDATE userlist SET attempts = 0, last_error = '', resting_since = NULL WHERE id {_AMONG}
"""


class SqliteUsers(SqliteUserlist):
    """The `Frontier` protocol over one SQLite file; one connection a thread and process."""

    def open_level(self) -> int | None:
        with self._db.translated():
            return _least_depth(self._db.conn(), aside=(0,))

    def next_level(self) -> int | None:
        with self._db.translated():
            return _least_depth(self._db.conn(), aside=(0, 1))

    def add_seeds(self, seeds: Sequence[Found], run_id: str, now: float) -> int:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            walked = conn.execute("SELECT 1 FROM userlist WHERE depth > 0 LIMIT 1").fetchone()
            new = lifted = 0
            for uid, url, screen_name, fans in _not_forgotten(conn, seeds):
                row = (uid, url, screen_name, fans, 0, None, Edge.SEED, now, now, run_id)
                new += (inserted := conn.execute(_INSERT, row).rowcount)
                if not inserted:
                    lifted += conn.execute(
                        "UPDATE userlist SET depth = 0, found_from = NULL, found_edge = 'seed', "
                        "changed_at = ? WHERE id = ? AND depth > 0",
                        (now, uid),
                    ).rowcount
            if walked and (new or lifted):
                self._mark_bounds(Statements(conn), "seeds were added after the walk had begun")
        return new

    def claim(
        self,
        owner: str,
        n: int,
        *,
        edges: Sequence[Edge],
        deepest: int,
        now: float,
        lease_s: float,
        with_aside: bool = True,
    ) -> list[Entry]:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            conn.execute(
                f"UPDATE userlist SET state = 'queued', {RELEASE} "
                "WHERE state = 'leased' AND lease_until < ?",
                (now,),
            )
            rows: list[Any] = []
            for aside in (0, 1)[: 1 + with_aside]:
                found = conn.execute(_QUEUED, ("queued", aside, deepest, n)).fetchall()
                found += conn.execute(_RESTED, ("resting", aside, deepest, now, n)).fetchall()
                rows += sorted(found, key=lambda row: (row[4], row[0]))
            del rows[n:]
            conn.execute(_LEASE, (owner, now + lease_s, _json([row[0] for row in rows])))
            return _entries(conn, rows, edges)

    def commit(
        self, owner: str, run_id: str, pages: Sequence[PageCommit], *, max_users: int
    ) -> list[Landed]:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            last = conn.execute("SELECT MAX(seq) FROM userlist").fetchone()[0] or 0
            found, listed = users_of(pages)
            room = _room(conn, max_users, last, len(found))
            owners = conn.execute(_OWNERS, (owner, _json({page.uid for page in pages})))
            gone = forgotten_among(conn, found | listed)
            known: list[int] = []
            if len(found - gone) > room:  # near the limit: who is known takes no room
                rows = conn.execute(f"SELECT id FROM userlist WHERE id {_AMONG}", (_json(found),))
                known = [uid for (uid,) in rows]
            level, entries = _least_depth(conn, aside=(0,)), held_entries(owners)
            batch = Batch(run_id, level=level, entries=entries, gone=gone, room=room, known=known)
            landings = [batch.land(page) for page in pages]
            inserted = _write(conn, batch)
            if kept := to_keep(pages, landings):
                self._keep_pages(Statements(conn), kept)
            if batch.bounds:
                self._mark_bounds(Statements(conn), batch.bounds)
        return [Landed(landing, inserted[place]) for place, landing in enumerate(landings)]


def _entries(conn: Connection, rows: Sequence[Any], edges: Sequence[Edge]) -> list[Entry]:
    """A list that nobody began has no row yet."""
    uids = _json([row[1] for row in rows])
    lists = held_lists(
        (uid, edge, Progress(cursor, unpack_ids(ids), listed, pages), ended)
        for uid, edge, cursor, ids, listed, pages, ended in conn.execute(_LISTS, (uids,))
    )
    return [claimed(row[1:], edges, lists.get(row[1], {})) for row in rows]


def _least_depth(conn: Connection, aside: Sequence[int]) -> int | None:
    """Of what is queued, leased or resting; the index answers each part at once."""
    parts = [
        f"(SELECT MIN(depth) FROM userlist WHERE state = '{state}' AND set_aside = {set_aside})"
        for state in ("queued", "leased", "resting")
        for set_aside in aside
    ]
    depths = conn.execute(f"SELECT {', '.join(parts)}").fetchone()
    return min((depth for depth in depths if depth is not None), default=None)


def _room(conn: Connection, max_users: int, last: int, wanted: int) -> int:
    """How many users may still be inserted. Counting ten million rows takes a second, and the
    largest seq bounds their number, so they are counted only near the limit."""
    if last + wanted <= max_users:
        return wanted
    return max(0, max_users - int(conn.execute("SELECT COUNT(*) FROM userlist").fetchone()[0]))


def _write(conn: Connection, batch: Batch) -> Counter[int]:
    """Store what landed; by the place of a page how many of its users were new."""
    inserted: Counter[int] = Counter()
    for place, new in groupby(batch.new, key=itemgetter(0)):
        rows = [(*user[:8], user.found_at, user.run_id) for _, user in new]
        before = conn.total_changes
        conn.executemany(_INSERT, rows)
        inserted[place] = conn.total_changes - before
    pages = batch.advanced.values()
    conn.executemany(_ADVANCE, [_progress_row(page, batch.listed(page)) for page in pages])
    conn.executemany(_SEEN, [_seen_row(page, uids) for page, uids in batch.seen()])
    for uids, change in ((batch.done, _DONE), (batch.fresh, _FRESH)):
        if uids:
            conn.execute(change, (_json(uids),))
    return inserted


def _progress_row(page: PageCommit, listed: Sequence[int]) -> tuple[object, ...]:
    after = page.after
    return (
        *(page.uid, page.edge, after.cursor, pack_ids(listed)),
        *(after.listed, after.pages, page.ended, page.sure),
    )


def _seen_row(page: PageCommit, uids: Sequence[int]) -> tuple[object, ...]:
    return page.uid, page.edge, page.nth, page.fetched_at, pack_ids(uids)


def _json(numbers: Iterable[int]) -> str:
    """For `json_each`."""
    return f"[{','.join(map(str, numbers))}]"


def _not_forgotten(conn: Connection, users: Sequence[Found]) -> Sequence[Found]:
    """Without those whom `forget` removed."""
    gone = forgotten_among(conn, [user.uid for user in users])
    return [user for user in users if user.uid not in gone] if gone else users
