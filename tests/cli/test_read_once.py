"""A page is asked for once: what a harvest reads of posts and comments is used by `posts`."""

import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import Crawl, Truth, simulated
from tests.cli.test_whole_way import signal_after
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.sqlite.tables import SqliteTables

pytestmark = pytest.mark.timeout(400)
_MAPPERS = 2  # of the runner `inline`
WALLED = {"guests": "2026", "fans_walled": True, "users": 80, "mean_posts": 12.0}
OPEN = {"guests": "2020", "users": 40, "mean_posts": 20.0}
DEEP = {"WEIBO_HARVEST__EDGES": "reposts,comments", "WEIBO_HARVEST__POSTS_PAGES": "2"}
WITH_COMMENTS = {"WEIBO_POSTS__COMMENTS": "3"}  # as many as a harvest reads
# what no two crawls have alike: when and by whom
OF_RUN = {"crawl:started_at", "crawl:visited_at", "crawl:next_visit", "crawl:walled_at"}
OF_RUN |= {
    "crawl:profile_at",
    "crawl:posts_per_day",
    "crawl:unsure_at",
    "crawl:as_of",
    "crawl:run_id",
}
OF_WALL = {"crawl:sure", "crawl:doubts", "crawl:refused_pages"}
MORE = {"fetched_at", "run_id"}
REFUSED = "crawl:refused_pages"


def rows(crawl: Crawl, name: str, *arguments: str) -> list[dict[str, Any]]:
    """What `scan` prints, without when and by whom."""
    return [
        {column: value for column, value in row.items() if column not in MORE}
        for row in crawl.scan(name, *arguments)
    ]


def ledgers(crawl: Crawl) -> dict[tuple[str, str], str]:
    tables = SqliteTables(f"sqlite:///{crawl.folder}/tables.db")
    try:
        return {
            (row.key, name): text
            for row in tables.userlist.scan(columns=["crawl"])
            for name, text in row.cells.items()
            if name not in OF_RUN
            # who meets a wall before others have, and whether one of them confirms it, is chance
            and not (name in OF_WALL and row.cells.get("crawl:stopped") == "login_wall")
            # so it is with the wall behind a timeline that has shown all that is announced
            and not (name == REFUSED and row.cells.get("crawl:stopped") == "end")
        }
    finally:
        tables.close()


def kept(crawl: Crawl) -> list[tuple[int, KeptPage]]:
    """The pages that wait for a visit, and of whom they are."""
    with closing(sqlite3.connect(crawl.folder / "users.db")) as conn:
        found = conn.execute("SELECT uid, url, fetched_at, body FROM kept_pages").fetchall()
    return [(uid, KeptPage._make(page)) for uid, *page in found]


def walk(crawl: Crawl, truth: Truth) -> None:
    crawl.run("seed", *truth.seeds)
    crawl.run("harvest")
    crawl.run("import")


def users_of(pages: set[str]) -> set[str]:
    """Whose timelines these are, and which posts' comments."""
    return {found[0] for page in pages if (found := re.search(r"107603\d+|hotflow\?id=\d+", page))}


def posts_and_comments(truth: Truth, start: int = 0) -> list[str]:
    """The pages of these two kinds that the site has shown, in order."""
    lines = truth.served()[start:]
    asked = [line.request for line in lines if line.served == "ok"]
    return [each for each in asked if "containerid=107603" in each or "hotflow" in each]


@pytest.mark.parametrize(
    ("knobs", "env"),
    [
        (WALLED, {}),
        (WALLED, WITH_COMMENTS),
        (OPEN, DEEP | WITH_COMMENTS),
        (WALLED | {"faults": "throttled=0.02,server_trouble=0.03,not_json=0.02"}, WITH_COMMENTS),
    ],
    ids=["walled", "walled-comments", "open", "faults"],
)
def test_no_page_that_a_harvest_read_is_asked_for_again(
    tmp_path: Path, knobs: dict[str, Any], env: dict[str, str]
) -> None:
    """Law 16, by the site's log: of what harvest was shown `posts` asks for the timeline of one
    user a mapper, by which that learns whether first pages are shown, and for two more where later
    ones are walled, by which it learns that its session is alive. Posts, profiles and ledgers are
    those of a crawl whose harvest kept nothing, and the comments that `posts` reads are among those
    that are stored; nothing is left behind, and a second `posts` asks for nothing."""
    with simulated(tmp_path, **knobs) as (crawl, truth):
        crawl.env |= env
        walk(crawl, truth)
        shown = set(posts_and_comments(truth))
        asked = len(truth.served())
        assert len(kept(crawl)) >= len(truth.depths)
        crawl.run("posts", "--runner", "inline")
        most = _MAPPERS * (1 if knobs is OPEN else 3)
        assert len(users_of(shown & set(posts_and_comments(truth, asked)))) <= most
        assert kept(crawl) == []
        cost = len(truth.served()) - asked
        crawl.run("posts", "--runner", "inline")
        assert len(truth.served()) == asked + cost
        (tmp_path / "other").mkdir()
        other = Crawl(tmp_path / "other")
        other.env |= {name: crawl.env[name] for name in crawl.env if name.startswith("WEIBO_")}
        other.env["WEIBO_HARVEST__KEEP_POSTS"] = "false"
        walk(other, truth)
        assert kept(other) == []
        asked = len(truth.served())
        other.run("posts", "--runner", "inline")
        assert len(shown & set(posts_and_comments(truth, asked))) > len(truth.depths) / 2
        assert rows(crawl, "posts") == rows(other, "posts")
        assert ledgers(crawl) == ledgers(other)
        here, there = rows(crawl, "comments"), rows(other, "comments")
        assert [row for row in here if row in there] == there  # harvest reads those of more posts
        assert len(here) > 0


def test_a_killed_harvest_loses_and_doubles_nothing_that_it_read(tmp_path: Path) -> None:
    """Law 8: kill -9 of a harvest, several times, then the way to the end: at most the pages in
    flight are asked for again, by whatever stage, and the posts are the true ones."""
    with simulated(tmp_path, **WALLED, faults="slow=0.3", slow_s=0.05) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        kills = (40, 90, 70)
        for requests in kills:
            code = signal_after(crawl, truth, requests, signal.SIGKILL, "harvest")
            assert code == -signal.SIGKILL
        crawl.run("harvest")
        crawl.run("import")
        assert signal_after(crawl, truth, 20, signal.SIGKILL, "posts") == -signal.SIGKILL
        crawl.run("posts")
        pages = posts_and_comments(truth)
        assert len(pages) - len(set(pages)) <= 32 * (len(kills) + 1)
        found = {user["id"] for user in crawl.scan("users")}
        true = {
            post["mid"]
            for uid, posts in truth.data["posts"].items()
            if int(uid) in found
            for post in posts
            if post["page"] == 1
        }
        held = [post["mid"] for post in crawl.scan("posts")]
        assert sorted(held) == sorted(true)
        assert kept(crawl) == []


def test_a_harvest_that_is_stopped_keeps_what_it_read(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a harvest: `posts` asks for no page again that it was shown."""
    with simulated(tmp_path, **WALLED, faults="slow=0.3", slow_s=0.05) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        assert signal_after(crawl, truth, 120, signal.SIGINT, "harvest") == 130
        crawl.run("import")
        shown, asked = set(posts_and_comments(truth)), len(truth.served())
        crawl.run("posts", "--runner", "inline")
        assert shown
        assert len(users_of(shown & set(posts_and_comments(truth, asked)))) <= _MAPPERS


def test_forget_leaves_no_page_that_shows_a_person(tmp_path: Path) -> None:
    """Neither their own pages nor those of others that name them; and they do not come back."""
    with simulated(tmp_path, **WALLED) as (crawl, truth):
        walk(crawl, truth)
        owners = {uid for uid, _ in kept(crawl)}
        named = {
            uid: sum(
                str(uid).encode() in page.page().body for owner, page in kept(crawl) if owner != uid
            )
            for uid in owners
        }
        uid = max(named, key=lambda each: named[each])
        assert named[uid] > 0
        before = len(kept(crawl))
        crawl.run("forget", "--yes", str(uid))
        left = kept(crawl)
        assert len(left) >= before - named[uid] - 4
        assert not [1 for owner, page in left if str(uid).encode() in page.page().body]
        assert uid not in {owner for owner, _ in left}
        crawl.run("posts", "--runner", "inline")
        assert uid not in {post["uid"] for post in crawl.scan("posts")}
        assert uid not in {comment["uid"] for comment in crawl.scan("comments")}
