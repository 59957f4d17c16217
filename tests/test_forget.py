"""`forget` in the embedded home."""

import json
import os
import shlex
import sqlite3
import zlib
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl, simulated
from tests.cli.forgetting import cells_by_themselves, drifted_urls, forget_midway
from tests.contracts.forget import ForgetContract
from weibo_crawler.store import Tables
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.store.sqlite.tables import SqliteTables


class TestEmbedded(ForgetContract):
    @pytest.fixture
    def stores(self, tmp_path: Path) -> Iterator[tuple[Frontier, Tables]]:
        self.folder = tmp_path
        users = SqliteUsers(f"sqlite:///{tmp_path}/users.db")
        tables = SqliteTables(f"sqlite:///{tmp_path}/tables.db")
        tables.create()
        yield users, tables
        users.close()
        tables.close()

    def drifted_urls(self) -> list[str]:
        return drifted_urls(self.folder)


def test_the_whole_way(tmp_path: Path) -> None:
    """Crawled, forgotten, crawled on and refreshed: no value of any table speaks of the person."""
    with simulated(tmp_path, users=200) as (crawl, truth):
        crawl.run("init")
        said = forget_midway(crawl, truth, lambda: dump(crawl.folder))
        assert "exports, reports, backups" in said


def test_files_that_may_hold_them_are_named(tmp_path: Path) -> None:
    """Exports and reports written since are listed while they exist."""
    crawl = Crawl(tmp_path)
    crawl.run("init")
    crawl.run("export", "users", "-o", "users.csv")
    crawl.run("export", "users", "-o", "old.csv")
    crawl.run("report")
    (tmp_path / "old.csv").unlink()
    listed = crawl.json("forget", "--yes", "5")["exports"]
    assert [file.rpartition("/")[2] for file in listed] == ["users.csv", "report.html"]
    assert str(tmp_path / "users.csv") in crawl.run("forget", "--yes", "5").stdout
    left = tmp_path / ".old.csv.0badcafe.part"  # its writer was killed
    left.write_bytes(b"5")
    assert str(left) in crawl.run("forget", "--yes", "5").stdout


def test_a_file_whose_name_is_no_utf_8_is_named(tmp_path: Path) -> None:
    """As a terminal can show it; the export itself does not fail for its name."""
    crawl = Crawl(tmp_path)
    crawl.run("init")
    named = crawl.shell(f"{shlex.join(crawl.command())} export users -o $'caf\\xe9.csv'")
    assert named.returncode == 0, named.stderr
    assert b"caf\xe9.csv" in map(os.fsencode, (each.name for each in tmp_path.iterdir()))
    assert "caf\ufffd.csv" in crawl.run("forget", "--yes", "5").stdout


def test_who_was_forgotten_is_no_new_seed(tmp_path: Path) -> None:
    """And is told apart from who is known."""
    crawl = Crawl(tmp_path)
    crawl.run("init")
    crawl.run("seed", "5", "6")
    crawl.run("forget", "--yes", "5")
    said = crawl.run("seed", "5", "6").stdout
    assert said.startswith("seed: 0 new, 1 known already, 1 removed by `forget`")
    assert crawl.json("forget", "--allow", "5", "6")["allowed"] == 1
    assert crawl.json("seed", "5", "6") == {"new": 1, "known": 1}


def test_nothing_is_removed_unasked(tmp_path: Path) -> None:
    """On a terminal it asks, and takes anything but a yes for a no (exit code 130); a script is not
    asked. --dry-run says what it would remove, and who is not known."""
    crawl = Crawl(tmp_path)
    crawl.run("init")
    crawl.run("seed", "5", "6")
    crawl.run("import")
    before = list(dump(tmp_path))
    for typed in ("n\n", "\n", "\x04"):
        asked = crawl.on_terminal("forget", "5", "7", typed=typed)
        assert "2 uids given, 1 in " in asked
        assert "nothing was removed" in asked
    said = crawl.run("forget", "--dry-run", "5", "7").stdout
    assert "nothing was changed. Would delete: 1 user, 0 posts" in said
    assert "not known here: 7\n" in said
    assert list(dump(tmp_path)) == before
    assert "Deleted: 1 user" in crawl.on_terminal("forget", "5", typed="y\n")
    assert [user["id"] for user in crawl.scan("users")] == [6]
    assert crawl.json("forget", "6")["users"] == 1


def test_who_was_never_imported_is_forgotten(tmp_path: Path) -> None:
    """The tables need not be there yet."""
    crawl = Crawl(tmp_path)
    crawl.run("seed", "5", "6")
    assert crawl.json("forget", "5")["users"] == 1
    assert [user["id"] for user in crawl.scan("users")] == [6]


def test_names_are_no_way_to_forget(tmp_path: Path) -> None:
    """A name may be somebody else's by now; nothing is deleted, exit code 2."""
    crawl = Crawl(tmp_path)
    assert "give the uid" in crawl.run("forget", "5", "@somebody", code=2).stderr
    assert not (tmp_path / "users.db").exists()


def dump(folder: Path) -> Iterator[str]:
    """Every value of every table of both files."""
    for file in ("users.db", "tables.db"):
        with closing(sqlite3.connect(folder / file)) as conn:
            names = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in names:
                for row in conn.execute(f"SELECT * FROM {name}").fetchall():
                    if name.startswith("cells_"):
                        for column, value in json.loads(row[3]).items():
                            yield from cells_by_themselves(row[0], column, value)
                        continue
                    yield from (f"{name} {plain(name, value)!r}" for value in row)


def plain(table: str, value: object) -> object:
    """Packed ids and pages as what they hold."""
    if isinstance(value, bytes) and table == "progress":
        return list(array("q", value))
    return zlib.decompress(value) if isinstance(value, bytes) and table == "drifted" else value
