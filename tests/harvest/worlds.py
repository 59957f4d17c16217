"""A scripted site for the harvest's laws: a graph of fans, answers in any order, troubles."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from weibo_crawler.errors import Interrupted
from weibo_crawler.fetch import Ask, Fetched
from weibo_crawler.records import Edge, Expect, FanPage, Kind, Page, Reading, Request, User, Verdict
from weibo_crawler.samples import Samples

PAGE = 2  # users a page: many pages from small graphs


class Graph:
    """fans_of[uid]: who is on uid's fan list; fans[uid]: the number shown beside a user."""

    def __init__(self, fans_of: Mapping[Any, Sequence[int]], fans: Mapping[int, int]) -> None:
        self.fans_of, self.fans = fans_of, fans

    def depths(self, seeds: Sequence[int], min_fans: int) -> dict[int, int]:
        """The true walk: seeds are kept always, users under min_fans neither kept nor walked."""
        depths = dict.fromkeys(seeds, 0)
        queue = deque(seeds)
        while queue:
            uid = queue.popleft()
            for fan in self.fans_of.get(uid, ()):
                if fan not in depths and self.fans[fan] >= min_fans:
                    depths[fan] = depths[uid] + 1
                    queue.append(fan)
        return depths

    def user(self, uid: int) -> User:
        return User(uid, f"name {uid}", self.fans.get(uid, 0))


class ScriptedSite:
    """Only requests and figures; the fetcher below answers them without any bytes."""

    edges = tuple(Edge)

    def home(self, uid: int) -> str:
        return f"https://example.test/{uid}"

    def announced_pages(self, edge: Edge, announced: int) -> int:
        """The last digit of the fans shown is how many pages are announced; 0: none are."""
        return announced % 10

    def profile(self, uid: int) -> Request:
        return Request(Kind.PROFILE, f"profile/{uid}", uid=uid)

    def edge(self, edge: Edge, uid: int, cursor: str) -> Request:
        return Request(Kind.FANS, f"fans/{uid}/{cursor}", uid=uid, cursor=cursor)


class ScriptedFetcher:
    """Answers from the graph after random waits. trouble: (uid, verdict) -> how many times."""

    is_talking = True

    def __init__(
        self,
        graph: Graph,
        rng: Random,
        trouble: Mapping[tuple[Any, Verdict], int] | None = None,
        profiles: Verdict = Verdict.OK,
    ) -> None:
        self.profiles, self.troubled = profiles, Kind.FANS
        self.graph, self.rng = graph, rng
        self.trouble = dict(trouble or {})
        self.asked: list[str] = []
        self.ends: set[str] = set()  # asked for with nothing more expected
        self.draining = False
        self.samples = Samples(0.01)

    def leave_walls(self) -> None:
        """There is no guard here to tell walls to."""

    def drain(self) -> None:
        self.draining = True

    async def fetch(self, ask: Ask) -> Fetched:
        request = ask.request
        await asyncio.sleep(self.rng.choice([0, 0, 0.001, 0.003]))
        if self.draining:
            raise Interrupted("stopped")
        self.asked.append(request.url)
        self.ends |= {request.url} if ask.expect is Expect.NOTHING else set()
        page = Page(request.url, 200, (), b"{}", 1_700_000_000.0)
        for (uid, verdict), left in self.trouble.items():
            is_hit = request.kind is self.troubled or verdict is Verdict.GONE  # wherever one looks
            if uid == request.uid and is_hit and left:
                self.trouble[uid, verdict] -= 1
                return Fetched(Reading(verdict, why="scripted"), page)
        if request.kind == Kind.PROFILE and self.profiles is not Verdict.OK:
            return Fetched(Reading(self.profiles), page)
        if request.kind == Kind.PROFILE:
            return Fetched(Reading(Verdict.OK, self.graph.user(request.uid)), page)
        return Fetched(self._list(request), page)

    def _list(self, request: Request) -> Reading:
        number = int(request.cursor or 1)
        fans = self.graph.fans_of.get(request.uid, ())[(number - 1) * PAGE : number * PAGE]
        if not fans:
            return Reading(Verdict.EMPTY if number == 1 else Verdict.END)
        users = tuple(map(self.graph.user, fans))
        return Reading(Verdict.OK, FanPage(request.uid, users, str(number + 1)))
