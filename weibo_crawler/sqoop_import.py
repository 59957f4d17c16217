"""The userlist from MariaDB or MySQL into HBase by Sqoop 1.4.7; its files are in sqoop/.

Imports the users between the watermark (importer.py) and a boundary that is fixed first, then the
known users whose row changed; compares the counts of both sides up to the boundary; only then the
watermark moves. So it is safe beside a running harvest, and may be repeated. Cells are those of the
built-in importer, byte for byte, but for `user:run_id` and the timestamps: Sqoop's puts bear none,
so HBase stamps them with the time of the import.
"""

import os
import re
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple
from urllib.parse import quote

from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, StoreError
from weibo_crawler.importer import Imported, Watermark
from weibo_crawler.records import SCHEMA_VERSION
from weibo_crawler.resources import resource
from weibo_crawler.store import Tables
from weibo_crawler.store.hbase import address as hbase
from weibo_crawler.store.hbase.tables import HbaseTables
from weibo_crawler.store.homes import HBASE, MYSQL, home_of
from weibo_crawler.store.mysql import base as mysql
from weibo_crawler.store.sql.userlist import CHANGED
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.temporary import owned_folder

_FIRST_ERRORS, _LAST_LINES = 8, 15  # of its log: a Java trace is long, its head and causes tell
_TELLS = re.compile(r" ERROR |^Caused by: ")
_UNCONNECTED = re.compile(r"^Caused by: [\w.]*(?:Communications|Connect|Connection)Exception\b")
# Hadoop's LocalJobRunner hands the credentials to a job whose thread it has started: on a machine
# that is busy the thread may be first, and connects without the password
_NO_PASSWORD = re.compile(r"^Caused by: .*\(using password: NO\)")
_ATTEMPTS, _PAUSE_S = 2, 2.0  # of a run of Sqoop that could not connect: it repeats what it stored
_MAPPED = re.compile(r"\bmap (\d+)% reduce ")
# without it a query of the key alone stores nothing, and says nothing
_KEY_IS_A_CELL = ("-D", "sqoop.hbase.add.row.key=true")
# what Sqoop looks for in HBase's client, and that of HBase 2 does not have
_OTHER_CLIENT = re.compile(
    r"(?:NoSuchMethod|NoSuchField|NoClassDefFound)Error: [^\n]*\bhbase\b", re.IGNORECASE
)
_SECRET = re.compile(r"passw", re.IGNORECASE)
Say = Callable[[str], None]


class Sqoop(NamedTuple):
    """What every run of Sqoop has in common. table: the full name in HBase."""

    settings: Settings
    table: str
    run_id: str
    environ: Mapping[str, str]


def prepare(settings: Settings, name: str, run_id: str, environ: Mapping[str, str]) -> Sqoop:
    """Sqoop for the table that this program calls `name`. environ: ours; Sqoop gets it without our
    settings. BadConfig where Sqoop could not run with these settings, or would tell a secret."""
    store, sqoop = settings.store, settings.sqoop
    if home_of(store.users) != MYSQL or home_of(store.tables) != HBASE:
        raise BadConfig(
            "import --via sqoop copies from store.users = mysql://… to store.tables = hbase://…, "
            f"and here they are {store.users} and {store.tables}: use --via builtin"
        )
    if mysql.parse_address(store.users).way() and not sqoop.jdbc_parameters:
        raise BadConfig(
            "store.users names ssl_ca or a socket, which Sqoop cannot read: say in "
            "sqoop.jdbc_parameters how it verifies the server, such as sslMode=VERIFY_IDENTITY"
        )
    if _SECRET.search(" ".join([sqoop.jdbc_parameters, *sqoop.options])):
        raise BadConfig(
            "sqoop.options, sqoop.jdbc_parameters: no passwords here, every account of the "
            "machine could read them; the database's is that of [store]"
        )
    theirs = {name: value for name, value in environ.items() if not name.startswith("WEIBO_")}
    return Sqoop(settings, hbase.parse_address(store.tables).table(name), run_id, theirs)


def import_users(
    sqoop: Sqoop,
    frontier: Frontier,
    tables: Tables,
    say: Say = lambda text: None,
    *,
    from_start: bool = False,
) -> Imported:
    """Carry over what the table lacks. StoreError where a store or Sqoop fails, a table is missing
    (before Sqoop is started), or the counts differ; the watermark stays where it was then.
    from_start: all users, to repair a table that lost rows. say: takes where it stands."""
    tables.check()
    place = sqoop.settings.store.tables
    mark = Watermark(frontier, tables, place, from_start=from_start)
    upto = frontier.last_seq()
    changed = sum(1 for _ in mark.changed())
    if changed:  # the condition may carry some more, which are as they were
        known = f"{CHANGED} >= {mark.changed_since!r} AND seq <= {mark.seq}"
        _carry(sqoop, known, (1, mark.seq), lambda share: say(f"{share} of {changed:,} changed"))
    new = frontier.count_upto(upto) - frontier.count_upto(mark.seq)
    if new:
        added = f"seq > {mark.seq} AND seq <= {upto}"
        seqs = (mark.seq + 1, upto)
        _carry(sqoop, added, seqs, lambda share: say(f"{share} of {new:,} new users"))
    say("counting both sides")
    _compare(sqoop.table, upto, frontier, tables)
    mark.move(upto)
    mark.finish()
    return Imported(new, changed)


def import_paper(sqoop: Sqoop, frontier: Frontier, say: Say = lambda text: None) -> int:
    """The paper's own command, all users each time, into a table that it makes: row key the bare
    id, one cell `user:id`. Returns how many rows the table has; StoreError where the userlist had
    more."""
    total = frontier.count_upto(frontier.last_seq())
    if not total:
        return 0
    words = [*_KEY_IS_A_CELL, *sqoop.settings.sqoop.options]
    words += ["--options-file", str(resource("sqoop/paper.options"))]
    with closing(HbaseTables(sqoop.settings.store.tables)) as tables:
        tables.paper()  # whether HBase is there; Sqoop would try for minutes
        _run(sqoop, words, lambda share: say(f"{share} of {total:,} users"))
        say("counting both sides")
        table = tables.paper()
        held = 0 if table is None else sum(1 for _ in table.keys(""))
    if held < total:
        raise StoreError(f"userlist held {total} users, table {sqoop.table} {held}: import again")
    return held


def try_out(sqoop: Sqoop) -> None:
    """Import nobody, by the way of everybody: database, jars, HBase and maps are those of a real
    import. Errors are those of one."""
    _carry(sqoop, "seq < 0", (0, 0), lambda share: None)


def query(rows: str, run_id: str) -> str:
    """The SELECT that makes cells of the rows that satisfy a condition."""
    lines = resource("sqoop/userlist.sql").read_text(encoding="utf-8").splitlines()
    text = " ".join(line.strip() for line in lines if not line.startswith("--"))
    return text.format(rows=rows, run_id=run_id, schema_version=SCHEMA_VERSION)


def _compare(table: str, upto: int, frontier: Frontier, tables: Tables) -> None:
    rows = tables.userlist.scan(columns=["user:seq"])
    held = sum(int(row.cells["user:seq"]) <= upto for row in rows)
    total = frontier.count_upto(upto)
    if held == total:
        return
    remedy = (
        "import again with --from-start; if they still differ, see that Sqoop's hbase-site.xml and "
        "store.tables name one HBase"
        if held < total
        else "forget again whom you forgot meanwhile; otherwise it holds users of another database"
    )
    raise StoreError(
        f"userlist holds {total} users up to seq {upto}, table {table} {held}: {remedy}"
    )


def _carry(sqoop: Sqoop, rows: str, seqs: tuple[int, int], say: Say) -> None:
    """Import the rows of a condition, all within seqs."""
    words = [*sqoop.settings.sqoop.options]
    words += ["--options-file", str(resource("sqoop/userlist.options"))]
    words += ["--query", query(rows, sqoop.run_id)]
    words += ["--boundary-query", f"SELECT {seqs[0]}, {seqs[1]}"]
    _run(sqoop, words, say)


def _run(sqoop: Sqoop, words: Sequence[str], say: Say) -> None:
    """Run Sqoop; once more where it could not connect, though we can."""
    password = sqoop.settings.store.read_password()
    for attempt in range(1, _ATTEMPTS + 1):
        code, said = _run_once(sqoop, words, password, say)
        if code == 0:
            return
        text = "\n".join(said)
        text = text.replace(password, "***") if password else text
        lost = bool(password) and any(map(_NO_PASSWORD.search, said))
        if attempt == _ATTEMPTS or not (lost or any(map(_UNCONNECTED.search, said))):
            break
        say(f"Sqoop could not connect, and is run once more\n{text}")
        time.sleep(_PAUSE_S)
    if _OTHER_CLIENT.search(text):
        raise BadConfig(
            "sqoop.command: Sqoop 1.4.7 calls HBase by the client of HBase 1, and found "
            "another one: let HBASE_HOME of Sqoop name an HBase 1.7.2, which reaches HBase 2 as "
            f"well, or use --via builtin; its first errors and last words:\n{text}"
        )
    raise StoreError(f"Sqoop failed (exit code {code}); its first errors and last words:\n{text}")


def _run_once(
    sqoop: Sqoop, words: Sequence[str], password: str | None, say: Say
) -> tuple[int, Sequence[str]]:
    """Run Sqoop in an empty folder, where it leaves the class it generates; as `_watch`."""
    settings = sqoop.settings
    with owned_folder("sqoop") as folder, _shown(password) as named:
        address = mysql.parse_address(settings.store.users)
        command = [settings.sqoop.command, "import", *words, *_connection(settings, address)]
        command += named
        command += ["--hbase-table", sqoop.table, "--num-mappers", str(settings.sqoop.maps)]
        command += ["--outdir", str(folder), "--bindir", str(folder)]
        return _watch(command, str(folder), sqoop.environ, say)


@contextmanager
def _shown(password: str | None) -> Iterator[list[str]]:
    """The words by which Sqoop reads the password: its bytes as they are, no newline, in a file
    that lies in memory alone and ends with this process, also by kill -9. Only our account may
    read it."""
    if not password:
        yield []
        return
    with os.fdopen(os.memfd_create("sqoop-password"), "wb") as file:
        os.fchmod(file.fileno(), 0o400)
        file.write(password.encode())
        file.flush()
        yield ["--password-file", f"file:///proc/{os.getpid()}/fd/{file.fileno()}"]


def _connection(settings: Settings, at: mysql.Address) -> list[str]:
    host = f"[{at.host}]" if ":" in at.host else at.host
    url = f"jdbc:mysql://{host}:{at.port}/{quote(at.database)}"
    if settings.sqoop.jdbc_parameters:
        url += f"?{settings.sqoop.jdbc_parameters}"
    return ["--connect", url, "--username", at.user]


def _watch(
    command: Sequence[str], folder: str, environ: Mapping[str, str], say: Say
) -> tuple[int, Sequence[str]]:
    """Run to the end, saying how far its maps are; the exit code, and what of its log tells why."""
    errors: list[str] = []
    last: deque[str] = deque(maxlen=_LAST_LINES)
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise BadConfig(
            f"sqoop.command: cannot run {command[0]}: {error.strerror}; name Sqoop 1.4.7's "
            "command, or use --via builtin"
        ) from None
    with process:
        try:
            for line in process.stdout or ():
                line = line.rstrip("\n")
                if not _TELLS.search(line) or len(errors) == _FIRST_ERRORS:
                    last.append(line)
                elif line not in errors:
                    errors.append(line)
                if mapped := _MAPPED.search(line):
                    say(f"{mapped[1]} %")
        except BaseException:  # such as Ctrl-C: what it wrote may be written again
            process.terminate()
            raise
    return process.returncode, [*errors, *last]
