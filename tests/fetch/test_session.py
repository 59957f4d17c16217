import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable
from itertools import pairwise
from math import inf
from random import Random
from typing import Any

import msgspec
import pytest

from tests.fetch.rings import standings
from tests.fetch.virtual import run
from tests.fetch.worlds import A, B, ScriptedSite, World, ask
from weibo_crawler.errors import ConnectFailed, EgressFailed, TransportError
from weibo_crawler.fetch.breaker import Sign
from weibo_crawler.fetch.clients.transport import Headers
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.pool.login_walls import Wall
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.pool.visit import SavedVisit
from weibo_crawler.fetch.source import Fetched
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Expect, Health, Kind, Page, Reading, Request, Verdict

OK, WALL = Reading(Verdict.OK), Reading(Verdict.LOGIN_WALL, why="ok:-100")


def _in(cookie: str, *closed: str) -> Any:
    """A site that lets in by this cookie, but never to a cursor in `closed`."""

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        is_in = cookie in headers.get("Cookie", "") and request.cursor not in closed
        return OK if is_in else WALL

    return answer


async def _all(*calls: Coroutine[Any, Any, Fetched]) -> list[Verdict]:
    return [fetched.reading.verdict for fetched in await asyncio.gather(*calls)]


async def _all_of(calls: Iterable[Coroutine[Any, Any, None]]) -> None:
    await asyncio.gather(*calls)


def test_one_asks_for_all() -> None:
    """Fifty callers who need a session ask for one, and all use it."""
    world = World(_in("SUB=visitor1"), has_sessions=True, takes_s=1.0)
    assert run(_all(*(world.fetcher.fetch(ask()) for _ in range(50)))) == [Verdict.OK] * 50
    assert world.transport.sessions == 1
    assert world.counters["session.opened"] == 1


def test_a_caller_between_the_answer_and_the_loop() -> None:
    """Who comes when a session has just been opened, before the loop has told it around, does not
    wait for it: such a wait would not let the loop go on, and would come back for ever. Nor does it
    ask for another one."""

    async def scenario() -> list[bool]:
        gate = asyncio.get_running_loop().create_future()

        async def send(request: Request, headers: Headers, egress: Egress) -> Page:
            page: Page = await gate
            return page

        visitor = Visitor(ScriptedSite(has_sessions=True), Counters(), Random(1))
        opening = visitor.open(DIRECT, send)
        assert visitor.bar_s(DIRECT, 0.0) is None  # at once: whoever races for sessions is banned
        await asyncio.sleep(0)
        gate.set_result(Page("", 200, (), b"visitor", 0.0, "direct"))

        async def come() -> tuple[bool, bool]:
            return await visitor.settled(DIRECT), visitor.is_ready(DIRECT)

        between = asyncio.create_task(come())  # its turn is next after the answer
        is_under_way = visitor.bar_s(DIRECT, 0.0) is None
        await opening
        return [is_under_way, *await between, visitor.bar_s(DIRECT, 0.0) is None]

    assert asyncio.run(scenario()) == [True, False, True, False]


def test_no_more_have_a_turn_than_a_session_has_answered_and_one() -> None:
    """Law 16: nobody knows how long it lives. Beside the first request there is none, else its wall
    would prove nothing. Whoever waits goes on when one is answered."""

    async def scenario() -> None:
        visitor = Visitor(ScriptedSite(has_sessions=True), Counters(), Random(1))
        request = ask().request
        for session in "12":
            visitor.adopt(DIRECT, {"SUB": session})
            for answered in range(3):
                under_way = []
                while visitor.bar_s(DIRECT, 0.0) == 0.0:
                    under_way.append(visitor.headers(DIRECT)[1])
                assert len(under_way) == 2**answered
                assert visitor.bar_s(DIRECT, 0.0) is None
                waiter = asyncio.create_task(visitor.settled(DIRECT))
                await asyncio.sleep(0)
                for use in under_way:
                    visitor.ended(DIRECT, use)
                    visitor.passed(DIRECT, use, request, 1, None, 0.0)
                assert await waiter

    run(scenario())


def test_one_renews_for_all() -> None:
    """Fifty callers who meet a wall with the same session renew it once."""
    world = World(_in("SUB=visitor2"), has_sessions=True, takes_s=1.0)
    assert run(_all(*(world.fetcher.fetch(ask()) for _ in range(50)))) == [Verdict.OK] * 50
    assert world.transport.sessions == 2
    assert world.counters["request.retried"] == world.counters["page.login_wall"] <= 50


def test_walls_of_later_pages_are_learnt() -> None:
    """Later pages closed to visitors cost one renewal in wall_memory_s, not one each; they are
    returned as walls and do not stop the run."""
    world = World(_in("SUB=visitor", "2"), has_sessions=True, window=10, rate=0.5)

    async def scenario() -> list[Verdict]:
        return [
            (await world.fetcher.fetch(ask(c, nth=2 if c else 1))).reading.verdict
            for c in ["", "2"] * 20
        ]

    assert run(scenario()) == [Verdict.OK, Verdict.LOGIN_WALL] * 20
    assert world.transport.sessions == 2
    assert not world.breaker.tripped


def test_walls_of_later_pages_alone_are_no_refusals() -> None:
    """Later pages closed to visitors stop no run while first pages of their kind are open."""
    world = World(_in("SUB=visitor", "2"), has_sessions=True, window=10)

    async def scenario() -> None:
        for cursor in ["", *["2"] * 30]:
            await world.fetcher.fetch(ask(cursor, nth=2 if cursor else 1))

    run(scenario())
    assert world.counters["page.login_wall"] > 30
    assert not world.breaker.tripped


def test_walls_of_first_pages_are_refusals() -> None:
    """First pages walled with fresh sessions fill the breaker's window."""
    world = World(_in("nothing"), has_sessions=True, window=10)

    async def scenario() -> list[Verdict]:
        return [(await world.fetcher.fetch(ask())).reading.verdict for _ in range(9)]

    assert set(run(scenario())) == {Verdict.LOGIN_WALL}
    assert world.breaker.tripped == ""
    world.breaker.note(Sign.REFUSED, "login_wall (ok:-100)", "direct", 0.0)
    assert "10 x login_wall (ok:-100)" in world.breaker.tripped


def test_an_egress_without_a_session_asks_another() -> None:
    """Where one proxy gets no session (it answers with a page of its own), and is shown nothing,
    its walls are no walls of the page: another egress shows it."""

    def shown(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        return OK if "Cookie" in headers else WALL

    world = World(shown, egresses=(A, B), has_sessions=True, session=lambda n: b"no")

    async def scenario() -> list[Verdict]:
        world.visitor.adopt(B, {"SUB": "good"})
        return [(await world.fetcher.fetch(ask(uid=n))).reading.verdict for n in range(40)]

    assert set(run(scenario())) == {Verdict.OK}
    assert world.counters["page.login_wall"] > 0
    assert not world.breaker.tripped


def test_a_lone_egress_without_a_session_tells_the_wall() -> None:
    """Where there is no other egress the wall is told after asking once more, when the third
    session in a row could not be had: one may be refused by chance."""
    world = World(lambda *_: WALL, has_sessions=True, session=lambda n: b"no")
    assert run(world.fetcher.fetch(ask())).reading.verdict is Verdict.LOGIN_WALL
    assert len(world.transport.pages) == 4
    assert world.counters["session.failed"] == 3


def test_walls_that_the_caller_judges_stop_no_run() -> None:
    """After leave_walls the breaker hears of no wall; of other refusals it still does."""
    world = World(_in("nothing"), has_sessions=True, window=10)
    world.fetcher.leave_walls()

    async def scenario() -> set[Verdict]:
        return {(await world.fetcher.fetch(ask())).reading.verdict for _ in range(30)}

    assert run(scenario()) == {Verdict.LOGIN_WALL}
    assert world.breaker.tripped == ""
    for _ in range(10):
        world.breaker.note(Sign.REFUSED, "418", "direct", 0.0)
    assert "10 x 418" in world.breaker.tripped


def test_a_session_that_ends_early_is_renewed_after_the_cooldown() -> None:
    """No request is lost to a session that ends early, and no renewal comes within 60 s of the
    last one."""
    valid = {"SUB": 1}

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        return OK if headers.get("Cookie") == f"SUB=visitor{valid['SUB']}" else WALL

    world = World(answer, has_sessions=True)

    async def scenario() -> list[Verdict]:
        verdicts = []
        for _ in range(4):
            verdicts += await _all(*(world.fetcher.fetch(ask()) for _ in range(5)))
            valid["SUB"] += 1
        return verdicts

    assert run(scenario()) == [Verdict.OK] * 20
    asked = [at for at, _, request, _ in world.transport.log if request.kind == "session"]
    assert len(asked) == 4
    assert asked[1] - asked[0] < 1.0
    assert all(later - earlier >= 60.0 for earlier, later in pairwise(asked[1:]))


def test_sessions_that_live_for_few_requests() -> None:
    """Law 4: however soon sessions end, what visitors are shown is never taken for closed; while a
    session is over nothing is sent, so a page costs few walls; what is closed is told all the
    while."""
    uses: Counter[str] = Counter()

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        uses[headers["Cookie"]] += 1
        is_in = uses[headers["Cookie"]] <= 12 and request.kind is not Kind.FOLLOWS
        return OK if is_in else WALL

    world = World(answer, has_sessions=True, attempts=3, takes_s=0.2)
    kinds = [Kind.FANS, Kind.POSTS, Kind.FOLLOWS] * 40
    asks = [ask("" if n % 2 else "2", kind, n) for n, kind in enumerate(kinds)]
    verdicts = run(_all(*(world.fetcher.fetch(ask) for ask in asks)))
    assert verdicts == [
        Verdict.LOGIN_WALL if kind is Kind.FOLLOWS else Verdict.OK for kind in kinds
    ]
    asked = [at for at, _, request, _ in world.transport.log if request.kind == "session"]
    assert all(later - earlier >= 60.0 for earlier, later in pairwise(asked[1:]))


@pytest.mark.parametrize(
    ("share", "lives", "most"), [(0.1, inf, 6), (0.3, inf, 6), (0.5, inf, 6), (0.3, 20, 20)]
)
def test_lists_that_people_hide_end_no_sessions(share: float, lives: float, most: int) -> None:
    """Law 16: however many callers ask at once, hidden lists among those that are shown are told
    apart from the end of a session, also where each lives for so many requests. At the default pace
    200 lists took up to 56 times as long as they need, and asked for up to 240 sessions, of which
    none was ever over; with sessions of twenty requests up to 27 times, and for 90."""
    rng, lists = Random(2), 200
    hidden = {uid for uid in range(lists) if rng.random() < share}
    shown: list[int] = []
    passed_at = -1.0
    lock = asyncio.Lock()
    left = list(range(lists))
    uses = Counter[str]()

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        uses[headers["Cookie"]] += 1
        return WALL if request.uid in hidden or uses[headers["Cookie"]] > lives else OK

    async def witness(at: float) -> bool:
        """Whether something passes that is asked for after `at`."""
        async with lock:
            if passed_at <= at and shown:
                await one(shown[-1], expect=Expect.SHOWN)
            return passed_at > at

    async def one(uid: int, **known: Any) -> Verdict:
        nonlocal passed_at
        begun = asyncio.get_running_loop().time()
        fetched = await world.fetcher.fetch(ask(kind=Kind.FANS, uid=uid, **known))
        if fetched.reading.verdict is Verdict.OK:
            shown.append(uid)
            passed_at = max(passed_at, begun)
        return fetched.reading.verdict

    async def caller() -> None:
        while left:
            uid = left.pop()
            is_walled = await one(uid, witness=witness) is Verdict.LOGIN_WALL
            assert is_walled is (uid in hidden)

    world = World(answer, has_sessions=True, rate=1 / 3, attempts=5, takes_s=0.1)
    run(_all_of(caller() for _ in range(32)))
    assert world.transport.sessions <= most
    assert len(world.transport.log) <= lists + 4 * len(hidden)
    assert world.transport.log[-1][0] <= 3.0 * 3.0 * lists


@pytest.mark.parametrize("deepest", [1, 7])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lives", [1, 2, 3, 12, 20])
def test_requests_that_overtake_each_other_at_the_end_of_a_session(
    lives: int, seed: int, deepest: int
) -> None:
    """Law 4: whichever of the requests under way a dying session still serves, what visitors are
    shown is never taken for closed. Later pages that no session has shown may be left unread."""
    rng, left = Random(seed), dict[str, list[bool]]()

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        cookie = headers["Cookie"]
        served = left.setdefault(cookie, [])
        asked = [more for _, _, sent, more in world.transport.log if sent.kind is not Kind.SESSION]
        new = sum(more["Cookie"] == cookie for more in asked) - len(served)
        draw = [True] * min(new, lives - sum(served))
        draw += [False] * (new - len(draw))
        served += rng.sample(draw, new)
        answered[cookie] += 1
        return OK if served[answered[cookie] - 1] else WALL

    answered: Counter[str] = Counter()
    world = World(answer, has_sessions=True, attempts=3, takes_s=0.2)
    nths = [1 + n // 2 % deepest for n in range(60)]
    cursors = ["" if nth == 1 else str(nth) for nth in nths]
    kinds = [[Kind.FANS, Kind.POSTS][n % 2] for n in range(60)]
    requests = [ask(cursors[n], kinds[n], n, nth=nths[n]) for n in range(60)]
    verdicts = run(_all(*(world.fetcher.fetch(request) for request in requests)))
    unread = {Verdict.REFUSED} if deepest > 1 else set()
    assert set(verdicts) - unread == {Verdict.OK}


@pytest.mark.parametrize("is_walled", [False, True])
@pytest.mark.parametrize("every", [3, 4])
def test_sessions_that_are_over_from_the_start_close_nothing(
    every: int, *, is_walled: bool
) -> None:
    """Law 4: a session by which nothing passes is no witness of what visitors are not shown. What
    is walled is told all the while."""
    uses: Counter[str] = Counter()

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        cookie = headers["Cookie"]
        uses[cookie] += 1
        is_in = int(cookie.rpartition("visitor")[2]) % every and uses[cookie] <= 3
        return OK if is_in and not (is_walled and request.kind is Kind.FANS) else WALL

    shown_at, lock = -inf, asyncio.Lock()

    shown = ask("", Kind.POSTS, 999, expect=Expect.SHOWN)

    async def witness(at: float) -> bool:
        nonlocal shown_at
        async with lock:
            if shown_at <= at:
                begun = asyncio.get_running_loop().time()
                page = await world.fetcher.fetch(shown)
                shown_at = begun if page.reading.verdict is Verdict.OK else shown_at
            return shown_at > at

    world = World(answer, has_sessions=True, attempts=3, takes_s=0.2)
    kinds = [Kind.FANS if n % 4 == 3 else Kind.POSTS for n in range(80)]
    asks = [
        ask(str(n % 5 or ""), kind, n, nth=1 + n % 5, witness=witness)
        for n, kind in enumerate(kinds)
    ]

    async def scenario() -> list[Verdict]:
        async with asyncio.timeout(86_400.0):
            return await _all(*(world.fetcher.fetch(ask) for ask in asks))

    verdicts = run(scenario())
    shut = Verdict.LOGIN_WALL if is_walled else Verdict.OK
    assert verdicts == [shut if kind is Kind.FANS else Verdict.OK for kind in kinds]


def test_a_witness_ends_a_session_that_is_over_from_the_start() -> None:
    """It was shown before, so the session is over and not the page closed: one request tells."""
    uses: Counter[str] = Counter()

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        cookie = headers["Cookie"]
        uses[cookie] += 1
        return OK if not cookie.endswith("visitor2") and uses[cookie] <= 3 else WALL

    world = World(answer, has_sessions=True, takes_s=0.2)

    async def scenario() -> list[Verdict]:
        asked = [ask("", Kind.POSTS, n) for n in range(3)] + [ask(expect=Expect.SHOWN)]
        return [(await world.fetcher.fetch(one)).reading.verdict for one in asked]

    assert run(scenario()) == [Verdict.OK] * 4
    assert (uses["SUB=visitor2"], uses["SUB=visitor3"]) == (1, 1)


@pytest.mark.parametrize("seed", range(10))
def test_who_gets_no_session_for_a_while_closes_nothing(seed: int) -> None:
    """Law 4: where sessions can be had, but not by everybody who asks, what is refused without one
    is not taken for closed to guests who have one."""
    rng = Random(seed)

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        return OK if "visitor" in headers.get("Cookie", "") else WALL

    def session(n: int) -> bytes | TransportError:
        return b"visitor%d" % n if n == 1 or rng.random() < 0.3 else b""

    world = World(answer, egresses=(A, B), has_sessions=True, takes_s=0.2, session=session)
    requests = [ask("2" * (n % 2), uid=n, nth=1 + n % 2) for n in range(60)]
    verdicts = run(_all(*(world.fetcher.fetch(request) for request in requests)))
    assert Verdict.LOGIN_WALL not in verdicts


@pytest.mark.parametrize("can_be_had", [False, True])
def test_a_wall_without_a_session_where_others_have_one(*, can_be_had: bool) -> None:
    """It tells nothing of the page; where nobody has had one, it is what guests are shown."""
    visitor = Visitor(ScriptedSite(has_sessions=True), Counters(), Random(1))
    without = msgspec.json.encode(SavedVisit({}, False, 0.0, [], agent="test")).decode()

    async def scenario() -> Wall:
        if can_be_had:
            visitor.adopt(A, {"SUB": "1"})
        visitor.restore(B, without, 0.0, asyncio.get_running_loop().time())
        _, use = visitor.headers(B)
        return visitor.wall(B, use, ask("2").request, 2)

    assert run(scenario()) is (Wall.UNSURE if can_be_had else Wall.ABSENT)


def test_a_session_is_of_its_user_agent() -> None:
    """By another user agent it is not gone on with, but counts among those asked for."""
    visitor = Visitor(ScriptedSite(has_sessions=True), Counters(), Random(1), per_hour=1)
    other = Visitor(ScriptedSite(True, agent="other"), Counters(), Random(1), per_hour=1)

    async def scenario() -> tuple[bool, bool, float | None]:
        now = asyncio.get_running_loop().time()
        visitor.adopt(DIRECT, {"SUB": "1"})
        saved = visitor.saved(DIRECT.name, now)
        visitor.restore(DIRECT, saved, 5.0, now)
        other.restore(DIRECT, saved, 5.0, now)
        return visitor.is_ready(DIRECT), other.is_ready(DIRECT), other.bar_s(DIRECT, now)

    assert run(scenario()) == (True, False, 3595.0)


def test_a_session_that_is_too_large_is_not_gone_on_with() -> None:
    """An older version may have handed on one that no server reads."""
    visitor = Visitor(ScriptedSite(has_sessions=True), Counters(), Random(1))

    async def scenario() -> bool:
        now = asyncio.get_running_loop().time()
        visitor.adopt(DIRECT, {"SUB": 8192 * "1"})
        visitor.restore(DIRECT, visitor.saved(DIRECT.name, now), 5.0, now)
        return visitor.is_ready(DIRECT)

    assert not run(scenario())


def test_one_session_per_egress() -> None:
    """Each egress has a session of its own."""
    world = World(_in("SUB"), egresses=(A, B), has_sessions=True, takes_s=1.0)
    run(_all(*(world.fetcher.fetch(ask()) for _ in range(20))))
    cookies = {
        (name, headers["Cookie"])
        for _, name, request, headers in world.transport.log
        if request.kind != "session"
    }
    assert {name for name, _ in cookies} == {A.name, B.name}
    assert len(cookies) == len({cookie for _, cookie in cookies}) == 2


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (b"nothing", "an answer of 200 holds none"),
        (b"visitor" + 8192 * b"x", "an answer of 200 holds none"),
        (ConnectFailed("no connection"), "no connection"),
    ],
)
def test_no_session_to_be_had(
    failure: bytes | TransportError, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """After three tries it goes on without a session, says so and why, once, and does not ask for
    each page. One that no server would read is none."""
    world = World(lambda *_: OK, has_sessions=True, session=lambda n: failure)

    async def scenario() -> list[Verdict]:
        return await _all(*(world.fetcher.fetch(ask()) for _ in range(10)))

    assert run(scenario()) == [Verdict.OK] * 10
    assert world.counters["session.asked"] == world.transport.sessions == 3
    assert world.counters["session.failed"] == 1
    assert world.counters["session.opened"] == 0
    said = [record.getMessage() for record in caplog.records if "session" in record.getMessage()]
    assert said == [f"site.invalid gives no visitor session: {why}"]


def test_a_failing_proxy_costs_no_session() -> None:
    """Where the egress fails on the way to the session another one is used, and the ring is told
    once, however many waited."""
    world = World(
        lambda *_: OK,
        egresses=(A, DIRECT),
        has_sessions=True,
        takes_s=1.0,
        session=lambda n: EgressFailed("refused") if n == 1 else b"visitor",
    )
    verdicts = run(_all(*(world.fetcher.fetch(ask()) for _ in range(10))))
    assert verdicts == [Verdict.OK] * 10
    assert world.counters["transport.egress_failed"] == 1
    assert world.counters["session.failed"] == 0
    assert {s.health for s in standings(world.ring)} <= {Health.GOOD, Health.UNCHECKED}


def test_the_asker_may_be_cancelled() -> None:
    """Cancelling the caller who asked leaves the others their session."""
    world = World(lambda *_: OK, has_sessions=True, takes_s=1.0)

    async def scenario() -> Verdict:
        first = asyncio.create_task(world.fetcher.fetch(ask()))
        second = asyncio.create_task(world.fetcher.fetch(ask()))
        await asyncio.sleep(0.5)
        first.cancel()
        return (await second).reading.verdict

    assert run(scenario()) is Verdict.OK
    assert world.transport.sessions == 1


def test_cookies_of_answers_join_the_session() -> None:
    """A cookie set by a good answer goes with the next request; one set by a wall does not."""
    world = World([OK, OK, WALL, OK], has_sessions=True)
    world.transport.headers = (("set-cookie", "_T_WM=7; path=/"),)

    async def scenario() -> None:
        for _ in range(3):
            await world.fetcher.fetch(ask())

    run(scenario())
    cookies = [headers.get("Cookie") for _, _, request, headers in world.transport.log]
    assert cookies == [
        None,  # the session itself
        "SUB=visitor1",
        "SUB=visitor1; _T_WM=7",
        "SUB=visitor1; _T_WM=7",
        None,
        "SUB=visitor2",
    ]


def test_a_site_without_sessions() -> None:
    """Where the site has none, three walls of a page are told; one may stand once."""
    world = World([WALL, WALL, WALL, WALL, OK])
    assert run(world.fetcher.fetch(ask())).reading.verdict is Verdict.LOGIN_WALL
    assert len(world.transport.log) == 3
    assert run(world.fetcher.fetch(ask())).reading is OK


def test_closing_stops_asking() -> None:
    """close() ends the waiting for a session."""
    world = World(lambda *_: OK, has_sessions=True, takes_s=1000.0)

    async def scenario() -> None:
        caller = asyncio.create_task(world.fetcher.fetch(ask()))
        await asyncio.sleep(1.0)
        await world.fetcher.close()
        with pytest.raises(asyncio.CancelledError):
            await caller

    run(scenario())
    assert world.transport.under_way == 0


def test_asking_again_for_a_session_keeps_the_pace() -> None:
    """Law 10: a session that is not given is asked for again at the egress's own turns."""
    world = World(lambda *_: OK, has_sessions=True, rate=0.5, session=lambda n: b"nothing")
    assert run(_all(*(world.fetcher.fetch(ask()) for _ in range(5)))) == [Verdict.OK] * 5
    times = [at for at, *_ in world.transport.log]
    assert world.transport.sessions == 3
    assert len(times) == 8
    assert all(later - earlier >= 2.0 - 1e-6 for earlier, later in pairwise(times))
