"""The site: who asks what goes past the gates, meets a fault or not, and is answered."""

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from aiohttp import web

from weibo_crawler.simulator.faults import FaultPlan, parse_faults
from weibo_crawler.simulator.guests import GUESTS, Guests, session_of
from weibo_crawler.simulator.lawful_pages import LawfulPages
from weibo_crawler.simulator.lawful_world import LawfulWorld
from weibo_crawler.simulator.limits import Limits, Refusal, parse_rate
from weibo_crawler.simulator.misbehave import ON_THE_WIRE, misbehave, response, spoil
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.pages import Pages
from weibo_crawler.simulator.proxies import Proxy
from weibo_crawler.simulator.routes import VISITOR, Asked, Kind, understand
from weibo_crawler.simulator.served import Line, ServedLog
from weibo_crawler.simulator.wire import END, Answer
from weibo_crawler.simulator.world import World

_FAULTLESS = frozenset({Kind.HOME, Kind.VISITOR_PAGE, Kind.UNKNOWN})
_LISTS = frozenset({Kind.POSTS, Kind.FANS, Kind.FOLLOWS})


class Visit(NamedTuple):
    """One GET. address: path and query as sent. cookies: the header. egress: whence it comes.
    now: seconds, by a clock that does not go back."""

    address: str
    cookies: str
    egress: str
    now: float


class Served(NamedTuple):
    """What a visit gets: an answer, and the fault of the connection it is served with, if any."""

    answer: Answer
    wire_fault: str | None = None
    is_fault: bool = False

    @property
    def label(self) -> str:
        """The name the served log gives it."""
        return self.wire_fault or self.answer.label


class Weibo:
    """Everything of the site but the network."""

    def __init__(self, world: World, options: SimulatorOptions) -> None:
        self._pages = _pages(world, options)
        laws = world.laws if isinstance(world, LawfulWorld) else None
        options = laws.over(options) if laws else options
        rules = GUESTS[options.guests]
        rules = rules._replace(
            list_pages=0 if options.fans_walled else None,
            search_pages=0 if options.topics_walled else rules.search_pages,
        )
        self.guests = Guests(
            laws.rules if laws else rules,
            session_requests=options.session_requests,
            session_s=options.session_s,
        )
        rates = parse_faults(options.faults)
        self._faults = FaultPlan(options.seed, rates, options.max_consecutive)
        self._retry_after = options.retry_after
        self._limits = None
        if rate := parse_rate(options.rate_limit):
            self._limits = Limits(
                rate,
                seed=options.seed,
                ban_s=options.ban_s,
                soft=options.soft_share,
                words=laws.limit_words if laws else (),
            )

    def serve(self, visit: Visit) -> Served:
        """The answer to a visit. Only content is spoilt by faults, never a refusal at a gate."""
        asked = understand(visit.address)
        number = self._pages.number(asked)
        refusal = self._over_limit(asked, visit) or self.guests.turned_away(
            asked, number, visit.address, visit.cookies, visit.now
        )
        if refusal:
            return Served(refusal)
        answer = self._pages.answer(visit.address)
        fault = None if asked.kind in _FAULTLESS else self._faults.fault(visit.address)
        if fault is None:
            return Served(answer)
        if fault in ON_THE_WIRE:
            return Served(answer, fault, is_fault=True)
        return Served(spoil(fault, answer, visit.address), is_fault=True)

    def open_session(self, form: str, egress: str, now: float) -> Answer:
        """The answer of genvisitor2 to a form body."""
        refusal = self._limits and self._limits.refuse(egress, now, is_session=True)
        return self._refused(refusal, VISITOR) if refusal else self.guests.open_session(form, now)

    def _over_limit(self, asked: Asked, visit: Visit) -> Answer | None:
        if self._limits is None or asked.kind is Kind.VISITOR_PAGE:  # which is of another host
            return None
        is_list = asked.kind in _LISTS
        refusal = self._limits.refuse(visit.egress, visit.now, is_list=is_list)
        return self._refused(refusal, visit.address) if refusal else None

    def _refused(self, refusal: Refusal, address: str) -> Answer:
        answer = spoil(refusal.fault, END, address)
        headers = answer.headers
        if self._retry_after:
            headers += (("Retry-After", str(math.ceil(refusal.wait_s))),)
        return msgspec.structs.replace(answer, label=refusal.label, headers=headers)


def _pages(world: World, options: SimulatorOptions) -> Pages:
    if isinstance(world, LawfulWorld):
        return LawfulPages(world)
    return Pages(world, paging=options.paging, dates=options.dates, numbers=options.numbers)


class Site:
    """The site on the network: `handle` is what an aiohttp server calls for each request."""

    def __init__(
        self,
        world: World,
        options: SimulatorOptions,
        log: ServedLog | None,
        proxies: Sequence[Proxy] = (),
    ) -> None:
        self._world = world
        self._weibo = Weibo(world, options)
        self._slow_s = options.slow_s
        self._gzip = options.gzip
        self._log = log
        self._health = {proxy.address: proxy.health for proxy in proxies}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request, answered and written down."""
        address, cookies = request.raw_path, request.headers.get("Cookie", "")
        egress = request.remote or ""
        if request.method == "POST":
            served = Served(await self._posted(request, egress))
        else:
            served = self._weibo.serve(Visit(address, cookies, egress, time.monotonic()))
        session = session_of(cookies)
        self.note(
            *(address, served.label, egress), session=session, by="site", is_fault=served.is_fault
        )
        if served.wire_fault is not None:
            return await misbehave(served.wire_fault, request, served.answer, self._slow_s)
        zipped = self._gzip and "gzip" in request.headers.get("Accept-Encoding", "")
        return response(served.answer, zipped=zipped)

    def note(
        self,
        address: str,
        label: str,
        egress: str,
        *,
        session: str = "",
        by: str = "proxy",
        is_fault: bool = False,
    ) -> None:
        """Write down what was served, by the site or by a proxy alone; see served.Line."""
        if self._log is None:
            return
        uid = understand(address).uid if address else 0
        health = self._health.get(egress, "")
        line = Line(time.time(), address, label, uid, egress, session, health, by, is_fault)
        self._log.add(line)

    def other_user(self, address: str) -> str | None:
        """The same page of the next user of the world; None where the page is of nobody."""
        uid = understand(address).uid
        index = self._world.index(uid)
        if index is None:
            return None
        return address.replace(str(uid), str(self._world.uid((index + 1) % self._world.size)))

    async def _posted(self, request: web.BaseRequest, egress: str) -> Answer:
        if request.path != VISITOR:
            return Answer(b"", "not_allowed", 405)
        return self._weibo.open_session(await request.text(), egress, time.monotonic())
