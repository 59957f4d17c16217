"""proxies check: every egress that nobody else is using, judged by what the site is to answer."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from random import Random

from weibo_crawler.errors import StoreError
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.opening import PLACES, choose_transport, load_egresses
from weibo_crawler.fetch.pool.session import Visitor
from weibo_crawler.fetch.pool.trial import Trial, Trier
from weibo_crawler.fetch.sender import Sender
from weibo_crawler.fetch.wire import host_of
from weibo_crawler.home import Home
from weibo_crawler.metrics import Counters
from weibo_crawler.records import EgressState
from weibo_crawler.store.sql.egresses import EgressLeases, Known

_log = logging.getLogger(__name__)
_LIMIT_S = 900.0  # of the whole check
_LONG_WAIT_S = 60.0  # who may not be asked before is not waited for

Row = dict[str, str | int | None]


async def check_egresses(home: Home, *, limit_s: float = _LIMIT_S) -> list[Row]:
    """One row an egress: egress, state (as `Trial`; used: another run has it; out: it rests or is
    dead, or its turn does not come in time, and is not asked), verdict, status, ms, detail. Side by
    side, each at its pace, with the sessions that it has; a new one is kept for the next run. It
    ends after limit_s seconds, whatever the egresses do."""
    settings, counters = home.settings, Counters()
    fetch, rate = settings.fetch, settings.pace.requests_per_second
    egresses = load_egresses(settings.egress, fetch)
    hosts = frozenset(map(host_of, home.site.addresses))
    sender = Sender(choose_transport(fetch)(fetch), hosts, counters, home.site.sign)
    visitor = Visitor(home.site, counters, Random(), per_hour=settings.session.per_hour)
    gap_s = 1.1 / rate if rate else 0.0
    exchange_s = fetch.connect_timeout_s + 2 * fetch.read_timeout_s
    trier = Trier(
        home.site,
        sender,
        visitor,
        concurrency=fetch.concurrency or PLACES,
        gap_s=gap_s,
        limit_s=min(limit_s, gap_s + 2 * exchange_s),  # a session, and a page
    )
    try:
        if home.leases is None:
            return await _all({egress: _tried(trier, egress, 0.0) for egress in egresses}, limit_s)
        names = {e.name: e.lease_name(settings.egress.public_address) for e in egresses}
        async with _borrowed(home, home.leases, names, visitor) as (held, known):
            rows = {
                egress: _one(trier, visitor, egress, names[egress.name], held, known)
                for egress in egresses
            }
            return await _all(rows, limit_s)
    finally:
        await sender.close()


async def _all(trials: Mapping[Egress, Coroutine[None, None, Row]], limit_s: float) -> list[Row]:
    """The rows in their order; who has none after limit_s seconds is out."""
    tasks = {egress: asyncio.create_task(trial) for egress, trial in trials.items()}
    try:
        await asyncio.wait(tasks.values(), timeout=limit_s)
    finally:
        late = [task for task in tasks.values() if not task.done()]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
    why = f"not tried: the check ends after {limit_s:g} s"
    return [
        _row(egress, "out", detail=why) if task.cancelled() else task.result()
        for egress, task in tasks.items()
    ]


async def _one(
    trier: Trier,
    visitor: Visitor,
    egress: Egress,
    name: str,
    held: Mapping[str, EgressState],
    known: Mapping[str, Known],
) -> Row:
    if name not in held:
        return _standing(egress, known[name])
    state = held[name]
    now = asyncio.get_running_loop().time()
    visitor.restore(egress, state.session, state.age_s, now)
    bar_s = visitor.bar_s(egress, now)
    if bar_s:
        return _row(egress, "out", detail=f"asked for its sessions of this hour, {bar_s:.0f} s")
    return await _tried(trier, egress, state.next_free_s)


async def _tried(trier: Trier, egress: Egress, wait_s: float) -> Row:
    if wait_s > _LONG_WAIT_S:
        return _row(egress, "out", detail=f"its turn is in {wait_s:.0f} s")
    await asyncio.sleep(wait_s)
    trial: Trial = await trier.run(egress)
    return _row(
        egress,
        trial.state,
        verdict=trial.verdict,
        status=trial.status,
        ms=round(trial.took_s * 1000),
        detail=trial.detail,
    )


def _row(
    egress: Egress,
    state: str,
    *,
    verdict: str | None = None,
    status: int | None = None,
    ms: int | None = None,
    detail: str = "",
) -> Row:
    return {
        "egress": egress.name,
        "state": state,
        "verdict": verdict,
        "status": status,
        "ms": ms,
        "detail": detail,
    }


@asynccontextmanager
async def _borrowed(
    home: Home, leases: EgressLeases, lease_names: Mapping[str, str], visitor: Visitor
) -> AsyncIterator[tuple[Mapping[str, EgressState], Mapping[str, Known]]]:
    """What is free, held until the end of the block; and how all of it stands.

    lease_names: by the names of the egresses.
    """
    names = list(lease_names.values())
    settings, began = home.settings, time.monotonic()
    rate, lease_s = settings.pace.requests_per_second, settings.egress.lease_s
    leases.join(names, rate=rate, lease_s=lease_s, is_guest=True)
    granted = leases.exchange({}).granted
    held = {name: state.sound() for name, state in granted.items()}
    clamped = [name for name in held if held[name] is not granted[name]]
    for name in clamped[:1]:
        _log.warning("%s", granted[name].clamped(name, len(clamped)))
    checking, is_lost = asyncio.current_task(), False

    async def renew() -> None:
        nonlocal is_lost
        while True:
            await asyncio.sleep(lease_s / 3)
            term = await asyncio.to_thread(leases.exchange, {})
            if not term.renewed and checking is not None:
                is_lost = True
                checking.cancel()

    renewing = asyncio.create_task(renew())
    try:
        yield held, leases.known(names)
    except asyncio.CancelledError:
        if not is_lost:
            raise
        raise StoreError(
            "the leases of the egresses were lost: run the same command again"
        ) from None
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
        now, took_s = asyncio.get_running_loop().time(), time.monotonic() - began
        states = {}
        for own, name in lease_names.items():
            if name in held:
                later = _after(held[name], took_s)
                session = visitor.saved(own, now)
                aged = later._replace(age_s=later.age_s + took_s)
                states[name] = later._replace(session=session, age_s=0.0) if session else aged
        leases.leave(states)


def _after(state: EgressState, took_s: float) -> EgressState:
    """How an egress stands that may have been asked just now."""
    return state._replace(next_free_s=max(1.1 / state.rate, state.next_free_s - took_s))


def _standing(egress: Egress, known: Known) -> Row:
    if known.holder is not None:
        return _row(egress, "used", detail=f"another run uses it ({known.state.health})")
    wait_s = known.state.next_free_s
    return _row(egress, "out", detail=f"{known.state.health}, to be tried again in {wait_s:.0f} s")


def table(rows: list[Row]) -> list[str]:
    """The rows for people, under their titles."""
    width = max(len(str(row["egress"])) for row in rows)
    lines = [f"{'egress':<{width}}  state    verdict         status     ms  detail"]
    for row in rows:
        cells = {name: "-" if value is None else value for name, value in row.items()}
        lines.append(
            f"{cells['egress']:<{width}}  {cells['state']:<7}  {cells['verdict']:<14}  "
            f"{cells['status']:>6}  {cells['ms']:>5}  {cells['detail']}".rstrip()
        )
    return lines
