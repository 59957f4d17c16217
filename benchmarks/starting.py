"""How soon a process works, and how much memory it takes: a mapper, and the command's help."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import static_site
from benchmarks.common import say
from benchmarks.crawls import POSTS_KINDS, Bench, import_users, ours, settings
from benchmarks.figures import Figure, Scale, take_turns, within
from benchmarks.processes import Wrong, environment, peak_of
from benchmarks.uids import uids
from weibo_crawler.posts.manifest import manifest

_MAPPER = [sys.executable, str(Path("jobs/crawl_posts.py").resolve()), "--step-num=0", "--mapper"]
_NOWHERE = "http://127.0.0.1:1"
_IN_FLIGHT = "64"
_MB = 1e6


def starts(work: Path, scale: Scale) -> Iterator[Figure]:
    """From the start of a process to its first request, or to its end; memory at its most."""
    work.mkdir(parents=True)
    import_users(work, settings(_NOWHERE, "wreq", work), uids(0, 100))
    contenders = {
        "mapper: start to first request": partial(_first_request_s, work),
        "weibo-crawler --help": partial(_help_s, work),
    }
    seconds = take_turns(contenders, scale.starts, "s")
    for name, limit in zip(contenders, (0.6, 0.25), strict=True):
        yield within(name, limit, seconds[name], "s")
    if why := static_site.why_not():
        say(f"memory of a mapper is skipped: {why}")
        return
    with Bench(
        work / "site", users=scale.post_users, mean_posts=scale.mean_posts, kinds=POSTS_KINDS
    ) as bench:
        what = f"mapper: memory at {_IN_FLIGHT} in flight"
        peak = take_turns({what: partial(_peak_mb, bench)}, scale.runs, "MB")
    yield within(what, 150, peak[what], "MB")


def _help_s(folder: Path) -> float:
    started = time.perf_counter()
    if "usage: " not in ours(folder, {}, "--help"):
        raise Wrong("--help helps nobody")
    return time.perf_counter() - started


def _first_request_s(folder: Path) -> float:
    """Until the first bytes of a request come; then the mapper is ended."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        base_url = f"http://127.0.0.1:{server.getsockname()[1]}"
        started = time.perf_counter()
        with _mapper(folder, base_url) as process:
            connection, _ = server.accept()
            is_asked = connection.recv(1) != b""
            seconds = time.perf_counter() - started
            process.kill()
            connection.close()
    if not is_asked:
        raise Wrong("the mapper asked for nothing")
    return seconds


def _peak_mb(bench: Bench) -> float:
    """Of a mapper that visits all users of a site without limits."""
    folder = bench.folder()
    import_users(folder, settings(bench.site.base_url, "wreq", folder), bench.kept)
    with _mapper(folder, bench.site.base_url) as process:
        peak = peak_of(process)
    done = [
        json.loads(line.rpartition("\t")[2])
        for line in (folder / "out").read_text("utf-8").splitlines()
    ]
    if process.returncode or {one["uid"] for one in done} != set(bench.kept):
        raise Wrong("the mapper did not visit everybody")
    return peak / _MB


def _mapper(folder: Path, base_url: str) -> "subprocess.Popen[bytes]":
    """As Hadoop Streaming starts one: all users from stdin, outcomes into the file `out`."""
    env = settings(base_url, "wreq", folder) | {"WEIBO_POSTS__USERS_IN_FLIGHT": _IN_FLIGHT}
    with (folder / "out").open("wb") as out, (folder / "manifest").open("w+b") as lines:
        lines.write(manifest(1).encode())
        lines.seek(0)
        return subprocess.Popen(
            _MAPPER,
            stdin=lines,
            stdout=out,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment(env),
        )
