"""What must hold before anything is started; a StackError says all that does not."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jars
from daemons import Daemon
from settings import Stack, StackError

_JAVA = 17  # Hadoop 3.4 breaks on 24 (Subject.getSubject) and HBase 2.6 is not tested above 17
_SPARE_MB = 768  # for a job's master and a few maps
_DISK_MB = 2048
_DISK_PER_POM_MB = 400
_MEMORY = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")
_USED = Path("/sys/fs/cgroup/memory.current")


def java_home() -> Path:
    """The home of the JDK 17 of JAVA_HOME, or of the java on PATH. StackError: none of 17."""
    named = os.environ.get("JAVA_HOME")
    found = str(Path(named) / "bin" / "java") if named else shutil.which("java")
    remedy = f"install a JDK {_JAVA} and set JAVA_HOME to it"
    if found is None or not Path(found).exists():
        raise StackError(f"no Java at {found or 'PATH'}: {remedy}")
    home = Path(found).resolve().parent.parent
    said = subprocess.run([found, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) != _JAVA:
        raise StackError(f"{found} is Java {version[1] if version else '?'}: {remedy}")
    if not (home / "bin" / "javac").exists():
        raise StackError(f"{home} has no javac, which Sqoop calls: {remedy}")
    return home


def before_start(stack: Stack, starting: Sequence[Daemon]) -> None:
    """StackError names everything that stands against starting these daemons."""
    troubles = [] if sys.platform == "linux" else ["the stack runs on Linux only"]
    troubles += [
        f"port {stack.ports[port]} ({daemon.what}) is in use: stop what listens there, "
        f"or set WEIBO_STACK_PORT_{port.upper()}"
        for daemon in starting
        for port in daemon.ports
        if _taken(daemon.address, stack.ports[port])
    ]
    missing = jars.missing(stack)
    if missing and shutil.which("mvn") is None:
        troubles.append(f"no mvn on PATH, and the jars of {', '.join(missing)} are not here yet")
    wanted, free = sum(daemon.memory_mb for daemon in starting) + _SPARE_MB, _free_memory_mb()
    if starting and free < wanted:
        troubles.append(f"{wanted} MB of memory are needed, {free} MB are free")
    for folder, needed in ((stack.root, _DISK_MB), (stack.cache, len(missing) * _DISK_PER_POM_MB)):
        free = _free_disk_mb(folder)
        if starting and free < needed:
            troubles.append(f"{needed} MB of disk are needed for {folder}, {free} MB are free")
    if troubles:
        raise StackError("\n".join(troubles))


def _taken(address: str, port: int) -> bool:
    """Whether nothing else can listen there. A port whose last connections still linger is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return True
    return False


def _free_memory_mb() -> int:
    lines = dict(line.split(":") for line in _MEMORY.read_text().splitlines())
    free = int(lines["MemAvailable"].split()[0]) // 1024
    if _LIMIT.exists() and _USED.exists() and (limit := _LIMIT.read_text().strip()) != "max":
        free = min(free, (int(limit) - int(_USED.read_text())) // 2**20)
    return free


def _free_disk_mb(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free // 2**20
