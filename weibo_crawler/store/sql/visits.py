"""Which process visits which user now, so that `posts` runs side by side do not ask twice.

A claim is an economy, not a lock: rows and timestamps make what two processes store of one user the
same (law 7). So a claim that ends too early costs requests, and nothing else.
"""

from collections.abc import Collection

from weibo_crawler.records import Id
from weibo_crawler.store.owners import is_dead
from weibo_crawler.store.sql.cursor import Cursor, Database, marks, rows


class VisitClaims:
    """The claims of one process. owner: its name (`owners`); run_id: its run, whose processes share
    no user. `now`: seconds since the epoch.

    A user is claimed by one process at a time, until it is released, or the claim was not renewed
    for lease_s, or the process is known to be dead. What is claimed for much longer than that was
    claimed by a clock that was ahead, and is free.
    """

    def __init__(self, db: Database, owner: str, run_id: str) -> None:
        self._db, self._owner, self._run_id = db, owner, run_id

    def close(self) -> None:
        self._db.close()

    def claim(self, uids: Collection[Id], *, now: float, lease_s: float) -> set[Id]:
        """Claim these users; returns those that are this process's own now. Those of another
        process of its run were left by an attempt of the same task that died."""
        if not uids:
            return set()
        ordered = sorted(uids)
        those = f"uid IN ({marks(ordered)})"

        def work(cursor: Cursor) -> set[Id]:
            _free_dead(cursor)
            cursor.execute(
                f"DELETE FROM visits WHERE {those} AND (until < %s OR until > %s OR run_id = %s)",
                (*ordered, now, now + 2 * lease_s, self._run_id),
            )
            cursor.executemany(
                f"INSERT INTO visits VALUES (%s, %s, %s, %s) {self._db.or_leave('uid')}",
                [(uid, self._owner, self._run_id, now + lease_s) for uid in ordered],
            )
            mine = f"SELECT uid FROM visits WHERE {those} AND owner = %s"
            return {uid for (uid,) in rows(cursor, mine, (*ordered, self._owner))}

        return self._db.transaction(work)

    def renew(self, *, now: float, lease_s: float) -> None:
        renewed = "UPDATE visits SET until = %s WHERE owner = %s"
        self._db.write(renewed, (now + lease_s, self._owner))

    def release(self, uids: Collection[Id] | None = None) -> None:
        """Others may claim these users; None: all that the process holds."""
        if uids is None:
            self._db.write("DELETE FROM visits WHERE owner = %s", (self._owner,))
        elif uids:
            released = f"DELETE FROM visits WHERE uid IN ({marks(uids)}) AND owner = %s"
            self._db.write(released, (*sorted(uids), self._owner))


def _free_dead(cursor: Cursor) -> None:
    owners = rows(cursor, "SELECT DISTINCT owner FROM visits")
    for owner in [owner for (owner,) in owners if is_dead(owner)]:
        cursor.execute("DELETE FROM visits WHERE owner = %s", (owner,))
