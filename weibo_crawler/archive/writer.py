"""The files of one process: appended to, closed when they are full, never opened again."""

import fcntl
import os
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from weibo_crawler import config
from weibo_crawler.archive import exchanges
from weibo_crawler.archive.blanking import blanked
from weibo_crawler.archive.exchanges import Fields
from weibo_crawler.archive.members import SUFFIXES, compressor
from weibo_crawler.archive.shelf import Put, Shelf
from weibo_crawler.errors import NO_ROOM, StoreError, StoreFull
from weibo_crawler.records import Answer, Id

OPEN = ".open"  # the suffix of a file while it is written, or after its process was killed
_OUTGOING = "archive-outgoing"  # where files are written that are to go elsewhere


class Archive:
    """Appends every answer to a file of this process alone, in the thread that calls.

    A record is in the kernel's hands when `keep` returns, so kill -9 loses none that a table could
    know of. A file is locked while it is written: `forget` leaves it alone then.

    name: begins the names of the files; info: fields of their warcinfo; max_bytes: as
    archive.max_file_bytes; is_gone: whom `forget` removed, asked when a file begins; shelf:
    gets each file when it is complete. Errors: StoreError, StoreFull; a record is written whole or
    not at all.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        info: Fields,
        *,
        compression: str = "gzip",
        max_bytes: int,
        is_gone: Callable[[], Callable[[Id], bool] | None] = lambda: None,
        shelf: Shelf | None = None,
    ) -> None:
        self._folder, self._name, self._info = folder, name, info
        self._compress = compressor(compression)
        self._suffix, self._max_bytes = SUFFIXES[compression], max_bytes
        self._find_gone, self._shelf = is_gone, shelf
        self._is_gone: Callable[[Id], bool] | None = None
        self._serial = 0
        self._path: Path | None = None
        self._file = -1
        self._size = 0
        self._begin()

    def keep(self, answer: Answer) -> None:
        """Append one answer, or that none came."""
        if self._is_gone is not None:
            shown = blanked(answer, self._is_gone)
            if shown is None:
                return
            answer = shown
        self._append(exchanges.exchange(answer, time.time(), self._compress))

    def note(self, kind: str, uids: list[Id], at: float) -> None:
        """Append a list of uids that tells something of the run itself."""
        self._append(exchanges.note(kind, at, uids, self._compress))

    def close(self) -> None:
        """Complete the file, and wait until all are where they are to go."""
        self._complete()
        if self._shelf is not None:
            self._shelf.close()

    def _complete(self) -> None:
        if self._path is None:
            return
        path, whole = self._path, self._path.with_name(self._path.name.removesuffix(OPEN))
        self._path = None
        try:
            path.rename(whole)
            if self._shelf is not None:
                self._shelf.take(whole, self._file)
            else:
                os.close(self._file)
        except OSError as error:
            raise store_error(whole, error) from None

    def _append(self, data: bytes) -> None:
        if self._shelf is not None:
            self._shelf.check()
        if self._size >= self._max_bytes:
            self._complete()
        if self._path is None:
            self._begin()
        self._write(data)

    def _begin(self) -> None:
        self._is_gone = self._find_gone()
        path = self._folder / self._name
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            while True:
                self._serial += 1
                name = f"{self._name}-{self._serial:05}{self._suffix}"
                path = self._folder / (name + OPEN)
                try:  # of this account alone, and nobody else's file
                    self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                    break
                except FileExistsError:
                    continue
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise store_error(path, error) from None
        self._path, self._size = path, 0
        self._write(exchanges.warcinfo(name, self._info, self._compress))

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            os.ftruncate(self._file, self._size)  # no half record is left
            os.lseek(self._file, self._size, os.SEEK_SET)
            raise store_error(self._path, error) from None
        self._size += len(data)


def store_error(path: Path | None, error: OSError) -> StoreError:
    """What could not be written, why, and what to do."""
    is_full = error.errno in NO_ROOM
    what = "free some room or name" if is_full else "name"
    return (StoreFull if is_full else StoreError)(
        f"archive.folder: cannot write {path}: {error.strerror}; {what} another folder, then run "
        "the same command again"
    )


def open_archive(
    settings: config.Archive,
    stage: str,
    run_id: str,
    *,
    options: Mapping[str, bool | float],
    is_gone: Callable[[], Callable[[Id], bool] | None],
    put: Put | None = None,
) -> Archive:
    """The archive of this process for one stage of one run; close it after use.

    options: what a later `reparse` must know of the run. put: copies a complete file to where
    archive.folder is no folder of this machine. Errors: StoreError.
    """
    host = "".join(c for c in socket.gethostname() if c.isalnum() or c == "-") or "localhost"
    process = f"{host}-{os.getpid()}-{secrets.token_hex(3)}"
    info = [("isPartOf", run_id), ("crawler-stage", stage), ("crawler-process", process)]
    info.append(("crawler-options", msgspec.json.encode(dict(options)).decode()))
    folder = config.resolve(_OUTGOING if put else settings.folder or ".")
    shelf = Shelf(put) if put is not None else None
    if shelf is not None:
        shelf.take_left(folder)
    return Archive(
        *(folder, f"{stage}-{run_id}-{process}", info),
        compression=settings.compression,
        max_bytes=settings.max_file_bytes,
        is_gone=is_gone,
        shelf=shelf,
    )
