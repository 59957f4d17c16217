"""A crawl of one drawn world by the command line, from seeds to scans, repeated as a user would."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.cli.crawls import Crawl
from tests.forks import forks, simulator
from weibo_crawler.records import Edge
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.run import Running
from weibo_crawler.store import WALLED
from weibo_crawler.store.sqlite.frontier import SqliteUsers

ROUNDS = 4
TOPICS = ("#河边的信#", "#纸船#")
_COMMAND_S = 90.0  # longer than any command takes, also beside all else that CI does
_DAY = 86_400
_INFO = ("--imported", "--columns", "id,province,city,registered")


def options_of(seed: int) -> SimulatorOptions:
    """The world of a seed: it ends today, so that relative dates are met; LAWS_EPOCH is the day of
    a world that is to be made again."""
    epoch = int(os.environ.get("LAWS_EPOCH", time.time() // _DAY * _DAY))
    users = 40 + seed % 41
    return SimulatorOptions(
        seed=seed, laws=seed, users=users, mean_posts=6.0, epoch=epoch, truth_topics=TOPICS
    )


class Session:
    """Runs commands in a working folder."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.codes: dict[str, int] = {}  # of the last run of each command
        self.said = ""  # by the last command

    def run(self, *words: str) -> str:
        """What a command prints; AssertionError where it does not end, or ends otherwise than well
        or because the site says no."""
        try:
            done = forks().run(words, self._crawl.folder, self._crawl.env, _COMMAND_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{' '.join(words)}: does not end") from None
        self.said = f"{done.stdout}{done.stderr}"
        assert done.returncode in (0, 4), (
            f"{' '.join(words)}: exit code {done.returncode}\n{self.said}"
        )
        assert "Traceback" not in self.said, self.said
        self.codes[words[0]] = done.returncode
        return done.stdout

    def rows(self, *words: str) -> list[dict[str, Any]]:
        """What a command prints as JSON lines."""
        return [json.loads(line) for line in self.run(*words, "--format", "jsonl").splitlines()]


def session(folder: Path, running: Running, settings: Mapping[str, str]) -> Session:
    """A working folder without patience and without a pace: what the site limits, it refuses."""
    folder.mkdir()
    crawl = Crawl(folder, running.base_url, running.visitor_url)
    crawl.env |= {
        "WEIBO_HARVEST__REST_S": "0.1",
        "WEIBO_HARVEST__EDGES_IF_WALLED": "",
        "WEIBO_FETCH__READ_TIMEOUT_S": "2",
        "WEIBO_SESSION__PER_HOUR": "3600",
        "WEIBO_POSTS__RANGES": "1",
        "WEIBO_POSTS__INFO_DAYS": "1e-6",  # at each visit: one answer may be a fault
        **settings,
    }
    return Session(crawl)


class Held(dict[str, Any]):
    """What a crawl holds: users, posts, ledgers, info (rows by uid, mid, uid, uid), depths_exact,
    codes; walled (whether that is sure, by uid of those of whose fans no page was shown)."""


@contextmanager
def crawled(
    folder: Path, seed: int, **settings: str
) -> Iterator[tuple[dict[str, Any], Session, bool]]:
    """A seed's world after ROUNDS rounds of the commands: its truth, what runs more of them, and
    whether the last harvest says that depths are exact. settings: variables."""
    truth_out, served_out = folder / "truth.json", folder / "served.jsonl"
    options = replace(options_of(seed), truth_out=str(truth_out), served_out=str(served_out))
    with simulator(options) as running:
        one = session(folder / "work", running, settings)
        truth = json.loads(truth_out.read_text("utf-8"))
        one.run("init")
        one.run("seed", *map(str, truth["seeds"]), *TOPICS)
        for nth in range(ROUNDS):
            harvested = one.run("harvest", "--json", *(["--retry-failed"] if nth else []))
            one.run("import")
            one.run("posts", "--runner=inline", *(["--refresh", "--all"] if nth else []))
        # a harvest that ends as nobody is shown a list says nothing of depths
        yield truth, one, bool(harvested) and json.loads(harvested).get("depths_exact", False)


def walled_lists(work: Path) -> dict[int, bool]:
    """As `walled` of what a crawl in this folder holds."""
    users = SqliteUsers(f"sqlite:///{work}/users.db", create=False)
    try:
        return {
            int(end.uid): end.sure
            for end in users.list_ends()
            if end.edge == Edge.FANS and end.ended == WALLED and not end.pages
        }
    finally:
        users.close()


def crawl_world(folder: Path, seed: int) -> tuple[dict[str, Any], Held]:
    """The truth of a seed's world and what is held of it after ROUNDS rounds of the commands."""
    with crawled(folder, seed) as (truth, one, depths_exact):
        held = Held(
            depths_exact=depths_exact,
            codes=dict(one.codes),
            users={row["id"]: row for row in one.rows("scan", "users")},
            posts={row["mid"]: row for row in one.rows("scan", "posts")},
            info={row["id"]: row for row in one.rows("scan", "users", *_INFO)},
            ledgers={row["id"]: row for row in one.rows("report", "--completeness")},
            walled=walled_lists(folder / "work"),
        )
    held["requests"] = (folder / "served.jsonl").read_bytes().count(b"\n")
    return truth, held
