"""A real MariaDB server for tests: private, on a free loopback port, in a temporary folder. It is
the system's, else Maven's, which `make test-stack` fetches. WEIBO_MYSQLD names the program of a
MySQL server, 8 or newer, in its place: `WEIBO_MYSQLD=/usr/sbin/mysqld make test ARGS=tests/store`;
three tests then fail that read what only MariaDB has (table of a sequence, `tx_isolation`, lock
waits).

Its own settings are chosen to hurt: another character set, another isolation, no strict mode. A
store must set for itself what it relies on. It never waits for the disk: kill -9 loses nothing that
the system has been given, and no test cuts the power.
"""

import functools
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql

from tests.ports import free_port

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "stack"))
import jars  # isort: skip
import settings  # isort: skip

USER, PASSWORD = "crawler", "geheim-密码-7"
_START_S = 60
_MYSQLD = os.environ.get("WEIBO_MYSQLD", "")
_STACK = settings.read()  # for where jars are kept
_QUICK = (
    "--innodb-flush-log-at-trx-commit=2",
    "--loose-innodb-flush-method=nosync",
    "--loose-innodb-doublewrite=OFF",
    "--loose-skip-sync-frm",
)
_HURTING = (
    "--character-set-server=latin1",
    "--collation-server=latin1_swedish_ci",
    "--transaction-isolation=REPEATABLE-READ",
    "--sql-mode=",
    "--innodb-buffer-pool-size=64M",
    "--skip-name-resolve",
    # or it makes itself a certificate at each start: once that took a minute of a busy machine
    "--loose-skip-ssl",
)


@functools.cache
def binary() -> Path | None:
    """The server's program, None where there is none."""
    if _MYSQLD:
        return Path(_MYSQLD)
    if jars.system_mariadb(_STACK) is None and not jars.folder(_STACK, "mariadb").exists():
        if os.environ.get("WEIBO_STACK_TESTS") != "1" or shutil.which("mvn") is None:
            return None
        jars.fetch(_STACK, "mariadb")
    return jars.mariadb(_STACK)[0]


def why_not() -> str:
    """The reason to skip."""
    return "no mariadbd at hand: install mariadb-server, or run `make test-stack`, with Maven"


class MariaDb:
    """One server; `start` it, `kill` and `start` it again on the same port, `stop` it. options: of
    its command, beside ours."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        self.folder, self.port, self._options = folder, free_port(), options
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        (folder / "data").mkdir()
        how = "--initialize-insecure" if _MYSQLD else "--bootstrap"
        sql = None if _MYSQLD else jars.mariadb_bootstrap(jars.mariadb(_STACK)[1])
        done = subprocess.run([*self._command(), how], input=sql, text=True, capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self.start()
        for host in ("localhost", "127.0.0.1", "%"):
            self.root(f"CREATE USER '{USER}'@'{host}' IDENTIFIED BY '{PASSWORD}'")
            self.root(f"GRANT ALL ON `t\\_%`.* TO '{USER}'@'{host}'")

    def url(self, database: str | None = None) -> str:
        """The address of a new database, or of this one."""
        if database is None:
            self._databases += 1
            database = f"t_{self._databases}"
            self.root(f"CREATE DATABASE {database}")
        return f"mysql://{USER}@127.0.0.1:{self.port}/{database}"

    def root(self, sql: str, database: str | None = None) -> Any:
        """What one statement of the administrator gives."""
        conn = pymysql.connect(
            unix_socket=f"{self.folder}/s",
            user="root",
            database=database,
            charset="utf8mb4",
            ssl_disabled=True,  # else it reads all authorities of the system
        )
        try:
            with conn.cursor() as cursor:
                cursor.execute(sql)
                conn.commit()
                return cursor.fetchall()
        finally:
            conn.close()

    def start(self) -> None:
        """Returns when the server answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(*self._command(), f"--socket={self.folder}/s", *_HURTING),
                    *(f"--pid-file={self.folder}/pid", f"--port={self.port}"),
                    *("--bind-address=127.0.0.1", *self._options),
                ],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def kill(self) -> None:
        """As kill -9 or a power cut of the process: nothing is said to anybody."""
        self._end("kill")

    def stop(self) -> None:
        self._end("terminate")

    def _command(self) -> list[str]:
        if _MYSQLD:
            program = [_MYSQLD, "--no-defaults", "--loose-mysqlx=OFF", "--secure-file-priv="]
        else:
            server, share = jars.mariadb(_STACK)
            program = [str(server), "--no-defaults", f"--lc-messages-dir={share}"]
        return [
            *(*program, f"--datadir={self.folder}/data", f"--user={getpass.getuser()}"),
            f"--tmpdir={self.folder}",  # a server that starts deletes what others have in theirs
            *_QUICK,
        ]

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{self.folder}/s") == 0

    def _end(self, how: str) -> None:
        assert self._process is not None
        getattr(self._process, how)()
        self._process.wait()
