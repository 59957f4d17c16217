"""Storing pages behind the gate (`frontier`): users and progress together, many pages at once.

See landing: few statements, as what a transaction costs is the way to the server and back.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pymysql.cursors import Cursor

from weibo_crawler.store import Landed, PageCommit
from weibo_crawler.store.forgotten import hash_of
from weibo_crawler.store.mysql.insert import insert_users
from weibo_crawler.store.sql.cursor import pack_ids
from weibo_crawler.store.sql.landing import Batch, NewUser, held_entries, users_of


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


_SEEN = """
    INSERT INTO edges (owner, edge, nth, seen_at, uids) VALUES (%s, %s, %s, %s, %s)
    ON DUPLICATE KEY UPDATE seen_at = VALUES(seen_at), uids = VALUES(uids)
"""


class Gate(NamedTuple):
    """What the gate's row says. forget_key: None where nobody was ever forgotten."""

    next_seq: int
    users: int
    forget_key: str | None


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
) -> tuple[list[Landed], str]:
    """Store pages inside a transaction, each whole or not at all; see Frontier.commit. And why
    depths become upper bounds by them, "" where they do not."""
    if not pages:
        return [], ""
    gate = enter(cursor)
    # Law 13 against concurrent writers. Each statement of a READ COMMITTED transaction sees what
    # was committed before it began, and this one begins behind the gate: it sees the users of every
    # earlier commit, and nobody opens a level before this transaction ends, for who adds, requeues
    # or sets aside entries enters the gate too. Outside of it an entry only moves between queued,
    # leased and resting, and one statement sees it in exactly one of them, or it ends; an end seen
    # too late makes a page wait, never land too early.
    cursor.execute(LEVEL)
    ((level,),) = cursor.fetchall()
    # locked, so that no lease of them moves before the end
    cursor.execute(_OWNERS, (owner, tuple(sorted({page.uid for page in pages}))))
    entries = held_entries(cursor.fetchall())
    found, listed = users_of(pages)
    gone = forgotten_among(cursor, gate, found | listed)
    room = max(0, max_users - gate.users)
    known: set[int] = set()
    if len(found - gone) > room:  # near the limit: who is known takes no room
        cursor.execute("SELECT id FROM userlist WHERE id IN %s", (tuple(found - gone),))
        known = {uid for (uid,) in cursor.fetchall()}
    batch = Batch(run_id, level=level, entries=entries, gone=gone, room=room, known=known)
    landings = [batch.land(page) for page in pages]
    inserted = _write(cursor, gate, batch)
    landed = [Landed(landing, inserted[place]) for place, landing in enumerate(landings)]
    return landed, batch.bounds


def _write(cursor: Cursor, gate: Gate, batch: Batch) -> Counter[int]:
    """Store what landed; by the place of a page how many of its users were new."""
    inserted: Counter[int] = Counter()
    if batch.new:
        new = add_users(cursor, gate, [user for _, user in batch.new])
        inserted.update(batch.new[i][0] for i in new)
    if batch.advanced:
        pages = [batch.advanced[key] for key in sorted(batch.advanced)]
        cursor.executemany(_ADVANCE, [_progress_row(page, batch.listed(page)) for page in pages])
    if seen := batch.seen():
        # in the order of the keys, as every lock on several rows
        rows = sorted((p.uid, p.edge, p.nth, p.fetched_at, pack_ids(ids)) for p, ids in seen)
        cursor.executemany(_SEEN, rows)
    for uids, change in (
        (batch.done, "state = 'done', lease_owner = NULL, lease_until = NULL"),
        (batch.fresh, "attempts = 0, last_error = '', resting_since = NULL"),
    ):
        if uids:
            ids = tuple(sorted(uids))
            cursor.execute(f"UPDATE userlist SET {change} WHERE id IN %s", (ids,))
    return inserted


def _progress_row(page: PageCommit, listed: Sequence[int]) -> tuple[object, ...]:
    after = page.after
    return (
        *(page.uid, page.edge, after.cursor, pack_ids(listed)),
        *(after.listed, after.pages, page.ended, page.sure),
    )
