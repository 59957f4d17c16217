"""`--processes` of the commands that read: what they write, and how they end."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from tests.cli.crawls import Crawl, simulated, walk_with_echoes
from tests.forks import Forked
from weibo_crawler import config
from weibo_crawler.analysis.figures import Stored, gather
from weibo_crawler.analysis.report import render
from weibo_crawler.cli.on_yarn import Count, merged, read_part
from weibo_crawler.home import Home
from weibo_crawler.store.rows.keys import ranges

TABLES = ("users", "posts", "comments", "reposts", "edges", "ledgers")


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    with simulated(tmp_path_factory.mktemp("site"), users=60, mean_posts=8.0) as (crawl, truth):
        walk_with_echoes(crawl, truth)
        yield crawl


def begun(crawl: Crawl) -> tuple[Path, Forked, list[int]]:
    """An export by two processes, which have just been started: its folder of parts, itself, and
    these."""
    running = crawl.start("export", "posts", "-o", "p.jsonl", "--processes", "2")
    while running.poll() is None:
        readers = [pid for pid in children(running.pid) if "spawn_main" in command(pid)]
        parts = [one for one in crawl.folder.glob(".p.jsonl.*.part") if one.is_dir()]
        if len(readers) == 2 and parts:
            return parts[0], running, readers
        time.sleep(0.002)
    raise AssertionError(crawl.said(running))


def children(parent: int) -> list[int]:
    try:
        return [*map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())]
    except OSError:
        return []


def command(pid: int) -> str:
    """ "" where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except OSError:
        return ""


def soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


@pytest.mark.parametrize("what", ["comments", "posts --history", "users --as-of 2100-01-01"])
def test_two_processes_export_what_one_does(crawl: Crawl, what: str) -> None:
    """Also what is no table of posts as it is now (tests/analysis/test_parallel.py). No
    log of a store is left."""
    for n in "12":
        crawl.run("export", *what.split(), "-o", f"{n}.csv", "--processes", n)
    one, two = (crawl.folder / f"{n}.csv" for n in "12")
    assert two.read_bytes() == one.read_bytes()
    assert len(one.read_bytes().splitlines()) > 20
    assert {file.name for file in crawl.folder.glob("*.db*")} == {"users.db", "tables.db"}


def test_a_dataset_is_the_same(crawl: Crawl) -> None:
    """Each table has the same rows in the same order, and `verify` agrees."""
    for n in "12":
        crawl.run("export", "--dataset", f"data-{n}", "--processes", n)
        crawl.run("verify", f"data-{n}")
    for table in TABLES:
        one, two = (pq.read_table(crawl.folder / f"data-{n}" / table) for n in "12")
        assert two.equals(one)
        assert one.num_rows > 0


def test_the_sums_are_the_same(crawl: Crawl) -> None:
    """Of the report and of how complete the posts are."""
    sums = []
    for n in "12":
        crawl.run("report", "-o", f"{n}.html", "--processes", n)
        page = (crawl.folder / f"{n}.html").read_text("utf-8")
        found = crawl.json("report", "--completeness", "--processes", n)
        ages = [found.pop(name) for name in [*found] if name.endswith("age_s") or name == "due"]
        sums.append((page.partition("<svg")[2], found))
        assert len(ages) == 3
    assert sums[1] == sums[0]
    assert sums[0][1]["stored"] > 100


def test_maps_count_the_same(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the maps of `report --runner hadoop` say, merged (tests/stack/test_yarn.py: on YARN)."""
    now, keys = time.time(), ranges(256)
    parts = [Count(keys[first::3], now, is_whole=True) for first in range(3)]
    told: list[str] = []
    for name, value in crawl.env.items():
        monkeypatch.setenv(name, value)
    with chdir(crawl.folder), Home(config.load(), makes=()) as home:
        by_maps = merged(
            now,
            [f"{read_part(msgspec.json.encode(part).decode(), told.append)}\t" for part in parts],
        )
        pages = [
            render(gather(home.users, stored), now)
            for stored in (by_maps, Stored(now).read(home.tables))
        ]
    assert pages[0] == pages[1]
    assert by_maps.posts.total > 100
    assert len(told) == len(keys)  # so that YARN sees that they live


@pytest.mark.parametrize(
    "wrong",
    [
        "export users -o a.csv --processes 2",
        "export edges -o a.csv --processes 2",
        "export posts -o a.csv --processes 2 --limit 5",
        "export posts -o a.csv --processes 2 --uid 5",
        "export posts -o a.csv --processes 0",
        "report --completeness --format csv --processes 2",
        "report --completeness --format csv --runner hadoop --processes 1",
    ],
)
def test_what_does_not_go_by_ranges_is_refused(crawl: Crawl, wrong: str) -> None:
    """Rather than read by one process, or wrongly; nothing is written."""
    assert "--processes" in crawl.run(*wrong.split(), code=2).stderr
    assert not (crawl.folder / "a.csv").exists()


def test_a_killed_process_ends_the_export(crawl: Crawl) -> None:
    """With exit code 5 and a line that names the option; nothing is left."""
    folder, running, (first, second) = begun(crawl)
    os.kill(first, signal.SIGKILL)
    assert running.wait(30) == 5
    assert "--processes 2: one of the reading processes was killed" in crawl.said(running)
    assert not folder.exists()
    assert not [*crawl.folder.glob("*p.jsonl*")]
    assert soon(lambda: not command(second))


def test_an_interruption_ends_all(crawl: Crawl) -> None:
    """A Ctrl-C at the terminal reaches all of them: one says so, and none is left."""
    _, running, readers = begun(crawl)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(30) == 130
    assert crawl.said(running).splitlines()[-1] == "weibo-crawler: interrupted"
    assert "Traceback" not in crawl.said(running)
    assert not [*crawl.folder.glob("*p.jsonl*")]
    assert soon(lambda: not any(map(command, readers)))


def test_they_end_with_who_started_them(crawl: Crawl) -> None:
    """Even where that is killed; what it left goes with the next export of that name."""
    folder, running, readers = begun(crawl)
    running.kill()
    assert running.wait(30) == -signal.SIGKILL
    assert soon(lambda: not any(map(command, readers)))
    assert folder.exists()
    crawl.run("export", "posts", "-o", "p.jsonl")
    assert [one.name for one in crawl.folder.glob("*p.jsonl*")] == ["p.jsonl"]
    (crawl.folder / "p.jsonl").unlink()
