import asyncio
from random import Random

import pytest

from tests.examples import TIMES
from tests.fetch.rings import standings
from tests.fetch.virtual import run
from tests.fetch.worlds import A, B, World, ask
from weibo_crawler.errors import CrawlerError, EgressFailed, SiteSaysNo
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.pool import (
    Broken,
    Disproved,
    Failed,
    Good,
    Outcome,
    Refused,
    SessionOver,
    Unused,
    Walled,
)
from weibo_crawler.fetch.pool.outage import Outage
from weibo_crawler.records import Health, Page, Reading, Request, Verdict

OK = Reading(Verdict.OK)
THROTTLED = Reading(Verdict.THROTTLED, why="429")
BANNED = Reading(Verdict.CAPTCHA, why="captcha")
HOUR_S = 3600.0

OUTCOMES: list[Outcome] = [
    Good(0.1),
    Refused("418", None, is_ban=True),
    SessionOver("432"),
    Walled(0.1),
    Failed("no connection"),
    Broken(),
    Unused(),
]


def _health(world: World, name: str) -> Health:
    return next(state.health for state in standings(world.ring) if state.name == name)


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("again", [*OUTCOMES, Disproved(0.1)])
def test_a_turn_is_told_once(outcome: Outcome, again: Outcome) -> None:
    """One outcome ends a turn and frees its slot; only what was broken, walled or good may be
    disproved afterwards, once."""
    world = World([], egresses=(A, B), concurrency=1)

    async def scenario() -> None:
        turn = await world.pool.turn(ask().request)
        world.pool.tell(turn, outcome)
        second = await asyncio.wait_for(
            world.pool.turn(ask().request, A.name), 1000.0
        )  # the slot is free
        world.pool.tell(second, Unused())
        if isinstance(again, Disproved) and isinstance(outcome, Broken | Walled | Good):
            world.pool.tell(turn, again)
        with pytest.raises(CrawlerError, match="is told"):
            world.pool.tell(turn, again)

    run(scenario())


def test_disproved_at_once_is_a_fault() -> None:
    """What was never told cannot be disproved."""
    world = World([])

    async def scenario() -> None:
        turn = await world.pool.turn(ask().request)
        with pytest.raises(CrawlerError, match="is told"):
            world.pool.tell(turn, Disproved(0.1))

    run(scenario())


@pytest.mark.parametrize(
    ("outcome", "egress", "health"),
    [
        (Broken(), A, Health.DEAD),
        (Broken(), DIRECT, Health.UNCHECKED),
        (Walled(0.1), A, Health.UNCHECKED),
        (Walled(0.1), DIRECT, Health.UNCHECKED),
        (Good(0.1), A, Health.RESTING),
        (Good(0.1), DIRECT, Health.RESTING),
    ],
)
def test_what_is_disproved(outcome: Outcome, egress: Egress, health: Health) -> None:
    """A proxy that broke what another egress shows failed; the direct way breaks nothing. Walls
    that nobody else meets kill only who has more of them than others. An egress that showed nothing
    where another one shows something was refused."""
    world = World([], egresses=(egress,), rate=1.0)

    async def scenario() -> None:
        turns = []
        for _ in range(3):
            turns.append(await world.pool.turn(ask().request))
            world.pool.tell(turns[-1], outcome)
        for turn in turns:
            world.pool.tell(turn, Disproved(0.1))
        assert _health(world, turns[0].egress.name) is health

    run(scenario())


def test_who_waits_for_a_slot_when_the_run_stops() -> None:
    """However few slots there are, everybody is told at once that the run is over."""
    world = World(lambda *_: THROTTLED, window=5, attempts=100, concurrency=2, takes_s=1.0)

    async def scenario() -> list[object]:
        calls = [world.fetcher.fetch(ask()) for _ in range(20)]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    assert {type(result) for result in run(scenario())} == {SiteSaysNo}


def test_a_cancelled_request_frees_its_turn() -> None:
    """Who is cancelled while its request is under way, or while it waits, keeps nothing."""
    world = World(lambda *_: OK, concurrency=1, takes_s=10.0)

    async def scenario() -> None:
        calls = [asyncio.create_task(world.fetcher.fetch(ask())) for _ in range(3)]
        await asyncio.sleep(1.0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert (await world.fetcher.fetch(ask())).reading is OK

    run(scenario())


# -- when nothing usable comes


def test_the_waiting_line_names_what_refuses() -> None:
    """While all egresses are out it says by what they are refused, how often, and since when; after
    a good answer nothing of it is left."""
    answers = [BANNED, THROTTLED, BANNED, None, BANNED, BANNED, BANNED, BANNED, BANNED, OK]

    def answer(request: Request, egress: Egress, headers: object) -> Reading | EgressFailed:
        return answers.pop(0) or EgressFailed(f"{egress.name}: no connection")

    world = World(answer, egresses=(A, B), rate=1.0, attempts=99)

    async def scenario() -> tuple[str, str]:
        call = asyncio.create_task(world.fetcher.fetch(ask()))
        while len(world.transport.pages) < 7:
            await asyncio.sleep(1.0)
        during = world.fetcher.waits_for
        await call
        return during, world.fetcher.waits_for

    during, after = run(scenario())
    assert "no egress may go (" in during
    assert "in the way since 2" in during
    assert "captcha 5 x" in during
    assert "429 1 x" in during
    assert "no connection 1 x" in during
    assert ":80: no connection" not in during
    assert after == ""


def test_the_waiting_line_says_since_when() -> None:
    """Since the first refusal after the last good answer."""
    outage = Outage()
    for n, at in enumerate((1_600_000_000.0, 1_700_000_000.0)):
        outage.ended("")
        outage.bad("418", 10.0 + n, at)
        outage.bad("432", 500.0 + n, at + 490.0)
        outage.met("no egress may go", 5.0, 500.0 + n)
    since = "2023-11-14 22:13:20 UTC"
    assert outage.words == f"no egress may go; in the way since {since}: 418 1 x, 432 1 x"


def test_refusals_alone_end_a_run_where_no_wait_spares_anybody() -> None:
    """After refused_s, or a quarter of it where nothing else ever came. Failures of egresses
    between them tell that it is not the site."""
    outage = Outage(refused_s=20.0)
    outage.ended("")
    for n in range(20):
        outage.bad("418", float(n), 0.0, is_refusal=True)
    assert not outage.over
    outage.bad("403", 20.0, 0.0, is_refusal=True)
    assert outage.over.startswith("the site says no: nothing but refusals for 20 s: ")
    assert "418 20 x, 403 1 x; nothing is lost" in outage.over
    outage = Outage(refused_s=20.0)
    for n in range(30):
        outage.bad("418", n / 2, 0.0, is_refusal=n % 9 > 0)
    assert not outage.over
    for n in range(5):
        outage.bad("418", 15.0 + n, 0.0, is_refusal=True)
    assert "for 5 s" in outage.over


@pytest.mark.parametrize("answer", [BANNED, EgressFailed("refused"), Reading(Verdict.REFUSED)])
def test_a_run_gives_up(answer: Reading | EgressFailed) -> None:
    """After give_up_s of refusals and failures alone the run ends, for everybody, with the words of
    what refused; not sooner, and not long after."""
    world = World(lambda *_: answer, egresses=(A, B), rate=1.0, attempts=99, give_up_s=6 * HOUR_S)

    async def scenario() -> tuple[list[object], float]:
        calls = [world.fetcher.fetch(ask(uid=n)) for n in range(5)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        return list(results), asyncio.get_running_loop().time()

    results, ended = run(scenario())
    assert {type(result) for result in results} == {SiteSaysNo}
    assert "pace.give_up_s" in str(results[0])
    assert "in the way since" in str(results[0])
    assert 6 * HOUR_S <= ended <= 6 * HOUR_S + 60.0


def test_a_run_that_is_answered_now_and_then_does_not_give_up() -> None:
    """One good answer within give_up_s, and the patience begins again."""
    answers = [BANNED] * 3 + [OK]

    def answer(*_: object) -> Reading:
        answers.append(answers.pop(0))
        return answers[-1]

    world = World(answer, rate=1.0, attempts=99, give_up_s=1000.0)

    async def scenario() -> float:
        for _ in range(20):
            assert (await world.fetcher.fetch(ask())).reading is OK
        return asyncio.get_running_loop().time()

    assert run(scenario()) > 1000.0


def test_without_a_limit_it_never_gives_up() -> None:
    """give_up_s = 0, here None: a run waits for days; in `make test-long` for a month."""
    back_at = 3 * TIMES * 24 * HOUR_S
    world = World(
        lambda *_: OK if asyncio.get_running_loop().time() >= back_at else BANNED,
        rate=1.0,
        attempts=10**6,
        window=10**6,
    )
    assert run(world.fetcher.fetch(ask())).reading is OK


def test_a_long_retry_after_is_cut_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """No egress rests for over an hour because the site asks for it; the log says so once."""
    world = World([THROTTLED, THROTTLED, OK], rate=1.0, attempts=9)
    world.transport.headers = (("retry-after", "9" * 400),)
    run(world.fetcher.fetch(ask()))
    times = [at for at, _ in world.transport.pages]
    assert times[1] == pytest.approx(HOUR_S)
    assert times[2] == pytest.approx(2 * HOUR_S)
    assert len([r for r in caplog.records if "Retry-After" in r.getMessage()]) == 1


# -- sessions that grow


def _page(status: int = 200, *set_cookies: str) -> Page:
    headers = tuple(("set-cookie", text) for text in set_cookies)
    return Page(ask().request.url, status, headers, b"", 1e9, "direct")


@pytest.mark.parametrize(
    ("page", "is_retired"),
    [
        (_page(200, "a=1; path=/"), False),
        (_page(200, *(f"c{n}=1" for n in range(60))), True),
        (_page(200, f"c={'x' * 8200}"), True),
        (_page(200, *(f"c{n}=1; Domain=elsewhere.example" for n in range(60))), False),
        (_page(200, *(f"c{n}=1; Max-Age=0" for n in range(60))), False),
    ],
)
def test_a_session_that_grew_too_large_is_retired(page: Page, is_retired: bool) -> None:
    """Too many cookies or too many bytes: the next turn opens another session."""
    world = World([], has_sessions=True)

    async def scenario() -> int:
        world.visitor.adopt(DIRECT, {"SUB": "1"})
        world.pool.tell(await world.pool.turn(ask().request), Good(0.1), page)
        world.pool.tell(await world.pool.turn(ask().request), Unused())
        return world.transport.sessions

    assert run(scenario()) == is_retired
    assert world.counters["session.retired"] == is_retired


# -- who is preferred


@pytest.mark.parametrize("bad", [Broken(), Walled(0.1)])
@pytest.mark.parametrize("seed", range(5))
def test_who_never_answered_well_does_not_go_first(seed: int, bad: Outcome) -> None:
    """Of an egress that answers and one that was tried and did not, be it a login wall to
    everybody, the first has most of the turns, however slow it is; one that nobody tried goes
    early."""
    world = World([], egresses=(A, B))

    async def scenario() -> list[str]:
        world.pool._rng = Random(seed)
        names = []
        for _ in range(1000):
            turn = await world.pool.turn(ask().request)
            names.append(turn.egress.name)
            world.pool.tell(turn, bad if turn.egress == A else Good(30.0))
        return names

    names = run(scenario())
    assert A.name in names[:60]
    assert names.count(A.name) < 350  # two are drawn, and may be the same
