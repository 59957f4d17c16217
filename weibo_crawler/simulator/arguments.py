"""The command line of the simulator. Importing this starts nothing."""

import argparse
import time
from dataclasses import fields

from weibo_crawler.simulator.company import COMPANIES
from weibo_crawler.simulator.faults import FAULTS
from weibo_crawler.simulator.limits import FORBEARANCE, LONGEST
from weibo_crawler.simulator.options import (
    DATES,
    GUEST_YEARS,
    NUMBERS,
    PAGING,
    SimulatorOptions,
    flag,
)
from weibo_crawler.simulator.proxies import HEALTH

USUAL_PORT = 8800


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
    _add_limits(parser.add_argument_group("limits of one address, and of a session"))
    _add_proxies(parser.add_argument_group("proxies"))
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
            arguments.append(flag(field.name))
        elif isinstance(value, tuple):
            arguments.append(f"{flag(field.name)}={','.join(map(str, value))}")
        elif value is not None and value is not False:
            arguments.append(f"{flag(field.name)}={value}")
    return arguments


def _add_world(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--seed", type=int, help=_help("seed", "the number the world is made from"))
    add("--users", type=int, help=_help("users", "how many users, from 30"))
    add("--mean-posts", type=float, help=_help("mean_posts", "posts per user, on average"))
    add(
        "--laws",
        type=int,
        metavar="SEED",
        help="draw the rules of the site from this number, too: what is announced and what is "
        "shown, forms of pages, walls, limits, refusals; they replace the options of the site and "
        "its limits (default no)",
    )
    add("--describe", action="store_true", help="print the laws drawn, and end (default no)")
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
    for name in ("edited", "deleted"):
        add(
            f"--{name}-per-day",
            type=float,
            metavar="SHARE",
            help=_help(f"{name}_per_day", f"of the posts are {name} on each of these days"),
        )
    add(
        "--inflate-fans",
        type=float,
        help=_help("inflate_fans", "announce this many times the fans of accounts with 100"),
    )
    add(
        "--company",
        choices=COMPANIES,
        help=_help("company", "who comments, is passed on and named: those near, or anybody"),
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
    add(
        "--slow-s",
        type=float,
        help=_help("slow_s", "seconds a slow answer takes; by a slow proxy about so"),
    )
    add("--gzip", action="store_true", help="pack bodies for clients that take it (default no)")
    add("--warm", action="store_true", help="make all pages before listening (default no)")


def _add_limits(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--rate-limit",
        metavar="REQUESTS/SECONDS",
        help="what an address may ask for; who asks for more is refused (100005, 418, 414), and "
        f"banned (403, captcha) after {FORBEARANCE} refusals in that time (default none)",
    )
    add(
        "--ban-s",
        type=float,
        help=_help(
            "ban_s", f"seconds of a first ban; repeated ones double, {LONGEST}-fold at most"
        ),
    )
    add(
        "--soft-share",
        type=float,
        help=_help("soft_share", "of the refusals of lists, before a ban: they look empty (ok 0)"),
    )
    add(
        "--retry-after",
        action="store_true",
        help="refusals say Retry-After; the real site was not seen to (default no)",
    )
    add(
        "--session-requests",
        type=int,
        help=_help("session_requests", "requests after which a session expires, 0 for never"),
    )
    add(
        "--session-s",
        type=float,
        help=_help("session_s", "seconds after which a session expires, 0 for never"),
    )


def _add_proxies(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--proxies",
        type=int,
        help=_help("proxies", "run this many, on 127.0.1.1 and on; the site sees their addresses"),
    )
    kinds = "; ".join(f"{name}: {text}" for name, text in HEALTH.items())
    add(
        "--proxy-mix",
        metavar="HEALTH=SHARE,…",
        help=_help("proxy_mix", f"shares of them, the rest is good; {kinds}"),
    )
    add(
        "--proxy-socks",
        type=float,
        metavar="SHARE",
        help=_help("proxy_socks", "of them listed as socks5, the others as http; all speak both"),
    )
    add(
        "--proxy-login",
        metavar="USER:PASSWORD",
        help="what they ask for, in the file too (default none)",
    )
    add(
        "--proxy-port", type=int, help=_help("proxy_port", "where each listens, 0 for any free one")
    )
    add("--flap-s", type=float, help=_help("flap_s", "seconds a flapping one is up, then down"))
    add(
        "--proxies-out", metavar="FILE", help="write them as egress.proxies_file reads (default no)"
    )


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


def _help(name: str, text: str) -> str:
    default = next(field.default for field in fields(SimulatorOptions) if field.name == name)
    return f"{text} (default {'none' if default is None else default})"


def _epoch(text: str) -> int:
    return int(time.time()) if text == "now" else int(text)


def _uids(text: str) -> tuple[int, ...]:
    return tuple(int(uid) for uid in text.split(",") if uid)
