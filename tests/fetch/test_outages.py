"""A site that is away for a while: nobody is lost by it, hardly anything is sent, and no page that
is broken for itself is taken for it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import count
from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fetch.virtual import run
from tests.fetch.worlds import A, B, World, ask
from weibo_crawler.errors import BodyCut, EgressFailed, SiteSaysNo, TimedOut
from weibo_crawler.evidence import Evidence, is_shown
from weibo_crawler.fetch import Ask
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.pool.outage import Outage
from weibo_crawler.records import EgressState, Health, Reading, Request, Verdict

OK = Reading(Verdict.OK)
TROUBLE = Reading(Verdict.SERVER_TROUBLE, why="502")
PROXIES = tuple(Egress(f"10.0.1.{n}:80", f"http://10.0.1.{n}:80") for n in range(10))
AWAY_AT = 30.0  # seconds
LONGEST_HOLD_S = 30.0

Answer = Reading | BodyCut | EgressFailed | TimedOut


@pytest.fixture(autouse=True)
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evidence goes by the clock of the loop here."""
    monkeypatch.setattr("weibo_crawler.evidence.time", _Clock)


class _Clock:
    @staticmethod
    def monotonic() -> float:
        return asyncio.get_running_loop().time()


class Stage:
    """Asks for pages of so many users, with so many callers, as the stages do. knows: a user who
    was shown to an earlier run."""

    def __init__(self, world: World, knows: int | None = None) -> None:
        self._world, self._evidence = world, Evidence(100)
        if knows is not None:
            self._evidence.know(ask(uid=knows).request)

    async def fetch(self, one: Ask) -> Reading:
        fetched = await self._evidence.fetch(self._world.fetcher, one, self._repeat)
        return fetched.reading

    async def _repeat(self, one: Ask) -> bool | None:
        return is_shown(await self.fetch(one))

    async def all(self, users: int, callers: int) -> list[Reading]:
        left, readings = list(range(users)), list[Reading]()

        async def call() -> None:
            while left:
                readings.append(await self.fetch(ask(uid=1 + left.pop(0))))

        await asyncio.gather(*(call() for _ in range(callers)))
        return readings


def away(until: float, what: Answer) -> Callable[[Request, Egress, dict[str, str]], Answer]:
    def answer(*_: object) -> Answer:
        return what if AWAY_AT <= asyncio.get_running_loop().time() < until else OK

    return answer


@pytest.mark.parametrize("away_s", [6.0, 60.0, 3600.0])
@pytest.mark.parametrize("what", [TROUBLE, BodyCut("cut")])
@pytest.mark.parametrize(
    ("egresses", "rate", "callers"),
    [((DIRECT,), 4.0, 1), ((DIRECT,), 4.0, 12), (PROXIES, 1.0, 30), ((A, B), 2.0, 8)],
)
def test_nobody_is_lost_while_the_site_is_away(
    away_s: float, what: Answer, egresses: tuple[Egress, ...], rate: float, callers: int
) -> None:
    """Each caller meets it once or twice; then one request after the other looks, more and more
    seldom, whether it is back."""
    until, users = AWAY_AT + away_s, 600
    world = World(away(until, what), egresses=egresses, rate=rate, attempts=5, takes_s=0.1)

    async def scenario() -> float:
        readings = await Stage(world).all(users, callers)
        assert [reading for reading in readings if reading is not OK] == []
        assert len(readings) == users
        return asyncio.get_running_loop().time()

    ended = run(scenario())
    vain = sum(AWAY_AT <= at < until for at, _ in world.transport.pages)
    assert vain <= 3 * callers + 12 + away_s / (LONGEST_HOLD_S / 2)
    took_s = users / (rate * len(egresses))
    assert ended <= away_s + 1.2 * took_s + LONGEST_HOLD_S + 10.0
    assert world.fetcher.waits_for == ""


@pytest.mark.parametrize("others", [0, 300])
def test_pages_that_are_broken_for_themselves_are_told(others: int) -> None:
    """Though all that is left is broken: what was shown before is shown still."""
    broken = range(1001, 1021)

    def answer(request: Request, *_: object) -> Answer:
        return TROUBLE if request.uid in broken else OK

    world = World(answer, rate=10.0, attempts=5, takes_s=0.1)

    async def scenario() -> float:
        stage = Stage(world)
        await stage.all(20, 4)
        calls = [stage.fetch(ask(uid=uid)) for uid in broken]
        calls += [stage.fetch(ask(uid=2000 + n)) for n in range(others)]
        readings = await asyncio.gather(*calls)
        assert [reading.verdict for reading in readings[:20]] == [Verdict.SERVER_TROUBLE] * 20
        assert set(readings[20:]) <= {OK}
        return asyncio.get_running_loop().time()

    ended = run(scenario())
    assert len(world.transport.pages) <= 20 + others + 20 * 8
    assert ended <= 90.0


@pytest.mark.parametrize("health", [Health.GOOD, Health.UNCHECKED])
def test_who_begins_meanwhile_waits_where_the_site_answered_others(health: Health) -> None:
    """Each egress tells it its next holder, and notes tell who was shown. Else the run ends as soon
    as it is clear that nothing is answered."""
    until = AWAY_AT + 300.0
    world = World(away(until, TROUBLE), rate=4.0, attempts=5, window=50)
    world.ring.lose_all(0.0)
    world.ring.until = inf
    world.ring.admit(DIRECT, EgressState(4.0, 0.0, health, 0, 0), 0.0)

    async def scenario() -> list[Reading]:
        await asyncio.sleep(AWAY_AT)
        return await Stage(world, knows=900).all(200, 8)

    if health is Health.GOOD:
        assert set(run(scenario())) == {OK}
    else:
        with pytest.raises(SiteSaysNo, match="does not answer"):
            run(scenario())


def test_nobody_is_asked_about_a_broken_page_where_others_are_shown() -> None:
    """What was shown since its first trouble tells enough, if it was asked for since: hardly any
    page that is well is asked for twice, and one that is broken as often as there are attempts."""
    broken = range(10, 200, 10)

    def answer(request: Request, *_: object) -> Answer:
        return TROUBLE if request.uid in broken else OK

    world = World(answer, rate=20.0, attempts=5, takes_s=0.1)
    run(Stage(world).all(300, 12))
    asked = Counter(request.uid for _, _, request, _ in world.transport.log)
    assert {asked[uid] for uid in broken} == {5}
    assert sum(n - 1 for uid, n in asked.items() if uid not in broken) <= len(broken) / 3


def test_trouble_ends_where_nobody_can_tell() -> None:
    """No page is known that was shown: then the pages are to blame, after all attempts."""
    answers = [OK] * 20
    world = World(lambda *_: answers.pop() if answers else TROUBLE, rate=10.0, attempts=5)

    async def scenario() -> float:
        for n in range(20):
            await world.fetcher.fetch(ask(uid=100 + n))
        readings = await asyncio.gather(*(world.fetcher.fetch(ask(uid=n)) for n in range(9)))
        assert {one.reading.verdict for one in readings} == {Verdict.SERVER_TROUBLE}
        return asyncio.get_running_loop().time()

    assert run(scenario()) <= 50 * LONGEST_HOLD_S
    assert len(world.transport.pages) <= 20 + 9 * 6


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_site_with_much_trouble_is_not_away(share: float) -> None:
    """Troubles in a row are waited for only where they are hardly by chance."""
    rng, pages = Random(7), 3000

    def answer(*_: object) -> Answer:
        return TROUBLE if rng.random() < share else OK

    world = World(answer, rate=10.0, attempts=40, takes_s=0.1)

    async def scenario() -> float:
        readings = await Stage(world).all(pages, 20)
        assert set(readings) == {OK}
        return asyncio.get_running_loop().time()

    ended = run(scenario())
    sent = len(world.transport.pages)
    assert ended <= 1.1 * sent / 10.0 + 10.0


@given(st.integers(1, 19))
def test_rows_of_trouble_that_come_again_and_again_are_no_outage(longest: int) -> None:
    """How many in a row are hardly by chance is judged by how much trouble there was of late; so
    many as never come by chance are an outage all the same."""
    outage, pages = Outage(), map(str, count())

    def trouble(times: int) -> bool:
        for _ in range(times):
            outage.troubled(next(pages), "502", 0.0, 0.0)
        return outage.is_total

    for times in range(1, longest + 1):
        for _ in range(30):
            assert not trouble(times)
            outage.ended(next(pages))
    assert trouble(20)


@pytest.mark.parametrize(("was_answered", "patience_s"), [(True, 100.0), (False, 25.0)])
def test_refusals_alone_end_a_run_sooner_where_nothing_else_ever_came(
    was_answered: bool, patience_s: float
) -> None:
    """A site that showed something may do so again; of one that never did a quarter is enough."""
    outage = Outage(refused_s=100.0)
    if was_answered:
        outage.ended("page")
    for now in (0.0, patience_s - 1.0):
        outage.bad("418", now, now, is_refusal=True)
        assert not outage.over
    outage.bad("418", patience_s, patience_s, is_refusal=True)
    assert "the site says no" in outage.over


def test_bad_proxies_hold_up_nobody() -> None:
    """What proxies bring that nobody knows says nothing of the site."""
    bad = tuple(Egress(f"10.0.2.{n}:80", f"http://10.0.2.{n}:80") for n in range(10))

    def answer(_: Request, egress: Egress, __: object) -> Answer:
        return TROUBLE if egress in bad else OK

    world = World(answer, egresses=(A, B, *bad), rate=1.0, attempts=5, takes_s=0.1)

    async def scenario() -> float:
        readings = await Stage(world).all(400, 12)
        assert set(readings) == {OK}
        return asyncio.get_running_loop().time()

    assert run(scenario()) <= 1.15 * 400 / 2


@pytest.mark.parametrize("away_s", [600.0, 3600.0])
def test_proxies_that_all_failed_go_at_full_pace_when_one_is_answered_again(away_s: float) -> None:
    """As when this machine had no network: all were dead for longer and longer, through no fault of
    theirs. One that never answered stays dead."""
    proxies = tuple(Egress(f"10.0.3.{n}:80", f"http://10.0.3.{n}:80") for n in range(20))
    until, dead = AWAY_AT + away_s, proxies[0]

    def answer(_: Request, egress: Egress, __: object) -> Answer:
        is_away = AWAY_AT <= asyncio.get_running_loop().time() < until
        return EgressFailed(f"{egress.name}: refused") if is_away or egress is dead else OK

    world = World(answer, egresses=proxies, rate=0.5, attempts=5, takes_s=0.3)

    async def scenario() -> None:
        assert set(await Stage(world).all(2500, 40)) == {OK}

    run(scenario())
    sent = [(at, name) for at, name in world.transport.pages if at >= until]
    back_at = sent[0][0]
    assert back_at <= until + 120.0
    per_s = sum(back_at + 5.0 <= at < back_at + 65.0 for at, _ in sent) / 60.0
    assert per_s >= 0.9 * 19 * 0.5
    assert dead.name not in {name for at, name in sent if at <= back_at + 5.0}


def test_a_site_that_stays_away_ends_the_run() -> None:
    """After pace.give_up_s, with what it answered; and where the run is to end, soon."""
    for limits in ({"give_up_s": 6 * 3600.0}, {"outage_s": 60.0}):
        world = World(away(inf, TROUBLE), rate=4.0, attempts=5, takes_s=0.1, **limits)

        async def scenario(world: World = world) -> tuple[str, float, str]:
            stage = asyncio.create_task(Stage(world).all(1000, 8))
            await asyncio.sleep(AWAY_AT + 40.0)
            during = world.fetcher.waits_for
            with pytest.raises(SiteSaysNo) as no:
                await stage
            return during, asyncio.get_running_loop().time(), str(no.value)

        during, ended, why = run(scenario())
        (limit_s,) = limits.values()
        assert "the site answers nothing but trouble" in during
        assert "502 " in during
        assert AWAY_AT + limit_s <= ended <= AWAY_AT + limit_s + LONGEST_HOLD_S
        assert "502 " in why
        assert len(world.transport.pages) <= 4 * AWAY_AT + 60 + limit_s / 15
