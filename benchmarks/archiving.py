"""What keeping every answer costs: processor time of whole commands with and without it.

    python -m benchmarks.archiving [--users 2000] [--pairs 3] [--foreign FOLDER]

A world of static pages by another hand (world.py of WEIBO_FOREIGN, ../shared/foreign if unset) is
served by nginx. With and without take turns, so that a busy machine costs both the same; of each
pair the ratio is taken, and of the pairs the median.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.foreign_world import TOOLS, Foreign
from benchmarks.processes import Measured, measured

_WAYS = ("", "gzip", "zstd")  # archive.compression, "" for no archive


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--foreign", type=Path, default=TOOLS)
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
    env = {
        "WEIBO_SITE__BASE_URL": base_url,
        "WEIBO_SITE__VISITOR_URL": "",
        "WEIBO_PACE__REQUESTS_PER_SECOND": "0",
        "WEIBO_POSTS__RANGES": "1",
    }
    if way:
        env |= {"WEIBO_ARCHIVE__FOLDER": "archive", "WEIBO_ARCHIVE__COMPRESSION": way}
    _run(work, env, "seed", *seeds)
    idle_s = _run(work, env, "status").cpu_s
    result = {}
    for stage, words in (("harvest", ["harvest"]), ("posts", ["posts", "--runner", "inline"])):
        if stage == "posts":
            _run(work, env, "import")
        done = _run(work, env, *words)
        sent = json.loads(done.output)["counters"]["request.sent"]
        result[stage] = (done.cpu_s - idle_s) / sent * 1e6
    return result


def _run(work: Path, env: dict[str, str], *words: str) -> Measured:
    return measured([sys.executable, "-m", "weibo_crawler", *words, "--json"], work, env)


if __name__ == "__main__":
    main()
