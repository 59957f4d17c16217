"""A file that is there whole or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from weibo_crawler.errors import BadUsage, StoreError, StoreFull

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write the new content of `path` under a temporary name in its folder.

    It takes the place of `path` when the block ends well; on any exception, an interruption
    included, it is removed and an old file stays as it was. Raises BadUsage where `path` is no
    regular file, StoreFull without room, StoreError for any other trouble with the file.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    part = target.with_name(f".{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        if target.exists() and not target.is_file():  # replacing would end a device
            raise BadUsage(f"{path} is not a regular file; give another name")
        file = part.open("xb")
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        _sync_folder(target.parent)
    except OSError as error:
        raise _translated(error, path) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _translated(error: OSError, path: Path) -> StoreError:
    if error.errno in _FULL:
        return StoreFull(
            f"no room to write {path}: free some and run the same command again; "
            "nothing was half-written"
        )
    if isinstance(error, FileNotFoundError):
        return StoreError(f"cannot write {path}: there is no folder {path.parent}; create it")
    return StoreError(f"cannot write {path}: {error.strerror or error}")
