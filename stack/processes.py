"""Processes this stack started, and no others: a pid file holds the pid, the start time in clock
ticks since boot and the boot's id, so that a pid that was given to another program is never
signalled. All processes, YARN's containers too, carry the stack's mark in their environment.
"""

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from settings import Stack

MARK = "WEIBO_STACK_MARK"
NODE = "WEIBO_STACK_NODE"  # in the environment of what runs on a node: its name
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def mark(stack: Stack) -> str:
    """The environment entry of all processes of this stack, made on first use."""
    file = stack.run / "mark"
    if not file.exists():
        stack.run.mkdir(parents=True, exist_ok=True)
        file.write_text(secrets.token_hex(16))
    return f"{MARK}={file.read_text()}"


def start(stack: Stack, name: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Start a daemon in a session of its own, its output to its log; returns the pid.

    The log of the last start is kept as <name>.log.1. An interruption waits until the pid file is
    there: no process is left that `stop` does not know.
    """
    with undisturbed():
        return _start(stack, name, command, environ)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the end of the block. (A blocked signal would stay blocked in
    the daemons that are started here, a handler does not.)"""
    arrived: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {n: signal.signal(n, lambda number, _: arrived.append(number)) for n in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if arrived:
        raise KeyboardInterrupt


def _start(stack: Stack, name: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    log = stack.log(name)
    if log.exists():
        log.replace(log.with_name(log.name + ".1"))
    key, _, value = mark(stack).partition("=")
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=stack.run,
            env={**environ, key: value},
            start_new_session=True,
        )
    process.returncode = 0  # never waited for, it outlives this program: Popen would warn of that
    identity = {"pid": process.pid, "ticks": _ticks(process.pid), "boot": _BOOT_ID.read_text()}
    file = _pid_file(stack, name)
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps(identity))
    draft.replace(file)
    return process.pid


def running(stack: Stack, name: str) -> int | None:
    """The pid of a daemon that runs; None where it does not, or its pid is another program's."""
    try:
        identity = json.loads(_pid_file(stack, name).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    pid = int(identity["pid"])
    ours = identity["ticks"] is not None and identity["ticks"] == _ticks(pid)
    return pid if ours and identity["boot"] == _BOOT_ID.read_text() else None


def stop(stack: Stack, name: str, patience_s: float) -> str | None:
    """SIGTERM, and SIGKILL after patience_s. Says what was done, None where nothing ran."""
    pid = running(stack, name)
    if pid is None:
        _pid_file(stack, name).unlink(missing_ok=True)
        return None
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while running(stack, name) is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    killed = running(stack, name) is not None
    if killed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while running(stack, name) is not None:
            time.sleep(0.1)
    _pid_file(stack, name).unlink(missing_ok=True)
    return "killed: it did not stop by itself" if killed else "stopped"


def kill(stack: Stack, name: str) -> int:
    """SIGKILL for a daemon and, where it is a node, all that runs on it; how many processes."""
    pid, killed = running(stack, name), 0
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed = 1
    while running(stack, name) is not None:
        time.sleep(0.02)
    _pid_file(stack, name).unlink(missing_ok=True)
    return killed + kill_marked(stack, f"{NODE}={name}")


def kill_marked(stack: Stack, *entries: str) -> int:
    """Kill what still carries the mark, and these entries beside it, in its environment: containers
    of a NodeManager that was killed."""
    if not (stack.run / "mark").exists():
        return 0
    killed = 0
    for pid in _marked({entry.encode() for entry in (mark(stack), *entries)}):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


def _marked(entries: set[bytes]) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            # other accounts' processes cannot be read, and processes end while we look
            with suppress(PermissionError, FileNotFoundError, ProcessLookupError):
                if entries <= set((folder / "environ").read_bytes().split(b"\0")):
                    yield int(folder.name)


def _pid_file(stack: Stack, name: str) -> Path:
    return stack.run / f"{name}.pid"


def _ticks(pid: int) -> int | None:
    """Start time of a living process in ticks since boot; None: no such process, or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # a command's name may hold blanks and brackets
    return None if fields[0] in "ZX" else int(fields[19])
