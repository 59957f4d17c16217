"""Who chooses the proxy: our ring, dice, or somebody who knows everything. In virtual time."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from random import Random

from benchmarks.budget import (
    HEALTHY,
    LIMIT_S,
    Tally,
    crawl,
    figures,
    options_of,
    posts_of,
    world_of,
)
from benchmarks.virtual_site import (
    BASE_URL,
    INTERNET,
    Answers,
    Delays,
    VirtualSite,
    egress_of,
    is_up,
    proxies_of,
)
from tests.fetch.virtual import run
from weibo_crawler import config
from weibo_crawler.config import Pace
from weibo_crawler.fetch.breaker import Breaker
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.fetcher import Fetcher
from weibo_crawler.fetch.pool import Pool
from weibo_crawler.fetch.pool.outage import Outage
from weibo_crawler.fetch.pool.ring import Choice, Ring
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.wire import host_of
from weibo_crawler.metrics import Counters
from weibo_crawler.simulator.routes import VISITOR
from weibo_crawler.simulator.site import Visit
from weibo_crawler.simulator.site import Weibo as SimulatedWeibo
from weibo_crawler.sites.weibo import Weibo

KNOWN = Pace(requests_per_second=1 / LIMIT_S)
UNKNOWN = Pace(requests_per_second=3 / LIMIT_S)  # three times too fast, for AIMD to find out
THREADS = 16  # of who asks blindly
HOUR_S = 3600.0
Hourly = Callable[[int], None]  # is called each hour with the pages so far


class Dice(Ring):
    """Any proxy of the list at any time: what came of it before plays no part."""

    def __init__(self, egresses: list[Egress]) -> None:
        super().__init__(egresses, Pace(requests_per_second=0.0))
        self._choices = [Choice(slot.egress, 0.0, slot.number) for slot in self._slots.values()]

    def choose(self, now: float, rng: Random, excluding: Collection[str] = ()) -> Choice:
        return rng.choice(self._choices)

    def go(self, choice: Choice, now: float) -> float | None:
        return 0.0


def by_ring(
    seed: int,
    pace: Pace,
    proxies: int,
    seconds: float,
    delays: Delays = INTERNET,
    hourly: Hourly | None = None,
) -> dict[str, float]:
    """Our fetcher, with callers and concurrency for all proxies at once."""
    options = options_of(seed, proxies)
    ring = Ring([egress_of(proxy) for proxy in proxies_of(options)], pace)
    breaker = Breaker(pace.stop_share, pace.stop_window, drift_share=pace.drift_share)
    per_hour = config.Session().per_hour
    return _run(seed, ring, breaker, per_hour, proxies, proxies, seconds, delays, hourly)


def by_dice(seed: int, proxies: int, seconds: float) -> dict[str, float]:
    """The same fetcher, THREADS callers without a pace, and a proxy by chance each time."""
    options = options_of(seed, proxies)
    ring = Dice([egress_of(proxy) for proxy in proxies_of(options)])
    never = Breaker(1.0, 10**9)
    return _run(seed, ring, never, None, proxies, THREADS, seconds, INTERNET)


def by_oracle(seed: int, proxies: int, seconds: float) -> dict[str, float]:
    """Each healthy proxy's requests reach the site the moment the limit allows the next one; no
    other proxy is asked anything."""
    options = options_of(seed, proxies)
    world, all_proxies = world_of(options), proxies_of(options)
    simulated = SimulatedWeibo(world, options)
    site = Weibo(BASE_URL, "", "agent")
    address = site.posts(next(iter(posts_of(world))), "").url.removeprefix(BASE_URL)
    served: Counter[tuple[str, str]] = Counter()
    for proxy in all_proxies:
        if proxy.health not in HEALTHY:
            continue
        answer = simulated.open_session("", proxy.address, 0.0)
        cookies = "; ".join(value.partition(";")[0] for _, value in answer.headers)
        now = 0.0
        while now < seconds:
            if is_up(proxy, now):
                visit = Visit(address, cookies, proxy.address, now)
                served[proxy.address, simulated.serve(visit).label] += 1
                now += LIMIT_S + 1e-6
            else:
                now += proxy.flap_s - (proxy.phase_s + now) % proxy.flap_s
    right = Counter({where: n for (where, label), n in served.items() if label == "ok"})
    return figures(Tally(right, 0, 0), served, all_proxies, seconds)


def _run(
    seed: int,
    ring: Ring,
    breaker: Breaker,
    per_hour: int | None,
    proxies: int,
    callers: int,
    seconds: float,
    delays: Delays,
    hourly: Hourly | None = None,
) -> dict[str, float]:
    options = options_of(seed, proxies)
    world = world_of(options)
    answers = Answers(options, world)
    transport = VirtualSite(options, answers, delays)
    site = Weibo(BASE_URL, BASE_URL + VISITOR, config.Site().user_agent)
    counters, rng = Counters(), Random(seed)
    visitor = Visitor(site, counters, rng, per_hour=per_hour)
    sender = Sender(transport, frozenset({host_of(BASE_URL)}), counters)
    pool = Pool(ring, visitor, sender, Outage(), concurrency=callers, least=1, rng=rng)
    attempts = config.Fetch().attempts
    fetcher = Fetcher(site, pool, sender, breaker, counters, attempts=attempts, rng=rng)

    async def tell() -> None:
        while hourly is not None:
            await asyncio.sleep(HOUR_S)
            hourly(sum(n for (_, label), n in answers.served.items() if label == "ok"))

    async def crawled() -> Tally:
        telling = asyncio.create_task(tell())
        try:
            posts = posts_of(world)
            return await crawl(fetcher, site, posts, callers=callers, seconds=seconds)
        finally:
            telling.cancel()
            await fetcher.close()

    return figures(run(crawled()), answers.served, transport.proxies, seconds)
