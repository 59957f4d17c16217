"""The pace at which visitor sessions last, beside sites that end them for three reasons."""

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.fetch.virtual import run
from tests.fetch.worlds import World, ask
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool.tempo import Tempo
from weibo_crawler.records import Reading, Request, Verdict

COOLDOWN_S = 60.0
WALL = Reading(Verdict.LOGIN_WALL)
REFUSED = Reading(Verdict.REFUSED, why="432", is_of_session=True, is_ban=True)
Ends = Callable[[float, float, int], bool]  # by time, age of the session, requests before this one


class Limit:
    """So many in a window: who is over it finds the session ended."""

    def __init__(self, most: int, window_s: float) -> None:
        self.per_s = most / window_s
        self._most, self._window_s = most, window_s
        self._taken: deque[float] = deque()

    def __call__(self, now: float, *_: object) -> bool:
        while self._taken and self._taken[0] <= now - self._window_s:
            self._taken.popleft()
        if len(self._taken) >= self._most:
            return True
        self._taken.append(now)
        return False


class Never(Tempo):
    """Goes as fast as it may."""

    def over(self, *_: object) -> None:
        pass


def answered(is_over: Ends, ceiling: float, for_s: float, since_s: float, tempo: Tempo) -> int:
    """How many requests one egress gets answered between these times, at this ceiling."""
    now = begun = 0.0
    uses = good = 0
    while now < for_s:
        if is_over(now, now - begun, uses):
            ready = max(now, begun + COOLDOWN_S)
            tempo.over(uses, now - begun, ready - now)
            now = begun = ready
            uses = 0
            continue
        uses += 1
        good += now >= since_s
        tempo.answered()
        now += 1.0 / min(ceiling, tempo.rate)
    return good


def with_and_without(is_over: Ends, ceiling: float) -> tuple[int, int]:
    """How many requests get answered in two hours, and how many where nobody slows down."""
    with_it, without = (answered(is_over, ceiling, 7200.0, 0.0, one) for one in (Tempo(), Never()))
    return with_it, without


@examples(40)
@given(st.integers(5, 60), st.floats(1.0, 30.0), st.floats(1.5, 20.0))
def test_a_limit_that_ends_sessions_is_found(most: int, window_s: float, over: float) -> None:
    """Law 16: who is too fast finds the session over. After a quarter of an hour an hour brings
    three quarters of what is allowed, whatever the ceiling."""
    limit = Limit(most, window_s)
    good = answered(limit, limit.per_s * over, 900.0 + 3600.0, 900.0, Tempo())
    assert good >= 0.75 * 3600.0 * limit.per_s


@examples(40)
@given(st.integers(1, 400), st.floats(0.5, 20.0))
def test_sessions_of_so_many_requests_bring_as_many(life: int, ceiling: float) -> None:
    """Slower helps nothing there, and costs nothing but the rest of the last session."""
    got, without = with_and_without(lambda now, age_s, uses: uses >= life, ceiling)
    assert got >= without - life - 1


@examples(40)
@given(st.floats(2.0, 200.0), st.floats(0.5, 20.0))
def test_sessions_of_so_many_seconds_lose_little(life_s: float, ceiling: float) -> None:
    """Slower loses there, so it is tried in one session of twelve at most."""
    got, without = with_and_without(lambda now, age_s, uses: age_s >= life_s, ceiling)
    assert got >= 0.9 * without


def test_what_ends_one_session_alone_slows_nothing() -> None:
    """A page that alone is walled ends a session now and then."""
    tempo = Tempo()
    for _ in range(20):
        tempo.over(20, 2.0, 58.0)
        assert tempo.rate == inf
        tempo.over(900, 90.0, 0.0)


@pytest.mark.parametrize("refused", [WALL, REFUSED], ids=["wall", "432"])
def test_an_egress_goes_as_fast_as_its_sessions_last(refused: Reading) -> None:
    """Law 16: 20 in 5 seconds are allowed under a ceiling of 10 a second, and who is over that gets
    the answer of who has no session."""
    limit = Limit(20, 5.0)
    good: list[float] = []

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        now = world.transport.log[-1][0]
        if limit(now):
            return refused
        good.append(now)
        return Reading(Verdict.OK)

    world = World(answer, has_sessions=True, rate=10.0, takes_s=0.05)

    async def one(n: int) -> None:
        while not good or good[-1] < 1500.0:
            await world.fetcher.fetch(ask(uid=n))

    async def scenario() -> None:
        await asyncio.gather(*(one(n) for n in range(8)))

    run(scenario())
    assert len([at for at in good if 600.0 <= at < 1500.0]) >= 0.7 * 900.0 * limit.per_s
