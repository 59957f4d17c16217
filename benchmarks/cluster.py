"""A database and tables of a benchmark's own on the running stack (WEIBO_STACK_DIR), dropped
afterwards."""

import json
import os
import secrets
import shlex
import sys
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import happybase
    import pymysql
except ImportError:  # the benchmark of it is skipped
    happybase = pymysql = None

from weibo_crawler.errors import CrawlerError

_TIMEOUT_MS = 60_000


def why_not() -> str | None:
    """What is missing here, for people; None: nothing is."""
    if happybase is None:
        return "the extra `cluster` is not installed"
    if not _env_file().exists():
        return "there is no stack: make stack-up, and set WEIBO_STACK_DIR where it is elsewhere"
    try:
        with Cluster():
            return None
    except (OSError, CrawlerError, pymysql.MySQLError) as error:
        return f"the stack does not answer ({error}): make stack-up"


class Cluster:
    """A context manager. users, tables: addresses as the settings name them. has_tables: whether
    they are made at once, by the program's own schema script."""

    def __init__(self, has_tables: bool = False) -> None:
        lines = _env_file().read_text("utf-8").splitlines()
        words = [shlex.split(line.partition("=")[2])[0] for line in lines]
        self.stack = dict(zip([line.partition("=")[0] for line in lines], words, strict=True))
        self.name = f"weibo_bench_{secrets.token_hex(4)}"
        server = self.stack["STACK_MYSQL"].rpartition("/")[0]
        self.users = f"{server}/{self.name}"
        self.tables = f"{self.stack['STACK_TABLES']}/{self.name}"
        self.has_tables = has_tables
        self.password = Path(self.stack["STACK_MYSQL_PASSWORD_FILE"]).read_text("utf-8").strip()

    def __enter__(self) -> "Cluster":
        self.empty()
        if self.has_tables:
            self.make_tables()
        return self

    def __exit__(self, *error: Any) -> None:
        self.sql(f"DROP DATABASE IF EXISTS {self.name}")
        if self.has_tables:
            connection = self.thrift()
            for table in ("userlist", "posts"):
                with suppress(Exception):  # it was never made
                    connection.delete_table(self.table(table), disable=True)
            connection.close()

    def make_tables(self) -> None:
        """Tables with nothing in them; half a minute of an HBase shell on a busy machine."""
        from weibo_crawler.store.hbase.tables import HbaseTables

        self.has_tables = True
        tables = HbaseTables(self.tables, self.stack["STACK_HBASE"])
        tables.create()
        tables.close()

    def empty(self) -> None:
        """A new database, with nothing in it."""
        self.sql(f"DROP DATABASE IF EXISTS {self.name}", f"CREATE DATABASE {self.name}")

    def env(self) -> dict[str, str]:
        """Settings by which the program uses both."""
        return {
            "WEIBO_STORE__USERS": self.users,
            "WEIBO_STORE__PASSWORD_FILE": self.stack["STACK_MYSQL_PASSWORD_FILE"],
            "WEIBO_STORE__TABLES": self.tables,
            "WEIBO_SQOOP__COMMAND": self.stack["STACK_SQOOP"],
        }

    def yarn_env(self) -> dict[str, str]:
        """Settings by which jobs go to its YARN, with our Python."""
        return {
            "WEIBO_STORE__HBASE_COMMAND": self.stack["STACK_HBASE"],
            "WEIBO_HADOOP__COMMAND": self.stack["STACK_HADOOP"],
            "WEIBO_HADOOP__STREAMING_JAR": self.stack["STACK_STREAMING_JAR"],
            "WEIBO_HADOOP__NAMENODE": self.stack["STACK_NAMENODE"],
            "WEIBO_HADOOP__RESOURCEMANAGER": self.stack["STACK_RESOURCEMANAGER"],
            "WEIBO_HADOOP__JOBHISTORY": self.stack["STACK_JOBHISTORY"],
            "WEIBO_HADOOP__PYTHON": sys.executable,
        }

    def table(self, name: str) -> str:
        """The full name in HBase of what the program calls `name`."""
        from weibo_crawler.store.hbase.address import parse_address

        return parse_address(self.tables).table(name)

    def thrift(self) -> Any:
        """A bare connection to HBase's Thrift server."""
        from weibo_crawler.store.hbase.address import parse_address

        at = parse_address(self.tables)
        return happybase.Connection(*at.servers[0], timeout=_TIMEOUT_MS)

    def yarn(self, path: str) -> dict[str, Any]:
        """What the ResourceManager answers below /ws/v1/cluster/."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        url = f"{self.stack['STACK_RESOURCEMANAGER']}/ws/v1/cluster/{path}"
        with opener.open(url, timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def sql(self, *statements: str, database: str | None = None) -> Sequence[Any]:
        """Run statements in MariaDB, each committed; the rows of the last."""
        from weibo_crawler.store.mysql.base import parse_address

        at = parse_address(self.users)
        where = {"host": at.host, "port": at.port, "user": at.user, "database": database}
        conn = pymysql.connect(password=self.password, autocommit=True, **where)
        with conn, conn.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            rows: Sequence[Any] = cursor.fetchall()
            return rows


def daemons() -> dict[str, int]:
    """The processes of the stack, as they were last started, by the names of stack-status."""
    files = sorted((_folder() / "run").glob("*.pid"))
    return {file.stem: int(json.loads(file.read_text("utf-8"))["pid"]) for file in files}


def _env_file() -> Path:
    return _folder() / "stack.env"


def _folder() -> Path:
    return Path(os.environ.get("WEIBO_STACK_DIR") or ".stack")
