"""Stores that may not be written are read like others; nothing is written to or beside them."""

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl, simulated
from tests.forks import forks

FILES = ("users.db", "tables.db")
# root may write anywhere, unless it gives that up
OBEY = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
READING = (
    *("scan users", "scan users --imported", "scan posts", "scan posts --history", "scan edges"),
    *("status", "report --completeness", "plan --users 1000", "posts --plan", "harvest --plan"),
)
WRITING = ("seed 77", "harvest", "import --from-start", "posts --runner inline", "forget --yes 77")

pytestmark = pytest.mark.skipif(
    bool(OBEY) and shutil.which("setpriv") is None, reason="root, and no setpriv"
)


class Reader(Crawl):
    """A crawl whose stores are in a folder of their own, read by who obeys permissions."""

    def __init__(self, folder: Path, stores: Path) -> None:
        super().__init__(folder)
        self.stores = stores
        for name, file in zip(("USERS", "TABLES"), FILES, strict=True):
            self.env[f"WEIBO_STORE__{name}"] = f"sqlite:///{stores / file}"
        self.env["WEIBO_PACE__REQUESTS_PER_SECOND"] = "0.5"  # so that leases are looked at

    def ended(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """A process of its own, which has given up the rights of root."""
        return forks(*OBEY).run(arguments, self.folder, self.env | env, 60)

    def held(self) -> dict[str, tuple[bytes, int]]:
        """What the folder holds, and when it was written."""
        return {f.name: (f.read_bytes(), f.stat().st_mtime_ns) for f in self.stores.iterdir()}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """A small crawl at a pace, so that there are leases."""
    with simulated(tmp_path_factory.mktemp("site"), users=40, mean_posts=6.0) as (crawl, truth):
        crawl.env["WEIBO_PACE__REQUESTS_PER_SECOND"] = "10000"
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        crawl.run("posts", "--runner", "inline")
        yield crawl


def copy(crawl: Crawl, to: Path, how: str) -> None:
    """Copy the stores. alone: the files; otherwise while somebody has them open and has renamed the
    first user, which only the log holds: snapshot: log and index too; indexless: the log too."""
    to.mkdir()
    for file in FILES:
        live = to / f"live-{file}"
        shutil.copy(crawl.folder / file, live)
        writer = sqlite3.connect(live, isolation_level=None)
        if file == "users.db":
            writer.execute("UPDATE userlist SET screen_name = 'renamed' WHERE seq = 1")
        else:
            writer.execute("DELETE FROM cells_comments")
        for end in {"snapshot": ("", "-wal", "-shm"), "indexless": ("", "-wal")}.get(how, ("",)):
            shutil.copy(f"{live}{end}", to / f"{file}{end}")
        writer.close()
        live.unlink()


@pytest.fixture(params=["alone", "snapshot", "indexless", "file", "folder"])
def reader(request: pytest.FixtureRequest, crawl: Crawl, tmp_path: Path) -> Iterator[Reader]:
    """file, folder: only the one of these may not be written."""
    stores, work = tmp_path / "stores", tmp_path / "work"
    work.mkdir()
    copy(crawl, stores, request.param if request.param in ("snapshot", "indexless") else "alone")
    if request.param != "folder":
        for file in stores.iterdir():
            file.chmod(0o444)
    if request.param != "file":
        stores.chmod(0o555)
    yield Reader(work, stores)
    stores.chmod(0o755)


def test_it_is_read_like_any_other(reader: Reader) -> None:
    """Whichever command reads: the rows that a copy gives that may be written, and the folder stays
    as it was."""
    before = reader.held()
    twin = Reader(reader.folder, Path(shutil.copytree(reader.stores, reader.folder / "twin")))
    for place in (twin.stores, *twin.stores.iterdir()):
        place.chmod(0o700)
    for line in READING:
        said = reader.run(*line.split()).stdout
        assert said
        if line.startswith("scan"):
            assert said == twin.run(*line.split()).stdout
    is_renamed = '"renamed"' in reader.run("scan", "users").stdout
    assert is_renamed == any(name.endswith("-wal") for name in before)
    for one in (reader, twin):
        one.run("export", "posts", "-o", f"{one.stores.name}.jsonl")
    assert (
        Path(reader.folder / "stores.jsonl").read_bytes()
        == (reader.folder / "twin.jsonl").read_bytes()
    )
    told = reader.run("export", "--dataset", "data")
    assert "`forget` will not name" in told.stderr
    reader.run("verify", "data")
    reader.run("report")
    assert (reader.folder / "report.html").exists()
    assert reader.held() == before


def test_who_writes_is_told(reader: Reader) -> None:
    """A store error that names the file and what to do, before anything is asked of the site."""
    before = reader.held()
    for line in WRITING:
        said = reader.run(*line.split(), code=5).stderr
        assert "users.db" in said or "tables.db" in said
        assert "may not be written" in said
    assert reader.held() == before


def test_an_older_schema_is_named(crawl: Crawl, tmp_path: Path) -> None:
    """It cannot be brought up to date where it lies: the remedy is a copy."""
    stores = tmp_path / "stores"
    copy(crawl, stores, "alone")
    with sqlite3.connect(stores / "tables.db", isolation_level=None) as conn:
        conn.execute("UPDATE schema_versions SET version = 1 WHERE component = 'tables'")
    conn.close()
    stores.chmod(0o555)
    reader = Reader(tmp_path, stores)
    said = reader.run("scan", "posts", code=5).stderr
    assert re.search(r"tables.db: tables have schema version 1, this program reads \d+, and", said)
    assert "copy it" in said
    stores.chmod(0o755)


def test_a_store_without_leases_is_read(crawl: Crawl, tmp_path: Path) -> None:
    """A crawl without a pace leases nothing; who reads at one does not miss that."""
    stores = tmp_path / "stores"
    copy(crawl, stores, "alone")
    with sqlite3.connect(stores / "users.db", isolation_level=None) as conn:
        conn.execute("DELETE FROM schema_versions WHERE component = 'egresses'")
        tables = conn.execute("SELECT name FROM sqlite_master WHERE name LIKE 'egress%'")
        for (name,) in tables.fetchall():
            conn.execute(f"DROP TABLE IF EXISTS {name}")
    conn.close()
    stores.chmod(0o555)
    reader = Reader(tmp_path, stores)
    assert "requests a day" in reader.run("status").stdout
    reader.run("posts", "--plan")
    stores.chmod(0o755)


def test_permissions_are_obeyed_here(tmp_path: Path) -> None:
    """Else the tests above would say nothing."""
    tmp_path.chmod(0o555)
    done = subprocess.run([*OBEY, "touch", str(tmp_path / "file")], check=False, timeout=60)
    assert done.returncode
    tmp_path.chmod(0o755)
