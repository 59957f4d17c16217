"""The users that this process visits, while other runs visit others."""

from collections.abc import Callable, Sequence

from weibo_crawler.posts.due import Due
from weibo_crawler.records import Id, Outcome
from weibo_crawler.store.sql.visits import VisitClaims

_LEASE_S = 60.0  # a process elsewhere that says nothing for so long loses its users
_RENEW_S = 10.0


class Sharing:
    """Claims users for a crawler; without `claims` nobody is shared. Used in several threads, one
    at a time each: `take` where users are read, `ended` in the event loop, `keep` beside both.

    Who was visited is released. Who failed, or has more pages, is kept until the run ends: other
    runs at work would find them unfinished, and ask again at once.
    """

    def __init__(self, claims: VisitClaims | None, clock: Callable[[], float]) -> None:
        self._claims, self._clock = claims, clock
        self._renewed_at = clock()
        self._ended: list[Id] = []

    def take(self, users: Sequence[Due]) -> set[Id]:
        """Those of these users that nobody else visits now."""
        uids = [user.uid for user in users]
        if self._claims is None:
            return set(uids)
        return self._claims.claim(uids, now=self._clock(), lease_s=_LEASE_S)

    def ended(self, outcome: Outcome) -> None:
        """A visit came to its end."""
        if not is_open(outcome) and outcome.uid:
            self._ended.append(outcome.uid)

    def keep(self) -> None:
        """Release whom visits have ended of, and renew the others in time; to be called often."""
        if self._claims is None:
            return
        ended, self._ended = self._ended, []
        self._claims.release(ended)
        now = self._clock()
        if not 0 <= now - self._renewed_at < _RENEW_S:
            self._claims.renew(now=now, lease_s=_LEASE_S)
            self._renewed_at = now

    def close(self) -> None:
        """Release everybody."""
        if self._claims is not None:
            self._claims.release()
            self._claims.close()


def is_open(outcome: Outcome) -> bool:
    """Whether the next run goes on with this visit."""
    is_partial = outcome.status == "partial" and not outcome.stopped
    return is_partial or outcome.status in ("failed", "unreached")
