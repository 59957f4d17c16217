"""A folder of pictures and videos as a whole: whose it is, its index, checking, forgetting."""

import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import file_digest
from pathlib import Path

from weibo_crawler.analysis.files import translated
from weibo_crawler.errors import BadUsage
from weibo_crawler.media.naming import PARTS, folder_name, part_name
from weibo_crawler.records import Id
from weibo_crawler.store.media import MediaIndex
from weibo_crawler.store.temporary import alone_in

INDEX = "index.db"


class Busy(BadUsage):
    """Another process writes into the folder."""


def check_folder(folder: Path) -> None:
    """Raise BadUsage where the folder is none of ours, nor a new or an empty one."""
    if folder.exists() and not folder.is_dir():
        raise BadUsage(f"{folder} is a file: name a folder")
    if not is_ours(folder) and folder.exists() and any(folder.iterdir()):
        raise BadUsage(
            f"{folder} holds other things than pictures and videos of `media`: name a new folder"
        )


def is_ours(folder: Path) -> bool:
    """Whether `media` has begun it."""
    return (folder / PARTS).is_dir()


@contextmanager
def opened(folder: Path) -> Iterator[MediaIndex]:
    """Its index, for this process alone; a new folder is made. Errors: BadUsage as
    `check_folder`, Busy, StoreError."""
    check_folder(folder)
    with ExitStack() as stack:
        try:
            (folder / PARTS).mkdir(parents=True, exist_ok=True)
            stack.enter_context(alone_in(folder / PARTS, waits=False))
        except BlockingIOError:
            raise Busy(f"another process writes into {folder}: wait for its end") from None
        except OSError as error:
            raise translated(error, folder) from error
        index = MediaIndex(folder / INDEX)
        stack.callback(index.close)
        index.begin()  # opens it
        yield index


def check(
    folder: Path, index: MediaIndex, told: Callable[[int], None]
) -> Iterator[tuple[str, str]]:
    """Read every file anew; those that are not as they were written, and why. told: is called with
    how many were read."""
    for n, (name, size, digest) in enumerate(index.held()):
        told(n)
        path = folder / name
        try:
            with path.open("rb") as file:
                is_same = file_digest(file, "sha256").hexdigest() == digest
                is_same = is_same and file.tell() == size
        except FileNotFoundError:
            yield name, "missing"
        except OSError as error:
            yield name, f"cannot be read ({error.strerror})"
        else:
            if not is_same:
                yield name, "changed"


def forget_in(folder: Path, uids: Collection[Id], *, dry_run: bool) -> int:
    """Delete the files of these users, and all that the index holds of them; how many files there
    were. Errors: Busy, StoreError."""
    files = 0
    with opened(folder) as index:
        for uid in uids:
            own = folder / folder_name(uid)
            files += sum(1 for path in own.rglob("*") if path.is_file())
            if dry_run:
                continue
            try:
                with suppress(FileNotFoundError):
                    shutil.rmtree(own)
                for key in index.of_user(uid):
                    (folder / PARTS / part_name(uid, key)).unlink(missing_ok=True)
            except OSError as error:
                raise translated(error, own) from error
            index.remove(uid)
    return files
