"""The budget of many proxies: how much of it is used, and what that costs in bans.

The budget is what the site would let healthy proxies (good, slow, flapping while they are up) ask
for: time up times limit. Used is what came back right by them: the posts of the user asked for.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from benchmarks.virtual_site import up_s
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched, Fetcher
from weibo_crawler.records import PostPage, Verdict
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.proxies import Proxy
from weibo_crawler.simulator.world import World
from weibo_crawler.sites.weibo import Weibo

HEALTHY = ("good", "slow", "flapping")
LIMIT_S = 3.0  # one request in so many seconds
MIX = "slow=0.1,dead=0.05,flapping=0.05,lying=0.02,captive=0.02,tired=0.06"  # of docs/simulator.md


class Tally(NamedTuple):
    """right: pages by the address they came by; empty: pages of posts said to be none, wrongly;
    other: what else came back. stopped: why the run ended itself, "" where it did not."""

    right: Counter[str]
    empty: int
    other: int
    stopped: str = ""


def options_of(seed: int, proxies: int, **more: object) -> SimulatorOptions:
    """A site of 2026 with its proxies, every address limited to one request in LIMIT_S."""
    knobs = {"users": 1000, "mean_posts": 2.0, "guests": "2026", "rate_limit": f"1/{LIMIT_S:g}"}
    knobs |= {"proxies": proxies, "proxy_mix": MIX}
    return SimulatorOptions(seed=seed, **(knobs | more))  # type: ignore[arg-type]


def world_of(options: SimulatorOptions) -> World:
    """The world that a simulator with these options plays."""
    return World.make(
        options.seed, options.users, epoch=options.epoch, mean_posts=options.mean_posts
    )


def posts_of(world: World) -> dict[int, set[int]]:
    """The mids of each user who has posts."""
    calendars = {world.uid(index): world.calendar(index) for index in range(world.size)}
    return {uid: set(calendar.mids) for uid, calendar in calendars.items() if calendar.mids}


async def crawl(
    fetcher: Fetcher, site: Weibo, posts: Mapping[int, set[int]], *, callers: int, seconds: float
) -> Tally:
    """So many callers ask for first pages of posts, one after the other, for so long."""
    right: Counter[str] = Counter()
    other: Counter[Verdict] = Counter()
    uids = cycle(posts)

    async def call() -> None:
        while True:
            uid = next(uids)
            fetched = await fetcher.fetch(Ask(site.posts(uid, "")))
            if fetched.page is not None and is_right(fetched, posts[uid]):
                right[fetched.page.egress.partition(":")[0]] += 1
            else:
                other[fetched.reading.verdict] += 1

    tasks = [asyncio.create_task(call()) for _ in range(callers)]
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    errors = [error for task in done if (error := task.exception()) is not None]
    if any(not isinstance(error, SiteSaysNo) for error in errors):
        raise errors[0]
    empty = other.pop(Verdict.EMPTY, 0)
    return Tally(right, empty, other.total(), str(errors[0]) if errors else "")


def is_right(fetched: Fetched, mids: set[int]) -> bool:
    """Whether it is posts of the user who was asked for, and of nobody else."""
    page = fetched.reading.record
    return isinstance(page, PostPage) and bool(page.posts) and mids >= {p.mid for p in page.posts}


def figures(
    tally: Tally,
    served: Mapping[tuple[str, str], int],
    proxies: Sequence[Proxy],
    seconds: float,
) -> dict[str, float]:
    """share: of the budget that is used, whole and by health; banned: addresses; bans; refused:
    other refusals for haste. served: (address, label) -> times."""
    healthy = [proxy for proxy in proxies if proxy.health in HEALTHY]
    pages = tally.right.total()
    bans = _served(served, ("ban",))
    refused = ("throttled", "throttled_418", "too_long_414", "soft_throttled")
    shares = {
        f"share_{health}": _share(tally, (p for p in healthy if p.health == health), seconds)
        for health in HEALTHY
    }
    return {
        "share": _share(tally, healthy, seconds),
        **shares,
        "pages": pages,
        "requests": sum(served.values()),
        "refused": _served(served, refused),
        "bans": bans,
        "banned": len({address for address, label in served if label == "ban"}),
        "bans_per_1000": 1000 * bans / max(1, pages),
        "wrongly_empty": tally.empty,
        "no_page": tally.other,
        "stopped": float(bool(tally.stopped)),
    }


def budget(proxies: Iterable[Proxy], seconds: float) -> float:
    """How many requests these may make in the first `seconds`."""
    return sum(up_s(proxy, seconds) for proxy in proxies) / LIMIT_S


def _share(tally: Tally, proxies: Iterable[Proxy], seconds: float) -> float:
    some = list(proxies)
    return sum(tally.right[proxy.address] for proxy in some) / max(1.0, budget(some, seconds))


def _served(served: Mapping[tuple[str, str], int], labels: Sequence[str]) -> int:
    return sum(n for (_, label), n in served.items() if label in labels)
