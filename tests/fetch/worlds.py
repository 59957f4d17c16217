"""A site and a transport that do as they are told."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from math import inf
from random import Random
from typing import Any

from weibo_crawler.config import Pace
from weibo_crawler.errors import TransportError
from weibo_crawler.fetch.breaker import Breaker
from weibo_crawler.fetch.egress import DIRECT, Egress
from weibo_crawler.fetch.fetcher import Fetcher
from weibo_crawler.fetch.pool import Pool
from weibo_crawler.fetch.pool.outage import Outage
from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.source import Ask
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Kind, Page, Reading, Request

SITE = "http://site.invalid"
A = Egress("10.0.0.1:80", "http://10.0.0.1:80")
B = Egress("10.0.0.2:80", "http://10.0.0.2:80")

Answer = Reading | TransportError


def ask(cursor: str = "", kind: Kind = Kind.POSTS, uid: int = 7, **known: Any) -> Ask:
    """known: what the caller knows of the request, as in `Ask`."""
    return Ask(Request(kind, f"{SITE}/{kind}/{uid}?{cursor}", uid, cursor=cursor), **known)


class ScriptedSite:
    """Reads what the scripted transport made up; sessions where `has_sessions`."""

    addresses: tuple[str, ...] = (SITE,)

    def __init__(self, has_sessions: bool = False, agent: str = "test") -> None:
        self.has_sessions, self.agent = has_sessions, agent
        self.readings: dict[bytes, Reading] = {}

    def profile(self, uid: int) -> Request:
        raise NotImplementedError

    def edge(self, edge: object, uid: int, cursor: str) -> Request:
        raise NotImplementedError

    def posts(self, uid: int, cursor: str) -> Request:
        raise NotImplementedError

    def full_text(self, uid: int, mid: int) -> tuple[Request, ...]:
        raise NotImplementedError

    def name(self, screen_name: str) -> Request:
        raise NotImplementedError

    def comments(self, mid: int) -> Request:
        raise NotImplementedError

    def trial(self) -> Request:
        return ask().request

    def session(self, now: float, rng: Random) -> Request | None:
        url = f"{SITE}/session"
        return Request(Kind.SESSION, url, method="POST") if self.has_sessions else None

    def read(self, request: Request, page: Page) -> Reading:
        return self.readings[page.body]

    def read_session(self, page: Page, asked: Request) -> Mapping[str, str] | Request | None:
        return {"SUB": page.body.decode()} if page.body.startswith(b"visitor") else None

    def sign(self, request: Request, headers: object, now: float) -> tuple[tuple[str, str], ...]:
        return ()

    def session_headers(self, cookies: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        agent = (("User-Agent", self.agent),)
        pairs = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return (*agent, ("Cookie", pairs)) if pairs else agent


class ScriptedTransport:
    """Answers from a list, or by a function of request, egress and headers.

    `log` holds (time, egress name, request, headers) of all that was sent.
    """

    name = "scripted"
    until = inf

    def __init__(
        self,
        site: ScriptedSite,
        script: Iterable[Answer] | Callable[[Request, Egress, dict[str, str]], Answer],
        *,
        takes_s: float = 0.0,
        session: Callable[[int], bytes | TransportError] = lambda n: b"visitor%d" % n,
    ) -> None:
        self._site, self.takes_s, self._session = site, takes_s, session
        self._script = script if callable(script) else deque(script)
        self.log: list[tuple[float, str, Request, dict[str, str]]] = []
        self.sessions = 0
        self.under_way = self.most_under_way = 0
        self.headers: tuple[tuple[str, str], ...] = ()

    @property
    def pages(self) -> list[tuple[float, str]]:
        """When and by whom pages, not sessions, were asked for."""
        return [(at, name) for at, name, request, _ in self.log if request.kind != Kind.SESSION]

    async def send(
        self, request: Request, headers: tuple[tuple[str, str], ...], egress: Egress
    ) -> Page:
        self.log.append((asyncio.get_running_loop().time(), egress.name, request, dict(headers)))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.takes_s)
        finally:
            self.under_way -= 1
        if request.kind == Kind.SESSION:
            self.sessions += 1
            body = self._session(self.sessions)
            if isinstance(body, TransportError):
                raise body
            return Page(request.url, 200, (), body, 0.0, egress.name)
        if isinstance(self._script, deque):
            answer = self._script.popleft()
        else:
            answer = self._script(request, egress, dict(headers))
        if isinstance(answer, TransportError):
            raise answer
        body = repr(answer).encode()
        self._site.readings[body] = answer
        status = 200
        return Page(request.url, status, self.headers, body, 0.0, egress.name)

    async def close(self) -> None:
        pass


class World:
    """A fetcher with a scripted site and transport, without pace unless told."""

    def __init__(
        self,
        script: Iterable[Answer] | Callable[[Request, Egress, dict[str, str]], Answer],
        *,
        egresses: tuple[Egress, ...] = (DIRECT,),
        has_sessions: bool = False,
        rate: float = 0.0,
        attempts: int = 3,
        concurrency: int = 32,
        window: int = 1000,
        takes_s: float = 0.0,
        session: Callable[[int], bytes | TransportError] = lambda n: b"visitor%d" % n,
        sessions_per_hour: int | None = None,
        outage_s: float | None = None,
        give_up_s: float | None = None,
    ) -> None:
        self.site = ScriptedSite(has_sessions)
        self.transport = ScriptedTransport(self.site, script, takes_s=takes_s, session=session)
        self.counters = Counters()
        rng = Random(1)
        self.ring = Ring(egresses, Pace(requests_per_second=rate))
        self.breaker = Breaker(0.9, window)
        self.visitor = Visitor(self.site, self.counters, rng, per_hour=sessions_per_hour)
        sender = Sender(self.transport, frozenset({"site.invalid"}), self.counters)
        self.pool = Pool(
            self.ring,
            self.visitor,
            sender,
            Outage(outage_s, give_up_s),
            concurrency=concurrency,
            least=1,
            rng=rng,
        )
        self.fetcher = Fetcher(
            self.site, self.pool, sender, self.breaker, self.counters, attempts=attempts, rng=rng
        )
