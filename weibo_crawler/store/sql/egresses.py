"""Leases of egresses over an SQL database: the part that is the same for all of them.

How an egress moves: `join` makes it known; `exchange` renews what a holder has, takes what it hands
back, frees what the dead and the silent held, and deals out anew by `allot`; `leave` hands all
back. All of it happens behind one gate, one process at a time, on the database's clock.

A lease is one row of its holder, so renewing thousands of egresses is one write. It is lost as a
whole: whoever frees it frees all it covered, and deletes the row. Who then wakes up finds no row
and writes nothing.

The pace survives its holder. What is handed back says when the next request may be sent. What was
not handed back may have been used up to the end of its lease (or, where the process is known to be
dead, up to now): the next request waits a whole interval from there.
"""

import hashlib
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from weibo_crawler.records import (
    DIRECT_LEASE,
    LONGEST_LEASE_S,
    LONGEST_REST_S,
    AllOut,
    EgressState,
    Health,
    LeaseTerm,
)
from weibo_crawler.store.owners import is_dead, new_owner
from weibo_crawler.store.sql.cursor import Cursor, Database, chunks, marks, rows
from weibo_crawler.store.sql.egress_shares import Contender, Standing, allot

_log = logging.getLogger(__name__)

_CHUNK = 500  # names in one statement
_ALLOT_S = 1.0  # where nothing is known to have changed, rests end and slices pass
_SLICES = 2.0  # leases; long against a handover, which takes a third of one, and short to wait for
_JITTER = 1.1  # of an interval: for what is under way and the pace's own jitter
_KEPT_S = 30 * 86_400.0  # an egress that nobody names any more is remembered for so long
_OUT = (Health.RESTING, Health.DEAD)

_STATE = ("rate", "next_free", "health", "rests", "deaths", "session", "saved_at", "trusted_for")
_COLUMNS = ", ".join(_STATE)


class Known(NamedTuple):
    """An egress as the database has it. holder: None where it is free."""

    holder: str | None
    state: EgressState


class EgressLeases:
    """The leases of one owner, which is one process at a time; methods raise StoreError.

    Names hold no credentials: `host:port` of a proxy, `direct@…` for a public address.
    """

    def __init__(self, db: Database, owner: str | None = None) -> None:
        self._db = db
        self.owner = owner or new_owner()
        self._lease_s = 0.0

    def clock(self, cursor: Cursor) -> float:
        """The database's clock, seconds since the epoch."""
        ((now,),) = rows(cursor, f"SELECT {self._db.clock}")
        return float(now)

    def close(self) -> None:
        self._db.close()

    # -- the holder's side

    def join(
        self, names: Sequence[str], *, rate: float, lease_s: float, is_guest: bool = False
    ) -> None:
        """Begin to contend, holding nothing. rate: requests per second of an egress that is new;
        is_guest: take only what is free."""
        self._lease_s = lease_s
        pools = _pools(names)

        def work(cursor: Cursor) -> None:
            now, _ = self._enter(cursor)
            self._free(cursor, self.owner, now)
            cursor.execute(
                "INSERT INTO egress_holders (owner, pools, lease_until, waits_since, is_guest) "
                "VALUES (%s, %s, %s, %s, %s)",
                (self.owner, " ".join(pools), now + lease_s, now, int(is_guest)),
            )
            self._list(cursor, pools, rate, now)

        self._db.transaction(work)

    def enlist(self, names: Sequence[str], *, rate: float) -> None:
        """Contend for these egresses from now on. What is held stays held until it is handed back,
        also where it is not among them. Where the lease had ended nothing is written: the next
        exchange says so."""
        pools = _pools(names)

        def work(cursor: Cursor) -> None:
            now, _ = self._enter(cursor)
            if self.owner in self._holders(cursor):
                cursor.execute(
                    "UPDATE egress_holders SET pools = %s WHERE owner = %s",
                    (" ".join(pools), self.owner),
                )
                self._list(cursor, pools, rate, now)

        self._db.transaction(work)

    def exchange(
        self, states: Mapping[str, EgressState], released: Sequence[str] = ()
    ) -> LeaseTerm:
        """Renew all leases, tell what changed, hand back `released` (whose states are told too).

        lease_s from the call on the holder may use what it has; it must stop earlier by its own
        clock. Where the term is not renewed, all is lost and nothing was written: `join` again.
        """
        return self._db.transaction(lambda cursor: self._exchange(cursor, states, released))

    def leave(self, states: Mapping[str, EgressState]) -> None:
        """Hand all back. states: of everything held that is still known."""

        def work(cursor: Cursor) -> None:
            now, _ = self._enter(cursor)
            if self._holders(cursor).get(self.owner) is None:
                return
            self._save(cursor, states, now)
            self._hand_back(cursor, list(states))
            self._free(cursor, self.owner, now)
            self._allot_later(cursor)

        self._db.transaction(work)

    def known(self, names: Sequence[str]) -> dict[str, Known]:
        """How these egresses stand; unknown ones are left out."""

        def work(cursor: Cursor) -> dict[str, Known]:
            now = self.clock(cursor)
            found = {}
            for some in chunks(names, _CHUNK):
                sql = f"SELECT name, holder, {_COLUMNS} FROM egresses WHERE name IN ({marks(some)})"
                for name, holder, *state in rows(cursor, sql, some):
                    found[name] = Known(holder, _state(state, now))
            return found

        return self._db.transaction(work)

    # -- inside a transaction

    def _enter(self, cursor: Cursor) -> tuple[float, float]:
        """Wait for the gate. Now, and when egresses were dealt out last."""
        # a write takes the lock in every database; the clock is read after the wait
        cursor.execute("UPDATE egress_gate SET entries = entries + 1")
        ((allotted_at,),) = rows(cursor, "SELECT allotted_at FROM egress_gate")
        return self.clock(cursor), allotted_at

    def _exchange(
        self, cursor: Cursor, states: Mapping[str, EgressState], released: Sequence[str]
    ) -> LeaseTerm:
        now, allotted_at = self._enter(cursor)
        holders = self._holders(cursor)
        is_freed = self._free_gone(cursor, holders, now)
        me = holders.get(self.owner)
        if me is None:
            return LeaseTerm(False, {}, (), len(holders))
        waits_since = now if released else me.waits_since
        holders[self.owner] = me._replace(waits_since=waits_since)
        cursor.execute(
            "UPDATE egress_holders SET lease_until = %s, waits_since = %s WHERE owner = %s",
            (now + self._lease_s, waits_since, self.owner),
        )
        self._save(cursor, states, now)
        self._hand_back(cursor, released)
        if is_freed or released or not 0 <= now - allotted_at < _ALLOT_S:
            self._allot(cursor, holders.values(), now)
        granted = self._granted(cursor, now)
        sql = "SELECT name FROM egresses WHERE holder = %s AND recalled = 1"
        recalled = tuple(name for (name,) in rows(cursor, sql, (self.owner,)))
        return LeaseTerm(True, granted, recalled, len(holders), self._out(cursor, me.pools, now))

    def _out(self, cursor: Cursor, pools: frozenset[str], now: float) -> AllOut | None:
        """Why there is nothing to hold, where it is no other process."""
        mine = "SELECT name FROM egresses WHERE holder = %s LIMIT 1"
        if rows(cursor, mine, (self.owner,)) or not pools:
            return None
        found = rows(
            cursor,
            "SELECT e.name, e.holder, e.health, e.next_free FROM egress_pools p "
            f"JOIN egresses e ON e.name = p.name WHERE p.pool IN ({marks(pools)}) "
            "ORDER BY e.next_free",
            sorted(pools),
        )
        healths = [Health(health) for _, holder, health, at in found if holder is None and at > now]
        dead = healths.count(Health.DEAD)
        if not found or healths.count(Health.RESTING) + dead < len(found):
            return None
        return AllOut(len(found) - dead, dead, found[0][0], found[0][3] - now)

    def _holders(self, cursor: Cursor) -> dict[str, "_Holder"]:
        sql = "SELECT owner, pools, lease_until, waits_since, is_guest FROM egress_holders"
        return {
            owner: _Holder(owner, frozenset(pools.split()), until, since, bool(is_guest))
            for owner, pools, until, since, is_guest in rows(cursor, sql)
        }

    def _free_gone(self, cursor: Cursor, holders: dict[str, "_Holder"], now: float) -> bool:
        """Free what the silent and the dead held; they are no contenders any more."""
        gone = [
            (owner, holder.lease_until if holder.lease_until <= now else now)
            for owner, holder in holders.items()
            if owner != self.owner and (holder.lease_until <= now or is_dead(owner))
        ]
        for owner, used_until in gone:
            self._free(cursor, owner, used_until)
            del holders[owner]
        return bool(gone)

    def _free(self, cursor: Cursor, owner: str, used_until: float) -> None:
        """End a holder's lease; what it did not hand back it may have used up to that time."""
        free = f"%s + {_JITTER} / rate"
        cursor.execute(
            f"UPDATE egresses SET next_free = CASE WHEN next_free > {free} THEN next_free "
            f"ELSE {free} END, holder = NULL, recalled = 0, told = 0 WHERE holder = %s",
            (used_until, used_until, owner),
        )
        cursor.execute("DELETE FROM egress_holders WHERE owner = %s", (owner,))

    def _save(self, cursor: Cursor, states: Mapping[str, EgressState], now: float) -> None:
        new = [(name, *_row(state, now)) for name, state in sorted(states.items())]
        if new:
            cursor.executemany(
                f"INSERT INTO egresses (name, {_COLUMNS}) VALUES (%s, {marks(_STATE)}) "
                f"{self._db.upsert('name', *_STATE)}",
                new,
            )

    def _hand_back(self, cursor: Cursor, names: Sequence[str]) -> None:
        for some in chunks(names, _CHUNK):
            cursor.execute(
                "UPDATE egresses SET holder = NULL, recalled = 0, told = 0 "
                f"WHERE holder = %s AND name IN ({marks(some)})",
                (self.owner, *some),
            )

    def _granted(self, cursor: Cursor, now: float) -> dict[str, EgressState]:
        sql = f"SELECT name, {_COLUMNS} FROM egresses WHERE holder = %s AND told = 0"
        granted = {name: _state(state, now) for name, *state in rows(cursor, sql, (self.owner,))}
        if granted:
            cursor.execute(
                "UPDATE egresses SET told = 1 WHERE holder = %s AND told = 0", (self.owner,)
            )
        return granted

    # -- dealing out

    def _allot_later(self, cursor: Cursor) -> None:
        cursor.execute("UPDATE egress_gate SET allotted_at = 0")

    def _allot(self, cursor: Cursor, everybody: Collection["_Holder"], now: float) -> None:
        contenders = [Contender(h.owner, h.pools, h.waits_since, h.is_guest) for h in everybody]
        standings = _standings(cursor, frozenset().union(*(h.pools for h in everybody)), now)
        done = allot(contenders, standings, now=now, slice_s=_SLICES * self._lease_s)
        by_owner: dict[str, list[str]] = {}
        for name, owner in done.grants.items():
            by_owner.setdefault(owner, []).append(name)
        for owner, names in by_owner.items():
            for some in chunks(names, _CHUNK):
                cursor.execute(
                    "UPDATE egresses SET holder = %s, held_since = %s, recalled = 0, told = 0 "
                    f"WHERE name IN ({marks(some)})",
                    (owner, now, *some),
                )
        for some in chunks(done.recalls, _CHUNK):
            cursor.execute(f"UPDATE egresses SET recalled = 1 WHERE name IN ({marks(some)})", some)
        cursor.execute("UPDATE egress_gate SET allotted_at = %s", (now,))

    # -- joining

    def _list(
        self, cursor: Cursor, pools: Mapping[str, Sequence[str]], rate: float, now: float
    ) -> None:
        """Make the pools of this owner known, and have egresses dealt out anew."""
        self._sweep(cursor, now)
        self._mend(cursor, now)
        for pool, names in pools.items():
            self._register(cursor, pool, names, EgressState(rate), now)
        self._allot_later(cursor)

    def _register(
        self, cursor: Cursor, pool: str, names: Sequence[str], state: EgressState, now: float
    ) -> None:
        """Make these egresses known, as this pool, where they are not."""
        sql = "SELECT name FROM egress_pools WHERE pool = %s"
        here = {name for (name,) in rows(cursor, sql, (pool,))}
        missing = sorted(set(names) - here)
        if not missing:
            return
        cursor.executemany(
            "INSERT INTO egress_pools (pool, name) VALUES (%s, %s)", [(pool, n) for n in missing]
        )
        known = set()
        for some in chunks(missing, _CHUNK):
            sql = f"SELECT name FROM egresses WHERE name IN ({marks(some)})"
            known |= {name for (name,) in rows(cursor, sql, some)}
        self._save(cursor, {name: state for name in missing if name not in known}, now)

    def _sweep(self, cursor: Cursor, now: float) -> None:
        """Forget the pools of processes that are gone, and egresses not used for long."""
        live = sorted({pool for h in self._holders(cursor).values() for pool in h.pools})
        cursor.execute(f"DELETE FROM egress_pools WHERE pool NOT IN ({marks(live)})", live)
        cursor.execute(
            "DELETE FROM egresses WHERE holder IS NULL AND saved_at < %s", (now - _KEPT_S,)
        )

    def _mend(self, cursor: Cursor, now: float) -> None:
        """Cut rests that are longer than any, and say so: who rests is dealt to nobody. What is
        well and waits too long is dealt out, and its holder says so. No lease is longer than any
        either: whether a process elsewhere lives nobody knows."""
        cursor.execute(
            "UPDATE egress_holders SET lease_until = %s WHERE lease_until > %s",
            (now + LONGEST_LEASE_S, now + LONGEST_LEASE_S),
        )
        resting = rows(
            cursor,
            f"SELECT name, {_COLUMNS} FROM egresses WHERE holder IS NULL "
            f"AND next_free > %s AND health IN ({marks(_OUT)})",
            (now + LONGEST_REST_S, *_OUT),
        )
        states = {name: _state(row, now) for name, *row in resting}
        cut = {name: one for name, one in states.items() if one.sound() is not one}
        if cut:
            name, state = next(iter(cut.items()))
            _log.warning("%s", state.clamped(name, len(cut)))
            self._save(cursor, {name: one.sound() for name, one in cut.items()}, now)


class _Holder(NamedTuple):
    owner: str
    pools: frozenset[str]
    lease_until: float
    waits_since: float
    is_guest: bool


def _standings(cursor: Cursor, pools: frozenset[str], now: float) -> dict[str, Standing]:
    names = sorted(pools)
    cursor.execute(
        "SELECT p.pool, e.name, e.holder, e.held_since, e.recalled, e.health, e.next_free "
        f"FROM egress_pools p JOIN egresses e ON e.name = p.name WHERE p.pool IN ({marks(names)}) "
        "ORDER BY p.pool, p.name",
        names,
    )
    standings: dict[str, Standing] = {}
    # one set for all egresses of the same pools: thousands of them are compared
    sets = {pool: frozenset([pool]) for pool in names}
    for pool, name, holder, since, recalled, health, next_free in cursor.fetchall():
        before = standings.get(name)
        if before is not None:
            standings[name] = before._replace(pools=before.pools | sets[pool])
            continue
        is_ready = health not in _OUT or next_free <= now
        is_usable = is_ready and health != Health.DEAD
        standings[name] = Standing(sets[pool], holder, since, bool(recalled), is_usable, is_ready)
    return standings


def _row(state: EgressState, now: float) -> tuple[object, ...]:
    health = Health(state.health).value
    return (
        *(state.rate, now + state.next_free_s, health, state.rests, state.deaths),
        *(state.session, now - state.age_s, state.trusted_for),
    )


def _state(row: Sequence[Any], now: float) -> EgressState:
    rate, next_free, health, rests, deaths, session, saved_at, trusted_for = row
    rest_s, age_s = max(0.0, next_free - now), max(0.0, now - saved_at)
    return EgressState(rate, rest_s, Health(health), rests, deaths, session, age_s, trusted_for)


def _pools(names: Sequence[str]) -> dict[str, Sequence[str]]:
    direct = [name for name in names if name.startswith(DIRECT_LEASE)]
    proxies = [name for name in names if not name.startswith(DIRECT_LEASE)]
    pools: dict[str, Sequence[str]] = {name: [name] for name in direct}
    if proxies:
        pools[_digest(proxies)] = proxies
    return pools


def _digest(names: Sequence[str]) -> str:
    """The same for the same proxies in any order; no name begins like this."""
    text = "\n".join(sorted(names)).encode()
    return "pool-" + hashlib.blake2b(text, digest_size=12).hexdigest()
