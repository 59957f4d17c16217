"""What happens to a login wall, and to a refusal that a new visitor session may help. Pure.

A login wall says that a visitor session is over, or that guests are not shown this page; and a wall
that stands for a moment, or a proxy of somebody else, looks like both. What becomes of one:

1. `Signs.wall` says what it tells of its session, by what else passed with that:

   OVER     it was shown such pages of late, or nothing by it, and is no more: it gets a new one
   DOUBT    two requests for the page have not met it yet, or one sent later passed
   CLOSED   others passed that were sent after the first wall, or it was the first request of a new
            session: guests are not shown such a page, or were not at that moment
   ALONE    others passed that were sent after the first refusal: neither session nor egress is
            refused
   UNSURE   it may be over and it is too early for a new one
   ABSENT   none could be had

2. `after` says what it means for its request, by all such walls that this one has met.

   AGAIN      OVER, DOUBT: whoever is next, with the session that there is then. Before the next one
              after a doubt a witness is asked, where no other page was shown since
   ELSEWHERE  UNSURE, ABSENT: another egress, once each. CLOSED, ALONE: another session or egress,
              where it is to be confirmed
   LATER      the same after a pause, where only sessions met it that may have been over
   UNREAD     the same, too often: the page is not read, and nothing is known of a wall
   CLOSED     guests are not shown this page
   UNSURE     they are not, as far as anybody could be asked: nobody confirmed it
   REFUSED    no wall, but a refusal that no new session helps: as those of the egress
   TOO_OFTEN  the same, after too many sessions

   A wall on a later page, or on a first one unless those of others are walled, is confirmed by a
   second session or egress that met it and was alive, or by the same one that is alive still where
   the end of another met it, too, or, where no session shows such pages, where others met it there
   of late and nobody passed (`Others`). The same one is enough, too, where an earlier visit met the
   wall, or after as many walls as are hardly by chance, as often as the site walls for a moment;
   one is, where the fetcher knows that second looks at such walls show a page hardly ever. Where
   neither is to be had it is UNSURE at the third time. Of a kind of page that is asked for beside
   users a first wall costs itself alone, and is believed unless such pages were shown.

What follows for the pool stands where it is told (`Pool.tell`): OVER asks for a session; CLOSED and
ALONE say that the site answers.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from math import ceil, inf, log
from typing import NamedTuple, TypeVar

from weibo_crawler.records import FACTS, OF_USERS, Id, Kind, Reading, Request, Verdict

_T = TypeVar("_T")

# The limits of patience with one request. In attempts, multiples of fetch.attempts:
SESSION_ATTEMPTS = 20  # of many requests under way most meet the end of a session
SESSION_DOUBT_ATTEMPTS = 1  # with one session
SESSIONLESS_ATTEMPTS = 1  # egresses that could get none
UNSURE_ATTEMPTS = 1  # with sessions that may be over, while it is too early for a new one
# And those that are not.
WITNESSES = 2
LOOKS = 3  # at a wall where no second witness can be had
# Requests in a row that are walled and were to tell whether a session is over: so many that they
# would hardly be by chance, by the share of pages that are walled alone.
_HELD_CHANCE, _HELD_LEAST, _HELD_MOST = 0.02, 2, 8
_HELD_ALL = 16  # the same with pages that are known to be walled alone, which tell nothing
_ALONE_MEMORY_S = 86_400.0  # that there are such pages
VAIN = 2  # sessions in a row before one that could not be had tells that none can
# The walls of others, as a witness.
WALL_OTHERS = 3
WALL_MEMORY_S = 600.0
# So many walls of one page tell of it that they would hardly be by chance, by the share of answers
# of late that were walls for a moment.
_MOMENTS_CHANCE, _MOMENTS_OF = 0.005, 300

Sort = tuple[Kind, int]  # of a request: its kind, and which page of its list it asks for, from 1
# A list shows its first pages to guests and not the later ones: who is walled at page 3 is walled
# at page 4, and who is shown page 3 may see page 2.


class Wall(Enum):
    """What a login wall tells of its session, or a refusal that a new one may help."""

    OVER = "over"
    DOUBT = "doubt"
    CLOSED = "closed"
    ALONE = "alone"
    UNSURE = "unsure"
    ABSENT = "absent"


CLOSED = (Wall.CLOSED, Wall.ALONE)  # no session shows it
_TELLS_NOTHING = (Wall.UNSURE, Wall.ABSENT)  # of the page: no session was known to be alive


# -- what it tells of its session


class Standing(NamedTuple):
    """How things stand with the session of an egress when a wall comes.

    is_open: it could be had; can_be_had: one could, by some egress; vain: how many in a row before
    it were of no use; is_first: it is the first one of its egress, and no renewal; is_young: it was
    renewed just now; cools: it is too early for a new one; were_over: the last two were both over
    after a few requests less.
    """

    is_open: bool = True
    can_be_had: bool = False
    vain: int = 0
    is_first: bool = False
    is_young: bool = False
    cools: bool = False
    were_over: bool = False


class Refusal(NamedTuple):
    """A login wall, or a refusal. use: of which request with its session, from 1. url: of the page;
    "": no page is told from others of its sort. is_wall: a login wall."""

    use: int
    sort: Sort
    url: str = ""
    is_wall: bool = True

    @property
    def page(self) -> str:
        return self.url or str(self.sort)


class _Held(NamedTuple):
    """A session that may be over. since: how many uses there were at the first wall; walls: of
    later uses; telling: those of pages that are not known to be walled alone."""

    since: int
    walls: int = 0
    telling: int = 0


class Enders:
    """The pages whose walls ended sessions of late, or were the first answer of new ones, of any
    egress: it may be them alone. And when one was found of which that is sure."""

    def __init__(self, memory_s: float) -> None:
        self._memory_s = memory_s
        self._met: dict[str, float] = {}  # by address, the oldest first
        self._alone: dict[str, float] = {}  # the same of pages of which that is sure
        self.alone_at = -inf  # when the last of these was found, here or by another holder

    def are_alone(self, now: float) -> bool:
        """Whether the site has pages that are walled though others of their sort are shown."""
        return now - self.alone_at <= _ALONE_MEMORY_S

    def is_alone(self, page: str) -> bool:
        """Whether this is such a page."""
        return page in self._alone

    def add_alone(self, page: str, now: float) -> None:
        """Note such a page, and drop what is too old."""
        self._alone.pop(page, None)
        self._alone[page] = self.alone_at = now
        while now - self._alone[oldest := next(iter(self._alone))] > self._memory_s:
            del self._alone[oldest]

    def has(self, url: str, now: float) -> bool:
        """Whether this page did so."""
        return now - self._met.get(url, -inf) <= self._memory_s

    def add(self, url: str, now: float) -> None:
        """Note one, unless it is "", and drop what is too old."""
        self._met.pop(url, None)
        if url:
            self._met[url] = now
        while self._met and not self.has(oldest := next(iter(self._met)), now):
            del self._met[oldest]


class Signs:
    """What the answers by one egress tell of its session and of sorts of pages.

    With the present session a wall means that it is over, or that visitors are not shown this page.
    What tells them apart is which other requests pass, and requests overtake each other:
    * the first request with a renewed session, answered before any other: the page is closed, for
      then the session was alive. `Visitor` lets it go alone. No other wall of such a session proves
      it, however young it is: some live for one request.
    * a sort that passed within memory_s, or a deeper page of its kind: over, unless a later
      request passed meanwhile.
    * a page of another sort is asked for once more: where it is walled again, it is closed if
      something passed that was sent after its first wall; else over. But while a new session would
      have to wait, this one goes on, unsure: its callers ask for other sorts next, and those tell
      (but where a page of the sort is closed, and nothing passes at all).
      That is so for one sort until something passes, and for as many uses as there were.
    * where the last two sessions were both over after a few requests less: over, without a doubt.
    Two pages of a sort that are closed, with none shown meanwhile, close the sort: it renews
    nothing for memory_s, nor do deeper pages of its kind. One page may be one of its own.
    Where no session could be had, what was shown of late with one is over: nothing goes until the
    next one may be asked for, nor before the third one that could not be had while nothing passed.
    Of other sorts nobody can tell; where sessions can be had by anybody, what is shown without one
    is not what guests are shown.

    Once a page was found that is walled alone, though its sort is shown, walls of such pages end no
    session: what is under way lands, and one request after the other tells, until one passes or so
    many in a row are walled as would hardly be by chance. So it is, too, while a new session would
    have to wait, since nothing is lost by that. Alone is a page that was walled before others of
    its sort passed with the same session.
    Else a page of a sort that is shown ends one session and not the next one too, nor does
    one that was walled at first with a new session: it is asked for once more, and is alone if
    something passed that was sent after its wall; else over. A page that is refused, not walled, is
    alone where it would be closed, and the first request with a renewed session closes no sort
    then: all may be refused.
    """

    def __init__(self, memory_s: float, enders: Enders) -> None:
        self._memory_s, self._enders = memory_s, enders
        self.last_pass = 0  # of this session: the last request that passed
        self.is_answered = False  # whether any of its requests was answered
        self._unsure: tuple[Sort, int] | None = None  # walled in doubt, and up to which use
        self._is_doubted = (
            False  # whether it was walled, beside its first answer, and nothing passed
        )
        self._suspects: dict[str, int] = {}  # pages: how many uses there were when it was refused
        self._walled: dict[str, tuple[Sort, int]] = {}  # the same of login walls, with their sorts
        self._beside_at: dict[str, int] = {}  # the same at the last wall, where the sort is shown
        self._doubt: int | None = None  # the same of the last one of a sort that is not shown
        self._held: _Held | None = None
        self._shows = self._alones = 0  # pages shown, and walls of single ones
        self._closed: dict[Sort, tuple[str, float]] = {}  # one page of the sort, and until when
        self.shown: dict[Sort, float] = {}  # when it last passed, with any session
        self.walled_until: dict[Sort, float] = {}

    def begin(self, uses: int = 0) -> None:
        """Another session; uses: how many requests it answered for the holders before."""
        self.last_pass, self.is_answered = uses, uses > 0
        self._suspects.clear()
        self._walled.clear()
        self._beside_at.clear()
        self._is_doubted = False
        self._doubt = self._unsure = self._held = None

    def passed(self, use: int | None, sort: Sort, now: float, *, is_shown: bool) -> bool:
        """A request of this sort was answered as it should be; True where that is news. use: None:
        with an older session. is_shown: with a page; an emptiness says that the session is alive,
        and nothing of the sort."""
        is_news = is_shown and not self.has_shown(sort, now)
        if is_shown:
            self.shown = {
                one: at
                for one, at in self.shown.items()
                if not _is_within(one, sort) and self.is_recent(at, now)
            } | {sort: now}
        if use is None:
            return is_news
        self.is_answered = True
        self.last_pass = max(self.last_pass, use)
        self._unsure = None
        if self._held is not None and use > self._held.since:
            self._held = None
        if not is_shown:
            return is_news
        self._shows += 1
        self._note_alone(use, sort, now)
        self._closed = _without(self._closed, sort)
        walled, self.walled_until = self.walled_until, _without(self.walled_until, sort)
        return len(walled) > len(self.walled_until) or is_news

    def wall(self, met: Refusal, uses: int, now: float, standing: Standing) -> Wall:
        """What a wall tells that came with the present session, which has had so many uses."""
        is_new, self.is_answered = not self.is_answered, True
        if any(now < until for until in _above(self.walled_until, met.sort)):
            return Wall.CLOSED
        is_shown = self.has_shown(met.sort, now)
        if not standing.is_open:
            return self._without_session(standing, is_shown=is_shown)
        if is_new and met.use == 1 and standing.is_young:
            if is_shown and met.is_wall and self._enders.has(met.url, now):
                self._enders.add_alone(met.url, now)  # it ended the session before, too
            self._enders.add(met.url, now)
            self._suspect(met, met.use, is_shown=is_shown)
            return self._close(met, now) if met.is_wall else Wall.CLOSED
        if met.url and self._closed_page(met.sort, now) == met.url:
            return self._closed_again(met, uses, is_shown=is_shown)
        if is_shown and met.use < self.last_pass:
            since = self._suspect(met, uses, is_shown=True)
            if since < met.use or (met.is_wall and self._enders.is_alone(met.page)):
                return self._alone(met, now, is_shown=True)
            return Wall.DOUBT
        if standing.is_young and met.is_wall and not (self.last_pass or self._is_doubted):
            self._is_doubted = True  # it may be alive: others, or a witness, are to tell
            self._suspect(met, uses, is_shown=is_shown)
            return Wall.DOUBT
        if standing.were_over and not self._enders.are_alone(now):
            return Wall.OVER
        if is_shown and met.is_wall and (standing.cools or self._enders.are_alone(now)):
            return self._beside(met, uses, now)
        if is_shown:
            if not self._enders.has(met.url, now):
                self._enders.add(met.url, now)
                return Wall.OVER
        elif standing.is_first and not self.last_pass:
            return Wall.OVER
        since = self._suspect(met, uses, is_shown=is_shown)
        if met.use <= since:
            return Wall.DOUBT
        if self.last_pass > since:
            return self._alone(met, now, is_shown=is_shown)
        is_unsure = standing.cools and not is_shown and self._may_go_on(met, uses, now)
        return Wall.UNSURE if is_unsure else Wall.OVER

    def has_outlived(self, page: str) -> bool:
        """Whether a request passed that was sent after this page was refused for the first time."""
        since = self._suspects.get(page)
        return since is not None and self.last_pass > since

    def has_shown(self, sort: Sort, now: float) -> bool:
        """Whether this sort, or a deeper page of its kind, passed of late, with any session."""
        return any(
            _is_within(sort, one) and self.is_recent(at, now) for one, at in self.shown.items()
        )

    def is_recent(self, at: float, now: float) -> bool:
        """Whether what was seen then still tells."""
        return now - at <= self._memory_s

    @property
    def alone_at(self) -> float:
        """When a page was found that is walled alone, by any egress; -inf: none was found."""
        return self._enders.alone_at

    def know_alone(self, at: float) -> None:
        """Another holder found one then."""
        self._enders.alone_at = max(self._enders.alone_at, at)

    @property
    def is_held(self) -> bool:
        """Whether the next request is to tell whether the session is over, before others go."""
        return self._held is not None

    @property
    def is_in_doubt(self) -> bool:
        """Whether others are to settle a doubt about a page of a sort that is not shown."""
        return self._doubt is not None and self.last_pass <= self._doubt

    def _note_alone(self, use: int, sort: Sort, now: float) -> None:
        """A page was shown: alone are those of its sort that were walled before it was sent for."""
        found = [
            page
            for page, (one, since) in self._walled.items()
            if _is_within(one, sort) and use > since
        ]
        for page in found:
            del self._walled[page]
            self._alones += not self._enders.is_alone(page)
            self._enders.add_alone(page, now)

    def _beside(self, met: Refusal, uses: int, now: float) -> Wall:
        """A page of a sort that is shown, where such pages are known to be walled alone, or it is
        too early for another session: as long as requests that were sent after its wall can tell,
        they do, one after the other. One that is known to be alone is so, whatever they tell. Walls
        with nothing between them that passed are one: the session may have ended before it."""
        since = self._suspect(met, uses, is_shown=True)
        is_news = self._beside_at.get(met.page, -1) < self.last_pass
        self._beside_at[met.page] = uses
        if since < self.last_pass and is_news:
            return self._alone(met, now, is_shown=True)
        held = self._held or _Held(uses)
        is_known = self._enders.is_alone(met.page)
        if met.use > held.since:
            held = _Held(held.since, held.walls + 1, held.telling + (not is_known))
        self._held = held
        if held.telling >= self._held_most() or held.walls >= _HELD_ALL:
            return Wall.OVER
        return Wall.ALONE if is_known and is_news and self.last_pass else Wall.DOUBT

    def _held_most(self) -> int:
        """How many in a row tell that it is over, by the share of pages that are walled alone."""
        share = (self._alones + 1) / (self._alones + self._shows + 2)
        return min(_HELD_MOST, max(_HELD_LEAST, ceil(log(_HELD_CHANCE) / log(share))))

    def _alone(self, met: Refusal, now: float, *, is_shown: bool) -> Wall:
        """A page was refused again, and others passed since it was for the first time."""
        if not met.is_wall:
            return Wall.ALONE
        if not is_shown:
            return self._close(met, now)
        self._alones += not self._enders.is_alone(met.page)
        self._enders.add_alone(met.page, now)
        return Wall.ALONE

    def _without_session(self, standing: Standing, *, is_shown: bool) -> Wall:
        is_told = self.last_pass or standing.vain >= VAIN
        # what is shown of late needs a session, which may be had again
        if not standing.cools or not is_told or is_shown:
            return Wall.OVER
        return Wall.UNSURE if standing.can_be_had else Wall.ABSENT

    def _suspect(self, met: Refusal, uses: int, *, is_shown: bool) -> int:
        """Note that a page was refused; after how many uses it was for the first time."""
        since = self._suspects.setdefault(met.page, uses)
        if met.is_wall and met.url:
            self._walled.setdefault(met.url, (met.sort, uses))
        if not is_shown:
            self._doubt = since
        return since

    def _may_go_on(self, met: Refusal, uses: int, now: float) -> bool:
        """Whether others are to tell of this wall, which two requests for its page have met: not
        where a page like it is closed, and nothing else is asked for that passes."""
        if self._closed_page(met.sort, now) is not None and not self.last_pass:
            return False
        if self._unsure is None:
            self._unsure = met.sort, 2 * uses
        return self._unsure[0] == met.sort and met.use <= self._unsure[1]

    def _close(self, met: Refusal, now: float) -> Wall:
        """A page is closed, as the session was alive; a second one of its sort closes the sort,
        unless it is shown."""
        sort, until = met.sort, now + self._memory_s
        if met.url and self._closed_page(sort, now) in (None, met.url):
            self._closed[sort] = met.url, until
        elif not self.has_shown(sort, now):
            self.walled_until = {
                one: its_end
                for one, its_end in self.walled_until.items()
                if not _is_within(sort, one) and its_end > now
            } | {sort: until}
        return Wall.CLOSED

    def _closed_again(self, met: Refusal, uses: int, *, is_shown: bool) -> Wall:
        """A page that is closed is walled again, which tells nothing of it unless this session is
        alive: what passed since its first wall says so. Where nothing passes nobody can tell."""
        since = self._suspect(met, uses, is_shown=is_shown)
        is_alive = self.last_pass > since
        if is_alive:
            return Wall.ALONE
        if not self.last_pass:
            return Wall.CLOSED
        return Wall.DOUBT if met.use <= since else Wall.OVER

    def _closed_page(self, sort: Sort, now: float) -> str | None:
        url, until = self._closed.get(sort, (None, now))
        return url if now < until else None


def _is_within(one: Sort, deeper: Sort) -> bool:
    """Whether it is of the same kind, and no deeper a page."""
    return one[0] is deeper[0] and one[1] <= deeper[1]


def _above(noted: Mapping[Sort, _T], sort: Sort) -> Iterator[_T]:
    """What is noted of this page or one before it."""
    return (what for one, what in noted.items() if _is_within(one, sort))


def _without(noted: Mapping[Sort, _T], sort: Sort) -> dict[Sort, _T]:
    """All but what is noted of this page and those before it."""
    return {one: at for one, at in noted.items() if not _is_within(one, sort)} if noted else {}


# -- what it means for its request


class Hit(NamedTuple):
    """One wall, or refusal, that a request met. wall: what it tells of its session. is_wall: a
    login wall. is_trusted: by an egress that is known to show what the site shows. is_common:
    others met it there, and is_first_shown what they were shown on first pages, as `Others` said.
    enough: so many walls of a page by sessions that were alive are hardly by chance.
    """

    wall: Wall
    egress: str
    generation: int
    is_wall: bool = True
    is_trusted: bool = False
    is_common: bool = False
    is_first_shown: bool | None = False
    enough: float = inf

    @property
    def session(self) -> tuple[str, int]:
        return self.egress, self.generation

    @property
    def tells_nothing(self) -> bool:
        return self.is_wall and self.wall in _TELLS_NOTHING


class Asked(NamedTuple):
    """A request: for the nth page of a kind, of so many attempts."""

    kind: Kind
    nth: int
    attempts: int

    def is_over(self, n: int, attempts: int) -> bool:
        return n >= attempts * self.attempts


class Meaning(Enum):
    """What is to become of a request that met a wall, or of the page."""

    AGAIN = "again"
    ELSEWHERE = "elsewhere"
    LATER = "later"
    UNREAD = "unread"
    CLOSED = "closed"
    UNSURE = "unsure"
    REFUSED = "refused"
    TOO_OFTEN = "too often"


def after(asked: Asked, hits: Sequence[Hit]) -> Meaning:
    """What the last of these means; all are of one request, the oldest first."""
    hit, is_over = hits[-1], False
    if hit.wall in (Wall.OVER, Wall.DOUBT):
        is_over = _is_too_often(asked, hits)
        if not is_over:
            return Meaning.AGAIN
    if hit.tells_nothing and _may_ask_another(asked, hits):
        return Meaning.ELSEWHERE
    if not hit.is_wall:
        return Meaning.TOO_OFTEN if is_over else Meaning.REFUSED
    if (is_over or hit.wall is Wall.UNSURE) and not is_confirmed(hits):
        is_over |= asked.is_over(unsure(hits), UNSURE_ATTEMPTS)
        return Meaning.UNREAD if is_over else Meaning.LATER
    return _of_page(asked, hits)


def unsure(hits: Sequence[Hit]) -> int:
    """How many of them met sessions that may have been over."""
    return sum(hit.wall is Wall.UNSURE for hit in hits)


def is_confirmed(hits: Sequence[Hit]) -> bool:
    """Whether the walls that a request met are more than the word of one session, or of sessions
    that came to their end, which any page would have met; nor that of two egresses of which nobody
    knows whether they lie. A wall that stands once may meet the first request of a new session."""
    walls = [hit for hit in hits if hit.is_wall]
    telling = [hit for hit in walls if not hit.tells_nothing]
    is_known = any(hit.is_trusted for hit in telling)
    is_trusted = is_known or len(telling) >= LOOKS
    sessions = {hit.session for hit in telling}
    told = [hit for hit in telling if hit.wall in CLOSED]  # by sessions that were alive
    is_told = len({hit.session for hit in told}) >= WITNESSES
    is_told |= any(hit.wall is Wall.ALONE for hit in told[1:])  # it was alive still
    is_witnessed = is_told and is_trusted and len(sessions) >= WITNESSES
    beside = sum(hit.wall is not Wall.OVER for hit in telling)
    is_alone = any(hit.wall is Wall.ALONE and beside >= hit.enough for hit in told)
    return is_witnessed or (is_alone and is_known) or any(hit.is_common for hit in walls)


def moments(hits: Sequence[Hit], shown_by: tuple[str, int]) -> int:
    """How many of the walls that a request met stood for a moment: this session, by which it was
    shown the page in the end, met them, too."""
    walls = (hit for hit in hits if hit.is_wall and hit.wall is not Wall.OVER)
    return sum(hit.session == shown_by for hit in walls)


def _of_page(asked: Asked, hits: Sequence[Hit]) -> Meaning:
    """Guests are not shown the page, as far as this session tells."""
    hit = hits[-1]
    # others may be shown such pages, or nobody knows whether this egress shows what the site does
    is_user = asked.kind in OF_USERS
    is_walled = hit.is_first_shown is False if is_user else not hit.is_first_shown
    is_doubtful = asked.nth > 1 or not (is_walled and hit.is_trusted)
    if not is_doubtful or is_confirmed(hits):
        return Meaning.CLOSED
    looks = [one for one in hits if one.wall in CLOSED]
    # one that was alive at both tells no more at the next
    is_told = hit.wall is Wall.ALONE and any(one.session == hit.session for one in looks[:-1])
    is_left = hit.wall in CLOSED and len(looks) < LOOKS and not is_told
    return Meaning.ELSEWHERE if is_left else Meaning.UNSURE


def _may_ask_another(asked: Asked, hits: Sequence[Hit]) -> bool:
    """Whether to ask another egress after one whose session tells nothing: once each, where there
    is another one."""
    without = {hit.egress for hit in hits[:-1] if hit.tells_nothing}
    return hits[-1].egress not in without and not asked.is_over(len(without), SESSIONLESS_ATTEMPTS)


def _is_too_often(asked: Asked, hits: Sequence[Hit]) -> bool:
    """Whether one session was doubted too often, or too many came to their end."""
    telling = [hit for hit in hits if not hit.tells_nothing]
    sessions = [list(same) for _, same in groupby(telling, lambda hit: hit.session)]
    doubts = sum(hit.wall is Wall.DOUBT for hit in sessions[-1])
    is_in_doubt = doubts > SESSION_DOUBT_ATTEMPTS * asked.attempts
    return is_in_doubt or len(sessions) > SESSION_ATTEMPTS * asked.attempts


# -- what others met


class Others:
    """What others met of late: walls by kind and page number, and whether somebody passed since.

    A wall that was confirmed counts at once, one that was not together with those of two others.
    Those of later pages tell nothing while first pages are walled as well: then it is not the depth
    that guests are refused, but everything.
    `now` is seconds on any clock that never goes back.
    """

    def __init__(self) -> None:
        self._walls: dict[Sort, deque[_Met]] = {}
        self._first_shown: dict[Kind, bool] = {}
        self._moments: deque[int] = deque(maxlen=_MOMENTS_OF)  # walls for a moment, by request
        self._are_first_walled: dict[Kind, bool] = {}

    def heard(self, request: Request, verdict: Verdict) -> None:
        """Note an answer as it comes, whatever it is believed to mean."""
        if not request.cursor and (verdict is Verdict.LOGIN_WALL or verdict in FACTS):
            self._are_first_walled[request.kind] = verdict is Verdict.LOGIN_WALL

    def note(
        self, request: Request, nth: int, reading: Reading, now: float, *, is_alone: bool = False
    ) -> None:
        """What a request for the nth page came to. is_alone: it was walled, and others are shown
        such pages, so that this tells nothing of them."""
        if is_alone:
            return
        kind, is_wall = request.kind, reading.verdict is Verdict.LOGIN_WALL
        is_told = reading.verdict in FACTS or (is_wall and not reading.ambiguous)
        if not request.cursor and is_told:
            self._first_shown[kind] = not is_wall
        if is_wall:
            walls = self._walls.setdefault((kind, nth), deque(maxlen=2 * WALL_OTHERS))
            walls.append(_Met(request.uid, not reading.ambiguous, now))
        elif reading.verdict is Verdict.OK:
            self._walls.pop((kind, nth), None)

    def shown(self, moments: int) -> None:
        """A request was shown its page, after so many walls that stood for a moment."""
        self._moments.append(moments)

    @property
    def enough(self) -> int:
        """How many walls of one page are hardly by chance."""
        share = (sum(self._moments) + 1) / (len(self._moments) + sum(self._moments) + 2)
        return 1 + ceil(log(_MOMENTS_CHANCE) / log(share))

    def is_common(self, request: Request, nth: int, now: float) -> bool:
        """Whether others met this wall, too."""
        if nth > 1 and self._are_first_walled.get(request.kind, False):
            return False
        others = [
            wall
            for wall in self._walls.get((request.kind, nth), ())
            if wall.uid != request.uid and now - wall.at <= WALL_MEMORY_S
        ]
        uids = {wall.uid for wall in others}
        return any(wall.is_sure for wall in others) or len(uids) >= WALL_OTHERS

    def is_first_shown(self, kind: Kind) -> bool | None:
        """Whether the first page of this kind that was asked for last was shown; None: no answer
        was believed yet."""
        return self._first_shown.get(kind)


class _Met(NamedTuple):
    uid: Id
    is_sure: bool
    at: float
