import asyncio
import importlib.util
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.fetch import virtual
from tests.fetch.servers import Reader, Writer, head, http, serve
from tests.fetch.worlds import ScriptedSite, ScriptedTransport, ask
from weibo_crawler.config import Egress, Fetch, Pace, Session, Settings, Site
from weibo_crawler.errors import BadConfig, SiteSaysNo
from weibo_crawler.fetch import Ask, Fetched, open_fetcher, opening
from weibo_crawler.fetch.opening import choose_transport, settings_of_task
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Kind, Page, Reading, Request, Verdict

FREE = Pace(requests_per_second=0)


class _LetterSite(ScriptedSite):
    """Bodies are `visitor`, `wall`, `slow down` or anything else, which is fine."""

    def __init__(self, base_url: str) -> None:
        super().__init__(has_sessions=True)
        self._base_url, self.addresses = base_url, (base_url,)

    def session(self, now: float, rng: Random) -> Request | None:
        return Request(Kind.SESSION, f"{self._base_url}/session", method="POST", body=b"from=test")

    def read(self, request: Request, page: Page) -> Reading:
        refusals = {b"wall": Verdict.LOGIN_WALL, b"slow down": Verdict.THROTTLED}
        return Reading(refusals.get(page.body, Verdict.OK))

    def read_session(self, page: Page, asked: Request) -> Mapping[str, str] | Request | None:
        if page.body == b"half":
            return Request(Kind.SESSION, f"{asked.url}/next")
        return {"SUB": "1"} if page.body == b"visitor" else None


async def _letters(reader: Reader, writer: Writer, steps: int = 1) -> None:
    """steps: so many requests a session takes."""
    while True:
        request = await head(reader)
        if request.startswith(b"POST /session"):
            await reader.readexactly(len(b"from=test"))
            body = b"half" if steps > 1 else b"visitor"
        elif request.startswith(b"GET /session/next"):
            is_last = request.partition(b" HTTP")[0].count(b"/next") + 1 == steps
            body = b"visitor" if is_last else b"half"
        elif b"/throttled" in request:
            body = b"slow down"
        else:
            body = b"fine" if b"Cookie: SUB=1" in request else b"wall"
        writer.write(http(body))


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_from_settings_to_pages(steps: int) -> None:
    """A fetcher made from the settings opens a session, in one step or in several, however many are
    in an hour, and brings pages, many at a time."""
    counters = Counters()

    async def scenario() -> list[Fetched]:
        async with serve(partial(_letters, steps=steps)) as port:
            base_url = f"http://127.0.0.1:{port}"
            settings = Settings(
                site=Site(base_url=base_url, visitor_url=f"{base_url}/session"),
                pace=Pace(requests_per_second=1000),
                session=Session(per_hour=1),
            )
            fetcher = open_fetcher(settings, _LetterSite(base_url), counters)
            requests = [Request(Kind.PROFILE, f"{base_url}/{n}", n) for n in range(100)]
            fetched = await asyncio.gather(*(fetcher.fetch(Ask(request)) for request in requests))
            await fetcher.close()
            return list(fetched)

    fetched = asyncio.run(scenario())
    assert [one.page.url.rpartition("/")[2] for one in fetched if one.page] == [
        f"{n}" for n in range(100)
    ]
    counted = counters.snapshot()
    assert {name: n for name, n in counted.items() if not name.startswith("answer_ms")} == {
        "asked.other.profile.ok": 100,
        "page.ok": 100,
        "request.sent": 100 + steps,
        "session.asked": 1,
        "session.opened": 1,
    }


def test_a_site_that_says_no_to_all() -> None:
    """On loopback without a pace limit a site that refuses everything stops the run soon."""

    async def scenario() -> None:
        async with serve(_letters) as port:
            base_url = f"http://127.0.0.1:{port}"
            settings = Settings(
                site=Site(base_url=base_url),
                pace=Pace(requests_per_second=0, stop_window=20),
                fetch=Fetch(concurrency=8),
            )
            fetcher = open_fetcher(settings, _LetterSite(base_url), Counters())
            request = Request(Kind.PROFILE, f"{base_url}/throttled")
            results = await asyncio.gather(
                *(fetcher.fetch(Ask(request)) for _ in range(30)), return_exceptions=True
            )
            await fetcher.close()
            assert any(isinstance(result, SiteSaysNo) for result in results)

    asyncio.run(scenario())


def test_sessions_an_hour_are_as_many_as_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 10: where a pace is set, however soon the site ends each of them."""
    site, used = ScriptedSite(has_sessions=True), set[str]()

    def answer(request: Request, egress: object, headers: dict[str, str]) -> Reading:
        is_over = headers["Cookie"] in used
        used.add(headers["Cookie"])
        return Reading(Verdict.LOGIN_WALL if is_over else Verdict.OK)

    transport = ScriptedTransport(site, answer)

    class Kept:
        most_at_once = 8

        def __new__(cls, _: Fetch) -> Any:
            return transport

    monkeypatch.setattr(opening, "choose_transport", lambda settings: Kept)
    settings = Settings(pace=Pace(requests_per_second=1.0), session=Session(per_hour=3))

    async def scenario() -> None:
        fetcher = open_fetcher(settings, site, Counters())
        for _ in range(6):
            await fetcher.fetch(ask())
        await fetcher.close()

    virtual.run(scenario())
    asked = [at for at, _, request, _ in transport.log if request.kind is Kind.SESSION]
    assert all(later - first >= 3600 for first, later in zip(asked, asked[3:], strict=False))
    assert len(asked) > 3


def test_bad_proxies_file(tmp_path: Path) -> None:
    """A bad proxies file is told before anything is opened."""
    file = tmp_path / "proxies.txt"
    file.write_text("nonsense\n")
    settings = Settings(egress=Egress(proxies_file=str(file)))
    with pytest.raises(BadConfig, match=r"proxies\.txt:1"):
        open_fetcher(settings, ScriptedSite(), Counters())


@pytest.mark.parametrize("meanwhile", [None, "", "nonsense\n"])
def test_a_task_that_begins_while_a_list_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str | None
) -> None:
    """It waits for the list, as a run under way goes on with what it knew; one that stays away, or
    wrong, is told."""
    file = tmp_path / "proxies.txt"
    if meanwhile is not None:
        file.write_text(meanwhile)
    monkeypatch.setenv("WEIBO_EGRESS__PROXIES_FILE", str(file))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(opening, "_LIST_AWAY_S", 0.0)
    with pytest.raises(BadConfig, match=r"proxies\.txt"):
        settings_of_task()
    monkeypatch.setattr(opening, "_LIST_AWAY_S", 60.0)
    looks = []

    def look(wait_s: float) -> None:
        looks.append(wait_s)
        if len(looks) == 2:
            file.write_text("10.0.0.1:80\n")

    monkeypatch.setattr("weibo_crawler.fetch.opening.time.sleep", look)
    assert settings_of_task().egress.proxies_file == str(file)
    assert len(looks) == 2


def test_the_fast_transport_where_it_is_installed() -> None:
    """ "auto" is wreq where that is installed, else requests; requests can always be had."""
    has_wreq = importlib.util.find_spec("wreq") is not None
    assert choose_transport(Fetch()).name == ("wreq" if has_wreq else "requests")
    assert choose_transport(Fetch(transport="requests")).name == "requests"


def test_without_the_fast_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where wreq is not installed "auto" is requests, and "wreq" an error that names the extra."""
    monkeypatch.setitem(sys.modules, "wreq", None)  # what the import system takes for: not there
    monkeypatch.delitem(sys.modules, "weibo_crawler.fetch.clients.wreq_transport", raising=False)
    assert choose_transport(Fetch(transport="auto")).name == "requests"
    with pytest.raises(BadConfig, match=r"fetch\.transport: .*weibo-hadoop\[fast\]"):
        choose_transport(Fetch(transport="wreq"))
