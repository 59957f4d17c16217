"""The seen-set at its largest, beside a Bloom filter and a Python set.

`python -m benchmarks.seen KIND USERS TURNS` fills one of them and prints a line of JSON, {"bytes":
of memory a user}; then, for each of so many lines of its input, {"us": for a look-up with insertion
in the full set, "lost": users so far who were new and called known}. Each is a process of its own:
memory is what the process grew by. All are filled at the same time, once, and then take turns.
"""

import argparse
import gc
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.common import say
from benchmarks.figures import Figure, Scale, take_turns, within
from benchmarks.processes import Wrong, environment, resident_bytes
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


def _serve(kind: str, users: int, turns: int) -> None:
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
    if not all(uid in seen for uid in known[:: users // 1000]):
        raise Wrong(f"{kind} has forgotten somebody")
    print(json.dumps({"bytes": grown / users}), flush=True)
    part = len(more) // turns
    for at, _ in zip(range(0, len(more), part), sys.stdin, strict=False):
        started = time.perf_counter()
        lost += _fill(seen, add_all, more[at : at + part])
        seconds = time.perf_counter() - started
        print(json.dumps({"us": 1e6 * seconds / part, "lost": lost}), flush=True)


class _Contender:
    """A process that fills one kind of set. A context manager."""

    def __init__(self, kind: str, scale: Scale) -> None:
        command = [sys.executable, "-m", "benchmarks.seen", kind, str(scale.seen), str(scale.runs)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment({}),
        )
        self._kind = kind
        self.lost = 0

    def __enter__(self) -> "_Contender":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def bytes(self) -> float:
        """Of memory a user, when it is filled."""
        return self._answer()["bytes"]

    def us(self) -> float:
        """Microseconds of a look-up with insertion, over some more users."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        answer = self._answer()
        self.lost = int(answer["lost"])
        return answer["us"]

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise Wrong(f"the process of {self._kind} has ended")
        answer: dict[str, float] = json.loads(line)
        return answer


def seen_set(work: Path, scale: Scale) -> Iterator[Figure]:
    """Bytes a user, and microseconds for a look-up with insertion, users in fan pages."""
    if importlib.util.find_spec("rbloom") is None:
        say("seen is skipped: the extra `bench` is not installed")
        return
    kinds = {"seen-set": "roaring", "Bloom filter, rbloom at 1e-7": "bloom", "Python set": "set"}
    with ExitStack() as opened:
        sets = {name: opened.enter_context(_Contender(kind, scale)) for name, kind in kinds.items()}
        memory = {name: each.bytes() for name, each in sets.items()}
        say(f"filled, bytes a user: {memory}")
        us = take_turns({name: each.us for name, each in sets.items()}, scale.runs, "us")
        lost = {name: each.lost for name, each in sets.items()}
    ours, *others = kinds
    if lost[ours]:
        raise Wrong("the seen-set calls new users known")
    what = f"seen-set of {scale.seen:,}"
    yield within(f"{what}: memory", 2.5, memory[ours], "bytes a user")
    yield within(f"{what}: look-up with insertion", 1.5, us[ours], "us")
    for name in others:
        yield Figure(f"{what}: memory", name, memory[ours], memory[name], "bytes a user")
        yield Figure(f"{what}: look-up with insertion", name, us[ours], us[name], "us")
        yield Figure(f"{what}: new users called known", name, 0, lost[name], "users")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("roaring", "bloom", "set"))
    parser.add_argument("users", type=int)
    parser.add_argument("turns", type=int)
    options = parser.parse_args()
    _serve(options.kind, options.users, options.turns)


if __name__ == "__main__":
    main()
