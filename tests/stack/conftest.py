"""Tests on the real stack. They run under `make test-stack`, which sets WEIBO_STACK_TESTS=1.

The stack of WEIBO_STACK_DIR is started where it does not run, and stopped again only then.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import IN_CI

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ROOT / "stack" / "stack.py"
sys.path.insert(0, str(RUNNER.parent))  # the runner is a program beside the package


class Running(NamedTuple):
    """addresses: what stack.env holds; env: the environment the stack was started with."""

    addresses: dict[str, str]
    env: dict[str, str]

    def run(self, *words: str, text: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, whatever it returns."""
        return subprocess.run(
            words,
            input=text,
            capture_output=True,
            text=True,
            env={**self.env, **env},
            cwd=ROOT,
            timeout=500,
        )

    def schema(self, times: int = 1, **env: str) -> list[str]:
        """Run the schema script so many times, in one shell; the lines it printed."""
        shell = self.addresses["STACK_HBASE"]
        done = self.run(shell, "shell", "-n", text="load 'conf/hbase_schema.rb'\n" * times, **env)
        assert done.returncode == 0, done.stdout + done.stderr
        ours = ("created: ", "exists: ", "differs: ", "schema: ")
        return [line for line in done.stdout.splitlines() if line.startswith(ours)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and "stack" in getattr(
            item, "fixturenames", ()
        ):
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def stack() -> Iterator[Running]:
    if why_not():
        pytest.skip(why_not())
    env = dict(os.environ)
    ran_before = _runner("status", env).returncode == 0
    if not ran_before:
        done = _runner("up", env)
        assert done.returncode == 0, done.stderr
    root = Path(env.get("WEIBO_STACK_DIR") or ROOT / ".stack")
    lines = (root / "stack.env").read_text().splitlines()
    pairs = (line.partition("=") for line in lines)
    yield Running({name: value.strip("'") for name, _, value in pairs}, env)
    if not ran_before:
        assert _runner("down", env).returncode == 0


def _runner(what: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUNNER), what], capture_output=True, text=True, env=env, timeout=500
    )


def why_not() -> str:
    """Why the tests on the stack cannot run here; "" where they can. In CI it is an error that
    `make test-stack` cannot run them."""
    if os.environ.get("WEIBO_STACK_TESTS") != "1":
        return "they run under `make test-stack` (WEIBO_STACK_TESTS=1)"
    missing = [name for name in ("java", "mvn") if shutil.which(name) is None]
    reason = f"not at hand: {', '.join(missing)}" if missing else ""
    if reason and IN_CI:
        raise RuntimeError(f"the tests on the stack must run in CI; {reason}")
    return reason
