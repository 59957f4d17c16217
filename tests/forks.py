"""Commands of the program in processes of their own, without starting Python anew for each.

Importing the program takes longer than most commands. So a server imports it once, and forks for
each command: `Forks.run` gives what subprocess.run would, and `simulator` what `run.start` of the
simulator gives. A job on this machine that a forked command starts, of posts or of a level, is
forked by the same server, and its tasks by a server in the job's own group. What Python itself
reads at its start (PYTHON*, the locale) is that of the server, so who sets it needs a real start.
Who asked and is gone takes the command with it; a job outlives its command, as after a start.
"""

import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests import spawned
from weibo_crawler.simulator.arguments import to_arguments
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import Running, answered, start
from weibo_crawler.store.temporary import open_private

_ROOT = Path(__file__).parents[1]
CRAWLER, _SIMULATOR = "weibo_crawler", "weibo_crawler.simulator"
_HEAVY = ("weibo_crawler.__main__", "weibo_crawler.simulator.__main__")
JOB = str(_ROOT / "jobs" / "crawl_posts.py")
_JOBS = (JOB, str(_ROOT / "jobs" / "harvest_level.py"))
_TASKS = [Path(job).name for job in _JOBS]


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
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            forked = self.begin(CRAWLER, words, folder, env, out.fileno(), err.fileno())
            try:
                code = forked.wait(timeout_s)
            except subprocess.TimeoutExpired:
                forked.kill()
                raise subprocess.TimeoutExpired(list(words), timeout_s) from None
            texts = [_text(each) for each in (out, err)]
        return subprocess.CompletedProcess(list(words), code, *texts)

    def begin(
        self,
        program: str,
        words: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        *files: int,
    ) -> "Forked":
        """One command of this program. files: for its output, its errors, and what it reads, where
        that is something."""
        with self._lock:
            return Forked(self._line, [program, list(words), str(folder), dict(env)], *files)


class Forked:
    """A command that runs, asked for on the line to a server. It is killed where this process ends,
    or forgets it. returncode: None while it runs, as far as was looked."""

    def __init__(self, server: socket.socket, asked: list[object], *files: int) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(server, [b"."], [theirs.fileno(), *files])
        self._talk = self._line.makefile("rw", encoding="utf-8")
        self._talk.write(json.dumps(asked) + "\n")
        self._talk.flush()
        self.pid = int(self._talk.readline())
        self.returncode: int | None = None

    def wait(self, timeout_s: float | None = None) -> int:
        """Its exit code. TimeoutExpired where it runs on."""
        if self.returncode is None:
            if not select.select([self._line], [], [], timeout_s)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout_s or 0.0)
            self.returncode = int(self._talk.readline())
            self._talk.close()
            self._line.close()
        return self.returncode

    def poll(self) -> int | None:
        """Its exit code; None where it runs on."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def simulator(options: SimulatorOptions) -> Running:
    """A simulator as `start` starts it, with its errors."""
    env = os.environ | {"PYTHONPATH": str(_ROOT)}
    if needs_a_start(env):
        return start(options)
    output, theirs = os.pipe()
    try:
        words = to_arguments(options)
        forked = forks().begin(_SIMULATOR, words, Path.cwd(), env, theirs, 2)
    finally:
        os.close(theirs)
    with os.fdopen(output, "rb") as said:
        return answered(forked, said.readline(), options)


@cache
def forks(*before: str) -> Forks:
    """One for each process that runs tests, and each command that starts it."""
    return Forks(before)


def needs_a_start(env: Mapping[str, str]) -> bool:
    """Whether Python would start otherwise with these variables than it has started here. What they
    add to the end of PYTHONPATH is added in the fork; what stands before the program might hide it.
    """
    if not f"{env.get('PYTHONPATH', '')}{os.pathsep}".startswith(f"{_ROOT}{os.pathsep}"):
        return True
    return any(
        env.get(name) != os.environ.get(name)
        for name in {*env, *os.environ} - {"PYTHONPATH"}
        if name.startswith(("PYTHON", "LANG", "LC_"))
    )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


# -- the server


class _Carried(NamedTuple):
    """A command that runs: its process, and the line to who asked for it. is_kept: a job, which
    may outlive the command that asked for it."""

    pid: int
    process: int
    talk: socket.socket
    is_kept: bool

    def waits_for(self) -> list[int]:
        return [self.process] if self.is_kept else [self.process, self.talk.fileno()]

    def is_over(self, ready: Sequence[int]) -> bool:
        """It has ended, or nobody is left who asked: then it is killed."""
        if not {*self.waits_for()} & {*ready}:
            return False
        self.end(is_killed=self.process not in ready)
        return True

    def end(self, *, is_killed: bool) -> None:
        if is_killed:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            self.talk.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        self.close()

    def close(self) -> None:
        os.close(self.process)
        self.talk.close()


def _serve(line: socket.socket) -> None:
    """Fork for each command, until nobody is left who may ask. The commands ask for their jobs."""
    asks, asked = socket.socketpair()
    running: list[_Carried] = []
    try:
        while True:
            fds = [fd for one in running for fd in one.waits_for()]
            ready = select.select([line.fileno(), asked.fileno(), *fds], [], [])[0]
            running = [one for one in running if not one.is_over(ready)]
            for each in (line, asked):
                if each.fileno() in ready:
                    _, given, _, _ = socket.recv_fds(each, 1, 4)
                    if not given:
                        return
                    talk, files = socket.socket(fileno=given[0]), given[1:]
                    if (pid := _forked(talk, files, asks, [line, asked, *running])) is not None:
                        process = os.pidfd_open(pid)
                        running.append(_Carried(pid, process, talk, is_kept=each is asked))
    finally:
        for one in running:
            one.end(is_killed=True)


def _import_all() -> None:
    import weibo_crawler

    spawned.hide()
    for module in pkgutil.walk_packages(weibo_crawler.__path__, "weibo_crawler."):
        if module.name not in _HEAVY:
            with contextlib.suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    for runner in ("inline", "local"):  # each job imports one
        importlib.import_module(f"mrjob.{runner}")
    for job in _JOBS:
        runpy.run_path(job)
    _prepare()
    assert threading.active_count() == 1, "a thread does not survive a fork"


def _prepare() -> None:
    """What a command makes anew each time, and would be the same: its parser, and what is imported
    when it is needed. Arrow imports numpy, which would start a thread for each processor."""
    from weibo_crawler.analysis.plots import import_pygal
    from weibo_crawler.cli import main

    main.build_parser = cache(main.build_parser)
    main.build_parser()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for prepared in (import_pygal, partial(importlib.import_module, "numpy")):
        with contextlib.suppress(ImportError):
            prepared()


def _forked(
    talk: socket.socket,
    files: Sequence[int],
    asks: socket.socket,
    ours: Sequence[socket.socket | _Carried],
) -> int | None:
    """Run one command in a child, which tells its process id. None where who asked is gone."""
    asked, pid = b"", None
    while not asked.endswith(b"\n") and (part := talk.recv(1 << 16)):
        asked += part
    if asked.endswith(b"\n") and (pid := os.fork()) == 0:
        try:
            program, words, folder, env = json.loads(asked)
            if program not in _TASKS:  # those are in the group of their job
                os.setsid()
            with contextlib.suppress(OSError):
                talk.sendall(f"{os.getpid()}\n".encode())
            for each in (*ours, talk):
                each.close()
            _command(program, words, folder, env, files, asks)
        except BaseException:  # noqa: BLE001 - or it would go on as the server
            traceback.print_exc()
        os._exit(1)
    for file in files:  # or who reads it would wait for us
        os.close(file)
    if pid is None:
        talk.close()
    return pid


def _command(
    program: str,
    words: list[str],
    folder: str,
    env: dict[str, str],
    files: Sequence[int],
    asks: socket.socket,
) -> None:
    """What `python -m` of the program would do there, `python` of a job; does not return."""
    for file, stream in zip(files, (1, 2, 0), strict=False):
        os.dup2(file, stream)
        os.close(file)
    if os.isatty(1):  # as Python opens them at its start: what they can do is asked for once
        sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    _, *added = env["PYTHONPATH"].split(os.pathsep)
    sys.path[1:1] = added
    if program == _SIMULATOR:
        words = [f"--parent={os.getppid()}", *words]
    sys.modules["__main__"].__spec__ = spawned.__spec__  # or they would import this module
    named = "weibo-crawler" if program in (CRAWLER, _SIMULATOR) else program
    sys.argv = [named, *words]
    code: object = 1
    try:
        code = _main(program, asks)(words)
    except SystemExit as leaving:
        code = leaving.code
    except BaseException:  # noqa: BLE001 - what Python itself does at the top
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _main(program: str, asks: socket.socket) -> Callable[[list[str]], Any]:
    if program in _JOBS:
        return lambda _: _run_job(program)
    if program not in (CRAWLER, _SIMULATOR):
        return lambda _: _run_script(program)
    if program == _SIMULATOR:
        from weibo_crawler.simulator.__main__ import main as simulate

        return lambda _: simulate()
    from weibo_crawler.cli.main import main
    from weibo_crawler.posts import driver

    driver.start = _job_starter(asks, driver.start)
    return main


def _run_job(script: str) -> None:
    """The job, and a server of its tasks: who ends the group of the job ends them, too."""
    from mrjob import local

    ours, theirs = socket.socketpair()
    server = os.fork()
    if server == 0:
        ours.close()
        _serve(theirs)
        os._exit(0)
    theirs.close()
    local.check_call = _task_runner(ours, local.check_call)
    try:
        _run_script(script)
    finally:
        ours.close()
        os.waitpid(server, 0)


def _run_script(path: str) -> None:
    runpy.run_path(path, run_name="__main__")


def _task_runner(asks: socket.socket, run: Callable[..., Any]) -> Callable[..., Any]:
    """In place of mrjob's `subprocess.check_call`: it forks our tasks, and starts all else."""

    def run_or_fork(command: list[str], **how: Any) -> None:
        python, script, *words = command
        env = how["env"]
        if python != sys.executable or script not in _TASKS or needs_a_start(env):
            run(command, **how)
            return
        files = [how[name].fileno() for name in ("stdout", "stderr", "stdin")]
        code = Forked(asks, [script, words, how["cwd"], env], *files).wait()
        if code:
            raise subprocess.CalledProcessError(code, command)

    return run_or_fork


def _job_starter(asks: socket.socket, start: Callable[..., Any]) -> Callable[..., Any]:
    """In place of `posts.driver.start`: it forks our job, and starts all else."""

    def start_or_fork(command: list[str], log: Path, env: Mapping[str, str]) -> Any:
        python, script, *words = command
        if python != sys.executable or script not in _JOBS or needs_a_start(env):
            return start(command, log, env)
        with open(log, "wb", opener=open_private) as file:
            out = file.fileno()
            return Forked(asks, [script, words, str(Path.cwd()), dict(env)], out, out)

    return start_or_fork


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as line:
        _import_all()
        _serve(line)
