"""What the stages ask for pages: a `Fetcher`, or who replays the answers that one got."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from weibo_crawler.records import Expect, Kind, Page, Reading, Request, Verdict
from weibo_crawler.samples import Samples

# what stands in the place of a page of a kind that nobody is shown (`KindShut`)
SHUT = Reading(Verdict.SERVER_TROUBLE, why="nobody is shown pages of this kind at present")

Witness = Callable[[float], Awaitable[bool]]  # see `Ask`
Hold = Callable[[Reading], Awaitable[None]]


class Ask(NamedTuple):
    """A request, and what its caller knows before it is sent.

    expect: where nothing is expected an empty answer is not asked for twice. nth: which page of
    its list it is, from 1. is_retry: it was asked for before and failed or was in doubt, so its
    answer is no evidence about the site. end: the kind of end that an emptiness would be: `samples`
    then tells whether it is asked for again at once; "" where it always is. is_looked_later: it is
    only where such looks have shown more of late, since the caller looks again, and tells
    `samples`. avoid: the name of the egress whose answer is doubted, "" for none: another one goes;
    where there is one that cannot go now, its answer is no fact. was_walled: an earlier visit met a
    login wall here while others were shown such pages. witness: asks for a page of
    another user, or of another kind, that is known to be shown, unless one came after this time (of
    the event loop's clock), and tells whether one is shown. hold: is told of an emptiness, or that
    the user is said to be gone, and returns when it is of use to look again. is_shown: whether
    others are shown such pages at present: else nobody looks more often than usual.
    """

    request: Request
    expect: Expect = Expect.UNKNOWN
    nth: int = 1
    is_retry: bool = False
    end: str = ""
    is_looked_later: bool = False
    avoid: str = ""
    was_walled: bool = False
    witness: Witness | None = None
    hold: Hold | None = None
    is_shown: Callable[[], bool] = bool


class Fetched(NamedTuple):
    """The answer of the site, read. page: None where no whole answer came (see reading.why).
    is_twice: an answer before this one showed nothing, as this one may."""

    reading: Reading
    page: Page | None
    is_twice: bool = False

    @property
    def is_shut(self) -> bool:
        """Whether it was not asked for, since nobody is shown anything of its kind at present."""
        return self.reading == SHUT


class Room(NamedTuple):
    """places: so many callers at once are of use; per_s: requests a second that egresses allow, 0.0
    = no limit."""

    places: int
    per_s: float = 0.0


class PageSource(Protocol):
    """Gives pages; see `Fetcher`, whose methods these are."""

    samples: Samples

    async def fetch(self, ask: Ask) -> Fetched: ...

    def drain(self) -> None: ...

    def leave_walls(self) -> None: ...

    def disprove(self, egress: str) -> None: ...

    def contradict(self, kind: Kind, page: Page) -> None: ...

    @property
    def is_talking(self) -> bool: ...
