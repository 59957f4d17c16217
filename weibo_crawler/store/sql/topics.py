"""Topics as a source of users, in the SQL that both homes understand.

How a topic moves: `add_topics` queues it; `commit_topic` stores a page, and ends it; what could not
be read is queued again by the next run. Several processes may read the same topic: the page of
whoever is second does not land, as the cursor has moved.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from weibo_crawler.records import Edge, Id
from weibo_crawler.store import (
    ILLEGIBLE_PEOPLE,
    NOT_SHOWN,
    Landed,
    Landing,
    Topic,
    TopicPage,
)
from weibo_crawler.store.sql.cursor import Cursor, rows
from weibo_crawler.store.sql.entries import SqlEntries
from weibo_crawler.store.sql.landing import NewUser

Among = tuple[str, tuple[object, ...]]  # an IN, and its values

_LATE = "topics were added or read after the walk had begun"
_UNREAD = "topics that could not be read may hold shorter ways"


class SqlTopics(SqlEntries):
    """The table `topics`, and how users are inserted."""

    @abstractmethod
    def _enter(self, cursor: Cursor) -> Any:
        """Wait for the gate, and hold it to the end of the transaction."""

    @abstractmethod
    def _among(self, ids: Collection[Id]) -> Among:
        """For a WHERE: that a number is one of these, of which there is one at least."""

    @abstractmethod
    def _room(self, cursor: Cursor, gate: Any, max_users: int, wanted: int) -> int:
        """How many of so many users may still be inserted."""

    @abstractmethod
    def _insert(
        self, cursor: Cursor, gate: Any, new: Sequence[tuple[int, NewUser]]
    ) -> Counter[int]:
        """Insert who is not there yet, once in a transaction; by the place of a page, which stands
        beside each user, how many were new."""

    def topics(self, state: str = "") -> list[Topic]:
        """The topics in this state, or all of them, by their words."""
        sql = f"SELECT words, {self.next_page}, pages, state, why, read_at FROM topics"
        where = "WHERE state = %s" if state else ""
        values = [state] if state else []
        return [*map(Topic._make, self._rows(f"{sql} {where} ORDER BY words", *values))]

    def add_topics(self, words: Sequence[str]) -> int:
        """Queue topics from their first page on, also those that were read; how many are new."""
        columns = (self.next_page, "pages", "state", "why")

        def work(cursor: Cursor) -> int:
            self._enter(cursor)
            ((before,),) = rows(cursor, "SELECT COUNT(*) FROM topics")
            cursor.executemany(
                f"INSERT INTO topics (words, {', '.join(columns)}) "
                f"VALUES (%s, '', 0, 'queued', '') {self._db.upsert('words', *columns)}",
                [(one,) for one in words],
            )
            self._mark_late(cursor)
            ((after,),) = rows(cursor, "SELECT COUNT(*) FROM topics")
            return int(after) - int(before)

        return self._db.transaction(work) if words else 0

    def requeue_topics(self) -> None:
        """A run begins: what could not be read is read again, from where it ended."""
        self._db.write(
            "UPDATE topics SET state = 'queued', why = '' WHERE state IN ('walled', 'failed')"
        )

    def commit_topic(self, page: TopicPage, run_id: str, *, max_users: int) -> Landed:
        """Store a page, its users at depth 1: all of it, or only the users for whom max_users
        leaves room, and no progress."""

        before, after = page.before, page.after
        is_it = f"words = %s AND {self.next_page} = %s AND state = 'queued'"
        key = (before.words, before.cursor)

        def work(cursor: Cursor) -> Landed:
            gate = self._enter(cursor)
            if not rows(cursor, f"SELECT 1 FROM topics WHERE {is_it}", key):
                return Landed(Landing.LOST, 0)
            new = self._new_of(cursor, gate.forget_key, page, run_id)
            room = self._room(cursor, gate, max_users, len(new))
            inserted = self._insert(cursor, gate, new[:room]).total() if new[:room] else 0
            if len(new) > room:
                return Landed(Landing.FULL, inserted)
            cursor.execute(
                f"UPDATE topics SET {self.next_page} = %s, pages = %s, state = %s, why = %s, "
                f"read_at = %s WHERE {is_it}",
                (*after[1:], *key),
            )
            if after.state in ("walled", "failed") or not page.sure:
                why = {"walled": NOT_SHOWN, "failed": _UNREAD}.get(after.state, ILLEGIBLE_PEOPLE)
                self._mark_bounds(cursor, why)
            else:
                self._mark_late(cursor)
            return Landed(Landing.STORED, inserted)

        return self._db.transaction(work)

    def _new_of(
        self, cursor: Cursor, forget_key: str | None, page: TopicPage, run_id: str
    ) -> list[tuple[int, NewUser]]:
        """Whom the page found: neither known nor forgotten."""
        if not page.found:
            return []
        those, ids = self._among({user.uid for user in page.found})
        left_out = {
            *self._forgotten_of(cursor, forget_key, [user.uid for user in page.found]),
            *(uid for (uid,) in rows(cursor, f"SELECT id FROM userlist WHERE id {those}", ids)),
        }
        at = page.after.read_at or 0.0
        return [
            (0, NewUser(*user, 1, None, Edge.TOPIC, at, run_id))
            for user in page.found
            if user.uid not in left_out
        ]

    def _mark_late(self, cursor: Cursor) -> None:
        """Who is two steps from the seeds, or more, may be found by a shorter way now."""
        if rows(cursor, "SELECT 1 FROM userlist WHERE depth > 1 LIMIT 1"):
            self._mark_bounds(cursor, _LATE)
