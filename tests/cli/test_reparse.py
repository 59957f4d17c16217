"""Tables from an archive beside those of the crawl that wrote it, from outside."""

import json
import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.archive.answers import whole
from tests.cli.crawls import Crawl, Truth, simulated
from tests.cli.forgetting import most_reposted
from tests.cli.test_refreshing import days_later
from tests.cli.test_whole_way import assert_bounds, other_truth
from tests.stores import table_of
from weibo_crawler.store import notes
from weibo_crawler.store.rows.cells import LEDGER_TIMES
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.store.sqlite.tables import SqliteTables

TRANSIENT = "throttled=0.01,server_trouble=0.02,cut=0.01,no_content=0.01,not_json=0.01"
# told by this machine's clock between two answers, or by the run that imports
TIMES = {f"crawl:{name}" for name in LEDGER_TIMES}
TIMES |= {"crawl:posts_per_day", "user:run_id", "user:url"}
# who is found by whom, where several could be, depends on which page lands first
OF_RUN = TIMES | {"user:seq", "user:found_from", "user:found_edge", "user:found_at"}


def cells(crawl: Crawl, table: str) -> dict[str, dict[str, str]]:
    """All rows, without what no two crawls have alike."""
    tables = SqliteTables(f"sqlite:///{crawl.folder}/tables.db")
    try:
        return {
            row.key: {name: text for name, text in row.cells.items() if name not in OF_RUN}
            for row in table_of(tables, table).scan()
        }
    finally:
        tables.close()


def users(crawl: Crawl) -> dict[int, tuple[Any, ...]]:
    return {u["id"]: (u["state"], u["fans"]) for u in crawl.scan("users")}


def depths(crawl: Crawl) -> dict[int, int]:
    return {u["id"]: u["depth"] for u in crawl.scan("users")}


def bounds(crawl: Crawl) -> tuple[bool, bool]:
    """Whether the store says that depths are bounds, and that lists are walled: then the order of
    the walk is free, and so is which bound a depth is (law 13)."""
    with closing(SqliteUsers(f"sqlite:///{crawl.folder}/users.db")) as held:
        return bool(held.depths_are_bounds()), any(one.lists for one in held.walled())


def again(folder: Path, archives: Path, **env: str) -> Crawl:
    """A crawl with empty stores and no site, whose tables come from an archive."""
    folder.mkdir()
    crawl = Crawl(folder)
    crawl.env |= {"WEIBO_SITE__BASE_URL": "http://127.0.0.1:9", **env}
    done = crawl.json("reparse", str(archives))
    assert done["answers"] > 0
    return crawl


def assert_same_users(crawl: Crawl, other: Crawl) -> None:
    """With state and fans, and at the same depths unless the order of the walk is free: then each
    says that depths are bounds. In both, everybody is one step behind who it was found from."""
    assert users(other) == users(crawl)
    assert bounds(other) == bounds(crawl)
    assert bounds(crawl) != (False, True)
    if bounds(crawl) != (True, True):
        assert depths(other) == depths(crawl)
    for one in (crawl, other):
        found = {user["id"]: user for user in one.scan("users")}
        for user in found.values():
            if user["found_from"] is not None:
                assert found[user["found_from"]]["depth"] == user["depth"] - 1


def assert_equal(crawl: Crawl, other: Crawl) -> None:
    assert_same_users(crawl, other)
    may_differ = {"user:depth"} if bounds(crawl) == (True, True) else set()
    for table in ("posts", "userlist"):
        here, there = cells(crawl, table), cells(other, table)
        assert here.keys() == there.keys()
        differ = {
            (key, name): (row.get(name), there[key].get(name))
            for key, row in here.items()
            for name in (row.keys() | there[key].keys()) - may_differ
            if row.get(name) != there[key].get(name)
        }
        assert not differ


def archived(crawl: Crawl, **env: str) -> Path:
    crawl.env |= {"WEIBO_ARCHIVE__FOLDER": "archive", **env}
    return crawl.folder / "archive"


def main_job(crawl: Crawl, truth: Truth) -> None:
    crawl.run("seed", *truth.seeds)
    crawl.run("harvest")
    crawl.run("import")
    crawl.run("posts", "--runner", "inline", "--info-days", "30")


@pytest.mark.parametrize(
    "knobs",
    [{"guests": "2020", "faults": TRANSIENT}, {"guests": "2026", "fans_walled": True}],
    ids=["faults", "walled"],
)
def test_tables_come_out_as_they_were(tmp_path: Path, knobs: dict[str, Any]) -> None:
    """Users with depth, state and fans, posts and ledgers: of a crawl that met refusals, faults,
    walls and second looks, without a request; and the same again adds nothing. Where lists are
    walled depths are bounds, and those of the archive are any."""
    with simulated(tmp_path, users=60, mean_posts=9.0, **knobs) as (crawl, truth):
        folder = archived(crawl, WEIBO_ARCHIVE__MAX_FILE_BYTES="50000")
        main_job(crawl, truth)
        crawl.run("posts", "--runner", "inline", "--refresh", "--all")
        files = sorted(folder.iterdir())
        assert len(files) > 4
        assert all(map(whole, files))
        other = again(tmp_path / "again", folder)
        assert_equal(crawl, other)
        if "fans_walled" in knobs:
            true = other_truth(truth, ("reposts", "comments"), mean_posts=9.0)
            assert bounds(crawl) == (True, True)
        else:
            true = truth.depths
            assert depths(other) == true
        for one in (crawl, other):
            assert_bounds(depths(one), true)
        info = crawl.scan("users", "--imported", "--columns", "id,province,city,registered")
        there = {u["uid"]: u for u in truth.data["users"]}
        told = [user for user in info if user["province"]]
        assert len(told) > len(info) / 2
        for user in told:
            assert (user["province"], user["city"] or "") == tuple(
                there[user["id"]][name] for name in ("province", "city")
            )
        before = cells(other, "userlist")
        assert other.json("reparse", str(folder))["new"] == 0
        assert cells(other, "userlist") == before


def test_posts_that_were_asked_for_by_their_ids_come_out_too(tmp_path: Path) -> None:
    """Those of nobody's timeline, edited and deleted ones, between the visits before and after."""
    knobs = {"users": 40, "seed": 9, "mean_posts": 8.0}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        folder = archived(crawl)
        main_job(crawl, truth)
        ids = "\n".join([*truth.posts(), "4803408242409549"])
    (crawl.folder / "ids.txt").write_text(ids)
    changes = {"edited_per_day": 0.02, "deleted_per_day": 0.02}
    with days_later(crawl, tmp_path, 5.0, **knobs, **changes):
        told = crawl.run("posts", "--ids", "ids.txt").stdout
        assert {"edited", "gone"} <= {line.split()[1] for line in told.splitlines()}
        crawl.run("posts", "--runner", "inline", "--refresh", "--all")
    assert_equal(crawl, again(tmp_path / "again", folder))


def test_who_showed_nothing_is_asked_for_by_the_profile_again_too(tmp_path: Path) -> None:
    """A visit that begins with the profile, as second looks at such have shown nothing more."""
    with simulated(tmp_path, users=80, laws=303) as (crawl, truth):
        folder = archived(crawl)
        main_job(crawl, truth)
        with closing(SqliteUsers(f"sqlite:///{crawl.folder}/users.db")) as users:
            looks = {"posts.nobody": [30, 30, 0, "0" * 30]}
            notes.LOOKS.put(users, json.dumps(looks))
        crawl.run("posts", "--runner", "inline", "--refresh", "--all")
    states = [row["crawl:state"] for row in cells(crawl, "userlist").values()]
    assert "empty" in states
    assert_equal(crawl, again(tmp_path / "again", folder))


def test_the_posts_of_seeds_come_out_without_a_harvest(tmp_path: Path) -> None:
    """Seeds that nobody walked from are users, too, with their ledgers."""
    with simulated(tmp_path, users=40, mean_posts=5.0) as (crawl, truth):
        folder = archived(crawl)
        crawl.run("seed", *truth.seeds)
        crawl.run("import")
        crawl.run("posts", "--runner", "inline")
        other = again(tmp_path / "again", folder)
        assert_equal(crawl, other)
        assert len(other.scan("users", "--imported")) == len(truth.seeds)


@pytest.mark.parametrize("knobs", [{}, {"laws": 23}], ids=["plain", "laws"])
def test_a_walk_that_asked_for_samples_only(tmp_path: Path, knobs: dict[str, Any]) -> None:
    """With more than three hundred lists a harvest knows which second looks show nothing, and takes
    a sample of them. What the archive lacks for that stops no user and no level."""
    with simulated(tmp_path, users=450, mean_posts=1.0, **knobs) as (crawl, truth):
        folder = archived(crawl)
        crawl.run("seed", *truth.seeds)
        looks = crawl.json("harvest")["second_looks"]
        assert any(end["unlooked"] for end in looks.values())
        assert_same_users(crawl, again(tmp_path / "again", folder))


def test_who_is_found_from_whom_does_not_go_by_the_settings_of_today(tmp_path: Path) -> None:
    """But by the order of the answers: with fewer walks at once than the crawl had, others would
    land first. Few found_from are of answers that came within milliseconds."""
    with simulated(tmp_path, users=120, guests="2020") as (crawl, truth):
        folder = archived(crawl, WEIBO_FETCH__CONCURRENCY="8")
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        other = again(tmp_path / "again", folder, WEIBO_FETCH__CONCURRENCY="1")
    assert_same_users(crawl, other)
    here, there = (
        {user["id"]: user["found_from"] for user in one.scan("users")} for one in (crawl, other)
    )
    assert sum(there[uid] != owner for uid, owner in here.items()) < len(here) / 8


def test_every_answer_of_the_site_is_kept(tmp_path: Path) -> None:
    """As many as the site's log says it gave, sessions aside; no cookie among them."""
    with simulated(tmp_path, users=60, guests="2020", faults=TRANSIENT) as (crawl, truth):
        folder = archived(crawl)
        main_job(crawl, truth)
        kept = 0
        for path in folder.iterdir():
            with path.open("rb") as file:
                for record in ArchiveIterator(file):
                    kept += record.rec_type == "response"
            assert b"SUB=" not in path.read_bytes()
        asked = [line for line in truth.served() if "genvisitor" not in line.request]
        cuts = [line for line in asked if line.served == "cut"]
        assert kept == len(asked) - len(cuts)


def test_a_harvest_killed_in_the_middle(tmp_path: Path) -> None:
    """What is in the tables after kill -9 is in the archive; the same after it went on."""
    knobs = {"users": 100, "seed": 5, "faults": "slow=0.3", "slow_s": 0.05}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        folder = archived(crawl)
        crawl.run("seed", *truth.seeds)
        process = crawl.start("harvest")
        deadline = time.monotonic() + 30
        while len(crawl.scan("users")) < 30 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        held = users(crawl)
        half = again(tmp_path / "half", folder)
        assert set(held) <= set(users(half))
        crawl.run("harvest")
        crawl.run("import")
        crawl.run("posts", "--runner", "inline")
        assert_equal(crawl, again(tmp_path / "again", folder))


def test_who_is_forgotten_is_not_in_the_archive(tmp_path: Path) -> None:
    """Nor in tables that come from it."""
    with simulated(tmp_path, users=80, mean_posts=8.0, seed=3) as (crawl, truth):
        folder = archived(crawl)
        main_job(crawl, truth)
        uid, name = most_reposted(crawl, truth)
        done = crawl.json("forget", "--yes", str(uid))
        assert done["archive_dropped"] > 0
        assert done["archive_blanked"] > 0
        for path in folder.iterdir():
            assert whole(path)
            with path.open("rb") as file:
                for record in ArchiveIterator(file):
                    body = record.content_stream().read().decode("utf-8", "replace")
                    said = f"{record.rec_headers} {body}"
                    assert str(uid) not in said
                    assert f'"screen_name":"{name}"' not in said
        other = again(tmp_path / "again", folder)
        assert uid not in users(other)
        mids = {post["mid"] for post in crawl.scan("posts")}
        assert {post["mid"] for post in other.scan("posts")} <= mids


def test_what_is_needed_is_said(tmp_path: Path) -> None:
    """Without warcio, without a folder, and where a folder holds no archive."""
    crawl = Crawl(tmp_path)
    assert "archive.folder" in crawl.run("reparse", code=2).stderr
    assert "*.warc.gz" in crawl.run("reparse", str(tmp_path), code=2).stderr
    crawl.run("init")
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "warcio.py").write_text("raise ImportError('no warcio')")
    path = f"{tmp_path / 'blocked'}:{crawl.env['PYTHONPATH']}"
    crawl.env |= {"PYTHONPATH": path, "WEIBO_ARCHIVE__FOLDER": "archive"}
    for words in (("reparse", "."), ("seed", "7"), ("forget", "--yes", "7")):
        assert "weibo-hadoop[archive]" in crawl.run(*words, code=3).stderr


def test_a_folder_that_cannot_be_written_ends_with_5(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    (tmp_path / "file").write_text("")
    said = crawl.run("seed", "7", code=5, WEIBO_ARCHIVE__FOLDER="file").stderr
    assert "archive.folder" in said
