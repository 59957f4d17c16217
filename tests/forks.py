"""Commands of the program in processes of their own, without starting Python anew for each.

Importing the program takes longer than most commands. So a server imports it once, and forks for
each command: `Forks.run` gives what subprocess.run would. What Python itself reads at its start
(PYTHON*, the locale) is that of the server, so who sets it needs a real start.
"""

import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

_ROOT = Path(__file__).parents[1]
_HEAVY = ("weibo_crawler.__main__", "weibo_crawler.simulator.__main__")


class Forks:
    """A server of this process, which ends with it. before: a command that starts it, such as one
    that gives up rights."""

    def __init__(self, before: Sequence[str] = ()) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._server = subprocess.Popen(
                [*before, sys.executable, "-m", "tests.forks", str(theirs.fileno())],
                cwd=_ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._line, self._lock = ours, threading.Lock()
        atexit.register(self._end)

    def _end(self) -> None:
        self._line.close()
        self._server.wait()

    def run(
        self, words: Sequence[str], folder: Path, env: Mapping[str, str], timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """One command of the program to its end."""
        ours, theirs = socket.socketpair()
        with ours, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            asked = [theirs.fileno(), out.fileno(), err.fileno()]
            with theirs, self._lock:
                socket.send_fds(self._line, [b"."], asked)
            with ours.makefile("rw", encoding="utf-8") as talk:
                talk.write(json.dumps([list(words), str(folder), dict(env)]) + "\n")
                talk.flush()
                pid = int(talk.readline())
                ours.settimeout(timeout_s)
                try:
                    code = int(talk.readline())
                except TimeoutError:
                    os.kill(pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(list(words), timeout_s) from None
            texts = [_text(each) for each in (out, err)]
        return subprocess.CompletedProcess(list(words), code, *texts)


@cache
def forks(*before: str) -> Forks:
    """One for each process that runs tests, and each command that starts it."""
    return Forks(before)


def needs_a_start(env: Mapping[str, str]) -> bool:
    """Whether Python would start otherwise with these variables than it has started here."""
    here = {**os.environ, "PYTHONPATH": str(_ROOT)}
    return any(
        env.get(name) != here.get(name)
        for name in {*env, *here}
        if name.startswith(("PYTHON", "LANG", "LC_"))
    )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


# -- the server


def _serve(line: socket.socket) -> None:
    """Fork for each command, until nobody is left who may ask."""
    _import_all()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who carry a command
    while True:
        _, given, _, _ = socket.recv_fds(line, 1, 3)
        if not given:
            return
        if os.fork() == 0:
            line.close()
            _carry(*given)
        for fd in given:
            os.close(fd)


def _import_all() -> None:
    import weibo_crawler

    for module in pkgutil.walk_packages(weibo_crawler.__path__, "weibo_crawler."):
        if module.name not in _HEAVY:
            with contextlib.suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    assert threading.active_count() == 1, "a thread does not survive a fork"


def _carry(talk_fd: int, out: int, err: int) -> None:
    """Run one command in a child, and tell its process id, and at its end its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=talk_fd) as ours, ours.makefile("rw", encoding="utf-8") as talk:
        words, folder, env = json.loads(talk.readline())
        pid = os.fork()
        if pid == 0:
            os.close(talk_fd)
            _command(words, folder, env, out, err)
        talk.write(f"{pid}\n")
        talk.flush()
        _, status = os.waitpid(pid, 0)
        talk.write(f"{os.waitstatus_to_exitcode(status)}\n")
    os._exit(0)


def _command(words: list[str], folder: str, env: dict[str, str], out: int, err: int) -> None:
    """What `python -m weibo_crawler` would do there; does not return."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv = ["weibo-crawler", *words]
    code: object = 1
    try:
        from weibo_crawler.cli.main import main

        code = main(words)
    except SystemExit as leaving:
        code = leaving.code
    except BaseException:  # noqa: BLE001 - what Python itself does at the top
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as line:
        _serve(line)
