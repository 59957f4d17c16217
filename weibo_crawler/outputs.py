"""Files that no output may replace: databases, which may be the stores of a crawl, and what people
have written: settings, seeds, lists of proxies."""

import re
from itertools import islice
from pathlib import Path

from weibo_crawler.errors import BadUsage

_MAGIC = b"SQLite format 3\0"
_LOGS = ("-wal", "-shm", "-journal")  # what SQLite writes beside a database, and needs
# the first line of settings ([site]), of seeds (uids, addresses) and of lists of proxies; no output
# of ours begins so
_BY_HAND = re.compile(
    r"\[[a-z_]+\]|\d{1,19}|\w+://\S+|[\w.-]+:\d{1,5}(:\S+)?|[\w-]+(\.[\w-]+)*\.[a-z]{2,}/\S+"
)
_LINES = 1000  # of comments before the first line


def keep_inputs(path: Path) -> None:
    """Raise BadUsage where `path` is part of a SQLite database, settings, seeds or proxies. Call it
    before writing."""
    keep_databases(path)
    if is_by_hand(path):
        raise BadUsage(
            f"{path} looks like settings, seeds or a list of proxies: name another file, or move it"
        )


def is_by_hand(path: Path) -> bool:
    """Whether it begins like settings, seeds or a list of proxies; False where it is no text."""
    if not path.is_file():  # reading a terminal or a pipe would wait
        return False
    try:
        with path.open(encoding="utf-8-sig") as file:
            lines = (line.partition("#")[0].strip() for line in islice(file, _LINES))
            return _BY_HAND.fullmatch(next(filter(None, lines), "")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def keep_databases(path: Path) -> None:
    """Raise BadUsage where `path` is part of a SQLite database. Call it before writing."""
    if is_of_database(path):
        raise BadUsage(f"{path} is part of a SQLite database, such as a store: name another file")


def is_of_database(path: Path) -> bool:
    """Whether `path` is a SQLite database or a log of one; False where it cannot be read."""
    database = path
    for end in _LOGS:
        if path.name.endswith(end):
            database = path.with_name(path.name.removesuffix(end))
    try:
        with database.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
