"""One answer, taken into a part, which gets its name when it is whole and on the disk.

A part that was left goes on by Range where the server said what it is a part of (ETag, or
Last-Modified) and still says the same (If-Range); else it begins again.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from weibo_crawler.analysis.files import translated
from weibo_crawler.errors import BadAnswer, BodyCut, BodyTooLarge
from weibo_crawler.fetch.clients.requests_transport import Stream
from weibo_crawler.media.naming import PARTS, ending_of, ends_early, file_name, part_name
from weibo_crawler.records import Request
from weibo_crawler.store.media import Wanted
from weibo_crawler.store.temporary import sync_folder

_HEAD = 16  # bytes that tell what a file is
_SAFE = 8 * 1024 * 1024  # bytes after which a part is made safe
_READ = 1 << 20
_MOVED = (301, 302, 303, 307, 308)
_GONE = (404, 410)
_LENGTH = re.compile(r"[0-9]{1,18}")  # Python reads no number of any length
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")


class Saved(NamedTuple):
    """The file has its name, below the folder."""

    file: str
    bytes: int
    sha256: str
    content_type: str


class Moved(NamedTuple):
    """It lies elsewhere."""

    location: str


class Gone(NamedTuple):
    """The host has it no more."""

    why: str


def shown(stream: Stream) -> Saved | Moved | Gone:
    """As `Part.take`, of a file of which nothing is wanted but a sign of life: its body is left
    unread."""
    if stream.status in _MOVED and "location" in stream.headers:
        return Moved(stream.headers["location"])
    return Saved("", 0, "", "") if stream.status in (200, 206) else Gone(str(stream.status))


class Part:
    """A file on its way into `folder`. limit: the most bytes it may have. keep: is called with how
    many bytes of it are safe, and of what they are a part, whenever that changes; came: of how
    many have come since."""

    def __init__(
        self,
        folder: Path,
        one: Wanted,
        *,
        limit: int,
        keep: Callable[[int, str], None],
        came: Callable[[int], None],
    ) -> None:
        self._folder, self._one, self._limit = folder, one, limit
        self._keep, self._came = keep, came
        self._path = folder / PARTS / part_name(one.uid, one.key)
        self._bytes, self._validator = one.part_bytes, one.part_of
        self._early: dict[str, int] = {}  # by digest, the sizes of what came and lacks its end
        if not self._path.exists() or self._path.stat().st_size < self._bytes:
            self._bytes = 0

    def asked_by(self, request: Request) -> Request:
        """The request for what is missing."""
        if not self._bytes or not self._validator:
            return request
        more = (("Range", f"bytes={self._bytes}-"), ("If-Range", self._validator))
        return replace(request, headers=(*request.headers, *more))

    def take(self, stream: Stream) -> Saved | Moved | Gone:
        """Errors: TransportError, StoreError; what came until then is kept."""
        status, headers = stream.status, stream.headers
        if status in _MOVED and "location" in headers:
            return Moved(headers["location"])
        if status in _GONE:
            return Gone(str(status))
        start, total = self._extent(status, headers)
        if headers.get("content-encoding", "identity") != "identity":
            raise BadAnswer("it is encoded, which was not asked for")
        self._check_size(total or 0)
        content_type = headers.get("content-type", "")
        with self._opened(start) as file:
            digest = sha256()
            ending, pieces = self._begun(file, start, digest.update, stream.pieces, content_type)
            done = self._fill(file, digest.update, pieces)
            if total is not None and done != total:
                self._make_safe(file)
                raise BodyCut(f"{done:,} bytes came of {total:,}")
            self._check_end(file, ending, done, digest.hexdigest())
            self._sync(file)
        name = file_name(self._one, ending)
        self._give(name)
        return Saved(name, done, digest.hexdigest(), content_type)

    def discard(self) -> None:
        with self._writing():
            self._path.unlink(missing_ok=True)

    def _extent(self, status: int, headers: dict[str, str]) -> tuple[int, int | None]:
        """From which byte on the answer goes, and how many the whole file has, None: it does not
        say. Errors: BadAnswer: then the next one goes from 0."""
        before, self._bytes = self._bytes, 0
        validator, length = _validator(headers), headers.get("content-length", "")
        if status == 200:
            self._validator = validator
            return 0, int(length) if _LENGTH.fullmatch(length) else None
        found = _RANGE.fullmatch(headers.get("content-range", ""))
        if status == 206 and found is not None and validator in ("", self._validator):
            first, end = int(found[1]), int(found[2]) + 1
            is_whole = not _LENGTH.fullmatch(length) or int(length) == end - first
            if first == before > 0 and is_whole:
                return before, end if found[3] == "*" else int(found[3])
        raise BadAnswer(f"no answer to what was asked (status {status})")

    def _begun(
        self,
        file: FileIO,
        start: int,
        digest: Callable[[bytes], None],
        pieces: Iterator[bytes],
        content_type: str,
    ) -> tuple[str, Iterator[bytes]]:
        """The ending of the name, and the pieces to write. Errors: BadAnswer where it is something
        else; nothing of that is written."""
        head = b""
        if start:
            with self._writing():
                file.seek(0)
                while file.tell() < start:
                    some = file.read(min(_READ, start - file.tell()))
                    head = head or some[:_HEAD]
                    digest(some)
        else:
            for piece in pieces:
                head += piece
                if len(head) >= _HEAD:
                    break
            pieces = chain((head,), pieces)
        ending = ending_of(self._one.kind, content_type, head)
        if ending is None:
            raise BadAnswer(f"it is no {self._one.kind} ({content_type or 'of no type'})")
        return ending, pieces

    def _fill(self, file: FileIO, digest: Callable[[bytes], None], pieces: Iterator[bytes]) -> int:
        """Write the pieces; how many bytes the part has then."""
        try:
            for piece in pieces:
                self._check_size(file.tell() + len(piece))
                digest(piece)
                self._came(len(piece))
                with self._writing():
                    rest = memoryview(piece)
                    while rest:
                        rest = rest[file.write(rest) :]
                if file.tell() - self._bytes >= _SAFE:
                    self._make_safe(file)
        except BaseException:
            self._make_safe(file)
            raise
        return file.tell()

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise BodyTooLarge(f"over {self._limit:,} bytes (media.max_file_bytes)")

    def _check_end(self, file: FileIO, ending: str, size: int, digest: str) -> None:
        """A proxy may cut a file and say that this is its length, or say none. So a file that lacks
        its end is asked for again, and is as it should be when the longest one comes once more.
        Errors: BodyCut."""

        def read(at: int, most: int) -> bytes:
            with self._writing():
                file.seek(at)
                return file.read(most) or b""

        if not ends_early(ending, read, size):
            return
        is_longest = size >= max(self._early.values(), default=0)
        if digest in self._early and is_longest:
            return
        self._early[digest] = size
        self.discard()
        self._bytes = 0
        raise BodyCut(f"it ends early, after {size:,} bytes")

    @contextmanager
    def _opened(self, start: int) -> Iterator[FileIO]:
        with self._writing():
            file = FileIO(self._path, "r+" if start else "w+")
        with file:
            with self._writing():
                file.truncate(start)
                file.seek(start)
            try:
                yield file
            except (BadAnswer, BodyTooLarge):
                self._bytes = 0
                self._path.unlink(missing_ok=True)
                raise

    def _sync(self, file: FileIO) -> None:
        with self._writing():
            os.fsync(file.fileno())

    def _make_safe(self, file: FileIO) -> None:
        """Put what came onto the disk, where a later request can go on from there."""
        if self._validator:
            self._sync(file)
            self._bytes = file.tell()
            self._keep(self._bytes, self._validator)

    def _give(self, name: str) -> None:
        with self._writing():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._path.replace(path)
            sync_folder(path.parent)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Trouble of the disk is not to be taken for one of the network."""
        try:
            yield
        except OSError as error:
            raise translated(error, self._folder) from error


def _validator(headers: dict[str, str]) -> str:
    """What tells whether a part is of the same file; "": nothing does."""
    etag = headers.get("etag", "")
    return etag if etag and not etag.startswith("W/") else headers.get("last-modified", "")
