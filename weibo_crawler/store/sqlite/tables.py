"""HBase's model in SQLite: one ordered SQL table for each HBase table.

A record is what one put wrote into one family of one row: (row key, family, timestamp) -> its
cells as a JSON object, `{"count:likes":"7","count:reposts":"0"}`. Compared with a record for each
cell this writes half again as many posts a second and scans twice as many, in four fifths of the
space (40,000 posts of 11 cells), and `SELECT cells ->> 'post:text'` still reads it.
SQLite compares text by its UTF-8 bytes, which is HBase's order of row keys.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from sqlite3 import Connection
from typing import NamedTuple

import msgspec

from weibo_crawler.records import ECHO_LISTS
from weibo_crawler.store import Cell, Put, Row, Table
from weibo_crawler.store.rows.cells import FAMILIES, KEEP_VERSIONS, families, family_of
from weibo_crawler.store.rows.keys import key_bounds
from weibo_crawler.store.sql.cursor import chunks
from weibo_crawler.store.sqlite.base import Database, damaged, immediate

_CREATE = """
    CREATE TABLE cells_{name} (
        row_key TEXT NOT NULL,
        family TEXT NOT NULL,
        ts INTEGER NOT NULL,
        cells TEXT NOT NULL,
        PRIMARY KEY (row_key, family, ts)
    ) WITHOUT ROWID;
"""
_MIGRATIONS = (
    "".join(_CREATE.format(name=name) for name in ("userlist", "posts")),
    _CREATE.format(name="comments"),
    _CREATE.format(name="reposts"),
)

# A page of a scan ends at the first of these; no statement stays open while the caller works.
_PAGE_ROWS = 1000
_PAGE_BYTES = 4 * 1024 * 1024
_PAGE_KEYS = 10_000

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, str]).decode


class SqliteTables:
    """The tables of `families` in one SQLite file. Methods raise StoreError."""

    def __init__(
        self, url: str, *, create: bool = True, keep_versions: int = KEEP_VERSIONS
    ) -> None:
        self._db = Database(url, "tables", _MIGRATIONS, create=create)
        self._tables = {
            name: SqliteTable(self._db, name, of) for name, of in families(keep_versions).items()
        }
        self.userlist: Table = self._tables["userlist"]
        self.posts: Table = self._tables["posts"]
        self.echoes: Mapping[str, Table] = {one.name: self._tables[one.name] for one in ECHO_LISTS}

    waits_for = ""

    def create(self) -> list[str]:
        """Create what is missing; a line for each table made, none the second time."""
        self._db.conn()
        if not self._db.made:
            return []
        self._db.made = False
        return [
            f"created table {name} ({', '.join(of)}) in {self._db.path}"
            for name, of in FAMILIES.items()
        ]

    def check(self) -> list[str]:
        """Opening the file has checked it, and there is nothing in it to choose."""
        self._db.conn()
        return []

    def paper(self) -> None:
        """Sqoop writes no SQLite."""

    def close(self) -> None:
        self._db.close()


class _Columns(NamedTuple):
    """Columns asked for. families: where to look; whole: those wanted with all their cells."""

    families: tuple[str, ...]
    whole: frozenset[str]
    single: frozenset[str]

    def pick(self, cells: dict[str, str]) -> dict[str, str]:
        if not self.single:
            return cells
        return {
            column: value
            for column, value in cells.items()
            if column in self.single or column.partition(":")[0] in self.whole
        }


class _Families(dict[str, str]):
    """As `family_of`, of each column once."""

    def __init__(self, table: str, families: Iterable[str]) -> None:
        super().__init__()
        self._table, self._families = table, families

    def __missing__(self, column: str) -> str:
        self[column] = family = family_of(column, self._table, self._families)
        return family


class SqliteTable:
    """The `Table` protocol over one SQL table. families: family -> versions kept of a cell."""

    def __init__(self, database: Database, name: str, families: Mapping[str, int]) -> None:
        self._db, self._name, self._families = database, name, families
        self._table = f"cells_{name}"
        self._family_of = _Families(name, families)
        self._upsert = (
            f"INSERT INTO {self._table} VALUES (?, ?, ?, CAST(? AS TEXT)) "
            "ON CONFLICT (row_key, family, ts) "
            "DO UPDATE SET cells = json_patch(cells, excluded.cells)"
        )

    # -- writing

    def put(self, puts: Iterable[Put]) -> None:
        """All of them in one transaction. The records are made before it begins: the write lock is
        held for the writing only."""
        records = self._records(puts)
        if not records:
            return
        # a ledger (one version) is rewritten after every page; of n versions each nth put prunes,
        # so that no more than some n stay over
        due: defaultdict[str, set[str]] = defaultdict(set)
        for key, family, ts, _ in records:
            if ts % self._families[family] == 0:
                due[family].add(key)
        with self._reading(), immediate(self._db.conn()) as conn:
            conn.executemany(self._upsert, records)
            for family, keys in due.items():
                for key in self._overfull(conn, family, keys):
                    self._prune(conn, key, family)

    def delete(
        self, key: str, columns: Sequence[str] | None = None, *, up_to: int | None = None
    ) -> None:
        wanted = self._columns(columns)
        with self._reading(), immediate(self._db.conn()) as conn:
            for family in wanted.families:
                left = []
                for ts, cells in self._history(conn, key, family):
                    if up_to is not None and ts > up_to:
                        left.append((ts, cells))
                    elif family not in wanted.whole:
                        kept = {c: v for c, v in cells.items() if c not in wanted.single}
                        left.append((ts, kept))
                self._rewrite(conn, key, family, left)

    # -- reading

    def row(self, key: str, columns: Sequence[str] | None = None) -> dict[str, str]:
        wanted = self._columns(columns)
        cells: dict[str, str] = {}
        sql = (
            f"SELECT family, CAST(cells AS BLOB) FROM {self._table} "
            "WHERE row_key = ? ORDER BY family, ts"
        )
        with self._reading():
            for family, packed in self._db.read(sql, (key,)):
                if family in wanted.families:
                    cells.update(_decode(packed))
        return wanted.pick(cells)

    def rows(
        self, keys: Sequence[str], columns: Sequence[str] | None = None
    ) -> dict[str, dict[str, str]]:
        wanted, found = self._columns(columns), dict[str, dict[str, str]]()
        for some in chunks(keys, _PAGE_ROWS):
            rows = self._rows(min(some), None, wanted, _PAGE_ROWS, None, _encode(some))
            found.update(rows)
        return {key: found.get(key, {}) for key in keys}

    def versions(self, key: str, column: str) -> list[Cell]:
        family = self._family_of[column]
        with self._reading():
            history = self._history(self._db.conn(), key, family)
        found = [Cell(ts, cells[column]) for ts, cells in history if column in cells]
        return found[: self._families[family]]

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
        wanted = self._columns(columns)
        start, stop = key_bounds(start, stop, prefix)
        n = _PAGE_ROWS if limit is None else limit
        if least is None:
            rows = self._rows(start, stop, wanted, n, as_of)
        else:
            rows = self._rows_with(least, start, stop, wanted, n, as_of)
        return rows if limit is None else islice(rows, max(0, limit))

    def states(self, key: str) -> Iterator[tuple[int, dict[str, str]]]:
        sql = f"SELECT ts, CAST(cells AS BLOB) FROM {self._table} WHERE row_key = ? ORDER BY ts"
        cells: dict[str, str] = {}
        found: dict[int, dict[str, str]] = {}
        with self._reading():
            for ts, packed in self._db.read(sql, (key,)):
                found[ts] = cells = {**cells, **_decode(packed)}
        return iter([*found.items()][::-1])

    def keys(self, prefix: str) -> Iterator[str]:
        start, stop = key_bounds("", None, prefix)
        where, values = _where(start, stop)
        sql = f"SELECT DISTINCT row_key FROM {self._table} WHERE {where} ORDER BY row_key LIMIT ?"
        while page := self._db.read(sql, (*values, _PAGE_KEYS)):
            yield from (key for (key,) in page)
            values[0] = page[-1][0] + "\0"  # the smallest key after it

    def _rows(
        self,
        start: str,
        stop: str | None,
        wanted: _Columns,
        rows: int,
        as_of: int | None,
        among: bytes | None = None,
    ) -> Iterator[Row]:
        after: str | None = start
        while after is not None:
            page, after = self._page(after, stop, wanted, min(rows, _PAGE_ROWS), as_of, among)
            yield from page

    def _rows_with(
        self,
        least: tuple[str, str],
        start: str,
        stop: str | None,
        wanted: _Columns,
        rows: int,
        as_of: int | None,
    ) -> Iterator[Row]:
        """SQLite looks for them itself, in a twentieth of the time that reading takes Python."""
        column, value = least
        where, values = _where(start, stop)
        sql = (
            f"SELECT DISTINCT row_key FROM {self._table} WHERE {where} AND family = ? "
            "AND json_extract(cells, ?) >= ? ORDER BY row_key LIMIT ?"
        )
        some = (self._family_of[column], f'$."{column}"', value, min(rows, _PAGE_ROWS))
        while keys := [key for (key,) in self._db.read(sql, (*values, *some))]:
            found = self._rows(keys[0], stop, wanted, rows, as_of, _encode(keys))
            # an older version may have held it
            yield from (row for row in found if row.cells.get(column, "") >= value)
            values[0] = keys[-1] + "\0"

    def _page(
        self,
        start: str,
        stop: str | None,
        wanted: _Columns,
        rows: int,
        as_of: int | None,
        among: bytes | None,
    ) -> tuple[list[Row], str | None]:
        """Some rows from `start` on, and the key that the next page begins with (None: the end).
        among: a JSON list of their keys, None: all."""
        where, values = _where(start, stop)
        if among is not None:
            where += " AND row_key IN (SELECT value FROM json_each(CAST(? AS TEXT)))"
            values.append(among)
        if len(wanted.families) < len(self._families):
            where += f" AND family IN ({', '.join('?' * len(wanted.families))})"
            values += wanted.families
        if as_of is not None:
            where += " AND ts <= ?"
            values.append(as_of)
        sql = (
            f"SELECT row_key, CAST(cells AS BLOB) FROM {self._table} WHERE {where} "
            "ORDER BY row_key, family, ts"
        )
        page: list[Row] = []
        key, size = "", 0
        cells: dict[str, str] = {}
        with self._reading():
            for row_key, packed in self._db.conn().execute(sql, values):
                if row_key == key and cells:
                    cells.update(_decode(packed))  # a newer timestamp comes later
                else:
                    if cells := wanted.pick(cells):
                        page.append(Row(key, cells))
                    if len(page) >= rows or size >= _PAGE_BYTES:
                        return page, row_key
                    key, cells = row_key, _decode(packed)
                size += len(packed)
        if cells := wanted.pick(cells):
            page.append(Row(key, cells))
        return page, None

    # -- inside

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """As `Database.translated`, for whoever reads cells."""
        try:
            with self._db.translated():
                yield
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise damaged(self._db.path) from None

    def _records(self, puts: Iterable[Put]) -> list[tuple[str, str, int, bytes]]:
        """(row key, family, timestamp, cells) in the order of the keys, which the B-tree likes."""
        family_of, records = self._family_of, []
        for key, cells, timestamp in puts:
            families: defaultdict[str, dict[str, str]] = defaultdict(dict)
            for column, value in cells.items():
                families[family_of[column]][column] = value
            for family, part in families.items():
                records.append((key, family, timestamp, _encode(part)))
        records.sort(key=itemgetter(0))  # stable: of equal cells the one put last still wins
        return records

    def _columns(self, columns: Sequence[str] | None) -> _Columns:
        if columns is None:
            return _Columns(tuple(self._families), frozenset(self._families), frozenset())
        whole = frozenset(c for c in columns if c in self._families)
        single = frozenset(c for c in columns if c not in whole)
        families = whole | {self._family_of[column] for column in single}
        return _Columns(tuple(families), whole, single)

    def _history(self, conn: Connection, key: str, family: str) -> list[tuple[int, dict[str, str]]]:
        """(timestamp, cells) of one family of one row, newest first."""
        rows = conn.execute(
            f"SELECT ts, CAST(cells AS BLOB) FROM {self._table} "
            "WHERE row_key = ? AND family = ? ORDER BY ts DESC",
            (key, family),
        )
        return [(ts, _decode(packed)) for ts, packed in rows]

    def _overfull(self, conn: Connection, family: str, keys: Iterable[str]) -> list[str]:
        """Which of these rows hold more records of the family than its versions."""
        sql = (
            f"SELECT row_key FROM {self._table} "
            "WHERE row_key IN (SELECT value FROM json_each(?)) AND family = ? "
            "GROUP BY row_key HAVING COUNT(*) > ?"
        )
        rows = conn.execute(sql, (_encode(list(keys)), family, self._families[family]))
        return [key for (key,) in rows]

    def _prune(self, conn: Connection, key: str, family: str) -> None:
        """Remove what is over the family's versions in one row."""
        table, versions = self._table, self._families[family]
        history = self._history(conn, key, family)
        seen: Counter[str] = Counter()
        left = []
        for ts, cells in history:
            seen.update(cells.keys())
            left.append((ts, {c: v for c, v in cells.items() if seen[c] <= versions}))
        kept = [record for record in left if record[1]]
        if kept == history[: len(kept)]:  # newer records cover whole older ones
            older = f"DELETE FROM {table} WHERE row_key = ? AND family = ? AND ts < ?"
            conn.execute(older, (key, family, kept[-1][0]))
            return
        self._rewrite(conn, key, family, left)

    def _rewrite(
        self, conn: Connection, key: str, family: str, history: list[tuple[int, dict[str, str]]]
    ) -> None:
        conn.execute(f"DELETE FROM {self._table} WHERE row_key = ? AND family = ?", (key, family))
        conn.executemany(
            self._upsert, [(key, family, ts, _encode(cells)) for ts, cells in history if cells]
        )


def _where(start: str, stop: str | None) -> tuple[str, list[object]]:
    if stop is None:
        return "row_key >= ?", [start]
    return "row_key >= ? AND row_key < ?", [start, stop]
