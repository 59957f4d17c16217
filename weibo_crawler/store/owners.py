"""Who holds a lease, and whether that process still lives.

An owner is `<machine>/<pid>/<start>/<nonce>`. The machine part holds host name, boot and process
namespace, so that two containers of one host name do not take each other's processes for dead.
"""

import os
import secrets
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path

from weibo_crawler.store import WorkerRow


def new_owner() -> str:
    """A name for this process that no other process, past or present, has."""
    pid = os.getpid()
    return f"{_machine()}/{pid}/{_started(pid)}/{secrets.token_hex(3)}"


def is_at_work(row: WorkerRow, now: float, within_s: float) -> bool:
    """Whether the process of a row has not ended and spoke within so many seconds, and is not known
    to be dead."""
    return row.ended is None and now - row.updated_at <= within_s and not is_dead(row.worker)


def is_dead(owner: str) -> bool:
    """True only where the owner ran on this machine and its process is gone, or the machine was
    started anew since."""
    parts = owner.split("/")
    if len(parts) != 4 or not parts[1].isdigit():
        return False
    machine, pid, started = parts[0], int(parts[1]), parts[2]
    if machine != _machine():
        return _place(machine)[0] == _place(_machine())[0] and (
            _place(machine)[1] != _place(_machine())[1]
        )
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _started(pid) != started or _is_zombie(pid)


def is_here(owner: str) -> bool:
    """Whether `is_dead` can tell: the owner is of this machine and its process namespace."""
    return owner.split("/")[0] == _machine()


@cache
def _machine() -> str:
    marks = [socket.gethostname()]
    with suppress(OSError):  # not Linux: the host name must do
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8])
        marks.append(Path("/proc/self/ns/pid").readlink().name.strip("pid:[]"))
    return "_".join(marks)


def _place(machine: str) -> tuple[str, str]:
    """Host name and boot; a container's process namespace left out."""
    name, boot, _ = [*machine.rsplit("_", 2), "", ""][:3]
    return name, boot


def _stat(pid: int) -> list[str]:
    try:
        # the name of the process, in brackets, may hold blanks
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _started(pid: int) -> str:
    """Clock ticks since boot at which the process began; "-" where the system does not say."""
    stat = _stat(pid)
    return stat[19] if len(stat) > 19 else "-"


def _is_zombie(pid: int) -> bool:
    return _stat(pid)[:1] == ["Z"]
