"""Stores. `rows` is pure; `sqlite`, `mysql` and `hbase` hold the drivers, and nothing else imports
one; `sql` is what both databases share. The contracts below, and `notes`, are what others see; each
has a contract suite (tests/contracts) that every home passes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from weibo_crawler.records import Edge, Id, State
from weibo_crawler.store.forgotten import NOBODY, Forgotten
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.notes import Notes

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
        as_of: int | None = None,
    ) -> Iterator[Row]:
        """Rows with start <= key < stop (or with the prefix), in order, at most `limit`.

        as_of: a timestamp; the newest cells that are not newer, as far as versions of them are
        kept. Rows without any of `columns` are left out. Pages inside: no lock or connection is
        held while the caller works on a row, so writing while scanning is allowed.
        """
        ...

    def states(
        self, key: str, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[int, dict[str, str]]]:
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
    def comments(self) -> Table: ...

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
    found_edge: a records.Edge; found_from: a uid of depth - 1, None for a seed.
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
    """An edge of which lists were not shown to guests. lists: how many, to be asked for again;
    since: when the first of them was, seconds since the epoch."""

    edge: Edge
    lists: int
    since: float


class OpenEntries(NamedTuple):
    """Entries still to walk, of one depth, who announce `fans`. is_doubted: a list of theirs ended
    before its announced count, and is to be looked at again."""

    depth: int
    fans: int | None
    is_doubted: bool
    entries: int


class ReadLists(NamedTuple):
    """Lists of an edge that were begun, of users who announce `fans`. is_open: the entries are
    still to walk; is_over: the lists have ended; is_walled: guests were not shown more of them;
    pages: those that held somebody, of all of them together."""

    edge: str
    fans: int | None
    is_open: bool
    is_over: bool
    is_walled: bool
    lists: int
    pages: int


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


class Users(Protocol):
    """The userlist, as a reader sees it."""

    def users(self, *, uids: Sequence[Id] | None = None, after_seq: int = 0) -> Iterator[UserRow]:
        """Kept users by seq; pages inside, so a harvest may write meanwhile."""
        ...

    def seen_pages(self, *, owners: Sequence[Id] | None = None) -> Iterator[SeenPage]:
        """Whom pages showed, by owner, edge and page; pages inside, as `users`. owners: only of
        these."""
        ...

    def last_seq(self) -> int:
        """The largest seq, 0 where there is nobody. Seqs become visible in their order, so nobody
        appears below it later, whoever is writing now."""
        ...

    def count_upto(self, seq: int) -> int:
        """How many users have a seq of at most this."""
        ...

    def states(self) -> dict[str, int]:
        """How many users are in each state; absent states are 0 and left out."""
        ...

    def depths(self) -> dict[int, int]:
        """How many users at each depth."""
        ...

    def walled(self) -> list[WalledEdge]:
        """The edges that hold walled lists, by name."""
        ...

    def unsure_lists(self) -> int:
        """How many lists ended against the announced count; walled ones are not among them."""
        ...

    def depths_are_bounds(self) -> str:
        """Why depths are upper bounds only, "" where they are exact."""
        ...

    def changed_users(self, since: float) -> Iterator[UserRow]:
        """Known users whose row changed at or after `since`: seeds that were named or lifted."""
        ...


class RunLog(Protocol):
    """What the processes of a run tell of themselves, and pages that a developer should see."""

    def workers(self, run_id: str = "") -> list[WorkerRow]:
        """Every worker of this run, or of every run, oldest first; runs of which nobody said
        anything for 30 days are summed up, one row for each stage (past_runs.py)."""
        ...

    def report(self, worker: WorkerRow) -> None:
        """Write one worker's figures. A process that does so first sums up runs long past, by the
        row's time."""
        ...

    def keep_drifted(self, run_id: str, url: str, why: str, body: bytes, at: float) -> None:
        """Keep a page whose shape is unknown, for a developer to look at."""
        ...


class Erasure(Protocol):
    """Whom `forget` removed."""

    def forget(self, uids: Sequence[Id]) -> int:
        """Delete users and keep a keyed hash of each, against which every insert is checked;
        returns how many rows were there. Lists of others, pages that showed them and kept pages
        lose them too."""
        ...

    def allow(self, uids: Sequence[Id]) -> int:
        """Drop the hashes of these users: later runs may store them again. How many there were."""
        ...

    def forgotten(self, known: Forgotten = NOBODY) -> Forgotten:
        """Whom `forget` removed; `known` itself where nobody was since."""
        ...


class PageStore(Protocol):
    """Pages that a harvest has read, until a visit of their user has used them."""

    def keep_pages(self, uid: Id, pages: Sequence[KeptPage]) -> None:
        """Keep pages of this user until a visit has used them. The newest answer to an address is
        kept; none is of whom `forget` removed, or that names them. `commit` does the same."""
        ...

    def kept_pages(self, uids: Sequence[Id]) -> dict[Id, list[KeptPage]]:
        """The pages that are kept of these users, by uid."""
        ...

    def kept_urls(self) -> Iterator[tuple[Id, str]]:
        """The uid and the address of each page that is kept."""
        ...

    def drop_pages(self, upto: Mapping[Id, float]) -> None:
        """By uid: delete the kept pages that were fetched by then, seconds since the epoch."""
        ...


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
    depth: int
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


class Landing(Enum):
    """What became of a PageCommit."""

    STORED = "stored"
    LOST = "lost"  # the lease is not mine any more, or the cursor moved: nothing was written
    AHEAD = "ahead"  # entries of a smaller depth are still open: nothing was written, try later
    FULL = "full"  # max_users is reached: users up to it were written, the progress was not


class Landed(NamedTuple):
    """inserted: how many users of the page were new."""

    landing: Landing
    inserted: int


class Walk(Protocol):
    """The userlist as a queue (laws 3, 8, 13). Every entry is handed out by (depth, seq) to
    one owner at a time, and again when the owner died; it leaves the queue only by `commit` or
    `finish`. Times are seconds since the epoch; `now` is the caller's."""

    def add_seeds(self, seeds: Sequence[Found], run_id: str, now: float) -> int:
        """Insert what is new at depth 0, lift known users to depth 0; returns how many are new."""
        ...

    def known_ids(self) -> Iterator[Id]:
        """The ids of all kept users, in no order."""
        ...

    def claim(
        self,
        owner: str,
        n: int,
        *,
        edges: Sequence[Edge],
        deepest: int,
        now: float,
        lease_s: float,
        with_aside: bool = True,
    ) -> list[Entry]:
        """Lease up to n entries of depth <= deepest: queued, rested, or of an expired lease. Who is
        set aside holds nobody back, and comes last, if at all (with_aside)."""
        ...

    def commit(
        self, owner: str, run_id: str, pages: Sequence[PageCommit], *, max_users: int
    ) -> list[Landed]:
        """Store pages, each whole or not at all, in one transaction."""
        ...

    def name_seed(
        self, owner: str, uid: Id, screen_name: str | None, fans: int | None, now: float
    ) -> None:
        """What a seed's profile told."""
        ...

    def finish(self, owner: str, uid: Id, state: State, why: str) -> bool:
        """The entry leaves the queue as done, gone or failed; False: it was not mine. A failed one
        makes all depths upper bounds."""
        ...

    def rest(
        self, owner: str, uid: Id, *, now: float, until: float, why: str, counts: bool = True
    ) -> None:
        """Back to the frontier, not before `until`. counts: as one of its attempts."""
        ...

    def give_back(self, owner: str, uids: Sequence[Id] | None = None) -> None:
        """Back to the frontier at once, no attempt counted. None: all that the owner holds."""
        ...

    def put_off(self, owner: str, uid: Id) -> None:
        """Back to the frontier behind all others, whom it holds back no more: set aside."""
        ...

    def renew(self, owner: str, *, now: float, lease_s: float) -> None: ...

    def requeue_failed(self) -> int:
        """Failed entries, and those with a list that ended against its announced count, go back to
        the queue with fresh attempts; returns how many."""
        ...

    def requeue_unread(self) -> int:
        """Seeds that are done, though their profile was not read, go back to the queue, so that it
        is asked for again; returns how many."""
        ...

    def note_walled(self, edge: Edge, now: float) -> None:
        """A list of the edge is about to end as walled; the time of the first one stands until no
        walled list of the edge is left."""
        ...

    def reopen_walled(self, edge: Edge, *, after_seq: int, n: int) -> list[tuple[int, Id]]:
        """Up to n walled lists of entries that are done (or queued again already), by seq from
        after_seq on, are to be read again; returns seq and uid of each."""
        ...

    def reclaim_dead(self) -> int:
        """Free what owners on this host hold whose process is dead; returns how many entries."""
        ...

    def set_aside(self, *, now: float, level_wait_s: float) -> int:
        """Entries resting longer than level_wait_s no longer hold deeper levels back (law 13)."""
        ...

    def begin_waiting(self, now: float, longest_s: float) -> None:
        """A run begins: what rests since before it, rests since now (for `set_aside`), and no
        longer than so: a clock may have gone wrong."""
        ...

    def open_level(self) -> int | None:
        """The smallest depth that is queued, leased or resting and not set aside: no page of a
        larger depth lands. None: nothing holds any page back."""
        ...

    def next_level(self) -> int | None:
        """The smallest depth that is queued, leased or resting, set aside or not; None: the walk is
        over."""
        ...

    def open_entries(self) -> list[OpenEntries]:
        """The entries still to walk, by what they announce."""
        ...

    def read_lists(self) -> list[ReadLists]:
        """The lists that were begun, by edge and by what their owners announce."""
        ...

    def call_depths_bounds(self, why: str) -> None:
        """From now on depths are upper bounds only; the first reason stands."""
        ...


class Told(Users, RunLog, Notes, Protocol):
    """What reports are made of."""


class Books(RunLog, Notes, Erasure, PageStore, Protocol):
    """What a process that visits users needs of their database."""


class Frontier(Users, RunLog, Notes, Erasure, PageStore, Walk, Protocol):
    """The users' database as a whole."""

    def close(self) -> None: ...
