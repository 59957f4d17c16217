"""`export posts --ids` and `posts --ids FILE`: ids out, and in."""

import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl, simulated
from tests.cli.test_refreshing import days_later, stored, versions
from tests.cli.test_whole_way import signal_after, whole_way

WORLD = {"users": 60, "seed": 9, "mean_posts": 8.0}


def _told(crawl: Crawl, *ids: str, code: int = 0) -> dict[str, str]:
    """id -> what it came to."""
    (crawl.folder / "ids.txt").write_text("\n".join(ids))
    rows = crawl.run("posts", "--ids", "ids.txt", code=code).stdout.splitlines()
    told = dict(row.split() for row in rows)
    assert len(told) == len(rows)
    return told


def test_ids_go_out_and_come_in_elsewhere(tmp_path: Path) -> None:
    """A crawl gives its ids; another store, which knows nobody, gets the same posts by them, at one
    request each; to ask again changes nothing."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        whole_way(crawl, truth)
        crawl.run("export", "posts", "--ids", "-o", "ids")
        ids = (crawl.folder / "ids").read_text().splitlines()
        assert sorted(ids) == sorted(truth.posts())
        other = {"WEIBO_STORE__USERS": "sqlite:///u2.db", "WEIBO_STORE__TABLES": "sqlite:///t2.db"}
        crawl.env |= other
        crawl.run("init")
        before = len(truth.served())
        assert Counter(_told(crawl, *ids, ids[0]).values()) == {"ok": len(ids)}
        assert len(truth.served()) - before <= 1.1 * len(ids) + 3
        held = stored(crawl)
        assert {mid: post["text"] for mid, post in held.items()} == {
            mid: post["text"] for mid, post in truth.posts().items()
        }
        assert all(post["text_complete"] for post in held.values())
        assert Counter(_told(crawl, *ids).values()) == {"ok": len(ids)}
        assert stored(crawl) == held
        assert all(len(versions_of(crawl, post)) == 1 for post in held.values())


def versions_of(crawl: Crawl, post: dict[str, object]) -> list[str]:
    crawl_tables = crawl.env["WEIBO_STORE__TABLES"].removeprefix("sqlite:///")
    (crawl.folder / "tables.db").unlink(missing_ok=True)
    (crawl.folder / "tables.db").symlink_to(crawl.folder / crawl_tables)
    return versions(crawl, int(str(post["uid"])), str(post["mid"]))


def test_what_became_of_posts(tmp_path: Path) -> None:
    """Days later: edited ones are stored anew above the old text, deleted ones are marked and kept;
    of a number that is no post the site says nothing that anybody knows."""
    knobs = WORLD | {"edited_per_day": 0.02, "deleted_per_day": 0.02}
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        whole_way(crawl, truth)
        before = truth.posts()
    with days_later(crawl, tmp_path, 5.0, **knobs) as now:
        stands = now.posts()
        told = _told(crawl, *before, "4803408242409549")
    assert told.pop("4803408242409549") == "unknown"
    assert told.keys() == before.keys()
    held = stored(crawl)
    for mid, post in before.items():
        if mid not in stands:
            assert told[mid] == "gone"
            assert held[mid]["gone_at"]
            assert held[mid]["text"] == post["text"]
        else:
            is_edited = stands[mid]["edits"] != post["edits"]
            assert told[mid] == ("edited" if is_edited else "ok"), mid
            assert held[mid]["text"] == stands[mid]["text"]
            assert held[mid]["is_pinned"] == post["is_pinned"]
    assert {"ok", "edited", "gone"} <= set(told.values())


def test_what_guests_are_not_shown(tmp_path: Path) -> None:
    """A site that lets nobody read posts says so of each; one that says nothing of any ends with
    exit code 4."""
    with simulated(tmp_path, **WORLD, faults="login_wall=1", max_consecutive=99) as (crawl, truth):
        crawl.run("init")
        assert set(_told(crawl, *list(truth.posts())[:3]).values()) == {"walled"}
    (tmp_path / "other").mkdir()
    with simulated(tmp_path / "other", **WORLD, faults="status_502=1", max_consecutive=99) as (
        crawl,
        truth,
    ):
        crawl.run("init")
        assert set(_told(crawl, *list(truth.posts())[:3], code=4).values()) == {"unknown"}


def test_nobody_forgotten_comes_back(tmp_path: Path) -> None:
    """Posts of whom `forget` removed are not stored by their ids either."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        whole_way(crawl, truth)
        uid, mids = next((uid, posts) for uid, posts in truth.data["posts"].items() if posts)
        crawl.run("forget", "--yes", uid)
        ids = [post["mid"] for post in mids]
        assert set(_told(crawl, *ids, code=4).values()) == {"unknown"}
        assert not stored(crawl).keys() & set(ids)


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (
            "1\nabc\nx y\n2.5\nQQ\n",
            (),
            "ids.txt:2: 'abc', ids.txt:3: 'x y', ids.txt:4: '2.5' and 1 ",
        ),
        ("# none\n", (), "no id in it"),
        ("1\n", ("--refresh",), "--refresh"),
        ("1\n", ("--plan",), "--plan"),
    ],
)
def test_slips(tmp_path: Path, text: str, words: tuple[str, ...], said: str) -> None:
    """Each wrong line is named, and what is for users does not go with ids; no table is made."""
    crawl = Crawl(tmp_path)
    (tmp_path / "ids.txt").write_text(text)
    crawl.run("seed", "1")
    assert said in crawl.run("posts", "--ids", "ids.txt", *words, code=2).stderr
    assert not (tmp_path / "tables.db").exists()
    crawl.run("export", "users", "--ids", "-o", "ids", code=2)


def test_the_figures_for_machines(tmp_path: Path) -> None:
    """--json closes with how many came to what, on stderr, as stdout bears the ids."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        mids = list(truth.posts())[:4]
        (crawl.folder / "ids.txt").write_text("\n".join(mids))
        crawl.run("init")
        said = json.loads(crawl.run("posts", "--ids", "ids.txt", "--json").stderr.splitlines()[-1])
    assert (said["ids"], said["ok"], said["unknown"]) == (4, 4, 0)
    assert said["requests"] >= 4


def test_a_stop_finishes_what_is_in_flight(tmp_path: Path) -> None:
    """Ctrl-C: what was told is stored, nothing else is asked for, exit code 130."""
    slow = {"faults": "slow=1", "slow_s": 0.3, "max_consecutive": 99}
    with simulated(tmp_path, **WORLD, **slow) as (crawl, truth):
        mids = list(truth.posts())
        (crawl.folder / "ids.txt").write_text("\n".join(mids))
        crawl.run("init")
        line = ("posts", "--ids", "ids.txt")
        crawl.env["WEIBO_FETCH__CONCURRENCY"] = "2"
        assert signal_after(crawl, truth, 4, signal.SIGINT, *line) == 130
        said = (crawl.folder / "started-0.log").read_text("utf-8")
    told = [one.split()[0] for one in said.splitlines() if one.endswith(" ok")]
    assert 2 <= len(told) < len(mids)
    assert set(told) == stored(crawl).keys()
    assert "the same command asks again" in said
