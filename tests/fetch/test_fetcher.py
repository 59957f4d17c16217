import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from itertools import chain, pairwise, repeat
from math import inf
from random import Random

import pytest

from tests.fetch.rings import standings
from tests.fetch.virtual import run
from tests.fetch.worlds import A, B, World, ask
from weibo_crawler.errors import (
    BodyCut,
    BodyTooLarge,
    ConnectFailed,
    CrawlerError,
    EgressFailed,
    Interrupted,
    SiteSaysNo,
    TransportError,
)
from weibo_crawler.fetch import Ask
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.pool import Unused
from weibo_crawler.fetch.source import Fetched
from weibo_crawler.fetch.wire import retry_after_s
from weibo_crawler.records import (
    Expect,
    Health,
    Id,
    Kind,
    Page,
    PostPage,
    Reading,
    Request,
    Verdict,
)
from weibo_crawler.samples import Figures, Samples, of_kinds

OK = Reading(Verdict.OK)
EMPTY = Reading(Verdict.EMPTY, ambiguous=True)
END = Reading(Verdict.END, ambiguous=True)
THROTTLED = Reading(Verdict.THROTTLED, why="429")
BANNED = Reading(Verdict.CAPTCHA, why="captcha", is_ban=True)
TROUBLE = Reading(Verdict.SERVER_TROUBLE, why="502")
DRIFTED = Reading(Verdict.DRIFTED, why="$.data")
CUT = BodyCut("cut")
TWELVE = tuple(Egress(f"10.0.1.{n}:80", f"http://10.0.1.{n}:80") for n in range(12))


@pytest.mark.parametrize(
    ("script", "verdict", "sent"),
    [
        ([OK], Verdict.OK, 1),
        ([EMPTY, OK], Verdict.OK, 2),
        ([EMPTY, EMPTY], Verdict.EMPTY, 2),
        ([EMPTY, Reading(Verdict.GONE)], Verdict.GONE, 2),
        ([EMPTY, THROTTLED, EMPTY], Verdict.EMPTY, 3),
        ([EMPTY, THROTTLED, THROTTLED, THROTTLED], Verdict.THROTTLED, 4),
        ([THROTTLED, OK], Verdict.OK, 2),
        ([TROUBLE, Reading(Verdict.NOT_JSON), OK], Verdict.OK, 3),
        ([TROUBLE, TROUBLE, TROUBLE], Verdict.SERVER_TROUBLE, 3),
        ([CUT, CUT, OK], Verdict.OK, 3),
        ([DRIFTED, OK], Verdict.OK, 2),
        ([DRIFTED, DRIFTED], Verdict.DRIFTED, 2),
    ],
)
def test_what_is_returned(
    script: list[Reading | TransportError], verdict: Verdict, sent: int
) -> None:
    """The answer that counts is returned with its page, and each answer is counted."""
    world = World(script)
    fetched = run(world.fetcher.fetch(ask()))
    assert fetched.reading.verdict is verdict
    assert fetched.page is not None
    assert world.counters["request.sent"] == sent
    assert world.counters["request.retried"] == sent - 1
    readings = [answer for answer in script if isinstance(answer, Reading)]
    for each in set(Verdict):
        assert world.counters[f"page.{each}"] == sum(r.verdict is each for r in readings)
    assert world.counters["transport.body_cut"] == script.count(CUT)


def test_transport_errors_to_the_end() -> None:
    """After all attempts the last error stands in place of a page, in one line."""
    world = World([CUT, CUT, ConnectFailed("no connection: refused (direct)")])
    fetched = run(world.fetcher.fetch(ask()))
    assert fetched.page is None
    assert fetched.reading == Reading(Verdict.SERVER_TROUBLE, why="no connection: refused (direct)")
    assert world.counters["transport.connect_failed"] == 1


@pytest.mark.parametrize(
    ("error", "sent"), [(BodyTooLarge("large"), 2), (ConnectFailed("no address", blame="us"), 1)]
)
def test_what_asking_again_cannot_help(error: TransportError, sent: int) -> None:
    """It is final; a page that is too large, when the only egress says so twice."""
    world = World([error] * 9)
    assert run(world.fetcher.fetch(ask())).reading.why == str(error)
    assert len(world.transport.pages) == sent


def test_backoff_grows() -> None:
    """Between troubles it waits, longer each time, with 0.05 to 5 s."""
    world = World([CUT] * 10, attempts=10)
    run(world.fetcher.fetch(ask()))
    times = [at for at, _ in world.transport.pages]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(0.05 * 2**n <= gap <= 0.1 * 2**n for n, gap in enumerate(gaps[:5]))
    assert all(2.5 <= gap <= 5.0 for gap in gaps[-2:])


def test_what_does_not_come_in_time_is_given_up_and_waited_for_longer() -> None:
    """The first time when the turn says, by what answers usually take; the same page by another
    egress is given twice that time, since it may be a page that takes long."""
    world = World(lambda *_: OK, egresses=(A, B), rate=10.0, takes_s=0.1)

    async def scenario() -> float:
        for n in range(50):
            await world.fetcher.fetch(ask(str(n)))
        turn = await world.pool.turn(ask().request)
        world.pool.tell(turn, Unused())
        world.transport.takes_s = 1e9
        assert (await world.fetcher.fetch(ask())).reading.verdict is Verdict.SERVER_TROUBLE
        return turn.patience.deadline_s

    deadline_s = run(scenario())
    first, second, third, *_ = (at for at, _ in world.transport.pages[50:])
    assert deadline_s <= second - first <= deadline_s + 1
    assert third - second >= 2 * deadline_s


def test_doubt_goes_to_another_egress_at_once() -> None:
    """The no-content body of a site that talks is asked again at once, by another egress."""
    world = World([OK, EMPTY, OK], egresses=(A, B))

    async def scenario() -> None:
        await world.fetcher.fetch(ask())
        await world.fetcher.fetch(ask())

    run(scenario())
    (_, *pages) = world.transport.pages
    assert {at for at, _ in pages} == {0.0}
    assert {name for _, name in pages} == {A.name, B.name}


def test_an_expected_end_is_asked_for_once() -> None:
    """The caller that has all that was announced gets the empty answer after one request."""
    world = World([EMPTY, OK])
    assert run(world.fetcher.fetch(ask(expect=Expect.NOTHING))).reading is EMPTY
    assert len(world.transport.pages) == 1


BLANK = Reading(Verdict.OK, PostPage(1, (), "3"), ambiguous=True)
PROVEN_BY = 40  # answers, by which each of two proxies proves itself


def known(looks: int, *, found: int = 0) -> Samples:
    """What so many second looks at ends of kind "end" have shown."""
    samples = Samples(0.1)
    for i in range(looks):
        samples.wants("end", Random(1))
        samples.looked("end", found=i < found)
    return samples


def ends(world: World, n: int, *, talks: bool = True) -> None:
    """Ask for what turns out to be an end, n times, of a site that has shown something."""

    async def scenario() -> None:
        for _ in range(PROVEN_BY if talks else 0):  # then the egresses are known, too
            await world.fetcher.fetch(ask())
        for _ in range(n):
            await world.fetcher.fetch(ask("2", nth=2, end="end", is_shown=lambda: True))

    run(scenario())


@pytest.mark.parametrize("egresses", [(DIRECT,), (A, B)])
def test_second_looks_that_show_nothing_become_a_sample(egresses: tuple[Egress, ...]) -> None:
    """29 looks without a find: fewer than one of ten shows more, at 95 %; after half of them ends
    are left, and before long one of twenty is looked at again, and the others are believed."""
    world = World([*[OK] * PROVEN_BY, *[END] * 999], egresses=egresses)
    world.fetcher.samples = Samples(0.1)
    ends(world, 14)
    assert world.fetcher.samples.figures()["end"].looks == 14
    ends(world, 415, talks=False)
    known = world.fetcher.samples.figures()["end"]
    assert (known.ends, known.finds) == (429, 0)
    assert 25 < known.looks < 25 + 30
    assert world.fetcher.samples.figures()["end.3"].looks <= 30  # before second ones told
    assert len(world.transport.pages) == PROVEN_BY + known.ends + all_looks(world)


@pytest.mark.parametrize(
    ("looks", "sent"), [("", 2), ("0" * 29, 2), ("0" * 30, 1), ("1" + "0" * 40, 2)]
)
def test_an_end_that_a_later_visit_looks_at_is_asked_for_twice_while_that_may_help(
    looks: str, sent: int
) -> None:
    """At once by the fetcher, until thirty looks of the visits have shown nothing more."""
    world = World([*[OK] * PROVEN_BY, *[END] * 9])
    world.fetcher.samples = Samples(0.01)
    for look in looks:
        world.fetcher.samples.looked("end", found=look == "1")

    async def scenario() -> Fetched:
        for _ in range(PROVEN_BY):
            await world.fetcher.fetch(ask())
        return await world.fetcher.fetch(ask("2", nth=2, end="end", is_looked_later=True))

    assert run(scenario()).reading.verdict is Verdict.END
    assert len(world.transport.pages) == PROVEN_BY + sent


def all_looks(world: World) -> int:
    return sum(known.looks for known in of_kinds(world.fetcher.samples.figures()).values())


def test_second_looks_at_blank_pages_are_part_of_the_experiment() -> None:
    """A page that shows nobody and names the next one is looked at again by the same rule; where
    such looks show somebody, always."""
    world = World([*[OK] * PROVEN_BY, *[BLANK] * 999])
    world.fetcher.samples = Samples(0.1)
    ends(world, 300)
    figures = world.fetcher.samples.figures()["end"]
    assert (figures.ends, figures.finds) == (300, 0)
    assert 29 <= figures.looks < 29 + 50
    assert len(world.transport.pages) == PROVEN_BY + figures.ends + all_looks(world)
    found = empty_at_first(looks=1, nothing=BLANK)["end"]
    assert (found.ends, found.looks, found.finds) == (200, 200, 40)


@pytest.mark.parametrize(
    ("other", "sort"),
    [
        (BLANK, "end:blank"),
        (Reading(Verdict.END, why="no cards", ambiguous=True), "end:no_cards"),
    ],
)
def test_a_sort_is_left_though_looks_at_emptied_pages_show_more(other: Reading, sort: str) -> None:
    """A site that empties every fifth page for a moment: each emptiness of that sign is looked at
    again, and of pages that show nobody and name the next one, or are empty by another sign, of
    which no look showed more, a sample."""

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        asked[request.uid] += 1
        if not request.cursor:
            return OK
        if int(request.uid) % 2:
            return other
        return END if int(request.uid) % 10 or asked[request.uid] < 2 else OK

    asked = Counter[Id]()
    world = World(answer)
    world.fetcher.samples = Samples(0.1)

    async def scenario() -> None:
        for _ in range(PROVEN_BY):
            await world.fetcher.fetch(ask())
        for uid in range(400):
            await world.fetcher.fetch(ask("2", uid=uid, nth=2, end="end", is_shown=lambda: True))

    run(scenario())
    figures = world.fetcher.samples.figures()
    assert (figures["end"].finds, figures["end"].ends) == (40, 400)
    assert (figures[sort].finds, figures[sort].ends) == (0, 200)
    assert 14 <= figures[sort].looks < 60
    assert figures["end"].looks == 200 + figures[sort].looks


def test_a_blank_page_behind_an_emptiness_is_what_the_second_look_found() -> None:
    """It is no second emptiness: no third look is taken or counted for it, and it is looked at
    again as any blank page is."""

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        asked[request.uid] += 1
        if not request.cursor:
            return OK
        return END if asked[request.uid] == 1 and int(request.uid) % 2 else BLANK

    asked = Counter[Id]()
    world = World(answer)
    world.fetcher.samples = Samples(0.01)

    async def scenario() -> None:
        for _ in range(PROVEN_BY):
            await world.fetcher.fetch(ask())
        for uid in range(100, 160):
            await world.fetcher.fetch(ask("2", uid=uid, nth=2, end="end", is_shown=lambda: True))

    run(scenario())
    figures = world.fetcher.samples.figures()
    assert (figures["end"].finds, figures["end:blank"].finds) == (30, 0)
    assert figures["end:blank"].looks == 60
    assert sum(known.finds for kind, known in figures.items() if "3" in kind) == 0
    assert {asked[uid] for uid in range(101, 160, 2)} <= {3, 4}


def test_no_look_is_spared_where_a_proxy_says_so_that_nobody_knows() -> None:
    """Law 4: an end by a proxy that has not proved itself, or works less often than others, is
    asked for elsewhere, and tells nothing of second looks."""

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        return END if egress is B else OK

    world = World(answer, egresses=(A, B))
    world.fetcher.samples = known(100)

    async def scenario() -> None:
        for n in range(40):
            assert (
                await world.fetcher.fetch(ask("2", uid=n, nth=2, end="end", is_shown=lambda: True))
            ).reading is OK

    run(scenario())
    assert {name for _, name in world.transport.pages} == {A.name, B.name}
    assert world.fetcher.samples.figures()["end"].looks == 100


def test_second_looks_that_show_more_go_on() -> None:
    """A site of which every fifth emptiness is none: all are looked at again. Third looks are an
    experiment of their own, and further ones where third ones show more."""
    found = empty_at_first(looks=1)
    assert found["end"].looks == found["end"].ends == 200
    assert found["end"].finds == 40
    assert (found["end.3"].finds, "end.4" in found) == (0, False)
    found = empty_at_first(looks=2)
    assert (found["end"].finds, found["end.3"].finds, found["end.4"].finds) == (40, 40, 0)


def test_a_few_finds_of_third_looks_bring_no_fourth_one() -> None:
    """Where third looks show more hardly more often than may be left, fourth ones would less often
    still: one find is no reason to look on at all other ends."""
    found = empty_at_first(looks=1, twice=lambda uid: uid == 50, limit=0.01)
    assert (found["end"].finds, found["end.3"].finds) == (40, 1)
    assert found["end.3"].looks == found["end.3"].ends == 161
    assert "end.4" not in found


def empty_at_first(
    looks: int,
    nothing: Reading = END,
    twice: Callable[[int], bool] = lambda _: False,
    limit: float = 0.1,
) -> dict[str, Figures]:
    """What looks at 200 ends have shown, every fifth of which shows a page after so many looks, or
    after two."""
    asked = Counter[Id]()

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        asked[request.uid] += 1
        empty = 2 if twice(int(request.uid)) else looks
        is_end = request.cursor and (int(request.uid) % 5 or asked[request.uid] <= empty)
        return nothing if is_end else OK

    world = World(answer)
    world.fetcher.samples = Samples(limit)

    async def scenario() -> None:
        for _ in range(PROVEN_BY):
            await world.fetcher.fetch(ask())
        for uid in range(200):
            await world.fetcher.fetch(ask("2", uid=uid, nth=2, end="end", is_shown=lambda: True))

    run(scenario())
    return world.fetcher.samples.figures()


def test_no_look_is_spared_before_the_site_talks() -> None:
    """Law 4: what is empty while nothing was shown says nothing of second looks, nor do these."""
    world = World([END] * 99)
    world.fetcher.samples = known(100)
    ends(world, 5, talks=False)
    assert len(world.transport.pages) == 2 * 5
    assert world.fetcher.samples.figures()["end"].ends == 100


def test_no_look_is_spared_while_the_site_may_be_silent() -> None:
    """Law 4: from the moment at which looks at what is known to be there come empty."""
    world = World([OK, *[EMPTY] * 99])
    world.fetcher.samples = known(100)

    async def scenario() -> None:
        await world.fetcher.fetch(ask())
        while world.fetcher.is_talking:
            await world.fetcher.fetch(ask(expect=Expect.CONTENT, end="end"))
        sent, ends = len(world.transport.pages), world.fetcher.samples.figures()
        for _ in range(3):
            await world.fetcher.fetch(ask("2", nth=2, end="end", is_shown=lambda: True))
        assert len(world.transport.pages) == sent + 2 * 3
        assert world.fetcher.samples.figures() == ends

    run(scenario())


def test_the_refused_egress_rests_and_another_goes() -> None:
    """A refusal rests its egress; the request goes on by another one at once."""
    world = World([THROTTLED, OK], egresses=(A, B))
    run(world.fetcher.fetch(ask()))
    assert world.transport.pages == [(0.0, A.name), (0.0, B.name)]
    health = {status.name: status.health for status in standings(world.ring)}
    assert health == {A.name: Health.RESTING, B.name: Health.GOOD}


def test_a_lone_refused_egress_is_waited_for() -> None:
    """With one egress the request waits for the end of its rest, or of Retry-After."""
    world = World([BANNED, OK], rate=1.0)
    run(world.fetcher.fetch(ask()))
    assert 15.0 <= world.transport.pages[1][0] <= 30.0
    world = World([THROTTLED, OK], rate=1.0)
    run(world.fetcher.fetch(ask()))
    assert 4 / 3 <= world.transport.pages[1][0] <= 8 / 3
    world = World([THROTTLED, OK], rate=1.0)
    world.transport.headers = (("retry-after", "120"),)
    run(world.fetcher.fetch(ask()))
    assert world.transport.pages[1][0] == pytest.approx(120.0)


REFUSED = Reading(Verdict.REFUSED, why="403", is_ban=True)
SESSION_REFUSED = Reading(Verdict.REFUSED, why="432", is_of_session=True, is_ban=True)
ODD = 5


def refusing_one(refusal: Reading, egresses: tuple[Egress, ...] = (DIRECT,)) -> World:
    """Each egress at a request a second; the page of one user is refused for ever."""
    return World(
        lambda request, *_: refusal if request.uid == ODD else OK,
        egresses=egresses,
        rate=1.0,
        attempts=5,
        has_sessions=refusal.is_of_session,
    )


def witness_of(world: World) -> Callable[[float], Awaitable[bool]]:
    """Asks for a page that is shown, as `Evidence.is_given_to_others`."""

    async def witness(at: float) -> bool:
        return (await world.fetcher.fetch(ask(uid=1))).reading.verdict is Verdict.OK

    return witness


@pytest.mark.parametrize("refusal", [REFUSED, SESSION_REFUSED], ids=lambda refusal: refusal.why)
@pytest.mark.parametrize("others", [0, 100])
def test_a_page_that_alone_is_refused_costs_the_others_one_rest(
    others: int, refusal: Reading
) -> None:
    """Law 15: where others were shown since, it is no ban: nobody rests for it again, no session
    ends by it, and the guard does not count it. Where nobody else asks for anything a witness
    tells, once."""
    world = refusing_one(refusal)
    odd = ask(uid=ODD, witness=witness_of(world))

    async def scenario() -> Fetched:
        await world.fetcher.fetch(ask(uid=9))
        asked = [world.fetcher.fetch(odd)]
        asked += [world.fetcher.fetch(ask(uid=10 + n)) for n in range(others)]
        return (await asyncio.gather(*asked))[0]

    assert run(scenario()).reading is refusal
    sent = Counter(request.uid for _, _, request, _ in world.transport.log)
    as_ends = sent[ODD] - 5  # the first refusals may be the end of a session
    assert 0 <= as_ends <= 2 * refusal.is_of_session
    assert sent[1] == (0 if others else 1)
    assert world.counters["session.opened"] == 2 * refusal.is_of_session
    last, _, _, _ = world.transport.log[-1]
    assert last < others + (60 if others else 150)  # seconds
    assert not world.breaker.tripped


def test_a_wall_in_doubt_is_told_by_a_page_that_is_shown() -> None:
    """Where nothing else is asked for, one that is known to be shown tells that the session is
    alive: none is renewed for the wall, and the page is asked for twice again, since a session that
    was alive at both tells no more."""
    wall = Reading(Verdict.LOGIN_WALL)
    world = World(
        lambda request, *_: wall if request.uid == ODD else OK, rate=1.0, has_sessions=True
    )
    odd = ask("2", uid=ODD, nth=2, witness=witness_of(world))

    async def scenario() -> Fetched:
        await world.fetcher.fetch(ask(uid=9))
        return await world.fetcher.fetch(odd)

    assert run(scenario()).reading.verdict is Verdict.LOGIN_WALL
    sent = Counter(request.uid for _, _, request, _ in world.transport.log)
    assert (sent[1], sent[ODD]) == (1, 1 + 2)
    assert world.counters["session.opened"] == 1


@pytest.mark.parametrize("egresses", [(DIRECT,), TWELVE])
@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("was_walled", [False, True])
def test_walls_of_single_pages_cost_themselves(
    egresses: tuple[Egress, ...], share: float, *, was_walled: bool
) -> None:
    """Law 15: where the lists of some users are walled, and all others are shown, each such list
    costs two or three requests, hardly any costs a session, as long as sessions live, and all are
    sure; who is shown is read. Of those that an earlier visit met most cost one."""
    dice, wall = Random(7), Reading(Verdict.LOGIN_WALL)
    walled = {uid for uid in range(10, 210) if dice.random() < share}

    def answer(request: Request, *_: object) -> Reading:
        return wall if request.uid in walled else OK

    world = World(answer, egresses=egresses, has_sessions=True, takes_s=0.05)

    async def scenario() -> list[Fetched]:
        await asyncio.gather(*(world.fetcher.fetch(ask(uid=uid)) for uid in range(1000, 1300)))
        witness = witness_of(world)
        asks = [
            ask(uid=uid, witness=witness, was_walled=was_walled and uid in walled)
            for uid in range(10, 210)
        ]
        return await asyncio.gather(*map(world.fetcher.fetch, asks))

    seen = [(one.reading.verdict, one.reading.ambiguous) for one in run(scenario())]
    assert seen == [
        (Verdict.LOGIN_WALL if uid in walled else Verdict.OK, False) for uid in range(10, 210)
    ]
    sent = Counter(request.uid for _, _, request, _ in world.transport.log)
    assert sum(sent[uid] for uid in walled) <= (1.5 if was_walled else 3) * len(walled)
    assert world.counters["session.opened"] <= 2 * len(egresses) + 3


@pytest.mark.parametrize("share", [0.2, 0.3])
def test_walls_that_are_none_for_a_moment_cost_one_request(share: float) -> None:
    """Once second looks at walls have shown a page hardly ever, a first wall is believed as soon as
    others are shown theirs, but for a sample, and told with it."""
    sent, walled, figures = asked_with_walls(share, Samples(0.01))
    assert figures.finds == 0
    assert figures.ends >= 0.9 * len(walled)
    assert figures.looks <= 150 + 0.2 * len(walled)
    again = sum(sent[uid] - 1 for uid in walled)
    assert again <= 1.2 * figures.looks + 20
    assert sent[0] <= 5  # sessions


def test_the_end_of_a_session_is_no_wall_of_a_page() -> None:
    """Law 4: what all are refused from a moment on is no fact about anybody, however sure walls
    were until then."""
    samples = Samples(0.01)
    for _ in range(300):
        samples.wants("posts.wall", Random(1))
        samples.looked("posts.wall", found=False)
    sent, _, _ = asked_with_walls(0.2, samples, lives=100)
    assert sent[0] >= 15  # sessions


@pytest.mark.parametrize("others", [0, 200])
def test_walls_at_the_end_of_a_session_are_one(others: int) -> None:
    """Law 4: where walls stand for a moment now and then, the end of a session is met once, however
    often a page is asked for meanwhile that others were shown after its first wall."""
    wall, over, asked_of = Reading(Verdict.LOGIN_WALL), set[str](), Counter[Id]()

    def answer(request: Request, _: Egress, headers: dict[str, str]) -> Reading:
        session = headers["Cookie"]
        asked_of[request.uid] += 1
        if request.uid == ODD and asked_of[ODD] == 2:
            over.add(session)
        is_moment = asked_of[request.uid] == 1 and (request.uid == ODD or request.uid % 60 == 0)
        return wall if session in over or is_moment or request.uid in range(2, 5) else OK

    world = World(answer, has_sessions=True, takes_s=0.05)
    room = asyncio.Semaphore(10)

    async def fetch(one: Ask) -> Fetched:
        async with room:
            return await world.fetcher.fetch(one)

    async def scenario() -> Fetched:
        witness = witness_of(world)
        await asyncio.gather(*(fetch(ask(uid=uid, witness=witness)) for uid in range(1001, 1300)))
        for uid in range(2, 5):  # the site has users who are walled
            await fetch(ask(uid=uid, witness=witness))
        asked = [fetch(ask(uid=ODD, witness=witness))]
        asked += [fetch(ask(uid=uid, witness=witness)) for uid in range(2001, 2001 + others)]
        return (await asyncio.gather(*asked))[0]

    assert run(scenario()).reading is OK


def test_nobody_waits_for_others_where_nobody_asks() -> None:
    """A wall is asked for again at once, and a witness tells, however many sessions there were."""
    samples = Samples(0.01)
    for _ in range(300):
        samples.wants("posts.wall", Random(1))
        samples.looked("posts.wall", found=False)
    wall, uses = Reading(Verdict.LOGIN_WALL), Counter[str]()

    def answer(request: Request, _: Egress, headers: dict[str, str]) -> Reading:
        uses[headers["Cookie"]] += 1
        return wall if request.uid in (ODD, ODD + 1) or uses[headers["Cookie"]] > 20 else OK

    world = World(answer, has_sessions=True, takes_s=0.05)
    world.fetcher.samples = samples

    async def scenario() -> float:
        witness = witness_of(world)
        for uid in (*range(10, 100), ODD, *range(100, 105)):
            await world.fetcher.fetch(ask(uid=uid, witness=witness))
            await asyncio.sleep(10)
        began = asyncio.get_running_loop().time()
        fetched = await world.fetcher.fetch(ask(uid=ODD + 1, witness=witness))
        assert fetched.reading.verdict is Verdict.LOGIN_WALL
        return asyncio.get_running_loop().time() - began

    took_s = run(scenario())  # by the virtual clock
    assert took_s < 1.0
    assert world.counters["session.opened"] > 5


def asked_with_walls(
    share: float, samples: Samples, lives: float = inf
) -> tuple[Counter[Id], set[int], Figures]:
    """Ask for the lists of 1,500 users, of whom some are walled and all others shown, and see that
    exactly these are. lives: requests for which a session is good. Returns how often each was asked
    for (0: sessions), who is walled, and what second looks at walls have shown."""
    dice, wall, uids = Random(7), Reading(Verdict.LOGIN_WALL), range(10, 1510)
    walled, uses = {uid for uid in uids if dice.random() < share}, Counter[str]()

    def answer(request: Request, _: Egress, headers: dict[str, str]) -> Reading:
        uses[headers["Cookie"]] += 1
        return wall if request.uid in walled or uses[headers["Cookie"]] > lives else OK

    world = World(answer, has_sessions=True, takes_s=0.05)
    world.fetcher.samples = samples
    room = asyncio.Semaphore(40)

    async def fetch(one: Ask) -> Fetched:
        async with room:
            return await world.fetcher.fetch(one)

    async def scenario() -> list[Fetched]:
        await asyncio.gather(*(fetch(ask(uid=uid)) for uid in range(2000, 2300)))
        witness = witness_of(world)
        return await asyncio.gather(*(fetch(ask(uid=uid, witness=witness)) for uid in uids))

    seen = [(one.reading.verdict, one.reading.ambiguous) for one in run(scenario())]
    assert seen == [(Verdict.LOGIN_WALL if u in walled else Verdict.OK, False) for u in uids]
    sent = Counter(request.uid for _, _, request, _ in world.transport.log if request.uid)
    sent[0] = world.counters["session.opened"]
    return sent, walled, samples.figures()["posts.wall"]


@pytest.mark.parametrize("share", [0.03, 0.3])
def test_walls_that_stand_for_a_moment_are_no_fact(share: float) -> None:
    """Law 4: where any answer may be a wall, though the next one to the same request is none, one
    session alone proves no wall, or after so many of them that it is hardly by chance."""
    dice, wall = Random(3), Reading(Verdict.LOGIN_WALL)
    world = World(lambda *_: wall if dice.random() < share else OK, has_sessions=True, takes_s=0.05)
    world.fetcher.samples = Samples(0.01)

    async def scenario() -> list[Fetched]:
        await asyncio.gather(*(world.fetcher.fetch(ask(uid=uid)) for uid in range(1000, 1300)))
        witness = witness_of(world)
        asks = (ask(uid=uid, witness=witness) for uid in range(10, 1010))
        return await asyncio.gather(*map(world.fetcher.fetch, asks))

    said = [one.reading for one in run(scenario())]
    false = sum(one.verdict is Verdict.LOGIN_WALL and not one.ambiguous for one in said)
    assert false <= len(said) * 0.005


def test_two_egresses_tell_that_a_page_alone_is_refused() -> None:
    """Their sessions do not end together: none of the others is asked for a new one, however many
    there are."""
    world = refusing_one(SESSION_REFUSED, TWELVE)

    async def scenario() -> Fetched:
        others = [world.fetcher.fetch(ask(uid=10 + n)) for n in range(400)]
        asked = asyncio.gather(*others)
        await asyncio.sleep(5)
        odd = await world.fetcher.fetch(ask(uid=ODD, witness=witness_of(world)))
        await asked
        return odd

    assert run(scenario()).reading is SESSION_REFUSED
    sent = Counter(request.uid for _, _, request, _ in world.transport.log)
    assert sent[ODD] <= 5 + 3
    assert world.counters["session.opened"] <= len(TWELVE) + 3


def test_a_ban_is_none_of_one_page() -> None:
    """The witness is refused as well, whatever was shown before: the egress rests for each, longer
    each time."""
    answers = chain([OK], repeat(REFUSED))
    world = World(lambda *_: next(answers), rate=1.0, attempts=5)

    async def scenario() -> Fetched:
        await asyncio.sleep(9)
        await world.fetcher.fetch(ask(uid=1))
        return await world.fetcher.fetch(ask(uid=ODD, witness=witness_of(world)))

    assert run(scenario()).reading is REFUSED
    times = [at for at, _ in world.transport.pages][1:]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert len(times) == 2 * 5  # the page, and the witness
    assert min(gaps) > 15


def test_who_waits_for_a_turn_waits_for_the_rest() -> None:
    """A request that waits for the turn of an egress does not go when it was refused meanwhile."""
    world = World([BANNED, OK, OK], rate=1.0)

    async def scenario() -> None:
        await asyncio.gather(world.fetcher.fetch(ask()), world.fetcher.fetch(ask()))

    run(scenario())
    assert world.transport.pages[1][0] >= 15.0


def test_a_failing_egress_costs_the_request_nothing() -> None:
    """Failures of a proxy use none of the attempts, and are not asked of it for ever: the first one
    of each is beside the limit."""
    world = World(lambda r, e, h: EgressFailed("no") if e == A else OK, egresses=(A, B))
    for _ in range(20):
        assert run(world.fetcher.fetch(ask())).reading is OK
    assert world.counters["transport.egress_failed"] <= 3
    world = World(lambda *_: EgressFailed("no proxy"), egresses=(A, B), attempts=1)
    assert run(world.fetcher.fetch(ask())).reading.why == "no proxy"
    assert world.counters["transport.egress_failed"] == 2 + 3


def test_a_refused_session_then_a_refused_egress() -> None:
    """432 with a fresh session is the egress's fault: it rests, and the session is retired; the
    next one waits for its cooldown, twice as long after a session by which nothing passed."""
    refused = Reading(Verdict.REFUSED, why="432", is_of_session=True, is_ban=True)
    world = World(lambda *_: refused, has_sessions=True, attempts=2)
    assert run(world.fetcher.fetch(ask())).reading is refused
    asked = [at for at, _, request, _ in world.transport.log if request.kind == "session"]
    assert len(asked) == 3
    assert asked[2] - asked[1] >= 120.0
    assert world.counters["session.retired"] == 2
    assert standings(world.ring)[0].health is Health.RESTING


@pytest.mark.parametrize(
    ("end", "why"), [(SESSION_REFUSED, "432"), (Reading(Verdict.LOGIN_WALL), "login wall")]
)
def test_who_waits_for_a_session_is_told_what_ended_the_last(end: Reading, why: str) -> None:
    """Each session is shown two pages; the next one may be asked for a minute later."""
    shown = Counter[str]()

    def script(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        shown[repr(headers)] += 1
        return OK if shown[repr(headers)] <= 2 else end

    world = World(script, has_sessions=True, attempts=5)
    said = set[str]()

    async def listen() -> None:
        while True:
            await asyncio.sleep(1)
            said.add(world.fetcher.waits_for)

    async def scenario() -> None:
        listening = asyncio.create_task(listen())
        for n in range(10):
            assert (await world.fetcher.fetch(ask(uid=10 + n))).reading is OK
        listening.cancel()

    run(scenario())
    assert any(f": {why} (a session is over) 1 x" in words for words in said), said


def test_a_window_of_refusals_stops_all() -> None:
    """When the site says no to all, everyone who waits is told at once, and later callers too."""
    world = World(lambda *_: THROTTLED, window=5, rate=0.1, attempts=100)

    async def scenario() -> tuple[list[object], float]:
        calls = [world.fetcher.fetch(ask()) for _ in range(20)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        ended = asyncio.get_running_loop().time()
        with pytest.raises(SiteSaysNo, match="the site says no: 5 of the last 5"):
            await world.fetcher.fetch(ask())
        return list(results), ended

    results, ended = run(scenario())
    assert all(isinstance(result, SiteSaysNo) for result in results)
    assert len(world.transport.log) == 5
    assert ended == world.transport.log[-1][0]


def test_a_silent_site_stops_all() -> None:
    """A window of requests without any answer stops the run as well."""
    world = World(lambda *_: ConnectFailed("refused"), window=5)

    async def scenario() -> None:
        for _ in range(4):
            await world.fetcher.fetch(ask())
        with pytest.raises(SiteSaysNo, match="does not answer"):
            await world.fetcher.fetch(ask())

    run(scenario())


def test_draining_finishes_what_is_under_way() -> None:
    """After drain() requests under way come back, who waits for a turn is told at once, and nothing
    more is sent."""
    world = World(lambda *_: OK, rate=0.1, takes_s=5.0)

    async def scenario() -> tuple[list[object], float]:
        calls = [asyncio.create_task(world.fetcher.fetch(ask())) for _ in range(4)]
        await asyncio.sleep(1.0)
        world.fetcher.drain()
        results = await asyncio.gather(*calls, return_exceptions=True)
        ended = asyncio.get_running_loop().time()
        with pytest.raises(Interrupted):
            await world.fetcher.fetch(ask())
        return list(results), ended

    results, ended = run(scenario())
    assert isinstance(results[0], Fetched)
    assert all(isinstance(result, Interrupted) for result in results[1:])
    assert ended == 5.0
    assert len(world.transport.log) == 1


def test_pace_is_kept_by_many_callers() -> None:
    """However many ask, requests of one egress are an interval apart, and each egress has its
    own pace; the first answers, which tell how long an exchange takes, cost a turn at most."""
    world = World(lambda *_: OK, egresses=(A, B), rate=0.5, takes_s=0.3)

    async def scenario() -> None:
        await asyncio.gather(*(world.fetcher.fetch(ask()) for _ in range(40)))

    run(scenario())
    for egress in (A, B):
        times = [at for at, name in world.transport.pages if name == egress.name]
        assert 19 <= len(times) <= 21
        assert all(later - earlier >= 2.0 - 1e-6 for earlier, later in pairwise(times))
        assert times[-1] <= 20 * 2.04 + 4 * 0.3 + 2.04


def test_a_session_uses_a_turn() -> None:
    """Asking for a session is a request like others: the page waits for the next turn."""
    world = World(lambda *_: OK, rate=0.5, has_sessions=True)
    run(world.fetcher.fetch(ask()))
    assert [at for at, *_ in world.transport.log][1] >= 2.0


def test_pace_holds_where_slots_are_few() -> None:
    """Requests held up by the concurrency limit do not start in a bunch afterwards."""
    world = World(lambda *_: OK, rate=1.0, takes_s=20.0, concurrency=2)

    async def scenario() -> None:
        await asyncio.gather(*(world.fetcher.fetch(ask()) for _ in range(12)))

    run(scenario())
    times = [at for at, _ in world.transport.pages]
    assert all(later - earlier >= 0.8 for earlier, later in pairwise(times))


def test_slots_are_held_by_requests_only() -> None:
    """No more than `concurrency` requests at a time, and who waits for a backoff holds no slot."""
    world = World(
        lambda request, *_: CUT if request.uid == 1 else OK, concurrency=2, takes_s=1.0, attempts=9
    )

    async def scenario() -> float:
        stuck = [asyncio.create_task(world.fetcher.fetch(ask(uid=1))) for _ in range(2)]
        await asyncio.sleep(20.0)
        at = asyncio.get_running_loop().time()
        await asyncio.gather(*(world.fetcher.fetch(ask()) for _ in range(2)))
        took = asyncio.get_running_loop().time() - at
        await asyncio.gather(*stuck)
        return took

    assert run(scenario()) <= 3.0
    assert world.transport.most_under_way == 2


def test_nothing_is_sent_elsewhere() -> None:
    """A request to a host that is not the site's is not sent, for it would carry cookies."""
    world = World(lambda *_: OK)
    request = Request(ask().request.kind, "http://elsewhere.invalid/")
    with pytest.raises(CrawlerError, match=r"elsewhere\.invalid"):
        run(world.fetcher.fetch(Ask(request)))
    assert world.transport.log == []


def test_own_headers_win() -> None:
    """A request's own headers stand before the general ones of the same name."""
    world = World(lambda *_: OK)
    base = ask().request
    request = Request(base.kind, base.url, headers=(("user-agent", "own"), ("Referer", "r")))
    run(world.fetcher.fetch(Ask(request)))
    assert world.transport.log[0][3] == {"user-agent": "own", "Referer": "r"}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 5 ", 5.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("²", None),
        ("Thu, 01 Jan 2020 00:00:00 +99999999999999999", None),
    ],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    """Retry-After is seconds, or a date against the time of the answer; nonsense is none."""
    assert retry_after_s({"retry-after": text}, 100.0) == seconds


def test_a_date_is_told_by_the_clock_of_who_wrote_it() -> None:
    """Where an answer says what time it is, a date in it means so much later, however wrong the
    clock of this machine is."""
    headers = {"retry-after": "Thu, 01 Jan 1970 01:02:00 GMT"}
    assert retry_after_s(headers | {"date": "Thu, 01 Jan 1970 01:01:30 GMT"}, 100.0) == 30.0
    assert retry_after_s(headers | {"date": "soon"}, 3700.0) == 20.0
    assert retry_after_s({"retry-after": "7", "date": "soon"}, 3700.0) == 7.0


def test_direct_is_the_default() -> None:
    """Pages name the egress they came by."""
    world = World([OK])
    page = run(world.fetcher.fetch(ask())).page
    assert page is not None
    assert page.egress == DIRECT.name


FOREIGN = Reading(Verdict.OK, why="no post of the owner", ambiguous=True)


def _with_one_bad(bad: Reading | TransportError) -> World:
    """Two proxies, by one of which everything comes like this."""
    return World(lambda r, egress, h: bad if egress == A else OK, egresses=(A, B), attempts=9)


@pytest.mark.parametrize("broken", [TROUBLE, Reading(Verdict.NOT_JSON), DRIFTED, FOREIGN, CUT])
def test_a_proxy_that_breaks_pages_is_blamed(broken: Reading | TransportError) -> None:
    """What another egress shows to be a good page was broken on the way: three in a row, or one
    where it never proved itself, and the proxy is dead; nobody else suffers for it."""
    world = _with_one_bad(broken)

    async def scenario() -> None:
        for n in range(200):
            assert (await world.fetcher.fetch(ask(uid=n))).reading is OK

    run(scenario())
    status = {s.name: s for s in standings(world.ring)}
    assert status[A.name].health is Health.DEAD
    assert 1 <= world.counters["egress.disproved"] <= 3
    assert (status[B.name].health, status[B.name].success) == (Health.GOOD, 1.0)
    assert not world.breaker.tripped


@pytest.mark.parametrize("broken", [TROUBLE, Reading(Verdict.NOT_JSON), DRIFTED])
def test_a_page_that_is_broken_by_all_is_nobodys_fault(broken: Reading) -> None:
    """Where no egress shows a good page, none of them is blamed."""
    world = World(lambda *_: broken, egresses=(A, B))
    reading = run(world.fetcher.fetch(ask())).reading
    assert reading is broken or "no two trustworthy egresses agree" in reading.why
    assert {status.success for status in standings(world.ring)} == {1.0}
    assert world.counters["egress.disproved"] == 0


def test_one_page_that_fails_everywhere() -> None:
    """It is given up after three proxies that answer well otherwise, and they are not blamed."""
    egresses = tuple(Egress(f"10.0.0.{n}:80", f"http://10.0.0.{n}:80") for n in range(1, 6))
    world = World(
        lambda r, e, h: TROUBLE if r.uid == 99 else OK, egresses=egresses, attempts=20, rate=1.0
    )

    async def scenario() -> None:
        await asyncio.gather(*(world.fetcher.fetch(ask(uid=n)) for n in range(60)))
        before = len(world.transport.pages)
        assert (await world.fetcher.fetch(ask(uid=99))).reading is TROUBLE
        by = [name for _, name in world.transport.pages[before:]]
        assert len(set(by)) == 3
        assert len(by) < 9

    run(scenario())
    assert {status.health for status in standings(world.ring)} == {Health.GOOD}
    assert not world.breaker.tripped


def test_an_emptiness_that_another_egress_contradicts_is_a_refusal() -> None:
    """The no-content body stands for soft throttling: the egress that was shown it rests. Where
    all say the same it is believed, and nobody rests."""
    for then, health in ((OK, Health.RESTING), (EMPTY, Health.GOOD)):
        world = World([EMPTY, then, then], egresses=(A, B))
        assert run(world.fetcher.fetch(ask())).reading is then
        first = world.transport.pages[0][1]
        assert {s.name: s.health for s in standings(world.ring)}[first] is health


def test_the_direct_connection_is_not_blamed_for_broken_pages() -> None:
    """Trouble on the direct way is the site's, whatever a proxy brings."""
    world = World(lambda r, e, h: TROUBLE if e == DIRECT else OK, egresses=(A, DIRECT), attempts=9)

    async def scenario() -> None:
        for n in range(20):
            assert (await world.fetcher.fetch(ask(uid=n))).reading is OK

    run(scenario())
    assert world.counters["page.server_trouble"] > 3
    assert {s.success for s in standings(world.ring)} == {1.0}


@pytest.mark.parametrize("outage_s", [0.0, 12.0])
def test_an_outage_stops_the_run_where_it_is_to(outage_s: float) -> None:
    """With a limit to outages the run ends when all egresses are out for so long; it says which
    kinds, and until when; who waits is told at once."""
    world = World(lambda *_: BANNED, egresses=(A, B), rate=1.0, outage_s=outage_s)

    async def scenario() -> tuple[list[object], float]:
        calls = [world.fetcher.fetch(ask(uid=n)) for n in range(5)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        return list(results), asyncio.get_running_loop().time()

    results, ended = run(scenario())
    assert all(isinstance(result, SiteSaysNo) for result in results)
    assert "no egress may go (2 resting)" in str(results[0])
    assert "egress.when_empty" in str(results[0])
    assert ended == pytest.approx(outage_s)
    assert len(world.transport.pages) == 2


def test_an_outage_is_waited_for_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Else it waits without spinning, says so once, however often one egress is tried again in
    vain, and goes on when one is answered."""
    world = World([BANNED] * 6 + [OK], egresses=(A, B), rate=1.0, attempts=9)

    async def scenario() -> tuple[str, Reading, str]:
        call = asyncio.create_task(world.fetcher.fetch(ask()))
        await asyncio.sleep(14.0)
        during = world.fetcher.waits_for
        return during, (await call).reading, world.fetcher.waits_for

    during, reading, after = run(scenario())
    assert "no egress may go (2 resting)" in during
    assert reading is OK
    assert after == ""
    assert world.transport.pages[2][0] >= 15.0
    [record] = caplog.records
    assert "no egress may go (2 resting)" in record.getMessage()


def test_dead_proxies_are_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """Proxies that are all dead end no run that is to wait, and cost no page its attempts, however
    long it lasts; once in ten minutes it says so."""
    back_at = 3600.0
    world = World(
        lambda *_: OK if asyncio.get_running_loop().time() >= back_at else EgressFailed("refused"),
        egresses=(A, B),
        rate=1.0,
    )
    assert run(world.fetcher.fetch(ask())).reading is OK
    assert 3 <= len(caplog.records) <= 7
    assert world.counters["request.sent"] < 100


def test_no_more_sessions_in_an_hour_than_allowed() -> None:
    """An egress whose sessions of this hour are used up rests until it may ask for another one."""
    used: set[str] = set()

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        cookie = headers["Cookie"]
        if cookie in used:
            return Reading(Verdict.LOGIN_WALL)
        used.add(cookie)  # good for one page
        return OK

    world = World(answer, has_sessions=True, rate=1.0, attempts=9, sessions_per_hour=3)

    async def scenario() -> float:
        for _ in range(7):
            assert (await world.fetcher.fetch(ask())).reading is OK
        return asyncio.get_running_loop().time()

    assert run(scenario()) >= 2 * 3600
    asked = [at for at, _, request, _ in world.transport.log if request.kind == "session"]
    assert len(asked) == 7
    assert all(later - earlier >= 3600 for earlier, later in zip(asked, asked[3:], strict=False))


@pytest.mark.parametrize("kind", [Kind.POSTS, Kind.FANS])
def test_an_emptiness_beside_a_refusal_is_believed_of_who_shows_such_pages(kind: Kind) -> None:
    """Who was shown a page of that kind in this run is not refused such pages; that another kind
    was shown tells nothing of it."""

    def answer(request: Request, egress: Egress, _: dict[str, str]) -> Reading:
        if egress == B:
            return Reading(Verdict.REFUSED, why="418")
        return END if request.cursor == "2" else OK

    world = World(answer, egresses=(A, B))

    async def scenario() -> Fetched:
        while (await world.fetcher.fetch(ask("1", kind))).reading != OK:
            continue
        return await world.fetcher.fetch(ask("2", expect=Expect.CONTENT, nth=2))

    verdict = run(scenario()).reading.verdict
    assert verdict is (Verdict.END if kind is Kind.POSTS else Verdict.SERVER_TROUBLE)


def test_the_site_talks_once_it_has_shown_something() -> None:
    """Whatever was expected; before, no emptiness is evidence."""
    world = World([EMPTY, EMPTY, OK])
    run(world.fetcher.fetch(ask()))
    assert not world.fetcher.is_talking
    run(world.fetcher.fetch(ask()))
    assert world.fetcher.is_talking


def test_emptiness_that_others_disprove_stops_no_run() -> None:
    """Each egress is shown nothing at first, and each time another one shows what is there."""
    egresses = tuple(Egress(f"10.0.0.{n}:80", f"http://10.0.0.{n}:80") for n in range(50))
    asked: set[int] = set()

    def answer(request: Request, egress: Egress, headers: dict[str, str]) -> Reading:
        is_first = request.uid not in asked
        asked.add(request.uid)
        return EMPTY if is_first else OK

    world = World(answer, egresses=egresses, takes_s=1.0)

    async def scenario() -> None:
        for uid in range(100):
            fetched = await world.fetcher.fetch(ask(uid=uid, expect=Expect.CONTENT))
            assert fetched.reading is OK
            assert world.fetcher.is_talking

    run(scenario())


@pytest.mark.parametrize("is_shown_after", [False, True])
def test_an_emptiness_that_was_only_unlikely_is_judged_by_the_caller(
    *, is_shown_after: bool
) -> None:
    """Law 4: most users may have no posts, as their profiles then say; those of whom nothing says
    so end the run when they are many and nothing is shown any more. They come later than what was
    shown meanwhile, and at once."""
    world = World(lambda request, *_: OK if request.uid == 100 else EMPTY)

    async def scenario() -> None:
        for uid in range(101 if is_shown_after else 100):
            fetched = await world.fetcher.fetch(ask(uid=uid, expect=Expect.LIKELY))
            assert fetched.reading is (OK if uid == 100 else EMPTY)
        empty = Page("", 200, (), b"", begun if is_shown_after else time.time(), "direct")
        with nullcontext() if is_shown_after else pytest.raises(SiteSaysNo):
            for _ in range(100):
                world.fetcher.contradict(Kind.POSTS, empty)

    begun = time.time()
    run(scenario())
    assert bool(world.breaker.tripped) is not is_shown_after
    assert is_shown_after or "the site shows nothing" in world.breaker.tripped


def test_a_silent_site_confirms_no_emptiness() -> None:
    """A second empty answer that was under way when the run stopped is not returned as a fact."""
    world = World(lambda *_: EMPTY, takes_s=1.0, concurrency=99)

    async def scenario() -> list[object]:
        first = asyncio.create_task(world.fetcher.fetch(ask(uid=99)))
        await asyncio.sleep(0.5)
        calls = (world.fetcher.fetch(ask(uid=n, expect=Expect.CONTENT)) for n in range(60))
        return await asyncio.gather(first, *calls, return_exceptions=True)

    assert {type(result) for result in run(scenario())} == {SiteSaysNo}
    assert "the site shows nothing" in world.breaker.tripped


def test_what_failed_before_stops_no_run() -> None:
    """Retries that fail, drift or are empty again tell nothing of the site."""
    world = World(lambda r, *_: [EMPTY, DRIFTED, TROUBLE][r.uid % 3], window=5)

    async def scenario() -> None:
        for uid in range(200):
            await world.fetcher.fetch(ask(uid=uid, expect=Expect.CONTENT, is_retry=True))

    run(scenario())
    assert not world.breaker.tripped


def test_walls_that_others_met_are_sure() -> None:
    """With one egress the walls of later pages are doubtful, until three others have met them; and
    again when somebody passed."""
    world = World(lambda r, *_: OK if r.uid == 5 else Reading(Verdict.LOGIN_WALL))

    async def scenario() -> list[bool]:
        uids = [1, 2, 3, 4, 5, 6]
        return [
            (await world.fetcher.fetch(ask("2", uid=uid, nth=2))).reading.ambiguous for uid in uids
        ]

    assert run(scenario()) == [True, True, True, False, False, True]


@pytest.mark.parametrize("said", [TROUBLE, BANNED])
def test_texts_that_nobody_is_shown_stop_no_run(said: Reading) -> None:
    """Law 15: while pages of users are shown, what stands in the place of texts is their matter."""
    world = World(lambda request, *_: OK if request.kind is Kind.POSTS else said, window=20)

    async def crawl() -> None:
        for uid in range(30):
            await world.fetcher.fetch(ask(uid=uid))
            for _ in range(9):
                await world.fetcher.fetch(ask(kind=Kind.EXTEND, uid=uid))

    run(crawl())
    assert not world.breaker.tripped
