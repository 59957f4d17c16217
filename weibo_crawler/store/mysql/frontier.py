"""The userlist in MariaDB/MySQL as a frontier, for many processes on many machines.

How an entry moves: `add_seeds` or `commit` insert it as queued; `claim` leases it; `commit` stores
a page of its list; `finish` ends it, `rest` and `give_back` return it. A write names the lease it
relies on in its own WHERE, so that a process that was paused past its lease writes nothing.

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

from collections.abc import Sequence

from pymysql.cursors import Cursor

from weibo_crawler.records import Edge
from weibo_crawler.store import Entry, Found, Landed, PageCommit
from weibo_crawler.store.mysql.claim import claim_entries
from weibo_crawler.store.mysql.commit import (
    ANY_LEVEL,
    LEVEL,
    add_users,
    commit_pages,
    enter,
    forgotten_among,
)
from weibo_crawler.store.mysql.users import MysqlUserlist
from weibo_crawler.store.sql.landing import NewUser, to_keep


class MysqlUsers(MysqlUserlist):
    """The `Frontier` protocol over one database: `mysql://user@host:port/database`.

    One connection a thread and process. Methods raise StoreError, StoreFull, NewerSchema; no text
    and no error holds the password.
    """

    def open_level(self) -> int | None:
        ((level,),) = self._db.read(LEVEL)
        return None if level is None else int(level)

    def next_level(self) -> int | None:
        ((level,),) = self._db.read(ANY_LEVEL)
        return None if level is None else int(level)

    def add_seeds(self, seeds: Sequence[Found], run_id: str, now: float) -> int:
        def work(cursor: Cursor) -> int:
            new, lifted, walked = _add_seeds(cursor, seeds, run_id, now)
            if walked and (new or lifted):
                self._mark_bounds(cursor, "seeds were added after the walk had begun")
            return new

        return self._db.transaction(work)

    def claim(
        self,
        owner: str,
        n: int,
        *,
        edges: Sequence[Edge],
        deepest: int,
        now: float,
        lease_s: float,
        with_aside: bool = True,
    ) -> list[Entry]:
        lease, asides = (owner, now, now + lease_s), (0, 1)[: 1 + with_aside]
        return self._db.transaction(
            lambda cursor: claim_entries(
                cursor, lease, n, edges=edges, deepest=deepest, asides=asides
            )
        )

    def commit(
        self, owner: str, run_id: str, pages: Sequence[PageCommit], *, max_users: int
    ) -> list[Landed]:
        def work(cursor: Cursor) -> list[Landed]:
            landed, bounds = commit_pages(cursor, owner, run_id, pages, max_users)
            if bounds:
                self._mark_bounds(cursor, bounds)
            if kept := to_keep(pages, [one.landing for one in landed]):
                self._keep_pages(cursor, kept)
            return landed

        return self._db.transaction(work)


def _add_seeds(
    cursor: Cursor, seeds: Sequence[Found], run_id: str, now: float
) -> tuple[int, int, bool]:
    """How many were new, how many were lifted to depth 0, and whether the walk had begun."""
    gate = enter(cursor)
    walked = bool(cursor.execute("SELECT 1 FROM userlist WHERE depth > 0 LIMIT 1"))
    gone = forgotten_among(cursor, gate, [seed.uid for seed in seeds])
    kept = [seed for seed in seeds if seed.uid not in gone]
    if not kept:
        return 0, 0, walked
    new = add_users(cursor, gate, [NewUser(*u, 0, None, Edge.SEED, now, run_id) for u in kept])
    lifted = cursor.execute(
        "UPDATE userlist SET depth = 0, found_from = NULL, found_edge = 'seed', changed_at = %s "
        "WHERE id IN %s AND depth > 0",
        (now, tuple(sorted(u.uid for u in kept))),
    )
    return len(new), lifted, walked
