import contextlib
import gzip
import importlib.util
import runpy
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.errors import BadAnswer, BodyCut, BodyTooLarge
from weibo_crawler.fetch.clients import body
from weibo_crawler.fetch.clients.body import Body


@pytest.fixture(scope="module", autouse=True, params=["zlib", "isal.isal_zlib"])
def _inflating(request: pytest.FixtureRequest) -> Iterator[None]:
    """All of it holds with zlib, and with isal where it is installed."""
    before = body.inflating
    body.inflating = pytest.importorskip(request.param)
    yield
    body.inflating = before


bodies = st.binary(max_size=500) | st.binary(min_size=1, max_size=50).map(lambda b: b * 50)


def _bare_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeeze.compress(data) + squeeze.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    " Deflate ": _bare_deflate,
}


def _read(encoding: str, wire: bytes, limit: int = 10_000, step: int = 7) -> bytes:
    read = Body(encoding, limit)
    for start in range(0, len(wire), step):
        read.feed(wire[start : start + step])
    return read.finish()


@pytest.mark.parametrize("encoding", ENCODERS)
@given(data=bodies, step=st.integers(1, 600))
def test_whole_bodies_come_back(encoding: str, data: bytes, step: int) -> None:
    """However the wire is cut into pieces, a whole body comes back as it was."""
    assert _read(encoding, ENCODERS[encoding](data), step=step) == data


@pytest.mark.parametrize("encoding", ["gzip", "deflate", " Deflate "])
@given(data=bodies, share=st.floats(0.01, 0.99))
def test_cut_compression_is_refused(encoding: str, data: bytes, share: float) -> None:
    """A compressed body that ends before its own end is cut, whatever its length says."""
    wire = ENCODERS[encoding](data)
    with pytest.raises(BodyCut):
        _read(encoding, wire[: max(1, int(len(wire) * share))])


@given(wire=st.binary(min_size=1, max_size=300), encoding=st.sampled_from(["gzip", "deflate"]))
def test_any_bytes_are_a_body_or_cut(wire: bytes, encoding: str) -> None:
    """Bytes that are no compression are refused as cut, and nothing else happens."""
    with contextlib.suppress(BodyCut):
        assert len(_read(encoding, wire)) <= 10_000


def test_gzip_members_and_trailers() -> None:
    """gzip members in a row are one body; what is no member after the end is ignored."""
    assert _read("gzip", gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"
    assert _read("gzip", gzip.compress(b"one") + b"\0\0\0") == b"one"
    assert _read("deflate", zlib.compress(b"one") + b"more") == b"one"
    with pytest.raises(BodyCut):
        _read("gzip", gzip.compress(b"one ", mtime=0) + gzip.compress(b"two", mtime=0)[:-3])


def test_damaged_gzip() -> None:
    """A wrong checksum is a broken body."""
    wire = bytearray(gzip.compress(b"text " * 50))
    wire[-6] ^= 1
    with pytest.raises(BodyCut):
        _read("gzip", bytes(wire))


@pytest.mark.parametrize("encoding", ENCODERS)
def test_limit(encoding: str) -> None:
    """A body of just the limit passes, one byte more does not."""
    encode = ENCODERS[encoding]
    assert len(_read(encoding, encode(b"x" * 1000), limit=1000)) == 1000
    with pytest.raises(BodyTooLarge, match=r"over 1000 bytes \(fetch\.max_body_bytes\)"):
        _read(encoding, encode(b"x" * 1001), limit=1000)


def test_a_wire_that_brings_nothing() -> None:
    """Endless empty members end at the limit of the wire."""
    with pytest.raises(BodyTooLarge):
        _read("gzip", gzip.compress(b"") * 1000, limit=1000)


def test_a_bomb_takes_no_memory() -> None:
    """64 MB of zeros in 64 kB of gzip cost no more memory than the limit allows."""
    bomb, limit = gzip.compress(bytes(64 * 1024 * 1024)), 256 * 1024
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    with pytest.raises(BodyTooLarge):
        _read("gzip", bomb, limit=limit, step=len(bomb))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - before < 4 * limit + len(bomb)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_encodings_not_asked_for(encoding: str) -> None:
    """An encoding that was not asked for is no answer."""
    with pytest.raises(BadAnswer, match="not as asked for"):
        Body(encoding, 100)


def test_where_isal_is_not_installed_zlib_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of the extra `fast`: who has not asked for it has not got it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert runpy.run_path(body.__file__)["inflating"] is zlib
