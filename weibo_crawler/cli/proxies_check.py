"""proxies check: the site's first page by every egress that nobody else is using."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from weibo_crawler.errors import StoreError, TransportError
from weibo_crawler.fetch.egress import DIRECT, Egress, load_egresses
from weibo_crawler.fetch.keeper import direct_lease
from weibo_crawler.fetch.opening import choose_transport
from weibo_crawler.fetch.transport import Transport
from weibo_crawler.home import Home
from weibo_crawler.records import EgressState, Kind, Request
from weibo_crawler.store.egresses import EgressLeases, Known

Row = dict[str, str]


async def check_egresses(home: Home) -> list[Row]:
    """One row an egress: egress, state (good, bad; used: another run has it; out: it rests or is
    dead, and is not asked), detail. One request each, at its pace."""
    settings = home.settings
    egresses = load_egresses(settings.egress)
    slots = asyncio.Semaphore(settings.fetch.concurrency)
    transport = choose_transport(settings.fetch)(settings.fetch)

    async def one(egress: Egress, wait_s: float) -> Row:
        async with slots:
            await asyncio.sleep(wait_s)
            return await _ask(home, transport, egress)

    try:
        if home.leases is None:
            return list(await asyncio.gather(*(one(egress, 0.0) for egress in egresses)))
        names = {e.name: _lease_name(e, settings.egress.public_address) for e in egresses}
        async with _borrowed(home, home.leases, list(names.values())) as (held, known):
            return list(
                await asyncio.gather(
                    *(
                        one(e, held[names[e.name]].next_free_s)
                        if names[e.name] in held
                        else _standing(e, known[names[e.name]])
                        for e in egresses
                    )
                )
            )
    finally:
        await transport.close()


def _lease_name(egress: Egress, address: str) -> str:
    return direct_lease(address) if egress == DIRECT else egress.name


@asynccontextmanager
async def _borrowed(
    home: Home, leases: EgressLeases, names: list[str]
) -> AsyncIterator[tuple[Mapping[str, EgressState], Mapping[str, Known]]]:
    """What is free, held until the end of the block; and how all of it stands."""
    settings, began = home.settings, time.monotonic()
    rate, lease_s = settings.pace.requests_per_second, settings.egress.lease_s
    direct = next((name for name in names if name.startswith("direct@")), "")
    proxies = [name for name in names if name != direct]
    leases.join(direct, proxies, rate=rate, lease_s=lease_s, is_guest=True)
    held = dict(leases.exchange({}).granted)
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
        took_s = time.monotonic() - began
        leases.leave(
            {
                name: state._replace(next_free_s=1.1 / state.rate, age_s=state.age_s + took_s)
                for name, state in held.items()
            }
        )


async def _standing(egress: Egress, known: Known) -> Row:
    if known.holder is not None:
        detail = f"another run uses it ({known.state.health})"
        return {"egress": egress.name, "state": "used", "detail": detail}
    detail = f"{known.state.health}, to be tried again in {known.state.next_free_s:.0f} s"
    return {"egress": egress.name, "state": "out", "detail": detail}


async def _ask(home: Home, transport: Transport, egress: Egress) -> Row:
    request = Request(Kind.PROFILE, home.settings.site.base_url.rstrip("/") + "/")
    began = time.monotonic()
    try:
        page = await transport.send(request, (), egress)
    except TransportError as error:
        return {"egress": egress.name, "state": "bad", "detail": str(error)}
    span_ms = (time.monotonic() - began) * 1000
    detail = f"status {page.status} in {span_ms:.0f} ms"
    return {"egress": egress.name, "state": "good", "detail": detail}
