"""Law 15: a kind of page that the site shows nobody costs only itself, and little."""

import asyncio
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from tests.fetch.virtual import run
from tests.fetch.worlds import SITE, World, ask
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch.pool.endpoints import Endpoints
from weibo_crawler.records import Kind, Reading, Request, Verdict

TEXT, POSTS = Kind.EXTEND, Kind.POSTS
OK = Reading(Verdict.OK)
ATTEMPTS = 3
HOUR = 3600.0


def of(uid: int, kind: Kind = TEXT, mid: int = 0) -> Request:
    return Request(kind, f"{SITE}/{kind}/{uid}?{mid}", uid)


def told(
    endpoints: Endpoints, *said: tuple[Kind, Verdict], at: float = 0.0, uid: int | None = None
) -> float:
    """Each about another user, or all about this one."""
    for kind, verdict in said:
        mid = int(at)
        endpoints.told(of(mid if uid is None else uid, kind, mid), verdict, at, at)
        at += 1.0
    return at


@pytest.mark.parametrize("verdict", [Verdict.REFUSED, Verdict.NOT_JSON, Verdict.DRIFTED])
def test_what_nobody_is_shown_is_shut_and_probed(verdict: Verdict) -> None:
    """One request an hour is sent; one that passes opens the kind, any other one does not."""
    endpoints = Endpoints()
    now = told(endpoints, *[(TEXT, verdict), (POSTS, Verdict.OK)] * 24)
    assert endpoints.is_shut(TEXT)
    assert not endpoints.is_shut(POSTS)
    assert not endpoints.grants_probe(of(7), now)
    now += HOUR
    assert endpoints.grants_probe(of(7), now)
    assert not endpoints.grants_probe(of(7), now)
    told(endpoints, (TEXT, verdict), (POSTS, Verdict.OK), at=now)
    assert endpoints.is_shut(TEXT)
    told(endpoints, (TEXT, Verdict.OK), at=now)
    assert not endpoints.is_shut(TEXT)


@pytest.mark.parametrize("shown", [Verdict.OK, Verdict.GONE, Verdict.RESTRICTED])
def test_one_page_of_the_kind_is_enough(shown: Verdict) -> None:
    """A kind of which anything is told is not shut, however much of it fails."""
    endpoints, now = Endpoints(), 0.0
    for _ in range(100):
        now = told(endpoints, *[(TEXT, Verdict.NOT_JSON)] * 23, (TEXT, shown), at=now)
        now = told(endpoints, (POSTS, Verdict.OK), at=now)
        assert not endpoints.is_shut(TEXT)


@pytest.mark.parametrize("other", [Verdict.REFUSED, Verdict.EMPTY, Verdict.LOGIN_WALL])
def test_a_site_that_shows_nothing_shuts_no_kind(other: Verdict) -> None:
    """Whoever is banned is shown no pages of users either."""
    endpoints = Endpoints()
    told(endpoints, *[(TEXT, Verdict.REFUSED), (POSTS, other)] * 100)
    assert not endpoints.is_shut(TEXT)


def test_a_page_that_was_on_its_way_proves_nothing() -> None:
    """It was asked for before the ban began."""
    endpoints = Endpoints()
    told(endpoints, *[(TEXT, Verdict.REFUSED)] * 24, at=10.0)
    endpoints.told(of(7, POSTS), Verdict.OK, 9.0, 50.0)
    assert not endpoints.is_shut(TEXT)
    assert endpoints.doubted_at(TEXT) == 33.0


@pytest.mark.parametrize("verdict", [Verdict.REFUSED, Verdict.SERVER_TROUBLE])
def test_odd_users_cost_only_themselves(verdict: Verdict) -> None:
    """Five users whose pages of a kind are all odd shut them for nobody else, and are asked for a
    few of theirs."""
    endpoints, now = Endpoints(), 0.0
    for uid in range(1, 6):
        asked = 0
        while not endpoints.is_spared(of(uid)):
            now = told(endpoints, (TEXT, verdict), at=now, uid=uid)
            now = told(endpoints, (POSTS, Verdict.OK), at=now)
            asked += 1
        assert asked <= 24
    assert not endpoints.is_spared(of(99))
    assert not endpoints.is_shut(TEXT)
    assert endpoints.grants_probe(of(1), now + HOUR)
    now = told(endpoints, (TEXT, Verdict.OK), at=now)
    assert not endpoints.is_spared(of(1))


def test_retries_of_a_few_broken_pages_are_no_new_evidence() -> None:
    """They come late, and in a row, when all that is well was shown already."""
    endpoints, now = Endpoints(), 0.0
    for _ in range(5):
        for uid in range(1, 7):
            endpoints.told(of(uid), Verdict.SERVER_TROUBLE, now, now)
            now = told(endpoints, (POSTS, Verdict.OK), at=now + 1.0)
    assert not any(endpoints.is_spared(of(uid)) for uid in range(1, 8))


@pytest.mark.parametrize("verdict", [Verdict.REFUSED, Verdict.SERVER_TROUBLE])
def test_odd_pages_among_others_shut_no_kind(verdict: Verdict) -> None:
    """One text in eight is never shown. When the others are read all that is asked for are those,
    and each was odd before: that says nothing of the kind."""
    endpoints, odd = Endpoints(), range(8, 400, 8)
    for now, uid in enumerate([*range(1, 400), *(uid for _ in range(5) for uid in odd)]):
        found = verdict if uid in odd else Verdict.OK
        endpoints.told(of(uid, TEXT, uid), found, float(now), float(now))
        told(endpoints, (POSTS, Verdict.OK), at=now + 0.5)
    assert not endpoints.is_shut(TEXT)


@pytest.mark.parametrize("verdict", [Verdict.REFUSED, Verdict.SERVER_TROUBLE])
def test_an_outage_that_is_over_proves_nothing(verdict: Verdict) -> None:
    """A site that was away, or a ban that ended: whatever comes next is shown, and so may texts."""
    endpoints, now = Endpoints(), 0.0
    for _ in range(3):
        now = told(endpoints, *[(TEXT, verdict)] * 500, (POSTS, Verdict.OK), at=now)
        now = told(endpoints, *[(POSTS, Verdict.OK)] * 50, at=now)
        assert not endpoints.is_spared(of(int(now)))


def test_walls_are_judged_elsewhere() -> None:
    endpoints = Endpoints()
    told(endpoints, *[(TEXT, Verdict.LOGIN_WALL), (POSTS, Verdict.OK)] * 100)
    assert not endpoints.is_shut(TEXT)


@pytest.mark.parametrize("seed", range(20))
def test_faults_shut_nothing(seed: int) -> None:
    """Of 10,000 answers four in ten fail, a third of them are refusals."""
    dice, endpoints, now = Random(seed), Endpoints(), 0.0
    bad = [Verdict.REFUSED, Verdict.SERVER_TROUBLE, Verdict.NOT_JSON]
    for _ in range(10_000):
        said = dice.choice(bad) if dice.random() < 0.4 else Verdict.OK
        now = told(endpoints, (dice.choice([TEXT, POSTS]), said), at=now)
        assert not endpoints.is_shut(TEXT)


def refusing(*kinds: Kind) -> World:
    def script(request: Request, *_: object) -> Reading:
        return Reading(Verdict.REFUSED, why="418") if request.kind in kinds else OK

    return World(script, attempts=ATTEMPTS, window=20, rate=1.0)


async def visits(world: World, users: int, texts: int) -> list[Verdict]:
    """Each user's page, then its texts together, some users at once; the verdicts of the texts."""
    verdicts: list[Verdict] = []

    lock, shown_at = asyncio.Lock(), [0.0]

    async def witness(at: float) -> bool:
        """One for all who want to know, as `Evidence.is_given_to_others`."""
        async with lock:
            if shown_at[0] <= at:
                begun = asyncio.get_running_loop().time()
                reading = (await world.fetcher.fetch(ask(uid=1))).reading
                shown_at[0] = begun if reading.verdict is Verdict.OK else shown_at[0]
        return shown_at[0] > at

    async def text(uid: int) -> None:
        fetched = await world.fetcher.fetch(ask(kind=TEXT, uid=uid, witness=witness))
        verdicts.append(fetched.reading.verdict)

    async def visit(uids: range) -> None:
        for uid in uids:
            await world.fetcher.fetch(ask(uid=uid))
            await asyncio.gather(*(text(uid) for _ in range(texts)))

    await asyncio.gather(*(visit(range(n, users, 4)) for n in range(4)))
    return verdicts


def test_refused_texts_cost_a_few_requests_and_no_run() -> None:
    """The egress rests for each refusal, as ever, and the breaker does not stop the run."""
    world = refusing(TEXT)
    verdicts = run(visits(world, 40, 10))
    assert len(verdicts) == 400
    assert world.breaker.tripped == ""
    asked = Counter(request.kind for _, _, request, _ in world.transport.log)
    assert asked[TEXT] <= 24 / 2 + 8
    assert asked[POSTS] <= 40 + asked[TEXT]


def test_what_may_be_shown_to_nobody_is_asked_for_one_by_one() -> None:
    """However many want it at once, and no pace holds them: each would find the same. What was
    under way before the first answer has gone, and then so many as shut the kind."""

    def script(request: Request, *_: object) -> Reading:
        return Reading(Verdict.REFUSED, why="403") if request.kind is TEXT else OK

    world = World(script, takes_s=1.0)
    run(visits(world, 40, 10))
    asked = Counter(request.kind for _, _, request, _ in world.transport.log)
    assert asked[TEXT] <= 4 * 10 + 24 / 2


def test_no_two_refusals_of_a_kind_follow_each_other() -> None:
    """But for the first two, a witness is asked between them: else the rests of the egress would
    double."""
    world = refusing(TEXT)
    run(visits(world, 4, 10))
    kinds = [request.kind for _, _, request, _ in world.transport.log]
    assert list(pairwise(kinds)).count((TEXT, TEXT)) == 1


def test_a_ban_that_begins_at_a_text_stops_the_run() -> None:
    """The witness is refused as well, and all that was refused counts."""
    world = refusing(TEXT, POSTS)
    with pytest.raises(SiteSaysNo, match="418"):
        run(visits(world, 400, 1))
    assert len(world.transport.log) < 40


def test_a_kind_that_opens_again_is_asked_for() -> None:
    """An hour later, and only then."""
    is_open: list[bool] = []

    def script(request: Request, *_: object) -> Reading:
        return Reading(Verdict.NOT_JSON) if request.kind is TEXT and not is_open else OK

    world = World(script, attempts=ATTEMPTS)

    async def scenario() -> list[bool]:
        await visits(world, 40, 4)
        loop, shut = asyncio.get_running_loop(), []
        is_open.append(True)
        for hours in (0.0, 0.5, 0.6, 0.0):
            await asyncio.sleep(hours * HOUR)
            shut.append((await world.fetcher.fetch(ask(kind=TEXT))).is_shut)
        assert loop.time() < 2 * HOUR
        return shut

    assert run(scenario()) == [True, True, False, False]


def test_the_end_of_a_session_is_no_word_about_texts() -> None:
    """Each session is shown two pages, whichever they are; the next one is refused with 432."""
    shown = Counter[str]()

    def script(request: Request, egress: object, headers: dict[str, str]) -> Reading:
        session = repr(headers)
        shown[session] += 1
        if shown[session] <= 2:
            return OK
        return Reading(Verdict.REFUSED, why="432", is_of_session=True, is_ban=True)

    world = World(script, has_sessions=True, attempts=ATTEMPTS)
    verdicts = run(visits(world, 40, 4))
    assert Counter(verdicts) == {Verdict.OK: 160}


def test_pages_of_users_are_never_shut() -> None:
    """What is wrong with them is the breaker's matter."""
    endpoints = Endpoints()
    told(endpoints, *[(POSTS, Verdict.REFUSED), (TEXT, Verdict.OK)] * 100)
    assert not endpoints.is_shut(POSTS)
    assert endpoints.doubted_at(POSTS) is None
