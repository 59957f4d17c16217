"""Handing out entries of the frontier: each to one owner at a time, by (depth, seq)."""

from collections.abc import Sequence
from typing import Any

from pymysql.cursors import Cursor

from weibo_crawler.records import Edge
from weibo_crawler.store import Entry, Progress
from weibo_crawler.store.sql.claimed import Lists, claimed, held_lists
from weibo_crawler.store.sql.cursor import unpack_ids

# FORCE INDEX: by any other way the server would lock, for a moment, rows that it does not hand
# out, and another claim would step over them
_FROM = "FROM userlist FORCE INDEX (userlist_frontier) WHERE state = %s AND set_aside = %s"
_TAKE = f"""
    SELECT id, screen_name, fans, depth, found_edge, attempts, last_error, retried,
           resting_since, seq {_FROM}
    AND depth <= %s {{more}} ORDER BY depth, seq LIMIT %s FOR UPDATE SKIP LOCKED
"""
_TAKE_QUEUED = _TAKE.format(more="")
_TAKE_RESTED = _TAKE.format(more="AND resting_until <= %s")
# an entry whose page is being stored at this moment is locked, and its owner alive
_EXPIRED = f"SELECT seq {_FROM} AND lease_until < %s FOR UPDATE SKIP LOCKED"


def claim_entries(
    cursor: Cursor,
    lease: tuple[str, float, float],
    n: int,
    *,
    edges: Sequence[Edge],
    deepest: int,
    asides: Sequence[int] = (0, 1),
) -> list[Entry]:
    """Lease up to n entries inside a transaction. lease: owner, now, until when.

    Rows that others lock are being handed out, stored or returned: they are stepped over, and come
    again by a later claim.
    """
    owner, now, until = lease
    _free_expired(cursor, now)
    rows: list[Any] = []
    for aside in asides:
        here: list[Any] = []
        for sql, more in ((_TAKE_QUEUED, ()), (_TAKE_RESTED, (now,))):
            state = "resting" if more else "queued"
            cursor.execute(sql, (state, aside, deepest, *more, n - len(rows)))
            here += cursor.fetchall()
        rows += sorted(here, key=lambda row: (row[3], row[9]))
        del rows[n:]
    if not rows:
        return []
    cursor.execute(
        "UPDATE userlist SET state = 'leased', lease_owner = %s, lease_until = %s WHERE seq IN %s",
        (owner, until, tuple(row[9] for row in rows)),
    )
    lists = _lists(cursor, [row[0] for row in rows])
    return [claimed(row[:9], edges, lists.get(row[0], {})) for row in rows]


def _free_expired(cursor: Cursor, now: float) -> None:
    seqs: list[int] = []
    for aside in (0, 1):
        cursor.execute(_EXPIRED, ("leased", aside, now))
        seqs += [seq for (seq,) in cursor.fetchall()]
    if seqs:
        cursor.execute(
            "UPDATE userlist SET state = 'queued', lease_owner = NULL, lease_until = NULL "
            "WHERE seq IN %s",
            (tuple(seqs),),
        )


def _lists(cursor: Cursor, uids: Sequence[int]) -> dict[int, Lists]:
    """A list that nobody began has no row yet."""
    cursor.execute(
        "SELECT uid, edge, next_page, last_ids, listed, pages, ended FROM progress WHERE uid IN %s",
        (tuple(uids),),
    )
    return held_lists(
        (uid, edge, Progress(next_page, unpack_ids(last_ids), listed, pages), ended)
        for uid, edge, next_page, last_ids, listed, pages, ended in cursor.fetchall()
    )
