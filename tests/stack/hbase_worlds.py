"""Tables in the stack's HBase for tests: made once, a part of the key space for each test.

Making and dropping tables takes seconds, and rows that were deleted leave marks that hide what is
put later, so a test gets keys of its own. Light: other processes import it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import happybase

from weibo_crawler.store import Cell, Put, Row, Table, Tables
from weibo_crawler.store.hbase.address import parse_address
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.rows.cells import FAMILIES
from weibo_crawler.store.rows.keys import key_bounds


def connect(url: str) -> Any:
    """A bare connection to the Thrift server of an address of tables."""
    address = parse_address(url)
    return happybase.Connection(*address.servers[0], timeout=60_000)


def make(url: str, families: Mapping[str, Mapping[str, int]] = FAMILIES) -> None:
    """Make both tables, of one region each: quicker than by the schema script."""
    connection = connect(url)
    for name, versions in families.items():
        connection.create_table(
            parse_address(url).table(name),
            {
                family: {
                    "max_versions": number,
                    "compression": "GZ",
                    "bloom_filter_type": "ROW",
                    "block_cache_enabled": True,
                }
                for family, number in versions.items()
            },
        )
    connection.close()


def drop(url: str) -> None:
    """Remove the tables, where they are."""
    connection = connect(url)
    there = connection.tables()
    for name in FAMILIES:
        table = parse_address(url).table(name).encode()
        if table in there:
            connection.delete_table(table, disable=True)
    connection.close()


class PartOfTable:
    """The rows of a table whose keys begin with `part`, as a `Table` of their own."""

    def __init__(self, table: Table, part: str) -> None:
        self._table, self._part = table, part

    def put(self, puts: Iterable[Put]) -> None:
        self._table.put(put._replace(key=self._part + put.key) for put in puts)

    def delete(
        self, key: str, columns: Sequence[str] | None = None, *, up_to: int | None = None
    ) -> None:
        self._table.delete(self._part + key, columns, up_to=up_to)

    def row(self, key: str, columns: Sequence[str] | None = None) -> dict[str, str]:
        return self._table.row(self._part + key, columns)

    def rows(
        self, keys: Sequence[str], columns: Sequence[str] | None = None
    ) -> dict[str, dict[str, str]]:
        found = self._table.rows([self._part + key for key in keys], columns)
        return {key.removeprefix(self._part): cells for key, cells in found.items()}

    def states(self, key: str) -> Iterator[tuple[int, dict[str, str]]]:
        return self._table.states(self._part + key)

    def versions(self, key: str, column: str) -> list[Cell]:
        return self._table.versions(self._part + key, column)

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
        start, stop = key_bounds(start, stop, prefix)
        inside = self._table.scan(
            prefix=self._part,
            start=self._part + start,
            stop=None if stop is None else self._part + stop,
            columns=columns,
            limit=limit,
            as_of=as_of,
            least=least,
        )
        return (Row(row.key.removeprefix(self._part), row.cells) for row in inside)

    def keys(self, prefix: str) -> Iterator[str]:
        return (key.removeprefix(self._part) for key in self._table.keys(self._part + prefix))


class PartOfTables:
    """Both tables in HBase, in one part of their key space."""

    waits_for = ""

    def __init__(self, tables: HbaseTables, part: str) -> None:
        self._tables = tables
        self.userlist: Table = PartOfTable(tables.userlist, part)
        self.posts: Table = PartOfTable(tables.posts, part)
        self.echoes: Mapping[str, Table] = {
            name: PartOfTable(table, part) for name, table in tables.echoes.items()
        }
        self.create, self.check, self.close = tables.create, tables.check, tables.close
        self.paper = tables.paper


def open_part(url: str, part: str) -> Tables:
    return PartOfTables(HbaseTables(url), part)


def part_opener(url: str, part: str) -> "partial[Tables]":
    """A function, fit to be sent to another process, that opens this part."""
    return partial(open_part, url, part)
