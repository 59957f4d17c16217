"""Make each change in a copy of the tree, run its tests, and say which change nobody saw:

    python -m tests.mutants [WORD …]

WORD: only changes whose description or file holds one. The exit code is 1 where one lives, or where
what it changes does not stand there once; 2 where tests fail that see the tree as it is.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.mutants.changes import CHANGES, Change

_ROOT = Path(__file__).resolve().parents[2]
_PARTS = ("weibo_crawler", "jobs", "tests", "benchmarks", "conf", "sqoop", "stack", "docs")
_FILES = ("setup.cfg", "pyproject.toml", "setup.py", "Makefile", "README.md", "CONTRIBUTING.md")
_AT_ONCE = os.cpu_count() or 1
_TAKES_S = 300  # a change may let a test wait for ever
_FAILED = 1  # pytest's code


class Died(NamedTuple):
    """is_dead: a test failed, or none of them came to its end. said: the last line of pytest."""

    is_dead: bool
    said: str


def main(words: Sequence[str]) -> int:
    """The command line."""
    changes = [c for c in CHANGES if not words or any(w in c.breaks + c.file for w in words)]
    with TemporaryDirectory(prefix="mutants-") as folder:
        before = _run(Path(folder) / "as-it-is", None, " ".join(sorted(_tests(changes))))
        if before.is_dead:
            print(f"the tests fail without any change: {before.said}")
            return 2
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            trees = [Path(folder) / str(n) for n in range(len(changes))]
            died = list(threads.map(_judge, trees, changes))
    alive = [change for change, one in zip(changes, died, strict=True) if not one.is_dead]
    print(f"{len(changes)} wrong changes, {len(changes) - len(alive)} were seen")
    for change in alive:
        print(f"LIVES: {change.breaks} ({change.file})")
    return 1 if alive else 0


def _tests(changes: Sequence[Change]) -> set[str]:
    """The paths, without the words of `-k`: those of two changes do not go together."""
    return {test for change in changes for test in change.tests.partition(" -k ")[0].split()}


def _judge(tree: Path, change: Change) -> Died:
    died = _run(tree, change, change.tests)
    print(f"{'seen ' if died.is_dead else 'LIVES'} {change.breaks}: {died.said}", flush=True)
    shutil.rmtree(tree, ignore_errors=True)
    return died


def _run(tree: Path, change: Change | None, tests: str) -> Died:
    """The tests on a copy of the tree with this change."""
    _copy(tree)
    if change is not None:
        file = tree / "weibo_crawler" / change.file
        text = file.read_text("utf-8")
        if text.count(change.was) != 1:
            return Died(False, f"what it changes stands there {text.count(change.was)} times")
        file.write_text(text.replace(change.was, change.becomes), "utf-8")
    more = [] if change is None else ["-x"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more]
    kept = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests.split()],
            cwd=tree,
            env=kept,
            capture_output=True,
            text=True,
            timeout=_TAKES_S if change is not None else None,
        )
    except subprocess.TimeoutExpired:
        return Died(True, f"no end after {_TAKES_S} s")
    lines = (done.stdout + done.stderr).strip().splitlines()
    said = next((line for line in lines if line.startswith(("FAILED ", "ERROR "))), lines[-1])
    return Died(done.returncode == _FAILED or (change is None and done.returncode != 0), said)


def _copy(tree: Path) -> None:
    tree.mkdir()
    for part in _PARTS:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
        shutil.copytree(_ROOT / part, tree / part, ignore=ignored)
    for name in _FILES:
        if (_ROOT / name).exists():
            shutil.copy2(_ROOT / name, tree / name)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
