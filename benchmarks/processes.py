"""Processes that are measured: what they say, how much memory they take."""

import os
import re
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

TIMEOUT_S = 900
_HERE = Path(__file__).parents[1]
_LOOK_EVERY_S = 0.02
_TOLD = 5000  # the first errors of what a command has called stand above its last words


class Wrong(Exception):
    """What a contender did is not right: its figures do not count."""


def run(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> str:
    """Standard output of a process that ends well. Errors: Wrong with what it said. env: beside
    ours, of which no setting of the crawler is handed on."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    if done.returncode:
        raise Wrong(f"{' '.join(command[:4])}: {done.stderr[-_TOLD:]}")
    return done.stdout


class Measured(NamedTuple):
    """A process that ended well. seconds: from its start to its end; cpu_s: of the processor, that
    of all that it started included."""

    output: str
    seconds: float
    cpu_s: float


def measured(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Measured:
    """As `run`, with what it took."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    output = run(command, folder, {"PYTHONPATH": str(_HERE), **env})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(output, time.perf_counter() - began, cpu_s)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Ours without settings of the crawler, and these."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEIBO_")}
    return clean | dict(env)


def resident_bytes(pid: int | str = "self") -> int:
    """Of a process, now. OSError: it has ended."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def peak_bytes(pid: int | str = "self") -> int:
    """The most that a process had resident since it began its program. OSError: it has ended.

    (getrusage would count what the process was before: a copy of its parent.)"""
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"process {pid} has ended")


def peak_of(process: "subprocess.Popen[bytes]") -> int:
    """The same of a process, looked at until it ends."""
    peak = 0
    while process.poll() is None:
        try:
            peak = peak_bytes(process.pid)
        except OSError:
            break
        time.sleep(_LOOK_EVERY_S)
    process.wait()
    return peak


def live_heap_bytes(java_home: Path, pid: int) -> int:
    """What a Java process holds in its heap after a full collection, which this asks for (the
    serial collector's report is read). OSError, SubprocessError: it has ended, or does not answer.
    """
    for command in ("GC.run", "GC.heap_info"):
        said = subprocess.run(
            [java_home / "bin" / "jcmd", str(pid), command],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout
    used = re.findall(r"generation +total \d+K, used (\d+)K", said)
    if len(used) != 2:
        raise Wrong(f"jcmd {pid} tells no heap: {said[:500]}")
    return 1024 * sum(map(int, used))
