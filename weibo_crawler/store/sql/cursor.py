"""What is alike in both SQL homes below the statements.

Statements that both understand write %s for a value, as pymysql does; the SQLite home writes its
own sign in its place.
"""

import json
import struct
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any, Protocol, TypeVar

from weibo_crawler.errors import NewerSchema, StoreError
from weibo_crawler.records import Id

T = TypeVar("T")

UNRELEASED = (None,)  # among migrations: a version of a schema that no release has made


class Cursor(Protocol):
    """What DB-API cursors have in common; parameters are written %s."""

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run a statement; how many rows a change met."""
        ...

    def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> int | None:
        """Run a statement for each row of values; how many rows all of them met."""
        ...

    def fetchall(self) -> Sequence[Any]: ...


class Database(Protocol):
    """A component's place in a database, and how it says what databases say differently. clock: an
    expression, its time in seconds since the epoch. Errors: StoreError."""

    clock: str

    def upsert(self, key: str, *columns: str) -> str:
        """What SQL says after an insert whose columns replace those of a row with the same key."""
        ...

    def or_leave(self, key: str) -> str:
        """The same after an insert that leaves such a row as it is."""
        ...

    def read(self, sql: str, values: Sequence[object] = ()) -> Sequence[Any]:
        """All rows of one statement."""
        ...

    def write(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run one statement whose repetition changes nothing; how many rows it met."""
        ...

    def transaction(self, work: Callable[[Cursor], T]) -> T:
        """Run `work` in one transaction: all of it once, or nothing."""
        ...

    def close(self) -> None: ...


def check_schema(version: int, migrations: Sequence[object], what: str, another: str) -> None:
    """NewerSchema where a component has a later version than this program knows, StoreError where
    no release has made its version; 0: it is not there yet. another: what to name in its place."""
    if version > len(migrations):
        raise NewerSchema(
            f"{what} have schema version {version}, this program knows {len(migrations)}: upgrade "
            f"weibo-crawler, or name another {another}"
        )
    if version and migrations[version - 1] is None:
        raise StoreError(
            f"{what} have schema version {version}, which no release of this program has made: "
            "name another place, and harvest again"
        )


def rows(cursor: Cursor, sql: str, values: Sequence[object] = ()) -> Sequence[Any]:
    """Run a statement inside a transaction; its rows."""
    cursor.execute(sql, values)
    return cursor.fetchall()


def marks(values: Sized) -> str:
    """For `IN (…)`: a place for each of the values, of which there is one at least."""
    return ", ".join(["%s"] * len(values))


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in pieces of so many, for one statement each."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def pack_ids(ids: Sequence[Id]) -> bytes:
    """Eight bytes a number, the same on every machine; texts as JSON, of another length."""
    if ids and isinstance(ids[0], str):
        packed = json.dumps(ids, separators=(",", ":")).encode()
        return packed + b" " * (len(packed) % 8 == 0)
    return struct.pack(f"<{len(ids)}Q", *ids)


def part_of_packed(uid: Id) -> bytes:
    """What stands in a packed list that holds this one, and may stand in others."""
    return json.dumps(uid).encode() if isinstance(uid, str) else pack_ids([uid])


def unpack_ids(packed: bytes) -> tuple[Id, ...]:
    if len(packed) % 8:
        return tuple(json.loads(packed))
    return struct.unpack(f"<{len(packed) // 8}Q", packed)
