"""A real MariaDB server for tests: private, on a free loopback port, in a temporary folder.

Its own settings are chosen to hurt: another character set, another isolation, no strict mode. A
store must set for itself what it relies on.
"""

import functools
import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pymysql

USER, PASSWORD = "crawler", "geheim-密码-7"
_START_S = 60
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
_HURTING = (
    "--character-set-server=latin1",
    "--collation-server=latin1_swedish_ci",
    "--transaction-isolation=REPEATABLE-READ",
    "--sql-mode=",
    "--innodb-buffer-pool-size=64M",
    "--skip-name-resolve",
)


@functools.cache
def binary() -> str | None:
    """The server's program, None where there is none or it is not MariaDB."""
    for name in ("mariadbd", "mysqld"):
        path = shutil.which(name, path=_PATH)
        if path and "MariaDB" in _said([path, "--version"]) and _installer():
            return path
    return None


def why_not() -> str:
    """The reason to skip."""
    return "no mariadbd and mariadb-install-db at hand (Debian: apt-get install mariadb-server)"


class MariaDb:
    """One server; `start` it, `kill` and `start` it again on the same port, `stop` it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        _said(
            [
                *(
                    _installer() or "",
                    "--no-defaults",
                    f"--datadir={folder}/data",
                    "--skip-test-db",
                ),
                *("--auth-root-authentication-method=normal", f"--user={getpass.getuser()}"),
            ]
        )
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
            unix_socket=f"{self.folder}/s", user="root", database=database, charset="utf8mb4"
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
                    *(binary() or "", "--no-defaults", f"--datadir={self.folder}/data"),
                    *(f"--socket={self.folder}/s", f"--pid-file={self.folder}/pid"),
                    *("--bind-address=127.0.0.1", f"--port={self.port}"),
                    *(f"--user={getpass.getuser()}", *_HURTING),
                ],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            ended = self._process.poll() is not None or time.monotonic() > deadline
            assert not ended, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.05)

    def kill(self) -> None:
        """As kill -9 or a power cut of the process: nothing is said to anybody."""
        self._end("kill")

    def stop(self) -> None:
        self._end("terminate")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{self.folder}/s") == 0

    def _end(self, how: str) -> None:
        assert self._process is not None
        getattr(self._process, how)()
        self._process.wait()


def _installer() -> str | None:
    return shutil.which("mariadb-install-db", path=_PATH) or shutil.which(
        "mysql_install_db", path=_PATH
    )


def _said(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
