"""Compressed records one behind the other, each a member (gzip) or frame (zstd) of its own, so that
what a killed process left half-written costs that record alone."""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

_GZIP = zlib.MAX_WBITS | 16
_CHUNK = 1 << 20
# What is compressed already is only wrapped: level 1 finds nothing in it and takes 99 us a page of
# posts, level 0 takes 12.
_WRAP, _QUICK = 0, 1
SUFFIXES = {"gzip": ".warc.gz", "zstd": ".warc.zst"}


class Member(NamedTuple):
    """One record, inflated. offset: where it begins in the file."""

    offset: int
    data: bytes


def compressor(compression: str) -> Callable[[bytes, bool], bytes]:
    """Makes one member of a record. The second argument: whether its body is compressed already."""
    if compression == "zstd":
        zstd = zstandard.ZstdCompressor(level=1)
        return lambda data, is_packed: bytes(zstd.compress(data))
    return lambda data, is_packed: zlib.compress(data, _WRAP if is_packed else _QUICK, _GZIP)


def members(
    path: Path,
    torn: Callable[[int], None] = lambda offset: None,
    *,
    start: int = 0,
    chunk: int = _CHUNK,
) -> Iterator[Member]:
    """All whole members of a file from `start` on. torn: is told where something begins that is no
    whole member; nothing behind it is read. chunk: bytes read at once."""
    with path.open("rb") as file:
        file.seek(start)
        offset, rest = start, file.read(chunk)
        while rest:
            inflated, used = [], 0
            one = _decompressor(path)
            while True:
                try:
                    inflated.append(one.decompress(rest))
                except (zlib.error, zstandard.ZstdError):
                    return torn(offset)
                used += len(rest) - len(one.unused_data)
                if one.eof:
                    break
                rest = file.read(chunk)
                if not rest:
                    return torn(offset)
            yield Member(offset, b"".join(inflated))
            offset += used
            rest = one.unused_data or file.read(chunk)


def _decompressor(path: Path) -> Any:
    if SUFFIXES["zstd"] in path.name:
        return zstandard.ZstdDecompressor().decompressobj()
    return zlib.decompressobj(_GZIP)
