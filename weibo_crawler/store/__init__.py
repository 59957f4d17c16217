"""Stores. `keys` and `cells` are pure; `sqlite_*` (later mysql, hbase) hold the drivers, and
nothing else imports a driver. The protocols below are what harvest, importer, posts and analysis
see; each has one contract suite (tests/contracts) that every home passes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

Cells = Mapping[str, str]  # "family:qualifier" -> value; all values are text


class Row(NamedTuple):
    """One row read: its key, and for each column the newest value."""

    key: str
    cells: dict[str, str]


class Cell(NamedTuple):
    """One version of one cell. timestamp: milliseconds since the epoch."""

    timestamp: int
    value: str


class Put(NamedTuple):
    """Cells to write into one row at one timestamp (milliseconds since the epoch)."""

    key: str
    cells: Cells
    timestamp: int


class Table(Protocol):
    """An HBase table: rows in the byte order of their keys, cells with timestamps and versions.

    Every write may be repeated (law 7): the same cell at the same timestamp is replaced; reading
    gives the newest timestamp, whatever the order of writing. A put is durable on return.
    """

    def put(self, puts: Iterable[Put]) -> None:
        """Write all of them, or raise StoreError; then repeat them all."""
        ...

    def row(self, key: str, columns: Sequence[str] | None = None) -> dict[str, str]:
        """The newest cells of one row, {} where there is none. columns: "fam" or "fam:qual"."""
        ...

    def versions(self, key: str, column: str, limit: int = 100) -> list[Cell]:
        """The kept versions of one cell, newest first."""
        ...

    def scan(
        self,
        *,
        start: str = "",
        stop: str | None = None,
        prefix: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Iterator[Row]:
        """Rows with start <= key < stop (or with the prefix), in order, at most `limit`.

        Rows without any of `columns` are left out. Pages inside: no lock or connection is held
        while the caller works on a row, so writing while scanning is allowed.
        """
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """The row keys with this prefix, in order; no values are read."""
        ...

    def delete(self, key: str, columns: Sequence[str] | None = None) -> None:
        """Delete all versions of the row, or of these columns ("fam" or "fam:qual")."""
        ...


class Tables(Protocol):
    """The two tables of this program and their home."""

    userlist: Table
    posts: Table

    def create(self) -> list[str]:
        """Create what is missing; says what it did, a line each. May be repeated."""
        ...

    def close(self) -> None: ...


class UserRow(NamedTuple):
    """One row of the SQL table `userlist`. found_at: seconds since the epoch.

    found_edge: "seed", "fans", …; found_from: a uid of depth - 1, None for a seed.
    """

    seq: int
    uid: int
    url: str
    screen_name: str
    fans: int
    depth: int
    found_from: int | None
    found_edge: str
    found_at: float
    state: str
    run_id: str


class WorkerRow(NamedTuple):
    """What one process did in one run: absolute figures, rewritten while it works.

    stage: "seed", "harvest", "import", "posts". ended: why it ended, None while it runs (or was
    killed). counters: "kept", "filtered", "seen_again", "page.ok", "page.throttled", …
    """

    run_id: str
    worker: str
    stage: str
    started_at: float
    updated_at: float
    ended: str | None
    counters: dict[str, int]


class Users(Protocol):
    """The reading side of the SQL home, as importer and analysis need it."""

    def users(self, *, uids: Sequence[int] | None = None, after_seq: int = 0) -> Iterator[UserRow]:
        """Kept users by seq; pages inside, so a harvest may write meanwhile."""
        ...

    def states(self) -> dict[str, int]:
        """How many users are in each state; absent states are 0 and left out."""
        ...

    def depths(self) -> dict[int, int]:
        """How many users at each depth."""
        ...

    def workers(self) -> list[WorkerRow]:
        """Every worker of every run, oldest first."""
        ...
