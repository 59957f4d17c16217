"""Which proxies there are, how healthy each is, and what each does with a request.

All of it follows from seed, place in the list and the number of the request, so it is known
beforehand and the same in every run. Nothing here knows the network; see proxy_server.
"""

from enum import StrEnum
from random import Random
from typing import NamedTuple
from urllib.parse import quote

from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator.faults import read_share

HEALTH = {
    "good": "passes everything on",
    "slow": "passes everything on, late",
    "dead": "refuses connections",
    "flapping": "good for a while, then dead as long, and so on",
    "lying": "answers half of the requests itself: its own page, or the page of another user",
    "captive": "redirects to its portal",
    "tired": "answers most requests with 502 or 504",
}
MOST_PROXIES = 5_000  # each keeps two sockets, and three for each connection through it
_PER_NET = 250  # 127.0.1.1 to 127.0.1.250, then 127.0.2.1
_LYING, _TIRED = 0.5, 0.7  # shares of requests


class Deed(StrEnum):
    """What a proxy does with one request; the served log calls what the site never saw so."""

    FORWARD = "forward"
    OWN_PAGE = "own_page"
    OTHER_USER = "other_user"
    PORTAL = "portal"
    STATUS_502 = "proxy_502"
    STATUS_504 = "proxy_504"


class Proxy(NamedTuple):
    """address: where it listens, and what the site sees. number: its place, from 0.

    scheme: what the proxies file says of it; each speaks http and socks5. late_s: how long it
    waits before each answer. flap_s: how long it is up, then down, 0 for always up. phase_s: how
    far into the first such round it begins.
    """

    address: str
    number: int
    health: str
    scheme: str
    late_s: float = 0.0
    flap_s: float = 0.0
    phase_s: float = 0.0

    @property
    def is_up_at_first(self) -> bool:
        return self.health != "dead" and (not self.flap_s or self.phase_s < self.flap_s)

    def deed(self, seed: int, request: int) -> Deed:
        """What it does with its request of that number, from 0."""
        if self.health == "captive":
            return Deed.PORTAL
        if self.health not in ("lying", "tired"):
            return Deed.FORWARD
        dice = Random(f"{seed} {self.address} {request}")
        if self.health == "lying":
            deeds = (Deed.OWN_PAGE, Deed.OTHER_USER) if dice.random() < _LYING else ()
        else:
            deeds = (Deed.STATUS_502, Deed.STATUS_504) if dice.random() < _TIRED else ()
        return dice.choice(deeds) if deeds else Deed.FORWARD

    def url(self, port: int, login: str) -> str:
        """Its line of a proxies file. login: `user:password`, "" for none."""
        user, _, password = login.partition(":")
        account = f"{quote(user, safe='')}:{quote(password, safe='')}@" if login else ""
        return f"{self.scheme}://{account}{self.address}:{port}"


def parse_mix(text: str) -> dict[str, float]:
    """`good=0.7,slow=0.1,dead=0.05` as shares; what is missing from 1 is good.

    BadUsage for an unknown name, a share that is no number in 0 to 1, or shares over 1 in all.
    """
    mix = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, share = (word.strip() for word in part.partition("="))
        if name not in HEALTH or name in mix:
            raise BadUsage(
                f"--proxy-mix: {part!r}: write each name once, of {', '.join(HEALTH)}, "
                "such as good=0.8,dead=0.2"
            )
        mix[name] = read_share("--proxy-mix", name, share)
    if sum(mix.values()) > 1 + 1e-9:
        raise BadUsage("--proxy-mix: the shares add up to more than 1")
    return mix


def plan(
    count: int, mix: dict[str, float], *, seed: int, socks: float, slow_s: float, flap_s: float
) -> tuple[Proxy, ...]:
    """`count` proxies, as exactly of the mix as whole numbers allow, in an order drawn by seed.

    socks: the share that the proxies file calls socks5. slow_s: how late slow ones are, about.
    """
    rng = Random(f"{seed} proxies")
    healths = _deal(count, mix)
    schemes = ["socks5"] * round(count * socks)
    schemes += ["http"] * (count - len(schemes))
    rng.shuffle(healths)
    rng.shuffle(schemes)
    return tuple(
        _proxy(number, health, scheme, rng, slow_s=slow_s, flap_s=flap_s)
        for number, (health, scheme) in enumerate(zip(healths, schemes, strict=True))
    )


def _deal(count: int, mix: dict[str, float]) -> list[str]:
    """By largest remainders, so that shares of 0.333 of 3 are one each."""
    shares = mix | {"good": mix.get("good", 0.0) + max(0.0, 1 - sum(mix.values()))}
    exact = {name: share * count for name, share in shares.items()}
    dealt = {name: int(number + 1e-9) for name, number in exact.items()}
    left = count - sum(dealt.values())
    for name in sorted(exact, key=lambda name: dealt[name] - exact[name])[:left]:
        dealt[name] += 1
    return [name for name, number in dealt.items() for _ in range(number)]


def _proxy(
    number: int, health: str, scheme: str, rng: Random, *, slow_s: float, flap_s: float
) -> Proxy:
    net, host = divmod(number, _PER_NET)
    proxy = Proxy(f"127.0.{net + 1}.{host + 1}", number, health, scheme)
    if health == "slow":
        return proxy._replace(late_s=slow_s * rng.uniform(0.5, 1.5))
    if health == "flapping":
        return proxy._replace(flap_s=flap_s, phase_s=flap_s * 2 * rng.random())
    return proxy
