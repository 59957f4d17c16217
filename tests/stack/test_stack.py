"""The real stack: what listens where, the schema script, and how it is started and stopped. The
last part does so with a second stack on ports of its own, with MariaDB from Maven."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import happybase
import pymysql
import pytest

from tests.ports import free_port
from tests.stack.conftest import RUNNER, Running, why_not

import daemons  # isort: skip
import processes  # isort: skip
import settings  # isort: skip

if why_not():
    pytest.skip(why_not(), allow_module_level=True)


def test_everything_listens_on_loopback_only(stack: Running) -> None:
    """No daemon of the stack listens on an address that others can reach."""
    lines = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    marks = [f"pid={pid}," for pid in _pids(stack.env).values()]
    ours = [line.split()[3] for line in lines.splitlines() if any(mark in line for mark in marks)]
    assert len(ours) >= len(daemons.of(settings.read(stack.env)))
    assert [address for address in ours if "127.0.0." not in address] == []


def test_the_schema_script_may_be_repeated(stack: Running) -> None:
    """The second run creates nothing and finds no difference, whatever was chosen."""
    chosen = {"REGIONS": "4", "COMPRESSION": "none", "ENCODING": "fast_diff"}
    variables = {f"WEIBO_TABLE_{name}": value for name, value in chosen.items()}
    variables["WEIBO_KEEP_VERSIONS"] = "7"
    said = stack.schema(times=2, WEIBO_TABLE_PREFIX="twice", **variables)
    assert said[0] == "created: twice_userlist, 4 regions"
    assert said[-5:] == [
        "exists: twice_userlist",
        "exists: twice_posts",
        "exists: twice_comments",
        "exists: twice_reposts",
        "schema: as it should be",
    ]
    host, _, port = stack.addresses["STACK_TABLES"].removeprefix("hbase://").partition(":")
    connection = happybase.Connection(host, int(port))
    assert len(connection.table("twice_posts").regions()) == 4
    assert connection.table("twice_posts").families()[b"post"]["compression"] == b"NONE"
    assert connection.table("twice_posts").families()[b"count"]["max_versions"] == 7
    for name in ("twice_userlist", "twice_posts", "twice_comments", "twice_reposts"):
        connection.delete_table(name, disable=True)
    connection.close()


def test_the_password_file_is_for_its_owner_alone(stack: Running) -> None:
    """Mode 0400 and no newline, as Sqoop wants it."""
    file = Path(stack.addresses["STACK_MYSQL_PASSWORD_FILE"])
    assert file.stat().st_mode & 0o777 == 0o400
    assert not file.read_bytes().endswith(b"\n")


# -- a second stack


def _environ(folder: Path) -> dict[str, str]:
    """Of a stack in this folder, on ports that are free. Where those of CI are not optimized, it is
    not, too."""
    kept = os.environ.get("WEIBO_STACK_OPTIMIZES")
    env = {name: value for name, value in os.environ.items() if "WEIBO_STACK_" not in name}
    env |= {} if kept is None else {"WEIBO_STACK_OPTIMIZES": kept}
    env |= {"WEIBO_STACK_DIR": str(folder), "WEIBO_STACK_MARIADB": "maven"}
    free: set[int] = set()
    while len(free) < len(settings.PORTS):
        free.add(free_port())
    for name, port in zip(settings.PORTS, free, strict=True):
        env[f"WEIBO_STACK_PORT_{name.upper()}"] = str(port)
    return env


def _stack_py(what: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUNNER), *what.split()]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=400)


def _pids(env: dict[str, str]) -> dict[str, int | None]:
    stack = settings.read(env)
    return {each.name: processes.running(stack, each.name) for each in daemons.of(stack)}


def _nothing_runs(env: dict[str, str]) -> bool:
    stack = settings.read(env)
    return not any(_pids(env).values()) and processes.kill_marked(stack) == 0


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a stack that a test does not let come up."""
    env = _environ(tmp_path / "s")
    yield env
    _stack_py("down", env)


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """With two nodes. It is started as `up | head -1`: its reader leaves after the first line."""
    env = _environ(tmp_path_factory.mktemp("second") / "s")
    up = f"{sys.executable} {RUNNER} up --nodes 2 | head -n 1"
    done = subprocess.run(["sh", "-c", up], env=env, capture_output=True, text=True, timeout=400)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    yield env
    assert _stack_py("clean", env).returncode == 0
    assert not Path(env["WEIBO_STACK_DIR"]).exists()


@pytest.mark.timeout(300)
def test_a_daemon_that_dies_is_named(failing: dict[str, str]) -> None:
    """A start with broken data says whose it is and shows the end of its log; what was started is
    stopped again."""
    broken = Path(failing["WEIBO_STACK_DIR"]) / "data" / "mariadb"
    broken.mkdir(parents=True)
    (broken / "ibdata1").write_text("no tablespace")
    done = _stack_py("up", failing)
    assert done.returncode == 1
    assert "MariaDB died while the stack started; the end of" in done.stderr
    assert done.stderr.endswith("[ERROR] Aborting\n")
    assert "Traceback" not in done.stderr
    assert _nothing_runs(failing)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_start_leaves_nothing(failing: dict[str, str], number: int) -> None:
    """Ctrl-C or SIGTERM in the middle of `up`: all that was started is stopped, exit code 130."""
    command = [sys.executable, str(RUNNER), "up"]
    with subprocess.Popen(command, env=failing, stderr=subprocess.PIPE, text=True) as up:
        while up.poll() is None and _pids(failing)["namenode"] is None:
            time.sleep(0.02)
        os.kill(up.pid, number)
        _, said = up.communicate(timeout=120)
    assert (up.returncode, said) == (130, "stack: interrupted\n")
    assert _nothing_runs(failing)


@pytest.mark.timeout(400)
def test_a_start_goes_on_without_its_reader(second: dict[str, str]) -> None:
    """After `up | head -1` everything serves."""
    done = _stack_py("status", second)
    assert (done.returncode, done.stdout.count(" serves ")) == (0, len(_pids(second)))
    assert all(f"{name}, a YARN NodeManager on" in done.stdout for name in ("node1", "node2"))


@pytest.mark.timeout(400)
def test_mariadb_of_maven_serves(second: dict[str, str]) -> None:
    """On a machine without a mariadbd the jar's is used, for loopback, with our account."""
    password = Path(second["WEIBO_STACK_DIR"], "secrets/mariadb_password").read_text()
    port = int(second["WEIBO_STACK_PORT_MARIADB"])
    connection = pymysql.connect(host="127.0.0.1", port=port, user="weibo", password=password)
    with connection, connection.cursor() as cursor:
        assert cursor.execute("SHOW DATABASES LIKE 'weibo'") == 1
    server = Path(f"/proc/{_pids(second)['mariadb']}/exe").resolve()
    assert server.is_relative_to(settings.read(second).cache)


@pytest.mark.timeout(400)
def test_up_starts_only_what_does_not_run(second: dict[str, str]) -> None:
    """A second `up` changes nothing; after a kill -9 it starts that one daemon again, which maps
    classes that are parsed already: the first `up` has left archives of them."""
    before = _pids(second)
    assert _stack_py("up", second).returncode == 0
    assert _pids(second) == before
    os.kill(before["thrift"] or 0, signal.SIGKILL)
    assert _stack_py("status", second).returncode == 1
    done = _stack_py("up", second)
    assert done.returncode == 0, done.stderr
    after = _pids(second)
    assert [name for name in after if after[name] != before[name]] == ["thrift"]
    assert ".jsa" in Path(f"/proc/{after['thrift']}/maps").read_text()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_one_node_is_ended_and_brought_back_by_name(second: dict[str, str], end: str) -> None:
    """Nothing else is touched; `status` names the one that is missing."""
    before = _pids(second)
    assert _stack_py(f"{end} node2", second).returncode == 0
    assert [name for name, pid in _pids(second).items() if pid is None] == ["node2"]
    done = _stack_py("status", second)
    assert done.returncode == 1
    assert "node2, a YARN NodeManager on 127.0.0.3, is not running" in done.stdout
    done = _stack_py("start node2", second)
    assert done.returncode == 0, done.stderr
    after = _pids(second)
    assert [name for name in after if after[name] != before[name]] == ["node2"]
    assert _stack_py("status", second).returncode == 0


@pytest.mark.timeout(400)
def test_down_stops_what_was_started_here_only(second: dict[str, str], stack: Running) -> None:
    """Nothing of the second stack runs any more, all of the first does."""
    first = _pids(stack.env)
    done = _stack_py("down", second)
    assert done.returncode == 0, done.stderr
    assert _nothing_runs(second)
    assert _pids(stack.env) == first
    assert all(first.values())
