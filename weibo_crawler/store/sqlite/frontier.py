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

from weibo_crawler.records import Edge, State
from weibo_crawler.store import NOT_SHOWN, WALLED, Entry, Found, Landed, PageCommit, Progress
from weibo_crawler.store.owners import is_dead
from weibo_crawler.store.sql.claimed import claimed, held_lists
from weibo_crawler.store.sql.cursor import pack_ids, unpack_ids
from weibo_crawler.store.sql.landing import Batch, held_entries, to_keep, users_of
from weibo_crawler.store.sqlite.base import immediate
from weibo_crawler.store.sqlite.forget import (
    allow_users,
    forget_users,
    forgotten_among,
)
from weibo_crawler.store.sqlite.users import SqliteUserlist, keep_pages

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
_RELEASE = "lease_owner = NULL, lease_until = NULL"
_ANEW = "state = 'queued', set_aside = 0, attempts = 0, last_error = '', resting_since = NULL"
_RETRY = f"UPDATE userlist SET {_ANEW}, retried = 1"
_DONE = f"UPDATE userlist SET state = 'done', {_RELEASE} WHERE id {_AMONG}"
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
                _mark_bounds(conn, "seeds were added after the walk had begun")
        return new

    def name_seed(
        self, owner: str, uid: int, screen_name: str | None, fans: int | None, now: float
    ) -> None:
        self._do(
            "UPDATE userlist SET screen_name = ?, fans = ?, changed_at = ? "
            "WHERE id = ? AND state = 'leased' AND lease_owner = ?",
            *(screen_name, fans, now, uid, owner),
        )

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
                f"UPDATE userlist SET state = 'queued', {_RELEASE} "
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
            keep_pages(conn, to_keep(pages, landings))
            if batch.bounds:
                _mark_bounds(conn, batch.bounds)
        return [Landed(landing, inserted[place]) for place, landing in enumerate(landings)]

    def finish(self, owner: str, uid: int, state: State, why: str) -> bool:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            mine = conn.execute(
                f"UPDATE userlist SET state = ?, last_error = ?, {_RELEASE} "
                "WHERE id = ? AND state = 'leased' AND lease_owner = ?",
                (state, why, uid, owner),
            ).rowcount
            if mine and state is State.FAILED:
                _mark_bounds(conn, "lists that failed may hold shorter ways")
            return bool(mine)

    def rest(
        self, owner: str, uid: int, *, now: float, until: float, why: str, counts: bool = True
    ) -> None:
        self._do(
            "UPDATE userlist SET state = 'resting', attempts = attempts + ?, last_error = ?, "
            f"resting_since = COALESCE(resting_since, ?), resting_until = ?, {_RELEASE} "
            "WHERE id = ? AND state = 'leased' AND lease_owner = ?",
            *(counts, why, now, until, uid, owner),
        )

    def give_back(self, owner: str, uids: Sequence[int] | None = None) -> None:
        back = f"UPDATE userlist SET state = 'queued', {_RELEASE} WHERE lease_owner = ?"
        if uids is None:
            self._do(back, owner)
            return
        with self._db.translated(), immediate(self._db.conn()) as conn:
            conn.executemany(f"{back} AND id = ?", [(owner, uid) for uid in uids])

    def put_off(self, owner: str, uid: int) -> None:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            conn.execute(
                f"UPDATE userlist SET state = 'queued', set_aside = 1, {_RELEASE} "
                "WHERE id = ? AND state = 'leased' AND lease_owner = ?",
                (uid, owner),
            )
            _mark_bounds(conn, NOT_SHOWN)

    def renew(self, owner: str, *, now: float, lease_s: float) -> None:
        self._do("UPDATE userlist SET lease_until = ? WHERE lease_owner = ?", now + lease_s, owner)

    def requeue_failed(self) -> int:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            n = conn.execute(
                f"{_RETRY} WHERE state = 'failed' "
                "OR state = 'done' AND id IN (SELECT uid FROM progress WHERE sure = 0)"
            ).rowcount
            conn.execute("UPDATE progress SET ended = NULL, sure = 1 WHERE sure = 0")
            if n:
                _mark_bounds(conn, "lists were walked again later")
            return n

    def requeue_unread(self) -> int:
        return self._do(
            f"{_RETRY} WHERE state = 'done' AND set_aside IN (0, 1) AND depth = 0 "
            "AND found_edge = 'seed' AND screen_name IS NULL AND fans IS NULL"
        )

    def call_depths_bounds(self, why: str) -> None:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            _mark_bounds(conn, why)

    def note_walled(self, edge: Edge, now: float) -> None:
        self._do(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", f"walled {edge}", str(now)
        )

    def reopen_walled(self, edge: Edge, *, after_seq: int, n: int) -> list[tuple[int, int]]:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            # CROSS JOIN: by seq, so that the next batch begins where this one ends
            rows: list[tuple[int, int]] = conn.execute(
                "SELECT seq, id FROM userlist CROSS JOIN progress ON uid = id "
                "WHERE seq > ? AND state IN ('done', 'queued') AND edge = ? AND ended = ? "
                "ORDER BY seq LIMIT ?",
                (after_seq, edge, WALLED, n),
            ).fetchall()
            anew = f"UPDATE userlist SET {_ANEW} WHERE seq = ?"
            conn.executemany(anew, [row[:1] for row in rows])
            conn.executemany(
                "UPDATE progress SET ended = NULL, sure = 1 WHERE uid = ? AND edge = ?",
                [(uid, edge) for _, uid in rows],
            )
            if not rows and not after_seq:  # there is none left
                conn.execute("DELETE FROM meta WHERE name = ?", (f"walled {edge}",))
        return rows

    def begin_waiting(self, now: float, longest_s: float) -> None:
        self._do(
            "UPDATE userlist SET resting_since = ?, resting_until = MIN(resting_until, ?) "
            "WHERE state = 'resting'",
            *(now, now + longest_s),
        )

    def forget(self, uids: Sequence[int]) -> int:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            gone = forget_users(conn, uids)
        self._strip_lists(uids)
        self._drop_naming()
        return gone

    def allow(self, uids: Sequence[int]) -> int:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            return allow_users(conn, uids)

    def reclaim_dead(self) -> int:
        owners = self._rows(
            "SELECT DISTINCT lease_owner FROM userlist WHERE lease_owner IS NOT NULL"
        )
        dead = [(owner,) for (owner,) in owners if is_dead(owner)]
        with self._db.translated(), immediate(self._db.conn()) as conn:
            return (
                conn.executemany(
                    f"UPDATE userlist SET state = 'queued', {_RELEASE} WHERE lease_owner = ?", dead
                ).rowcount
                if dead
                else 0
            )

    def set_aside(self, *, now: float, level_wait_s: float) -> int:
        with self._db.translated(), immediate(self._db.conn()) as conn:
            n = conn.execute(
                "UPDATE userlist SET set_aside = 1 "
                "WHERE state = 'resting' AND set_aside = 0 AND resting_since < ?",
                (now - level_wait_s,),
            ).rowcount
            if n:
                _mark_bounds(conn, "entries rested longer than harvest.level_wait_s")
            return n


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


def _mark_bounds(conn: Connection, why: str) -> None:
    conn.execute("INSERT INTO meta VALUES ('depths_are_bounds', ?) ON CONFLICT DO NOTHING", (why,))
