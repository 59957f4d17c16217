"""The state of one egress's visitor session. Pure: `now` is an argument.

A visitor session is worth something for a while only, and asking for new ones again and again while
an address is limited makes the limit worse (WEIBO_API, "What decides the design", 2), so a wall
leads to a renewal only where a renewal may help.
"""

from collections import deque
from collections.abc import Mapping

import msgspec

from weibo_crawler.records import Kind

_HOUR_S = 3600.0

Sort = tuple[Kind, bool]  # of a request: its kind, and whether it asks for a first page


class SavedVisit(msgspec.Struct, frozen=True):
    """A session for the next holder of its egress; times are seconds ago, or from now.

    opened: False where none could be had. renewed_ago_s: None for a first session. wanted: a new
    one is to be asked for; asked_ago_s: when one was asked for, within the last hour.
    """

    cookies: dict[str, str]
    opened: bool
    renewed_ago_s: float | None
    passed: list[Sort]
    walled_for: list[tuple[Sort, float]]
    wanted: bool = False
    asked_ago_s: list[float] = []


class Visit:
    """Born without a session and in want of one; each renewal is a new generation.

    A wall noted for an older generation was met with a session that is gone: ask again with the
    present one. A wall of the present generation:
    * older than the cooldown: expired; renew.
    * renewed just now, and requests of this sort never passed with it: a visitor may not see them;
      for wall_memory_s their walls renew nothing.
    * renewed just now, but the sort did pass: expired early; renew when the cooldown is over.
    The first session of an egress is no renewal, so a wall may renew it at once.
    However it goes, a session is asked for at most per_hour times in any hour (None: no ceiling).
    """

    def __init__(
        self, *, cooldown_s: float, wall_memory_s: float, per_hour: int | None = None
    ) -> None:
        self._cooldown_s, self._wall_memory_s = cooldown_s, wall_memory_s
        self._per_hour = per_hour
        self._asked: deque[float] = deque()
        self.generation = 0
        self.wanted = True
        self.tries = 0  # in vain, for the session that is wanted
        self.retry_at = 0.0
        self.cookies: dict[str, str] = {}
        self._open = False
        self._renewed_at: float | None = None
        self._passed: set[Sort] = set()  # with this generation
        self._walled_until: dict[Sort, float] = {}

    def opened(self, cookies: Mapping[str, str], now: float) -> None:
        """A new session."""
        self._begin(cookies, now if self.generation else None)
        self._open = True

    def barred_s(self, now: float) -> float:
        """Seconds before a session, where one is wanted, may be asked for under the ceiling."""
        if not self.wanted or self._per_hour is None:
            return 0.0
        self._drop_old(now)
        over = len(self._asked) - self._per_hour
        return self._asked[over] + _HOUR_S - now if over >= 0 else 0.0

    def asks(self, now: float) -> None:
        """A session is being asked for."""
        self._drop_old(now)
        self._asked.append(now)

    def asked(self, now: float, retry_s: float) -> None:
        """A session was asked for in vain; the next one to ask waits."""
        self.tries += 1
        self.retry_at = now + retry_s

    def not_opened(self, now: float) -> None:
        """No session could be had: go on without one, and do not ask again before the cooldown."""
        self._begin({}, now)
        self._open = False

    def saved(self, now: float) -> SavedVisit | None:
        """What the next holder goes on with; None: nothing, it begins anew."""
        self._drop_old(now)
        if self.wanted and not self._asked:
            return None
        return SavedVisit(
            {} if self.wanted else self.cookies,
            self._open,
            None if self._renewed_at is None else now - self._renewed_at,
            sorted(self._passed),
            [(sort, until - now) for sort, until in self._walled_until.items() if until > now],
            self.wanted,
            [now - at for at in self._asked],
        )

    def restore(self, saved: SavedVisit, age_s: float, now: float) -> None:
        """Go on with the session that another holder saved age_s ago."""
        ago = saved.renewed_ago_s
        self._begin(saved.cookies, None if ago is None else now - age_s - ago)
        self._open = saved.opened
        self._passed = set(saved.passed)
        self._walled_until = {sort: now - age_s + for_s for sort, for_s in saved.walled_for}
        self._asked = deque(now - age_s - ago_s for ago_s in saved.asked_ago_s)
        self.wanted = saved.wanted

    def _drop_old(self, now: float) -> None:
        while self._asked and self._asked[0] <= now - _HOUR_S:
            self._asked.popleft()

    def _begin(self, cookies: Mapping[str, str], renewed_at: float | None) -> None:
        self.generation += 1
        self.wanted = False
        self.tries = 0
        self.cookies = dict(cookies)
        self._renewed_at = renewed_at
        self._passed.clear()

    def passed(self, generation: int, sort: Sort) -> bool:
        """A request of this sort was answered as it should be; True where that is news."""
        if generation != self.generation or sort in self._passed:
            return False
        self._passed.add(sort)
        self._walled_until.pop(sort, None)
        return True

    def wall(self, generation: int, sort: Sort, now: float) -> float | None:
        """A request met a login wall. Seconds to wait, then `expire` and ask again; None: stay out.

        Where the generation is over already the wait is 0, and `expire` will do nothing.
        """
        if generation != self.generation:
            return 0.0
        if now < self._walled_until.get(sort, now):
            return None
        if self._renewed_at is None or now - self._renewed_at >= self._cooldown_s:
            return 0.0
        if sort in self._passed:
            return self._renewed_at + self._cooldown_s - now
        if self._open:
            self._walled_until[sort] = now + self._wall_memory_s
        return None

    def expire(self, generation: int) -> None:
        """The session of this generation is of no use any more."""
        if generation == self.generation:
            self.wanted = True

    def merge(self, generation: int, set_cookies: list[str]) -> bool:
        """Take over the Set-Cookie headers of an answer; True where a cookie changed."""
        if generation != self.generation:
            return False
        before = dict(self.cookies)
        for line in set_cookies:
            pair, *attributes = line.split(";")
            name, equals, value = pair.partition("=")
            if not equals or not name.strip():
                continue
            if any(a.strip().lower() in ("max-age=0", "max-age=-1") for a in attributes):
                self.cookies.pop(name.strip(), None)
            else:
                self.cookies[name.strip()] = value.strip()
        return self.cookies != before
