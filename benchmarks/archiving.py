"""What keeping every answer costs: processor time of whole commands with and without it.

    python -m benchmarks.archiving [--users 2000] [--pairs 3] [--foreign FOLDER]

A world of static pages by another hand (world.py of WEIBO_FOREIGN, ../shared/foreign if unset) is
served by nginx. With and without take turns, so that a busy machine costs both the same; of each
pair the ratio is taken, and of the pairs the median.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.foreign_world import Foreign

_FOREIGN = Path(os.environ.get("WEIBO_FOREIGN") or "../shared/foreign")
_WAYS = ("", "gzip", "zstd")  # archive.compression, "" for no archive


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--foreign", type=Path, default=_FOREIGN)
    options = parser.parse_args()
    spent: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="weibo-archiving-") as name:
        world = Foreign(options.foreign.resolve(), Path(name), options.users)
        with world.served() as (base_url, _):
            for turn in range(options.pairs):
                for way in _WAYS:
                    with tempfile.TemporaryDirectory() as work:
                        for stage, us in _crawl(Path(work), world.seeds, base_url, way).items():
                            spent.setdefault((stage, way), []).append(us)
                print(f"round {turn + 1} of {options.pairs} done", file=sys.stderr)
    _print(spent)


def _print(spent: dict[tuple[str, str], list[float]]) -> None:
    for stage in ("harvest", "posts"):
        without = spent[stage, ""]
        print(f"{stage}: {statistics.median(without):.0f} us a request without an archive")
        for way in _WAYS[1:]:
            ratios = [a / b for a, b in zip(spent[stage, way], without, strict=True)]
            print(
                f"  {way}: {statistics.median(spent[stage, way]):.0f} us, ratio "
                f"{statistics.median(ratios):.3f} (of {min(ratios):.3f} to {max(ratios):.3f})"
            )


def _crawl(work: Path, seeds: list[str], base_url: str, way: str) -> dict[str, float]:
    """Microseconds of processor time a request, by stage, the start of the process aside."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("WEIBO_")}
    env |= {
        "WEIBO_SITE__BASE_URL": base_url,
        "WEIBO_SITE__VISITOR_URL": "",
        "WEIBO_PACE__REQUESTS_PER_SECOND": "0",
        "WEIBO_POSTS__RANGES": "1",
    }
    if way:
        env |= {"WEIBO_ARCHIVE__FOLDER": "archive", "WEIBO_ARCHIVE__COMPRESSION": way}
    _run(work, env, "seed", *seeds)
    idle_s, _ = _run(work, env, "status")
    result = {}
    for stage, words in (("harvest", ["harvest"]), ("posts", ["posts", "--runner", "inline"])):
        if stage == "posts":
            _run(work, env, "import")
        spent_s, said = _run(work, env, *words)
        sent = json.loads(said)["counters"]["request.sent"]
        result[stage] = (spent_s - idle_s) / sent * 1e6
    return result


def _run(work: Path, env: dict[str, str], *words: str) -> tuple[float, str]:
    """Processor seconds of a command and of all that it started, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "weibo_crawler", *words, "--json"]
    env = env | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, cwd=work, env=env, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent_s, done.stdout.decode()


if __name__ == "__main__":
    main()
