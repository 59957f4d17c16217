"""The tables in HBase, through its Thrift1 server (`hbase thrift start`, buffered and binary)."""

import os
from collections.abc import Mapping
from typing import Any

from weibo_crawler.config import Store
from weibo_crawler.errors import StoreError
from weibo_crawler.records import ECHO_LISTS
from weibo_crawler.store import Table
from weibo_crawler.store.hbase.address import parse_address
from weibo_crawler.store.hbase.base import Thrift
from weibo_crawler.store.hbase.schema import (
    Difference,
    check_command,
    chosen,
    differences,
    make_tables,
)
from weibo_crawler.store.hbase.table import HbaseTable
from weibo_crawler.store.rows.cells import FAMILIES, KEEP_VERSIONS, families

_PAPER = "paper"
_DEFAULT_COMMAND = Store().hbase_command


class HbaseTables:
    """The tables of `families` in HBase. Methods raise StoreError; the constructor BadConfig for an
    address of another form, and does not connect."""

    def __init__(
        self,
        url: str,
        command: str = _DEFAULT_COMMAND,
        *,
        waits: bool = False,
        keep_versions: int = KEEP_VERSIONS,
    ) -> None:
        """command: starts the HBase shell, where tables are to be made. waits: as in `Thrift`.
        keep_versions: as in `families`."""
        self._families = families(keep_versions)
        self.address, self._command = parse_address(url), command
        self._thrift = Thrift(self.address, waits=waits)
        self.userlist: Table = self._open("userlist")
        self.posts: Table = self._open("posts")
        self.echoes: Mapping[str, Table] = {one.name: self._open(one.name) for one in ECHO_LISTS}

    @property
    def waits_for(self) -> str:
        return self._thrift.waits_for

    def create(self) -> list[str]:
        """By conf/hbase_schema.rb in the HBase shell; StoreError tells where there is none.
        BadConfig where nothing is to be made, and the command that was named cannot be run."""
        if not all(self._held(table) for table in FAMILIES):
            return make_tables(self.address, self._command, self._families["posts"]["count"])
        if self._command != _DEFAULT_COMMAND:  # which need not be on every machine
            check_command(self._command)
        return []

    def check(self) -> list[str]:
        found = [each for table in FAMILIES for each in self._differences(table)]
        if any(each.harmful for each in found):
            texts = [each.text for each in found if each.harmful]
            raise StoreError(f"{self.address}: " + "; ".join(texts) + " (in the HBase shell)")
        return [each.text for each in found]

    def paper(self) -> Table | None:
        if not self._held(_PAPER):
            return None
        return HbaseTable(self._thrift, self.address.table(_PAPER), _PAPER, {"user": 1})

    def close(self) -> None:
        self._thrift.close()

    def _held(self, name: str) -> dict[str, Any]:
        """family -> Thrift's ColumnDescriptor, {} where there is no such table."""
        table = self.address.table(name)

        def read(client: Any) -> dict[str, Any]:
            if not client.getTableRegions(table.encode()):
                return {}
            held = client.getColumnDescriptors(table.encode())
            return {family.decode().rstrip(":"): each for family, each in held.items()}

        return self._thrift.call(table, read)

    def _differences(self, name: str) -> list[Difference]:
        table = self.address.table(name)
        held = self._held(name)
        if not held:
            return [Difference(f"table {table} does not exist: run `weibo-crawler init`", True)]
        regions = self._thrift.call(table, lambda client: client.getTableRegions(table.encode()))
        wanted = self._families[name]
        return list(differences(table, wanted, held, len(regions), chosen(os.environ)))

    def _open(self, name: str) -> HbaseTable:
        return HbaseTable(self._thrift, self.address.table(name), name, self._families[name])
