"""Topics as seeds, from outside."""

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import Crawl, Truth, simulated, until
from tests.cli.test_reparse import again, archived, assert_equal
from tests.toy.crawls import toy_crawl
from tests.toy.server import World as ToyWorld
from weibo_crawler import config
from weibo_crawler.cli.seed import read_seeds
from weibo_crawler.errors import BadSeed
from weibo_crawler.sites import open_site

TOPICS = ("#河边的信#", "慢信", "#纸船#", "#夜班 邮差#")
NAMED = [words if words.startswith("#") else f"search:{words}" for words in TOPICS]
PAGES = {"WEIBO_HARVEST__TOPIC_PAGES": "2"}


def topical(folder: Path, **knobs: Any) -> Any:
    """A simulated site whose truth begins with seeds and topics, two pages of each."""
    return simulated(folder, truth_topics=TOPICS, topic_pages=2, **knobs)


def depths(crawl: Crawl) -> dict[int, int]:
    return {user["id"]: user["depth"] for user in crawl.scan("users")}


def searches(truth: Truth) -> list[str]:
    return [line.request for line in truth.served() if "100103type" in line.request]


def test_topics_in_a_file_of_seeds(tmp_path: Path) -> None:
    """A line that is a topic, or a search, is taken, with a comment or none, each once; what looks
    like a comment is one, as ever."""
    file = tmp_path / "seeds.txt"
    lines = [
        *("\ufeff#河边的信#", "# a comment #", "#a comment", "########", "#---- my seeds ----#"),
        *("12 # a friend #", "  #夜班 邮差#  # mine", "#one##", "# #two#", "#河边的信#"),
        *("search:慢信 # words", "search: 慢信", "##three##", "#no# topic"),
    ]
    file.write_text("\n".join(lines), "utf-8")
    seeds = read_seeds([str(file), "#纸船#", "search:a b"], open_site(config.Settings()))
    assert [(seed.uid, seed.topic) for seed in seeds] == [
        *((None, "#河边的信#"), (None, "#---- my seeds ----#"), (12, None)),
        *((None, "#夜班 邮差#"), (None, "#one#"), (None, "慢信")),
        *((None, "#纸船#"), (None, "a b")),
    ]


@pytest.mark.parametrize(
    "wrong", ["search:", "search: !?", f"#{'a' * 200}#", "search:" + "b" * 200]
)
def test_what_is_no_topic_is_named(wrong: str) -> None:
    """Law 14: with its place."""
    with pytest.raises(BadSeed, match=r"^command line: "):
        read_seeds([wrong], open_site(config.Settings()))


def test_the_walk_is_the_truth(tmp_path: Path) -> None:
    """Users and depths as from seeds and topics, the edge of each is told, and all that is said of
    topics is; a plan knows what they cost, and a second harvest asks for nothing."""
    with topical(tmp_path) as (crawl, truth):
        crawl.env |= PAGES
        assert crawl.json("seed", *NAMED[:1]) == {
            "new": 0,
            "known": 0,
            "topics": 1,
            "new_topics": 1,
        }
        assert "4 topics to read (3 new)" in crawl.run("seed", *truth.seeds, *NAMED).stdout
        plan = crawl.json("harvest", "--plan")
        assert plan["by_kind"]["topics"] == 8
        said = crawl.json("harvest")
        assert depths(crawl) == truth.depths
        assert (said["depths_exact"], said["topics"]) == (True, {"done": 4})
        assert 4 < len({*searches(truth)}) <= 8  # an end is looked at twice
        found = crawl.scan("users", "--columns", "id,depth,found_from,found_edge")
        writers = {uid for uids in truth.data["topics"].values() for uid in uids}
        by_topic = [user for user in found if user["found_edge"] == "topic"]
        assert len(by_topic) == said["counters"]["edge.topic.kept"] > 5
        assert {(user["depth"], user["found_from"]) for user in by_topic} == {(1, None)}
        assert {user["id"] for user in by_topic} <= writers
        status = crawl.run("status").stdout
        assert "topics: 4 of 4 read" in status
        assert crawl.json("status")["topics"] == {"done": 4}
        asked = len(truth.served())
        assert crawl.json("harvest")["new"] == 0
        assert len(truth.served()) == asked
        crawl.run("import")
        crawl.run("report", "-o", "report.html")
        assert "Topics read" in (crawl.folder / "report.html").read_text("utf-8")


def test_topics_alone_at_depth_0_contradict_each_other(tmp_path: Path) -> None:
    """It is said before anything is asked for, and the site is not blamed."""
    crawl = Crawl(tmp_path)
    crawl.run("seed", "#words#")
    done = crawl.run("harvest", code=3, WEIBO_HARVEST__MAX_DEPTH="0")
    assert "harvest.max_depth: 0 keeps nobody but the seeds" in done.stderr
    crawl.run("seed", "5")
    crawl.run("harvest", WEIBO_HARVEST__MAX_DEPTH="0")


@pytest.mark.parametrize("has_session", [False, True])
def test_walled_topics_cost_themselves(tmp_path: Path, has_session: bool) -> None:
    """With a visitor session and without: the crawl goes on, and says so; where there is nothing
    but topics, the site says no."""
    guests = "2020" if has_session else "open"
    with topical(tmp_path, guests=guests, topics_walled=True) as (crawl, truth):
        if not has_session:
            crawl.env["WEIBO_SITE__VISITOR_URL"] = ""
        crawl.run("seed", *NAMED)
        assert "no topic was shown" in crawl.run("harvest", code=4).stderr
        crawl.run("seed", *truth.seeds)
        walked = crawl.json("harvest")
        assert walked["topics"] == {"walled": 4}
        assert not walked["depths_exact"]
        assert depths(crawl).keys() == truth.depths.keys() - by_topics_alone(truth)
        assert "4 that guests are not shown" in crawl.run("status").stdout
        sessions = sum("genvisitor2" in line.request for line in truth.served())
        # of two runs, each of which is refused two topics before it believes the others' walls
        assert len(searches(truth)) <= 14
        assert sessions <= 6 * has_session


def by_topics_alone(truth: Truth) -> set[int]:
    """Who is kept only because topics are read."""
    users = {user["uid"]: user for user in truth.data["users"]}
    found = set(truth.data["seeds"])
    level = [*found]
    while level:
        fans = {fan for uid in level for fan in truth.data["fan_lists"][str(uid)]}
        level = [uid for uid in fans - found if users[uid]["fans"] >= truth.data["min_fans"]]
        found |= {*level}
    return truth.depths.keys() - found


def has_asked(truth: Truth, n: int) -> bool:
    return len(searches(truth)) >= n


def test_kill_it_in_the_middle_of_topics(tmp_path: Path) -> None:
    """Law 8: after kill -9 the same command loses nobody and doubles nobody, and asks at most for
    the page again that was under way."""
    with topical(tmp_path, faults="slow=1", slow_s=0.5, max_consecutive=1) as (crawl, truth):
        crawl.env |= PAGES
        crawl.run("seed", *truth.seeds, *NAMED)
        for n in (2, 4):
            process = crawl.start("harvest")
            until(crawl, process, partial(has_asked, truth, n))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        crawl.run("harvest")
        assert depths(crawl) == truth.depths
        asked = searches(truth)
        # one a kill, and a second look at each end
        assert len(asked) - len({*asked}) <= 2 + len(NAMED)


def test_several_processes_read_topics_together(tmp_path: Path) -> None:
    """The same users at the same depths; each topic is read, hardly any twice."""
    with topical(tmp_path) as (crawl, truth):
        crawl.env |= PAGES
        crawl.run("seed", *truth.seeds, *NAMED)
        said = crawl.json("harvest", "--processes", "3")
        assert said["topics"] == {"done": 4}
        assert depths(crawl) == truth.depths


def test_an_archive_brings_the_users_of_topics(tmp_path: Path) -> None:
    """Reparse fills the same stores."""
    with topical(tmp_path, guests="2020") as (crawl, truth):
        folder = archived(crawl)
        crawl.run("seed", *truth.seeds, *NAMED)
        crawl.run("harvest")
        crawl.run("import")
        other = again(tmp_path / "again", folder)
        assert_equal(crawl, other)
        assert other.json("status")["topics"] == {"done": 4}


def test_an_archive_brings_each_reading_of_a_topic(tmp_path: Path) -> None:
    """A topic that was named again was read again, when it showed other people; so it is when the
    archive is."""
    for n in "12":
        (tmp_path / n).mkdir()
    with topical(tmp_path / "1") as (crawl, _):
        folder = archived(crawl, WEIBO_HARVEST__MAX_DEPTH="1")
        crawl.run("seed", *NAMED)
        crawl.run("harvest")
        first = depths(crawl)
    with simulated(tmp_path / "2", seed=4) as (other_site, _):
        crawl.env["WEIBO_SITE__BASE_URL"] = other_site.env["WEIBO_SITE__BASE_URL"]
        crawl.run("seed", *NAMED)
        crawl.run("harvest")
        assert depths(crawl).keys() > first.keys()
    again_ = Crawl(tmp_path)
    again_.env["WEIBO_HARVEST__MAX_DEPTH"] = "1"
    again_.run("reparse", str(folder))
    assert depths(again_) == depths(crawl)


def test_who_is_forgotten_is_not_brought_back(tmp_path: Path) -> None:
    """By a topic that is read again, nor by the archive of one that was read."""
    with topical(tmp_path) as (crawl, _):
        crawl.env |= PAGES
        folder = archived(crawl)
        crawl.run("seed", *NAMED)
        crawl.run("harvest", WEIBO_HARVEST__MAX_DEPTH="1")
        (gone, *others) = [user["id"] for user in crawl.scan("users")]
        crawl.run("forget", str(gone), "--yes")
        crawl.run("seed", *NAMED)
        crawl.run("harvest", WEIBO_HARVEST__MAX_DEPTH="1")
        assert depths(crawl).keys() == {*others}
        assert str(gone).encode() not in b"".join(map(_plain, folder.rglob("*.warc*")))


def _plain(path: Path) -> bytes:
    from weibo_crawler.archive.members import members

    return b"".join(member.data for member in members(path))


def test_a_topic_is_nobody_to_forget(tmp_path: Path) -> None:
    """It is named, and nothing is done."""
    crawl = Crawl(tmp_path)
    crawl.run("seed", "12")
    assert "is a topic" in crawl.run("forget", "12", "#纸船#", "--yes", code=2).stderr
    assert depths(crawl) == {12: 0}


def test_a_site_may_have_no_topics(tmp_path: Path) -> None:
    """It says so by its pages; then such a seed is refused before anything is written."""
    with toy_crawl(ToyWorld(), tmp_path) as crawl:
        said = crawl.run("seed", "ann.b", "#纸船#", code=2).stderr
        assert "Toy has no topics to read" in said
