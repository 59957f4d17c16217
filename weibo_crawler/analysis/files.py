"""A file that is there whole or not at all."""

import fcntl
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from weibo_crawler.errors import NO_ROOM, BadUsage, StoreError, StoreFull
from weibo_crawler.outputs import keep_databases
from weibo_crawler.store.temporary import alone_in, sync_folder

_STEM = 60  # characters of the name, up to 240 bytes: 255 is the most that a name may have


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write the new content of `path` under a temporary name in its folder.

    It takes the place of `path` when the block ends well; on any exception, an interruption
    included, it is removed and an old file stays as it was. Raises BadUsage where `path` is no
    regular file or a database, StoreFull without room, StoreError for any other trouble with the
    file.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    part = _part_of(path)
    try:
        # replacing would end a device; of a pipe only the name that was given exists
        if path.exists() and not path.is_file():
            raise BadUsage(f"{path} is not a regular file; give another name")
        keep_databases(path)
        _remove_left(path)
        file = part.open("xb")
        try:
            with file:
                _keep_narrow(file, target)
                with suppress(OSError):  # not every file system has locks
                    fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed: its writer lives
                yield file
                file.flush()
                os.fsync(file.fileno())
                part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(target.parent)
    except OSError as error:
        raise translated(error, path) from error


@contextmanager
def parts_folder(path: Path, mode: int = 0o700) -> Iterator[Path]:
    """A folder beside `path` for what is to become it, or for its parts. It is removed at the end,
    unless it was given another name. Errors as `replacing`."""
    part = _part_of(path)
    try:
        _remove_left(path)
        part.mkdir(mode)
        with alone_in(part, waits=True):
            try:
                yield part
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise translated(error, path) from error


def parts_of(path: Path) -> list[Path]:
    """What is being written for `path`, and what writers who were killed left of it."""
    target = Path(os.path.realpath(path))
    return list(target.parent.glob(f".{glob.escape(target.name[:_STEM])}.????????.part"))


def is_left(part: Path) -> bool:
    """Whether the writer of this file or folder, who holds a lock on it, is gone."""
    try:
        handle = os.open(part, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(handle)
    except OSError:  # its writer has the lock, or there are none here, or it went away meanwhile
        return False
    return True


def _part_of(path: Path) -> Path:
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name[:_STEM]}.{secrets.token_hex(4)}.part")


def _remove_left(path: Path) -> None:
    for left in filter(is_left, parts_of(path)):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _keep_narrow(file: BinaryIO, target: Path) -> None:
    """A new file is as the umask says, but never wider than the one whose place it takes."""
    with suppress(FileNotFoundError):
        mode = os.fstat(file.fileno()).st_mode & target.stat().st_mode
        os.fchmod(file.fileno(), mode & 0o777)


def translated(error: OSError, path: Path) -> StoreError:
    """Trouble with writing `path`, in words."""
    if error.errno in NO_ROOM:
        return StoreFull(
            f"no room to write {path}: free some and run the same command again; "
            "nothing was half-written"
        )
    if isinstance(error, FileNotFoundError):
        return StoreError(f"cannot write {path}: there is no folder {path.parent}; create it")
    return StoreError(f"cannot write {path}: {error.strerror or error}")
