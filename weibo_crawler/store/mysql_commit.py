"""Storing pages behind the gate (mysql_frontier): users and progress together, many pages at once.

Everything is read, then judged page by page in memory, then written by few statements: what a
transaction costs is the way to the server and back.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from pymysql.cursors import Cursor

from weibo_crawler.records import Edge
from weibo_crawler.store import Landed, Landing, PageCommit
from weibo_crawler.store.forgotten import hash_of
from weibo_crawler.store.mysql_claim import pack_ids
from weibo_crawler.store.mysql_insert import NewUser, insert_users


def _least_depth(asides: Sequence[int]) -> str:
    """Of what is queued, leased or resting; the index answers each part at once. One statement:
    under READ COMMITTED it sees one state of the whole table."""
    parts = [
        f"SELECT MIN(depth) AS d FROM userlist WHERE state = '{state}' AND set_aside = {aside}"
        for state in ("queued", "leased", "resting")
        for aside in asides
    ]
    return f"SELECT MIN(d) FROM ({' UNION ALL '.join(parts)}) AS levels"


LEVEL, ANY_LEVEL = _least_depth([0]), _least_depth([0, 1])
_OWNERS = """
    SELECT id, state = 'leased' AND lease_owner = %s, set_aside, attempts,
           edge, next_page, ended IS NOT NULL
    FROM userlist LEFT JOIN progress ON uid = id WHERE id IN %s ORDER BY id FOR UPDATE
"""
_ADVANCE = """
    INSERT INTO progress (uid, edge, next_page, last_ids, listed, pages, ended, sure)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON DUPLICATE KEY UPDATE
    next_page = VALUES(next_page), last_ids = VALUES(last_ids), listed = VALUES(listed),
    pages = VALUES(pages), ended = VALUES(ended), sure = VALUES(sure)
"""


class Gate(NamedTuple):
    """What the gate's row says. forget_key: None where nobody was ever forgotten."""

    next_seq: int
    users: int
    forget_key: str | None


class _Owner:
    """The entry a page belongs to, as it stands while the pages are judged."""

    def __init__(self, mine: bool, aside: bool, attempts: int) -> None:
        self.mine, self.aside, self.attempts = mine, aside, attempts
        self.lists: dict[str, tuple[str, bool]] = {}  # edge -> cursor, whether it ended


def enter(cursor: Cursor) -> Gate:
    """Wait for the gate and hold it to the end of the transaction; first of all statements."""
    cursor.execute("SELECT next_seq, users, forget_key FROM gate FOR UPDATE")
    (row,) = cursor.fetchall()
    return Gate._make(row)


def add_users(cursor: Cursor, gate: Gate, rows: Sequence[NewUser]) -> list[int]:
    """Insert who is not there yet; returns the places in `rows` of those who were new. Once in a
    transaction."""
    new = insert_users(cursor, gate.next_seq, rows)
    cursor.execute(
        "UPDATE gate SET next_seq = next_seq + %s, users = users + %s", (len(rows), len(new))
    )
    return new


def forgotten_among(cursor: Cursor, gate: Gate, uids: Iterable[int]) -> set[int]:
    """Those of them whom `forget` removed."""
    if gate.forget_key is None:
        return set()
    hashes = {hash_of(gate.forget_key, uid): uid for uid in uids}
    if not hashes:
        return set()
    cursor.execute("SELECT hash FROM forgotten WHERE hash IN %s", (tuple(hashes),))
    return {hashes[bytes(found)] for (found,) in cursor.fetchall()}


def commit_pages(
    cursor: Cursor, owner: str, run_id: str, pages: Sequence[PageCommit], max_users: int
) -> list[Landed]:
    """Store pages inside a transaction, each whole or not at all; see Frontier.commit."""
    if not pages:
        return []
    gate = enter(cursor)
    batch = _Batch(cursor, gate, owner, run_id, pages, max_users)
    landings = [batch.land(page) for page in pages]
    batch.write(cursor)
    inserted = Counter(batch.inserted)
    return [Landed(landing, inserted[place]) for place, landing in enumerate(landings)]


class _Batch:
    """The pages of one transaction: read at its making, judged by `land`, stored by `write`."""

    def __init__(
        self,
        cursor: Cursor,
        gate: Gate,
        owner: str,
        run_id: str,
        pages: Sequence[PageCommit],
        max_users: int,
    ) -> None:
        self._gate, self._run_id = gate, run_id
        # Law 13 against concurrent writers. Each statement of a READ COMMITTED transaction sees
        # what was committed before it began, and this one begins behind the gate: it sees the
        # users of every earlier commit, and nobody opens a level before this transaction ends,
        # for who adds, requeues or sets aside entries enters the gate too. Outside of it an entry
        # only moves between queued, leased and resting, and one statement sees it in exactly one
        # of them, or it ends; an end seen too late makes a page wait, never land too early.
        cursor.execute(LEVEL)
        ((self._level,),) = cursor.fetchall()
        self._owners = dict(_owners(cursor, owner, pages))
        found = {user.uid for page in pages for user in page.found}
        listed = {uid for page in pages for uid in page.after.last_ids}
        self._gone = forgotten_among(cursor, gate, found | listed)
        self._welcome = found - self._gone
        self._room = max(0, max_users - gate.users)
        self._taken: set[int] = set()
        if len(self._welcome) > self._room:  # near the limit: who is known takes no room
            cursor.execute("SELECT id FROM userlist WHERE id IN %s", (tuple(self._welcome),))
            self._taken = {uid for (uid,) in cursor.fetchall()}
        self._new: list[tuple[int, NewUser]] = []  # with the place of its page
        self._advanced: dict[tuple[int, Edge], PageCommit] = {}
        self._done: set[int] = set()
        self._landed = 0
        self.inserted: list[int] = []  # for each user that was new, the place of its page

    def land(self, page: PageCommit) -> Landing:
        """What becomes of the next page: all of it, or only the users that max_users leaves room
        for and no progress, so that a later run with a larger limit reads the page again."""
        place, self._landed = self._landed, self._landed + 1
        entry = self._owners.get(page.uid)
        is_aside = entry is not None and entry.aside
        if self._level is not None and self._level < page.depth and not is_aside:
            return Landing.AHEAD
        before = (page.cursor, False)
        if entry is None or not entry.mine or entry.lists.get(page.edge, ("", False)) != before:
            return Landing.LOST
        new = list(self._unknown(page))
        self._new += [(place, user) for user in new[: self._room]]
        self._taken.update(user.uid for user in new[: self._room])
        if len(new) > self._room:
            self._room = 0
            return Landing.FULL
        self._room -= len(new)
        entry.lists[page.edge] = (page.after.cursor, page.ended is not None)
        self._advanced[page.uid, page.edge] = page
        if page.last:
            entry.mine = False
            self._done.add(page.uid)
        return Landing.STORED

    def _unknown(self, page: PageCommit) -> Iterator[NewUser]:
        here: set[int] = set()
        for user in page.found:
            uid = user.uid
            if uid in self._welcome and uid not in self._taken and uid not in here:
                here.add(uid)
                yield NewUser(
                    *user, page.depth + 1, page.uid, page.edge, page.fetched_at, self._run_id
                )

    def write(self, cursor: Cursor) -> None:
        """Store what landed."""
        if self._new:
            new = add_users(cursor, self._gate, [user for _, user in self._new])
            self.inserted = [self._new[i][0] for i in new]
        if self._advanced:
            pages = [self._advanced[key] for key in sorted(self._advanced)]
            rows = [_progress_row(page, self._gone) for page in pages]
            cursor.executemany(_ADVANCE, rows)
        fresh = {uid for uid, _ in self._advanced if self._owners[uid].attempts} - self._done
        for uids, change in (
            (self._done, "state = 'done', lease_owner = NULL, lease_until = NULL"),
            (fresh, "attempts = 0, last_error = '', resting_since = NULL"),
        ):
            if uids:
                ids = tuple(sorted(uids))
                cursor.execute(f"UPDATE userlist SET {change} WHERE id IN %s", (ids,))


def _owners(
    cursor: Cursor, owner: str, pages: Sequence[PageCommit]
) -> Iterator[tuple[int, _Owner]]:
    """The entries of the pages, locked, so that no lease of them moves before the end."""
    cursor.execute(_OWNERS, (owner, tuple(sorted({page.uid for page in pages}))))
    entry = None
    for uid, mine, aside, attempts, edge, cursor_before, ended in cursor.fetchall():
        if entry is None or entry[0] != uid:
            entry = (uid, _Owner(bool(mine), bool(aside), attempts))
            yield entry
        if edge is not None:
            entry[1].lists[edge] = (cursor_before, bool(ended))


def _progress_row(page: PageCommit, gone: Collection[int]) -> tuple[object, ...]:
    after = page.after
    done = (page.ended, page.sure)
    return (
        *(page.uid, page.edge, after.cursor),
        pack_ids([uid for uid in after.last_ids if uid not in gone]),
        *(after.listed, after.pages, *done),
    )
