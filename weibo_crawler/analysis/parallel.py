"""Reading in several processes: each reads ranges of keys, and what it makes of them comes in the
order of the keys, so that the whole is what one process would have made.
"""

import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from multiprocessing import get_context, parent_process
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, NamedTuple, TypeVar

from weibo_crawler.analysis.files import parts_folder
from weibo_crawler.analysis.writers import write
from weibo_crawler.errors import BadUsage, StoreError
from weibo_crawler.store.rows.keys import Range, ranges

T = TypeVar("T")

_AHEAD = 3  # ranges for each process that may wait to be taken: they lie on the disk
_COPIED = 1 << 20


class Readers:
    """So many processes, for a `with` block; they end with it, and with this process. Where the
    block ends by an exception, a Ctrl-C included, they are killed: readers leave nothing undone.
    beside: what is to be written, if anything; folder: one beside it for the parts."""

    def __init__(self, processes: int, beside: Path | None = None) -> None:
        self._n = processes
        self._parts = nullcontext(Path()) if beside is None else parts_folder(beside)
        # spawned, not forked: Arrow, SQLite and sockets have threads and locks
        self._pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin)

    def __enter__(self) -> "Readers":
        self.folder = self._parts.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for child in [*(self._pool._processes or {}).values()]:  # from 3.14 on: kill_workers
                child.kill()
        self._pool.shutdown(cancel_futures=True)
        self._parts.__exit__(None, None, None)  # last: nobody writes there any more

    def each(self, task: Callable[[Range], T]) -> Iterator[T]:
        """What the task makes of each of 256 ranges, in their order; it can be pickled, as can its
        results and errors. StoreError where a process was killed, BadUsage where none starts."""
        waiting: deque[Future[T]] = deque()
        try:
            for part in ranges(256):
                waiting.append(self._submit(task, part))
                if len(waiting) >= self._n * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise StoreError(
                f"--processes {self._n}: one of the reading processes was killed, perhaps for want "
                "of memory; nothing was written: give a smaller number, or leave it out"
            ) from None

    def _submit(self, task: Callable[[Range], T], part: Range) -> Future[T]:
        """A Ctrl-C at the terminal is for this process, which ends the others: a process is started
        here, and what is blocked meanwhile stays blocked in it."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._pool.submit(task, part)
        except OSError as error:
            raise BadUsage(
                f"--processes {self._n}: they cannot be started ({error.strerror}); "
                "give a smaller number"
            ) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """In each of the processes: end when the one that started it dies."""
    gc.set_threshold(50_000)  # as in cli.main
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


class Parted(NamedTuple):
    """Rows that others read. read: gives those of a range, in a process of its own; can be pickled.
    told: is called with the number of rows that were taken."""

    readers: Readers
    read: Callable[[Range], Iterable[Any]]
    told: Callable[[int], None]

    def write(self, format: str, stream: BinaryIO, columns: tuple[str, ...]) -> int:
        """As `writers.write` writes them; how many."""
        begin = BytesIO()
        write((), format, begin, columns)
        stream.write(begin.getvalue())
        total = 0
        for file, n in self.made(partial(_write_rows, format, columns)):
            with file.open("rb") as part:
                part.seek(len(begin.getvalue()))
                copyfileobj(part, stream, _COPIED)
            total += n
        return total

    def made(self, make: Callable[[Iterable[Any], Path], int]) -> Iterator[tuple[Path, int]]:
        """The files that this makes of the rows, which return how many these are, in their order;
        each is removed when the next one is asked for."""
        for file, n in self.readers.each(partial(_make, make, self.read, self.readers.folder)):
            self.told(n)
            yield file, n
            file.unlink()


def _make(
    make: Callable[[Iterable[Any], Path], int],
    read: Callable[[Range], Iterable[Any]],
    folder: Path,
    part: Range,
) -> tuple[Path, int]:
    file = folder / part.start
    return file, make(read(part), file)


def _write_rows(format: str, columns: tuple[str, ...], rows: Iterable[Any], file: Path) -> int:
    with file.open("xb") as stream:
        return write(rows, format, stream, columns)
