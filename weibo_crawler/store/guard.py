"""Nothing of whom `forget` removed is put into the tables, also while `forget` works.

`forget` stores its hashes before it deletes anything. A put looks for hashes before it is sent, and
once more when it is acknowledged; what it wrote of somebody forgotten meanwhile it removes again.
So whatever the order, either the put sees the hash or `forget` sees the row.
"""

from collections.abc import Iterable, Iterator, Sequence

from weibo_crawler.records import Id, read_id
from weibo_crawler.store import Put, Table, Tables
from weibo_crawler.store.forgotten import NOBODY, Forgotten, without_others
from weibo_crawler.store.rows.echoes import AUTHORS
from weibo_crawler.store.rows.keys import owner_of, posts_prefix, user_key
from weibo_crawler.store.sql.erasure import SqlErasure


class Guard:
    """Knows whom `forget` removed; one a process. `frontier` holds the hashes."""

    def __init__(self, frontier: SqlErasure) -> None:
        self._frontier = frontier
        self._forgotten = NOBODY

    def refresh(self) -> Forgotten:
        """Read the hashes where there are new ones; the same object while there are none."""
        self._forgotten = self._frontier.forgotten(self._forgotten)
        return self._forgotten

    def has(self, uid: Id) -> bool:
        """Whether this user was forgotten, as far as the last `refresh` or `put` knows."""
        return self._forgotten.has(uid)

    def put(self, *groups: tuple[Table, Iterable[Put]]) -> None:
        """Put what speaks of nobody forgotten, one table after the other, each acknowledged before
        the next; raises StoreError, then repeat it all."""
        before = self.refresh()
        written = []
        for table, puts in groups:
            if kept := list(self._allowed(puts)):
                table.put(kept)
                written.append((table, kept))
        if self.refresh() is not before:
            for table, kept in written:
                self._undo(table, kept)

    def _allowed(self, puts: Iterable[Put]) -> Iterator[Put]:
        if not self._forgotten.hashes:
            yield from puts
            return
        for put in puts:
            if not self._is_of_gone(put):
                new = without_others(put.cells, self.has)
                yield put._replace(cells={**put.cells, **new}) if new else put

    def _is_of_gone(self, put: Put) -> bool:
        """Whether the row is theirs: it stands under their uid, or they wrote what it holds."""
        authors = (put.cells[cell] for cell in AUTHORS.values() if cell in put.cells)
        return self.has(owner_of(put.key)) or any(self.has(read_id(uid)) for uid in authors)

    def _undo(self, table: Table, puts: Sequence[Put]) -> None:
        for put in puts:
            if self._is_of_gone(put):
                table.delete(put.key)
            elif new := without_others(put.cells, self.has):
                replace_cells(table, put.key, new, put.timestamp)


def replace_cells(table: Table, key: str, cells: dict[str, str], newest: int) -> None:
    """Write new values over all versions of these cells, the newest of which is at `newest` ms.

    The new value stands a millisecond later and comes first: a row is never without it."""
    table.put([Put(key, cells, newest + 1)])
    table.delete(key, list(cells), up_to=newest)


def remove_user(tables: Tables, uid: Id) -> int:
    """Delete a user's rows with all versions, and what others wrote below their posts; how many
    posts there were."""
    posts = 0
    for key in list(tables.posts.keys(posts_prefix(uid))):
        tables.posts.delete(key)
        posts += 1
    for table in tables.echoes.values():
        for key in list(table.keys(posts_prefix(uid))):
            table.delete(key)
    tables.userlist.delete(user_key(uid))
    return posts
