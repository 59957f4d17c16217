"""The userlist without those whom `forget` removed, in the SQL that both homes understand."""

import secrets
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from weibo_crawler.records import Id
from weibo_crawler.store.forgotten import NOBODY, Forgotten, hash_of
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.sql.cursor import (
    Cursor,
    chunks,
    marks,
    pack_ids,
    part_of_packed,
    rows,
    unpack_ids,
)
from weibo_crawler.store.sql.userlist import KEPT, PAGE, SqlUserlist

T = TypeVar("T")

# tables of lists: the packed ids, and the key
_LISTS = (("progress", "last_ids", "uid", "edge"), ("edges", "uids", "owner", "edge", "nth"))
_AT_ONCE = 50  # ids looked for in one pass over all lists


class SqlErasure(SqlUserlist, ABC):
    """Whom `forget` removed, in the same way in both homes: hashes come before anything is
    deleted."""

    forget_key: str  # the key of the hashes, an expression; NULL where nobody was ever forgotten
    make_forget_key: str  # the statement that sets it where there is none

    @abstractmethod
    def _alone(self, work: Callable[[Cursor], T]) -> T:
        """Run `work` in a transaction, beside which nobody adds users, forgets them or reopens a
        level."""

    def forgotten(self, known: Forgotten = NOBODY) -> Forgotten:
        """Whom `forget` removed; `known` itself where nobody was since."""
        return self._read_forgotten(self._db.read, known)

    def _read_forgotten(
        self, read: Callable[[str], Sequence[Any]], known: Forgotten = NOBODY
    ) -> Forgotten:
        """See `forgotten`. read: the rows of a statement, each of which sees what was committed
        before it."""
        # the version is read first: hashes that come in between are read again the next time
        ((version, key),) = read(
            f"SELECT (SELECT value FROM meta WHERE name = 'forget_version'), {self.forget_key}"
        )
        if (version or "") == known.version:
            return known
        hashes = frozenset(bytes(found) for (found,) in read("SELECT hash FROM forgotten"))
        return Forgotten(version or "", key or "", hashes)

    def forget(self, uids: Sequence[Id]) -> int:
        """Delete users and keep a keyed hash of each, against which every insert is checked;
        returns how many rows were there. Lists of others, pages that showed them and kept pages
        lose them too."""
        uids = sorted(set(uids))
        gone = self._alone(lambda cursor: self._forget(cursor, uids)) if uids else 0
        self._strip_lists(uids)
        self._drop_naming()
        return gone

    def _forget(self, cursor: Cursor, uids: Sequence[Id]) -> int:
        """Hashes in, rows out; how many users there were."""
        cursor.execute(self.make_forget_key, (secrets.token_hex(32),))
        new = f"INSERT INTO forgotten (hash) VALUES (%s) {self._db.or_leave('hash')}"
        cursor.executemany(new, [(one,) for one in self._hashes(cursor, uids)])
        gone = 0
        for some in chunks(uids, PAGE):
            those = f"IN ({marks(some)})"
            cursor.execute(f"DELETE FROM progress WHERE uid {those}", some)
            cursor.execute(f"DELETE FROM edges WHERE owner {those}", some)
            cursor.execute(f"DELETE FROM kept_pages WHERE uid {those}", some)
            cursor.execute(f"UPDATE userlist SET found_from = NULL WHERE found_from {those}", some)
            gone += cursor.execute(f"DELETE FROM userlist WHERE id {those}", some)
        return gone

    def allow(self, uids: Sequence[Id]) -> int:
        """Drop the hashes of these users: later runs may store them again. How many there were."""

        def work(cursor: Cursor) -> int:
            hashes = self._hashes(cursor, sorted(set(uids)))
            drop = "DELETE FROM forgotten WHERE hash = %s"
            return sum(cursor.execute(drop, (one,)) for one in hashes)

        return self._alone(work)

    def _hashes(self, cursor: Cursor, uids: Sequence[Id]) -> list[bytes]:
        """Of these users, which are about to be forgotten or allowed: from now on there is another
        version. None where there is no key."""
        ((key,),) = rows(cursor, f"SELECT {self.forget_key}")
        if key is None:
            return []
        version = (
            f"INSERT INTO meta VALUES ('forget_version', %s) {self._db.upsert('name', 'value')}"
        )
        cursor.execute(version, (secrets.token_hex(8),))
        return [hash_of(key, uid) for uid in uids]

    def _forgotten_of(self, cursor: Cursor, key: str | None, uids: Iterable[Id]) -> set[Id]:
        """Those of these users whom `forget` removed. key: that of the hashes."""
        hashes = {hash_of(key, uid): uid for uid in uids} if key is not None else {}
        gone = set()
        for some in chunks([*hashes], PAGE):
            sql = f"SELECT hash FROM forgotten WHERE hash IN ({marks(some)})"
            gone |= {hashes[bytes(found)] for (found,) in rows(cursor, sql, some)}
        return gone

    def _strip_lists(self, uids: Sequence[Id]) -> None:
        """Take the ids out of what others' lists remember, and of the pages that showed them. What
        moves on meanwhile is left: a page that is committed after the hashes holds none of them."""
        for some in chunks(uids, _AT_ONCE):
            packed = [part_of_packed(uid) for uid in some]
            for table, ids, *key in _LISTS:
                where = " OR ".join([f"INSTR({ids}, %s) > 0"] * len(some))
                sql = f"SELECT {', '.join(key)}, {ids} FROM {table} WHERE {where}"
                is_it = " AND ".join(f"{name} = %s" for name in (*key, ids))
                for *place, before in self._rows(sql, *packed):
                    left = pack_ids([uid for uid in unpack_ids(before) if uid not in some])
                    sql = f"UPDATE {table} SET {ids} = %s WHERE {is_it}"
                    self._db.write(sql, (left, *place, before))

    def _drop_naming(self) -> None:
        """Delete the kept pages, and those of unknown shape, that name somebody forgotten."""
        forgotten = self.forgotten()
        for key in self._rows("SELECT uid, url FROM kept_pages"):
            is_it = "uid = %s AND url = %s"
            for _, *page in self._rows(f"{KEPT} WHERE {is_it}", *key):
                if KeptPage._make(page).names(forgotten):
                    self._db.write(f"DELETE FROM kept_pages WHERE {is_it}", key)
        for (seq,) in self._rows("SELECT seq FROM drifted"):
            sql = "SELECT url, why, body FROM drifted WHERE seq = %s"
            for url, why, body in self._rows(sql, seq):
                if forgotten.is_named_in(f"{url} {why} ".encode() + zlib.decompress(body)):
                    self._db.write("DELETE FROM drifted WHERE seq = %s", (seq,))
