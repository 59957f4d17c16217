"""The seen-set at its largest, beside a Bloom filter and a Python set.

`python -m benchmarks.seen KIND USERS` fills one of them and prints a line of JSON, {"bytes": of
memory a user, "us": for a look-up with insertion in the full set, "lost": users who were new and
called known}. Each is a process of its own: memory is what the process grew by.
"""

import argparse
import gc
import importlib.util
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import medians, say
from benchmarks.figures import Figure, Scale, within
from benchmarks.processes import Wrong, resident_bytes, run_module
from benchmarks.uids import uids

_RATE = 1e-7  # of the Bloom filter
_PAGE = 20  # users of a fan page
_MORE = 20  # a look-up is timed with so many times fewer users than the set holds


def _new(kind: str, users: int) -> tuple[Any, Callable[[Sequence[int]], None]]:
    """A set with room for so many, and how several ids are added to it."""
    if kind == "roaring":
        from weibo_crawler.harvest.seen import SeenSet

        return (ours := SeenSet()), ours.add_all
    if kind == "set":
        plain: set[int] = set()
        return plain, plain.update
    from rbloom import Bloom

    return (bloom := Bloom(users, _RATE)), bloom.update


def _fill(seen: Any, add_all: Callable[[Sequence[int]], None], ids: Sequence[int]) -> int:
    """Page by page as a harvest does; returns how many were called known, though all are new."""
    lost = 0
    for at in range(0, len(ids), _PAGE):
        page = ids[at : at + _PAGE]
        new = [uid for uid in page if uid not in seen]
        add_all(new)
        lost += len(page) - len(new)
    return lost


def _measure(kind: str, users: int) -> dict[str, float]:
    known, more = uids(0, users), uids(users, users + users // _MORE)
    gc.collect()
    before = resident_bytes()
    seen, add_all = _new(kind, users)
    lost = 0
    if (
        kind == "roaring"
    ):  # how it was filled shows in its memory; in that of the others it does not
        lost = _fill(seen, add_all, known)
    else:
        add_all(known)
    gc.collect()
    grown = resident_bytes() - before
    started = time.perf_counter()
    lost += _fill(seen, add_all, more)
    seconds = time.perf_counter() - started
    if not all(uid in seen for uid in known[:: users // 1000]):
        raise Wrong(f"{kind} has forgotten somebody")
    return {"bytes": grown / users, "us": 1e6 * seconds / len(more), "lost": lost}


def seen_set(work: Path, scale: Scale) -> Iterator[Figure]:
    """Bytes a user, and microseconds for a look-up with insertion, users in fan pages."""
    if importlib.util.find_spec("rbloom") is None:
        say("seen is skipped: the extra `bench` is not installed")
        return
    kinds = {"seen-set": "roaring", "Bloom filter, rbloom at 1e-7": "bloom", "Python set": "set"}
    found = {}
    for name, kind in kinds.items():
        runs = [
            json.loads(run_module("benchmarks.seen", kind, str(scale.seen)))
            for _ in range(scale.runs if kind == "roaring" else 1)
        ]
        found[name] = medians(runs)
        say(f"{name}: {found[name]}")
    ours = found["seen-set"]
    if ours["lost"]:
        raise Wrong("the seen-set calls new users known")
    what = f"seen-set of {scale.seen:,}"
    yield within(f"{what}: memory", 2.5, ours["bytes"], "bytes a user")
    yield within(f"{what}: look-up with insertion", 1.5, ours["us"], "us")
    for name in list(kinds)[1:]:
        theirs = found[name]
        yield Figure(f"{what}: memory", name, ours["bytes"], theirs["bytes"], "bytes a user")
        yield Figure(f"{what}: look-up with insertion", name, ours["us"], theirs["us"], "us")
        yield Figure(f"{what}: new users called known", name, 0, theirs["lost"], "users")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("roaring", "bloom", "set"))
    parser.add_argument("users", type=int)
    options = parser.parse_args()
    print(json.dumps(_measure(options.kind, options.users)))


if __name__ == "__main__":
    main()
