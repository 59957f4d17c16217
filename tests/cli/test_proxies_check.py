"""`proxies check` against proxies that never come to an end: it always does."""

import asyncio
import re
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.fetch.servers import (
    Handler,
    Reader,
    Writer,
    drips,
    head,
    http,
    keeps_saying,
    says,
    serve,
)
from tests.fetch.servers import stalls as stalls_
from tests.stores import leases_at
from weibo_crawler.cli.proxies_check import Row, check_egresses
from weibo_crawler.config import Egress, Fetch, Pace, Settings, Site, Store
from weibo_crawler.home import Home
from weibo_crawler.records import EgressState, Health

LOOP = http(b"", "Location: http://127.0.0.1:9/", status="302 Found")
FETCH = Fetch(transport="requests", connect_timeout_s=0.3, read_timeout_s=0.3)


async def _hangs_up(reader: Reader, writer: Writer) -> None:
    await head(reader)


async def _endless_head(reader: Reader, writer: Writer) -> None:
    """Header after header, for ever."""
    await head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: 1\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def _endless_continue(reader: Reader, writer: Writer) -> None:
    """100 Continue, again and again."""
    await head(reader)
    while True:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


HANDLERS: dict[str, Handler] = {
    "stalls": stalls_,
    "drips": drips(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", b"x"),
    "drips chunks": drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "redirects": keeps_saying(LOOP),
    "hangs up": _hangs_up,
    "endless head": _endless_head,
    "endless continue": _endless_continue,
    "nonsense": says(b"\x00\xff" * 100),
}


def _check(
    tmp_path: Path, handlers: list[Handler], settings: Settings, limit_s: float
) -> tuple[list[Row], float]:
    """The rows, and how long they took."""

    async def scenario() -> tuple[list[Row], float]:
        async with AsyncExitStack() as stack:
            ports = [await stack.enter_async_context(serve(handler)) for handler in handlers]
            file = tmp_path / "proxies.txt"
            file.write_text("".join(f"127.0.0.1:{port}\n" for port in ports))
            with Home(settings) as home:
                began = time.monotonic()
                rows = await check_egresses(home, limit_s=limit_s)
                return rows, time.monotonic() - began

    return asyncio.run(scenario())


def _settings(tmp_path: Path, fetch: Fetch, pace: float = 0.0) -> Settings:
    return Settings(
        site=Site(base_url="http://127.0.0.1:9", visitor_url="http://127.0.0.1:9/visitor"),
        store=Store(users=f"sqlite:///{tmp_path}/users.db"),
        pace=Pace(requests_per_second=pace),
        egress=Egress(proxies_file=str(tmp_path / "proxies.txt")),
        fetch=fetch,
    )


@pytest.mark.parametrize("transport", ["requests", "wreq"])
def test_whatever_proxies_do_it_ends(tmp_path: Path, transport: str) -> None:
    """Each proxy is judged bad after the time for two exchanges at the latest, side by side."""
    if transport == "wreq":
        pytest.importorskip("wreq")
    fetch = Fetch(transport=transport, connect_timeout_s=0.3, read_timeout_s=0.3)
    rows, took_s = _check(tmp_path, list(HANDLERS.values()), _settings(tmp_path, fetch), 60.0)
    assert {row["state"] for row in rows} == {"bad"}
    assert len(rows) == len(HANDLERS)
    assert took_s < 30.0, "it went on to its own limit"


def test_many_proxies_that_stall(tmp_path: Path) -> None:
    """The whole check has a limit, too: who was not tried by then is told as such."""
    fetch = Fetch(transport="requests", connect_timeout_s=0.3, read_timeout_s=0.3, concurrency=1)
    rows, took_s = _check(tmp_path, [stalls_] * 20, _settings(tmp_path, fetch), 3.0)
    assert took_s < 20 * 2 * 0.9 / 2, "all of them were tried"
    assert len(rows) == 20
    states = [row["state"] for row in rows]
    assert states.count("bad") >= 1
    assert states.count("out") >= 5
    assert "not tried: the check ends after 3 s" in str(rows[-1]["detail"])


@pytest.mark.parametrize(
    ("rate", "health", "state"),
    [(10.0, Health.GOOD, "bad"), (10.0, Health.RESTING, "out"), (0.005, Health.GOOD, "out")],
)
def test_a_turn_that_is_far_away_is_not_waited_for(
    tmp_path: Path, rate: float, health: Health, state: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An egress whose turn is said to come in a century is told as out, or asked, and the wait is
    cut in the database, once and for all said in the log."""
    settings = _settings(tmp_path, FETCH, pace=rate)
    url, century_s = f"sqlite:///{tmp_path}/users.db", 3.2e9

    async def scenario() -> tuple[list[Row], float]:
        async with serve(stalls_) as port:
            name = f"127.0.0.1:{port}"
            (tmp_path / "proxies.txt").write_text(f"{name}\n")
            before = leases_at(url, "before")
            before.join([name], rate=rate, lease_s=30.0)
            before.exchange({})
            before.leave({name: EgressState(rate, century_s, health)})
            before.close()
            with Home(settings) as home:
                rows = await check_egresses(home)
            after = leases_at(url, "after")
            known = after.known([name])[name].state
            after.close()
            return rows, known.next_free_s

    rows, next_free_s = asyncio.run(scenario())
    assert rows[0]["state"] == state
    assert next_free_s <= 3600.0 + 2 / rate
    [said] = [one for one in caplog.messages if "did a clock jump" in one]
    assert re.search(r"was to wait (3200000000|31999999\d\d) s", said)
