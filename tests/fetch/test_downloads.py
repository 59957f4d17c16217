"""What the pool is told of files."""

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fetch.virtual import run
from tests.fetch.worlds import A, B, World
from weibo_crawler.errors import CrawlerError
from weibo_crawler.fetch import downloads
from weibo_crawler.fetch.clients.requests_transport import Stream
from weibo_crawler.fetch.egress import Egress
from weibo_crawler.fetch.pool import Broken, Good, Pool, Refused, Turn
from weibo_crawler.fetch.pool.outcome import Outcome
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Kind, Request


@pytest.mark.parametrize(
    ("status", "wait", "seconds"),
    [
        (503, "20", 20.0),
        (429, "Thu, 01 Jan 1970 00:00:30 GMT", 30.0),
        (429, "", None),
    ],
)
def test_a_host_that_says_when_to_come_back_is_heard(
    monkeypatch: pytest.MonkeyPatch, status: int, wait: str, seconds: float | None
) -> None:
    """In seconds or by a date, and also where it calls that trouble."""
    headers = {"retry-after": wait, "date": "Thu, 01 Jan 1970 00:00:00 GMT"}
    told = _told(monkeypatch, Stream(status, headers, iter([])))
    assert told == [Refused(str(status), seconds)]


def test_trouble_alone_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """It rests nobody."""
    assert _told(monkeypatch, Stream(503, {}, iter([]))) == [Broken()]


def _listened_to(monkeypatch: pytest.MonkeyPatch) -> tuple[Pool, list[Outcome]]:
    """A pool, and what it is told."""
    pool, told = World([]).pool, list[Outcome]()
    tell = pool.tell

    def keep(turn: Turn, outcome: Outcome) -> None:
        told.append(outcome)
        tell(turn, outcome)

    monkeypatch.setattr(pool, "tell", keep)
    return pool, told


def _told(monkeypatch: pytest.MonkeyPatch, stream: Stream) -> list[Outcome]:
    """What the pool is told of a file that is answered so."""
    pool, told = _listened_to(monkeypatch)

    class Transport:
        async def stream(self, *words: Any) -> Any:
            return words[-1](stream)

    transport: Any = Transport()
    files = downloads.Downloads(pool, transport, Counters(), Random(0), attempts=1)
    request = Request(Kind.MEDIA, "http://files.invalid/a.jpg")
    with pytest.raises(CrawlerError):
        run(files.get(lambda: request, lambda _: b""))
    return told


def test_an_answer_takes_until_its_head_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """That tells how busy the host is; how long the body takes tells how large the file is."""
    pool, told = _listened_to(monkeypatch)
    now = [7000.0]

    class Transport:
        async def stream(self, *words: Any) -> Any:
            now[0] += 2.0
            take: Callable[[Stream], Any] = words[-1]
            return take(Stream(200, {}, iter([b"a file"])))

    def take(stream: Stream) -> bytes:
        now[0] += 60.0
        return b"".join(stream.pieces)

    monkeypatch.setattr(downloads, "time", SimpleNamespace(monotonic=lambda: now[0]))
    transport: Any = Transport()  # files need no more of one
    files = downloads.Downloads(pool, transport, Counters(), Random(0), attempts=1)
    request = Request(Kind.MEDIA, "http://files.invalid/a.jpg")
    assert run(files.get(lambda: request, take)) == b"a file"
    assert told == [Good(2.0, is_shown=True)]


@pytest.mark.parametrize("proxies", [(A,), (A, B)])
def test_only_a_proxy_that_breaks_what_another_one_brings_is_to_blame(
    monkeypatch: pytest.MonkeyPatch, proxies: tuple[Egress, ...]
) -> None:
    """Where the same one brings the file at the second request, the host was in trouble."""
    pool, sent, disproved = World([], egresses=proxies).pool, list[str](), list[str]()
    monkeypatch.setattr(pool, "disprove", disproved.append)

    class Transport:
        async def stream(self, *words: Any) -> Any:
            *_, egress, take = words
            sent.append(egress.name)
            return take(Stream(503 if len(sent) == 1 else 200, {}, iter([])))

    transport: Any = Transport()
    files = downloads.Downloads(pool, transport, Counters(), Random(0), attempts=2)
    request = Request(Kind.MEDIA, "http://files.invalid/a.jpg")
    assert run(files.get(lambda: request, lambda _: b"a file")) == b"a file"
    assert len(set(sent)) == len(proxies)
    assert disproved == [one for one in sent if one != sent[-1]]
