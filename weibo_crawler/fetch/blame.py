"""Who is to blame for an answer, and what to do next. Pure.

answer                          to blame   next
OK, GONE, EMPTY, END            nobody     return
the ambiguous no-content body   ?          once more, at once, elsewhere; then believe it;
                                           at once where nothing more was expected
LOGIN_WALL; REFUSED by 432, 302 session    WALLED: what `Visit.wall` makes of it; where the egress
                                           could get none, another goes; where a session is no
                                           help, return the wall, take the refusal for one of the
                                           egress
CAPTCHA, THROTTLED, REFUSED     egress     it rests, another goes; return after `attempts`
SERVER_TROUBLE, NOT_JSON,       site       later, by another egress; return after `attempts`, or
  TRUNCATED, transport errors              when it came by three healthy proxies: then the page's
DRIFTED; OK with nothing of     site?      once more, elsewhere (it may be mangled, or another
  whom was asked for                       user's page), then return
EgressFailed                    egress     another goes; return after 3 x `attempts`
BodyTooLarge                    page       return
what cannot be sent             us         return

What another egress then shows to be a good page was no fault of the site: trouble and drift are
blamed on the proxy they came by, an emptiness on the egress that was shown it (soft throttling).
"""

from enum import Enum

from weibo_crawler.errors import EgressFailed, TransportError
from weibo_crawler.fetch.pool import Wall
from weibo_crawler.records import FACTS, Reading, Verdict

# Statuses by which a site turns a session away (WEIBO_API, "What decides the design", 1).
_SESSION_STATUSES = (302, 432)
_EGRESS_FAILURES = 3  # times the attempts
_HEALTHY = 3  # proxies by which a page fails: more would tell nothing new
_SESSIONS = 20  # times the attempts: of many requests under way most meet the end of a session


_NOTHING = (Verdict.EMPTY, Verdict.END)
_BANNED = 418  # WEIBO_API: an address that was too fast for long is not served for minutes


def is_ban(verdict: Verdict, status: int) -> bool:
    """Whether a refusal says more than that a request came too early."""
    return verdict is not Verdict.THROTTLED or status == _BANNED


class Step(Enum):
    """What to do next with a request."""

    RETURN = "return"
    AGAIN = "again"
    LATER = "later"
    WALLED = "walled"


class Tries:
    """What one request has met so far. `avoid`: the egress to pass over at the next try.

    ends: nothing more is expected, so an emptiness needs no second witness.
    """

    def __init__(self, attempts: int, *, ends: bool = False) -> None:
        self._attempts, self._ends = attempts, ends
        self.avoid: str | None = None
        self.troubles = 0
        self._refusals = 0
        self._session: tuple[str, int] | None = None  # the last one that met a wall
        self._sessions = self._doubts = 0  # how many; and with the last one
        self._without: set[str] = set()  # egresses that could get no session
        self._egress_failures = 0
        self._doubted: set[str] = set()
        self._healthy: set[str] = set()  # proxies by which it failed while they were
        self._broken: set[str] = set()  # egresses by which it came broken, so far
        self._emptied: set[str] = set()  # or empty

    def answered(
        self, reading: Reading, status: int, egress: str, *, is_healthy: bool = False
    ) -> Step:
        """After an answer. WALLED: `walled` tells whether to ask again; if not, `refused`."""
        verdict = reading.verdict
        self.avoid = egress
        if verdict is Verdict.LOGIN_WALL or (
            verdict is Verdict.REFUSED and status in _SESSION_STATUSES
        ):
            return Step.WALLED
        if verdict in (Verdict.CAPTCHA, Verdict.THROTTLED, Verdict.REFUSED):
            return self.refused(verdict, egress)
        if reading.ambiguous and not (self._ends and verdict in _NOTHING):
            suspects = self._broken if verdict is Verdict.OK else self._emptied
            suspects.add(egress)
            return self._doubt("empty")
        if verdict in FACTS:
            return Step.RETURN
        self._broken.add(egress)
        if verdict is Verdict.DRIFTED:
            return self._doubt("drifted")
        return self._trouble(egress, is_healthy)

    def walled(
        self, wall: Wall, session: tuple[str, int], verdict: Verdict = Verdict.LOGIN_WALL
    ) -> bool:
        """After a wall: whether to ask again. session: its egress and generation. The end of a
        session is no fault of the page, but one that meets nothing else is asked for no more."""
        if wall is Wall.ABSENT and verdict is Verdict.LOGIN_WALL:
            return self._asks_another(session[0])
        if session != self._session:
            self._session, self._doubts = session, 0
            self._sessions += 1
        self._doubts += wall is Wall.DOUBT
        is_over = self._doubts > self._attempts or self._sessions > _SESSIONS * self._attempts
        if is_over or wall in (Wall.CLOSED, Wall.ABSENT):
            return False
        self.avoid = None
        return True

    def _asks_another(self, egress: str) -> bool:
        """Whether to ask another egress after one that could get no session: once each, where
        there is another one."""
        if egress in self._without or len(self._without) >= self._attempts:
            return False
        self._without.add(egress)
        self.avoid = egress
        return True

    @property
    def suspects_any(self) -> bool:
        """Whether `disproved` may name anybody."""
        return bool(self._broken or self._emptied)

    def disproved(self, reading: Reading, egress: str) -> tuple[set[str], set[str]]:
        """After an answer: the egresses that it shows to have broken the page, and to have been
        shown an empty one."""
        if reading.ambiguous or reading.verdict not in (Verdict.OK, Verdict.GONE):
            return set(), set()
        emptied = self._emptied if reading.verdict is Verdict.OK else set()
        return self._broken - {egress}, emptied - {egress}

    def refused(self, verdict: Verdict, egress: str) -> Step:
        """After a refusal that no new session can help."""
        self.avoid = egress
        self._refusals += 1
        if verdict is Verdict.LOGIN_WALL or self._refusals >= self._attempts:
            return Step.RETURN
        return Step.AGAIN

    def failed(self, error: TransportError, egress: str, *, is_healthy: bool = False) -> Step:
        """After an error of the transport."""
        self.avoid = egress
        if isinstance(error, EgressFailed):
            self._egress_failures += 1
            is_over = self._egress_failures >= _EGRESS_FAILURES * self._attempts
            return Step.RETURN if is_over else Step.AGAIN
        if error.blame in ("page", "us"):
            return Step.RETURN
        self._broken.add(egress)
        return self._trouble(egress, is_healthy)

    def _doubt(self, what: str) -> Step:
        if what in self._doubted:
            return Step.RETURN
        self._doubted.add(what)
        return Step.AGAIN

    def _trouble(self, egress: str, is_healthy: bool) -> Step:
        self.troubles += 1
        if is_healthy:
            self._healthy.add(egress)
        is_over = self.troubles >= self._attempts or len(self._healthy) >= _HEALTHY
        return Step.RETURN if is_over else Step.LATER
