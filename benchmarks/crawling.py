"""Whole crawls of a site that is as fast as files are."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks import cluster, static_site
from benchmarks.cluster import Cluster
from benchmarks.common import say
from benchmarks.crawls import POSTS_KINDS, Bench, Rate
from benchmarks.figures import Figure, Scale, take_turns
from weibo_crawler.simulator.routes import Kind


def _rates(contenders: dict[str, Callable[[], Rate]], runs: int) -> dict[str, float]:
    """Pages a second by name."""
    return take_turns(
        {name: _per_second(contender) for name, contender in contenders.items()}, runs, "pages/s"
    )


def _per_second(contender: Callable[[], Rate]) -> Callable[[], float]:
    return lambda: contender().per_second


def harvest(work: Path, scale: Scale) -> Iterator[Figure]:
    """The walk of fan lists into SQLite, and into MariaDB."""
    if why := static_site.why_not():
        say(f"harvest is skipped: {why}")
        return
    kinds = (Kind.PROFILE, Kind.FANS)
    walk = f"harvest among {scale.walk_users:,} users"
    fast, plain, mariadb = f"{walk}, wreq", f"{walk}, requests", f"{walk} into MariaDB"
    double = f"{fast}, 2 processes"
    fetching = "fetching alone, wreq"
    clients = {f"fetching alone, {name}": name for name in ("pycurl", "aiohttp")}
    with ExitStack() as opened:
        bench = opened.enter_context(
            Bench(work, users=scale.walk_users, mean_posts=2.0, kinds=kinds)
        )
        contenders: dict[str, Callable[[], Rate]] = {
            fetching: lambda: bench.fetching("wreq", Kind.FANS),
            **{
                name: partial(bench.fetching, client, Kind.FANS) for name, client in clients.items()
            },
            fast: lambda: bench.harvest("wreq"),
            double: lambda: bench.harvest("wreq", WEIBO_HARVEST__PROCESSES="2"),
            plain: lambda: bench.harvest("requests"),
            "requests in a loop": lambda: bench.walk_of("fans_requests"),
            "requests in 16 threads": lambda: bench.walk_of("fans_requests", "--threads", "16"),
            "Scrapy": lambda: bench.walk_of("fans_scrapy"),
        }
        if why := cluster.why_not():
            say(f"{mariadb} is skipped: {why}")
        else:
            stack = opened.enter_context(Cluster())
            contenders[mariadb] = lambda: _into_mariadb(bench, stack)
        rates = _rates(contenders, scale.runs)
    for ours, theirs, aim in (
        *((each, fetching, 0.5) for each in (fast, double)),
        *((each, "Scrapy", 15) for each in (fast, double)),
        *((each, "requests in a loop", 5) for each in (fast, double)),
        *((each, "requests in 16 threads", 5) for each in (fast, double)),
        (plain, "requests in a loop", 1),
        (mariadb, fast, 0.7),
        *((fetching, client, None) for client in clients),
    ):
        if ours in rates:
            yield Figure(ours, theirs, rates[ours], rates[theirs], "pages/s", aim)


def _into_mariadb(bench: Bench, stack: Cluster) -> Rate:
    stack.empty()
    password = stack.env()["WEIBO_STORE__PASSWORD_FILE"]
    return bench.harvest("wreq", stack.users, WEIBO_STORE__PASSWORD_FILE=password)


def posts(work: Path, scale: Scale) -> Iterator[Figure]:
    """Profile and posts of the users that a walk kept, into SQLite."""
    if why := static_site.why_not():
        say(f"posts is skipped: {why}")
        return
    fetching, one = "fetching alone, wreq", f"posts among {scale.post_users:,} users, wreq"
    several = f"{one}, runner local"
    with Bench(
        work, users=scale.post_users, mean_posts=scale.mean_posts, kinds=POSTS_KINDS
    ) as bench:
        rates = _rates(
            {
                fetching: lambda: bench.fetching("wreq", *POSTS_KINDS),
                one: lambda: bench.posts("wreq"),
                several: lambda: bench.posts("wreq", "local"),
                "Scrapy": lambda: bench.posts_of("posts_scrapy"),
            },
            scale.runs,
        )
    for ours in (one, several):
        for theirs, aim in ((fetching, 0.3), ("Scrapy", 8)):
            yield Figure(ours, theirs, rates[ours], rates[theirs], "pages/s", aim)
