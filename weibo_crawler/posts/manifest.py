"""The job's input: one line a range of row keys, so that work splits without asking for regions."""

from collections.abc import Callable

import msgspec

from weibo_crawler.errors import BadUsage
from weibo_crawler.store.rows.keys import ranges


class KeyRange(msgspec.Struct, frozen=True):
    """Rows of `userlist` with start <= key < stop (None: to the end). number: for logs."""

    number: int
    start: str
    stop: str | None


def manifest(n: int, holds_users: Callable[[KeyRange], bool] = lambda part: True) -> str:
    """The key space in n lines of JSON, without ranges in which there is nobody: each costs the
    start of a mapper. One is left in any case."""
    parts = [KeyRange(i, part.start, part.stop) for i, part in enumerate(ranges(n))]
    worth = [part for part in parts if holds_users(part)] or parts[:1]
    return "".join(msgspec.json.encode(part).decode() + "\n" for part in worth)


def parse_line(line: str) -> KeyRange:
    """One line of a manifest; BadUsage where it is none."""
    try:
        return msgspec.json.decode(line, type=KeyRange)
    except msgspec.MsgspecError as error:
        raise BadUsage(f"not a line of a manifest: {line[:80]!r}: {error}") from None
