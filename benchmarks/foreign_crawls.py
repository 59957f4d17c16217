"""Whole commands in the world of another hand (WEIBO_FOREIGN, ../shared/foreign if unset).

From the start of a process to its end: needed pages a second, and what the processor had to do for
a request. Lists show fewer people there than announced, and pages hold cards that are no people.
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import static_site
from benchmarks.common import say
from benchmarks.crawls import PEERS, import_users, ours, rows_of, settings
from benchmarks.figures import Figure, Scale, take_turns, within
from benchmarks.foreign_world import TOOLS, Foreign
from benchmarks.processes import Measured, Wrong, measured

_LEAST = 60  # users: world.py makes no smaller world
_OURS = [sys.executable, "-m", "weibo_crawler"]
_JOB = ["posts", "--runner", "inline", "--json"]


class _Crawl(NamedTuple):
    """needed: pages that an all-knowing crawler asks for, each once, and one end a list."""

    needed: int
    sent: int
    seconds: float
    cpu_s: float


def foreign_harvest(work: Path, scale: Scale) -> Iterator[Figure]:
    """The walk of fan lists, whole commands, in the world of another hand."""
    yield from _figures(work, scale, "harvest", {"Scrapy": 10, "requests in a loop": 3.5}, 0.22)


def foreign_posts(work: Path, scale: Scale) -> Iterator[Figure]:
    """Profile and posts of all kept users, whole commands, in the world of another hand."""
    yield from _figures(work, scale, "posts", {"Scrapy": None}, 0.45)


def _figures(
    work: Path, scale: Scale, stage: str, peers: dict[str, float | None], limit_ms: float
) -> Iterator[Figure]:
    """peers: with how many times their needed pages a second is aimed at; limit_ms: a request."""
    if why := static_site.why_not() or _why_not():
        say(f"{stage} in the foreign world is skipped: {why}")
        return
    (work / "world").mkdir(parents=True)
    for folder in (work, work.parent):
        folder.chmod(0o755)  # nginx gives up the rights of root
    users = max(_LEAST, scale.walk_users if stage == "harvest" else scale.post_users)
    world = Foreign(TOOLS, work / "world", users)
    name = f"{stage} in the foreign world of {users:,} users"
    with world.served() as (base_url, _):
        bench = _Bench(work / "crawl", world, base_url)
        crawls: dict[str, list[_Crawl]] = {one: [] for one in (name, *peers)}
        contenders = {name: getattr(bench, stage), **_peers(bench, stage)}
        rates = take_turns(
            {one: partial(_noted, crawls[one], contenders[one]) for one in crawls},
            scale.runs,
            "needed pages/s",
        )
    spent = {one: _median_ms(each) for one, each in crawls.items()}
    for peer, aim in peers.items():
        yield Figure(name, peer, rates[name], rates[peer], "needed pages/s", aim)
        yield Figure(name, f"{peer}, processor", spent[name], spent[peer], "ms a request")
    yield within(f"{name}, processor", limit_ms, spent[name], "ms a request")


def _why_not() -> str | None:
    is_there = (TOOLS / "world.py").exists()
    return None if is_there else f"there is no {TOOLS}/world.py (WEIBO_FOREIGN names its folder)"


def _peers(bench: "_Bench", stage: str) -> dict[str, Callable[[], _Crawl]]:
    if stage == "posts":
        return {"Scrapy": partial(bench.peer, "posts_scrapy", stage)}
    return {
        "Scrapy": partial(bench.peer, "fans_scrapy", stage),
        "requests in a loop": partial(bench.peer, "fans_requests", stage),
    }


def _noted(crawls: list[_Crawl], contender: Callable[[], _Crawl]) -> float:
    crawl = contender()
    crawls.append(crawl)
    return crawl.needed / crawl.seconds


def _median_ms(crawls: list[_Crawl]) -> float:
    """Of the processor, for a request."""
    spent = sorted(1000 * crawl.cpu_s / crawl.sent for crawl in crawls)
    return spent[len(spent) // 2]


class _Bench:
    """Contenders among the users of one world; what they store is compared with its truth."""

    def __init__(self, folder: Path, world: Foreign, base_url: str) -> None:
        self._folder, self._world, self._base_url = folder, world, base_url
        self._runs = 0
        self._kept, self._mids = world.kept()

    def harvest(self) -> _Crawl:
        folder, env = self._home()
        ours(folder, env, "seed", *self._world.seeds)
        done = measured([*_OURS, "harvest", "--json"], folder, env)
        found = ours(folder, env, "scan", "users", "--columns", "id", "--format", "jsonl")
        self._check({int(json.loads(line)["id"]) for line in found.splitlines()}, self._kept)
        return self._of_ours("harvest", done)

    def posts(self) -> _Crawl:
        folder, env = self._home()
        import_users(folder, env, self._kept)
        done = measured([*_OURS, *_JOB], folder, env)
        found = ours(folder, env, "scan", "posts", "--columns", "mid", "--format", "jsonl")
        self._check({int(json.loads(line)["mid"]) for line in found.splitlines()}, self._mids)
        return self._of_ours("posts", done)

    def peer(self, peer: str, stage: str) -> _Crawl:
        folder, _ = self._home()
        users, database = folder / "users.txt", folder / "peer.db"
        seeds = self._kept if stage == "posts" else self._world.seeds
        users.write_text("\n".join(map(str, seeds)), "utf-8")
        script = [str(PEERS / f"{peer}.py"), self._base_url, str(users), str(database)]
        done = measured([sys.executable, *script], folder, {})
        if stage == "posts":
            self._check({mid for (mid,) in rows_of(database, "SELECT mid FROM posts")}, self._mids)
        else:
            found = {uid for (uid,) in rows_of(database, "SELECT id FROM users")}
            self._check(found | set(map(int, self._world.seeds)), self._kept)
        return self._crawl(stage, json.loads(done.output.splitlines()[-1])["pages"], done)

    def _home(self) -> tuple[Path, dict[str, str]]:
        """An empty folder, and the settings of a crawl in it; what wants no limit has none."""
        self._runs += 1
        folder = self._folder / str(self._runs)
        folder.mkdir(parents=True)
        return folder, settings(self._base_url, "wreq", folder) | {"WEIBO_POSTS__RANGES": "1"}

    def _of_ours(self, stage: str, done: Measured) -> _Crawl:
        said = json.loads(done.output.splitlines()[-1])
        return self._crawl(stage, said["counters"]["request.sent"], done)

    def _crawl(self, stage: str, sent: int, done: Measured) -> _Crawl:
        return _Crawl(self._world.needs(stage).by_kind().total(), sent, done.seconds, done.cpu_s)

    def _check(self, found: set[int], truth: set[int]) -> None:
        if found != truth:
            raise Wrong(
                f"what was stored is not what the site holds: {len(truth - found)} lack, "
                f"{len(found - truth)} are too many"
            )
