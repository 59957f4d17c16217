"""Liars and silence, the whole way: settings, proxies, the readers of the site, the fetcher."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.fetch.servers import Handler, Reader, Writer, head, http, serve
from weibo_crawler.config import Egress, Fetch, Pace, Settings, Site
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.evidence import Evidence, is_shown
from weibo_crawler.fetch import Ask, Fetched, Fetcher, open_fetcher
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Expect, Request, Verdict
from weibo_crawler.sites.weibo import Weibo

SITE = "http://127.0.0.1:9"  # nobody is there: the proxies answer in its name
NOTHING = {"ok": 0, "msg": "这里还没有内容", "data": {"cards": []}}
WALL = {"ok": -100, "url": "https://passport.weibo.com/sso/signin?entry=wapsso"}
GONE = {"ok": 0, "msg": "用户不存在", "errno": "20003"}
CONTENT = Expect.CONTENT
POSTS = {"ok": 1, "data": {"cards": [{"card_type": 4}], "cardlistInfo": {"page": 3}}}
BOMB = http(b" " * 200_000, "Content-Type: application/json")
PORTAL = http(b"", "Location: http://portal.invalid/hello", status="302 Found")

Answer = Callable[[int], object]  # to a uid


def answers(answer: Answer) -> Handler:
    """The site, as it is shown by one way: JSON for each uid that is asked for, or bytes."""

    async def handler(reader: Reader, writer: Writer) -> None:
        while True:
            found = re.search(rb"value=(\d+)", await head(reader))
            assert found is not None
            said = answer(int(found[1]))
            writer.write(said if isinstance(said, bytes) else http(json.dumps(said).encode()))

    return handler


def profile(uid: int) -> object:
    return {"ok": 1, "data": {"userInfo": {"id": uid, "screen_name": "n", "followers_count": 9}}}


def posts(uid: int) -> object:
    mblog = {
        "id": str((1_750_000_000 - 515_483_463) << 22),
        "created_at": "Sun Jun 15 23:06:40 +0800 2025",
        "text": "t",
        "user": {"id": uid, "screen_name": "n", "followers_count": 9},
    }
    return {"ok": 1, "data": {"cards": [{"card_type": 9, "mblog": mblog}]}}


class Way:
    """A fetcher of the real site that goes by these proxies."""

    def __init__(self, folder: Path, *ways: Answer) -> None:
        self._file, self._ways = folder / "proxies.txt", ways
        self.site = Weibo(SITE, "", "test")
        self.counters = Counters()

    async def run(self, scenario: Callable[[Fetcher], object]) -> list[Fetched | BaseException]:
        """What the fetches of the scenario came to."""
        async with AsyncExitStack() as stack:
            ports = [await stack.enter_async_context(serve(answers(way))) for way in self._ways]
            self._file.write_text("".join(f"http://127.0.0.1:{port}\n" for port in ports))
            settings = Settings(
                site=Site(base_url=SITE),
                pace=Pace(requests_per_second=0),
                egress=Egress(proxies_file=str(self._file)),
                fetch=Fetch(concurrency=8, max_body_bytes=100_000),
            )
            fetcher = open_fetcher(settings, self.site, self.counters)
            calls = scenario(fetcher)
            results = await asyncio.gather(*calls, return_exceptions=True)  # type: ignore[misc]
            await fetcher.close()
            return list(results)


def verdicts(results: list[Fetched | BaseException]) -> Counter[Verdict]:
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return Counter(one.reading.verdict for one in results if isinstance(one, Fetched))


@pytest.mark.parametrize("lie", [BOMB, PORTAL, WALL, {"ok": 0, "msg": "Wohl bekomms"}])
def test_one_lying_proxy_fails_nobody(tmp_path: Path, lie: object) -> None:
    """One of three proxies sends bombs, a captive portal's redirect, walls, or words nobody knows:
    every page comes by another one, and the liar is blamed."""
    way = Way(tmp_path, lambda uid: lie, profile, profile)

    def scenario(fetcher: Fetcher) -> object:
        return [fetcher.fetch(Ask(way.site.profile(uid))) for uid in range(1, 61)]

    assert verdicts(asyncio.run(way.run(scenario))) == {Verdict.OK: 60}
    assert 1 <= way.counters["egress.disproved"] <= 40


def test_a_caller_that_doubts_an_answer_gets_that_of_another_egress(tmp_path: Path) -> None:
    """Where there is one; a single egress is asked again."""

    async def looks_twice(fetcher: Fetcher, uid: int) -> bool:
        request = way.site.profile(uid)
        first = (await fetcher.fetch(Ask(request))).page
        assert first is not None
        second = (await fetcher.fetch(Ask(request, avoid=first.egress))).page
        assert second is not None
        return first.egress != second.egress

    for ways in (3, 1):
        way = Way(tmp_path, *[profile] * ways)
        looks = way.run(lambda fetcher: [looks_twice(fetcher, uid) for uid in range(1, 21)])
        assert set(asyncio.run(looks)) == {ways > 1}


def test_the_egress_that_is_doubted_is_no_second_witness(tmp_path: Path) -> None:
    """Where the only other one cannot be asked there is no fact, and nobody is to blame."""

    async def looks_twice(fetcher: Fetcher) -> Verdict:
        request = way.site.profile(1)
        first = await fetcher.fetch(Ask(request))
        assert first.page is not None
        return (await fetcher.fetch(Ask(request, avoid=first.page.egress))).reading.verdict

    way = Way(tmp_path, profile, lambda uid: http(b"", status="418 Refused"))
    told = asyncio.run(way.run(lambda fetcher: [looks_twice(fetcher)]))
    assert told == [Verdict.SERVER_TROUBLE]
    assert way.counters["egress.disproved"] == 0


def test_a_page_that_is_another_users_by_every_way_costs_two_requests(tmp_path: Path) -> None:
    """It is the fault of that page, and of nobody's egress; what it is shows in its verdict."""

    def shown(uid: int) -> object:
        if uid != 7:
            return profile(uid)
        page = posts(9)
        assert isinstance(page, dict)
        page["data"]["cardlistInfo"] = {"containerid": "1076039", "page": 3}
        return page

    async def crawl(fetcher: Fetcher) -> Fetched:
        for uid in range(10, 50):
            await fetcher.fetch(Ask(way.site.profile(uid)))
        way.counters.add("before", way.counters["request.sent"])
        return await fetcher.fetch(Ask(way.site.posts(7, "page=2"), CONTENT, nth=2))

    way = Way(tmp_path, shown, shown, shown)
    [fetched] = asyncio.run(way.run(lambda fetcher: [crawl(fetcher)]))
    assert isinstance(fetched, Fetched)
    reading = fetched.reading
    assert (reading.verdict, reading.record) == (Verdict.DRIFTED, None)
    assert reading.why == "$.data.cardlistInfo.containerid"
    assert way.counters["request.sent"] == way.counters["before"] + 2
    assert way.counters["egress.disproved"] == 0


def test_a_page_that_is_too_large(tmp_path: Path) -> None:
    """By two proxies, neither known to be good: it is given up after `attempts`, and nobody is
    blamed."""
    way = Way(tmp_path, lambda uid: BOMB, lambda uid: BOMB)
    results = asyncio.run(way.run(lambda fetcher: [fetcher.fetch(Ask(way.site.profile(1)))]))
    assert verdicts(results) == {Verdict.SERVER_TROUBLE: 1}
    assert way.counters["request.sent"] == 5
    assert way.counters["egress.disproved"] == 0


@pytest.mark.parametrize("lawful", [0, 3])
def test_a_site_that_falls_silent_stops_the_run(tmp_path: Path, lawful: int) -> None:
    """From one moment on everybody is shown nothing, in the words of the site for nothing: the run
    stops within a hundred requests and says why, and nothing more is returned as a fact. lawful:
    before, each user whose number it divides showed nothing."""
    sent, silent_from = 0, 300

    def site(uid: int) -> object:
        nonlocal sent
        sent += 1
        is_lawful = lawful and uid % lawful == 0
        return NOTHING if sent > silent_from or is_lawful else profile(uid)

    way, talked, places = Way(tmp_path, site, site), 0, asyncio.Semaphore(32)

    async def ask(fetcher: Fetcher, request: Request) -> Fetched:
        nonlocal talked
        async with places:  # as for the stages: who looks again must not wait for everybody else
            fetched = await fetcher.fetch(Ask(request, Expect.CONTENT))
        talked = max(talked, sent if fetcher.is_talking else 0)
        return fetched

    results = asyncio.run(
        way.run(lambda fetcher: [ask(fetcher, way.site.profile(uid)) for uid in range(1, 1000)])
    )
    stops = [one for one in results if isinstance(one, BaseException)]
    assert {type(one) for one in stops} == {SiteSaysNo}
    assert "the site shows nothing" in str(stops[0])
    assert sent <= silent_from + 100
    assert 200 < talked <= silent_from + 50


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_silence_of_one_kind_stops_the_run(tmp_path: Path, is_gone: bool) -> None:
    """Profiles are shown on, and no timeline; or all users of whom something is known are said to
    be gone. Witnesses tell; nothing more is returned as a fact then."""
    silent = False

    def site(uid: int) -> object:
        is_posts = uid > 10_000
        if silent and (is_gone or is_posts):
            return GONE if is_gone else NOTHING
        return posts(uid) if is_posts else profile(uid)

    way = Way(tmp_path, site, site)

    evidence = Evidence(8)

    async def crawl(fetcher: Fetcher) -> int:
        nonlocal silent

        async def ask(what: Ask) -> bool | None:
            return is_shown((await evidence.fetch(fetcher, what, ask)).reading)

        for n in range(2, 300):
            silent = n > 30
            for request in (way.site.profile(n), way.site.posts(10_000 + n, "")):
                await evidence.break_silence(request, ask)
                await ask(Ask(request, CONTENT))
        return n

    [stop] = asyncio.run(way.run(lambda fetcher: [crawl(fetcher)]))
    assert isinstance(stop, SiteSaysNo)
    assert ("everybody is gone" in str(stop)) is is_gone
    assert way.counters["request.sent"] < 2 * 30 + 100


def test_nobody_is_gone_once_the_run_is_over(tmp_path: Path) -> None:
    """What was on its way when a site stopped the run that says so of everybody is no fact."""
    sent, came = 0, list[Verdict | None]()  # None: the run is over

    def site(uid: int) -> object:
        nonlocal sent
        sent += 1
        return GONE if sent > 30 else profile(uid)

    async def ask(fetcher: Fetcher, uid: int) -> None:
        try:
            fetched = await fetcher.fetch(Ask(way.site.profile(uid), CONTENT))
        except SiteSaysNo:
            came.append(None)
        else:
            came.append(fetched.reading.verdict)

    way = Way(tmp_path, site)
    asyncio.run(way.run(lambda fetcher: [ask(fetcher, uid) for uid in range(1, 200)]))
    assert came.count(Verdict.GONE) >= 20
    assert Verdict.GONE not in came[came.index(None) :]


def test_whose_request_was_in_trouble_when_the_run_ended(tmp_path: Path) -> None:
    """A site of an unknown shape ends the run: who had been shown it until then is told so, and who
    had not been served is not."""
    said: list[str] = []
    places = asyncio.Semaphore(8)

    async def ask(fetcher: Fetcher, uid: int) -> None:
        async with places:
            try:
                await fetcher.fetch(Ask(way.site.posts(uid, "")))
            except SiteSaysNo as no:
                said.append(no.met)

    way = Way(tmp_path, *[lambda uid: {"ok": 1, "data": {"cards": 7}}] * 3)
    asyncio.run(way.run(lambda fetcher: [ask(fetcher, uid) for uid in range(1, 400)]))
    assert "" in said
    assert 1 <= sum("cards" in why for why in said) <= 8


def test_a_wall_that_flaps_on_page_2(tmp_path: Path) -> None:
    """Every list's second page is walled for whoever asks first: it is asked for once more, and
    shown."""
    seen: Counter[int] = Counter()

    def site(uid: int) -> object:
        seen[uid] += 1
        return WALL if seen[uid] == 1 else posts(uid)

    way = Way(tmp_path, site, site)

    def scenario(fetcher: Fetcher) -> object:
        return [fetcher.fetch(Ask(way.site.posts(uid, "page=2"), nth=2)) for uid in range(1, 31)]

    assert verdicts(asyncio.run(way.run(scenario))) == {Verdict.OK: 30}


def test_a_wall_that_two_egresses_met_is_sure(tmp_path: Path) -> None:
    """Two proxies show first pages and wall every second one: two have said so."""
    way = Way(tmp_path, *[lambda uid: posts(uid) if uid <= 60 else WALL] * 2)

    async def ask(fetcher: Fetcher, uid: int) -> Fetched:
        """A first page, and, once they are all shown, another user's second page."""
        await fetcher.fetch(Ask(way.site.posts(uid, "")))
        return await fetcher.fetch(Ask(way.site.posts(uid + 60, "page=2"), nth=2))

    results = asyncio.run(way.run(lambda fetcher: [ask(fetcher, uid) for uid in range(1, 61)]))
    assert verdicts(results) == {Verdict.LOGIN_WALL: 60}
    assert not any(one.reading.ambiguous for one in results if isinstance(one, Fetched))


def test_a_wall_that_one_egress_met_is_ambiguous(tmp_path: Path) -> None:
    """Without a second egress, or session, or others: nobody has confirmed it."""
    way = Way(tmp_path, lambda uid: WALL)

    def scenario(fetcher: Fetcher) -> object:
        return [fetcher.fetch(Ask(way.site.posts(7, "page=2"), nth=2))]

    [fetched] = asyncio.run(way.run(scenario))
    assert isinstance(fetched, Fetched)
    assert fetched.reading.verdict is Verdict.LOGIN_WALL
    assert fetched.reading.ambiguous


def test_nobody_is_gone_by_the_word_of_one_proxy(tmp_path: Path) -> None:
    """One of three says that every user is gone: the others show them, and it is to blame. Where
    two say so it is a fact; the only egress, or the direct way, is believed at once."""

    def honest(uid: int) -> object:
        return GONE if uid > 50 else profile(uid)

    way = Way(tmp_path, lambda uid: GONE, honest, honest)

    def scenario(fetcher: Fetcher) -> object:
        return [fetcher.fetch(Ask(way.site.profile(uid), CONTENT)) for uid in range(1, 61)]

    results = asyncio.run(way.run(scenario))
    assert verdicts(results[:50]) == {Verdict.OK: 50}
    assert verdicts(results[50:]) == {Verdict.GONE: 10}
    assert way.counters["egress.disproved"] >= 1
    way = Way(tmp_path, honest)
    assert verdicts(asyncio.run(way.run(scenario))[50:]) == {Verdict.GONE: 10}
    assert way.counters["request.sent"] == 60
