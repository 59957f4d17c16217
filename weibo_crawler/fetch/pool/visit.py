"""The state of one egress's visitor session. Pure: `now` is an argument.

A visitor session is worth something for a while only, and asking for new ones again and again while
an address is limited makes the limit worse (weibo_api.md, "What decides the design", 2). So a wall
leads to a renewal only where a renewal may help.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from enum import Enum
from math import inf
from typing import NamedTuple, TypeVar

import msgspec

from weibo_crawler.fetch.pool.lives import Lives
from weibo_crawler.records import Kind

_T = TypeVar("_T")

_HOUR_S = 3600.0
_COOLDOWN_CAP_S = 3600.0
_VAIN = 2  # sessions in a row before one that could not be had tells that none can

Sort = tuple[Kind, int]  # of a request: its kind, and which page of its list it asks for, from 1
# A list shows its first pages to guests and not the later ones: who is walled at page 3 is walled
# at page 4, and who is shown page 3 may see page 2.


class Use(NamedTuple):
    """One request with a session. number: of the requests of its generation, from 1."""

    generation: int
    number: int


class Wall(Enum):
    """What a login wall says of the session, or a refusal that a new one may help: OVER (it gets a
    new one: ask again then), DOUBT (ask again with it), CLOSED (it is good, visitors are not shown
    this), ALONE (it is good, others are shown pages with it), UNSURE (it may be over, and it is too
    early for a new one), ABSENT (none could be had)."""

    OVER = "over"
    DOUBT = "doubt"
    CLOSED = "closed"
    ALONE = "alone"
    UNSURE = "unsure"
    ABSENT = "absent"


CLOSED = (Wall.CLOSED, Wall.ALONE)  # no session shows it


class SavedVisit(msgspec.Struct, frozen=True):
    """A session for the next holder of its egress; times are seconds ago, or from now.

    opened: False where none could be had. renewed_ago_s: None for a first session. wanted: a new
    one is to be asked for; asked_ago_s: when one was asked for, within the last hour. shown_ago_s:
    when a sort of request last passed. Older versions wrote sorts as (kind, whether it is a first
    page). vain: how many sessions in a row were of no use. agent: the user agent that it was opened
    with. answers: of this session; lives: of the last two that a wall ended.
    """

    cookies: dict[str, str]
    opened: bool
    renewed_ago_s: float | None
    walled_for: list[tuple[tuple[Kind, int | bool], float]]
    wanted: bool = False
    asked_ago_s: list[float] = []
    shown_ago_s: list[tuple[tuple[Kind, int | bool], float]] = []
    vain: int = 0
    agent: str = ""
    answers: int = 1
    lives: list[int] = []


class Enders:
    """The pages whose walls ended sessions of late, or were the first answer of new ones, of any
    egress: it may be them alone."""

    def __init__(self, memory_s: float) -> None:
        self._memory_s = memory_s
        self._met: dict[str, float] = {}  # by address, the oldest first

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


class Visit:
    """Born without a session and in want of one; each renewal is a new generation.

    A wall met with an older generation says nothing: ask again with the present one. With the
    present one it means that the session is over, or that visitors are not shown this page. What
    tells them apart is which other requests pass, and requests overtake each other:
    * the first request with a renewed session, answered before any other: the page is closed, for
      then the session was alive. `Visitor` lets it go alone. No other wall of such a session proves
      it, however young it is: some live for one request.
    * a sort that passed within wall_memory_s, or a deeper page of its kind: over, unless a later
      request passed meanwhile.
    * a page of another sort is asked for once more: where it is walled again, it is closed if
      something passed that was sent after its first wall; else over. But while a new session would
      have to wait, this one goes on, unsure: its callers ask for other sorts next, and those tell
      (but where a page of the sort is closed, and nothing passes at all).
      That is so for one sort until something passes, and for as many uses as there were.
    * where the last two sessions were both over after a few requests less: over, without a doubt.
    Two pages of a sort that are closed, with none shown meanwhile, close the sort: it renews
    nothing for wall_memory_s, nor do deeper pages of its kind. One page may be one of its own.
    Where no session could be had, what was shown of late with one is over: nothing goes until the
    next one may be asked for, nor before the third one that could not be had while nothing passed.
    Of other sorts nobody can tell.

    A page of a sort that is shown ends one session and not the next one too, nor does one that was
    walled at first with a new session: it is asked for once more, and is alone if something passed
    that was sent after its wall; else over. A page that is refused, not walled, is alone where it
    would be closed, and the first request with a renewed session closes no sort then: all may be
    refused.

    A session that is likely to be over, after as many requests as those before it (`Lives`), is
    renewed before it meets a wall where that is possible at once; else it is used by one request
    after the other for a while.

    The first session of an egress is no renewal, so a wall may renew it at once. After a renewal
    the next one waits for the cooldown, and nothing goes by this egress when its session is over.
    The cooldown doubles with each session in a row by which nothing passed, up to an hour. However
    it goes, a session is asked for at most per_hour times in any hour (None: no ceiling).
    """

    def __init__(
        self,
        *,
        cooldown_s: float,
        wall_memory_s: float,
        per_hour: int | None = None,
        enders: "Enders | None" = None,
    ) -> None:
        self._cooldown_s, self._wall_memory_s = cooldown_s, wall_memory_s
        self._per_hour = per_hour
        self._asked: deque[float] = deque()
        self.generation = 0
        self.wanted = True
        self.tries = 0  # in vain, for the session that is wanted
        self.retry_at = 0.0
        self.cookies: dict[str, str] = {}
        self.is_open = False  # whether it could be had
        self._renewed_at: float | None = None
        self._vain = 0  # generations in a row by which nothing passed, before this one
        self._uses = self._last_pass = 0  # of this generation: requests; the last one that passed
        self._is_answered = False  # whether any of them was answered
        self._unsure: tuple[Sort, int] | None = None  # walled in doubt, and up to which use
        self._suspects: dict[str, int] = {}  # pages: how many uses there were when it was refused
        self._doubt: int | None = None  # the same of the last one of a sort that is not shown
        self._enders = enders or Enders(wall_memory_s)
        self._closed: dict[Sort, tuple[str, float]] = {}  # one page of the sort, and until when
        self._shown: dict[Sort, float] = {}  # when it last passed, with any generation
        self._walled_until: dict[Sort, float] = {}
        self._lives = Lives()

    def use(self, now: float) -> Use:
        """One more request goes with this session. It may be the last one."""
        self._uses += 1
        if self._lives.is_spent(self.generation, self._uses):
            self.wanted = self._bar_s(now) == 0
        return Use(self.generation, self._uses)

    def opened(self, cookies: Mapping[str, str], now: float) -> None:
        """A new session."""
        self._begin(cookies, now if self.generation else None)
        self.is_open = True

    def barred_s(self, now: float) -> float:
        """Seconds before a session, where one is wanted, may be asked for: the rest of the
        cooldown, and what the ceiling asks for."""
        return self._bar_s(now) if self.wanted else 0.0

    def _bar_s(self, now: float) -> float:
        bar_s = 0.0 if self._renewed_at is None else self._renewed_at + self._cooldown - now
        self._drop_old(now)
        over = -1 if self._per_hour is None else len(self._asked) - self._per_hour
        if over >= 0:
            bar_s = max(bar_s, self._asked[over] + _HOUR_S - now)
        return max(0.0, bar_s)

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
        self.is_open = False

    def saved(self, now: float) -> SavedVisit | None:
        """What the next holder goes on with; None: nothing, it begins anew."""
        self._drop_old(now)
        if self.wanted and not self._asked:
            return None
        return SavedVisit(
            {} if self.wanted else self.cookies,
            self.is_open,
            None if self._renewed_at is None else now - self._renewed_at,
            [(sort, until - now) for sort, until in self._walled_until.items() if until > now],
            self.wanted,
            [now - at for at in self._asked],
            [(sort, now - at) for sort, at in self._shown.items() if self._is_recent(at, now)],
            self._vain,
            answers=max(1, self._lives.of(self.generation)),
            lives=self._lives.ended,
        )

    def restore(self, saved: SavedVisit, age_s: float, now: float) -> None:
        """Go on with the session that another holder saved age_s ago."""
        ago, then = saved.renewed_ago_s, now - age_s
        self._lives = Lives(saved.lives)
        self._begin(saved.cookies, None if ago is None else then - ago)
        self._lives.begin(self.generation, saved.answers)
        self._uses = self._last_pass = saved.answers
        self._is_answered = True  # it is not new any more
        self.is_open, self._vain = saved.opened, saved.vain
        self._shown = {_sort_of(*sort): then - ago_s for sort, ago_s in saved.shown_ago_s}
        self._walled_until = {_sort_of(*sort): then + for_s for sort, for_s in saved.walled_for}
        self._asked = deque(then - ago_s for ago_s in saved.asked_ago_s)
        self.wanted = saved.wanted

    def passed(self, use: Use, sort: Sort, now: float, *, is_shown: bool = True) -> bool:
        """A request of this sort was answered as it should be; True where that is news. is_shown:
        with a page; an emptiness says that the session is alive, and nothing of the sort."""
        is_news = is_shown and not self.has_shown(sort, now)
        self._lives.answered(use.generation)
        if is_shown:
            self._shown = {
                one: at
                for one, at in self._shown.items()
                if not _is_within(one, sort) and self._is_recent(at, now)
            } | {sort: now}
        if use.generation != self.generation:
            return is_news
        is_news |= self._vain > 0
        self._vain, self._is_answered = 0, True
        self._last_pass = max(self._last_pass, use.number)
        self._unsure = None
        if not is_shown:
            return is_news
        self._closed = _without(self._closed, sort)
        walled, self._walled_until = self._walled_until, _without(self._walled_until, sort)
        return len(walled) > len(self._walled_until) or is_news

    def wall(
        self, use: Use, sort: Sort, now: float, *, url: str = "", is_refusal: bool = False
    ) -> Wall:
        """A request of this sort met a login wall, or a refusal. url: of the page; "": no page is
        told from others of its sort."""
        if use.generation != self.generation or self.wanted:
            return Wall.OVER
        is_first, self._is_answered = not self._is_answered, True
        if any(now < until for until in _above(self._walled_until, sort)):
            return Wall.CLOSED
        is_shown, page = self.has_shown(sort, now), url or str(sort)
        if not self.is_open:
            is_told = self._last_pass or self._vain >= _VAIN
            # what is shown of late needs a session, which may be had again
            return Wall.ABSENT if self._cools(now) and is_told and not is_shown else self._end()
        if is_first and use.number == 1 and self._is_young(now):
            self._enders.add(url, now)
            self._suspect(page, use.number, is_shown=is_shown)
            return Wall.CLOSED if is_refusal else self._close(sort, url, now)
        if url and self._closed_page(sort, now) == url:
            return self._closed_again(page, use, is_shown=is_shown)
        if is_shown and use.number < self._last_pass:
            return Wall.DOUBT
        if self._lives.were_over(use.number):
            return self._end()
        if is_shown:
            if not self._enders.has(url, now):
                self._enders.add(url, now)
                return self._end()
        elif self._renewed_at is None and not self._last_pass:
            return self._end()
        since = self._suspect(page, self._uses, is_shown=is_shown)
        if use.number <= since:
            return Wall.DOUBT
        if self._last_pass > since:
            return Wall.ALONE if is_refusal or is_shown else self._close(sort, url, now)
        return Wall.UNSURE if not is_shown and self._may_go_on(use, sort, now) else self._end()

    def goes_alone(self, use: Use) -> bool:
        """Whether nothing else goes before this request is answered: the first with a renewed
        session, while it is unanswered, and those at which one like those before it is over, until
        a wall leaves a doubt that others are to settle."""
        if use.generation != self.generation:
            return False
        is_first = use.number == 1 and not self._is_answered and self._renewed_at is not None
        is_doubt = self._doubt is not None and self._last_pass <= self._doubt
        return is_first or (not is_doubt and self._lives.may_be_over(use.number))

    def has_shown(self, sort: Sort, now: float) -> bool:
        """Whether this sort, or a deeper page of its kind, passed of late, with any session."""
        return any(
            _is_within(sort, one) and self._is_recent(at, now) for one, at in self._shown.items()
        )

    def expire(self, generation: int) -> None:
        """The session of this generation is of no use any more."""
        if generation == self.generation:
            self.wanted = True

    # -- inside

    @property
    def _cooldown(self) -> float:
        return min(self._cooldown_s * 2.0 ** min(self._vain, 60), _COOLDOWN_CAP_S)

    def _suspect(self, page: str, uses: int, *, is_shown: bool) -> int:
        """Note that a page was refused; after how many uses it was for the first time."""
        since = self._suspects.setdefault(page, uses)
        if not is_shown:
            self._doubt = since
        return since

    def _may_go_on(self, use: Use, sort: Sort, now: float) -> bool:
        """Whether others are to tell of this wall, which two requests for its page have met: not
        where a page like it is closed, and nothing else is asked for that passes."""
        is_second = self._closed_page(sort, now) is not None and not self._last_pass
        if is_second or not self._cools(now):
            return False
        if self._unsure is None:
            self._unsure = sort, 2 * self._uses
        return self._unsure[0] == sort and use.number <= self._unsure[1]

    def _cools(self, now: float) -> bool:
        return self._renewed_at is not None and now - self._renewed_at < self._cooldown

    def _is_young(self, now: float) -> bool:
        """Whether it was renewed just now."""
        return self._renewed_at is not None and now - self._renewed_at < self._cooldown_s

    def _is_recent(self, at: float, now: float) -> bool:
        return now - at <= self._wall_memory_s

    def _close(self, sort: Sort, url: str, now: float) -> Wall:
        """A page is closed, as the session was alive; a second one of its sort closes the sort,
        unless it is shown."""
        until = now + self._wall_memory_s
        if url and self._closed_page(sort, now) in (None, url):
            self._closed[sort] = url, until
        elif not self.has_shown(sort, now):
            self._walled_until = {
                one: its_end
                for one, its_end in self._walled_until.items()
                if not _is_within(sort, one) and its_end > now
            } | {sort: until}
        return Wall.CLOSED

    def _closed_again(self, page: str, use: Use, *, is_shown: bool) -> Wall:
        """A page that is closed is walled again, which tells nothing of it unless this session is
        alive: what passed since its first wall says so. Where nothing passes nobody can tell."""
        since = self._suspect(page, self._uses, is_shown=is_shown)
        is_alive = self._last_pass > since
        if is_alive:
            return Wall.ALONE
        if not self._last_pass:
            return Wall.CLOSED
        return Wall.DOUBT if use.number <= since else self._end()

    def _closed_page(self, sort: Sort, now: float) -> str | None:
        url, until = self._closed.get(sort, (None, now))
        return url if now < until else None

    def _end(self) -> Wall:
        self.wanted = True
        if self.is_open:
            self._lives.end(self.generation)
        return Wall.OVER

    def _drop_old(self, now: float) -> None:
        while self._asked and self._asked[0] <= now - _HOUR_S:
            self._asked.popleft()

    def _begin(self, cookies: Mapping[str, str], renewed_at: float | None) -> None:
        if self.generation and not self._last_pass:
            self._vain += 1
        self.generation += 1
        self._lives.begin(self.generation)
        self.wanted = False
        self.tries = 0
        self.cookies = dict(cookies)
        self._renewed_at = renewed_at
        self._uses = self._last_pass = 0
        self._is_answered = False
        self._suspects.clear()
        self._doubt = None
        self._unsure = None


def _is_within(one: Sort, deeper: Sort) -> bool:
    """Whether it is of the same kind, and no deeper a page."""
    return one[0] is deeper[0] and one[1] <= deeper[1]


def _above(noted: Mapping[Sort, _T], sort: Sort) -> Iterator[_T]:
    """What is noted of this page or one before it."""
    return (what for one, what in noted.items() if _is_within(one, sort))


def _without(noted: Mapping[Sort, _T], sort: Sort) -> dict[Sort, _T]:
    """All but what is noted of this page and those before it."""
    return {one: at for one, at in noted.items() if not _is_within(one, sort)} if noted else {}


def _sort_of(kind: Kind, nth: int | bool) -> Sort:
    """The sort, also as an older version wrote it."""
    return kind, (1 if nth else 2) if isinstance(nth, bool) else nth
