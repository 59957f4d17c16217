"""posts --follow, from outside."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl, simulated, until
from tests.cli.test_whole_way import whole_way
from weibo_crawler.store.sqlite.frontier import SqliteUsers

# everybody is due again some five seconds after each visit
SOON = {"WEIBO_POSTS__REVISIT_MIN_H": "0.0014", "WEIBO_POSTS__REVISIT_MAX_D": "0.00006"}
# nobody is due within the test
LATE = {"WEIBO_POSTS__REVISIT_MIN_H": "24", "WEIBO_POSTS__REVISIT_MAX_D": "2"}
WORLD = {"users": 60, "seed": 9, "mean_posts": 4.0}
_PATIENCE_S = 120.0


def jobs(crawl: Crawl) -> int:
    """How many jobs have begun, those of `posts` alone."""
    users = SqliteUsers(f"sqlite:////{str(crawl.folder / 'users.db').lstrip('/')}")
    try:
        return len({row.run_id for row in users.workers() if row.stage == "posts"})
    finally:
        users.close()


def test_users_are_visited_again_as_they_become_due(tmp_path: Path) -> None:
    """All users are visited again and again, until the time is over; then the figures of all jobs
    stand in the closing line, and what is held is what a single run holds."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        crawl.env |= SOON
        whole_way(crawl, truth)
        held = {post["mid"] for post in crawl.scan("posts")}
        done = crawl.json("posts", "--follow", "--for", "20s")
        assert done["jobs"] > 1
        assert done["users"] >= 2 * len(truth.depths)
        assert (done["existing"], done["failed"], done["new_posts"]) == (0, 0, 0)
        assert {post["mid"] for post in crawl.scan("posts")} == held == set(truth.posts())
        figures = crawl.json("report", "--completeness")
        assert (figures["partial"], figures["gaps"]) == (0, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_may_be_ended_in_its_sleep(tmp_path: Path, number: signal.Signals) -> None:
    """Law 8: asleep it holds nothing. Ctrl-C ends it with 130 and the figures; after kill -9 the
    next run finds all as it was, and asks for nothing."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        crawl.env |= LATE
        whole_way(crawl, truth)
        asked = len(truth.served())
        process = crawl.start("posts", "--follow")
        until(crawl, process, lambda: "due next, at" in crawl.said(process))
        os.killpg(process.pid, number) if number is signal.SIGKILL else process.send_signal(number)
        assert process.wait(60) == (130 if number is signal.SIGINT else -number)
        if number is signal.SIGINT:
            assert "stopped; 0 users visited, 0 new posts" in crawl.said(process)
        again = crawl.json("posts", "--refresh")
        assert again["existing"] == again["users"] == len(truth.depths)
        assert len(truth.served()) == asked
        assert {post["mid"] for post in crawl.scan("posts")} == set(truth.posts())


def test_users_who_are_imported_meanwhile_are_taken_in(tmp_path: Path) -> None:
    """It begins with nobody; users who come are visited without another command, at most the
    shortest interval later. SIGTERM ends it as Ctrl-C does."""
    few = SOON | {"WEIBO_POSTS__REVISIT_MAX_D": "2", "WEIBO_POSTS__REVISIT_POSTS": "1000"}
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        crawl.run("init")
        process = crawl.start("posts", "--follow", **few)
        until(crawl, process, lambda: "nobody is imported" in crawl.said(process))
        assert jobs(crawl) == 0
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        wanted = set(truth.posts())
        until(crawl, process, lambda: {post["mid"] for post in crawl.scan("posts")} == wanted)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
        assert "stopped; " in crawl.said(process)


def test_a_pace_that_is_short_is_told(tmp_path: Path) -> None:
    """Where all users take more requests than the pace allows, visits wait for ten new posts."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        crawl.env |= SOON
        whole_way(crawl, truth)
        paced = {"WEIBO_PACE__REQUESTS_PER_SECOND": "1"}
        process = crawl.start("posts", "--follow", "--runner", "inline", **paced)
        wanted = "the pace is short: 10 new posts a user are waited for"
        until(crawl, process, lambda: wanted in crawl.said(process))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_a_site_that_is_gone_ends_it(tmp_path: Path) -> None:
    """Exit code 4, as of any run, with the figures of all jobs."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        crawl.env |= SOON
        whole_way(crawl, truth)
    ended = crawl.run("posts", "--follow", code=4)
    assert "visits by" in ended.stderr
    assert "did not answer" in ended.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--follow", "--refresh", "--all"), "--all"),
        (("--follow", "--plan"), "--plan"),
        (("--follow", "--manifest", "ranges"), "--manifest"),
        (("--follow", "--detach", "--runner", "hadoop"), "--detach"),
        (("--for", "6h"), "--follow"),
        (("--follow", "--for", "soon"), "24h"),
    ],
)
def test_what_does_not_go_together_is_said(
    tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    """Law 14: before anything is opened or written."""
    ended = Crawl(tmp_path).run("posts", *words, code=2)
    assert told in ended.stderr
    assert not list(tmp_path.glob("*.db"))


def test_the_report_of_machines_has_the_jobs(tmp_path: Path) -> None:
    """--json closes with one line of JSON after --for, too."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        crawl.run("init")
        done = crawl.run("posts", "--follow", "--for", "1s", "--json", **LATE)
        assert json.loads(done.stdout)["users"] == 0
        assert not truth.served()
