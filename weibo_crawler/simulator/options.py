"""What can be asked of the simulator, and its command line. Importing this starts nothing."""

import argparse
import ipaddress
import time
from dataclasses import dataclass, fields

from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator.faults import FAULTS, parse_faults

GUEST_YEARS = ("open", "2020", "2023", "2026")
DATES = ("rfc", "relative")
PAGING = ("page", "since_id")
NUMBERS = ("strings", "ints")
USUAL_PORT = 8800


@dataclass(frozen=True, slots=True)
class SimulatorOptions:
    """Every knob; the help texts of `add_arguments` say what each means. BadUsage if one is wrong.

    port 0 is any free one. Times are seconds since the epoch. max_depth None: no limit.
    truth_seeds empty: the world's own. truth_out, served_out: files, None for none.
    """

    host: str = "127.0.0.1"
    port: int = 0
    seed: int = 1
    users: int = 3000
    mean_posts: float = 20.0
    epoch: int = 1_793_462_400  # 2026-11-01 00:00 on the site's clock
    days_later: float = 0.0
    inflate_fans: float = 1.0
    guests: str = "open"
    fans_walled: bool = False
    session_requests: int = 0
    dates: str = "rfc"
    paging: str = "page"
    numbers: str = "strings"
    faults: str = ""
    max_consecutive: int = 2
    slow_s: float = 2.0
    gzip: bool = False
    warm: bool = False
    truth_out: str | None = None
    truth_seeds: tuple[int, ...] = ()
    min_fans: int = 10
    max_depth: int | None = None
    served_out: str | None = None

    def __post_init__(self) -> None:
        if not _is_loopback(self.host):
            raise BadUsage(
                f"--host: {self.host!r} is no loopback address; the simulator is for this "
                "machine only, use 127.0.0.1"
            )
        if not 0 <= self.port <= 65_535:
            raise BadUsage(f"--port: {self.port} is no port; use 0 to 65535, 0 for any free one")
        for name, known in _CHOICES.items():
            if (given := getattr(self, name)) not in known:
                raise BadUsage(f"{_flag(name)}: {given!r} is not known; use {', '.join(known)}")
        for name in ("session_requests", "max_consecutive", "slow_s", "min_fans", "max_depth"):
            if (number := getattr(self, name)) is not None and number < 0:
                raise BadUsage(f"{_flag(name)}: {number} is negative")
        parse_faults(self.faults)


_CHOICES = {"guests": GUEST_YEARS, "dates": DATES, "paging": PAGING, "numbers": NUMBERS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add every knob to a parser."""
    place = parser.add_argument_group("where")
    place.add_argument("--host", help=_help("host", "loopback address to listen on"))
    place.add_argument(
        "--port",
        type=int,
        default=USUAL_PORT,
        help=f"port, 0 for any free one (default {USUAL_PORT})",
    )
    _add_world(parser.add_argument_group("the world"))
    _add_site(parser.add_argument_group("the site"))
    _add_files(parser.add_argument_group("what is true, and what was served"))
    known = {field.name: field.default for field in fields(SimulatorOptions)}
    parser.set_defaults(**{name: value for name, value in known.items() if name != "port"})


def from_arguments(namespace: argparse.Namespace) -> SimulatorOptions:
    """The options of a parsed command line; BadUsage if one is wrong."""
    given = {field.name: getattr(namespace, field.name) for field in fields(SimulatorOptions)}
    return SimulatorOptions(**given)


def to_arguments(options: SimulatorOptions) -> list[str]:
    """The command line that gives these options."""
    arguments = []
    for field in fields(SimulatorOptions):
        value = getattr(options, field.name)
        if value is True:
            arguments.append(_flag(field.name))
        elif isinstance(value, tuple):
            arguments.append(f"{_flag(field.name)}={','.join(map(str, value))}")
        elif value is not None and value is not False:
            arguments.append(f"{_flag(field.name)}={value}")
    return arguments


def _add_world(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--seed", type=int, help=_help("seed", "the number the world is made from"))
    add("--users", type=int, help=_help("users", "how many users, from 30"))
    add("--mean-posts", type=float, help=_help("mean_posts", "posts per user, on average"))
    add(
        "--epoch",
        type=_epoch,
        help=_help("epoch", "the last second of the world, seconds since 1970, or: now"),
    )
    add(
        "--days-later",
        type=float,
        help=_help("days_later", "the same world so many days on, with the new posts"),
    )
    add(
        "--inflate-fans",
        type=float,
        help=_help("inflate_fans", "announce this many times the fans of accounts with 100"),
    )


def _add_site(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--guests",
        choices=GUEST_YEARS,
        help=_help(
            "guests", "open: no session needed; else as in that year: all posts, 2 pages, page 1"
        ),
    )
    add("--fans-walled", action="store_true", help="fan and follow lists need a login (default no)")
    add(
        "--session-requests",
        type=int,
        help=_help("session_requests", "requests after which a session expires, 0 for never"),
    )
    add("--dates", choices=DATES, help=_help("dates", "how lists write dates"))
    add("--paging", choices=PAGING, help=_help("paging", "how a timeline names its next page"))
    add("--numbers", choices=NUMBERS, help=_help("numbers", "how followers_count is written"))
    faults = "NAME=RATE,… with rates 0 to 1; names: " + ", ".join(FAULTS)
    add("--faults", help=f"{faults}; NAME:permanent=RATE hits a page for ever (default none)")
    add(
        "--max-consecutive",
        type=int,
        help=_help("max_consecutive", "how often in a row a request may fail"),
    )
    add("--slow-s", type=float, help=_help("slow_s", "seconds a slow answer takes"))
    add("--gzip", action="store_true", help="pack bodies for clients that take it (default no)")
    add("--warm", action="store_true", help="make all pages before listening (default no)")


def _add_files(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--truth-out", metavar="FILE", help="write what is true as JSON (default no)")
    add(
        "--truth-seeds",
        type=_uids,
        metavar="UID,…",
        help="where the true walk starts (default: the world's hubs)",
    )
    add("--min-fans", type=int, help=_help("min_fans", "of the true walk"))
    add("--max-depth", type=int, help=_help("max_depth", "of the true walk"))
    add("--served-out", metavar="FILE", help="write a JSON line per request (default no)")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _help(name: str, text: str) -> str:
    default = next(field.default for field in fields(SimulatorOptions) if field.name == name)
    return f"{text} (default {default})"


def _epoch(text: str) -> int:
    return int(time.time()) if text == "now" else int(text)


def _uids(text: str) -> tuple[int, ...]:
    return tuple(int(uid) for uid in text.split(",") if uid)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
