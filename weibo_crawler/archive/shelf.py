"""Where complete files go that are not to stay on this machine."""

import fcntl
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from weibo_crawler.errors import CrawlerError, StoreError

Put = Callable[[Path], None]


class Shelf:
    """Puts complete files elsewhere, in a thread of its own, and removes them here."""

    def __init__(self, put: Put) -> None:
        self._put = put
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="archive")
        self._under_way: list[Future[None]] = []

    def take(self, path: Path) -> None:
        """Begin to put a file."""
        self._under_way.append(self._thread.submit(self._move, path))

    def take_left(self, folder: Path) -> None:
        """Begin to put what killed processes of this machine left here."""
        for path in sorted(folder.glob("*.warc.*")):
            if not is_open(path):
                self.take(path)

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

    def _move(self, path: Path) -> None:
        try:
            self._put(path)
            path.unlink(missing_ok=True)
        except (CrawlerError, OSError) as error:
            raise StoreError(f"archive.folder: {path} stays here: {error}") from None


def is_open(path: Path) -> bool:
    """Whether a process is writing this file."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False
