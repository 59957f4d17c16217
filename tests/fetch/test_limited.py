"""Sites that limit what an address may ask for within a second, and runs whose pace is none, far
above that, or right. In virtual time: an exchange takes 10 to 18 ms."""

import asyncio
from collections import Counter, deque
from math import inf
from random import Random

import pytest

from tests.fetch.virtual import run
from tests.fetch.worlds import ScriptedSite, ask
from weibo_crawler.config import Pace
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch.breaker import Breaker
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.fetcher import Fetcher
from weibo_crawler.fetch.pool import Pool
from weibo_crawler.fetch.pool.outage import Outage
from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Page, Reading, Request, Verdict

READINGS = {
    b"page": Reading(Verdict.OK),
    b"418": Reading(Verdict.THROTTLED, why="418"),
    b"403": Reading(Verdict.REFUSED, why="403", is_ban=True),
    b"432": Reading(Verdict.REFUSED, why="432", is_of_session=True, is_ban=True),
}


class Limited:
    """A transport and the site behind it: of each address it answers `limit` requests in any
    second, and refuses the others; then, for ban_s, all of that address. From `until_s` on it
    refuses all."""

    name = "limited"
    until = inf

    def __init__(self, limit: float, word: str, ban_s: float, until_s: float) -> None:
        self.limit, self.word, self.ban_s, self.until_s = limit, word.encode(), ban_s, until_s
        self.rng = Random(1)
        self.answered: dict[str, deque[float]] = {}
        self.banned_until: Counter[str] = Counter()
        self.refused = self.refused_at_last = 0

    async def send(self, request: Request, headers: object, egress: Egress) -> Page:
        await asyncio.sleep(self.rng.uniform(0.005, 0.009))
        is_allowed = self._allows(egress.name, asyncio.get_running_loop().time())
        self.refused += not is_allowed
        self.refused_at_last += asyncio.get_running_loop().time() >= self.until_s
        await asyncio.sleep(self.rng.uniform(0.005, 0.009))
        return Page(request.url, 200, (), b"page" if is_allowed else self.word, 0.0, egress.name)

    async def close(self) -> None:
        pass

    def _allows(self, name: str, now: float) -> bool:
        if now >= self.until_s or now < self.banned_until[name]:
            return False
        answered = self.answered.setdefault(name, deque())
        while answered and answered[0] < now - 1.0:
            answered.popleft()
        if len(answered) < self.limit:
            answered.append(now)
            return True
        self.banned_until[name] = now + self.ban_s
        return False


class Site(ScriptedSite):
    def read(self, request: Request, page: Page) -> Reading:
        return READINGS[page.body]


class Crawl:
    """So many pages, asked for by 32 callers. took_s: until the last answer; lost: pages that were
    not had; stopped: why the run ended, "" where all was asked for."""

    def __init__(
        self,
        limit: float,
        word: str = "418",
        *,
        ban_s: float = 0.0,
        egresses: int = 1,
        pace: float = 0.0,
        pages: int = 600,
        until_s: float = inf,
        site: type[Limited] = Limited,
    ) -> None:
        self.site = site(limit, word, ban_s, until_s)
        self.lost, self.took_s, self.stopped = 0, 0.0, ""
        counters, rng = Counters(), Random(1)
        ways = [Egress(f"127.0.0.{n}", None) for n in range(egresses)]
        reader = Site()
        sender = Sender(self.site, frozenset({"site.invalid"}), counters)
        ring = Ring(ways, Pace(requests_per_second=pace))
        outage = Outage(refused_s=inf if pace else 20.0, pace=ring.advised_pace)
        pool = Pool(
            ring,
            Visitor(reader, counters, rng),
            *(sender, outage),
            concurrency=1024,
            rng=rng,
        )
        breaker = Breaker(0.9, 50, pace=pool.advised_pace)
        self.fetcher = Fetcher(reader, pool, sender, breaker, counters, attempts=5, rng=rng)
        self._left = pages
        run(self._crawl())

    async def _crawl(self) -> None:
        await asyncio.gather(*(self._walk() for _ in range(32)))
        self.took_s = asyncio.get_running_loop().time()
        await self.fetcher.close()

    async def _walk(self) -> None:
        while self._left and not self.stopped:
            self._left -= 1
            try:
                fetched = await self.fetcher.fetch(ask(uid=self._left))
            except SiteSaysNo as no:
                self.stopped = str(no)
            else:
                self.lost += fetched.reading.verdict is not Verdict.OK


@pytest.mark.parametrize("word", ["418", "403", "432"])
@pytest.mark.parametrize(
    ("limit", "egresses", "pages", "ban_s", "most_refused", "least_used"),
    [
        (5, 1, 200, 0.0, 0.20, 0.70),
        (20, 1, 600, 0.0, 0.08, 0.70),
        (20, 1, 600, 2.0, 0.08, 0.60),
        (20, 1, 1000, 10.0, 0.08, 0.60),
        (200, 1, 3000, 0.0, 0.04, 0.80),
        (200, 1, 6000, 5.0, 0.02, 0.60),
        (20, 3, 1500, 5.0, 0.08, 0.60),
        (5, 20, 1500, 10.0, 0.12, 0.45),
        (20, 20, 6000, 5.0, 0.06, 0.55),
    ],
)
def test_without_a_pace_the_limit_is_found(
    limit: float,
    egresses: int,
    pages: int,
    ban_s: float,
    most_refused: float,
    least_used: float,
    word: str,
) -> None:
    """Whatever the words: each page is had, few requests are refused beside the first burst, and
    most of what is allowed is used."""
    crawl = Crawl(limit, word, ban_s=ban_s, egresses=egresses, pages=pages)
    assert (crawl.stopped, crawl.lost) == ("", 0)
    assert crawl.site.refused <= most_refused * pages
    assert pages / (limit * egresses * crawl.took_s) >= least_used


@pytest.mark.parametrize(
    ("pace", "word", "ban_s", "egresses", "most_refused", "least_used"),
    [
        (1000.0, "418", 0.0, 1, 0.08, 0.70),
        (1000.0, "418", 5.0, 1, 0.08, 0.60),
        (60.0, "418", 5.0, 1, 0.04, 0.55),
        (1000.0, "403", 0.0, 1, 0.04, 0.40),
        (1000.0, "418", 5.0, 20, 0.08, 0.45),
        (19.0, "418", 5.0, 1, 0.0, 0.80),
        (19.0, "403", 5.0, 3, 0.0, 0.80),
    ],
)
def test_a_pace_far_above_the_limit_falls_to_it(
    pace: float, word: str, ban_s: float, egresses: int, most_refused: float, least_used: float
) -> None:
    """So it does where a pace is set that is none; who keeps to the limit is never refused."""
    pages = 600 if egresses == 1 else 200 * egresses
    crawl = Crawl(20, word, ban_s=ban_s, egresses=egresses, pace=pace, pages=pages)
    assert (crawl.stopped, crawl.lost) == ("", 0)
    assert crawl.site.refused <= most_refused * pages
    assert pages / (20 * egresses * crawl.took_s) >= least_used


@pytest.mark.parametrize("word", ["418", "403", "432"])
@pytest.mark.parametrize("egresses", [1, 3, 20])
@pytest.mark.parametrize("until_s", [0.0, 2.0])
def test_who_is_refused_for_ever_is_told_soon(word: str, egresses: int, until_s: float) -> None:
    """After a hundred requests or fewer, within 25 s, with the true reason, and the pace to
    set where one was learned."""
    crawl = Crawl(20, word, egresses=egresses, until_s=until_s, pages=10_000)
    assert crawl.stopped.startswith("the site says no: ")
    assert word in crawl.stopped
    assert "(none is set)" in crawl.stopped
    assert ("pace.requests_per_second = " in crawl.stopped) == (until_s > 0)
    assert crawl.site.refused_at_last <= 100
    assert crawl.took_s <= until_s + 25.0
    assert crawl.lost <= 1


@pytest.mark.parametrize("pace", [0.0, 1 / 3])
def test_a_site_that_is_well_again_is_asked_on(pace: float) -> None:
    """Half an hour of refusals under a pace, or ten seconds without one, lose nothing."""
    lasts_s = 1800.0 if pace else 10.0

    class Ill(Limited):
        def _allows(self, name: str, now: float) -> bool:
            return not 5.0 <= now < 5.0 + lasts_s

    crawl = Crawl(1.0, pace=pace, pages=100 if pace else 20_000, site=Ill)
    assert (crawl.stopped, crawl.lost) == ("", 0)
    assert 0 < crawl.site.refused <= 50
    assert crawl.took_s > 5.0 + lasts_s
