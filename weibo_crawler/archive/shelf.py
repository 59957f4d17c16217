"""Where complete files go that are not to stay on this machine."""

import fcntl
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from weibo_crawler.errors import CrawlerError, StoreError

Put = Callable[[Path], None]


class Shelf:
    """Puts complete files elsewhere, in a thread of its own, and removes them here."""

    def __init__(self, put: Put) -> None:
        self._put = put
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="archive")
        self._under_way: list[Future[None]] = []

    def take(self, path: Path, lock: int) -> None:
        """Begin to put a file. lock: a descriptor that keeps others from it, closed in the end."""
        self._under_way.append(self._thread.submit(self._move, path, lock))

    def take_left(self, folder: Path) -> None:
        """Begin to put what killed processes of this machine left here. An empty file may be one
        that its writer is about to lock."""
        for path in sorted(folder.glob("*.warc.*")):
            if (lock := _locked(path)) is not None:
                if os.fstat(lock).st_size:
                    self.take(path, lock)
                else:
                    os.close(lock)

    def check(self) -> None:
        """Raise what went wrong so far."""
        done = [each for each in self._under_way if each.done()]
        self._under_way = [each for each in self._under_way if not each.done()]
        for each in done:
            each.result()

    def close(self) -> None:
        """Wait for all; raise what went wrong."""
        self._thread.shutdown(wait=True)
        self.check()

    def _move(self, path: Path, lock: int) -> None:
        try:
            self._put(path)
            path.unlink(missing_ok=True)
        except (CrawlerError, OSError) as error:
            raise StoreError(f"archive.folder: {path} stays here: {error}") from None
        finally:
            os.close(lock)


def is_open(path: Path) -> bool:
    """Whether a process is writing this file, or moving it elsewhere."""
    lock = _locked(path, os.O_RDONLY, fcntl.LOCK_SH)  # it may be of somebody else
    if lock is not None:
        os.close(lock)
    return lock is None


def _locked(path: Path, access: int = os.O_RDWR, kind: int = fcntl.LOCK_EX) -> int | None:
    """A descriptor that keeps other processes from this file until it is closed; None: one of them
    has it, or has moved it."""
    with suppress(BlockingIOError, FileNotFoundError):
        lock = os.open(path, access)
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
            path.stat()  # it may have been moved just before
            return lock
        except OSError:
            os.close(lock)
            raise
    return None
