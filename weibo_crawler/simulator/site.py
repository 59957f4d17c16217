"""The site: who asks what goes past the gates, meets a fault or not, and is answered."""

import time
from collections.abc import Callable
from typing import NamedTuple

from aiohttp import web

from weibo_crawler.simulator.faults import FaultPlan, parse_faults
from weibo_crawler.simulator.guests import GUESTS, Guests
from weibo_crawler.simulator.misbehave import ON_THE_WIRE, misbehave, response, spoil
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.pages import Pages
from weibo_crawler.simulator.routes import VISITOR, Asked, Kind, understand
from weibo_crawler.simulator.truth import ServedLog
from weibo_crawler.simulator.wire import Answer
from weibo_crawler.simulator.world import World

_FAULTLESS = frozenset({Kind.HOME, Kind.VISITOR_PAGE, Kind.UNKNOWN})


class Visit(NamedTuple):
    """One GET. address: path and query as sent. cookies: the header. egress: whence it comes."""

    address: str
    cookies: str
    egress: str


class Served(NamedTuple):
    """What a visit gets: an answer, and the fault of the connection it is served with, if any."""

    answer: Answer
    wire_fault: str | None = None

    @property
    def label(self) -> str:
        """The name the served log gives it."""
        return self.wire_fault or self.answer.label


# A gate turns a visit away with an answer, or lets it pass with None. It is given the number of
# the page, too. A limit per egress is one more gate.
Gate = Callable[[Asked, int, Visit], Answer | None]


class Weibo:
    """Everything of the site but the network."""

    def __init__(self, world: World, options: SimulatorOptions) -> None:
        self._pages = Pages(
            world, paging=options.paging, dates=options.dates, numbers=options.numbers
        )
        if options.warm:
            self._pages.warm()
        self.guests = Guests(
            GUESTS[options.guests],
            fans_walled=options.fans_walled,
            session_requests=options.session_requests,
        )
        rates = parse_faults(options.faults)
        self._faults = FaultPlan(options.seed, rates, options.max_consecutive)
        self._gates: tuple[Gate, ...] = (self._doorkeeper,)

    def serve(self, visit: Visit) -> Served:
        """The answer to a visit. Only content is spoilt by faults, never a refusal at a gate."""
        asked = understand(visit.address)
        number = self._pages.number(asked)
        for gate in self._gates:
            if refusal := gate(asked, number, visit):
                return Served(refusal)
        answer = self._pages.answer(visit.address)
        fault = None if asked.kind in _FAULTLESS else self._faults.fault(visit.address)
        if fault is None:
            return Served(answer)
        if fault in ON_THE_WIRE:
            return Served(answer, fault)
        return Served(spoil(fault, answer, visit.address))

    def _doorkeeper(self, asked: Asked, number: int, visit: Visit) -> Answer | None:
        return self.guests.turned_away(asked, number, visit.address, visit.cookies)


class Site:
    """The site on the network: `handle` is what an aiohttp server calls for each request."""

    def __init__(self, world: World, options: SimulatorOptions, log: ServedLog | None) -> None:
        self._weibo = Weibo(world, options)
        self._slow_s = options.slow_s
        self._gzip = options.gzip
        self._log = log

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request, answered and written down."""
        address = request.raw_path
        egress = request.remote or ""
        if request.method == "POST":
            served = Served(await self._posted(request))
        else:
            served = self._weibo.serve(Visit(address, request.headers.get("Cookie", ""), egress))
        if self._log is not None:
            self._log.add(time.time(), address, served.label, understand(address).uid, egress)
        if served.wire_fault is not None:
            return await misbehave(served.wire_fault, request, served.answer, self._slow_s)
        zipped = self._gzip and "gzip" in request.headers.get("Accept-Encoding", "")
        return response(served.answer, zipped=zipped)

    async def _posted(self, request: web.BaseRequest) -> Answer:
        if request.path != VISITOR:
            return Answer(b"", "not_allowed", 405)
        return self._weibo.guests.open_session(await request.text())
