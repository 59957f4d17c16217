"""The userlist in SQLite without those whom `forget` removed."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from weibo_crawler.records import Id
from weibo_crawler.store.forgotten import NOBODY, Forgotten, hash_of
from weibo_crawler.store.sql.cursor import Cursor, rows

_KEY = "SELECT value FROM meta WHERE name = 'forget_key'"


def read_forgotten(read: Callable[[str], Sequence[Any]], known: Forgotten = NOBODY) -> Forgotten:
    """Whom `forget` removed; `known` itself where nobody was since. read: the rows of a statement,
    each of which sees what was committed before it."""
    # the version is read first: hashes that come in between are read again the next time
    notes = dict(
        read("SELECT name, value FROM meta WHERE name IN ('forget_key', 'forget_version')")
    )
    version = notes.get("forget_version", "")
    if version == known.version:
        return known
    hashes = frozenset(found for (found,) in read("SELECT hash FROM forgotten"))
    return Forgotten(version, notes.get("forget_key", ""), hashes)


def forgotten_among(cursor: Cursor, uids: Iterable[Id]) -> set[Id]:
    """Those of them whom `forget` removed; a look at an empty table where nobody was."""
    if not rows(cursor, "SELECT 1 FROM forgotten LIMIT 1"):
        return set()
    ((key,),) = rows(cursor, _KEY)
    is_there = "SELECT 1 FROM forgotten WHERE hash = %s"
    return {uid for uid in uids if rows(cursor, is_there, (hash_of(key, uid),))}


def allow_users(cursor: Cursor, uids: Sequence[Id]) -> int:
    """Their hashes out, inside one transaction; how many there were."""
    known = read_forgotten(lambda sql: rows(cursor, sql))
    if not known.hashes:
        return 0
    _set_version(cursor)
    hashes = [(hash_of(known.key, uid),) for uid in uids]
    return cursor.executemany("DELETE FROM forgotten WHERE hash = %s", hashes) or 0


def _set_version(cursor: Cursor) -> None:
    cursor.execute(
        "INSERT INTO meta VALUES ('forget_version', %s) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (secrets.token_hex(8),),
    )


def forget_users(cursor: Cursor, uids: Sequence[Id]) -> int:
    """Hashes in, rows out, inside one transaction; how many users there were."""
    key = secrets.token_hex(32)
    cursor.execute("INSERT INTO meta VALUES ('forget_key', %s) ON CONFLICT DO NOTHING", (key,))
    ((key,),) = rows(cursor, _KEY)
    _set_version(cursor)
    hashes = [(hash_of(key, uid),) for uid in uids]
    cursor.executemany("INSERT INTO forgotten VALUES (%s) ON CONFLICT DO NOTHING", hashes)
    ids = [(uid,) for uid in uids]
    cursor.executemany("DELETE FROM progress WHERE uid = %s", ids)
    cursor.executemany("DELETE FROM edges WHERE owner = %s", ids)
    cursor.executemany("DELETE FROM kept_pages WHERE uid = %s", ids)
    cursor.executemany("UPDATE userlist SET found_from = NULL WHERE found_from = %s", ids)
    return cursor.executemany("DELETE FROM userlist WHERE id = %s", ids) or 0
