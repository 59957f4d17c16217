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

import json
import secrets
from collections.abc import Sequence
from functools import partial

from pymysql.cursors import Cursor

from weibo_crawler.records import Edge, State
from weibo_crawler.store import Entry, Found, Landed, PageCommit
from weibo_crawler.store.mysql_claim import claim_entries
from weibo_crawler.store.mysql_commit import (
    ANY_LEVEL,
    LEVEL,
    NewUser,
    commit_pages,
    enter,
    hash_of,
    insert_users,
    not_forgotten,
)
from weibo_crawler.store.mysql_users import SET_META, MysqlUserlist
from weibo_crawler.store.owners import is_dead

_RELEASE = "lease_owner = NULL, lease_until = NULL"
_MINE = "WHERE id = %s AND state = 'leased' AND lease_owner = %s"
_ANEW = "state = 'queued', set_aside = 0, attempts = 0, last_error = '', resting_since = NULL"
_HOLDER = "egress_holder"
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

    def name_seed(self, owner: str, uid: int, screen_name: str, fans: int, now: float) -> None:
        self._db.write(
            f"UPDATE userlist SET screen_name = %s, fans = %s, changed_at = %s {_MINE}",
            (screen_name, fans, now, uid, owner),
        )

    def claim(
        self, owner: str, n: int, *, edges: Sequence[Edge], deepest: int, now: float, lease_s: float
    ) -> list[Entry]:
        lease = (owner, now, now + lease_s)
        return self._db.transaction(
            lambda cursor: claim_entries(cursor, lease, n, edges=edges, deepest=deepest)
        )

    def commit(
        self, owner: str, run_id: str, pages: Sequence[PageCommit], *, max_users: int
    ) -> list[Landed]:
        return self._db.transaction(
            lambda cursor: commit_pages(cursor, owner, run_id, pages, max_users)
        )

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

    def renew(self, owner: str, *, now: float, lease_s: float) -> None:
        self._db.write(
            "UPDATE userlist SET lease_until = %s WHERE lease_owner = %s", (now + lease_s, owner)
        )

    def requeue_failed(self) -> int:
        return self._db.transaction(_requeue_failed)

    def begin_waiting(self, now: float) -> None:
        self._db.write("UPDATE userlist SET resting_since = %s WHERE state = 'resting'", (now,))

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
        return self._db.transaction(partial(_forget, uids=sorted(set(uids))))

    def hold_egresses(self, owner: str, *, now: float, lease_s: float) -> str:
        return self._db.transaction(
            lambda cursor: _hold_egresses(cursor, owner, now=now, until=now + lease_s)
        )

    def free_egresses(self, owner: str) -> None:
        self._db.transaction(partial(_free_egresses, owner=owner))


def _add_seeds(cursor: Cursor, seeds: Sequence[Found], run_id: str, now: float) -> int:
    gate = enter(cursor)
    walked = cursor.execute("SELECT 1 FROM userlist WHERE depth > 0 LIMIT 1")
    kept = not_forgotten(cursor, gate, seeds)
    if not kept:
        return 0
    new = insert_users(cursor, gate, [NewUser(*u, 0, None, Edge.SEED, now, run_id) for u in kept])
    lifted = cursor.execute(
        "UPDATE userlist SET depth = 0, found_from = NULL, found_edge = 'seed', changed_at = %s "
        "WHERE id IN %s AND depth > 0",
        (now, tuple(sorted(u.uid for u in kept))),
    )
    if walked and (new or lifted):
        _mark_bounds(cursor, "seeds were added after the walk had begun")
    return len(new)


def _finish(cursor: Cursor, owner: str, uid: int, state: State, why: str) -> bool:
    sql = f"UPDATE userlist SET state = %s, last_error = %s, {_RELEASE} {_MINE}"
    is_mine = bool(cursor.execute(sql, (state.value, why, uid, owner)))
    if is_mine and state is State.FAILED:
        _mark_bounds(cursor, "lists that failed may hold shorter ways")
    return is_mine


def _requeue_failed(cursor: Cursor) -> int:
    enter(cursor)
    n = int(cursor.execute(f"UPDATE userlist SET {_ANEW} WHERE state = 'failed'"))
    unsure = "userlist JOIN progress ON uid = id"
    n += int(cursor.execute(f"UPDATE {unsure} SET {_ANEW} WHERE state = 'done' AND sure = 0"))
    cursor.execute("UPDATE progress SET ended = NULL, sure = 1 WHERE sure = 0")
    if n:
        _mark_bounds(cursor, "lists were walked again later")
    return n


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
        _mark_bounds(cursor, "entries rested longer than harvest.level_wait_s")
    return n


def _mark_bounds(cursor: Cursor, why: str) -> None:
    cursor.execute(
        "INSERT INTO meta VALUES ('depths_are_bounds', %s) ON DUPLICATE KEY UPDATE name = name",
        (why,),
    )


def _forget(cursor: Cursor, uids: Sequence[int]) -> int:
    gate = enter(cursor)
    if not uids:
        return 0
    key = gate.forget_key or secrets.token_hex(32)
    cursor.executemany(
        "INSERT INTO forgotten (hash) VALUES (%s) ON DUPLICATE KEY UPDATE hash = hash",
        [(hash_of(key, uid),) for uid in uids],
    )
    ids = (tuple(uids),)
    cursor.execute("DELETE FROM progress WHERE uid IN %s", ids)
    cursor.execute("UPDATE userlist SET found_from = NULL WHERE found_from IN %s", ids)
    gone = int(cursor.execute("DELETE FROM userlist WHERE id IN %s", ids))
    cursor.execute("UPDATE gate SET users = users - %s, forget_key = %s", (gone, key))
    return gone


def _hold_egresses(cursor: Cursor, owner: str, now: float, until: float) -> str:
    holder, lease_until = _egress_holder(cursor)
    if holder not in ("", owner) and lease_until > now and not is_dead(holder):
        return holder
    cursor.execute(SET_META, (_HOLDER, json.dumps([owner, until])))
    return owner


def _free_egresses(cursor: Cursor, owner: str) -> None:
    if _egress_holder(cursor)[0] == owner:
        cursor.execute("DELETE FROM meta WHERE name = %s", (_HOLDER,))


def _egress_holder(cursor: Cursor) -> tuple[str, float]:
    """Who, and until when; behind the gate, so that nobody takes them meanwhile."""
    enter(cursor)
    cursor.execute("SELECT value FROM meta WHERE name = %s", (_HOLDER,))
    row = cursor.fetchone()
    holder, until = json.loads(row[0]) if row else ("", 0.0)
    return str(holder), float(until)
