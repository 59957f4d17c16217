"""One table in HBase, through its Thrift1 server.

Scans page: no scanner, and no connection, lives while the caller works, so a scanner that expires,
a region that moves and a server that restarts cost a repetition of one page.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from happybase.batch import BatchMutation, Mutation
from happybase.table import TScan

from weibo_crawler.errors import StoreError
from weibo_crawler.store import Cell, Put, Row
from weibo_crawler.store.hbase.base import Thrift
from weibo_crawler.store.rows.cells import family_of
from weibo_crawler.store.rows.keys import key_bounds

# A batch ends at the first of these: median call 30 ms, worst 0.75 s with posts, which the bytes
# end; of small rows many go in one call, as each call costs a part of the log in every region
_BATCH_ROWS = 2000
_BATCH_BYTES = 1_000_000
_REPEATED = 20_000  # rows of batches that were repeated are remembered
# A page of a scan: the first is small, later ones are as large as the rows seen allow
_FIRST_ROWS, _PAGE_ROWS, _GROWTH = 100, 2000, 4
_PAGE_BYTES = 2_000_000
_PAGE_KEYS = 10_000
# Rows by their keys: so many a call; where more than this share of a part are wanted, a scan
_GOT_ROWS, _DENSE = 200, 0.3
_ONLY_KEYS = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"


class HbaseTable:
    """The `Table` protocol over one HBase table. full_name: its name in HBase; name: ours;
    families: family -> versions kept of a cell."""

    def __init__(
        self, thrift: Thrift, full_name: str, name: str, families: Mapping[str, int]
    ) -> None:
        self._thrift, self._name, self._families = thrift, name, families
        self._full_name, self._id = full_name, full_name.encode()
        self._repeated: dict[tuple[str, int], None] = {}  # rows of such batches, the oldest first

    # -- writing

    def put(self, puts: Iterable[Put]) -> None:
        """Batches, one after the other, each acknowledged before the next one goes.

        The server may write a batch that was repeated once more, and much later. So that this hides
        nothing, what is put to the same row at the same time goes a millisecond later.
        """
        for timestamp, rows in self._by_time(map(self._after_repeated, puts)).items():
            for batch in _batches(rows):
                self._put(batch, timestamp)

    def _after_repeated(self, put: Put) -> Put:
        is_repeated = (put.key, put.timestamp) in self._repeated
        return put._replace(timestamp=put.timestamp + 1) if is_repeated else put

    def _put(self, batch: list[Any], timestamp: int) -> None:
        tries = 0

        def work(client: Any) -> None:
            nonlocal tries
            tries += 1
            client.mutateRowsTs(self._id, batch, timestamp, {})

        try:
            self._thrift.call(self._full_name, work)
        finally:
            if tries > 1:
                self._note_repeated(batch, timestamp)

    def _note_repeated(self, batch: list[Any], timestamp: int) -> None:
        self._repeated.update(((one.row.decode(), timestamp), None) for one in batch)
        for old in list(islice(self._repeated, max(0, len(self._repeated) - _REPEATED))):
            del self._repeated[old]

    def delete(
        self, key: str, columns: Sequence[str] | None = None, *, up_to: int | None = None
    ) -> None:
        wanted = self._columns(columns)
        if up_to is None:
            up_to = self._newest(key, wanted)
        if up_to is None:
            return
        if wanted is None:
            self._call("deleteAllRowTs", key.encode(), up_to, {})
        else:
            deletes = [Mutation(isDelete=True, column=column) for column in wanted]
            self._call("mutateRowTs", key.encode(), deletes, up_to, {})

    # -- reading

    def row(self, key: str, columns: Sequence[str] | None = None) -> dict[str, str]:
        rows = self._call("getRowWithColumns", key.encode(), self._columns(columns), {})
        return self._row(rows[0]).cells if rows else {}

    def rows(
        self, keys: Sequence[str], columns: Sequence[str] | None = None
    ) -> dict[str, dict[str, str]]:
        found = dict[str, dict[str, str]](self._got(keys, columns))
        return {key: found.get(key, {}) for key in keys}

    def versions(self, key: str, column: str) -> list[Cell]:
        kept = self._families[self._family(column)]
        cells = self._call("getVer", key.encode(), column.encode(), kept, {})
        return [Cell(each.timestamp, self._text(key, each.value)) for each in cells]

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
        bounds = key_bounds(start, stop, prefix)
        if least is not None:
            return islice(self._rows_with(least, *bounds, as_of), limit)
        return self._rows(*bounds, self._columns(columns), limit, as_of)

    def states(self, key: str) -> Iterator[tuple[int, dict[str, str]]]:
        row = key.encode()
        found = self._call("getRowWithColumns", row, None, {})
        while found and found[0].columns:
            since = max(cell.timestamp for cell in found[0].columns.values())
            yield since, self._row(found[0]).cells
            found = self._call("getRowWithColumnsTs", row, None, since, {})  # older than that

    def keys(self, prefix: str) -> Iterator[str]:
        start, stop = key_bounds("", None, prefix)
        at = start.encode()
        while page := self._page(at, stop, None, _PAGE_KEYS, _ONLY_KEYS):
            yield from (self._text("", each.row) for each in page)
            if len(page) < _PAGE_KEYS:
                return
            at = page[-1].row + b"\0"  # the smallest key after it

    def _rows(
        self,
        start: str,
        stop: str | None,
        columns: list[bytes] | None,
        limit: int | None,
        as_of: int | None,
    ) -> Iterator[Row]:
        at, rows = start.encode(), _FIRST_ROWS
        left = limit
        while left is None or left > 0:
            asked = rows if left is None else min(rows, left)
            page = self._page(at, stop, columns, asked, as_of=as_of)
            yield from map(self._row, page)
            if len(page) < asked:
                return
            at = page[-1].row + b"\0"
            left = None if left is None else left - asked
            rows = _next_rows(page)

    def _rows_with(
        self, least: tuple[str, str], start: str, stop: str | None, as_of: int | None
    ) -> Iterator[Row]:
        """The column alone is read first: a tenth of what the rows are. (A filter of HBase would
        look for as long as it finds none, and not say how far it came: a call without an end.)"""
        column, value = least
        looked = self._rows(start, stop, self._columns([column]), None, as_of)
        while some := list(islice(looked, _PAGE_ROWS)):
            keys = [row.key for row in some if row.cells[column] >= value]
            if len(keys) > len(some) * _DENSE:
                wanted = set(keys)
                rows = self._rows(keys[0], keys[-1] + "\0", None, None, as_of)
                yield from (row for row in rows if row.key in wanted)
                continue
            yield from self._got(keys, None, as_of)

    def _got(
        self, keys: Sequence[str], columns: Sequence[str] | None, as_of: int | None = None
    ) -> Iterator[Row]:
        """The rows of these keys that are there."""
        wanted = self._columns(columns)
        for n in range(0, len(keys), _GOT_ROWS):
            names = [key.encode() for key in keys[n : n + _GOT_ROWS]]
            if as_of is None:
                rows = self._call("getRowsWithColumns", names, wanted, {})
            else:
                rows = self._call("getRowsWithColumnsTs", names, wanted, as_of + 1, {})
            yield from map(self._row, rows)

    def _page(
        self,
        start: bytes,
        stop: str | None,
        columns: list[bytes] | None,
        rows: int,
        only: bytes | None = None,
        as_of: int | None = None,
    ) -> list[Any]:
        """Up to `rows` rows from `start` on; fewer: there are no more."""
        if stop is not None and start >= stop.encode():
            return []  # HBase takes equal ends for one row, and an empty stop for the table's end
        scan = TScan(startRow=start, columns=columns, caching=rows, filterString=only)
        if stop is not None:
            scan.stopRow = stop.encode()
        if as_of is not None:
            scan.timestamp = as_of + 1  # HBase reads what is older

        def read(client: Any) -> list[Any]:
            scanner = client.scannerOpenWithScan(self._id, scan, {})
            page: list[Any] = client.scannerGetList(scanner, rows)
            client.scannerClose(scanner)
            return page

        return self._thrift.call(self._full_name, read)

    # -- inside

    def _call(self, method: str, *arguments: object) -> Any:
        return self._thrift.call(
            self._full_name, lambda client: getattr(client, method)(self._id, *arguments)
        )

    def _newest(self, key: str, columns: list[bytes] | None) -> int | None:
        rows = self._call("getRowWithColumns", key.encode(), columns, {})
        return max((cell.timestamp for row in rows for cell in row.columns.values()), default=None)

    def _by_time(self, puts: Iterable[Put]) -> dict[int, dict[str, dict[str, str]]]:
        """timestamp -> row key -> cells: one call writes at one timestamp. Of the same cell twice
        the last stays. StoreError, before anything is sent, for a column that is none."""
        times: dict[int, dict[str, dict[str, str]]] = {}
        known: set[str] = set()
        for key, cells, timestamp in puts:
            for column in cells.keys() - known:
                self._family(column)
                known.add(column)
            if cells:
                times.setdefault(timestamp, {}).setdefault(key, {}).update(cells)
        return times

    def _family(self, column: str) -> str:
        return family_of(column, self._name, self._families)

    def _columns(self, columns: Sequence[str] | None) -> list[bytes] | None:
        if columns is None:
            return None
        whole = {column for column in columns if column in self._families}
        single = {column for column in columns if column not in whole}
        # HBase lets a column of a family narrow what is read of that family
        wanted = whole | {column for column in single if self._family(column) not in whole}
        return [column.encode() for column in wanted]

    def _row(self, row: Any) -> Row:
        key = self._text("", row.row)
        try:
            return Row(key, {_name(c): cell.value.decode() for c, cell in row.columns.items()})
        except UnicodeDecodeError:
            raise self._foreign(key) from None

    def _text(self, key: str, value: bytes) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise self._foreign(key or repr(value)) from None

    def _foreign(self, key: str) -> StoreError:
        return StoreError(
            f"table {self._full_name}: row {key} holds bytes that are no UTF-8 text; the table "
            "holds a row that this program did not write"
        )


_name = lru_cache(maxsize=1024)(bytes.decode)  # columns recur in every row


def _batches(rows: Mapping[str, Mapping[str, str]]) -> Iterator[list[Any]]:
    """Rows as Thrift's mutations, cut by rows and by bytes; a larger row is a batch of its own."""
    batch: list[Any] = []
    size = 0
    for key, cells in rows.items():
        mutations = [
            Mutation(False, column.encode(), value.encode()) for column, value in cells.items()
        ]
        weight = sum(len(key) + len(each.column) + len(each.value) for each in mutations)
        if batch and (len(batch) >= _BATCH_ROWS or size + weight > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(BatchMutation(key.encode(), mutations))
        size += weight
    if batch:
        yield batch


def _next_rows(page: Sequence[Any]) -> int:
    """How many rows like these make a page."""
    size = sum(
        len(row.row) + sum(len(cell.value) + len(column) for column, cell in row.columns.items())
        for row in page
    )
    fit = _PAGE_BYTES * len(page) // max(1, size)
    return max(1, min(fit, _GROWTH * len(page), _PAGE_ROWS))
