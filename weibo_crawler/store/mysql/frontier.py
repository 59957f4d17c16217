"""The userlist in MariaDB/MySQL as a frontier, for many processes on many machines.

Whoever adds users, forgets them or reopens a level enters the gate: it locks the one row of the
table `gate` first, until its end, as BEGIN IMMEDIATE does in the embedded home. Why one at a time:

* The gate's row gives the seqs, so they become visible in their order: a reader by seq, such as
  the importer beside a running harvest, never passes over one (those of AUTO_INCREMENT are
  committed out of order). And entries of one page keep the site's order, though they are inserted
  by id.
* It counts the users, so that max_users is exact without counting ten million rows.
* Nobody is stored by a page that was judged before `forget` removed them.
* A transaction is short and holds many pages: the gate is not what a crawl waits for.

Claims stay outside: they step over locked rows and wait for nobody.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, TypeVar

from weibo_crawler.records import Id, IdType
from weibo_crawler.store.mysql.base import Database
from weibo_crawler.store.mysql.components import SCHEMAS
from weibo_crawler.store.mysql.insert import insert_users
from weibo_crawler.store.mysql.schema import IDS_OF_A_TEXT, of_ids
from weibo_crawler.store.sql.cursor import Cursor, marks, rows
from weibo_crawler.store.sql.landing import NewUser
from weibo_crawler.store.sql.topics import Among
from weibo_crawler.store.sql.walk import Frontier

T = TypeVar("T")


class Gate(NamedTuple):
    """What the gate's row says. forget_key: None where nobody was ever forgotten."""

    next_seq: int
    users: int
    forget_key: str | None


class MysqlUsers(Frontier):
    """The `Frontier` over one database: `mysql://user@host:port/database`.

    ids: what the site calls its users by. One connection a thread and process. Methods raise
    StoreError, StoreFull, NewerSchema; no text and no error holds the password.
    """

    _db: Database
    # FORCE INDEX: by any other way the server would lock, for a moment, rows that it does not hand
    # out, and another claim would step over them
    queue, next_page = "userlist FORCE INDEX (userlist_frontier)", "next_page"
    unlocked, locking = "FOR UPDATE SKIP LOCKED", "FOR UPDATE"
    keep = """
        INSERT INTO kept_pages (uid, url, fetched_at, body) VALUES (%s, %s, %s, %s)
        ON DUPLICATE KEY UPDATE
        body = IF(VALUES(fetched_at) > fetched_at, VALUES(body), body),
        fetched_at = GREATEST(fetched_at, VALUES(fetched_at))
    """  # in this order: the body is chosen by the old time
    retry_lists = "UPDATE userlist JOIN progress ON uid = id SET {} WHERE state = 'done' AND {}"
    walled_lists = "userlist FORCE INDEX (PRIMARY) STRAIGHT_JOIN progress"
    forget_key = "(SELECT forget_key FROM gate)"
    make_forget_key = "UPDATE gate SET forget_key = COALESCE(forget_key, %s)"

    def __init__(
        self, url: str, password: str | None = None, *, ids: IdType = int, waits: bool = False
    ) -> None:
        super().__init__(
            Database(url, password, "users", of_ids(SCHEMAS["users"], ids), waits=waits)
        )
        self._ids = ids
        if ids is str:
            self.below_all = ""

    def known_ids(self) -> Iterator[Id]:
        after = self.below_all
        # many in one text: the driver reads rows one by one, which takes twice as long
        page = (
            "SELECT MAX(id), GROUP_CONCAT(id ORDER BY id) FROM "
            "(SELECT id FROM userlist WHERE id > %s ORDER BY id LIMIT %s) AS page"
        )
        while True:
            last, text = self._db.read(page, (after, IDS_OF_A_TEXT))[0]
            if last is None:
                return
            if not f",{text}".endswith(f",{last}"):  # cut, maybe within an id, by the server's
                text = text.rpartition(",")[0]  # max_allowed_packet, and it says nothing
            texts = text.split(",")
            ids: list[Id] = [*map(int, texts)] if self._ids is int else texts
            yield from ids
            after = ids[-1]

    def _enter(self, cursor: Cursor) -> Gate:
        """Wait for the gate and hold it to the end of the transaction; first of all statements."""
        (row,) = rows(cursor, "SELECT next_seq, users, forget_key FROM gate FOR UPDATE")
        return Gate._make(row)

    def _alone(self, work: Callable[[Cursor], T]) -> T:
        def behind_the_gate(cursor: Cursor) -> T:
            self._enter(cursor)
            return work(cursor)

        return self._db.transaction(behind_the_gate)

    def _among(self, ids: Collection[Id]) -> Among:
        return f"IN ({marks(ids)})", tuple(ids)

    def _forget(self, cursor: Cursor, uids: Sequence[Id]) -> int:
        gone = super()._forget(cursor, uids)
        cursor.execute("UPDATE gate SET users = users - %s", (gone,))
        return gone

    def _room(self, cursor: Cursor, gate: Gate, max_users: int, wanted: int) -> int:
        return max(0, max_users - gate.users)

    def _insert(
        self, cursor: Cursor, gate: Gate, new: Sequence[tuple[int, NewUser]]
    ) -> Counter[int]:
        inserted = insert_users(cursor, gate.next_seq, [user for _, user in new])
        cursor.execute(
            "UPDATE gate SET next_seq = next_seq + %s, users = users + %s",
            (len(new), len(inserted)),
        )
        return Counter(new[i][0] for i in inserted)
