"""Delete people for good, and keep what is needed to never store them again: a keyed hash.

The hashes come first, then the deletes. Whoever writes beside this, a harvest, an import or a posts
job, looks at the hashes (store/guard.py), so nothing of them comes back behind its back. Sqoop does
not look: what it had read before the hashes and writes late, the next posts job removes, but not
from the table of `import --paper`.

What others wrote stays, also where it names somebody: texts with `@name` or `//@name:`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from weibo_crawler.records import COMMENTS, ECHO_LISTS, OF_USERS, REPOSTS, Id, read_id
from weibo_crawler.store import Cell, Put, Row, Table, Tables, notes
from weibo_crawler.store.forgotten import original_of, without_others
from weibo_crawler.store.guard import remove_user, replace_cells
from weibo_crawler.store.owners import is_at_work
from weibo_crawler.store.rows.echoes import AUTHORS
from weibo_crawler.store.rows.keys import posts_prefix, user_key
from weibo_crawler.store.sql.walk import Frontier

_SAY_EVERY = 10_000  # rows
_ALIVE_S = 60.0  # a worker says something about once a second
_MENTIONS = {"posts": "post:more", "userlist": "user:found_from"}  # table -> column


class Removed(NamedTuple):
    """What `forget_users` removed. users: rows of the userlist; posts: rows of `posts`;
    reposts: reposts by others that had packed a post of theirs; comments, reposts_below: rows of
    theirs below the posts of others; found: users who had been found on their lists; paper: rows of
    the table of `import --paper`, None where there is no such table. edges: people in rows of
    edges, of their lists and of those that showed them; unknown: uids of which no row spoke. busy:
    stages (harvest, import, posts) that were at work meanwhile."""

    users: int
    posts: int
    reposts: int
    comments: int
    reposts_below: int
    found: int
    paper: int | None
    edges: int
    unknown: tuple[Id, ...]
    busy: tuple[str, ...]


def forget_users(
    frontier: Frontier,
    tables: Tables,
    uids: Sequence[Id],
    progress: Callable[[str], None] = lambda where: None,
    *,
    dry_run: bool = False,
) -> Removed:
    """Remove all rows and versions of these users, and what others' rows hold of them.

    May be repeated. progress: where the scans of both tables are, every 10,000 rows. dry_run: only
    count what would be removed.
    """
    if dry_run:
        tables = _Unwritten(tables)
    unknown = _unknown(frontier, tables, uids)
    edges = _edges(frontier, set(uids))
    held = tables.userlist.rows([user_key(uid) for uid in uids], ["user:id"])
    rows = sum(map(bool, held.values()))
    if dry_run:
        given = set(uids)
        users, is_gone = sum(1 for _ in frontier.users(uids=uids)), lambda uid: uid in given
    else:
        users = frontier.forget(uids)
        for kind in OF_USERS:
            notes.SHOWN.of(kind).clear(frontier)  # it names users
        is_gone = frontier.forgotten().has
    users = max(users, rows)
    posts = sum(remove_user(tables, uid) for uid in uids)
    if not dry_run and notes.HELD.get(frontier) is not None:  # not before they are gone
        notes.HELD.change(frontier, lambda held: (held or 0) - rows)
    reposts = _cut_mentions(tables.posts, "posts", is_gone, progress)
    found = _cut_mentions(tables.userlist, "userlist", is_gone, progress)
    below = {
        one: _remove_echoes(tables.echoes[one.name], one.name, is_gone, progress)
        for one in ECHO_LISTS
    }
    # the scans took their time: what a put that was under way had left since
    posts += sum(remove_user(tables, uid) for uid in uids)
    paper = _from_paper(tables, uids)
    return Removed(
        *(users, posts, reposts, below[COMMENTS], below[REPOSTS], found, paper, edges, unknown),
        _busy(frontier),
    )


class _UnwrittenTable:
    """A table from which rows seem to be deleted; nothing is written to it."""

    def __init__(self, table: Table) -> None:
        self._table, self._deleted = table, set[str]()
        self.row, self.rows = table.row, table.rows
        self.versions, self.states = table.versions, table.states

    def scan(self, **which: Any) -> Iterator[Row]:
        return (row for row in self._table.scan(**which) if row.key not in self._deleted)

    def keys(self, prefix: str) -> Iterator[str]:
        return (key for key in self._table.keys(prefix) if key not in self._deleted)

    def put(self, puts: Iterable[Put]) -> None:
        pass

    def delete(
        self, key: str, columns: Sequence[str] | None = None, *, up_to: int | None = None
    ) -> None:
        if columns is None:
            self._deleted.add(key)


class _Unwritten:
    """`Tables` of which each is an `_UnwrittenTable`."""

    waits_for = ""

    def __init__(self, tables: Tables) -> None:
        self.userlist: Table = _UnwrittenTable(tables.userlist)
        self.posts: Table = _UnwrittenTable(tables.posts)
        self.echoes: Mapping[str, Table] = {
            name: _UnwrittenTable(table) for name, table in tables.echoes.items()
        }
        paper = tables.paper()
        self._paper: Table | None = None if paper is None else _UnwrittenTable(paper)
        self.create, self.check, self.close = tables.create, tables.check, tables.close

    def paper(self) -> Table | None:
        return self._paper


def _unknown(frontier: Frontier, tables: Tables, uids: Sequence[Id]) -> tuple[Id, ...]:
    """Those without a row of their own."""
    known = {user.uid for user in frontier.users(uids=uids)}
    return tuple(
        uid
        for uid in uids
        if uid not in known
        and not tables.userlist.row(user_key(uid))
        and next(iter(tables.posts.keys(posts_prefix(uid))), None) is None
    )


def _edges(frontier: Frontier, uids: set[Id]) -> int:
    return sum(
        len(page.uids) if page.owner in uids else len(uids.intersection(page.uids))
        for page in frontier.seen_pages()
    )


def _from_paper(tables: Tables, uids: Sequence[Id]) -> int | None:
    table = tables.paper()
    if table is None:
        return None
    held = [key for key in map(str, uids) if table.row(key)]
    for key in held:
        table.delete(key)
    return len(held)


def _remove_echoes(
    table: Table, name: str, is_gone: Callable[[Id], bool], progress: Callable[[str], None]
) -> int:
    """Delete what they wrote below the posts of others; how many rows."""
    removed, author = 0, AUTHORS[name]
    for n, row in enumerate(table.scan(columns=[author])):
        if n % _SAY_EVERY == 0:
            progress(f"{n:,} rows of {name} looked through")
        if is_gone(read_id(row.cells[author])):
            table.delete(row.key)
            removed += 1
    return removed


def _cut_mentions(
    table: Table, name: str, is_gone: Callable[[Id], bool], progress: Callable[[str], None]
) -> int:
    """Write the column anew in the rows whose versions speak of somebody gone; how many rows."""
    column, cut = _MENTIONS[name], 0
    for n, row in enumerate(table.scan(columns=[column])):
        if n % _SAY_EVERY == 0:
            progress(f"{n:,} rows of {name} looked through")
        if not _may_speak(row, column, is_gone):
            continue
        versions = table.versions(row.key, column)
        if any(without_others({column: old.value}, is_gone) for old in versions):
            replace_cells(table, row.key, *_newest(column, versions, is_gone))
            cut += 1
    return cut


def _newest(
    column: str, versions: Sequence[Cell], is_gone: Callable[[Id], bool]
) -> tuple[dict[str, str], int]:
    """The newest value without them, and its timestamp."""
    cell = {column: versions[0].value}
    return {**cell, **without_others(cell, is_gone)}, versions[0].timestamp


def _may_speak(row: Row, column: str, is_gone: Callable[[Id], bool]) -> bool:
    """Whether its versions must be looked at. Whose post is reposted never changes, nor who a user
    was found from, but either may be withdrawn: an older version still says it."""
    value = row.cells[column]
    if without_others({column: value}, is_gone):
        return True
    if column == "user:found_from":
        return not value
    return '"original"' in value and original_of(value) is None


def _busy(frontier: Frontier) -> tuple[str, ...]:
    """Stages that said something within the last minute and have not ended."""
    now = time.time()
    return tuple(sorted({w.stage for w in frontier.workers() if is_at_work(w, now, _ALIVE_S)}))
