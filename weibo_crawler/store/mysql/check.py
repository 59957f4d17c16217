"""What `doctor` asks of a MariaDB/MySQL server; leaves no trace in the database."""

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pymysql
from pymysql.cursors import Cursor

from weibo_crawler.errors import StoreError
from weibo_crawler.store.mysql.base import check_version, connect, parse_address
from weibo_crawler.store.mysql.components import SCHEMAS
from weibo_crawler.store.mysql.errors import translated
from weibo_crawler.store.mysql.schema import SET_UP
from weibo_crawler.store.sql.cursor import check_schema, rows

_ANSWER_S = 4.0
_VERSION = len(SCHEMAS["users"])
_CLOCKS_APART_S = 5.0  # leases last a minute, and each process reads its own clock
_TABLES = "SELECT table_name, engine, table_collation FROM information_schema.tables"
NONE_YET = "none yet: `weibo-crawler init` makes them"  # of tables


class MysqlCheck(NamedTuple):
    """Each method is one check, on a connection of its own: what is so, or StoreError."""

    url: str
    password: str | None

    def checks(self) -> Sequence[tuple[str, Callable[[], str]]]:
        """Name and check, in the order in which they are of use."""
        return (
            ("sql", self.server),
            ("sql mode", self.modes),
            ("sql tables", self.tables),
            ("sql rights", self.rights),
            ("sql clock", self.clock),
        )

    def server(self) -> str:
        """It answers, knows the account, and is new enough."""
        ((version,),) = self._read("SELECT VERSION()")
        check_version(str(parse_address(self.url)), version)
        return f"{version} at {parse_address(self.url)}"

    def modes(self) -> str:
        """A session can be strict and READ COMMITTED, whatever the server's own settings are."""

        def work(cursor: Cursor) -> Sequence[Any]:
            for statement in SET_UP:
                cursor.execute(statement)
            # MariaDB before 11.1 knows the first name alone, MySQL 8 the second
            names = "('tx_isolation', 'transaction_isolation')"
            sql = f"SHOW SESSION VARIABLES WHERE variable_name IN {names}"
            isolation = rows(cursor, sql)[0][1]
            modes = rows(cursor, "SELECT @@GLOBAL.sql_mode, @@SESSION.sql_mode")
            return (*modes[0], isolation)

        server, session, isolation = self._run(work)
        if "STRICT_ALL_TABLES" not in session or isolation != "READ-COMMITTED":
            raise StoreError(f"a session stays {session or 'not strict'}, {isolation}")
        if "STRICT_" in server:
            return "strict, READ COMMITTED"
        return (
            "strict, READ COMMITTED in our sessions; the server's own sql_mode is not strict: it "
            "cuts what others write here"
        )

    def tables(self) -> str:
        """Those of this program are there, in their version, in utf8mb4 and InnoDB."""
        found = self._read(f"{_TABLES} WHERE table_schema = DATABASE()")
        held = {name: (engine, collation) for name, engine, collation in found}
        if "schema_versions" not in held:
            return NONE_YET
        ours = [name for name in ("userlist", "progress", "gate", "forgotten") if name in held]
        wrong = [n for n in ours if held[n][0] != "InnoDB" or held[n][1] != "utf8mb4_bin"]
        if wrong:
            raise StoreError(
                f"{', '.join(wrong)}: not InnoDB with utf8mb4_bin: ALTER TABLE … ENGINE = InnoDB, "
                "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            )
        sql = "SELECT version FROM schema_versions WHERE component = 'users'"
        found = self._read(sql)
        version = int(found[0][0]) if found else 0
        check_schema(version, SCHEMAS["users"], "users", "database")
        behind = "" if version == _VERSION else f" (this program upgrades it to {_VERSION})"
        return f"schema version {version}{behind}, utf8mb4_bin, InnoDB"

    def rights(self) -> str:
        """Make, change, lock and drop a table of our own."""
        name = f"doctor_{secrets.token_hex(4)}"

        def work(cursor: Cursor) -> None:
            for statement in SET_UP:
                cursor.execute(statement)
            cursor.execute(f"CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY) ENGINE = InnoDB")
            try:
                for statement in (
                    "ALTER TABLE {} ADD COLUMN n INT",
                    "CREATE INDEX {}_n ON {} (n)",
                    "INSERT INTO {} VALUES (1, 2)",
                    "UPDATE {} SET n = 3",
                    "SELECT n FROM {} FOR UPDATE SKIP LOCKED",
                    "DELETE FROM {}",
                ):
                    cursor.execute(statement.replace("{}", name))
            finally:
                cursor.execute(f"DROP TABLE {name}")

        self._run(work)
        return "may create, alter, index, insert, update, lock, delete, drop"

    def clock(self) -> str:
        """It goes as ours does."""

        def work(cursor: Cursor) -> float:
            before = time.time()
            ((theirs,),) = rows(cursor, "SELECT UNIX_TIMESTAMP(NOW(6))")
            return float(theirs) - (before + time.time()) / 2

        apart_s = self._run(work)
        if abs(apart_s) > _CLOCKS_APART_S:
            raise StoreError(
                f"the server's clock is {apart_s:+.1f} s from ours: set both by NTP, leases "
                "are read by the clock"
            )
        return f"{abs(apart_s):.1f} s apart"

    def _read(self, sql: str) -> Any:
        return self._run(lambda cursor: rows(cursor, sql))

    def _run(self, work: Callable[[Cursor], Any]) -> Any:
        address = parse_address(self.url)
        try:
            conn = connect(address, self.password, _ANSWER_S)
            try:
                with conn.cursor() as cursor:
                    return work(cursor)
            finally:
                conn.close()
        except pymysql.MySQLError as error:
            raise translated(error, str(address)) from error
