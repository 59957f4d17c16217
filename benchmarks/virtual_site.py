"""The simulated site and its proxies in virtual time: an hour of a crawl in seconds.

Limits, bans, sessions, pages and the deeds of the proxies are the simulator's own; only the sockets
are left out. An exchange takes the round trip of its proxy, and each way a delay drawn anew; so
requests arrive with other gaps than they were sent with.
"""

import asyncio
from collections import Counter
from math import inf
from random import Random
from typing import NamedTuple

from weibo_crawler.errors import BodyCut, EgressFailed
from weibo_crawler.fetch.clients.transport import Headers
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Page, Request
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.proxies import Deed, Proxy, parse_mix, plan
from weibo_crawler.simulator.proxy_wire import own_answer
from weibo_crawler.simulator.site import Site, Visit, Weibo
from weibo_crawler.simulator.wire import HTML, Answer
from weibo_crawler.simulator.world import World

BASE_URL = "http://127.0.0.1:8800"
_PORTAL = "http://127.0.1.1:3128/portal"
_PORT = 3128


class Delays(NamedTuple):
    """Seconds. round_trip: of a proxy, drawn between the two; jitter: the mean of what each way
    takes beyond its half of it (exponential)."""

    round_trip: tuple[float, float]
    jitter: float


INTERNET = Delays((0.04, 0.2), 0.01)
LOOPBACK = Delays((0.001, 0.003), 0.001)


class Answers:
    """What the site, or a proxy in its place, answers. served: (address, label) -> times, as the
    simulator's served log would say."""

    def __init__(self, options: SimulatorOptions, world: World) -> None:
        self.served: Counter[tuple[str, str]] = Counter()
        self._seed = options.seed
        self._weibo = Weibo(world, options)
        self._other_user = Site(world, options, None).other_user
        self._requests: Counter[str] = Counter()

    def answer(self, proxy: Proxy, request: Request, cookies: str, now: float) -> Answer:
        deed = proxy.deed(self._seed, self._requests[proxy.address])
        self._requests[proxy.address] += 1
        address = request.url.removeprefix(BASE_URL)
        if deed is Deed.OTHER_USER:
            other = self._other_user(address)
            address, deed = (address, Deed.OWN_PAGE) if other is None else (other, deed)
        if deed not in (Deed.FORWARD, Deed.OTHER_USER):
            self.served[proxy.address, str(deed)] += 1
            return _own(deed)
        if request.method == "POST":
            form = (request.body or b"").decode()
            answer = self._weibo.open_session(form, proxy.address, now)
        else:
            answer = self._weibo.serve(Visit(address, cookies, proxy.address, now)).answer
        self.served[proxy.address, answer.label] += 1
        return answer

    def count(self, label: str = "") -> int:
        """How many of these there were, "": of all."""
        return sum(n for (_, said), n in self.served.items() if label in ("", said))


class VirtualSite:
    """A `Transport`. answers: those of the site; began_at: when pages say that the virtual clock
    began, in seconds since the epoch."""

    name, most_at_once = "virtual", 1000

    def __init__(
        self, options: SimulatorOptions, answers: Answers, delays: Delays, began_at: float = 0.0
    ) -> None:
        self.proxies = proxies_of(options)
        self.until = inf
        self._answers, self._began_at, self._jitter = answers, began_at, delays.jitter
        self._rng = Random(f"{options.seed} delays")
        self._round_trip_s = {p.number: self._rng.uniform(*delays.round_trip) for p in self.proxies}
        self._by_name = {egress_of(proxy).name: proxy for proxy in self.proxies}

    async def send(self, request: Request, headers: Headers, egress: Egress) -> Page:
        """One exchange. Errors: EgressFailed; BodyCut where the proxy goes down under way."""
        loop, proxy = asyncio.get_running_loop(), self._by_name[egress.name]
        await asyncio.sleep(self._way_s(proxy))
        if not is_up(proxy, loop.time()):
            raise EgressFailed(f"{egress.name}: refuses connections")
        if proxy.late_s:
            await asyncio.sleep(proxy.late_s)
        cookies = dict(headers).get("Cookie", "")
        answer = self._answers.answer(proxy, request, cookies, loop.time())
        await asyncio.sleep(self._way_s(proxy))
        if not is_up(proxy, loop.time()):
            raise BodyCut(f"{egress.name}: the connection broke")
        kept = tuple((name.lower(), value) for name, value in answer.headers)
        at = self._began_at + loop.time()
        return Page(request.url, answer.status, kept, answer.body, at, egress.name)

    async def close(self) -> None:
        """Nothing is open."""

    def _way_s(self, proxy: Proxy) -> float:
        half_s = self._round_trip_s[proxy.number] / 2
        return half_s + self._rng.expovariate(1 / self._jitter)


def proxies_of(options: SimulatorOptions) -> tuple[Proxy, ...]:
    """The proxies that a simulator with these options runs."""
    return plan(
        options.proxies,
        parse_mix(options.proxy_mix),
        seed=options.seed,
        socks=options.proxy_socks,
        slow_s=options.slow_s,
        flap_s=options.flap_s,
    )


def egress_of(proxy: Proxy) -> Egress:
    """A proxy as the fetcher knows it."""
    return Egress(f"{proxy.address}:{_PORT}", proxy.url(_PORT, ""))


def is_up(proxy: Proxy, now: float) -> bool:
    """Whether it takes connections, `now` seconds after the start."""
    if not proxy.flap_s:
        return proxy.health != "dead"
    return (proxy.phase_s + now) % (2 * proxy.flap_s) < proxy.flap_s


def up_s(proxy: Proxy, seconds: float) -> float:
    """How much of the first `seconds` it is up."""
    if not proxy.flap_s:
        return seconds if proxy.health != "dead" else 0.0

    def until(at: float) -> float:
        rounds, rest = divmod(at, 2 * proxy.flap_s)
        return rounds * proxy.flap_s + min(rest, proxy.flap_s)

    return until(proxy.phase_s + seconds) - until(proxy.phase_s)


def _own(deed: Deed) -> Answer:
    head, _, body = own_answer(deed, _PORTAL).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    headers = tuple((name, value) for name, _, value in pairs if name == "Location")
    return Answer(body, str(deed), int(first.split(" ")[1]), HTML, headers)
