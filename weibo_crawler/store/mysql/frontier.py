"""The userlist in MariaDB/MySQL as a frontier, for many processes on many machines.

How an entry moves: `add_seeds` or `commit` insert it as queued; `claim` leases it; `commit` stores
a page of its list; `finish` ends it, `rest` and `give_back` return it. A write names the lease it
relies on in its own WHERE, so that a process that was paused past its lease writes nothing.

Whoever adds users, forgets them or reopens a level enters the gate: it locks the one row of the
table `gate` first, until its end, as BEGIN IMMEDIATE does in the embedded home. Why one at a time:

* The gate's row gives the seqs, so they become visible in their order: a reader by seq, such as
  the importer beside a running harvest, never passes over one (those of AUTO_INCREMENT are
  committed out of order). And entries of one page keep the site's order, though they are inserted
  by id.
* It counts the users, so that max_users is exact without counting ten million rows.
* Nobody is stored by a page that was judged before `forget` removed them.
* A transaction is short and holds many pages: the gate is not what a crawl waits for.

Claims stay outside: they step over locked rows and wait for nobody.
"""

from collections.abc import Sequence
from functools import partial

from pymysql.cursors import Cursor

from weibo_crawler.records import Edge, State
from weibo_crawler.store import NOT_SHOWN, WALLED, Entry, Found, Landed, PageCommit
from weibo_crawler.store.mysql.claim import claim_entries
from weibo_crawler.store.mysql.commit import (
    ANY_LEVEL,
    LEVEL,
    add_users,
    commit_pages,
    enter,
    forgotten_among,
    mark_bounds,
)
from weibo_crawler.store.mysql.forget import allow_users, forget_users
from weibo_crawler.store.mysql.kept import keep_pages
from weibo_crawler.store.mysql.users import MysqlUserlist
from weibo_crawler.store.owners import is_dead
from weibo_crawler.store.sql.landing import NewUser, to_keep

_RELEASE = "lease_owner = NULL, lease_until = NULL"
_MINE = "WHERE id = %s AND state = 'leased' AND lease_owner = %s"
_ANEW = "state = 'queued', set_aside = 0, attempts = 0, last_error = '', resting_since = NULL"
_RETRY = f"{_ANEW}, retried = 1"
_BACK = f"UPDATE userlist SET state = 'queued', {_RELEASE} WHERE lease_owner"


class MysqlUsers(MysqlUserlist):
    """The `Frontier` protocol over one database: `mysql://user@host:port/database`.

    One connection a thread and process. Methods raise StoreError, StoreFull, NewerSchema; no text
    and no error holds the password.
    """

    def open_level(self) -> int | None:
        ((level,),) = self._db.read(LEVEL)
        return None if level is None else int(level)

    def next_level(self) -> int | None:
        ((level,),) = self._db.read(ANY_LEVEL)
        return None if level is None else int(level)

    def add_seeds(self, seeds: Sequence[Found], run_id: str, now: float) -> int:
        return self._db.transaction(partial(_add_seeds, seeds=seeds, run_id=run_id, now=now))

    def name_seed(
        self, owner: str, uid: int, screen_name: str | None, fans: int | None, now: float
    ) -> None:
        self._db.write(
            f"UPDATE userlist SET screen_name = %s, fans = %s, changed_at = %s {_MINE}",
            (screen_name, fans, now, uid, owner),
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
        lease, asides = (owner, now, now + lease_s), (0, 1)[: 1 + with_aside]
        return self._db.transaction(
            lambda cursor: claim_entries(
                cursor, lease, n, edges=edges, deepest=deepest, asides=asides
            )
        )

    def commit(
        self, owner: str, run_id: str, pages: Sequence[PageCommit], *, max_users: int
    ) -> list[Landed]:
        def work(cursor: Cursor) -> list[Landed]:
            landed = commit_pages(cursor, owner, run_id, pages, max_users)
            if kept := to_keep(pages, [one.landing for one in landed]):
                keep_pages(cursor, kept)
            return landed

        return self._db.transaction(work)

    def finish(self, owner: str, uid: int, state: State, why: str) -> bool:
        return self._db.transaction(lambda cursor: _finish(cursor, owner, uid, state, why))

    def rest(
        self, owner: str, uid: int, *, now: float, until: float, why: str, counts: bool = True
    ) -> None:
        self._db.write(  # a repetition meets no lease of mine any more
            "UPDATE userlist SET state = 'resting', attempts = attempts + %s, last_error = %s, "
            f"resting_since = COALESCE(resting_since, %s), resting_until = %s, {_RELEASE} {_MINE}",
            (counts, why, now, until, uid, owner),
        )

    def give_back(self, owner: str, uids: Sequence[int] | None = None) -> None:
        if uids is None:
            self._db.write(f"{_BACK} = %s", (owner,))
        elif uids:
            self._db.write(f"{_BACK} = %s AND id IN %s", (owner, tuple(sorted(uids))))

    def put_off(self, owner: str, uid: int) -> None:
        self._db.transaction(partial(_put_off, owner=owner, uid=uid))

    def renew(self, owner: str, *, now: float, lease_s: float) -> None:
        self._db.write(
            "UPDATE userlist SET lease_until = %s WHERE lease_owner = %s", (now + lease_s, owner)
        )

    def requeue_failed(self) -> int:
        return self._db.transaction(_requeue_failed)

    def requeue_unread(self) -> int:
        return self._db.transaction(_requeue_unread)

    def call_depths_bounds(self, why: str) -> None:
        self._db.transaction(partial(mark_bounds, why=why))

    def note_walled(self, edge: Edge, now: float) -> None:
        self._db.write(
            "INSERT INTO meta VALUES (%s, %s) ON DUPLICATE KEY UPDATE name = name",
            (f"walled {edge}", str(now)),
        )

    def reopen_walled(self, edge: Edge, *, after_seq: int, n: int) -> list[tuple[int, int]]:
        return self._db.transaction(partial(_reopen_walled, edge=edge, after_seq=after_seq, n=n))

    def begin_waiting(self, now: float, longest_s: float) -> None:
        self._db.write(
            "UPDATE userlist SET resting_since = %s, resting_until = LEAST(resting_until, %s) "
            "WHERE state = 'resting'",
            (now, now + longest_s),
        )

    def reclaim_dead(self) -> int:
        owners = self._db.read(
            "SELECT DISTINCT lease_owner FROM userlist WHERE lease_owner IS NOT NULL"
        )
        dead = tuple(owner for (owner,) in owners if is_dead(owner))
        if not dead:
            return 0
        return int(self._db.transaction(lambda cursor: cursor.execute(f"{_BACK} IN %s", (dead,))))

    def set_aside(self, *, now: float, level_wait_s: float) -> int:
        return self._db.transaction(partial(_set_aside, before=now - level_wait_s))

    def forget(self, uids: Sequence[int]) -> int:
        uids = sorted(set(uids))
        gone = self._db.transaction(partial(forget_users, uids=uids))
        self._strip_lists(uids)
        self._drop_naming()
        return gone

    def allow(self, uids: Sequence[int]) -> int:
        return self._db.transaction(partial(allow_users, uids=sorted(set(uids))))


def _add_seeds(cursor: Cursor, seeds: Sequence[Found], run_id: str, now: float) -> int:
    gate = enter(cursor)
    walked = cursor.execute("SELECT 1 FROM userlist WHERE depth > 0 LIMIT 1")
    gone = forgotten_among(cursor, gate, [seed.uid for seed in seeds])
    kept = [seed for seed in seeds if seed.uid not in gone]
    if not kept:
        return 0
    new = add_users(cursor, gate, [NewUser(*u, 0, None, Edge.SEED, now, run_id) for u in kept])
    lifted = cursor.execute(
        "UPDATE userlist SET depth = 0, found_from = NULL, found_edge = 'seed', changed_at = %s "
        "WHERE id IN %s AND depth > 0",
        (now, tuple(sorted(u.uid for u in kept))),
    )
    if walked and (new or lifted):
        mark_bounds(cursor, "seeds were added after the walk had begun")
    return len(new)


def _finish(cursor: Cursor, owner: str, uid: int, state: State, why: str) -> bool:
    sql = f"UPDATE userlist SET state = %s, last_error = %s, {_RELEASE} {_MINE}"
    is_mine = bool(cursor.execute(sql, (state.value, why, uid, owner)))
    if is_mine and state is State.FAILED:
        mark_bounds(cursor, "lists that failed may hold shorter ways")
    return is_mine


def _requeue_failed(cursor: Cursor) -> int:
    enter(cursor)
    n = int(cursor.execute(f"UPDATE userlist SET {_RETRY} WHERE state = 'failed'"))
    unsure = "userlist JOIN progress ON uid = id"
    n += int(cursor.execute(f"UPDATE {unsure} SET {_RETRY} WHERE state = 'done' AND sure = 0"))
    cursor.execute("UPDATE progress SET ended = NULL, sure = 1 WHERE sure = 0")
    if n:
        mark_bounds(cursor, "lists were walked again later")
    return n


def _requeue_unread(cursor: Cursor) -> int:
    enter(cursor)
    return int(
        cursor.execute(
            f"UPDATE userlist SET {_RETRY} WHERE state = 'done' AND set_aside IN (0, 1) "
            "AND depth = 0 AND found_edge = 'seed' AND screen_name IS NULL AND fans IS NULL"
        )
    )


def _reopen_walled(cursor: Cursor, edge: Edge, after_seq: int, n: int) -> list[tuple[int, int]]:
    enter(cursor)
    cursor.execute(  # by seq, so that the next batch begins where this one ends
        "SELECT seq, id FROM userlist FORCE INDEX (PRIMARY) STRAIGHT_JOIN progress ON uid = id "
        "WHERE seq > %s AND state IN ('done', 'queued') AND edge = %s AND ended = %s "
        "ORDER BY seq LIMIT %s",
        (after_seq, edge.value, WALLED, n),
    )
    rows = [(int(seq), int(uid)) for seq, uid in cursor.fetchall()]
    if not rows:
        if not after_seq:  # there is none left
            cursor.execute("DELETE FROM meta WHERE name = %s", (f"walled {edge}",))
        return []
    uids = tuple(sorted(uid for _, uid in rows))
    cursor.execute(f"UPDATE userlist SET {_ANEW} WHERE id IN %s", (uids,))
    cursor.execute(
        "UPDATE progress SET ended = NULL, sure = 1 WHERE uid IN %s AND edge = %s",
        (uids, edge.value),
    )
    return rows


def _put_off(cursor: Cursor, owner: str, uid: int) -> None:
    enter(cursor)
    cursor.execute(
        f"UPDATE userlist SET state = 'queued', set_aside = 1, {_RELEASE} {_MINE}", (uid, owner)
    )
    mark_bounds(cursor, NOT_SHOWN)


def _set_aside(cursor: Cursor, before: float) -> int:
    enter(cursor)
    n = int(
        cursor.execute(
            "UPDATE userlist SET set_aside = 1 "
            "WHERE state = 'resting' AND set_aside = 0 AND resting_since < %s",
            (before,),
        )
    )
    if n:
        mark_bounds(cursor, "entries rested longer than harvest.level_wait_s")
    return n
