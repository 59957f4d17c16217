"""The runner without daemons: settings, pid files, ports, and what is refused before a start."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stack import conftest

import checks  # isort: skip
import daemons  # isort: skip
import processes  # isort: skip
import settings  # isort: skip
import sharing  # isort: skip
import templates  # isort: skip

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[settings.Stack]:
    made = settings.read({"WEIBO_STACK_DIR": str(tmp_path / "s")})
    made.logs.mkdir(parents=True)
    made.run.mkdir()
    yield made
    processes.kill_marked(made)


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is none of the stack's."""
    with subprocess.Popen(SLEEP) as process:
        yield process
        process.kill()


def wait_for_output(stack: settings.Stack) -> None:
    """Until `one` has printed something."""
    while not stack.log("one").read_text():
        time.sleep(0.01)


def test_a_port_is_a_setting() -> None:
    """A variable moves its port and no other."""
    ports = settings.read({"WEIBO_STACK_PORT_THRIFT": "19090"}).ports
    assert ports == {**settings.PORTS, "thrift": 19090}


@pytest.mark.parametrize(("value", "is_optimized"), [("", True), ("yes", True), ("no", False)])
def test_hbase_is_optimized_unless_told(tmp_path: Path, value: str, is_optimized: bool) -> None:
    """A setting takes the optimizing compiler from HBase; Hadoop's daemons have none."""
    stack = settings.read({"WEIBO_STACK_DIR": str(tmp_path / "s"), "WEIBO_STACK_OPTIMIZES": value})
    (tmp_path / "release").touch()
    for kind, has_it in (("hbase", is_optimized), ("hadoop", False)):
        assert ("-XX:TieredStopAtLevel=1" in daemons._java(stack, tmp_path, kind)) is not has_it


@pytest.mark.parametrize(
    "environ",
    [
        {"WEIBO_STACK_PORT_TRIFT": "19090"},
        {"WEIBO_STACK_PORT_THRIFT": "80"},
        {"WEIBO_STACK_PORT_THRIFT": "x"},
        {"WEIBO_STACK_PORT_THRIFT": "3307"},
        {"WEIBO_STACK_MARIADB": "docker"},
        {"WEIBO_STACK_OPTIMIZES": "perhaps"},
        {"WEIBO_STACK_DIR": "/tmp/a b"},
        {"WEIBO_STACK_DIR": "/tmp/a:b"},
    ],
)
def test_a_wrong_setting_is_refused(environ: dict[str, str]) -> None:
    """An unknown name, a port out of range or given twice, a path no class path can hold."""
    with pytest.raises(settings.StackError):
        settings.read(environ)


@given(st.dictionaries(st.from_regex(r"[a-z_.]+", fullmatch=True), st.text()), st.text())
def test_a_template_is_filled_once(values: dict[str, str], other: str) -> None:
    """Each name is replaced by its value, which is not read again; other text stays."""
    other = other.replace("@", "")
    template = other.join(f"@{name}@" for name in values)
    assert templates.fill(template, values) == other.join(values.values())


def test_an_unknown_name_in_a_template_is_an_error() -> None:
    """A misspelt placeholder never reaches a daemon."""
    with pytest.raises(KeyError):
        templates.fill("x @port.trift@", {"port.thrift": "9090"})


def test_what_was_started_runs_and_stops(stack: settings.Stack) -> None:
    """start, running and stop agree; stopping twice is nothing."""
    pid = processes.start(stack, "one", SLEEP, {})
    assert processes.running(stack, "one") == pid
    assert processes.stop(stack, "one", 10) == "stopped"
    assert processes.running(stack, "one") is None
    assert processes.stop(stack, "one", 10) is None


def test_a_pid_of_another_program_is_left_alone(
    stack: settings.Stack, other: subprocess.Popen[bytes]
) -> None:
    """A pid file whose start time is not that of the process names nobody: nothing is stopped."""
    file = stack.run / "one.pid"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    file.write_text(json.dumps({"pid": other.pid, "ticks": 1, "boot": boot}))
    assert processes.running(stack, "one") is None
    assert processes.stop(stack, "one", 1) is None
    assert other.poll() is None


def test_what_was_left_over_is_found_by_its_mark(
    stack: settings.Stack, other: subprocess.Popen[bytes]
) -> None:
    """A process of the stack whose pid file is lost is killed; one without the mark is not."""
    processes.start(stack, "one", [*SLEEP[:2], f"print(1, flush=True); {SLEEP[2]}"], {})
    wait_for_output(stack)  # its environment cannot be read before its program is loaded
    (stack.run / "one.pid").unlink()
    assert processes.kill_marked(stack) == 1
    assert other.poll() is None


def test_a_stubborn_daemon_is_killed(stack: settings.Stack) -> None:
    """SIGTERM that is ignored is followed by SIGKILL, and said so."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    processes.start(stack, "one", [sys.executable, "-c", f"{code}; time.sleep(600)"], {})
    wait_for_output(stack)
    assert str(processes.stop(stack, "one", 0.2)).startswith("killed")
    assert processes.running(stack, "one") is None


def test_a_port_in_use_is_said_before_a_start(stack: settings.Stack) -> None:
    """The error names the port, who wanted it and the setting that moves it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        moved = settings.read(
            {"WEIBO_STACK_DIR": str(stack.root), "WEIBO_STACK_PORT_THRIFT": str(port)}
        )
        thrift = [daemon for daemon in daemons.of(stack) if daemon.name == "thrift"]
        with pytest.raises(settings.StackError, match=rf"{port}.*Thrift[\s\S]*PORT_THRIFT"):
            checks.before_start(moved, thrift)


def test_a_node_has_an_address_of_its_own(tmp_path: Path) -> None:
    """All nodes have the same ports, each on its address; no two daemons share a port on one. With
    several nodes HBase has a second region server."""
    environ = {"WEIBO_STACK_DIR": str(tmp_path)}
    one, eight = (daemons.of(settings.read(environ, nodes=n)) for n in (1, 8))
    assert [each.name for each in one if each.kind == "node"] == ["node1"]
    nodes = {each.name: each for each in eight if each.kind == "node"}
    assert {name: each.address for name, each in nodes.items()} == {
        f"node{n}": f"127.0.0.{n + 1}" for n in range(1, 9)
    }
    assert "stack.address=127.0.0.4" in nodes["node3"].properties
    assert {each.name for each in eight} - {each.name for each in one} == {
        *(f"node{n}" for n in range(2, 9)),
        "regionserver2",
    }
    assert eight == daemons.of(settings.read(environ, nodes=8))
    listening = [(each.address, port) for each in eight for port in each.ports]
    assert len(set(listening)) == len(listening)


def test_a_stack_is_made_with_kerberos_or_without(tmp_path: Path) -> None:
    """The commands after the first `up` need not say it, and it does not change."""
    with_, without = ({"WEIBO_STACK_DIR": str(tmp_path / name)} for name in ("with", "without"))
    settings.keep(settings.read(with_, kerberos=True))
    assert settings.read(with_).kerberos
    assert daemons.of(settings.read(with_))[0].name == "kdc"
    settings.keep(settings.read(without))
    assert "kdc" not in [each.name for each in daemons.of(settings.read(without))]
    with pytest.raises(settings.StackError, match="made without Kerberos"):
        settings.read(without, kerberos=True)


def test_the_stack_remembers_its_nodes(tmp_path: Path) -> None:
    """`up` says how many; the commands after it need not, and at first there is one."""
    environ = {"WEIBO_STACK_DIR": str(tmp_path)}
    assert settings.read(environ).nodes == 1
    settings.keep(settings.read(environ, nodes=3))
    assert settings.read(environ).nodes == 3
    for wrong in (0, 9):
        with pytest.raises(settings.StackError, match="1 to 8 nodes"):
            settings.read(environ, nodes=wrong)


def test_eight_nodes_go_into_12_gb(tmp_path: Path) -> None:
    """Daemons as they are when idle, and what containers may take of such a machine; a node has
    room for a job's master and a map beside it."""
    stack = settings.read({"WEIBO_STACK_DIR": str(tmp_path)}, nodes=8)
    idle_mb = sum(daemon.memory_mb for daemon in daemons.of(stack))
    node_mb = templates.node_memory_mb(6144, 8)
    assert idle_mb + 6144 <= 12 * 1024
    assert node_mb >= 512 + 256
    assert templates.node_memory_mb(6144, 1) == 3072


def test_an_unknown_daemon_is_told_with_those_that_there_are(stack: settings.Stack) -> None:
    """A stack of one node has no second one."""
    with pytest.raises(settings.StackError, match=r"has no node2; it has mariadb, .*node1"):
        daemons.named(stack, "node2")


def test_an_archive_of_classes_is_used_where_there_is_one(tmp_path: Path) -> None:
    """Until it is made, a JVM writes down what it loads; another JDK is another archive."""
    made = settings.read({"WEIBO_STACK_DIR": str(tmp_path / "s"), "XDG_CACHE_HOME": str(tmp_path)})
    java = tmp_path / "java"
    java.mkdir()
    (java / "release").write_text("17.0.1")
    assert sharing.missing(made, java) == list(sharing.KINDS)
    said = sharing.flag(made, java, "hadoop")
    assert said.startswith(f"-XX:DumpLoadedClassList={tmp_path}/s/run/")
    assert Path(said.partition("=")[2]).parent.is_dir()
    archive = sharing.archive(made, java, "hadoop")
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert sharing.flag(made, java, "hadoop") == f"-XX:SharedArchiveFile={archive}"
    assert sharing.missing(made, java) == ["hbase", "sqoop"]
    (java / "release").write_text("17.0.2")
    assert sharing.missing(made, java) == list(sharing.KINDS)


def test_what_runs_on_a_node_dies_with_it(stack: settings.Stack) -> None:
    """`kill` ends a node and its containers, and leaves those of others."""
    said = [*SLEEP[:2], f"print(1, flush=True); {SLEEP[2]}"]
    for name, node in (("one", "one"), ("inside", "one"), ("other", "two")):
        processes.start(stack, name, said, {processes.NODE: node})
        while not stack.log(name).read_text():
            time.sleep(0.01)
    assert processes.kill(stack, "one") == 2
    while processes.running(stack, "inside") is not None:  # until the signal has arrived
        time.sleep(0.01)
    assert processes.running(stack, "one") is None
    assert processes.running(stack, "other") is not None


def test_names_are_for_some_commands_only(tmp_path: Path) -> None:
    """`down node1` and `stop` alone are usage errors, before anything is done."""
    for words in (["down", "node1"], ["stop"], ["status", "--nodes", "2"]):
        done = subprocess.run(
            [sys.executable, str(conftest.RUNNER), *words],
            env={"WEIBO_STACK_DIR": str(tmp_path / "s")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2, words
        assert "names are for start, stop and kill" in done.stderr


def test_a_wrong_java_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version than 17 is refused, with its number and the remedy."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"25.0.1\" 2025-10-21' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(settings.StackError, match=r"Java 25.*JDK 17"):
        checks.java_home()


def test_too_little_memory_is_said(
    stack: settings.Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both figures are named."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 900000 kB\nMemAvailable:  512000 kB\n")
    monkeypatch.setattr(checks, "_MEMORY", meminfo)
    with pytest.raises(settings.StackError, match="MB of memory are needed, 500 MB are free"):
        checks.before_start(stack, daemons.of(stack))


def test_too_little_disk_is_said(stack: settings.Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both figures and the folder are named."""
    monkeypatch.setattr(checks, "_DISK_MB", 10**9)
    with pytest.raises(
        settings.StackError, match=rf"{10**9} MB of disk are needed for {stack.root}"
    ):
        checks.before_start(stack, daemons.of(stack))


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """One line, no traceback."""
    (tmp_path / "file").write_text("x")
    done = subprocess.run(
        [sys.executable, str(conftest.RUNNER), "up"],
        env={**os.environ, "WEIBO_STACK_DIR": str(tmp_path / "file" / "s")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert str(tmp_path / "file") in done.stderr


def test_clean_leaves_a_folder_that_is_not_a_stack(tmp_path: Path) -> None:
    """A folder that this program did not make is never deleted."""
    (tmp_path / "mine.txt").write_text("x")
    done = subprocess.run(
        [sys.executable, str(conftest.RUNNER), "clean"],
        env={"WEIBO_STACK_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert (tmp_path / "mine.txt").exists()


def test_in_ci_the_tests_on_the_stack_must_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java and Maven they are skipped, with the reason; in CI that is an error."""
    monkeypatch.setenv("WEIBO_STACK_TESTS", "1")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(conftest, "IN_CI", False)
    assert conftest.why_not() == "not at hand: java, mvn"
    monkeypatch.setattr(conftest, "IN_CI", True)
    with pytest.raises(RuntimeError, match="must run in CI; not at hand: java, mvn"):
        conftest.why_not()
