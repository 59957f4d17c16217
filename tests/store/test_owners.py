"""Whose lease may be taken at once: only that of a process which is known to be gone."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from weibo_crawler.store import owners
from weibo_crawler.store.owners import is_dead, is_here, new_owner

ASLEEP = [sys.executable, "-c", "print(flush=True); import time; time.sleep(600)"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives; killed and awaited at the end."""
    process = subprocess.Popen(ASLEEP, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    with suppress(ProcessLookupError):
        process.kill()
    process.communicate()


def owner(pid: int, **parts: str) -> str:
    """The name of a process of this machine; machine, started: another one's."""
    machine, _, _, nonce = new_owner().split("/")
    started = parts.get("started", owners._started(pid))
    return f"{parts.get('machine', machine)}/{pid}/{started}/{nonce}"


def machine(*, name: str = "", boot: str = "", namespace: str = "") -> str:
    """This machine, with one part of its name changed."""
    own = new_owner().split("/")[0].rsplit("_", 2)
    return "_".join(new or old for new, old in zip((name, boot, namespace), own, strict=True))


def test_this_process_lives() -> None:
    assert not is_dead(new_owner())
    assert is_here(new_owner())
    assert new_owner() != new_owner()


def test_who_ended_is_dead(sleeper: "subprocess.Popen[bytes]") -> None:
    name = owner(sleeper.pid)
    assert not is_dead(name)
    sleeper.kill()
    sleeper.wait()
    assert is_dead(name)


def test_a_zombie_is_dead(sleeper: "subprocess.Popen[bytes]") -> None:
    """It was killed, and nobody has asked for its code yet: it holds no lease any more."""
    name = owner(sleeper.pid)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(name)


def test_a_pid_that_is_used_again_is_another_process(sleeper: "subprocess.Popen[bytes]") -> None:
    assert is_dead(owner(sleeper.pid, started="1"))


def test_a_process_that_may_not_be_asked_is_not_dead(
    sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """It belongs to another user: that it may not be signalled says that it is there."""

    def kill(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr("weibo_crawler.store.owners.os.kill", kill)
    assert not is_dead(owner(sleeper.pid))


@pytest.mark.parametrize(
    ("elsewhere", "dead"),
    [
        (lambda: machine(boot="00000000"), True),  # this machine, before it was started anew
        (lambda: machine(namespace="17"), False),  # another container on it
        (lambda: machine(name="node-7"), False),
        (lambda: machine(name="node-7", boot="00000000"), False),
    ],
)
def test_where_it_ran(elsewhere: Callable[[], str], dead: bool) -> None:
    """A pid says something on the machine, since the boot and in the namespace that gave it."""
    name = owner(2**22 + 1, machine=elsewhere())
    assert is_dead(name) is dead
    assert not is_here(name)


@pytest.mark.parametrize("name", ["", "worker", "a/b/c/d", "a/1/2"])
def test_an_odd_name_is_nobody_who_is_known_to_be_dead(name: str) -> None:
    assert not is_dead(name)
