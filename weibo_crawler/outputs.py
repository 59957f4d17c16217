"""Files that no output may replace: databases, which may be the stores of a crawl."""

from pathlib import Path

from weibo_crawler.errors import BadUsage

_MAGIC = b"SQLite format 3\0"
_LOGS = ("-wal", "-shm", "-journal")  # what SQLite writes beside a database, and needs


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
