"""What is alike in both SQL homes below the statements. Pure.

Statements that both understand write %s for a value, as pymysql does; the SQLite home writes its
own sign in its place.
"""

import struct
from collections.abc import Sequence, Sized
from typing import Any, Protocol


class Cursor(Protocol):
    """What DB-API cursors have in common; parameters are written %s."""

    def execute(self, sql: str, values: Sequence[object] = ()) -> object: ...

    def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> object: ...

    def fetchall(self) -> Sequence[Any]: ...


def marks(values: Sized) -> str:
    """For `IN (…)`: a place for each of the values, of which there is one at least."""
    return ", ".join(["%s"] * len(values))


def pack_ids(ids: Sequence[int]) -> bytes:
    """Eight bytes an id, the same on every machine."""
    return struct.pack(f"<{len(ids)}Q", *ids)


def unpack_ids(packed: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(packed) // 8}Q", packed)
