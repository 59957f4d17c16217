"""Several processes, real proxies and one database: the pace of each proxy as a site sees it."""

import asyncio
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing
from itertools import count
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.fetch.servers import ACCOUNT, Reader, Writer, forward_proxy, head, http, serve
from tests.fetch.worlds import ScriptedSite
from tests.processes import CLEAN
from tests.stores import leases_at
from weibo_crawler.config import Egress, Fetch, Pace, Settings, Site
from weibo_crawler.errors import Interrupted, SiteSaysNo, StoreError
from weibo_crawler.fetch import Ask, open_fetcher, opening
from weibo_crawler.fetch.clients.requests_transport import RequestsTransport
from weibo_crawler.metrics import Counters
from weibo_crawler.records import EgressState, Health, Kind, Page, Reading, Request, Verdict

RATE, LEASE_S = 2.0, 3.0
# between the start of a request and the moment at which a busy machine's site sees it; less than an
# interval, so one request too many is seen
GRAIN_S = 0.45
PROXIES = [f"127.0.0.{n}" for n in range(11, 15)]


class Seen(NamedTuple):
    """A request at the site. who: the number of the process, -1 for a session."""

    at: float
    by: str
    who: int


class CookieSite(ScriptedSite):
    """Wants a session; its pages are /<process>/<number>."""

    def __init__(self, base_url: str) -> None:
        super().__init__(has_sessions=True)
        self.base_url, self.addresses = base_url, (base_url,)

    def session(self, now: float, rng: Random) -> Request | None:
        return Request(Kind.SESSION, f"{self.base_url}/session")

    def read(self, request: Request, page: Page) -> Reading:
        return Reading(Verdict.OK if page.body == b"fine" else Verdict.LOGIN_WALL)

    def read_session(self, page: Page, asked: Request) -> dict[str, str] | None:
        return {"SUB": "1"}


class Network:
    """The site and the proxies, in a thread of their own."""

    def __init__(self) -> None:
        self.log: list[Seen] = []
        self.ports: list[int] = []
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()))

    def __enter__(self) -> "Network":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    async def _serve(self) -> None:
        async with AsyncExitStack() as stack:
            self.ports = [await stack.enter_async_context(serve(self._site))]
            for host in PROXIES:
                self.ports.append(await stack.enter_async_context(serve(forward_proxy, host)))
            self._ready.set()
            await self._over.wait()

    async def _site(self, reader: Reader, writer: Writer) -> None:
        peer = writer.get_extra_info("peername")[0]
        while True:
            request = await head(reader)
            now = time.monotonic()
            path = request.split(b" ")[1].decode().removeprefix(self.base_url)
            if path == "/session":
                self.log.append(Seen(now, peer, -1))
                writer.write(http(b"welcome"))
            else:
                self.log.append(Seen(now, peer, int(path.split("/")[1])))
                writer.write(http(b"fine" if b"SUB=1" in request else b"wall"))


def crawl(base_url: str, url: str, proxies: str, who: int) -> None:
    """In a process of its own: fetch until SIGTERM."""
    settings = Settings(
        site=Site(base_url=base_url, visitor_url=f"{base_url}/session"),
        pace=Pace(requests_per_second=RATE),
        egress=Egress(proxies_file=proxies, lease_s=LEASE_S),
        fetch=Fetch(transport="requests", concurrency=4),
    )

    async def one(fetcher: Any, task: int) -> None:
        n = 0
        while True:
            await fetcher.fetch(Ask(Request(Kind.PROFILE, f"{base_url}/{who}/{task}-{n}")))
            n += 1

    async def scenario() -> None:
        leases = leases_at(url)
        fetcher = open_fetcher(settings, CookieSite(base_url), Counters(), leases)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, fetcher.drain)
        ended = await asyncio.gather(*(one(fetcher, n) for n in range(4)), return_exceptions=True)
        await fetcher.close()
        leases.close()
        assert all(isinstance(error, Interrupted) for error in ended), ended

    asyncio.run(scenario())


def eventually(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


class Crew:
    """The processes, one database, and the file of proxies."""

    def __init__(self, network: Network, folder: Path, processes: int) -> None:
        self.network, self.file = network, folder / "users.db"
        proxies = folder / "proxies.txt"
        addresses = zip(PROXIES, network.ports[1:], strict=True)
        proxies.write_text("".join(f"http://{ACCOUNT}@{host}:{port}\n" for host, port in addresses))
        self.url = f"sqlite:///{self.file}"
        args = (network.base_url, self.url, str(proxies))
        self.processes: dict[int, BaseProcess] = {
            n: CLEAN.Process(target=crawl, args=(*args, n)) for n in range(processes)
        }
        for process in self.processes.values():
            process.start()

    def tell(self, who: int, number: int) -> None:
        pid = self.processes[who].pid
        assert pid is not None
        os.kill(pid, number)

    def end(self) -> list[int | None]:
        """Stop all that live; their exit codes."""
        for who in self.processes:
            self.tell(who, signal.SIGTERM)
        for process in self.processes.values():
            process.join(30)
        return [process.exitcode for process in self.processes.values()]

    def used(self, since: float, *, without: int | None = None) -> set[str]:
        return {s.by for s in list(self.network.log) if s.at > since and s.who not in (without, -1)}


def test_proxies_shared_by_processes(network: Network, tmp_path: Path) -> None:
    """Law 10, as the site sees it: six processes hold each of four proxies to one pace; all proxies
    work and all processes get a turn; those of a killed process and of a paused one are used by
    the others, and who wakes up breaks no pace; sessions go with the proxies."""
    crew = Crew(network, tmp_path, 6)
    log = network.log
    eventually(
        lambda: crew.used(0) == set(PROXIES) and len({s.who for s in list(log)} - {-1}) >= 4,
        "all proxies are used, by several",
    )
    killed = next(s.who for s in reversed(log) if s.who >= 0)
    crew.tell(killed, signal.SIGKILL)
    crew.processes.pop(killed).join()
    since = time.monotonic()
    eventually(lambda: crew.used(since) == set(PROXIES), "the dead one's proxy is used")
    paused = next(s.who for s in reversed(log) if s.who >= 0)
    with closing(sqlite3.connect(crew.file, timeout=60, isolation_level=None)) as conn:
        conn.execute("BEGIN IMMEDIATE")  # who is paused within a transaction would keep the file
        crew.tell(paused, signal.SIGSTOP)
        conn.execute("ROLLBACK")
    since = time.monotonic()
    eventually(lambda: crew.used(since, without=paused) == set(PROXIES), "the paused one's, too")
    assert not [s for s in list(log) if s.at > since + GRAIN_S and s.who == paused]
    crew.tell(paused, signal.SIGCONT)
    woken = time.monotonic()
    eventually(
        lambda: {s.who for s in list(log) if s.at > woken} >= crew.processes.keys(),
        "everybody has a turn",
    )
    assert set(crew.end()) == {0}
    for proxy in PROXIES:
        times = [s.at for s in log if s.by == proxy]
        for i, first in enumerate(times):
            for n, later in enumerate(times[i:]):
                assert later - first >= n / RATE - GRAIN_S, (proxy, i, n, later - first)
    assert len([s for s in log if s.who == -1]) <= len(PROXIES) + 2
    assert b"geheim" not in b"".join(p.read_bytes() for p in tmp_path.glob("users.db*"))
    with closing(sqlite3.connect(crew.file)) as conn:
        held = conn.execute("SELECT COUNT(*) FROM egresses WHERE holder IS NOT NULL").fetchone()
    assert held == (0,)


def test_nothing_begins_once_the_leases_are_over(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 10: the transport knows until when, as a request may have waited in it."""
    made: list[RequestsTransport] = []

    class Kept(RequestsTransport):
        def __init__(self, settings: Fetch) -> None:
            super().__init__(settings)
            made.append(self)

    monkeypatch.setattr(opening, "choose_transport", lambda settings: Kept)
    settings = Settings(
        site=Site(base_url=network.base_url),
        pace=Pace(requests_per_second=RATE),
        egress=Egress(lease_s=LEASE_S),
    )

    async def scenario() -> None:
        site = CookieSite(network.base_url)
        with closing(leases_at(f"sqlite:///{tmp_path}/users.db")) as leases:
            fetcher = open_fetcher(settings, site, Counters(), leases)
            await fetcher.fetch(Ask(Request(Kind.PROFILE, f"{network.base_url}/0/0")))
            assert made[0].until <= time.monotonic() + LEASE_S
            await fetcher.close()

    asyncio.run(scenario())


def test_a_database_that_is_gone_ends_the_fetching(network: Network, tmp_path: Path) -> None:
    """Without leases nothing is sent, and who asks is told why."""
    url = f"sqlite:///{tmp_path}/users.db"
    settings = Settings(
        site=Site(base_url=network.base_url),
        pace=Pace(requests_per_second=100.0),
        egress=Egress(lease_s=1.0),
    )

    async def scenario() -> None:
        leases = leases_at(url)
        site = CookieSite(network.base_url)
        fetcher = open_fetcher(settings, site, Counters(), leases)
        request = Request(Kind.PROFILE, f"{network.base_url}/0/0")
        await fetcher.fetch(Ask(request))
        for file in tmp_path.glob("users.db*"):
            file.unlink(missing_ok=True)  # who finds the first one gone may take the others away
        calls = (fetcher.fetch(Ask(request)) for _ in range(300))
        ended = await asyncio.gather(*calls, return_exceptions=True)  # until nothing is under way
        assert "removed" in str(next(each for each in ended if isinstance(each, StoreError)))
        sent = len(network.log)
        with pytest.raises(StoreError, match="removed"):
            await fetcher.fetch(Ask(request))
        assert len(network.log) == sent
        await fetcher.close()
        leases.close()

    asyncio.run(scenario())


def test_who_holds_nothing_waits_and_stops_cleanly(network: Network, tmp_path: Path) -> None:
    """A process without an egress sends nothing, says that it waits, and ends on a stop."""
    url = f"sqlite:///{tmp_path}/users.db"
    settings = Settings(
        site=Site(base_url=network.base_url),
        pace=Pace(requests_per_second=1.0),
        egress=Egress(direct_name="here", lease_s=600.0),
    )
    holder, waiting = leases_at(url, "holder"), leases_at(url, "waiting")
    holder.join(["direct@here"], rate=1.0, lease_s=600.0)
    assert set(holder.exchange({}).granted) == {"direct@here"}

    async def scenario() -> None:
        fetcher = open_fetcher(settings, CookieSite(network.base_url), Counters(), waiting)
        request = Request(Kind.PROFILE, f"{network.base_url}/0/0")
        task = asyncio.create_task(fetcher.fetch(Ask(request)))
        while holder.exchange({}).contenders < 2 or not fetcher.waits_for:
            await asyncio.sleep(0.05)
        assert fetcher.waits_for == "other processes hold all egresses"
        fetcher.drain()
        with pytest.raises(Interrupted):
            await task
        await fetcher.close()

    asyncio.run(scenario())
    assert network.log == []
    assert holder.exchange({}).contenders == 1
    holder.close()
    waiting.close()


def test_without_a_limit_nothing_is_leased(network: Network, tmp_path: Path) -> None:
    """Where the pace has no limit no lease is taken, and nothing is written."""
    settings = Settings(site=Site(base_url=network.base_url), pace=Pace(requests_per_second=0))

    async def scenario() -> None:
        leases = leases_at(f"sqlite:///{tmp_path}/users.db")
        fetcher = open_fetcher(settings, CookieSite(network.base_url), Counters(), leases)
        await fetcher.fetch(Ask(Request(Kind.PROFILE, f"{network.base_url}/0/0")))
        await fetcher.close()
        leases.close()

    asyncio.run(scenario())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_leased", [True, False])
def test_a_list_that_changes_while_it_is_used(
    network: Network, tmp_path: Path, is_leased: bool
) -> None:
    """A proxy that is listed while a run works is used; one that vanishes is used no more, what is
    under way by it is finished, and its lease is free."""
    file, url = tmp_path / "proxies.txt", f"sqlite:///{tmp_path}/users.db"
    lines = [
        f"http://{ACCOUNT}@{host}:{port}\n"
        for host, port in zip(PROXIES, network.ports[1:], strict=True)
    ]
    lists = map(str, count())

    def write(*listed: str) -> None:
        """The whole list at once: who reads it meanwhile finds no half of it."""
        draft = tmp_path / next(lists)
        draft.write_text("".join(listed))
        draft.replace(file)

    write(lines[0])
    settings = Settings(
        site=Site(base_url=network.base_url),
        pace=Pace(requests_per_second=50.0 if is_leased else 0.0),
        egress=Egress(proxies_file=str(file), lease_s=1.0, reload_s=0.05),
    )

    def by(since: float) -> set[str]:
        return {seen.by for seen in network.log if seen.at > since}

    async def scenario() -> None:
        leases, counters = leases_at(url), Counters()
        lent = leases if is_leased else None
        fetcher = open_fetcher(settings, CookieSite(network.base_url), counters, lent)

        async def fetch_until(holds: Callable[[], bool]) -> None:
            deadline = time.monotonic() + 30
            while not holds():
                assert time.monotonic() < deadline
                request = Request(Kind.PROFILE, f"{network.base_url}/0/0")
                fetched = await asyncio.gather(*(fetcher.fetch(Ask(request)) for _ in range(4)))
                assert {one.reading.verdict for one in fetched} == {Verdict.OK}

        await fetch_until(lambda: by(0) == {PROXIES[0]})
        write(lines[0], lines[1])
        await fetch_until(lambda: by(0) == set(PROXIES[:2]))
        write(lines[1], lines[2])
        await fetch_until(lambda: counters["egress.left"] == 1 and PROXIES[2] in by(0))
        await fetch_until(lambda: by(time.monotonic() - 1.0) == set(PROXIES[1:3]))
        assert (counters["egress.joined"], counters["egress.left"]) == (2, 1)
        if is_leased:
            name = f"{PROXIES[0]}:{network.ports[1]}"
            assert leases.known([name])[name].holder is None
        file.unlink()
        await fetch_until(lambda: len(by(time.monotonic() - 0.5)) == 2)
        await fetcher.close()
        leases.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("egress", "pace", "why"),
    [
        (Egress(direct_name="here", lease_s=30.0), Pace(1.0, give_up_s=0.5), "pace.give_up_s"),
        (Egress(direct_name="here", lease_s=0.6, when_empty="stop"), Pace(1.0), "when_empty"),
    ],
)
def test_rests_of_an_earlier_run_end_this_one(
    tmp_path: Path, egress: Egress, pace: Pace, why: str
) -> None:
    """What rests is dealt out to nobody: who waits for it says so and gives up, as one who met the
    refusals does."""
    url = f"sqlite:///{tmp_path}/users.db"
    earlier, waiting = leases_at(url, "earlier"), leases_at(url, "waiting")
    earlier.join(["direct@here"], rate=1.0, lease_s=30.0)
    earlier.exchange({})
    earlier.leave({"direct@here": EgressState(1.0, 3000.0, Health.RESTING, 3)})
    settings = Settings(site=Site(base_url="http://192.0.2.1"), pace=pace, egress=egress)

    async def scenario() -> str:
        fetcher = open_fetcher(settings, CookieSite("http://192.0.2.1"), Counters(), waiting)
        try:
            with pytest.raises(SiteSaysNo) as said:
                await fetcher.fetch(Ask(Request(Kind.PROFILE, "http://192.0.2.1/0/0")))
        finally:
            await fetcher.close()
        return str(said.value)

    said = asyncio.run(scenario())
    earlier.close()
    waiting.close()
    assert why in said
    assert "no egress may go (1 resting)" in said


def test_a_wait_that_no_pace_explains_is_cut_and_said(
    network: Network, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An egress that is well, and is to go in a hundred days, as a clock that jumped left it."""
    url = f"sqlite:///{tmp_path}/users.db"
    earlier, later = leases_at(url, "earlier"), leases_at(url, "later")
    earlier.join(["direct@here"], rate=2.0, lease_s=30.0)
    earlier.exchange({})
    earlier.leave({"direct@here": EgressState(2.0, 8.64e6, Health.GOOD, 0)})
    egress = Egress(direct_name="here", lease_s=30.0)
    settings = Settings(site=Site(base_url=network.base_url), pace=Pace(2.0), egress=egress)
    counters = Counters()

    async def scenario() -> Verdict:
        fetcher = open_fetcher(settings, CookieSite(network.base_url), counters, later)
        fetched = await fetcher.fetch(Ask(Request(Kind.PROFILE, f"{network.base_url}/0/0")))
        await fetcher.close()
        return fetched.reading.verdict

    verdict = asyncio.run(scenario())
    earlier.close()
    later.close()
    assert verdict is Verdict.OK
    assert counters["egress.clamped"] == 1
    assert "was to wait 8640000 s" in caplog.text


def test_a_rest_longer_than_any_is_cut_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What rests is dealt to nobody, so the next one that joins cuts the rest in the database."""
    url = f"sqlite:///{tmp_path}/users.db"
    earlier, later = leases_at(url, "earlier"), leases_at(url, "later")
    earlier.join(["a:1", "b:1"], rate=2.0, lease_s=30.0)
    earlier.exchange({})
    earlier.leave(
        {
            "a:1": EgressState(2.0, 8.64e6, Health.RESTING, 1),
            "b:1": EgressState(2.0, 3600.0, Health.DEAD, 0),
        }
    )
    later.join(["a:1", "b:1"], rate=2.0, lease_s=30.0)
    known = later.known(["a:1", "b:1"])
    later.leave({})
    for leases in (earlier, later):
        leases.close()
    assert "a:1 was to wait 8640000 s" in caplog.text
    assert "b:1" not in caplog.text
    assert known["a:1"].state.next_free_s == pytest.approx(3601.0, abs=1.0)
    assert known["b:1"].state.next_free_s == pytest.approx(3600.0, abs=1.0)
