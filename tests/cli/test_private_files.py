"""Stores, logs and temporary files: for this account alone, and none is left by killed runs."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl, Truth, simulated
from tests.forks import Forked, forks
from weibo_crawler.analysis.files import parts_folder, replacing
from weibo_crawler.store.owners import new_owner


@pytest.fixture
def imported(tmp_path: Path) -> Iterator[tuple[Crawl, Truth]]:
    """A crawl that has imported its users, its temporary files in a folder of its own."""
    with simulated(tmp_path, users=60) as (crawl, truth):
        (tmp_path / "tmp").mkdir()
        crawl.env["TMPDIR"] = str(tmp_path / "tmp")
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        yield crawl, truth


def _modes(folder: Path) -> dict[str, int]:
    files = [each for each in folder.rglob("*") if each.is_file()]
    return {str(each.relative_to(folder)): each.stat().st_mode & 0o777 for each in files}


@pytest.mark.parametrize("umask", ["077", "000"])  # the closest and the widest
def test_stores_are_private_and_exports_are_as_the_umask_says(tmp_path: Path, umask: str) -> None:
    """Whatever the umask, databases with their logs are 0600 while they are used; exports and the
    report are as the umask says."""
    with simulated(tmp_path, users=30) as (crawl, truth):
        lines = [f"seed {truth.seeds[0]}", "harvest", "import", "posts --runner inline"]
        lines += ["export users -o users.csv", "report -o report.html", "export --dataset whole"]
        crawl.env["WEIBO_POSTS__RANGES"] = "1"
        under = forks("sh", "-c", f'umask {umask} && exec "$@"', "sh")
        seen: set[tuple[str, int]] = set()
        is_done = threading.Event()

        def watch() -> None:
            while not is_done.wait(0.01):
                for file in crawl.folder.glob("*.db*"):
                    with suppress(FileNotFoundError):
                        seen.add((file.name, file.stat().st_mode & 0o777))

        watcher = threading.Thread(target=watch)
        watcher.start()
        done = [under.run(line.split(), crawl.folder, crawl.env, 60.0) for line in lines]
        is_done.set()
        watcher.join()
    assert [each.returncode for each in done] == [0] * len(lines), done
    assert {mode for _, mode in seen} == {0o600}, seen
    assert {"users.db", "users.db-wal", "users.db-shm", "tables.db-wal"} <= {n for n, _ in seen}
    as_told = 0o666 & ~int(umask, 8)
    modes = _modes(crawl.folder)
    assert modes["users.csv"] == modes["report.html"] == modes["whole/README.md"] == as_told
    assert stat.S_IMODE((crawl.folder / "whole").stat().st_mode) == 0o777 & ~int(umask, 8)
    assert modes["users.db"] == modes["tables.db"] == 0o600


def test_an_export_is_never_wider_than_the_file_it_replaces(tmp_path: Path) -> None:
    """Who closed an export to others finds the next one closed."""
    for before, after in ((0o600, 0o600), (0o640, 0o640), (0o666, 0o666 & ~_umask())):
        path = tmp_path / f"{before:o}.csv"
        path.touch()
        path.chmod(before)
        with replacing(path) as file:
            file.write(b"new")
        assert stat.S_IMODE(path.stat().st_mode) == after


def test_parts_of_an_export_are_in_a_folder_for_this_account_alone(tmp_path: Path) -> None:
    """Whatever the umask: the whole alone is as it says."""
    mask = os.umask(0)
    try:
        with parts_folder(tmp_path / "users.csv") as part:
            assert stat.S_IMODE(part.stat().st_mode) == 0o700
    finally:
        os.umask(mask)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_next_run_removes_what_a_killed_one_left(imported: tuple[Crawl, Truth]) -> None:
    """A posts run works in folders and a log that only this account may read; kill -9 leaves them;
    the next run removes them, and in the end nothing is left."""
    crawl, _ = imported
    tmp = Path(crawl.env["TMPDIR"])
    process = _working(crawl, tmp)
    left = {each.name for each in tmp.iterdir()}
    assert len(left) >= 3
    for each in tmp.iterdir():
        assert each.stat().st_mode & 0o077 == 0, each
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert left <= {each.name for each in tmp.iterdir()}
    second = _working(crawl, tmp, besides=left)
    assert not left & {each.name for each in tmp.iterdir()}
    second.send_signal(signal.SIGTERM)
    second.wait(60)
    assert not list(tmp.iterdir())


def _working(crawl: Crawl, tmp: Path, besides: frozenset[str] | set[str] = frozenset()) -> Forked:
    """A posts run that has made its temporary files."""
    process = crawl.start("posts")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        names = [each.name for each in tmp.iterdir() if each.name not in besides]
        made = {name.partition(".")[2].partition(".")[0] for name in names}
        if {"posts", "job"} <= made and len(names) >= 3:
            return process
        assert process.poll() is None, crawl.said(process)
        time.sleep(0.02)
    raise AssertionError(f"no temporary files: {list(tmp.iterdir())}")


def test_what_stands_for_tables_that_nobody_made_is_removed(tmp_path: Path) -> None:
    """A command that reads has empty tables where there are none; killed, it leaves a folder that
    names its owner, and the next one removes it."""
    crawl = Crawl(tmp_path)
    (tmp_path / "tmp").mkdir()
    tmp, store = (
        tmp_path / "tmp",
        "from weibo_crawler.home import Home; from weibo_crawler import config",
    )
    crawl.env["TMPDIR"] = str(tmp)
    crawl.run("seed", "1234567890")
    killed = "import os; home = Home(config.load(), makes=()); home.tables; os.kill(os.getpid(), 9)"
    crawl.shell(f"{sys.executable} -c '{store}; {killed}'")
    assert len(list(tmp.iterdir())) == 1
    crawl.run("status")
    assert not list(tmp.iterdir())


def test_a_foreign_folder_of_a_like_name_stays(imported: tuple[Crawl, Truth]) -> None:
    """Only what names a dead owner is removed: not what lives, is a link, has another name, or is
    the log that a failed run left to be read."""
    crawl, _ = imported
    tmp = Path(crawl.env["TMPDIR"])
    (tmp / "kept").mkdir()
    (tmp / "kept/file").touch()
    process = crawl.start_anew("status")  # its end leaves its number until we wait
    dead = f"weibo-crawler.posts.{_owner(process)}"
    process.wait()
    (tmp / dead).symlink_to(tmp / "kept")
    (tmp / f"weibo-crawler.posts.{new_owner().replace('/', '~')}").mkdir()
    (tmp / "weibo-crawler.notes.txt").mkdir()
    (tmp / f"{dead[:-1]}d.log").touch()
    before = {each.name for each in tmp.iterdir()}
    crawl.run("posts", "--runner", "inline", WEIBO_POSTS__RANGES="1")
    assert before <= {each.name for each in tmp.iterdir()}
    assert (tmp / "kept/file").exists()


def _owner(process: "subprocess.Popen[bytes]") -> str:
    """As store/owners.py names a process of this machine."""
    machine = new_owner().split("/")[0]
    started = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
    return f"{machine}~{process.pid}~{started}~0a1b2c"
