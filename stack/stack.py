#!/usr/bin/env python3
"""A real one-machine cluster: MariaDB, HDFS, YARN, job history, HBase and its Thrift server.

    python stack/stack.py up [--nodes N] [--kerberos] | status | down | clean
    python stack/stack.py stop|kill|start NAME...

Needs JDK 17 and Maven; no root, no container. Everything listens on 127.0.0.0/8 and lives in one
folder (settings.py says how to set it and the ports). `up` may be repeated: it starts what does
not run, and where that fails or is interrupted, stops what it started. `down` keeps the data,
`clean` deletes it. One daemon is stopped in order, killed as by a power cut (a node with all that
runs on it), and brought back by its name.
Exit codes: 0 done, 1 something is wrong, 130 interrupted.
"""

import argparse
import fcntl
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import checks
import jars
import processes
import settings
import sharing
import templates
from daemons import Daemon, command, environment, named, of
from settings import Stack, StackError

_START_S = 180.0  # for one daemon; all of them take 20 s on two idle cores
_LOG_LINES = 15


def up(stack: Stack) -> None:
    """Start what does not run and wait until everything serves."""
    began = time.monotonic()
    before = settings.read()
    if stack.nodes != before.nodes:  # each has another share of the memory
        kept = {daemon.name for daemon in of(stack) if daemon.kind != "node"}
        for daemon in [each for each in of(before) if each.name not in kept]:
            _stop(before, daemon)
    settings.keep(stack)
    starting = [daemon for daemon in of(stack) if processes.running(stack, daemon.name) is None]
    _start(stack, starting, of(stack))
    _say(f"all {len(of(stack))} daemons serve, after {time.monotonic() - began:.0f} s")
    _share_classes(stack, checks.java_home())
    _say_addresses(stack, checks.java_home())


def _share_classes(stack: Stack, java_home: Path) -> None:
    """Once for all stacks of this account: without it all goes, and takes longer to start."""
    if stack.kerberos or not sharing.missing(stack, java_home):
        return
    _say("making archives of classes, for starts in less time: once, about two minutes")
    try:
        sharing.make(stack, java_home, templates.addresses(stack, java_home))
    except StackError as error:
        _say(f"going on without archives of classes: {error}", sys.stderr)
    templates.write(stack, java_home)


def start(stack: Stack, names: Sequence[str]) -> None:
    """Start these daemons, where they do not run, and wait until they serve."""
    wanted = [named(stack, name) for name in names]
    starting = [each for each in wanted if processes.running(stack, each.name) is None]
    _start(stack, starting, wanted)
    _say(f"{', '.join(names)}: serving")


def stop(stack: Stack, names: Sequence[str]) -> None:
    """Stop these daemons in order. A node ends what runs on it."""
    for daemon in [named(stack, name) for name in names]:
        if not _stop(stack, daemon):
            _say(f"{daemon.name} does not run")


def kill(stack: Stack, names: Sequence[str]) -> None:
    """End these daemons as a power cut does, without a word; a node with all that runs on it."""
    for daemon in [named(stack, name) for name in names]:
        left = processes.kill(stack, daemon.name)
        _say(f"{daemon.name}: killed {left} processes" if left else f"{daemon.name} does not run")


def _start(stack: Stack, starting: Sequence[Daemon], awaited: Sequence[Daemon]) -> None:
    """Start the ones, and wait until all the others serve. Where that fails nothing of it stays."""
    java_home = checks.java_home()
    checks.before_start(stack, starting)
    for name in jars.missing(stack):
        _say(f"fetching the jars of {name} from Maven Central into {stack.cache}")
        jars.fetch(stack, name)
    templates.write(stack, java_home)
    _say(f"logs are in {stack.logs}")
    try:
        _start_all(stack, starting, awaited, java_home)
    except BaseException:
        with processes.undisturbed():
            _say("stopping what was started")
            for daemon in reversed(starting):
                processes.stop(stack, daemon.name, daemon.stop_s)
        raise


def status(stack: Stack) -> bool:
    """Say of each daemon whether it serves; True where all do."""
    all_serve = True
    for daemon in of(stack):
        pid = processes.running(stack, daemon.name)
        serves = pid is not None and _serves(stack, daemon)
        state = "serves" if serves else "is not running" if pid is None else "does not answer"
        ports = ", ".join(str(stack.ports[port]) for port in daemon.ports)
        number = "" if pid is None else f", process {pid}"
        _say(f"{daemon.what} {state} (port {ports}{number}; {stack.log(daemon.name)})")
        all_serve = all_serve and serves
    return all_serve


def down(stack: Stack) -> None:
    """Stop everything that was started here, and nothing else. Data stays."""
    for daemon in reversed(of(stack)):
        _stop(stack, daemon)
    left = processes.kill_marked(stack)
    _say(f"nothing of it runs any more; killed {left} that were left over" if left else "all down")


def _stop(stack: Stack, daemon: Daemon) -> bool:
    """Whether it ran."""
    done = processes.stop(stack, daemon.name, daemon.stop_s)
    if done is not None:
        _say(f"{daemon.what} {done}")
    return done is not None


def clean(stack: Stack) -> None:
    """Stop everything and delete the folder of the stack."""
    if not stack.root.exists():
        _say(f"there is no {stack.root}")
        return
    if not (stack.run / "mark").exists():
        raise StackError(f"{stack.root} was not made by this program: it is left as it is")
    down(stack)
    templates.remove(stack)
    _say(f"deleted {stack.root}; the jars stay in {stack.cache}")


def _start_all(
    stack: Stack, starting: Sequence[Daemon], awaited: Sequence[Daemon], java_home: Path
) -> None:
    started = [daemon for daemon in awaited if daemon not in starting]
    served: set[str] = set()
    for daemon in starting:
        for name in daemon.after:
            _wait(stack, named(stack, name), started, served)
        _say(f"starting {daemon.what}")
        words = command(stack, daemon, java_home)
        processes.start(stack, daemon.name, words, environment(stack, java_home))
        started.append(daemon)
    for daemon in awaited:
        _wait(stack, daemon, started, served)


def _wait(stack: Stack, daemon: Daemon, started: Sequence[Daemon], served: set[str]) -> None:
    """Until the daemon serves. StackError with the end of a log: this or another one died, or it
    took too long."""
    deadline = time.monotonic() + _START_S
    while daemon.name not in served:
        for each in started:
            if processes.running(stack, each.name) is None:
                raise StackError(_with_log(stack, each, "died while the stack started"))
        if _serves(stack, daemon):
            served.add(daemon.name)
        elif time.monotonic() > deadline:
            raise StackError(_with_log(stack, daemon, f"does not serve after {_START_S:.0f} s"))
        else:
            time.sleep(0.25)


def _serves(stack: Stack, daemon: Daemon) -> bool:
    try:
        return daemon.ready(stack)
    except (OSError, ValueError, LookupError):  # not there yet, or an answer of half a server
        return False


def _with_log(stack: Stack, daemon: Daemon, trouble: str) -> str:
    log = stack.log(daemon.name)
    with log.open(errors="replace") as file:
        last = deque(file, _LOG_LINES)
    return f"{daemon.what} {trouble}; the end of {log}:\n" + "".join(f"  {line}" for line in last)


def _say_addresses(stack: Stack, java_home: Path) -> None:
    for daemon in of(stack):
        if daemon.page:
            _say(f"web page of {daemon.what}: http://127.0.0.1:{stack.ports[daemon.page]}/")
    where = templates.addresses(stack, java_home)
    _say(f"users: {where['STACK_MYSQL']}, password in {where['STACK_MYSQL_PASSWORD_FILE']}")
    _say(f"tables: {where['STACK_TABLES']}")
    _say(f"commands: {stack.bin}/hadoop, hbase, sqoop; addresses: {stack.root / 'stack.env'}")


@contextmanager
def _alone(stack: Stack) -> Iterator[None]:
    """One `up`, `down` or `clean` at a time. The lock lies beside the folder: clean deletes it."""
    stack.root.parent.mkdir(parents=True, exist_ok=True)
    with stack.root.with_name(stack.root.name + ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackError("another stack command is at work here: wait for it") from None
        yield


def _say(text: str, stream: TextIO = sys.stdout) -> None:
    try:
        print(f"stack: {text}", file=stream, flush=True)
    except BrokenPipeError:  # `up | head`: nobody listens any more, and the work goes on
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main() -> int:
    parser = argparse.ArgumentParser(prog="stack.py", description=__doc__.partition("\n")[0])
    alone = {"up": up, "down": down, "clean": clean}
    by_name = {"start": start, "stop": stop, "kill": kill}
    parser.add_argument("what", choices=[*alone, "status", *by_name])
    parser.add_argument("names", nargs="*", help="of daemons, for start, stop and kill")
    parser.add_argument("--nodes", type=int, help="for up: 1 to 8; as before, at first 1")
    parser.add_argument("--kerberos", action="store_true", help="for a first up: with a KDC")
    options = parser.parse_args()
    what, names = options.what, options.names
    for_up = options.nodes is not None or options.kerberos
    if bool(names) is not (what in by_name) or (for_up and what != "up"):
        parser.error("names are for start, stop and kill, --nodes and --kerberos for up")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        stack = settings.read(nodes=options.nodes, kerberos=options.kerberos)
        if what == "status":
            return 0 if status(stack) else 1
        with _alone(stack):
            if what in by_name:
                by_name[what](stack, names)
            else:
                alone[what](stack)
    except (StackError, OSError) as error:  # OSError: a folder that cannot be written, a full disk
        for line in str(error).splitlines():
            _say(line, sys.stderr)
        return 1
    except KeyboardInterrupt:
        _say("interrupted", sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
