"""What CI does not let pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest
def test_one(): pass
def test_two(): pytest.skip("no reason")
@pytest.mark.skipif(True, reason="root may write anywhere")
def test_three(): pass
"""
MODULE = """
import pytest
pytest.skip("not here", allow_module_level=True)
"""


@pytest.mark.parametrize(
    ("ci", "workers", "code"), [("true", "0", 1), ("true", "1", 1), ("", "0", 0)]
)
def test_in_ci_a_test_without_a_good_reason_must_run(
    tmp_path: Path, ci: str, workers: str, code: int
) -> None:
    """A skipped test, and a module that skips itself, is named with its reason and fails the run,
    whoever runs it; by hand they do not. A reason on the list never does."""
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", workers]
    done = subprocess.run(
        [*command, "--rootdir", tmp_path, tmp_path],
        env={**os.environ, "CI": ci, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
    wrong = [line for line in done.stdout.splitlines() if "which fails in CI: " in line]
    told = {line.rpartition("test_")[2] for line in wrong}
    assert told == ({"two: no reason", "module.py: not here"} if ci else set())
