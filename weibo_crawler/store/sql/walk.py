"""The userlist as a frontier: how entries are handed out, and how pages are stored.

How an entry moves: `add_seeds` or `commit` insert it as queued; `claim` leases it; `commit` stores
a page of its list; `finish` ends it, `rest` and `give_back` return it. A write names the lease it
relies on in its own WHERE, so that a process that was paused past its lease writes nothing.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from weibo_crawler.records import Edge, Id
from weibo_crawler.store import (
    WALLED,
    EndOfList,
    Entry,
    Found,
    Landed,
    PageCommit,
    Progress,
)
from weibo_crawler.store.sql.cursor import Cursor, pack_ids, rows, unpack_ids
from weibo_crawler.store.sql.entries import RELEASE
from weibo_crawler.store.sql.landing import Batch, NewUser, held_entries, to_keep, users_of
from weibo_crawler.store.sql.topics import SqlTopics

Lists = dict[str, tuple[Progress, str | None]]  # by edge: how far it was read, and why it ended


def _least_depth(asides: Sequence[int]) -> str:
    """Of what is queued, leased or resting; the index answers each part at once. One statement, so
    that it sees one state of the whole table."""
    parts = [
        f"SELECT MIN(depth) AS d FROM userlist WHERE state = '{state}' AND set_aside = {aside}"
        for state in ("queued", "leased", "resting")
        for aside in asides
    ]
    return f"SELECT MIN(d) FROM ({' UNION ALL '.join(parts)}) AS levels"


_LEVEL, _ANY_LEVEL = _least_depth([0]), _least_depth([0, 1])
_FRESH = "attempts = 0, last_error = '', resting_since = NULL"


class Frontier(SqlTopics):
    """The users' database as a whole: the userlist as a queue (laws 3, 8, 13), the books of runs,
    kept pages. Every entry is handed out by (depth, seq) to one owner at a time, and again when the
    owner died; it leaves the queue only by `commit` or `finish`. Times are seconds since the epoch;
    `now` is the caller's.

    A gate is what `_enter` has found there: its forget_key is the key of the hashes of whom
    `forget` removed."""

    queue: str  # the userlist, and the index by which entries are looked for
    unlocked: str  # ends a SELECT that steps over what others lock, and locks what it finds
    locking: str  # ends a SELECT that locks what it finds

    @abstractmethod
    def known_ids(self) -> Iterator[Id]:
        """The ids of all kept users, in no order."""

    def open_level(self) -> int | None:
        """The smallest depth that is queued, leased or resting and not set aside: no page of a
        larger depth lands. None: nothing holds any page back."""
        return self._level(_LEVEL)

    def next_level(self) -> int | None:
        """The smallest depth that is queued, leased or resting, set aside or not; None: the walk is
        over."""
        return self._level(_ANY_LEVEL)

    def _level(self, sql: str) -> int | None:
        ((level,),) = self._db.read(sql)
        return None if level is None else int(level)

    def add_seeds(self, seeds: Sequence[Found], run_id: str, now: float) -> int:
        """Insert what is new at depth 0, lift known users to depth 0; returns how many are new."""

        def work(cursor: Cursor) -> int:
            gate = self._enter(cursor)
            walked = rows(cursor, "SELECT 1 FROM userlist WHERE depth > 0 LIMIT 1")
            gone = self._forgotten_of(cursor, gate.forget_key, [seed.uid for seed in seeds])
            kept = [seed for seed in seeds if seed.uid not in gone]
            if not kept:
                return 0
            users = [(0, NewUser(*seed, 0, None, Edge.SEED, now, run_id)) for seed in kept]
            new = self._insert(cursor, gate, users).total()
            those, ids = self._among({seed.uid for seed in kept})
            lifted = cursor.execute(
                "UPDATE userlist SET depth = 0, found_from = NULL, found_edge = 'seed', "
                f"changed_at = %s WHERE id {those} AND depth > 0",
                (now, *ids),
            )
            if walked and (new or lifted):
                self._mark_bounds(cursor, "seeds were added after the walk had begun")
            return new

        return self._db.transaction(work)

    def take_for_walked(self, ends: Sequence[EndOfList], now: float) -> None:
        """Users of these lists were walked elsewhere, and ended so."""

        def work(cursor: Cursor) -> None:
            columns = ("ended", "sure", "listed", "pages", self.next_page)
            cursor.executemany(
                f"INSERT INTO progress (uid, edge, {', '.join(columns)}, last_ids) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s) " + self._db.upsert("uid, edge", *columns),
                [(*end, pack_ids(())) for end in ends],
            )
            those, ids = self._among({end.uid for end in ends})
            cursor.execute(f"UPDATE userlist SET state = 'done', {RELEASE} WHERE id {those}", ids)

        if ends:
            self._db.transaction(work)
        for edge in {end.edge for end in ends if end.ended == WALLED}:
            self.note_walled(Edge(edge), now)

    # -- claims: outside the gate, they wait for nobody

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
        """Lease up to n entries of depth <= deepest: queued, rested, or of an expired lease. Who is
        set aside holds nobody back, and comes last, if at all (with_aside)."""

        def work(cursor: Cursor) -> list[Entry]:
            self._free_expired(cursor, owner, now)
            found: list[Any] = []
            for aside in (0, 1)[: 1 + with_aside]:
                found += self._claimable(cursor, aside, deepest, now, n - len(found))
            if not found:
                return []
            those, seqs = self._among([row[0] for row in found])
            cursor.execute(
                "UPDATE userlist SET state = 'leased', lease_owner = %s, lease_until = %s "
                f"WHERE seq {those}",
                (owner, now + lease_s, *seqs),
            )
            lists = self._lists(cursor, [row[1] for row in found])
            return [_entry(row, edges, lists.get(row[1], {})) for row in found]

        return self._db.transaction(work)

    def _free_expired(self, cursor: Cursor, owner: str, now: float) -> None:
        """Of others: who claims lives, and walks what it holds, though the clock may have jumped.
        An entry whose page is being stored at this moment is locked, and its owner alive."""
        sql = (
            f"SELECT seq FROM {self.queue} WHERE state = 'leased' AND set_aside = %s "
            f"AND lease_until < %s AND lease_owner <> %s {self.unlocked}"
        )
        of = [(aside, now, owner) for aside in (0, 1)]
        if expired := [seq for values in of for (seq,) in rows(cursor, sql, values)]:
            those, seqs = self._among(expired)
            cursor.execute(
                f"UPDATE userlist SET state = 'queued', {RELEASE} WHERE seq {those}", seqs
            )

    def _claimable(self, cursor: Cursor, aside: int, deepest: int, now: float, n: int) -> list[Any]:
        """Rows that others lock are being handed out, stored or returned: they are stepped over,
        and come again by a later claim."""
        found: list[Any] = []
        for state, rested, at in (
            ("queued", "", ()),
            ("resting", "AND resting_until <= %s", (now,)),
        ):
            sql = (
                "SELECT seq, id, screen_name, fans, depth, found_edge, attempts, last_error, "
                f"retried, resting_since FROM {self.queue} "
                f"WHERE state = %s AND set_aside = %s AND depth <= %s {rested} "
                f"ORDER BY depth, seq LIMIT %s {self.unlocked}"
            )
            found += rows(cursor, sql, (state, aside, deepest, *at, n))
        return sorted(found, key=lambda row: (row[4], row[0]))[:n]

    def _lists(self, cursor: Cursor, uids: Sequence[Id]) -> dict[Id, Lists]:
        """A list that nobody began has no row yet."""
        those, ids = self._among(uids)
        sql = (
            f"SELECT uid, edge, {self.next_page}, last_ids, listed, pages, ended FROM progress "
            f"WHERE uid {those}"
        )
        lists: dict[Id, Lists] = {}
        for uid, edge, next_page, last_ids, listed, pages, ended in rows(cursor, sql, ids):
            progress = Progress(next_page, unpack_ids(last_ids), listed, pages)
            lists.setdefault(uid, {})[edge] = (progress, ended)
        return lists

    # -- commits: few statements, as what a transaction costs is the way to the server and back

    def commit(
        self, owner: str, run_id: str, pages: Sequence[PageCommit], *, max_users: int
    ) -> list[Landed]:
        """Store pages, each whole or not at all, in one transaction."""

        def work(cursor: Cursor) -> list[Landed]:
            return self._commit(cursor, owner, run_id, pages, max_users)

        return self._db.transaction(work) if pages else []

    def _commit(
        self, cursor: Cursor, owner: str, run_id: str, pages: Sequence[PageCommit], max_users: int
    ) -> list[Landed]:
        gate = self._enter(cursor)
        # Law 13 against concurrent writers. Each statement sees what was committed before it began,
        # and this one begins behind the gate: it sees the users of every earlier commit, and nobody
        # opens a level before this transaction ends, for who adds, requeues or sets aside entries
        # enters the gate too. Outside of it an entry only moves between queued, leased and resting,
        # and one statement sees it in exactly one of them, or it ends; an end seen too late makes a
        # page wait, never land too early.
        ((level,),) = rows(cursor, _LEVEL)
        entries = held_entries(self._owners(cursor, owner, {page.uid for page in pages}))
        found, listed = users_of(pages)
        gone = self._forgotten_of(cursor, gate.forget_key, found | listed)
        room = self._room(cursor, gate, max_users, len(found))
        known: list[Id] = []
        if len(found - gone) > room:  # near the limit: who is known takes no room
            those, ids = self._among(found)
            known = [
                uid for (uid,) in rows(cursor, f"SELECT id FROM userlist WHERE id {those}", ids)
            ]
        batch = Batch(run_id, level=level, entries=entries, gone=gone, room=room, known=known)
        landings = [batch.land(page) for page in pages]
        inserted = self._insert(cursor, gate, batch.new) if batch.new else Counter[int]()
        self._write(cursor, batch)
        if kept := to_keep(pages, landings):
            self._keep_pages(cursor, kept)
        if batch.bounds:
            self._mark_bounds(cursor, batch.bounds)
        return [Landed(landing, inserted[place]) for place, landing in enumerate(landings)]

    def _owners(self, cursor: Cursor, owner: str, uids: Collection[Id]) -> Sequence[Any]:
        """Locked, so that no lease of them moves before the end."""
        those, ids = self._among(sorted(uids))
        sql = (
            "SELECT id, state = 'leased' AND lease_owner = %s, depth, set_aside, attempts, "
            f"edge, {self.next_page}, ended IS NOT NULL "
            f"FROM userlist LEFT JOIN progress ON uid = id WHERE id {those} "
            f"ORDER BY id {self.locking}"
        )
        return rows(cursor, sql, (owner, *ids))

    def _write(self, cursor: Cursor, batch: Batch) -> None:
        """Store what landed, but for the users: in the order of the keys, as every lock on several
        rows."""
        if batch.advanced:
            last = [batch.advanced[key] for key in sorted(batch.advanced)]
            columns = (self.next_page, "last_ids", "listed", "pages", "ended", "sure")
            cursor.executemany(
                f"INSERT INTO progress (uid, edge, {', '.join(columns)}) "
                f"VALUES (%s, %s, %s, %s, %s, %s, %s, %s) {self._db.upsert('uid, edge', *columns)}",
                [_progress_row(page, batch.listed(page)) for page in last],
            )
        if seen := batch.seen():
            cursor.executemany(
                "INSERT INTO edges (owner, edge, nth, seen_at, uids) VALUES (%s, %s, %s, %s, %s) "
                + self._db.upsert("owner, edge, nth", "seen_at", "uids"),
                sorted((p.uid, p.edge, p.nth, p.fetched_at, pack_ids(ids)) for p, ids in seen),
            )
        for uids, change in ((batch.done, f"state = 'done', {RELEASE}"), (batch.fresh, _FRESH)):
            if uids:
                those, ids = self._among(sorted(uids))
                cursor.execute(f"UPDATE userlist SET {change} WHERE id {those}", ids)


def _entry(row: Sequence[Any], edges: Sequence[Edge], lists: Lists) -> Entry:
    """A claimed entry, with its lists."""
    _, uid, screen_name, fans, depth, found_edge, attempts, last_error, retried, since = row
    new: tuple[Progress, str | None] = (Progress(), None)
    known = {edge: lists.get(edge, new) for edge in edges}
    return Entry(
        *(uid, screen_name, fans, depth, found_edge == Edge.SEED),
        *(attempts, last_error or "", bool(retried), since),
        {edge: progress for edge, (progress, ended) in known.items() if ended is None},
        frozenset(Edge(edge) for edge, (_, ended) in lists.items() if ended == WALLED),
        frozenset(Edge(edge) for edge, (_, ended) in lists.items() if ended is None),
    )


def _progress_row(page: PageCommit, listed: Sequence[Id]) -> tuple[object, ...]:
    after = page.after
    return (
        *(page.uid, page.edge, after.cursor, pack_ids(listed)),
        *(after.listed, after.pages, page.ended, page.sure),
    )
