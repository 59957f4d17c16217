"""Users from MariaDB or MySQL into HBase, by Sqoop 1.4.7.

    python sqoop/import.py --sqoop .stack/bin/sqoop --users mysql://weibo@127.0.0.1:3307/weibo \
        --password-file FILE --tables hbase://127.0.0.1:9090[/prefix] [-- options for Sqoop]

Imports the users between the watermark (the largest seq that was imported) and a boundary below
any open writer, and the known users whose row changed; then compares the counts of both sides up
to the boundary, and only then moves the watermark. Safe beside a running harvest, and may be
repeated. `--paper` runs the paper's own command instead, into a table with the bare id as row key.
Exit codes: 0 done, 2 usage, 3 configuration, 5 a store or Sqoop failed or the counts differ.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import happybase
import pymysql
from thriftpy2.thrift import TException

from weibo_crawler.errors import BadConfig, CrawlerError, StoreError
from weibo_crawler.records import SCHEMA_VERSION

_HERE = Path(__file__).resolve().parent
# Of the address of the tables, as the built-in importer's, so that either goes on where the other
# was.
_WATERMARK, _IMPORTED_AT = "imported_seq {}", "imported_at {}"
_OVERLAP_S = 300.0  # a change is dated before it is committed; carrying it twice does no harm
_LOCK_WAIT_S, _LOCK_TRIES = 10, 3
_SCAN_TIMEOUT_S = 60
_LAST_LINES = 15


class Job(NamedTuple):
    """sqoop: the command. password_file: its bytes are the password. extra: words for Sqoop."""

    sqoop: str
    users: SplitResult
    tables: SplitResult
    table: str
    password_file: Path
    run_id: str
    maps: int
    extra: tuple[str, ...]


class Imported(NamedTuple):
    """new, changed: rows carried over; total: rows on both sides up to the boundary."""

    new: int
    changed: int
    total: int


def import_users(job: Job, *, from_start: bool = False) -> Imported:
    """Carry over what the table lacks. StoreError where a store or Sqoop fails, or counts differ;
    the watermark stays where it was then."""
    started_at = time.time()
    with closing(_connect(job)) as sql:
        after = 0 if from_start else int(_meta(sql, _WATERMARK.format(job.tables.geturl())) or 0)
        since = _meta(sql, _IMPORTED_AT.format(job.tables.geturl()))
        upto = boundary(sql)
        changed = 0
        if since is not None and not from_start:
            known = f"depth = 0 AND changed_at >= {float(since) - _OVERLAP_S!r} AND seq <= {after}"
            changed = _carry(job, sql, known, (1, after))
        new = _carry(job, sql, f"seq > {after} AND seq <= {upto}", (after + 1, upto))
        total = _value(sql, f"SELECT COUNT(*) FROM userlist WHERE seq <= {upto}")
        imported = count_rows(job, upto)
        if imported != total:
            raise StoreError(
                f"userlist holds {total} users up to seq {upto}, table {job.table} {imported}: "
                "import again with --from-start; if they still differ, rows of "
                f"{job.table} belong to another database"
            )
        marks = {_WATERMARK: str(upto), _IMPORTED_AT: repr(started_at)}
        _set_meta(sql, {name.format(job.tables.geturl()): value for name, value in marks.items()})
    return Imported(new, changed, total)


def import_paper(job: Job) -> int:
    """The paper's command, all users each time; returns how many rows its table has."""
    _run_sqoop(job, ["--options-file", str(_HERE / "paper.options")])
    return count_rows(job, None)


def boundary(sql: Any) -> int:
    """The largest seq below which nothing can appear any more.

    Auto-increment values commit out of order: 10 may be visible while 9 is not. A table lock is
    granted when no transaction that wrote the table is open, and no value is taken while it is
    held; harvesters wait for these few milliseconds. StoreError where a transaction stays open.
    """
    with sql.cursor() as cursor:
        cursor.execute(f"SET SESSION lock_wait_timeout = {_LOCK_WAIT_S}")
        for _ in range(_LOCK_TRIES):
            try:
                cursor.execute("LOCK TABLES userlist READ")
                cursor.execute("SELECT COALESCE(MAX(seq), 0) FROM userlist")
                ((upto,),) = cursor.fetchall()
            except pymysql.err.OperationalError as error:
                if error.args[0] != pymysql.constants.ER.LOCK_WAIT_TIMEOUT:
                    raise
            else:
                return int(upto)
            finally:
                cursor.execute("UNLOCK TABLES")
    raise StoreError(
        f"a transaction on userlist stayed open for {_LOCK_WAIT_S * _LOCK_TRIES} s: "
        "end it (SHOW PROCESSLIST names it), then import again"
    )


def query(rows: str, run_id: str) -> str:
    """The SELECT that makes cells of the rows that satisfy a condition."""
    lines = (_HERE / "userlist.sql").read_text(encoding="utf-8").splitlines()
    text = " ".join(line.strip() for line in lines if not line.startswith("--"))
    return text.format(rows=rows, run_id=run_id, schema_version=SCHEMA_VERSION)


def count_rows(job: Job, upto: int | None) -> int:
    """Rows of the table whose user:seq is at most upto; None: all rows."""
    column = b"user:id" if upto is None else b"user:seq"
    connection = happybase.Connection(
        job.tables.hostname, job.tables.port or 9090, timeout=_SCAN_TIMEOUT_S * 1000
    )
    with closing(connection):
        rows = connection.table(job.table).scan(columns=[column], batch_size=1000)
        return sum(upto is None or int(cells[column]) <= upto for _, cells in rows)


def _carry(job: Job, sql: Any, rows: str, seqs: tuple[int, int]) -> int:
    """Import the rows of a condition, all within seqs; returns how many there are."""
    count = _value(sql, f"SELECT COUNT(*) FROM userlist WHERE {rows}")
    if count:
        words = ["--options-file", str(_HERE / "userlist.options")]
        words += ["--query", query(rows, job.run_id)]
        words += ["--boundary-query", f"SELECT {seqs[0]}, {seqs[1]}"]
        _run_sqoop(job, words)
    return count


def _run_sqoop(job: Job, words: Sequence[str]) -> None:
    """Run Sqoop in an empty folder, where it leaves the class it generates."""
    with tempfile.TemporaryDirectory(prefix="sqoop-") as folder:
        password = Path(folder) / "password"
        password.touch(0o600)
        password.write_bytes(job.password_file.read_bytes().rstrip(b"\r\n"))
        password.chmod(0o400)
        parameters = f"?{job.users.query}" if job.users.query else ""
        host = f"{job.users.hostname}:{job.users.port or 3306}"
        command = [
            *(job.sqoop, *words),
            *("--connect", f"jdbc:mysql://{host}{job.users.path}{parameters}"),
            *("--username", job.users.username or "", "--password-file", f"file://{password}"),
            *("--hbase-table", job.table, "--num-mappers", str(job.maps)),
            *("--outdir", folder, "--bindir", folder, *job.extra),
        ]
        environ = {k: v for k, v in os.environ.items() if k != "WEIBO_STORE__PASSWORD"}
        result = subprocess.run(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    if result.returncode != 0:
        last = "\n".join(result.stdout.splitlines()[-_LAST_LINES:])
        raise StoreError(f"Sqoop failed (exit code {result.returncode}); it said last:\n{last}")


def _connect(job: Job) -> Any:
    password = job.password_file.read_text(encoding="utf-8").rstrip("\r\n")
    return pymysql.connect(
        host=job.users.hostname,
        port=job.users.port or 3306,
        user=job.users.username,
        password=password,
        database=job.users.path.strip("/"),
        charset="utf8mb4",
        autocommit=True,
    )


def _value(sql: Any, statement: str) -> int:
    with sql.cursor() as cursor:
        cursor.execute(statement)
        return int(cursor.fetchone()[0])


def _meta(sql: Any, name: str) -> str | None:
    with sql.cursor() as cursor:
        cursor.execute("SELECT value FROM meta WHERE name = %s", (name,))
        row = cursor.fetchone()
    return None if row is None else str(row[0])


def _set_meta(sql: Any, values: dict[str, str]) -> None:
    sql.begin()  # both or none
    with sql.cursor() as cursor:
        cursor.executemany("REPLACE INTO meta (name, value) VALUES (%s, %s)", [*values.items()])
    sql.commit()


def _url(text: str, scheme: str) -> SplitResult:
    url = urlsplit(text)
    if url.scheme != scheme or not url.hostname or url.password is not None:
        raise BadConfig(f"no {scheme}://… address without a password: {scheme}://host:port/…")
    return url


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sqoop", default="sqoop", help="the sqoop command")
    parser.add_argument("--users", required=True, help="mysql://user@host:port/db")
    parser.add_argument("--password-file", required=True, type=Path)
    parser.add_argument("--tables", required=True, help="hbase://host:port[/prefix]: Thrift server")
    parser.add_argument("--hbase-table", help="default: [prefix_]userlist, or [prefix_]paper")
    parser.add_argument("--run-id", default=f"import-{int(time.time())}")
    parser.add_argument("--maps", type=int, default=2, help="how many read at once")
    parser.add_argument("--from-start", action="store_true", help="all users, not only new ones")
    parser.add_argument("--paper", action="store_true", help="the paper's own command")
    parser.add_argument("extra", nargs="*", metavar="-- OPTION", help="more options for Sqoop")
    return parser.parse_args()


def _job(given: argparse.Namespace) -> Job:
    if re.fullmatch(r"[\w.:+-]{1,100}", given.run_id, re.ASCII) is None:
        raise BadConfig(f"a run id is letters, digits and . : + _ -, not {given.run_id!r}")
    tables = _url(given.tables, "hbase")
    prefix = tables.path.strip("/")
    name = "paper" if given.paper else "userlist"
    return Job(
        sqoop=given.sqoop,
        users=_url(given.users, "mysql"),
        tables=tables,
        table=given.hbase_table or (f"{prefix}_{name}" if prefix else name),
        password_file=given.password_file,
        run_id=given.run_id,
        maps=given.maps,
        extra=tuple(given.extra),
    )


def main() -> int:
    given = _arguments()
    try:
        job = _job(given)
        if given.paper:
            print(f"imported: {import_paper(job)} rows in {job.table}")
        else:
            done = import_users(job, from_start=given.from_start)
            print(f"imported: {done.new} new, {done.changed} changed, {done.total} on both sides")
    except CrawlerError as error:
        print(f"import: {error}", file=sys.stderr)
        return error.exit_code
    except (pymysql.err.Error, TException, OSError) as error:
        print(f"import: {type(error).__name__}: {error}", file=sys.stderr)
        return StoreError.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
