"""A foreign world, its servers, and a crawl of it from outside."""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.cli.crawls import Crawl
from tests.ports import free_port

USERS = 200
_UP_S = 20.0


class World:
    """A folder that world.py built. truth: what a right crawl of it must hold."""

    def __init__(self, tools: Path, folder: Path) -> None:
        self.tools, self.folder = tools, folder
        self.truth: dict[str, Any] = json.loads((folder / "truth.json").read_text("utf-8"))
        self.seeds = [str(uid) for uid in self.truth["seeds"]]

    def compare(self, crawl: Crawl) -> dict[str, int]:
        """The differences that compare.py finds between what `scan` prints and the truth."""
        for what in ("users", "posts"):
            rows = crawl.run("scan", what, "--format", "jsonl").stdout
            (crawl.folder / f"{what}.jsonl").write_text(rows, "utf-8")
        command = [sys.executable, str(self.tools / "compare.py"), str(self.folder / "truth.json")]
        command += [str(crawl.folder / name) for name in ("users.jsonl", "posts.jsonl")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        said: dict[str, int] = json.loads(done.stdout[: done.stdout.rindex("}") + 1])
        assert said["users"] or said.get("users_missing")
        return {name: n for name, n in said.items() if n and name not in ("users", "posts")}


def build(tools: Path, folder: Path, *options: str, seed: int = 7, users: int = USERS) -> World:
    """Relative dates of its posts are meant from this moment."""
    command = [sys.executable, str(tools / "world.py"), "build", "--out", str(folder)]
    command += ["--users", str(users), "--seed", str(seed), *options]
    env = {**os.environ, "WORLD_NOW": str(int(time.time()))}
    subprocess.run(command, check=True, capture_output=True, timeout=100 + users / 10, env=env)
    return World(tools, folder)


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that nginx may read, which gives up the rights of root; pytest's are closed."""
    with tempfile.TemporaryDirectory(prefix="weibo-foreign-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def served_by_nginx(world: World) -> Iterator[int]:
    """The port where nginx serves the files of the world; its log is the file `log` beside them,
    complete when this has ended."""
    port = free_port()
    tool = [sys.executable, str(world.tools / "world.py")]
    place = ["--data", str(world.folder)]
    env = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    words = ["serve", *place, "--port", str(port), "--log", str(world.folder / "log")]
    subprocess.run([*tool, *words], check=True, timeout=30, env=env)
    try:
        yield port
    finally:
        pid = Path(f"/proc/{(world.folder / 'nginx.pid').read_text('utf-8').strip()}")
        subprocess.run([*tool, "stop", *place], check=True, timeout=30)
        while pid.exists():  # its last lines are written when it ends
            time.sleep(0.05)


@contextmanager
def started(*command: str, ready: str = "") -> Iterator[None]:
    """A server of its own process until the block ends. ready: an address that it answers then."""
    with tempfile.TemporaryFile("w+") as output:  # a pipe that nobody reads would stop it
        process = subprocess.Popen([sys.executable, *command], stdout=output, stderr=output)
        try:
            if ready and not _answers(ready, process):
                output.seek(0)
                raise AssertionError(f"{command} does not answer at {ready}\n{output.read()}")
            yield
        finally:
            process.kill()
            process.wait()


def _answers(url: str, process: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + _UP_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return True
        time.sleep(0.05)
    return False


@contextmanager
def site(world: World, *options: str) -> Iterator[int]:
    """The port where site.py serves the world."""
    port = free_port()
    command = [str(world.tools / "site.py"), str(world.folder), "--port", str(port), *options]
    with started(*command, ready=f"http://127.0.0.1:{port}/__stats__"):
        yield port


def stats(port: int) -> dict[str, int]:
    """What site.py answered so far, by kind."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/__stats__", timeout=10) as answer:
        counted: dict[str, int] = json.load(answer)
    return counted


@contextmanager
def crawl_of(folder: Path, port: int, *, guest: bool = False, **env: str) -> Iterator[Crawl]:
    """A working folder whose settings name the site at this port; waits are short."""
    folder.mkdir(parents=True, exist_ok=True)
    base = f"http://127.0.0.1:{port}"
    crawl = Crawl(folder, base, f"{base}/visitor/genvisitor2" if guest else "")
    timeouts = {"WEIBO_FETCH__CONNECT_TIMEOUT_S": "1.5", "WEIBO_FETCH__READ_TIMEOUT_S": "2"}
    crawl.env |= timeouts | {"WEIBO_HARVEST__REST_S": "0.1", **env}
    try:
        yield crawl
    finally:
        crawl.end()


def run(crawl: Crawl, *arguments: str, codes: tuple[int, ...] = (0,)) -> tuple[int, str]:
    """The exit code of one command, one of `codes`, and all that it said; never a traceback."""
    done = crawl.ended(*arguments)
    said = f"{done.stdout}{done.stderr}"
    assert done.returncode in codes, f"{arguments}: {done.returncode}\n{said}"
    assert "Traceback" not in said, said
    return done.returncode, said


def walk(crawl: Crawl, world: World, *, rounds: int = 1) -> dict[str, int]:
    """Seed, harvest, import and posts, again by the same commands until what is held is the truth,
    as an operator would; returns the differences that are left after so many rounds."""
    run(crawl, "seed", *world.seeds)
    differences: dict[str, int] = {}
    codes = (0,) if rounds == 1 else (0, 4)
    for nth in range(rounds):
        said = [
            run(crawl, "harvest", *(["--retry-failed"] if nth else []), codes=codes),
            run(crawl, "import", codes=(0,)),
            run(crawl, "posts", codes=codes),
        ]
        differences = world.compare(crawl)
        if not differences:
            return {}
        print(f"round {nth + 1}: {differences}", *said, sep="\n")  # pytest shows it on failure
    print(crawl.run("report", "--completeness", "--format", "csv").stdout)
    return differences
