"""Inserting users behind the gate (`frontier`): many rows a statement, whose text is made here.

The driver makes the text of a row value by value in Python. It took half of the processor time that
a harvest spends on MariaDB, and the event loop waits for it: so what all users of a page share is
put into SQL once.
"""

from collections.abc import Iterable, Iterator, Sequence

from pymysql.cursors import Cursor

from weibo_crawler.store.sql.landing import NewUser

_INSERT = """
    INSERT INTO userlist (seq, id, fans, url, screen_name, depth, found_from, found_edge, found_at,
                          changed_at, run_id)
    VALUES """
# the insert is the dedup; IGNORE would also cut what is too long
_KNOWN = " ON DUPLICATE KEY UPDATE id = id"
_CHARACTERS = 250_000  # of a statement; a longer row has one of its own
# many in one text: the driver reads rows one by one
_NEW = """
    SELECT GROUP_CONCAT(seq ORDER BY seq) FROM userlist WHERE seq >= %s
    GROUP BY seq DIV 1000 ORDER BY seq DIV 1000
"""


def insert_users(cursor: Cursor, first: int, rows: Sequence[NewUser]) -> list[int]:
    """Insert who is not there yet, with seqs from `first` on, which the gate gave; returns the
    places in `rows` of those who were new.

    Seqs follow the order of `rows`, the insert the order of ids, as every lock on several rows.
    Who was new is read back: behind the gate no seq from `first` on is anybody else's. (What the
    driver calls affected rows depends on a flag that proxies between us and the server set anew.)
    """
    numbered = sorted(enumerate(rows, first), key=lambda row: (row[1].uid, row[0]))
    for statement in _statements(_texts(cursor, numbered)):
        cursor.execute(statement)
    cursor.execute(_NEW, (first,))
    return [int(seq) - first for (seqs,) in cursor.fetchall() for seq in seqs.split(",")]


def _texts(cursor: Cursor, numbered: Iterable[tuple[int, NewUser]]) -> Iterator[str]:
    shared: dict[tuple[object, ...], str] = {}  # by what the users of a page have in common
    for seq, user in numbered:
        page = user[4:]
        text = shared.get(page)
        if text is None:
            values = (*page[:3], user.found_at, user.found_at, user.run_id)
            text = shared[page] = cursor.mogrify("%s, %s, %s, %s, %s, %s", values)
        names = cursor.mogrify("%s, %s", user[1:3])
        fans = "NULL" if user.fans is None else f"{user.fans:d}"
        uid = user.uid if isinstance(user.uid, int) else cursor.mogrify("%s", (user.uid,))
        yield f"({seq:d}, {uid}, {fans}, {names}, {text})"


def _statements(texts: Iterable[str]) -> Iterator[str]:
    """Inserts of all these rows, none much longer than _CHARACTERS."""
    here: list[str] = []
    length = 0
    for text in texts:
        if here and length + len(text) > _CHARACTERS:
            yield f"{_INSERT}{','.join(here)}{_KNOWN}"
            here, length = [], 0
        here.append(text)
        length += len(text)
    if here:
        yield f"{_INSERT}{','.join(here)}{_KNOWN}"
