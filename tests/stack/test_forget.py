"""`forget` where the tables are in HBase: deletions there are marks with a time of their own."""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import happybase
import pytest
from pymysql.cursors import Cursor

from tests.cli.crawls import simulated
from tests.cli.forgetting import cells_by_themselves, drifted_urls, forget_midway
from tests.contracts.forget import ForgetContract
from tests.stack.conftest import Running, why_not
from tests.stores import table_of
from weibo_crawler.forget import forget_users
from weibo_crawler.store import Table, Tables
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.mysql.base import connect, parse_address
from weibo_crawler.store.rows.cells import FAMILIES
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.sqlite.frontier import SqliteUsers

if why_not():
    pytest.skip(why_not(), allow_module_level=True)


@pytest.fixture(scope="module")
def tables(stack: Running) -> Iterator[HbaseTables]:
    """Tables of our own, without the regions and the compression of the schema."""
    prefix = f"e{uuid4().hex[:8]}"
    host, _, port = stack.addresses["STACK_TABLES"].removeprefix("hbase://").partition(":")
    admin = happybase.Connection(host, int(port), table_prefix=prefix)
    for name, families in FAMILIES.items():
        admin.create_table(name, {f: {"max_versions": n} for f, n in families.items()})
    admin.close()
    made = HbaseTables(f"{stack.addresses['STACK_TABLES']}/{prefix}")
    yield made
    made.close()
    admin = happybase.Connection(host, int(port), table_prefix=prefix)
    for name in FAMILIES:
        admin.delete_table(name, disable=True)
    admin.close()


class TestHbase(ForgetContract):
    @pytest.fixture
    def stores(self, tables: Tables, tmp_path: Path) -> Iterator[tuple[Frontier, Tables]]:
        self.folder = tmp_path
        users = SqliteUsers(f"sqlite:///{tmp_path}/users.db")
        yield users, tables
        users.close()
        for table in (tables.userlist, tables.posts, *tables.echoes.values()):
            for key in list(table.keys("")):
                table.delete(key)

    def drifted_urls(self) -> list[str]:
        return drifted_urls(self.folder)


def test_the_papers_table_is_looked_at(tables: HbaseTables, tmp_path: Path) -> None:
    """`forget` deletes the row of the bare uid, and nobody else's; without such a table it says
    nothing of it."""
    address = tables.address
    users = SqliteUsers(f"sqlite:///{tmp_path}/users.db")
    assert forget_users(users, tables, [68]).paper is None
    admin = happybase.Connection(*address.servers[0], table_prefix=address.prefix)
    admin.create_table("paper", {"user": {}})
    try:
        paper = admin.table("paper")
        for uid in (6, 68, 681):
            paper.put(str(uid).encode(), {b"user:id": str(uid).encode()})
        assert forget_users(users, tables, [68, 99]).paper == 1
        assert [key for key, _ in paper.scan()] == [b"6", b"681"]
        assert forget_users(users, tables, [68, 99]).paper == 0
    finally:
        admin.delete_table("paper", disable=True)
        admin.close()
        users.close()


def test_the_whole_way(stack: Running, tables: HbaseTables, tmp_path: Path) -> None:
    """Users in MariaDB, tables in HBase: crawled, forgotten, crawled on and refreshed, no value of
    either speaks of the person."""
    at, database = stack.addresses, f"weibo_e_{uuid4().hex[:8]}"
    password = Path(at["STACK_MYSQL_PASSWORD_FILE"]).read_bytes()
    server, _, _ = at["STACK_MYSQL"].rpartition("/")
    conn = connect(parse_address(at["STACK_MYSQL"]), password.decode(), 30)
    with conn.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {database}")
        try:
            with simulated(tmp_path, users=150) as (crawl, truth):
                crawl.env |= {
                    "WEIBO_STORE__USERS": f"{server}/{database}",
                    "WEIBO_STORE__PASSWORD_FILE": at["STACK_MYSQL_PASSWORD_FILE"],
                    "WEIBO_STORE__TABLES": f"{tables.address}/{tables.address.prefix}",
                }
                said = forget_midway(crawl, truth, lambda: dump(cursor, database, tables))
            assert "major compaction" in said
        finally:
            cursor.execute(f"DROP DATABASE {database}")
    conn.close()


def dump(cursor: Cursor, database: str, tables: HbaseTables) -> Iterator[str]:
    """Every value of every SQL table, and every version of every cell."""
    cursor.execute(f"SHOW TABLES FROM {database}")
    for (name,) in cursor.fetchall():
        cursor.execute(f"SELECT * FROM {database}.{name}")
        for row in cursor.fetchall():
            yield from (f"{name} {plain(name, value)!r}" for value in row)
    for name in FAMILIES:
        table = table_of(tables, name)
        for key in table.keys(""):
            yield from every_version(table, key)


def every_version(table: Table, key: str) -> Iterator[str]:
    """Of all cells of a row, each once: the states it had, which is a call for each, and not one
    for each cell."""
    held = {cell for _, state in table.states(key) for cell in state.items()}
    for column, value in sorted(held):
        yield from cells_by_themselves(key, column, value)


def plain(table: str, value: object) -> object:
    """Packed ids and pages as what they hold."""
    if isinstance(value, bytes) and table in ("progress", "edges"):
        return struct.unpack(f"<{len(value) // 8}Q", value)
    return zlib.decompress(value) if isinstance(value, bytes) and table == "drifted" else value
