"""The userlist in SQLite without those whom `forget` removed."""

import secrets
import zlib
from array import array
from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from weibo_crawler.store.forgotten import NOBODY, Forgotten, hash_of
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.sqlite_base import immediate

# tables of lists: the packed ids, and the key
_LISTS = (("progress", "last_ids", "uid", "edge"), ("edges", "uids", "owner", "edge", "nth"))
_AT_ONCE = 50  # ids looked for in one pass over all lists


def read_forgotten(conn: Connection, known: Forgotten = NOBODY) -> Forgotten:
    """Whom `forget` removed; `known` itself where nobody was since."""
    # the version is read first: hashes that come in between are read again the next time
    names = "'forget_key', 'forget_version'"
    notes = dict(conn.execute(f"SELECT name, value FROM meta WHERE name IN ({names})").fetchall())
    version = notes.get("forget_version", "")
    if version == known.version:
        return known
    hashes = frozenset(found for (found,) in conn.execute("SELECT hash FROM forgotten"))
    return Forgotten(version, notes.get("forget_key", ""), hashes)


def forgotten_among(conn: Connection, uids: Iterable[int]) -> set[int]:
    """Those of them whom `forget` removed; a look at an empty table where nobody was."""
    if conn.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone() is None:
        return set()
    (key,) = conn.execute("SELECT value FROM meta WHERE name = 'forget_key'").fetchone()
    is_there = "SELECT 1 FROM forgotten WHERE hash = ?"
    return {uid for uid in uids if conn.execute(is_there, (hash_of(key, uid),)).fetchone()}


def forget_users(conn: Connection, uids: Sequence[int]) -> int:
    """Hashes in, rows out, inside one transaction; how many users there were."""
    key = secrets.token_hex(32)
    conn.execute("INSERT INTO meta VALUES ('forget_key', ?) ON CONFLICT DO NOTHING", (key,))
    (key,) = conn.execute("SELECT value FROM meta WHERE name = 'forget_key'").fetchone()
    conn.execute(
        "INSERT INTO meta VALUES ('forget_version', ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (secrets.token_hex(8),),
    )
    hashes = [(hash_of(key, uid),) for uid in uids]
    conn.executemany("INSERT INTO forgotten VALUES (?) ON CONFLICT DO NOTHING", hashes)
    ids = [(uid,) for uid in uids]
    conn.executemany("DELETE FROM progress WHERE uid = ?", ids)
    conn.executemany("DELETE FROM edges WHERE owner = ?", ids)
    conn.executemany("DELETE FROM kept_pages WHERE uid = ?", ids)
    conn.executemany("UPDATE userlist SET found_from = NULL WHERE found_from = ?", ids)
    return conn.executemany("DELETE FROM userlist WHERE id = ?", ids).rowcount


def strip_lists(conn: Connection, uids: Sequence[int]) -> None:
    """Take the ids out of what others' lists remember, and of the pages that showed them. What
    moves on meanwhile is left: a page that is committed after the hashes holds none of them."""
    for start in range(0, len(uids), _AT_ONCE):
        some = uids[start : start + _AT_ONCE]
        packed = [array("q", [uid]).tobytes() for uid in some]
        for table, ids, *key in _LISTS:
            where = " OR ".join([f"instr({ids}, ?)"] * len(some))
            rows = conn.execute(
                f"SELECT {', '.join(key)}, {ids} FROM {table} WHERE {where}", packed
            )
            for *place, before in rows.fetchall():
                left = array("q", [one for one in array("q", before) if one not in some]).tobytes()
                is_there = " AND ".join(f"{name} = ?" for name in (*key, ids))
                with immediate(conn):
                    conn.execute(
                        f"UPDATE {table} SET {ids} = ? WHERE {is_there}", (left, *place, before)
                    )


def drop_naming(conn: Connection) -> None:
    """Delete the kept pages that name somebody forgotten."""
    forgotten = read_forgotten(conn)
    for key in conn.execute("SELECT uid, url FROM kept_pages").fetchall():
        is_it = "FROM kept_pages WHERE uid = ? AND url = ?"
        row = conn.execute(f"SELECT url, fetched_at, body {is_it}", key).fetchone()
        if row and KeptPage._make(row).names(forgotten):
            with immediate(conn):
                conn.execute(f"DELETE {is_it}", key)
    for (seq,) in conn.execute("SELECT seq FROM drifted").fetchall():
        row = conn.execute("SELECT url, why, body FROM drifted WHERE seq = ?", (seq,)).fetchone()
        if row and forgotten.is_named_in(f"{row[0]} {row[1]} ".encode() + zlib.decompress(row[2])):
            with immediate(conn):
                conn.execute("DELETE FROM drifted WHERE seq = ?", (seq,))
