"""Entries of the frontier, what processes write of themselves, and kept pages, in the SQL that both
homes understand.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from weibo_crawler.records import LONGEST_CLAIM_S, Edge, Id, State
from weibo_crawler.store import NOT_SHOWN, WALLED, WorkerRow
from weibo_crawler.store.kept import KeptPage, kept_rows
from weibo_crawler.store.owners import is_dead
from weibo_crawler.store.sql import past_runs
from weibo_crawler.store.sql.cursor import Cursor, chunks, marks, rows
from weibo_crawler.store.sql.erasure import SqlErasure
from weibo_crawler.store.sql.userlist import PAGE

T = TypeVar("T")

RELEASE = "lease_owner = NULL, lease_until = NULL"
_MINE = "WHERE id = %s AND state = 'leased' AND lease_owner = %s"
_ANEW = "state = 'queued', set_aside = 0, attempts = 0, last_error = '', resting_since = NULL"
_RETRY = f"{_ANEW}, retried = 1"
_BACK = f"UPDATE userlist SET state = 'queued', {RELEASE} WHERE lease_owner"
_DRIFTED_KEPT = 1000  # pages; enough to see a change of shape, bounded against a site that drifts


RETRIED = f"(sure = 0 OR ended = '{WALLED}')"  # of lists that ended: those to ask for once more


class SqlEntries(SqlErasure):
    """What is written of entries, runs and kept pages in the same way in both homes."""

    keep: str  # the insert of a kept page, of which the newest stays
    retry_lists: str  # the update of done entries, with places for its SET and for which lists
    walled_lists: str  # userlist and progress joined, so that the rows come by seq
    _has_reported = False

    def close(self) -> None:
        self._db.close()

    # -- an entry that is leased

    def name_seed(
        self, owner: str, uid: Id, screen_name: str | None, fans: int | None, now: float
    ) -> None:
        """What a seed's profile told."""
        self._db.write(
            f"UPDATE userlist SET screen_name = %s, fans = %s, changed_at = %s {_MINE}",
            (screen_name, fans, now, uid, owner),
        )

    def name_kept(self, uid: Id, screen_name: str, now: float) -> None:
        """The name of a user who has none so far, as a list shows it; a seed whose profile was not
        read yet waits for that."""
        self._db.write(
            "UPDATE userlist SET screen_name = %s, changed_at = %s "
            "WHERE id = %s AND screen_name IS NULL AND fans IS NOT NULL",
            (screen_name, now, uid),
        )

    def finish(self, owner: str, uid: Id, state: State, why: str) -> bool:
        """The entry leaves the queue as done, gone or failed; False: it was not mine. A failed one
        makes all depths upper bounds."""

        def work(cursor: Cursor) -> bool:
            sql = f"UPDATE userlist SET state = %s, last_error = %s, {RELEASE} {_MINE}"
            is_mine = bool(cursor.execute(sql, (state.value, why, uid, owner)))
            if is_mine and state is State.FAILED:
                self._mark_bounds(cursor, "lists that failed may hold shorter ways")
            return is_mine

        return self._db.transaction(work)

    def rest(
        self, owner: str, uid: Id, *, now: float, until: float, why: str, counts: bool = True
    ) -> None:
        """Back to the frontier, not before `until`. counts: as one of its attempts."""
        self._db.write(  # a repetition meets no lease of mine any more
            "UPDATE userlist SET state = 'resting', attempts = attempts + %s, last_error = %s, "
            f"resting_since = COALESCE(resting_since, %s), resting_until = %s, {RELEASE} {_MINE}",
            (counts, why, now, until, uid, owner),
        )

    def give_back(self, owner: str, uids: Sequence[Id] | None = None) -> None:
        """Back to the frontier at once, no attempt counted. None: all that the owner holds."""
        if uids is None:
            self._db.write(f"{_BACK} = %s", (owner,))
        elif uids:
            self._db.write(f"{_BACK} = %s AND id IN ({marks(uids)})", (owner, *sorted(uids)))

    def put_off(self, owner: str, uid: Id) -> None:
        """Back to the frontier behind all others, whom it holds back no more: set aside."""

        def work(cursor: Cursor) -> None:
            put_off = f"UPDATE userlist SET state = 'queued', set_aside = 1, {RELEASE} {_MINE}"
            cursor.execute(put_off, (uid, owner))
            self._mark_bounds(cursor, NOT_SHOWN)

        self._alone(work)

    def renew(self, owner: str, *, now: float, lease_s: float) -> None:
        self._db.write(
            "UPDATE userlist SET lease_until = %s WHERE lease_owner = %s", (now + lease_s, owner)
        )

    def reclaim_dead(self) -> int:
        """Free what owners on this host hold whose process is dead; returns how many entries."""
        owners = self._rows(
            "SELECT DISTINCT lease_owner FROM userlist WHERE lease_owner IS NOT NULL"
        )
        dead = [owner for (owner,) in owners if is_dead(owner)]
        back = f"{_BACK} IN ({marks(dead)})"
        return self._db.transaction(lambda cursor: cursor.execute(back, dead)) if dead else 0

    # -- all entries of a kind

    def requeue_failed(self) -> int:
        """Failed entries, and those with a list that ended against its announced count or is walled
        alone, go back to the queue with fresh attempts; returns how many. Who is being walked now
        is left as they are: whoever walks them has read that list, and would end without it."""
        self.reclaim_dead()

        def work(cursor: Cursor) -> int:
            n = cursor.execute(f"UPDATE userlist SET {_RETRY} WHERE state = 'failed'")
            n += cursor.execute(self.retry_lists.format(_RETRY, RETRIED))
            cursor.execute(
                f"UPDATE progress SET ended = NULL, sure = 1 WHERE {RETRIED} "
                "AND uid NOT IN (SELECT id FROM userlist WHERE state = 'leased')"
            )
            if n:
                self._mark_bounds(cursor, "lists were walked again later")
            return n

        return self._alone(work)

    def requeue_unheard(self) -> int:
        """While nobody but seeds is known, those with a list that ended against its announced count
        go back to the queue: the site may have shown nothing to anybody. Walled lists do not.
        Returns how many."""

        def work(cursor: Cursor) -> int:
            if rows(cursor, "SELECT 1 FROM userlist WHERE depth > 0 LIMIT 1"):
                return 0
            is_unheard = "sure = 0 AND ended IS NOT NULL AND ended <> %s"
            sql = (  # not who is walked by another process now
                "SELECT DISTINCT uid FROM progress JOIN userlist ON uid = id "
                f"WHERE state = 'done' AND {is_unheard}"
            )
            found = rows(cursor, sql, (WALLED,))
            for uids in chunks([uid for (uid,) in found], PAGE):
                those = f"IN ({marks(uids)})"
                cursor.execute(f"UPDATE userlist SET {_RETRY} WHERE id {those}", uids)
                cursor.execute(
                    f"UPDATE progress SET ended = NULL, sure = 1 WHERE uid {those} "
                    f"AND {is_unheard}",
                    (*uids, WALLED),
                )
            return len(found)

        return self._alone(work)

    def requeue_unread(self) -> int:
        """Seeds that are done, though their profile was not read, go back to the queue, so that it
        is asked for again; returns how many."""
        sql = (
            f"UPDATE userlist SET {_RETRY} WHERE state = 'done' AND set_aside IN (0, 1) "
            "AND depth = 0 AND found_edge = 'seed' AND screen_name IS NULL AND fans IS NULL"
        )
        return self._alone(lambda cursor: cursor.execute(sql))

    def set_aside(self, *, now: float, level_wait_s: float) -> int:
        """Entries resting longer than level_wait_s no longer hold deeper levels back (law 13)."""

        def work(cursor: Cursor) -> int:
            n = cursor.execute(
                "UPDATE userlist SET set_aside = 1 "
                "WHERE state = 'resting' AND set_aside = 0 AND resting_since < %s",
                (now - level_wait_s,),
            )
            if n:
                self._mark_bounds(cursor, "entries rested longer than harvest.level_wait_s")
            return n

        return self._alone(work)

    def begin_waiting(self, now: float, longest_s: float) -> None:
        """A run begins: what rests since before it, rests since now (for `set_aside`), and no
        longer than so: a clock may have gone wrong. Nor is anything leased for longer than may
        be."""
        until = now + longest_s
        self._db.write(
            "UPDATE userlist SET resting_since = %s, resting_until = "
            "CASE WHEN resting_until < %s THEN resting_until ELSE %s END WHERE state = 'resting'",
            (now, until, until),
        )
        until = now + LONGEST_CLAIM_S
        self._db.write(
            "UPDATE userlist SET lease_until = %s WHERE state = 'leased' AND lease_until > %s",
            (until, until),
        )

    def call_depths_bounds(self, why: str) -> None:
        """From now on depths are upper bounds only; the first reason stands."""
        self._db.transaction(lambda cursor: self._mark_bounds(cursor, why))

    def _mark_bounds(self, cursor: Cursor, why: str) -> None:
        """From now on depths are upper bounds only; the first reason stands."""
        sql = f"INSERT INTO meta VALUES ('depths_are_bounds', %s) {self._db.or_leave('name')}"
        cursor.execute(sql, (why,))

    # -- walled lists

    def note_walled(self, edge: Edge, now: float) -> None:
        """A list of the edge is about to end as walled; the time of the first one stands until no
        walled list of the edge is left."""
        sql = f"INSERT INTO meta VALUES (%s, %s) {self._db.or_leave('name')}"
        self._db.write(sql, (f"walled {edge}", str(now)))

    def reopen_walled(self, edge: Edge, *, after_seq: int, n: int) -> list[tuple[int, Id]]:
        """Up to n walled lists of entries that are done (or queued again already), by seq from
        after_seq on, are to be read again, none of which is known to be walled alone (sure);
        returns seq and uid of each."""

        def work(cursor: Cursor) -> list[tuple[int, Id]]:
            sql = (  # by seq, so that the next batch begins where this one ends
                f"SELECT seq, id FROM {self.walled_lists} ON uid = id WHERE seq > %s AND edge = %s "
                "AND ended = %s AND sure = 0 AND state IN ('done', 'queued') ORDER BY seq LIMIT %s"
            )
            found = rows(cursor, sql, (after_seq, edge.value, WALLED, n))
            uids = sorted(uid for _, uid in found)
            if uids:
                those = f"IN ({marks(uids)})"
                cursor.execute(f"UPDATE userlist SET {_ANEW} WHERE id {those}", uids)
                cursor.execute(
                    f"UPDATE progress SET ended = NULL, sure = 1 WHERE uid {those} AND edge = %s",
                    (*uids, edge.value),
                )
            elif not after_seq:  # there may be none left
                cursor.execute(
                    "DELETE FROM meta WHERE name = %s AND NOT EXISTS "
                    "(SELECT 1 FROM progress WHERE edge = %s AND ended = %s)",
                    (f"walled {edge}", edge.value, WALLED),
                )
            return [(int(seq), uid) for seq, uid in found]

        return self._alone(work)

    # -- what processes write of themselves

    def set_meta(self, name: str, value: str) -> None:
        self._db.write(self._note(), (name, value))

    def change_meta(self, name: str, change: Callable[[str | None], str]) -> None:
        def work(cursor: Cursor) -> None:
            found = rows(cursor, "SELECT value FROM meta WHERE name = %s", (name,))
            cursor.execute(self._note(), (name, change(str(found[0][0]) if found else None)))

        self._alone(work)

    def _note(self) -> str:
        return f"INSERT INTO meta VALUES (%s, %s) {self._db.upsert('name', 'value')}"

    def report(self, worker: WorkerRow) -> None:
        """Write one worker's figures. A process that does so first sums up runs long past, by the
        row's time."""
        new = self._db.upsert("run_id, worker", "updated_at", "ended", "counters")
        self._db.write(
            f"INSERT INTO workers VALUES ({marks(worker)}) {new}",
            (*worker[:6], json.dumps(worker.counters)),
        )
        if not self._has_reported:
            self._has_reported = True
            self._sum_up(worker.updated_at)

    def _sum_up(self, now: float) -> None:
        def work(cursor: Cursor) -> None:
            past_runs.sum_up(lambda sql, values: rows(cursor, sql, values), now)

        if past_runs.are_there(self._db.read, now):
            self._alone(work)

    def keep_drifted(self, run_id: str, url: str, why: str, body: bytes, at: float) -> None:
        """Keep a page whose shape is unknown, for a developer to look at."""

        def work(cursor: Cursor) -> None:
            forgotten = self._read_forgotten(lambda sql: rows(cursor, sql))
            if forgotten.is_named_in(f"{url} {why} ".encode() + body):
                return
            cursor.execute(
                "INSERT INTO drifted (run_id, at, url, why, body) SELECT %s, %s, %s, %s, %s "
                "FROM (SELECT COUNT(*) AS n FROM drifted) AS kept WHERE n < %s",
                (run_id, at, url, why, zlib.compress(body), _DRIFTED_KEPT),
            )

        self._alone(work)

    # -- kept pages

    def keep_pages(self, uid: Id, pages: Sequence[KeptPage]) -> None:
        """Keep pages of this user until a visit has used them. The newest answer to an address is
        kept; none is of whom `forget` removed, or that names them. `commit` does the same."""
        self._alone(lambda cursor: self._keep_pages(cursor, [(uid, pages)]))

    def _keep_pages(self, cursor: Cursor, pages: Iterable[tuple[Id, Sequence[KeptPage]]]) -> None:
        """Inside a transaction, in which nobody is forgotten; see `keep_pages`."""
        forgotten = self._read_forgotten(lambda sql: rows(cursor, sql))
        if new := sorted(row for uid, kept in pages for row in kept_rows(uid, kept, forgotten)):
            cursor.executemany(self.keep, new)

    def kept_urls(self) -> Iterator[tuple[Id, str]]:
        """The uid and the address of each page that is kept."""
        uid, url = self.below_all, ""
        sql = "SELECT uid, url FROM kept_pages WHERE uid >= %s AND (uid > %s OR url > %s) "
        while some := self._rows(f"{sql} ORDER BY uid, url LIMIT %s", uid, uid, url, PAGE):
            yield from some
            uid, url = some[-1]

    def drop_pages(self, upto: Mapping[Id, float]) -> None:
        """By uid: delete the kept pages that were fetched by then, seconds since the epoch."""
        sql = "DELETE FROM kept_pages WHERE uid = %s AND fetched_at <= %s"
        if upto:
            self._db.transaction(lambda cursor: cursor.executemany(sql, sorted(upto.items())))
