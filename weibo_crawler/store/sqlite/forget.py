"""The userlist in SQLite without those whom `forget` removed."""

import secrets
from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from weibo_crawler.store.forgotten import NOBODY, Forgotten, hash_of


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


def allow_users(conn: Connection, uids: Sequence[int]) -> int:
    """Their hashes out, inside one transaction; how many there were."""
    known = read_forgotten(conn)
    if not known.hashes:
        return 0
    _set_version(conn)
    hashes = [(hash_of(known.key, uid),) for uid in uids]
    return conn.executemany("DELETE FROM forgotten WHERE hash = ?", hashes).rowcount


def _set_version(conn: Connection) -> None:
    conn.execute(
        "INSERT INTO meta VALUES ('forget_version', ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (secrets.token_hex(8),),
    )


def forget_users(conn: Connection, uids: Sequence[int]) -> int:
    """Hashes in, rows out, inside one transaction; how many users there were."""
    key = secrets.token_hex(32)
    conn.execute("INSERT INTO meta VALUES ('forget_key', ?) ON CONFLICT DO NOTHING", (key,))
    (key,) = conn.execute("SELECT value FROM meta WHERE name = 'forget_key'").fetchone()
    _set_version(conn)
    hashes = [(hash_of(key, uid),) for uid in uids]
    conn.executemany("INSERT INTO forgotten VALUES (?) ON CONFLICT DO NOTHING", hashes)
    ids = [(uid,) for uid in uids]
    conn.executemany("DELETE FROM progress WHERE uid = ?", ids)
    conn.executemany("DELETE FROM edges WHERE owner = ?", ids)
    conn.executemany("DELETE FROM kept_pages WHERE uid = ?", ids)
    conn.executemany("UPDATE userlist SET found_from = NULL WHERE found_from = ?", ids)
    return conn.executemany("DELETE FROM userlist WHERE id = ?", ids).rowcount
