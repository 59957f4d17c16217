"""The index of a folder of pictures and videos: a row for each that a post names.

SQLite, as it survives kill -9 without a repair, finds a file among millions, and deletes a person
without writing all others anew. Beside the files, so that a copy of the folder is whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from weibo_crawler.records import Id
from weibo_crawler.store.sql.cursor import Cursor
from weibo_crawler.store.sqlite.base import Database

# uid and key are the file, mid says which post names it; run: the last one that wanted it; asked:
# the last one that had an outcome
_MIGRATIONS = (
    """
    CREATE TABLE media (
        n INTEGER PRIMARY KEY,
        uid NOT NULL,
        mid NOT NULL,
        kind TEXT NOT NULL,
        nth INTEGER NOT NULL,
        key TEXT NOT NULL,
        address TEXT NOT NULL,
        posted_at TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'wanted',
        why TEXT NOT NULL DEFAULT '',
        file TEXT,
        bytes INTEGER,
        sha256 TEXT,
        content_type TEXT,
        fetched_at TEXT,
        part_bytes INTEGER NOT NULL DEFAULT 0,
        part_of TEXT NOT NULL DEFAULT '',
        run INTEGER NOT NULL,
        asked INTEGER NOT NULL DEFAULT 0
    );
    CREATE UNIQUE INDEX media_names ON media (mid, key);
    CREATE INDEX media_files ON media (uid, key);
    CREATE INDEX media_runs ON media (run, state);
    """,
)
WANTED, HELD, GONE = "wanted", "held", "gone"
_SETTLED = f"('{HELD}', '{GONE}')"
_PAGE = 500
_COLUMNS = "uid, mid, kind, nth, key, address, posted_at, n, state, bytes, part_bytes, part_of"
# of the rows of a run that name the same file the first one stands for all
_OPEN = f"""
    FROM media AS m WHERE run = %s AND state NOT IN {_SETTLED} AND NOT EXISTS (
        SELECT 1 FROM media AS f
        WHERE f.uid = m.uid AND f.key = m.key AND f.run = m.run AND f.n < m.n)
"""
_KNOWN = f"""
    UPDATE media AS m SET (state, why, file, bytes, sha256, content_type, fetched_at) = (
        SELECT state, why, file, bytes, sha256, content_type, fetched_at FROM media AS f
        WHERE f.uid = m.uid AND f.key = m.key AND f.state IN {_SETTLED} LIMIT 1)
    WHERE run = %s AND state NOT IN {_SETTLED} AND EXISTS (
        SELECT 1 FROM media AS f
        WHERE f.uid = m.uid AND f.key = m.key AND f.state IN {_SETTLED})
"""


class Named(NamedTuple):
    """A picture or a video as a post names it. kind: picture or video; nth: which of the post's,
    from 1; key: as in `records.Media`; posted_at: as in the table."""

    uid: Id
    mid: Id
    kind: str
    nth: int
    key: str
    address: str
    posted_at: str


class Wanted(NamedTuple):
    """A file to fetch: `Named`, then how it stands. bytes: its size where that is known;
    part_bytes: so many bytes of it are on the disk, also after a power cut; part_of: the validator
    of what they are a part of."""

    uid: Id
    mid: Id
    kind: str
    nth: int
    key: str
    address: str
    posted_at: str
    n: int
    state: str
    bytes: int | None
    part_bytes: int
    part_of: str


class MediaIndex:
    """Methods raise StoreError. Threads may share it."""

    def __init__(self, file: Path) -> None:
        self._db = Database(f"sqlite:////{str(file.absolute()).lstrip('/')}", "media", _MIGRATIONS)

    def begin(self) -> int:
        """The number of a new run."""
        ((last,),) = self._db.read("SELECT coalesce(max(run), 0) FROM media")
        return int(last) + 1

    def want(self, run: int, named: Iterable[Named]) -> None:
        """Note what posts name; what is known and not settled is of this run now, and at its newest
        address."""
        rows = [(*one, run) for one in named]

        def work(cursor: Cursor) -> None:
            cursor.executemany(
                "INSERT INTO media (uid, mid, kind, nth, key, address, posted_at, run) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (mid, key) DO UPDATE SET "
                "address = excluded.address, run = excluded.run "
                f"WHERE state NOT IN {_SETTLED}",
                rows,
            )

        if rows:
            self._db.transaction(work)

    def share(self, run: int) -> None:
        """What another post of the same user has, or has not any more, is not asked for again."""
        self._db.write(_KNOWN, (run,))

    def open(self, run: int) -> Iterator[Wanted]:
        """The files of this run that have no outcome of it: those that never had one first, else
        in the order they were found."""
        for is_new in (f"state = '{WANTED}'", f"state <> '{WANTED}' AND asked < m.run"):
            last = 0
            sql = f"SELECT {_COLUMNS} {_OPEN} AND {is_new} AND n > %s ORDER BY n LIMIT {_PAGE}"
            while page := [Wanted(*row) for row in self._db.read(sql, (run, last))]:
                yield from page
                last = page[-1].n

    def count_open(self, run: int) -> int:
        """How many those are."""
        ((n,),) = self._db.read(f"SELECT count(*) {_OPEN} AND asked < m.run", (run,))
        return int(n)

    def note(self, one: Wanted, **cells: object) -> None:
        """Write these columns of all rows that name this file and have no file yet."""
        sets = ", ".join(f"{name} = %s" for name in cells)
        self._db.write(
            f"UPDATE media SET {sets} WHERE uid = %s AND key = %s AND state NOT IN {_SETTLED}",
            (*cells.values(), one.uid, one.key),
        )

    def count_held(self) -> int:
        """How many files there are."""
        sql = f"SELECT count(DISTINCT file) FROM media WHERE state = '{HELD}'"
        ((n,),) = self._db.read(sql)
        return int(n)

    def examples(self, n: int) -> Iterator[Wanted]:
        """Up to n pictures that are held, each drawn by itself."""
        sql = (
            f"SELECT {_COLUMNS} FROM media WHERE state = '{HELD}' AND kind = 'picture' "
            "AND n > %s ORDER BY n LIMIT 1"
        )
        for _ in range(n):
            ((drawn,),) = self._db.read("SELECT coalesce(abs(random()) % max(n), 0) FROM media")
            for row in self._db.read(sql, (drawn,)) or self._db.read(sql, (0,)):
                yield Wanted(*row)

    def usual_bytes(self) -> Mapping[str, float]:
        """The mean size of what is held, by kind."""
        sql = f"SELECT kind, avg(bytes) FROM media WHERE state = '{HELD}' GROUP BY kind"
        return dict(self._db.read(sql))

    def held(self) -> Iterator[tuple[str, int, str]]:
        """Each file once: its name, bytes and sha256."""
        last = ""
        sql = (
            f"SELECT DISTINCT file, bytes, sha256 FROM media WHERE state = '{HELD}' AND file > %s "
            f"ORDER BY file LIMIT {_PAGE}"
        )
        while page := self._db.read(sql, (last,)):
            yield from page
            last = page[-1][0]

    def of_user(self, uid: Id) -> list[str]:
        """The keys of a user's files."""
        return [key for (key,) in self._db.read("SELECT key FROM media WHERE uid = %s", (uid,))]

    def lost(self, file: str, why: str) -> None:
        """A file is not as it was: the next run asks for it again."""
        self._db.write(
            f"UPDATE media SET state = '{WANTED}', why = %s, part_bytes = 0 WHERE file = %s",
            (why, file),
        )

    def copy(self, file: Path) -> None:
        """Write it into a new file."""
        with self._db.translated():
            self._db.conn().execute("VACUUM INTO ?", (str(file),))

    def remove(self, uid: Id) -> int:
        """Delete all rows of a user; how many."""
        return self._db.write("DELETE FROM media WHERE uid = %s", (uid,))

    def close(self) -> None:
        self._db.close()
