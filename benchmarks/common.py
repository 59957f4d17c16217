"""What all benchmarks share: medians, the machine and versions, progress, tables, results."""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path("benchmarks/results")
_PACKAGES = ("weibo-hadoop", "wreq", "requests", "msgspec", "aiohttp")
_STARTED = time.perf_counter()


def say(text: str) -> None:
    """One line of progress, on stderr."""
    print(f"[{time.perf_counter() - _STARTED:5.0f} s] {text}", file=sys.stderr, flush=True)


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each figure the median over the runs, which name the same figures."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def spread(runs: Sequence[Mapping[str, float]], name: str) -> tuple[float, float]:
    """The least and the most of a figure."""
    return min(run[name] for run in runs), max(run[name] for run in runs)


def machine() -> dict[str, str]:
    """What the figures were measured on, without its name."""
    packages = {name: _version(name) for name in _PACKAGES}
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
    } | packages


def described(facts: Mapping[str, str]) -> str:
    """`machine` as a sentence."""
    versions = ", ".join(f"{name} {facts[name]}" for name in _PACKAGES if facts[name] != "none")
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['system']}; "
        f"Python {facts['python']}, {versions}."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_json(file: Path, results: Mapping[str, Any]) -> None:
    """The results of a run, for programs."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_section(file: Path, name: str, text: str) -> None:
    """Put the text between the two marks of that name in a file that has them."""
    marks = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, begin, rest = file.read_text("utf-8").partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise SystemExit(f"{file}: there is no {marks[0].strip()} … {marks[1]}")
    file.write_text(before + begin + text.strip() + "\n" + end + after, encoding="utf-8")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
