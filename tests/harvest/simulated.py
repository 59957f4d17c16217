"""The pages of the simulated site without a network: for laws that need many worlds.

Readers, walk and frontier are the real ones; only the fetcher is left out, and with it sessions.
"""

import asyncio
from collections.abc import Callable
from functools import lru_cache
from random import Random

from weibo_crawler.errors import Interrupted
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Page, Reading, Request, Verdict
from weibo_crawler.samples import Samples
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.pages import Pages
from weibo_crawler.simulator.world import World
from weibo_crawler.sites.weibo import Weibo

BASE = "http://127.0.0.1:8800"
SITE = Weibo(BASE, "", "agent")


@lru_cache(maxsize=8)
def make_world(seed: int, users: int = 80, mean_posts: float = 12.0) -> World:
    return World.make(seed, users, epoch=SimulatorOptions().epoch, mean_posts=mean_posts)


@lru_cache(maxsize=8)
def pages_of(world: World) -> Pages:
    """One for all crawls of a world: it keeps the answers that it has made."""
    return Pages(world)


@lru_cache(maxsize=1 << 13)
def read(request: Request, page: Page) -> Reading:
    """What the reader says of an answer: many crawls get the same ones."""
    return SITE.read(request, page)


class SimulatedFetcher:
    """walled: which requests guests are refused. odd: which other answer a request gets, None: the
    true one. spoil: changes the body of a page. asked: those that were sent, in order."""

    waits_for = ""
    is_talking = True

    def __init__(
        self, world: World, walled: Callable[[Request], bool] = lambda _: False, seed: int = 0
    ) -> None:
        self._pages = pages_of(world)
        self._rng = Random(seed)
        self._draining = False
        self.walled = walled
        self.odd: Callable[[Request], Verdict | None] = lambda _: None
        self.spoil: Callable[[Request, bytes], bytes] = lambda _, body: body
        self.asked: list[Request] = []
        self.samples = Samples(0.01)
        self.counters = Counters()

    def leave_walls(self) -> None:
        """There is no guard here to tell walls to."""

    def drain(self) -> None:
        self._draining = True

    async def fetch(self, ask: Ask) -> Fetched:
        request = ask.request
        await asyncio.sleep(self._rng.choice([0, 0, 0, 0.001]))
        if self._draining:
            raise Interrupted("stopped")
        self.asked.append(request)
        self.counters.add("request.sent")
        answer = self._pages.answer(request.url.removeprefix(BASE))
        headers = tuple((name.lower(), value) for name, value in answer.headers)
        body = self.spoil(request, answer.body)
        page = Page(request.url, answer.status, headers, body, 1_793_500_000.0)
        if self.walled(request):
            return Fetched(Reading(Verdict.LOGIN_WALL, why="ok -100"), page)
        if odd := self.odd(request):
            return Fetched(Reading(odd, why="scripted"), page)
        return Fetched(read(request, page), page)
