"""A fetcher from the settings."""

import resource as limits
import sys
import time
from collections.abc import Callable
from math import inf
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

from weibo_crawler import config
from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, ListAway, how_to_install
from weibo_crawler.fetch.breaker import Breaker
from weibo_crawler.fetch.downloads import Downloads, Sessionless
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.fetcher import Fetcher
from weibo_crawler.fetch.pool import Pool
from weibo_crawler.fetch.pool.keeper import Keeper, Leases
from weibo_crawler.fetch.pool.outage import Outage
from weibo_crawler.fetch.pool.proxy_sources import File
from weibo_crawler.fetch.pool.reloading import Reloader
from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.fetch.pool.roster import Roster
from weibo_crawler.fetch.pool.session import SessionSite, Visitor
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.wire import host_of
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Answer
from weibo_crawler.samples import Samples
from weibo_crawler.sites import Site

PLACES = 32  # callers keep the processor busy where the pace has no limit
_FILES_EACH = 4  # under way by one egress, less than browsers have
_REFUSED_S = 20.0  # of refusals alone end a run without a pace: bans are shorter, or are for long
_LIST_AWAY_S = 60.0  # an editor or a script that writes a list anew takes less
_LOOK_S = 0.5
FILES_BESIDE = 64  # open files that are no connections

if TYPE_CHECKING:
    from weibo_crawler.fetch.clients.requests_transport import RequestsTransport
    from weibo_crawler.fetch.clients.wreq_transport import WreqTransport


def open_fetcher(
    settings: Settings,
    site: Site,
    counters: Counters,
    leases: Leases | None = None,
    on_answer: Callable[[Answer], None] | None = None,
) -> Fetcher:
    """The fetcher of one process; close it after use. Errors: BadConfig, as `Roster.load`.

    leases: where the egresses are leased from; None: this process has them for itself. Without a
    pace limit (loopback only) it has, and all waits are short: nobody is there to be spared.
    on_answer: as in `Fetcher`.
    """
    rng, transport = Random(), choose_transport(settings.fetch)
    sender = Sender(
        transport(settings.fetch), frozenset(map(host_of, site.addresses)), counters, site.sign
    )
    most = min(transport.most_at_once, most_files())
    pool = _open_pool(settings, settings.pace, site, counters, leases, sender, most, rng)
    pace = settings.pace
    breaker = Breaker(
        *(pace.stop_share, pace.stop_window),
        drift_share=pace.drift_share,
        is_patient=pace.requests_per_second > 0,
    )
    attempts, samples = settings.fetch.attempts, Samples(settings.fetch.doubt_share)
    return Fetcher(
        *(site, pool, sender, breaker, counters),
        attempts=attempts,
        rng=rng,
        samples=samples,
        on_answer=on_answer,
    )


def open_downloads(
    settings: Settings, site: Site, counters: Counters, leases: Leases | None
) -> Downloads:
    """What fetches files by the same egresses, at the pace of [media] and without sessions; close
    it after use. Errors: as `open_fetcher`."""
    from weibo_crawler.fetch.clients.requests_transport import RequestsTransport

    rng, rate = Random(), settings.media.requests_per_second
    pace = replace(settings.pace, requests_per_second=rate, min_requests_per_second=None)
    transport = RequestsTransport(settings.fetch)
    sender = Sender(transport, frozenset(), counters)
    most = min(transport.most_at_once, most_files())
    pool = _open_pool(
        *(settings, pace, Sessionless(site), counters, leases, sender, most, rng),
        each=_FILES_EACH,
        budget="media:",
    )
    return Downloads(pool, transport, counters, rng, attempts=settings.fetch.attempts)


def _open_pool(
    settings: Settings,
    pace: config.Pace,
    site: SessionSite,
    counters: Counters,
    leases: Leases | None,
    sender: Sender,
    most: int,
    rng: Random,
    each: int | None = None,
    budget: str = "",
) -> Pool:
    """The egresses of the settings under this pace. most: requests at once; each: for each egress
    as well. budget: as in `Keeper`."""
    roster = Roster(settings.egress, settings.fetch)
    egresses = roster.load()
    is_free = pace.requests_per_second == 0
    is_leased = leases is not None and not is_free
    ring = Ring([] if is_leased else egresses, pace, is_leased=is_leased)
    visitor = Visitor(
        site,
        counters,
        rng,
        cooldown_s=0.2 if is_free else 60.0,
        retry_s=0.1 if is_free else 1.0,
        per_hour=None if is_free else settings.session.per_hour,
    )
    keeper, stop_s = None, 0.0
    if leases is not None and not is_free:
        address, lease_s = settings.egress.public_address, settings.egress.lease_s
        keeper = Keeper(
            *(leases, ring, visitor, egresses, counters),
            address=address,
            lease_s=lease_s,
            budget=budget,
        )
        stop_s = lease_s  # within that others hand over what they can spare
    fixed, reload_s = settings.fetch.concurrency, settings.egress.reload_s
    return Pool(
        ring,
        visitor,
        sender,
        Outage(
            stop_s if settings.egress.when_empty == "stop" else None,
            pace.give_up_s or None,
            refused_s=_REFUSED_S if is_free and each is None else inf,
        ),
        concurrency=fixed or (most if each is None else min(most, each * len(egresses))),
        least=fixed or PLACES,
        rng=rng,
        keeper=keeper,
        reloader=Reloader(roster, egresses, ring, keeper, counters, reload_s=reload_s),
    )


def settings_of_task() -> Settings:
    """The settings of a task, which begins whenever its turn comes. Its driver could read the list
    of proxies; where that is away now, or just being written, it comes back: for _LIST_AWAY_S it is
    looked at again, as a run under way does. Errors: BadConfig."""
    until = time.monotonic() + _LIST_AWAY_S
    while True:
        try:
            settings = config.load()
            egress = settings.egress
            if egress.proxies_file is not None:
                source = File(egress.proxies_file)
                source.read()
                if not (source.addresses or egress.use_direct or egress.proxies_url):
                    raise ListAway(f"{source.setting}: {egress.proxies_file} names no proxy")
            return settings
        except ListAway:
            if time.monotonic() >= until:
                raise
            time.sleep(_LOOK_S)


def most_files() -> int:
    """How many requests may be under way at once for the number of files that a process may open:
    each may need two."""
    soft, _ = limits.getrlimit(limits.RLIMIT_NOFILE)
    return sys.maxsize if soft == limits.RLIM_INFINITY else max(1, (soft - FILES_BESIDE) // 2)


def load_egresses(settings: config.Egress, fetch: config.Fetch) -> list[Egress]:
    """All ways out of the settings now, the direct one first. Errors: those of `Roster.load`."""
    return Roster(settings, fetch).load()


def described_egresses(settings: Settings) -> str:
    """How many ways out there are, and what the pace allows them, for people. By proxies nothing is
    sent. Errors: those of `Roster.load`."""
    found = load_egresses(settings.egress, settings.fetch)
    rate = settings.pace.requests_per_second
    proxies = sum(1 for egress in found if egress.proxy_url)
    bound = [str(egress.local) for egress in found if egress.local is not None]
    direct = "and the direct connection, " if len(found) > proxies else ""
    if bound:
        direct = f"and direct connections from {', '.join(bound)}, "
    pace = f"{rate:.3g} requests/s each, {rate * len(found):.3g} in all" if rate else "no limit"
    return f"{proxies:,} proxies {direct}{pace}"


def choose_transport(settings: config.Fetch) -> "type[RequestsTransport | WreqTransport]":
    """The transport that `fetch.transport` names; "auto": wreq where it is installed.

    Errors: BadConfig where wreq is named and not installed.
    """
    if settings.transport != "requests":
        try:
            from weibo_crawler.fetch.clients.wreq_transport import WreqTransport
        except ImportError as error:
            if settings.transport == "wreq":
                raise BadConfig(
                    f"fetch.transport: wreq cannot be used ({error}): "
                    f"{how_to_install('fast')}, or set it to auto"
                ) from None
        else:
            return WreqTransport
    from weibo_crawler.fetch.clients.requests_transport import RequestsTransport

    return RequestsTransport
