"""A body as it arrives: decoded piece by piece under a limit, and refused where it is cut. Pure.

Every HTTP client tried but two takes a gzip stream that ends early under a right Content-Length for
a whole body, so the end of the compression is checked here.
"""

import importlib
import importlib.util
from typing import Any
from zlib import MAX_WBITS

from weibo_crawler.errors import BadAnswer, BodyCut, BodyTooLarge

# isal, of the extra `fast`, has the functions of zlib and takes half of its time
_HAS_ISAL = importlib.util.find_spec("isal") is not None
inflating: Any = importlib.import_module("isal.isal_zlib" if _HAS_ISAL else "zlib")

ACCEPT_ENCODING = "gzip, deflate"
_NO_COMPRESSION = ("", "identity", "none", "utf-8")  # as servers write, and browsers pass over
_GZIP_MAGIC = b"\x1f\x8b"


class Body:
    """Feed it the bytes of the wire, then take the decoded body from `finish`.

    encoding: the Content-Encoding header, "" for none. limit: bytes of the decoded body.
    Errors: BodyTooLarge as soon as the limit is passed (memory never grows beyond it) or the wire
    brings more than a body of that size can need, BodyCut for a broken or short compression,
    BadAnswer for an encoding that was not asked for.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        said = (one.strip() for one in encoding.lower().split(","))
        self._encoding = ", ".join(one for one in said if one not in _NO_COMPRESSION)
        if self._encoding not in ("", "gzip", "x-gzip", "deflate"):
            raise BadAnswer(f"the body is encoded as {self._encoding[:20]!r}, not as asked for")
        self._is_plain = not self._encoding
        self._limit = limit
        # What does not compress grows by less than a thousandth, and gzip has a header.
        self._wire_limit = limit if self._is_plain else limit + limit // 1000 + 1024
        self._pieces: list[bytes] = []
        self._wire: list[bytes] = []
        self._size = 0
        self._wire_size = 0
        self._zlib: Any = None

    def feed(self, data: bytes) -> None:
        """The next bytes of the wire."""
        self._wire_size += len(data)
        if self._wire_size > self._wire_limit:
            raise BodyTooLarge(f"the body is over {self._limit} bytes (fetch.max_body_bytes)")
        if self._is_plain:
            self._pieces.append(data)
        else:
            self._wire.append(data)
            try:
                self._inflate(data)
            except inflating.error:
                raise BodyCut(f"the body is no valid {self._encoding}") from None

    def finish(self) -> bytes:
        """The whole decoded body; nothing at all on the wire is an empty body."""
        if self._zlib is not None and not self._zlib.eof:
            raise BodyCut(f"the {self._encoding} body ends before its end")
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    @property
    def encoded(self) -> tuple[str, bytes]:
        """The encoding, and the body as the wire brought it; both empty for a plain one."""
        if self._is_plain:
            return "", b""
        return self._encoding, self._wire[0] if len(self._wire) == 1 else b"".join(self._wire)

    def _inflate(self, data: bytes) -> None:
        while data:
            if self._zlib is None:
                self._zlib = inflating.decompressobj(self._window_bits(data[0]))
            elif self._zlib.eof:  # gzip members may follow each other; other trailers are ignored
                if self._encoding == "deflate" or not data.startswith(_GZIP_MAGIC):
                    return
                self._zlib = inflating.decompressobj(MAX_WBITS | 16)
            # One byte more than allowed: a length of 0 would mean no limit to zlib.
            piece = self._zlib.decompress(data, self._limit + 1 - self._size)
            self._size += len(piece)
            if self._size > self._limit:
                raise BodyTooLarge(
                    f"the decoded body is over {self._limit} bytes (fetch.max_body_bytes)"
                )
            self._pieces.append(piece)
            data = self._zlib.unused_data

    def _window_bits(self, start: int) -> int:
        """zlib's parameter for a stream with this first byte.

        "deflate" is zlib's format by the standard, and the bare stream at some servers; the low
        half of zlib's first byte is 8, with which no compressor begins a bare stream.
        """
        if self._encoding != "deflate":
            return MAX_WBITS | 16
        return MAX_WBITS if start & 0x0F == 8 else -MAX_WBITS
