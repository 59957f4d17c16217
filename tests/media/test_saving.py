"""A part that is cut, killed and continued, in any way, becomes the file or nothing."""

import os
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.media.server import jpeg
from weibo_crawler.errors import BadAnswer, BodyCut, BodyTooLarge, TransportError
from weibo_crawler.fetch.clients.requests_transport import Stream
from weibo_crawler.media import saving
from weibo_crawler.media.naming import PARTS, PICTURE
from weibo_crawler.media.saving import Part, Saved
from weibo_crawler.records import Kind, Request
from weibo_crawler.store.media import Wanted

URL = Request(Kind.MEDIA, "http://host/large/a.jpg", headers=(("Referer", "x"),))


class Step(NamedTuple):
    """What happens to one request. cut: so many bytes come, None: all; is_ranged: the server knows
    ranges; version: of the file that it has; is_killed: nobody goes on with this part, and what was
    not safe of it is lost to a power cut."""

    cut: int | None
    is_ranged: bool
    version: int
    is_killed: bool


class World:
    """A folder, the index's row, and the server."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.safe = folder, (0, "")
        (folder / PARTS).mkdir()

    def part(self, limit: int = 10**6) -> Part:
        one = Wanted(
            6, 101, PICTURE, 1, "a.jpg", URL.url, "2026-01-05", 1, "wanted", None, *self.safe
        )

        def keep(size: int, validator: str) -> None:
            self.safe = size, validator

        return Part(self.folder, one, limit=limit, keep=keep, came=lambda n: None)

    def lose_power(self) -> None:
        """Of what is not safe the disk holds zeros."""
        for path in (self.folder / PARTS).iterdir():
            body = path.read_bytes()
            path.write_bytes(body[: self.safe[0]] + bytes(len(body[self.safe[0] :])))


def answer(request: Request, step: Step) -> Stream:
    """Of a server that has this version of the file."""
    body, asked = jpeg(step.version, 5000), dict(request.headers)
    etag, start = f'"{step.version}"', 0
    if step.is_ranged and asked.get("If-Range") == etag:
        start = int(asked["Range"].removeprefix("bytes=").rstrip("-"))
    headers = {"etag": etag, "content-type": "image/jpeg", "content-length": str(5000 - start)}
    if start:
        headers["content-range"] = f"bytes {start}-4999/5000"

    def pieces() -> Iterator[bytes]:
        end = 5000 if step.cut is None else min(5000, start + step.cut)
        for at in range(start, end, 700):
            yield body[at : min(at + 700, end)]
        if end < 5000:
            raise BodyCut("cut")

    return Stream(206 if start else 200, headers, pieces())


_STEPS = st.builds(
    Step, st.none() | st.integers(0, 5000), st.booleans(), st.integers(1, 2), st.booleans()
)


@given(st.lists(_STEPS, max_size=8))
def test_it_becomes_the_file_or_nothing(steps: list[Step]) -> None:
    """Whatever is cut, killed or changed at the server on the way: the file is one version, whole,
    and has no name before."""
    with tempfile.TemporaryDirectory() as name:
        world = World(Path(name))
        part = world.part()
        for step in [*steps, Step(None, True, 1, False)]:
            try:
                came = part.take(answer(part.asked_by(URL), step))
            except TransportError:
                assert [*Path(name).glob("6/**/*.jpg")] == []
                if step.is_killed:
                    world.lose_power()
                    part = world.part()
            else:
                assert isinstance(came, Saved)
                whole = jpeg(step.version, 5000)
                assert (world.folder / came.file).read_bytes() == whole
                assert (came.bytes, came.sha256) == (5000, sha256(whole).hexdigest())
                assert [*(world.folder / PARTS).iterdir()] == []
                return
        raise AssertionError("the last one was whole")


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        *((206, {"content-range": f"bytes {'9' * 5000}-99/100"}), (206, {"content-range": "no"})),
        *((206, {"content-range": "bytes 7-99/100"}), (206, {}), (204, {}), (416, {}), (304, {})),
        (200, {"content-encoding": "br"}),
        (200, {"content-type": "text/html"}),
    ],
)
def test_odd_answers(tmp_path: Path, status: int, headers: dict[str, str]) -> None:
    """They are no file, and leave none."""
    part = World(tmp_path).part()
    with pytest.raises(BadAnswer):
        part.take(Stream(status, headers, iter([jpeg(1)])))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_that_lacks_its_end(tmp_path: Path) -> None:
    """It is taken when the longest one comes once more; what was cut leaves nothing."""
    whole = jpeg(1)[:-2]
    part = World(tmp_path).part()
    for body in (whole[:100], whole, whole[:100]):
        with pytest.raises(BodyCut):
            part.take(Stream(200, {"content-type": "image/jpeg"}, iter([body])))
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    came = part.take(Stream(200, {"content-type": "image/jpeg"}, iter([whole])))
    assert isinstance(came, Saved)
    assert came.bytes == len(whole)


@pytest.mark.parametrize("length", ["300", "", "odd", "9" * 5000])
def test_too_large(tmp_path: Path, length: str) -> None:
    """By its announced length or by what comes."""
    part = World(tmp_path).part(limit=299)
    with pytest.raises(BodyTooLarge):
        part.take(Stream(200, {"content-length": length}, iter([jpeg(1)])))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_that_comes_byte_by_byte(tmp_path: Path) -> None:
    """Its kind is told when enough of it has come; an empty one is no picture."""
    world = World(tmp_path)
    pieces = (bytes([each]) for each in jpeg(1))
    came = world.part().take(Stream(200, {}, pieces))
    assert isinstance(came, Saved)
    assert (tmp_path / came.file).read_bytes() == jpeg(1)
    with pytest.raises(BadAnswer):
        world.part().take(Stream(200, {"content-length": "0"}, iter([])))


def test_a_refused_range_is_followed_by_the_whole_file(tmp_path: Path) -> None:
    """A server that answers oddly to ranges is asked without one."""
    world = World(tmp_path)
    part = world.part()
    with pytest.raises(BodyCut):
        part.take(answer(part.asked_by(URL), Step(2100, True, 1, False)))
    assert dict(part.asked_by(URL).headers)["Range"] == "bytes=2100-"
    with pytest.raises(BadAnswer):
        part.take(Stream(416, {}, iter([])))
    assert part.asked_by(URL) == URL
    assert isinstance(part.take(answer(URL, Step(None, True, 1, False))), Saved)


def test_a_resumed_file_is_as_long_as_its_range_says(tmp_path: Path) -> None:
    """The size of the whole stands in the range, also where the answer tells no length or holds a
    part of the rest; an answer whose length is another one than its range is none."""
    world, body = World(tmp_path), jpeg(1, 5000)
    part = world.part()
    with pytest.raises(BodyCut):
        part.take(answer(part.asked_by(URL), Step(2100, True, 1, False)))
    for start, end, length in ((2100, 3000, "900"), (3000, 4998, "")):
        assert dict(part.asked_by(URL).headers)["Range"] == f"bytes={start}-"
        headers = {"content-range": f"bytes {start}-{end - 1}/5000", "content-length": length}
        with pytest.raises(BodyCut):
            part.take(Stream(206, {**headers, "etag": '"1"'}, iter([body[start:end]])))
    headers = {"content-range": "bytes 4998-4999/5000", "content-length": "1", "etag": '"1"'}
    with pytest.raises(BadAnswer):
        part.take(Stream(206, headers, iter([body[4999:]])))
    assert part.asked_by(URL) == URL


@pytest.mark.parametrize(("etag", "most"), [({"etag": '"1"'}, 8), ({}, 2)])
def test_the_disk_is_waited_for_only_where_that_saves_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, etag: dict[str, str], most: int
) -> None:
    """A part goes on where the server says what it is a part of: there so many bytes are made safe
    at a time. Of another one nothing is, but the whole file in the end, and its folder."""
    synced: list[int] = []
    monkeypatch.setattr(saving, "_SAFE", 1000)
    monkeypatch.setattr(os, "fsync", synced.append)
    pieces = (jpeg(1, 5000)[at : at + 100] for at in range(0, 5000, 100))
    came = World(tmp_path).part().take(Stream(200, {**etag, "content-type": "image/jpeg"}, pieces))
    assert isinstance(came, Saved)
    assert len(synced) <= most
