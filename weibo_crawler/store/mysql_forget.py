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

# tables of lists: the packed ids, and the key
_LISTS = (("progress", "last_ids", "uid", "edge"), ("edges", "uids", "owner", "edge", "nth"))
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
    cursor.execute("DELETE FROM edges WHERE owner IN %s", ids)
    cursor.execute("DELETE FROM kept_pages WHERE uid IN %s", ids)
    cursor.execute("UPDATE userlist SET found_from = NULL WHERE found_from IN %s", ids)
    gone = int(cursor.execute("DELETE FROM userlist WHERE id IN %s", ids))
    cursor.execute("UPDATE gate SET users = users - %s, forget_key = %s", (gone, key))
    return gone


def strip_lists(db: Database, uids: Sequence[int]) -> None:
    """Take the ids out of what others' lists remember, and of the pages that showed them. What
    moves on meanwhile is left: a page that is committed after the hashes holds none of them."""
    for start in range(0, len(uids), _AT_ONCE):
        some = uids[start : start + _AT_ONCE]
        packed = [pack_ids([uid]) for uid in some]
        for table, ids, *key in _LISTS:
            where = " OR ".join([f"LOCATE(%s, {ids})"] * len(some))
            sql = f"SELECT {', '.join(key)}, {ids} FROM {table} WHERE {where}"
            is_there = " AND ".join(f"{name} = %s" for name in (*key, ids))
            for *place, before in db.read(sql, packed):
                uids_there = struct.unpack(f"<{len(before) // 8}Q", before)
                left = pack_ids([one for one in uids_there if one not in some])
                db.write(f"UPDATE {table} SET {ids} = %s WHERE {is_there}", (left, *place, before))


def drop_drifted(db: Database) -> None:
    """Delete the pages of unknown shape that name somebody forgotten."""
    forgotten = read_forgotten(db.read)
    for (seq,) in db.read("SELECT seq FROM drifted"):
        for url, why, body in db.read("SELECT url, why, body FROM drifted WHERE seq = %s", (seq,)):
            if forgotten.is_named_in(f"{url} {why} ".encode() + zlib.decompress(body)):
                db.write("DELETE FROM drifted WHERE seq = %s", (seq,))
