"""Stores. `rows` is pure; `sqlite`, `mysql` and `hbase` hold the drivers, and nothing else imports
one. Others see the contracts of the tables below, `notes`, and the users' database, which is
`sql.walk.Frontier` in both homes. Each has a suite (tests/contracts) that every home passes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from weibo_crawler.records import Edge, Id
from weibo_crawler.store.kept import KeptPage

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

    @classmethod
    def at(cls, key: str, cells: Cells, seconds: float) -> "Put":
        """At a time in seconds since the epoch."""
        return cls(key, cells, int(seconds * 1000))


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

    def rows(
        self, keys: Sequence[str], columns: Sequence[str] | None = None
    ) -> dict[str, dict[str, str]]:
        """Of each of these keys what `row` gives; many at once cost little more than one."""
        ...

    def versions(self, key: str, column: str) -> list[Cell]:
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
        as_of: int | None = None,
        least: tuple[str, str] | None = None,
    ) -> Iterator[Row]:
        """Rows with start <= key < stop (or with the prefix), in order, at most `limit`.

        as_of: a timestamp; the newest cells that are not newer, as far as versions of them are
        kept. least: (column, value); only rows that hold this value there, or a greater one, by
        the bytes of both; of other rows nothing else is read. For all columns alone. Rows without
        any of `columns` are left out. Pages inside: no lock or connection is held while the caller
        works on a row, so writing while scanning is allowed.
        """
        ...

    def states(self, key: str) -> Iterator[tuple[int, dict[str, str]]]:
        """What a row held, the newest first: since which timestamp, and the newest cells then, as
        far as versions of them are kept."""
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """The row keys with this prefix, in order; no values are read."""
        ...

    def delete(
        self, key: str, columns: Sequence[str] | None = None, *, up_to: int | None = None
    ) -> None:
        """Delete all versions of the row, or of these columns ("fam" or "fam:qual").

        up_to: only those with this timestamp or an older one; None: up to the newest that is there
        when it is called. A newer put is seen, whether it was written before or after. What is put
        later at that timestamp or an older one may be hidden: HBase keeps a mark of the deletion
        until its next major compaction. So a cell is replaced for good by a put just above its
        newest version and a delete up to that version, in either order.
        """
        ...


class Tables(Protocol):
    """The tables of this program and their home."""

    @property
    def userlist(self) -> Table: ...

    @property
    def posts(self) -> Table: ...

    @property
    def echoes(self) -> Mapping[str, Table]:
        """By the names of `ECHO_LISTS`."""
        ...

    @property
    def waits_for(self) -> str:
        """The server that is away and keeps a call waiting, and why; "" for none."""
        ...

    def create(self) -> list[str]:
        """Create what is missing; says what it did, a line each. May be repeated."""
        ...

    def check(self) -> list[str]:
        """Compare what is there with what `create` makes: a line for each difference that does no
        harm; StoreError for one that does, and for what is missing."""
        ...

    def paper(self) -> Table | None:
        """The table that `import --paper` made: a row a user, its key the bare uid. None where
        there is none."""
        ...

    def close(self) -> None: ...


class UserRow(NamedTuple):
    """One row of the SQL table `userlist`. found_at: seconds since the epoch.

    screen_name, fans: None where nobody knows them, as of a seed whose profile was not read yet.
    found_edge: a records.Edge; found_from: a uid of depth - 1, None for a seed, and for who wrote a
    post that a topic showed.
    """

    seq: int
    uid: Id
    url: str
    screen_name: str | None
    fans: int | None
    depth: int
    found_from: Id | None
    found_edge: str
    found_at: float
    state: str
    run_id: str


class SeenPage(NamedTuple):
    """Whom one page showed: `uids` on the list `edge` of `owner`, of which it was the nth page from
    0 on, when it was last read (seconds since the epoch)."""

    owner: Id
    edge: str
    nth: int
    seen_at: float
    uids: tuple[Id, ...]


class WalledEdge(NamedTuple):
    """An edge of which lists were not shown to guests. lists: how many; since: when the first of
    them was, seconds since the epoch; alone: how many of them while those of others were shown,
    which later runs do not ask for again."""

    edge: Edge
    lists: int
    since: float
    alone: int = 0


class OpenEntries(NamedTuple):
    """Entries still to walk, of one depth, who announce `fans`. is_doubted: a list of theirs ended
    before its announced count, and is to be looked at again. is_put_off: they wait for all others,
    as they promise little, or since they rest for long."""

    depth: int
    fans: int | None
    is_doubted: bool
    entries: int
    is_put_off: bool = False


class ReadLists(NamedTuple):
    """Lists of an edge that were begun, of users who announce `fans`. is_open: the entries are
    still to walk; is_over: the lists have ended; is_walled: guests were not shown more of them;
    pages: those that held somebody, of all of them together; left: posts that are still to be asked
    about, as far as their progress names these."""

    edge: str
    fans: int | None
    is_open: bool
    is_over: bool
    is_walled: bool
    lists: int
    pages: int
    left: int = 0


class EndOfList(NamedTuple):
    """How far the list `edge` of a user was read: ended, sure: as in `PageCommit`, None while it
    goes on; listed: users on it; pages: those that held somebody; cursor: of the next one."""

    uid: Id
    edge: str
    ended: str | None
    sure: bool
    listed: int
    pages: int
    cursor: str


class WorkerRow(NamedTuple):
    """What one process did in one run: absolute figures, rewritten while it works.

    stage: "seed", "harvest", "import", "posts". ended: why it ended, None while it runs (or was
    killed). counters: "users.kept", "users.filtered", "page.ok", "page.throttled", …
    """

    run_id: str
    worker: str
    stage: str
    started_at: float
    updated_at: float
    ended: str | None
    counters: dict[str, int]


class Progress(NamedTuple):
    """How far the list of one edge of one user was read.

    cursor: the page to fetch next, "" the first. last_ids: the ids of the page read last, so that
    a page that adds nobody is known after a restart. listed: users listed so far (repeats out).
    pages: how many pages held somebody.
    """

    cursor: str = ""
    last_ids: tuple[Id, ...] = ()
    listed: int = 0
    pages: int = 0


class Entry(NamedTuple):
    """A claimed entry of the frontier. progress: the edges still to walk, in the order asked.

    is_retried: it failed, or was in doubt, in an earlier run, and is asked for once more.
    troubled_at: when it came to rest without a page since, or the latest run that found it at rest
    began; seconds since the epoch. walled: lists that ended as walled; begun: lists that were read,
    or reopened, and have not ended.
    """

    uid: Id
    screen_name: str | None
    fans: int | None
    depth: int
    is_seed: bool
    attempts: int
    last_error: str
    is_retried: bool
    troubled_at: float | None
    progress: dict[Edge, Progress]
    walled: frozenset[Edge] = frozenset()
    begun: frozenset[Edge] = frozenset()

    @property
    def is_unread(self) -> bool:
        """A seed whose profile was not shown, or not read, so far: its fans are not known."""
        return self.is_seed and self.screen_name is None and self.fans is None

    @property
    def is_retry(self) -> bool:
        """Whether an earlier visit failed or ended in doubt."""
        return self.is_retried or self.attempts > 0 or bool(self.last_error)


class Found(NamedTuple):
    """A user to keep, found on a page, or a seed: of that only the uid is known."""

    uid: Id
    url: str
    screen_name: str | None = None
    fans: int | None = None


WALLED = "login_wall"  # PageCommit.ended of a list that guests are not shown


# why depths are bounds, and so the order of the walk is free
NOT_SHOWN = "lists that guests are not shown may hold shorter ways"
# what an entry is in doubt of: `harvest` writes it, `OpenEntries.is_doubted` is told by it
LESS_SHOWN = "less was shown than announced"
ILLEGIBLE_PEOPLE = "people on lists who could not be read may be shorter ways"


class PageCommit(NamedTuple):
    """One page of one list: its users and the progress of its owner, stored together (law 3).

    cursor: what was read before the fetch; after: the progress from here. ended: why this list is
    finished, None while it goes on. sure: False where its end contradicts the announced count.
    last: the entry is done with this page. illegible: how many people it may have shown who could
    not be read. They, and an end that is not sure, make depths bounds. nth, seen:
    which page of the list it is, from 0 on, and all whom it shows, for `seen_pages`; () keeps none.
    kept: pages of the owner that were read for it, for `kept_pages`.
    """

    uid: Id
    edge: Edge
    cursor: str
    after: Progress
    found: tuple[Found, ...]
    fetched_at: float
    ended: str | None = None
    sure: bool = True
    last: bool = False
    nth: int = 0
    seen: tuple[Id, ...] = ()
    kept: tuple[KeptPage, ...] = ()
    illegible: int = 0


class Topic(NamedTuple):
    """Words whose posts the site shows, as a source of users.

    state: queued; done; walled, as guests are not shown it; failed, for the reason `why`. The later
    two are read by the next run. cursor: of the next page; pages: read so far; read_at: when the
    last one was asked for, seconds since the epoch.
    """

    words: str
    cursor: str = ""
    pages: int = 0
    state: str = "queued"
    why: str = ""
    read_at: float | None = None


class TopicPage(NamedTuple):
    """One page of a topic: its users and the progress of the topic, stored together. before: as it
    was read before the fetch. sure: False where somebody on it could not be read."""

    before: Topic
    after: Topic
    found: tuple[Found, ...] = ()
    sure: bool = True


class Landing(Enum):
    """What became of a PageCommit, or a TopicPage."""

    STORED = "stored"
    LOST = "lost"  # the lease is not mine any more, or the cursor moved: nothing was written
    AHEAD = "ahead"  # entries of a smaller depth are still open: nothing was written, try later
    FULL = "full"  # max_users is reached: users up to it were written, the progress was not


class Landed(NamedTuple):
    """inserted: how many users of the page were new."""

    landing: Landing
    inserted: int
