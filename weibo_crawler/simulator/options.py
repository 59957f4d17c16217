"""What can be asked of the simulator: one table of its options, for `arguments` too.

Importing this starts nothing.
"""

import ipaddress
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from math import inf
from typing import Any, NamedTuple

from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator.company import COMPANIES
from weibo_crawler.simulator.faults import FAULTS, parse_faults
from weibo_crawler.simulator.graph import POPULAR
from weibo_crawler.simulator.limits import FORBEARANCE, LONGEST, parse_rate
from weibo_crawler.simulator.proxies import HEALTH, MOST_PROXIES, parse_mix

GUEST_YEARS = ("open", "2020", "2023", "2026")
_KINDS = "; ".join(f"{name}: {text}" for name, text in HEALTH.items())


class Option(NamedTuple):
    """What the command line says of an option, under which heading. read: its value from a text;
    bool: it takes none. range: the least and the most."""

    heading: str
    help: str
    read: Callable[[str], Any]
    choices: Collection[str] | None = None
    range: tuple[float, float] = (-inf, inf)
    metavar: str | None = None


def _options(heading: str) -> Callable[..., Any]:
    """Make the fields of the options under one heading."""

    def option(default: Any, text: str, read: Any = None, **more: Any) -> Any:
        about = Option(heading, text, read or type(default), **more)
        return field(default=default, metadata={"option": about})

    return option


def _epoch(text: str) -> int:
    return int(time.time()) if text == "now" else int(text)


def _uids(text: str) -> tuple[int, ...]:
    return tuple(int(uid) for uid in text.split(",") if uid)


def _words(text: str) -> tuple[str, ...]:
    return tuple(words for words in text.split(",") if words)


_where = _options("where")
_world = _options("the world")
_site = _options("the site")
_limit = _options("limits of one address, and of a session")
_proxy = _options("proxies")
_file = _options("what is true, and what was served")


@dataclass(frozen=True, slots=True)
class SimulatorOptions:
    """Every option, with what the command line says of it. BadUsage if one is wrong.

    port 0 is any free one. Times are seconds since the epoch. max_depth None: no limit.
    truth_seeds empty: the world's own. The files of `_out`: None for none.
    """

    host: str = _where("127.0.0.1", "loopback address to listen on")
    port: int = _where(0, "port, 0 for any free one", range=(0, 65_535))

    seed: int = _world(1, "the number the world is made from")
    users: int = _world(3000, "how many users, from 30")
    mean_posts: float = _world(20.0, "posts per user, on average")
    laws: int | None = _world(
        None,
        "draw the rules of the site from this number, too: what is announced and what is shown, "
        "forms of pages, walls, limits, refusals; they replace the options of the site and its "
        "limits",
        int,
        range=(0, inf),
        metavar="SEED",
    )
    describe: bool = _world(False, "print the laws drawn, and end")
    epoch: int = _world(  # 2026-11-01 00:00 on the site's clock
        1_793_462_400, "the last second of the world, seconds since 1970, or: now", _epoch
    )
    days_later: float = _world(0.0, "the same world so many days on, with the new posts")
    edited_per_day: float = _world(
        0.0, "of the posts are edited on each of these days", metavar="SHARE"
    )
    deleted_per_day: float = _world(
        0.0, "of the posts are deleted on each of these days", metavar="SHARE"
    )
    inflate_fans: float = _world(1.0, "announce this many times the fans of accounts with 100")
    company: str = _world(
        "near", "who comments, is passed on and named: those near, or anybody", choices=COMPANIES
    )

    guests: str = _site(
        "open",
        "open: no session needed; else as in that year: all posts, 2 pages, page 1",
        choices=GUEST_YEARS,
    )
    fans_walled: bool = _site(False, "fan and follow lists need a login")
    topics_walled: bool = _site(False, "pages of topics need a login")
    dates: str = _site("rfc", "how lists write dates", choices=("rfc", "relative"))
    paging: str = _site("page", "how a timeline names its next page", choices=("page", "since_id"))
    numbers: str = _site("strings", "how followers_count is written", choices=("strings", "ints"))
    faults: str = _site(
        "",
        f"NAME=RATE,… with rates 0 to 1; names: {', '.join(FAULTS)}; NAME:permanent=RATE hits a "
        "page for ever",
    )
    max_consecutive: int = _site(2, "how often in a row a request may fail", range=(0, inf))
    slow_s: float = _site(
        2.0, "seconds a slow answer takes; by a slow proxy about so", range=(0, inf)
    )
    gzip: bool = _site(False, "pack bodies for clients that take it")

    rate_limit: str = _limit(
        "",
        "what an address may ask for; who asks for more is refused (100005, 418, 414), and "
        f"banned (403, captcha) after {FORBEARANCE} refusals in that time",
        metavar="REQUESTS/SECONDS",
    )
    ban_s: float = _limit(
        60.0,
        f"seconds of a first ban; repeated ones double, {LONGEST}-fold at most",
        range=(0, inf),
    )
    soft_share: float = _limit(
        0.2, "of the refusals of lists, before a ban: they look empty (ok 0)", range=(0, 1)
    )
    retry_after: bool = _limit(False, "refusals say Retry-After; the real site was not seen to")
    session_requests: int = _limit(
        0, "requests after which a session expires, 0 for never", range=(0, inf)
    )
    session_s: float = _limit(
        0.0, "seconds after which a session expires, 0 for never", range=(0, inf)
    )

    proxies: int = _proxy(
        0,
        "run this many, on 127.0.1.1 and on; the site sees their addresses",
        range=(0, MOST_PROXIES),
    )
    proxy_mix: str = _proxy(
        "good=1", f"shares of them, the rest is good; {_KINDS}", metavar="HEALTH=SHARE,…"
    )
    proxy_socks: float = _proxy(
        0.0,
        "of them listed as socks5, the others as http; all speak both",
        range=(0, 1),
        metavar="SHARE",
    )
    proxy_login: str = _proxy("", "what they ask for, in the file too", metavar="USER:PASSWORD")
    proxy_port: int = _proxy(0, "where each listens, 0 for any free one", range=(0, 65_535))
    flap_s: float = _proxy(20.0, "seconds a flapping one is up, then down", range=(0.01, inf))
    proxies_out: str | None = _proxy(
        None, "write them as egress.proxies_file reads", str, metavar="FILE"
    )

    truth_out: str | None = _file(None, "write what is true as JSON", str, metavar="FILE")
    truth_seeds: tuple[int, ...] = _file(
        (), "where the true walk starts, in place of the world's hubs", _uids, metavar="UID,…"
    )
    truth_topics: tuple[str, ...] = _file(
        (), "topics from which it starts, too: #…#, or words", _words, metavar="WORDS,…"
    )
    topic_pages: int = _file(1, "of each topic, in the true walk", range=(1, inf))
    min_fans: int = _file(POPULAR, "of the true walk", range=(0, inf))
    max_depth: int | None = _file(None, "of the true walk", int, range=(0, inf))
    served_out: str | None = _file(None, "write a JSON line per request", str, metavar="FILE")

    def __post_init__(self) -> None:
        if not _is_loopback(self.host):
            raise BadUsage(
                f"--host: {self.host!r} is no loopback address; the simulator is for this "
                "machine only, use 127.0.0.1"
            )
        for known in fields(self):
            _check(flag(known.name), known.metadata["option"], getattr(self, known.name))
        if self.describe and self.laws is None:
            raise BadUsage("--describe: give the laws to describe: --laws SEED")
        parse_faults(self.faults)
        parse_rate(self.rate_limit)
        parse_mix(self.proxy_mix)
        if self.proxy_login and not all(self.proxy_login.partition(":")):
            raise BadUsage("--proxy-login: write USER:PASSWORD")
        if self.proxies and not self.host.startswith("127."):
            raise BadUsage("--proxies: they reach only a --host of IPv4, such as 127.0.0.1")


def _check(name: str, option: Option, given: Any) -> None:
    if option.choices is not None and given not in option.choices:
        raise BadUsage(f"{name}: {given!r} is not known; use {', '.join(option.choices)}")
    least, most = option.range
    if isinstance(given, int | float) and not least <= given <= most:
        raise BadUsage(f"{name}: {given} does not lie in {least} to {most}")


def flag(name: str) -> str:
    """How the command line calls an option."""
    return "--" + name.replace("_", "-")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
