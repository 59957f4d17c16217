import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fetch.servers import Reader, Writer, head, http, serve
from weibo_crawler.config import Egress, Fetch
from weibo_crawler.errors import BadConfig
from weibo_crawler.fetch.egress import DIRECT
from weibo_crawler.fetch.pool.roster import Roster

SECRET = "geheim"


class ListServer:
    """Answers with whatever `answer` is now, and keeps the requests."""

    def __init__(self) -> None:
        self.answer = http(b"10.0.0.1:80\n")
        self.requests: list[bytes] = []

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        while True:
            self.requests.append(await head(reader))
            writer.write(self.answer)


@asynccontextmanager
async def _web(**settings: Any) -> Any:
    """A server of lists, and a roster that asks it by an address full of secrets."""
    server = ListServer()
    async with serve(server) as port:
        url = f"http://user:{SECRET}@127.0.0.1:{port}/list?key={SECRET}"
        yield server, Roster(Egress(proxies_url=url, **settings), Fetch(read_timeout_s=2.0))


def _run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scenario())  # type: ignore[arg-type]


async def _aside(call: Callable[[], Any]) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, call)


def _names(egresses: Any) -> list[str]:
    return [egress.name for egress in egresses]


def _write(file: Path, text: str) -> None:
    """Another version of the file, also where the clock of the disk is coarse."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    os.utime(file, ns=(before + 10**9, before + 10**9))


def test_a_file_that_changes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """News are read, no change is no news; a file that is wrong, empty or gone leaves what was
    known, and is logged once, without the text of its lines."""
    file = tmp_path / "proxies.txt"
    _write(file, "10.0.0.1:80\n")
    roster = Roster(Egress(proxies_file=str(file)), Fetch())
    assert _names(roster.load()) == ["10.0.0.1:80"]
    assert roster.reload() is None
    for text, words in (
        (f"http://u:{SECRET}@x\n", "txt:1"),
        ("#\n", "names no proxy any more"),
    ):
        _write(file, text)
        assert roster.reload() is None
        assert roster.reload() is None
        assert words in caplog.text
    file.unlink()
    assert roster.reload() is None
    assert len(caplog.records) == 3
    assert "the 1 known before" in caplog.text
    assert SECRET not in caplog.text
    _write(file, "10.0.0.2:80\n10.0.0.1:80\n")
    assert _names(roster.reload()) == ["10.0.0.2:80", "10.0.0.1:80"]


def test_an_address_that_changes(caplog: pytest.LogCaptureFixture) -> None:
    """The list is asked for with the account of its address; what is no list leaves what was
    known; neither account nor key is shown."""

    async def scenario() -> None:
        async with _web() as (server, roster):
            assert _names(await _aside(roster.load)) == ["10.0.0.1:80"]
            assert b"Authorization: Basic dXNlcjpnZWhlaW0=" in server.requests[0]
            assert f"GET /list?key={SECRET} ".encode() in server.requests[0]
            assert await _aside(roster.reload) is None
            for answer in (
                http(b"", status="500 No"),
                http(b"", "Location: http://elsewhere.invalid/", status="302 Found"),
                http(b"<html>log in</html>"),
                http(b"[]"),
                http(b"\xff\xfe"),
                http(b"10.0.0.9:80", length=100),
                b"nonsense\r\n\r\n",
            ):
                server.answer = answer
                assert await _aside(roster.reload) is None
            server.answer = http(b'{"data": [{"ip": "10.0.0.2", "port": 80}, {"ip": 1}]}')
            assert _names(await _aside(roster.reload)) == ["10.0.0.2:80"]

    with caplog.at_level(logging.DEBUG, "weibo_crawler"):
        _run(scenario)
    assert len(caplog.records) == 6  # two in a row say the same
    assert "127.0.0.1" in caplog.text
    assert SECRET not in caplog.text
    assert "dXNlcjpnZWhlaW0" not in caplog.text


def test_no_list_at_the_start() -> None:
    """Where the address is the only way out, a run does not begin without its list; the message
    names setting and host."""

    async def scenario() -> None:
        async with _web() as (server, roster):
            server.answer = http(b"", status="403 Forbidden")
            with pytest.raises(
                BadConfig, match=r"egress\.proxies_url: 127\.0\.0\.1:\d+ answers"
            ) as e:
                await _aside(roster.load)
            assert SECRET not in str(e.value)

    _run(scenario)


def test_both(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """File, address and the direct connection together; an address that both name is one egress,
    and an address that fails leaves the others."""
    file = tmp_path / "proxies.txt"
    _write(file, "10.0.0.1:80\n10.0.0.7:80\n")

    async def scenario() -> None:
        async with _web(proxies_file=str(file), direct=True) as (server, roster):
            server.answer = http(b"", status="500 No")
            assert _names(await _aside(roster.load)) == [DIRECT.name, "10.0.0.1:80", "10.0.0.7:80"]
            assert "going on without it" in caplog.text
            server.answer = http(b"10.0.0.1:80\n10.0.0.3:80\n")
            assert _names(await _aside(roster.reload)) == [
                *(DIRECT.name, "10.0.0.1:80", "10.0.0.7:80", "10.0.0.3:80")
            ]

    _run(scenario)


def test_names_stay(tmp_path: Path) -> None:
    """Two accounts at one gateway keep their names in any order; a new password takes the name of
    the one it replaces."""
    file, gate = tmp_path / "proxies.txt", "g.example:80"
    account_b = f"http://b:1@{gate}"
    _write(file, f"http://a:1@{gate}\n{account_b}\n")
    roster = Roster(Egress(proxies_file=str(file)), Fetch())
    first = {e.proxy_url: e.name for e in roster.load()}
    assert first == {f"http://a:1@{gate}": gate, account_b: f"{gate}#2"}
    _write(file, f"{account_b}\nhttp://a:2@{gate}\n")
    again = {e.proxy_url: e.name for e in roster.reload() or []}
    assert again == {account_b: f"{gate}#2", f"http://a:2@{gate}": gate}
