"""The userlist in MariaDB/MySQL without those whom `forget` removed."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from weibo_crawler.records import Id
from weibo_crawler.store.forgotten import NOBODY, Forgotten, hash_of
from weibo_crawler.store.mysql.gate import enter
from weibo_crawler.store.sql.cursor import Cursor

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


def allow_users(cursor: Cursor, uids: Sequence[Id]) -> int:
    """Their hashes out, inside one transaction; how many there were."""
    gate = enter(cursor)
    if not uids or gate.forget_key is None:
        return 0
    _set_version(cursor)
    hashes = [hash_of(gate.forget_key, uid) for uid in uids]
    return int(cursor.execute("DELETE FROM forgotten WHERE hash IN %s", (tuple(hashes),)))


def _set_version(cursor: Cursor) -> None:
    cursor.execute(
        "INSERT INTO meta VALUES ('forget_version', %s) "
        "ON DUPLICATE KEY UPDATE value = VALUES(value)",
        (secrets.token_hex(8),),
    )


def forget_users(cursor: Cursor, uids: Sequence[Id]) -> int:
    """Hashes in, rows out, inside one transaction; how many users there were."""
    gate = enter(cursor)
    if not uids:
        return 0
    key = gate.forget_key or secrets.token_hex(32)
    cursor.executemany(
        "INSERT INTO forgotten (hash) VALUES (%s) ON DUPLICATE KEY UPDATE hash = hash",
        [(hash_of(key, uid),) for uid in uids],
    )
    _set_version(cursor)
    ids = (tuple(uids),)
    cursor.execute("DELETE FROM progress WHERE uid IN %s", ids)
    cursor.execute("DELETE FROM edges WHERE owner IN %s", ids)
    cursor.execute("DELETE FROM kept_pages WHERE uid IN %s", ids)
    cursor.execute("UPDATE userlist SET found_from = NULL WHERE found_from IN %s", ids)
    gone = int(cursor.execute("DELETE FROM userlist WHERE id IN %s", ids))
    cursor.execute("UPDATE gate SET users = users - %s, forget_key = %s", (gone, key))
    return gone
