"""A world of the foreign world.py behind nginx: its truth, what is needed there, its log."""

import gzip
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.needs import Ended, Errors, Extent, Needs, Sent
from tests.cli.crawls import Crawl
from tests.foreign.worlds import World
from tests.ports import free_port
from weibo_crawler.simulator.routes import Asked, Kind, understand

TOOLS = Path(os.environ.get("WEIBO_FOREIGN") or "../shared/foreign").resolve()


class Foreign:
    """What world.py of the folder `tools` builds, served by nginx."""

    def __init__(self, tools: Path, folder: Path, users: int, *options: str) -> None:
        self.name = f"foreign, {users:,} users" + (", exact" if "--exact" in options else "")
        self._tool = [sys.executable, str(tools / "world.py")]
        self._folder = folder
        folder.chmod(0o755)  # nginx gives up the rights of root
        words = ["build", "--out", str(folder), "--users", str(users), *options]
        env = {**os.environ, "WORLD_NOW": str(int(time.time()))}
        subprocess.run([*self._tool, *words], check=True, capture_output=True, env=env)
        self._truth = World(tools, folder)
        self.seeds = self._truth.seeds
        self._tokens: dict[int, dict[int, int]] = defaultdict(dict)  # uid -> since_id -> page
        for line in (folder / "posts_urls.txt").read_text("utf-8").splitlines():
            asked = understand(line)
            pages = self._tokens[asked.uid]
            pages[asked.since_id or asked.page] = len(pages) + 1

    @contextmanager
    def served(self) -> Iterator[tuple[str, str]]:
        """Base and visitor address."""
        port = free_port()
        place = ["--data", str(self._folder)]
        env = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
        words = ["serve", *place, "--port", str(port), "--log", str(self._folder / "log")]
        subprocess.run([*self._tool, *words], check=True, capture_output=True, env=env)
        base = f"http://127.0.0.1:{port}"
        try:
            yield base, f"{base}/visitor/genvisitor2"
        finally:
            pid = Path(f"/proc/{(self._folder / 'nginx.pid').read_text('utf-8').strip()}")
            subprocess.run([*self._tool, "stop", *place], check=True)
            while pid.exists():  # its last lines are written when it ends
                time.sleep(0.05)

    def log(self) -> list[Sent]:
        return list(map(sent, (self._folder / "log").read_text("utf-8").splitlines()))

    in_a_row = 0  # nothing there empties an answer

    def number(self, asked: Asked) -> int:
        """Which page a request stands for; one that does not exist for a token of none."""
        if asked.kind is Kind.POSTS:
            pages = self._tokens[asked.uid]
            wanted = asked.since_id or asked.page
            return pages.get(wanted, wanted if wanted <= len(pages) else len(pages) + 1)
        return asked.page

    def kept(self) -> tuple[set[int], set[int]]:
        """The users that a right harvest keeps, and the mids of their posts."""
        kept = self._truth.truth["kept"]
        return set(map(int, kept)), {int(mid) for one in kept.values() for mid in one["posts"]}

    def needs(self, stage: str) -> Needs:
        kept = {int(uid): facts for uid, facts in self._truth.truth["kept"].items()}
        if stage == "harvest":
            seeds = frozenset(map(int, self.seeds))
            return Needs({(Kind.FANS, uid): self._fans(uid) for uid in kept}, profiles=seeds)
        lists = {(Kind.POSTS, uid): self._posts(uid) for uid in kept}
        if stage == "refresh":
            return Needs(lists, is_first_enough=True)
        texts = frozenset(int(mid) for facts in kept.values() for mid in facts["long"])
        return Needs(lists, texts, frozenset(uid for uid in kept if not self._tokens[uid]))

    def errors(self, crawl: Crawl, ended: Ended) -> Errors:
        found = self._truth.compare(crawl)
        errors = ended.errors()
        for name, n in found.items():
            words = name.split("_")
            errors[next((kind for kind in ("missing", "extra") if kind in words), "wrong")] += n
        return errors

    def _fans(self, uid: int) -> Extent:
        """Each page of fans names a next one here, the last one too."""
        pages = 0
        while (self._folder / "www" / "fans" / f"{uid}-{pages + 1}.gz").exists():
            pages += 1
        return Extent(pages, is_open=True)

    def _posts(self, uid: int) -> Extent:
        pages = len(self._tokens[uid])
        if not pages:
            return Extent(0, is_open=True)
        last = max(self._tokens[uid], key=lambda token: self._tokens[uid][token])
        info = self._info(uid, last)
        named = int(info.get("since_id") or info.get("page") or 0)
        return Extent(pages, is_open=bool(named) and named not in self._tokens[uid])

    def _info(self, uid: int, token: int) -> dict[str, Any]:
        """The part of a page of posts that names the next one."""
        file = self._folder / "www" / "posts" / f"{uid}-{token}.gz"
        page: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
        info: dict[str, Any] = page["data"]["cardlistInfo"]
        return info


def sent(line: str) -> Sent:
    """A line of the log: time, address of the client, request, bytes. This site refuses nothing."""
    at, _, address, _ = line.split()
    return Sent(float(at), address)
