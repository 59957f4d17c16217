"""The userlist in MariaDB/MySQL without those whom `forget` removed."""

import secrets
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from pymysql.cursors import Cursor

from weibo_crawler.store.forgotten import NOBODY, Forgotten, hash_of
from weibo_crawler.store.mysql_base import Database
from weibo_crawler.store.mysql_claim import pack_ids
from weibo_crawler.store.mysql_commit import enter

_AT_ONCE = 50  # ids looked for in one pass over all lists
_NOTE = "SELECT (SELECT value FROM meta WHERE name = 'forget_version'), forget_key FROM gate"


def read_forgotten(read: Callable[[str], Sequence[Any]], known: Forgotten = NOBODY) -> Forgotten:
    """Whom `forget` removed; `known` itself where nobody was since. read: the rows of a statement,
    each of which sees what was committed before it."""
    # the version is read first: hashes that come in between are read again the next time
    ((version, key),) = read(_NOTE)
    if (version or "") == known.version:
        return known
    hashes = frozenset(bytes(found) for (found,) in read("SELECT hash FROM forgotten"))
    return Forgotten(version or "", key or "", hashes)


def forget_users(cursor: Cursor, uids: Sequence[int]) -> int:
    """Hashes in, rows out, inside one transaction; how many users there were."""
    gate = enter(cursor)
    if not uids:
        return 0
    key = gate.forget_key or secrets.token_hex(32)
    cursor.executemany(
        "INSERT INTO forgotten (hash) VALUES (%s) ON DUPLICATE KEY UPDATE hash = hash",
        [(hash_of(key, uid),) for uid in uids],
    )
    cursor.execute(
        "INSERT INTO meta VALUES ('forget_version', %s) "
        "ON DUPLICATE KEY UPDATE value = VALUES(value)",
        (secrets.token_hex(8),),
    )
    ids = (tuple(uids),)
    cursor.execute("DELETE FROM progress WHERE uid IN %s", ids)
    cursor.execute("UPDATE userlist SET found_from = NULL WHERE found_from IN %s", ids)
    gone = int(cursor.execute("DELETE FROM userlist WHERE id IN %s", ids))
    cursor.execute("UPDATE gate SET users = users - %s, forget_key = %s", (gone, key))
    return gone


def strip_lists(db: Database, uids: Sequence[int]) -> None:
    """Take the ids out of what others' lists remember. A list that moves on meanwhile is left: a
    page that is committed after the hashes holds none of them."""
    for start in range(0, len(uids), _AT_ONCE):
        some = uids[start : start + _AT_ONCE]
        where = " OR ".join(["LOCATE(%s, last_ids)"] * len(some))
        packed = [pack_ids([uid]) for uid in some]
        sql = f"SELECT uid, edge, last_ids FROM progress WHERE {where}"
        for uid, edge, before in db.read(sql, packed):
            ids = struct.unpack(f"<{len(before) // 8}Q", before)
            db.write(
                "UPDATE progress SET last_ids = %s WHERE uid = %s AND edge = %s AND last_ids = %s",
                (pack_ids([one for one in ids if one not in some]), uid, edge, before),
            )


def drop_drifted(db: Database) -> None:
    """Delete the kept pages that name somebody forgotten."""
    forgotten = read_forgotten(db.read)
    for (seq,) in db.read("SELECT seq FROM drifted"):
        for url, why, body in db.read("SELECT url, why, body FROM drifted WHERE seq = %s", (seq,)):
            if forgotten.is_named_in(f"{url} {why} ".encode() + zlib.decompress(body)):
                db.write("DELETE FROM drifted WHERE seq = %s", (seq,))
