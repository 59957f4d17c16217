"""The userlist in one SQLite file: how SQLite says what both homes do.

Nobody else writes while a transaction is open, so there is no gate.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeVar

import msgspec

from weibo_crawler.records import Id
from weibo_crawler.store.sql.cursor import Cursor, rows
from weibo_crawler.store.sql.landing import NewUser
from weibo_crawler.store.sql.topics import Among
from weibo_crawler.store.sql.userlist import PAGE
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.sqlite.base import Database
from weibo_crawler.store.sqlite.components import PAGE_BYTES, SCHEMAS

T = TypeVar("T")

_INSERT = """
    INSERT INTO userlist (id, url, screen_name, fans, depth, found_from, found_edge, found_at,
                          changed_at, run_id)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING
"""


class Gate(NamedTuple):
    """What a transaction looks up first. forget_key: None where nobody was ever forgotten."""

    forget_key: str | None


class SqliteUsers(Frontier):
    """The `Frontier` over one SQLite file; one connection a thread and process."""

    _db: Database
    queue, next_page = "userlist", "cursor"
    unlocked = locking = ""
    keep = """
        INSERT INTO kept_pages (uid, url, fetched_at, body) VALUES (%s, %s, %s, %s)
        ON CONFLICT (uid, url) DO UPDATE SET fetched_at = excluded.fetched_at, body = excluded.body
        WHERE excluded.fetched_at > kept_pages.fetched_at
    """
    retry_lists = (
        "UPDATE userlist SET {} WHERE state = 'done' AND id IN (SELECT uid FROM progress WHERE {})"
    )
    walled_lists = "userlist CROSS JOIN progress"
    forget_key = "(SELECT value FROM meta WHERE name = 'forget_key')"
    make_forget_key = "INSERT INTO meta VALUES ('forget_key', %s) ON CONFLICT DO NOTHING"

    def __init__(self, url: str, *, create: bool = True) -> None:
        super().__init__(Database(url, "users", SCHEMAS["users"], PAGE_BYTES, create=create))

    def known_ids(self) -> Iterator[Id]:
        after, sql = 0, "SELECT id FROM userlist WHERE id > %s ORDER BY id LIMIT %s"
        while found := self._rows(sql, after, 100 * PAGE):
            yield from (uid for (uid,) in found)
            after = found[-1][0]

    def _enter(self, cursor: Cursor) -> Gate:
        return Gate._make(rows(cursor, f"SELECT {self.forget_key}")[0])

    def _alone(self, work: Callable[[Cursor], T]) -> T:
        return self._db.transaction(work)

    def _among(self, ids: Collection[Id]) -> Among:
        # one text for any number of them, of which there may be more than SQLite takes values
        return "IN (SELECT value FROM json_each(%s))", (msgspec.json.encode([*ids]).decode(),)

    def _room(self, cursor: Cursor, gate: Gate, max_users: int, wanted: int) -> int:
        """Counting ten million rows takes a second, and the largest seq bounds their number, so
        they are counted only near the limit."""
        ((last,),) = rows(cursor, "SELECT COALESCE(MAX(seq), 0) FROM userlist")
        if last + wanted <= max_users:
            return wanted
        ((users,),) = rows(cursor, "SELECT COUNT(*) FROM userlist")
        return max(0, max_users - int(users))

    def _insert(
        self, cursor: Cursor, gate: Gate, new: Sequence[tuple[int, NewUser]]
    ) -> Counter[int]:
        inserted: Counter[int] = Counter()
        for place, those in groupby(new, key=itemgetter(0)):
            users = [(*user[:8], user.found_at, user.run_id) for _, user in those]
            inserted[place] = cursor.executemany(_INSERT, users) or 0
        return inserted
