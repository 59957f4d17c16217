"""HDFS as far as a job needs it: through its web interface where the settings name it, else through
the `hadoop` command. Each call of that starts a JVM (about a second), so the calls are few.
"""

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from weibo_crawler.config import Hadoop
from weibo_crawler.errors import BadConfig, StoreError, masked
from weibo_crawler.posts.webhdfs import WebHdfs

_TIMEOUT_S, _CONNECT_S = 600.0, 10.0
_NO_TICKET = "Client cannot authenticate via:[TOKEN, KERBEROS]"
_PRIVATE = ("-D", "fs.permissions.umask-mode=077")  # folders 0700, files 0600


def user(environ: Mapping[str, str] = os.environ) -> str:
    """Who we are to Hadoop."""
    return environ.get("HADOOP_USER_NAME") or getpass.getuser()


def jobs_folder(hadoop: Hadoop) -> str:
    """Where archive and job files lie: hadoop.folder, or a folder in the user's home. BadConfig
    where it is no full address."""
    folder = hadoop.folder or f"hdfs:///user/{user()}/weibo-crawler"
    if "://" not in folder:
        raise BadConfig(
            f"hadoop.folder: {masked(folder)!r} is no full address such as hdfs:///tmp/crawl"
        )
    return folder.rstrip("/")


def check_address(folder: str) -> None:
    """StoreError where the address of a folder names host and port and nobody listens there: the
    job and its nodes would look for it there, whoever has uploaded it."""
    parts = urlsplit(folder)
    if parts.hostname is None or parts.port is None:
        return
    try:
        socket.create_connection((parts.hostname, parts.port), _CONNECT_S).close()
    except OSError as error:
        raise StoreError(f"{parts.hostname}:{parts.port} cannot be reached: {error}") from None


class Hdfs(Protocol):
    """Addresses are whole ones, hdfs://…; methods raise StoreError with what Hadoop said."""

    def make_folder(self, folder: str) -> None:
        """A folder, and those above it, for their owner alone; may be there already."""

    def put(self, sources: Iterable[Path], folder: str) -> None:
        """Copy files and folders into a folder, readable for their owner alone; one folder in its
        place where it is not there."""

    def put_again(self, source: Path, folder: str) -> None:
        """Copy a file into a folder, whole or not at all; what an earlier attempt has put there is
        replaced."""

    def put_once(self, source: Path, target: str) -> None:
        """Copy a file that is the same whoever writes it, whole or not at all."""

    def move(self, source: str, target: str) -> None:
        """Give a folder another place, in which nothing is."""

    def exists(self, path: str) -> bool: ...

    def names(self, folder: str) -> set[str]:
        """What lies in a folder."""
        ...

    def read(self, pattern: str) -> str:
        """The text of the files that match, of which the last part of the path may hold `*`."""
        ...

    def remove(self, *paths: str) -> None:
        """With all below them; they may be gone already."""


def open_hdfs(hadoop: Hadoop) -> Hdfs:
    """As the settings say. BadConfig where they name no command that is there."""
    if hadoop.namenode is not None:
        return WebHdfs(hadoop.namenode, user())
    return HdfsCommand(hadoop.command)


class HdfsCommand:
    """command: `hadoop`, a name or a path; BadConfig where there is none of it. Methods as those of
    `Hdfs`."""

    def __init__(self, command: str) -> None:
        check_command(command)
        self._command = command

    def make_folder(self, folder: str) -> None:
        self._run(*_PRIVATE, "-mkdir", "-p", folder)

    def put(self, sources: Iterable[Path], folder: str) -> None:
        self._run(*_PRIVATE, "-put", *map(str, sources), folder)

    def put_again(self, source: Path, folder: str) -> None:
        self._run(*_PRIVATE, "-put", "-f", str(source), folder)

    def put_once(self, source: Path, target: str) -> None:
        try:
            self._run(*_PRIVATE, "-put", str(source), target)
        except StoreError:
            if not self.exists(target):  # else another run was first
                raise

    def move(self, source: str, target: str) -> None:
        self._run("-mv", source, target)

    def exists(self, path: str) -> bool:
        return self._call("-test", "-e", path).returncode == 0

    def names(self, folder: str) -> set[str]:
        return {line.rpartition("/")[2] for line in self._run("-ls", "-C", folder).splitlines()}

    def read(self, pattern: str) -> str:
        return self._run("-cat", pattern)

    def remove(self, *paths: str) -> None:
        if paths:
            self._run("-rm", "-r", "-f", "-skipTrash", *paths)

    def _run(self, *words: str) -> str:
        done = self._call(*words)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            last = said[-1].partition("; For more details")[0] if said else ""
            if _NO_TICKET in last:
                last = f"{_NO_TICKET}: kinit gets a ticket of Kerberos, KRB5CCNAME says where"
            raise StoreError(f"HDFS: {last or f'exit code {done.returncode}'}")
        return done.stdout

    def _call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run(
                [self._command, "fs", *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
                check=False,
                start_new_session=True,  # Ctrl-C is for the driver, which ends in order
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StoreError(f"HDFS: {self._command} fs {words[0]}: {error}") from None


def check_command(command: str) -> None:
    """BadConfig where there is no such command."""
    if shutil.which(command) is None:
        raise BadConfig(f"hadoop.command: {command!r} is no command here: name Hadoop's client")


def streaming_jar(command: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Hadoop's streaming jar where distributions put it; BadConfig where it is not."""
    homes = [environ[name] for name in ("HADOOP_HOME", "HADOOP_MAPRED_HOME") if environ.get(name)]
    found = shutil.which(command)
    if found is not None:
        homes.append(str(Path(found).resolve().parents[1]))
    folders = [Path(home, "share/hadoop/tools/lib") for home in homes]
    folders += [Path(home, inside) for home in homes for inside in ("../hadoop-mapreduce", ".")]
    folders += [Path("/usr/lib/hadoop-mapreduce"), Path("/usr/hdp/current/hadoop-mapreduce-client")]
    for folder in folders:
        jars = sorted(folder.glob("hadoop-streaming*.jar"))
        jars = [jar for jar in jars if not jar.stem.endswith(("-sources", "-tests"))]
        if jars:
            return jars[0]
    raise BadConfig(
        "hadoop.streaming_jar: no hadoop-streaming*.jar found beside "
        f"{command}: name it, `find / -name 'hadoop-streaming*.jar'` may help"
    )
