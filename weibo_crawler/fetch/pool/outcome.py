"""A turn, and what the pool is told when it is over. Frozen, but for the turn."""

from msgspec import Struct

from weibo_crawler.fetch.clients.transport import Headers
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.ring import Choice
from weibo_crawler.fetch.pool.slot import UNLIMITED, Patience
from weibo_crawler.fetch.pool.visit import Use
from weibo_crawler.records import Request


class Good(Struct, frozen=True):
    """The site answered as it should. latency_s: how long that took; is_shown: that guests may see
    such a page is known by it: an emptiness does not tell."""

    latency_s: float
    is_shown: bool = True


class Refused(Struct, frozen=True):
    """The site refused this egress. why: its sign, as people read it (418, captcha); is_ban: not
    because this request came too early."""

    why: str
    retry_after_s: float | None = None
    is_ban: bool = False


class SessionOver(Struct, frozen=True):
    """The site refused the session. Where a new one is no help the egress is refused."""

    why: str
    retry_after_s: float | None = None


class Walled(Struct, frozen=True):
    """A login wall. latency_s: as in Good. Whether it is the site's answer to all guests, and so
    is no fault of this egress, others tell: until then it speaks neither for the egress nor against
    it."""

    latency_s: float


class Failed(Struct, frozen=True):
    """The egress itself failed, before the site could answer."""

    why: str


class Broken(Struct, frozen=True):
    """Nothing usable came (cut, late, trouble, an unknown shape), and nobody knows yet whose fault
    that is: it is held only against a proxy that has not proved itself. stalled_s: for so long
    nothing at all came, which was its deadline; 0.0: something did. trouble: what came, where it is
    the site's trouble or the page's, and the egress is not to blame."""

    stalled_s: float = 0.0
    trouble: str = ""


class Disproved(Struct, frozen=True):
    """After Broken, Walled or Good: another egress shows the page that this one broke or walled
    (then the proxy is to blame) or left empty (then it was refused softly). took_s: how long that
    had taken. Of a page that looked well, and is false, `Pool.disprove` is told."""

    took_s: float


class Unused(Struct, frozen=True):
    """Nothing was learnt of the egress."""


Outcome = Good | Refused | SessionOver | Walled | Failed | Broken | Disproved | Unused


class Turn(Struct, eq=False):
    """The right to send one request now: paced, leased and in session.

    headers: those of the session. nth: which page of its list the request asks for, from 1.
    patience: how long to wait for the answer. outcome: the last that was told, None: not told yet.
    is_left: the caller waits for it no more, so it takes none of the turns at once.
    """

    request: Request
    egress: Egress
    headers: Headers
    use: Use
    choice: Choice
    nth: int = 1
    patience: Patience = UNLIMITED
    outcome: Outcome | None = None
    is_left: bool = False
