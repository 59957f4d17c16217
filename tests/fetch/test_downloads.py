"""What the pool is told of files."""

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fetch.virtual import run
from tests.fetch.worlds import World
from weibo_crawler.fetch import downloads
from weibo_crawler.fetch.clients.requests_transport import Stream
from weibo_crawler.fetch.pool import Good, Turn
from weibo_crawler.fetch.pool.outcome import Outcome
from weibo_crawler.metrics import Counters
from weibo_crawler.records import Kind, Request


def test_an_answer_takes_until_its_head_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """That tells how busy the host is; how long the body takes tells how large the file is."""
    pool, told, now = World([]).pool, list[Outcome](), [7000.0]
    tell = pool.tell

    def keep(turn: Turn, outcome: Outcome) -> None:
        told.append(outcome)
        tell(turn, outcome)

    class Transport:
        async def stream(self, *words: Any) -> Any:
            now[0] += 2.0
            take: Callable[[Stream], Any] = words[-1]
            return take(Stream(200, {}, iter([b"a file"])))

    def take(stream: Stream) -> bytes:
        now[0] += 60.0
        return b"".join(stream.pieces)

    monkeypatch.setattr(pool, "tell", keep)
    monkeypatch.setattr(downloads, "time", SimpleNamespace(monotonic=lambda: now[0]))
    transport: Any = Transport()  # files need no more of one
    files = downloads.Downloads(pool, transport, Counters(), Random(0), attempts=1)
    request = Request(Kind.MEDIA, "http://files.invalid/a.jpg")
    assert run(files.get(lambda: request, take)) == b"a file"
    assert told == [Good(2.0, is_shown=True)]
