"""What stands under posts, comments and reposts, in whole crawls: stored as the site shows it."""

import csv
import json
import re
import signal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.cli.crawls import Crawl, Truth, simulated
from tests.cli.test_reparse import again, archived, assert_equal, cells
from tests.cli.test_whole_way import assert_bounds, other_truth, signal_after, whole_way
from tests.webserver import answering
from weibo_crawler.records import ECHO_LISTS
from weibo_crawler.simulator.world import COMMENTS, PAGE_OF_REPOSTS, REPOSTS, World

pytestmark = pytest.mark.timeout(400)
ALL = ("--comments", "100", "--reposts", "100")  # of every post that announces some
KNOBS: dict[str, Any] = {"users": 40, "seed": 4, "mean_posts": 5.0}


def below(truth: Truth, crawl: Crawl, most: int) -> dict[str, set[tuple[str, int]]]:
    """Of each list (mid, author) as the site shows them under the stored posts; most: reposts of a
    post that it shows."""
    data = truth.data
    users, mean = len(data["users"]), KNOBS["mean_posts"]
    world = World.make(data["seed"], users, epoch=data["epoch"], mean_posts=mean)
    shown: dict[str, set[tuple[str, int]]] = {one.name: set() for one in ECHO_LISTS}
    for row in crawl.scan("posts"):
        post = world.post(int(row["mid"]))
        assert post is not None
        found = {
            "comments": world.commenters(post.mid, min(post.comments, COMMENTS)),
            "reposts": world.reposters(post)[:most],
        }
        for name, writers in found.items():
            shown[name] |= {(row["mid"], world.uid(writer)) for writer in writers}
    return shown


def stored(crawl: Crawl) -> dict[str, set[tuple[str, int]]]:
    """The same as it is stored; nothing stands there twice."""
    held = {one.name: crawl.scan(one.name) for one in ECHO_LISTS}
    found = {name: {(row["mid"], row["uid"]) for row in rows} for name, rows in held.items()}
    assert {name: len(rows) for name, rows in held.items()} == {n: len(s) for n, s in found.items()}
    return found


def test_all_that_is_shown_under_posts_is_stored(tmp_path: Path) -> None:
    """Page after page of reposts where guests are shown them; each post says how many it announced
    then, and a second run asks for nothing."""
    with simulated(tmp_path, guests="2020", **KNOBS) as (crawl, truth):
        crawl.env["WEIBO_POSTS__BELOW_PAGES"] = "9"
        whole_way(crawl, truth, *ALL)
        true = below(truth, crawl, REPOSTS)
        assert stored(crawl) == true
        assert all(len(rows) > 100 for rows in true.values())
        for row in crawl.scan("posts", "--columns", "reposts,comments,reposts_read,comments_read"):
            assert row["reposts_read"] == (row["reposts"] or None)
            assert row["comments_read"] == (row["comments"] or None)
        asked = len(truth.served())
        crawl.run("posts", *ALL)
        assert len(truth.served()) == asked


def test_guests_of_today_are_shown_the_first_reposts(tmp_path: Path) -> None:
    """Law 12: what a post announced stands beside what was shown; the closing line and the plan
    tell the price."""
    with simulated(tmp_path, guests="2026", **KNOBS) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        reposts = {"WEIBO_POSTS__REPOSTS": "100"}
        said = crawl.run("posts", "--plan", **reposts).stdout
        assert "first visits, reposts" in said
        assert "first visits, comments" not in said
        done = crawl.run("posts", "--reposts", "100").stdout
        true = below(truth, crawl, PAGE_OF_REPOSTS)["reposts"]
        assert stored(crawl) == {"reposts": true, "comments": set()}
        posts = [
            row for row in crawl.scan("posts", "--columns", "reposts_read") if row["reposts_read"]
        ]
        assert f"reposts: {len(true):,} stored, of {len(posts):,} posts" in done
        assert sum(row["reposts_read"] for row in posts) > len(true)
        crawl.run("export", "reposts", "-o", "reposts.csv")
        with (crawl.folder / "reposts.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert {(row["mid"], int(row["uid"])) for row in rows} == true
        assert all(row["text"] and row["created_at"] and row["screen_name"] for row in rows)


def test_a_killed_job_loses_no_reposts(tmp_path: Path) -> None:
    """Law 8: kill -9 twice, then the same command again: all are there, each once."""
    with simulated(tmp_path, guests="2026", faults="slow=0.3", slow_s=0.05, **KNOBS) as (c, truth):
        c.run("seed", *truth.seeds)
        c.run("harvest")
        c.run("import")
        for requests in (40, 60):
            code = signal_after(c, truth, requests, signal.SIGKILL, "posts", *ALL)
            assert code == -signal.SIGKILL
        c.run("posts", *ALL)
        assert stored(c) == below(truth, c, PAGE_OF_REPOSTS)


def test_a_list_of_another_post_is_not_stored(tmp_path: Path) -> None:
    """Law 4: a site, or what stands before it, that shows everybody the reposts of one and the same
    post: those are stored under that one alone. The others are asked for again once it tells the
    truth: of the posts that a later visit meets, which are those of page 1."""
    with simulated(tmp_path, guests="open", **KNOBS) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        site = crawl.env["WEIBO_SITE__BASE_URL"]
        post = max(truth.posts().values(), key=lambda one: one["reposts"] or 0)

        def answer(path: str) -> object:
            path = re.sub(r"(repostTimeline\?id=)\d+", rf"\g<1>{post['mid']}", path)
            with urlopen(site + path) as answered:
                return json.load(answered)

        with answering(answer) as port:
            lying = {"WEIBO_SITE__BASE_URL": f"http://127.0.0.1:{port}"}
            crawl.run("posts", "--runner", "inline", *ALL, **lying)
        true = below(truth, crawl, PAGE_OF_REPOSTS)["reposts"]
        told = stored(crawl)["reposts"]
        assert told <= true
        assert 0 < len(told) < len(true) / 4
        crawl.run("posts", "--refresh", "--all", "--runner", "inline", *ALL)
        newest: dict[int, list[str]] = {}
        for row in crawl.scan("posts"):
            newest.setdefault(row["uid"], []).append(row["mid"])
        met = {mid for mids in newest.values() for mid in sorted(mids, key=int)[-10:]}
        told = stored(crawl)["reposts"]
        assert told <= true
        assert {one for one in true if one[0] in met} <= told


def test_who_reposted_leads_on_where_lists_are_walled(tmp_path: Path) -> None:
    """The edge `reposters` finds whom the site shows under the most reposted posts, and what it
    read is stored without being asked for again (law 16)."""
    knobs = {"users": 100, "guests": "2026", "fans_walled": True}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        done = crawl.json("harvest", WEIBO_HARVEST__EDGES_IF_WALLED="reposters")
        true = other_truth(truth, ("reposters",))
        users = crawl.scan("users")
        assert_bounds({user["id"]: user["depth"] for user in users}, true)
        assert {user["found_edge"] for user in users} == {"seed", "reposters"}
        assert done["states"] == {"done": len(true)}
        crawl.run("import")
        read = [line.request for line in truth.served() if "repostTimeline" in line.request]
        asked = len(truth.served())
        crawl.run("posts")
        again = [line.request for line in truth.served()[asked:]]
        assert not any("repostTimeline" in request for request in again)
        posts = {row["mid"] for row in crawl.scan("reposts")}
        assert posts == {request.partition("id=")[2].partition("&")[0] for request in read}


def test_what_is_under_posts_comes_out_of_an_archive(tmp_path: Path) -> None:
    """Page after page, from the kept answers alone, with what each post announced."""
    with simulated(tmp_path, guests="2020", **KNOBS) as (crawl, truth):
        crawl.env["WEIBO_POSTS__BELOW_PAGES"] = "3"
        folder = archived(crawl)
        whole_way(crawl, truth, "--comments", "2", "--reposts", "1")
        other = again(tmp_path / "again", folder)
        assert_equal(crawl, other)
        for one in ECHO_LISTS:
            assert len(crawl.scan(one.name)) > 20
            assert cells(other, one.name) == cells(crawl, one.name)
