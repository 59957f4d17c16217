"""One egress's visitor session: when a new one is asked for. Pure: `now` is an argument.

A visitor session is worth something for a while only, and asking for new ones again and again while
an address is limited makes the limit worse (weibo_api.md, "What decides the design", 2). So a wall
leads to a renewal only where a renewal may help (`login_walls`).
"""

from collections import deque
from collections.abc import Mapping
from math import inf
from typing import NamedTuple

import msgspec

from weibo_crawler.fetch.pool.lives import Lives
from weibo_crawler.fetch.pool.login_walls import (
    CLOSED,
    Enders,
    Refusal,
    Signs,
    Sort,
    Standing,
    Wall,
)
from weibo_crawler.fetch.pool.tempo import Tempo

_HOUR_S = 3600.0
_COOLDOWN_CAP_S = 3600.0
_SOON_S = 1.0


class Use(NamedTuple):
    """One request with a session. number: of the requests of its generation, from 1."""

    generation: int
    number: int


class SavedVisit(msgspec.Struct, frozen=True):
    """A session for the next holder of its egress; times are seconds ago, or from now.

    opened: False where none could be had. renewed_ago_s: None for a first session. wanted: a new
    one is to be asked for; asked_ago_s: when one was asked for, within the last hour. shown_ago_s:
    when a sort of request last passed. vain: how many sessions in a row were of no use. agent: the
    user agent that it was opened with. answers: of this session; lives: of the last ones that a
    wall ended. alone_ago_s: when a page was found that is walled alone.
    """

    cookies: dict[str, str]
    opened: bool
    renewed_ago_s: float | None
    walled_for: list[tuple[Sort, float]]
    wanted: bool = False
    asked_ago_s: list[float] = []
    shown_ago_s: list[tuple[Sort, float]] = []
    vain: int = 0
    agent: str = ""
    answers: int = 1
    lives: list[int] = []
    alone_ago_s: float | None = None


class Visit:
    """Born without a session and in want of one; each renewal is a new generation.

    A wall met with an older generation says nothing: ask again with the present one. What one says
    of the present generation is told by `Signs`.

    No more requests are under way with a session than it has answered, and one: where it is over
    soon, all that is under way meets a wall, and the first one, where it meets one, tells of the
    page, for nothing else can have ended the session. One that is likely to be over, after as many
    requests as those before it (`Lives`), is renewed before it meets a wall where that is possible
    within a second; else it is used by one request after the other for a while.

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
        self._cooldown_s, self._per_hour = cooldown_s, per_hour
        self._asked: deque[float] = deque()
        self.generation = 0
        self.wanted = True
        self.tries = 0  # in vain, for the session that is wanted
        self.retry_at = 0.0
        self.cookies: dict[str, str] = {}
        self.is_open = False  # whether it could be had
        self._renewed_at: float | None = None
        self._vain = 0  # generations in a row by which nothing passed, before this one
        self._uses = 0  # requests of this generation
        self._under_way: set[int] = set()  # those of them that have not landed
        self._lone: int | None = None  # the last one beside which no other goes
        self._signs = Signs(wall_memory_s, enders or Enders(wall_memory_s))
        self._lives = Lives()
        self._tempo = Tempo()

    def use(self, now: float) -> Use:
        """One more request goes with this session. It may be the last one."""
        self._uses += 1
        self._under_way.add(self._uses)
        if not self._signs.is_in_doubt and self._lives.may_be_over(self._uses):
            self._lone = self._uses
        if self._lives.is_spent(self.generation, self._uses):
            self.wanted = self._bar_s(now) < _SOON_S
        return Use(self.generation, self._uses)

    def opened(self, cookies: Mapping[str, str], now: float) -> None:
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

    def request_started(self, now: float) -> None:
        """A session is being asked for."""
        self._drop_old(now)
        self._asked.append(now)

    def request_failed(self, now: float, retry_s: float) -> None:
        """A session was asked for, and none came: for `retry_s` seconds nobody asks again."""
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
            [
                (sort, until - now)
                for sort, until in self._signs.walled_until.items()
                if until > now
            ],
            self.wanted,
            [now - at for at in self._asked],
            [
                (sort, now - at)
                for sort, at in self._signs.shown.items()
                if self._signs.is_recent(at, now)
            ],
            self._vain,
            answers=max(1, self._lives.of(self.generation)),
            lives=self._lives.told,
            alone_ago_s=None if self._signs.alone_at == -inf else now - self._signs.alone_at,
        )

    def restore(self, saved: SavedVisit, age_s: float, now: float) -> None:
        """Go on with the session that another holder saved age_s ago."""
        ago, then = saved.renewed_ago_s, now - age_s
        self._lives = Lives(saved.lives)
        self._begin(saved.cookies, None if ago is None else then - ago)
        self._lives.begin(self.generation, saved.answers)
        self._uses = saved.answers
        self._signs.begin(saved.answers)  # it is not new any more
        self.is_open, self._vain = saved.opened, saved.vain
        signs = self._signs
        signs.shown = {sort: then - ago_s for sort, ago_s in saved.shown_ago_s}
        signs.walled_until = {sort: then + for_s for sort, for_s in saved.walled_for}
        if saved.alone_ago_s is not None:
            signs.know_alone(then - saved.alone_ago_s)
        self._asked = deque(then - ago_s for ago_s in saved.asked_ago_s)
        self.wanted = saved.wanted

    def passed(self, use: Use, sort: Sort, now: float, *, is_shown: bool = True) -> bool:
        """As `Signs.passed`."""
        self._lives.answered(use.generation)
        if use.generation != self.generation:
            return self._signs.passed(None, sort, now, is_shown=is_shown)
        self._tempo.answered()
        is_news, self._vain = self._vain > 0, 0
        return self._signs.passed(use.number, sort, now, is_shown=is_shown) or is_news

    def wall(
        self,
        use: Use,
        sort: Sort,
        now: float,
        *,
        url: str = "",
        is_refusal: bool = False,
        can_be_had: bool = False,
    ) -> Wall:
        """A request of this sort met a login wall, or a refusal. url: as in `Refusal`; can_be_had:
        as in `Standing`."""
        if use.generation != self.generation or self.wanted:
            return Wall.OVER
        met = Refusal(use.number, sort, url, not is_refusal)
        standing = Standing(
            is_open=self.is_open,
            can_be_had=can_be_had,
            vain=self._vain,
            is_first=self._renewed_at is None,
            is_young=self._is_within(self._cooldown_s, now),
            cools=self._is_within(self._cooldown, now),
            were_over=self._lives.were_over(use.number),
        )
        wall = self._signs.wall(met, self._uses, now, standing)
        if wall is Wall.OVER:
            self._end(now)
        elif wall in CLOSED or wall is Wall.DOUBT:
            is_doubt = wall is Wall.DOUBT or not (is_refusal or self._signs.last_pass)
            self._lives.answered(use.generation, is_doubt=is_doubt)
        return wall

    def has_outlived(self, use: Use, sort: Sort, url: str, now: float) -> bool | None:
        """Whether the session of this request, which met a wall in doubt, is alive and shows such
        pages; None: nothing has told yet."""
        if use.generation != self.generation or self.wanted or not self.has_shown(sort, now):
            return False
        return self._signs.has_outlived(url) or None

    def landed(self, use: Use) -> None:
        """That request was answered, or nobody waits for its answer any more."""
        if use.generation == self.generation:
            self._under_way.discard(use.number)

    @property
    def is_full(self) -> bool:
        """Whether the next request waits until one has landed. A wall that leaves a doubt which
        others are to settle lets them go, however soon a session like those before it is over."""
        if self._signs.is_held:
            return bool(self._under_way)
        if self._lone in self._under_way and not self._signs.is_in_doubt:
            return True
        return self.generation > 0 and len(self._under_way) > self._lives.of(self.generation)

    def has_passed(self, use: Use) -> bool:
        """Whether anything did by the session of this request: some are over from the start."""
        return self._lives.of(use.generation) > 0

    @property
    def most_per_s(self) -> float:
        """Requests a second at most, as a faster pace ends sessions; inf: any."""
        return self._tempo.rate

    def has_shown(self, sort: Sort, now: float) -> bool:
        """As `Signs.has_shown`."""
        return self._signs.has_shown(sort, now)

    def expire(self, generation: int) -> None:
        """The session of this generation is of no use any more."""
        if generation == self.generation:
            self.wanted = True

    # -- inside

    @property
    def _cooldown(self) -> float:
        return min(self._cooldown_s * 2.0 ** min(self._vain, 60), _COOLDOWN_CAP_S)

    def _is_within(self, seconds: float, now: float) -> bool:
        """Whether it was renewed so short a time ago."""
        return self._renewed_at is not None and now - self._renewed_at < seconds

    def _end(self, now: float) -> None:
        self.wanted = True
        if self.is_open:
            self._lives.end(self.generation)
            if self._renewed_at is not None:
                uses, after_s = self._lives.of(self.generation), now - self._renewed_at
                self._tempo.over(uses, after_s, self._bar_s(now))

    def _drop_old(self, now: float) -> None:
        while self._asked and self._asked[0] <= now - _HOUR_S:
            self._asked.popleft()

    def _begin(self, cookies: Mapping[str, str], renewed_at: float | None) -> None:
        if self.generation and not self._signs.last_pass:
            self._vain += 1
        self.generation += 1
        self._lives.begin(self.generation)
        self.wanted = False
        self.tries = 0
        self.cookies = dict(cookies)
        self._renewed_at = renewed_at
        self._uses = 0
        self._under_way.clear()
        self._lone = None
        self._signs.begin()
