"""Temporary folders that name their owner, so that the next run removes those of killed ones; and
what files need that are private, are to last, or are rewritten by one process at a time.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weibo_crawler.store.owners import is_dead, new_owner

_NAME = "weibo-crawler"  # then a dot, what it is for, a dot, and its owner
_SLASH = "~"  # as it stands in the owner's name


@contextmanager
def owned_folder(what: str) -> Iterator[Path]:
    """A folder in TMPDIR that only this account may read, removed at the end. Those of dead owners
    are removed first, each with its `log_of`."""
    parent = Path(tempfile.gettempdir())
    for left in parent.glob(f"{_NAME}.*.*"):
        if is_dead(left.name.split(".", 2)[2].replace(_SLASH, "/")) and left.is_dir():
            log_of(left).unlink(missing_ok=True)  # a log without a folder is there to be read
            shutil.rmtree(left, ignore_errors=True)  # not through a link
    folder = parent / f"{_NAME}.{what}.{new_owner().replace('/', _SLASH)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def log_of(folder: Path) -> Path:
    """A file beside the folder, which may stay for a reader when the folder is removed."""
    return folder.with_name(f"{folder.name}.log")


def open_private(path: str | Path, flags: int) -> int:
    """The `opener` of a file that only this account may read, whatever the umask."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


@contextmanager
def alone_in(folder: Path, *, waits: bool) -> Iterator[None]:
    """One process at a time is in a folder, and a dead one no more. waits: until it is this one's
    turn. Errors: BlockingIOError, without waiting, where another is there; OSError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:  # not every file system has locks
            pass
        yield
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, such as that of a file that was renamed."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
