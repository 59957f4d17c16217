"""Whole crawls beside their peers: pages a second, from the first request to the last commit.

Every contender is a process of its own, and what it stored is compared with the truth before its
time counts.
"""

import json
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.processes import Wrong, run
from benchmarks.static_site import EPOCH, StaticSite
from weibo_crawler import config
from weibo_crawler.home import Home
from weibo_crawler.simulator.routes import Kind
from weibo_crawler.simulator.world import World
from weibo_crawler.store.rows.keys import parse_post_key
from weibo_crawler.store.sqlite.tables import SqliteTables

MIN_FANS = 10
POSTS_KINDS = (Kind.PROFILE, Kind.POSTS, Kind.EXTEND)
PEERS = Path(__file__).parent / "peers"


class Rate(NamedTuple):
    """pages: distinct ones."""

    pages: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.pages / self.seconds


class Bench:
    """One world behind nginx, and a folder to work in. A context manager."""

    def __init__(self, work: Path, *, users: int, mean_posts: float, kinds: Sequence[Kind]) -> None:
        self.work = work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.world = World.make(3, users, epoch=EPOCH, mean_posts=mean_posts)
        self.kept = self.world.kept(self.world.seeds, MIN_FANS)
        self.site = StaticSite(work / "site", self.world, self.kept, kinds)
        self.addresses = work / "addresses.txt"

    def __enter__(self) -> "Bench":
        self.site.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.site.__exit__(*error)

    # -- contenders

    def fetching(self, transport: str, *kinds: Kind) -> Rate:
        """The pages of these kinds, fetched and dropped, by one of our transports or a client of
        `peers`."""
        addresses = [
            self.site.base_url + one for kind in kinds for one in self.site.addresses[kind]
        ]
        self.addresses.write_text("\n".join(addresses), "utf-8")
        command = ["-m", "benchmarks.fetching", str(self.addresses), transport]
        if transport in ("aiohttp", "pycurl"):
            command = [str(PEERS / "fetch_alone.py"), str(self.addresses), transport]
        return _rate(run([sys.executable, *command], Path.cwd(), {}))

    def harvest(self, transport: str, users: str = "", **env: str) -> Rate:
        """Our own walk from the seeds. users: where they are stored, "" for a new SQLite file."""
        folder = self.folder()
        env |= settings(self.site.base_url, transport, folder, users)
        ours(folder, env, "seed", *map(str, self.world.seeds))
        done = json.loads(ours(folder, env, "harvest", "--json").splitlines()[-1])
        found = ours(folder, env, "scan", "users", "--columns", "id", "--format", "jsonl")
        self._check({int(json.loads(line)["id"]) for line in found.splitlines()}, set(self.kept))
        return Rate(_different(done["counters"]), _seconds(folder, env, "harvest"))

    def walk_of(self, peer: str, *options: str) -> Rate:
        """The same walk by a script of `peers`."""
        folder = self.folder()
        seeds, database = folder / "seeds.txt", folder / "users.db"
        seeds.write_text("\n".join(map(str, self.world.seeds)), "utf-8")
        rate = self._peer(peer, seeds, database, options)
        found = {uid for (uid,) in rows_of(database, "SELECT id FROM users")}
        self._check(found | set(self.world.seeds), set(self.kept))
        return rate

    def posts(self, transport: str, runner: str = "inline", **env: str) -> Rate:
        """Our own posts job over all kept users, into a new embedded home."""
        folder = self.folder()
        env |= settings(self.site.base_url, transport, folder)
        import_users(folder, env, self.kept)
        done = json.loads(ours(folder, env, "posts", "--runner", runner, "--json").splitlines()[-1])
        tables = SqliteTables(f"sqlite:///{folder}/tables.db")
        held = {parse_post_key(key)[1]: cells["post:text"] for key, cells in tables.posts.scan()}
        tables.close()
        self._check(held, {post.mid: post.writing.text for post in self._posts()})
        return Rate(_different(done["counters"]), _seconds(folder, env, "posts"))

    def posts_of(self, peer: str) -> Rate:
        """The posts of the same users by a script of `peers`; its texts are not compared."""
        folder = self.folder()
        users, database = folder / "users.txt", folder / "posts.db"
        users.write_text("\n".join(map(str, self.kept)), "utf-8")
        rate = self._peer(peer, users, database, ())
        mids = {mid for (mid,) in rows_of(database, "SELECT mid FROM posts")}
        self._check(mids, {post.mid for post in self._posts()})
        return rate

    def folder(self) -> Path:
        """An empty one for the next crawl."""
        folder = self.work / "crawl"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    # -- inside

    def _posts(self) -> Iterable[Any]:
        for uid in self.kept:
            index = self.world.index(uid)
            assert index is not None
            yield from self.world.posts(index)

    def _peer(self, peer: str, users: Path, database: Path, options: Sequence[str]) -> Rate:
        script = [str(PEERS / f"{peer}.py"), self.site.base_url, str(users), str(database)]
        return _rate(run([sys.executable, *script, *options], users.parent, {}))

    def _check(self, found: object, truth: object) -> None:
        if found != truth:
            raise Wrong("what was stored is not what the site holds")


def _different(counters: Mapping[str, int]) -> int:
    """Pages that were asked for, each counted once however often it was."""
    return counters["request.sent"] - counters.get("request.retried", 0)


def _seconds(folder: Path, env: Mapping[str, str], stage: str) -> float:
    """From the start of the first harvester or mapper, whose program is loaded by then as that of a
    peer is at its first request, to the end of the last."""
    variables = {name: value for name, value in env.items() if name.startswith("WEIBO_")}
    with Home(config.load(environ={**variables, "WEIBO_BASE_DIR": str(folder)})) as home:
        workers = [worker for worker in home.users.workers() if worker.stage == stage]
    return max(w.updated_at for w in workers) - min(w.started_at for w in workers)


def settings(base_url: str, transport: str, folder: Path, users: str = "") -> dict[str, str]:
    """Of a crawl without limits, as variables; users: where they are stored, "" for a file."""
    return {
        "WEIBO_SITE__BASE_URL": base_url,
        "WEIBO_SESSION__ENABLED": "false",
        "WEIBO_PACE__REQUESTS_PER_SECOND": "0",
        "WEIBO_FETCH__CONCURRENCY": "64",
        "WEIBO_FETCH__TRANSPORT": transport,
        "WEIBO_STORE__USERS": users or f"sqlite:///{folder}/users.db",
        "WEIBO_STORE__TABLES": f"sqlite:///{folder}/tables.db",
    }


def import_users(folder: Path, env: Mapping[str, str], uids: Iterable[int]) -> None:
    """Store users in the home of these settings, and copy them into its tables."""
    (folder / "users.txt").write_text("\n".join(map(str, uids)), "utf-8")
    ours(folder, env, "seed", "users.txt")
    ours(folder, env, "import")


def ours(folder: Path, env: Mapping[str, str], *arguments: str) -> str:
    """Run one of our commands; what it prints."""
    return run([sys.executable, "-m", "weibo_crawler", *arguments], folder, env)


def _rate(output: str) -> Rate:
    return Rate(**json.loads(output.splitlines()[-1]))


def rows_of(database: Path, statement: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(database) as conn:
        rows: list[tuple[Any, ...]] = conn.execute(statement).fetchall()
    conn.close()
    return rows
