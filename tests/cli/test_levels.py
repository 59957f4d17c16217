"""`harvest --runner`: jobs, one a level, beside a harvest on one machine of the same world."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import Crawl, Truth, simulated, until
from tests.forks import simulator
from weibo_crawler.levels.entries import LEVELS_DRIVER, STANDING, Driver, Standing
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.store.notes import DRIVER, HELD
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.walls import IN_A_ROW

ALONE = {"WEIBO_STORE__USERS": "sqlite:///alone.db", "WEIBO_STORE__TABLES": "sqlite:///alone-t.db"}
JOBS = ("harvest", "--runner", "inline")
COLUMNS = "id,depth,found_from,found_edge,walk,lists,fans,screen_name,run_id,found_at"


def users_of(crawl: Crawl, file: str = "users.db") -> SqliteUsers:
    return SqliteUsers(f"sqlite:///{crawl.folder}/{file}")


def ends(crawl: Crawl) -> dict[int, list[dict[str, Any]]]:
    """How each list ended, by the harvest on one machine."""
    users = users_of(crawl, "alone.db")
    found: dict[int, list[dict[str, Any]]] = {}
    for uid, edge, ended, sure, listed, pages, _ in users.list_ends():
        end = {"edge": edge, "ended": ended, "sure": sure, "listed": listed, "pages": pages}
        found.setdefault(uid, []).append(end)
    users.close()
    return found


def imported(crawl: Crawl) -> dict[int, dict[str, Any]]:
    rows = crawl.scan("users", "--imported", "--columns", COLUMNS)
    return {row["id"]: row for row in rows}


def standing(crawl: Crawl) -> Standing:
    users = users_of(crawl)
    held = STANDING.get(users)
    users.close()
    assert held is not None
    return held


def depths(crawl: Crawl) -> dict[int, int]:
    return {uid: row["depth"] for uid, row in imported(crawl).items()}


def test_jobs_find_what_one_machine_finds(tmp_path: Path) -> None:
    """Users, depths and ledgers are those of a harvest on one machine, and the truth (law 13); by
    whom a user was found does not go by what came first. Made again, a level changes nothing; nor
    does a level without users ask for anything. `posts` goes on from there."""
    with simulated(tmp_path, users=150, mean_posts=2.0) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("import")
        first = crawl.json("harvest", "--runner", "local", WEIBO_HARVEST__MAX_DEPTH="1")
        assert [one["level"] for one in first["levels"]] == [0]
        done = crawl.json(*JOBS)
        crawl.run("seed", *truth.seeds, **ALONE)
        crawl.run("harvest", **ALONE)
        rows = imported(crawl)
        assert {uid: row["depth"] for uid, row in rows.items()} == truth.depths
        assert {uid: row["lists"] for uid, row in rows.items()} == ends(crawl)
        assert done["kept"] == len(truth.depths)
        assert first["new"] + done["new"] == len(truth.depths) - len(truth.seeds)
        assert done["depths_exact"]
        assert [one["level"] for one in done["levels"]] == list(
            range(1, max(truth.depths.values()) + 1)
        )
        shown: dict[int, list[int]] = {}
        alone = users_of(crawl, "alone.db")
        for page in alone.seen_pages():
            for uid in page.uids:
                shown.setdefault(uid, []).append(page.owner)
        alone.close()
        for uid, row in rows.items():
            if row["depth"]:
                nearest = [by for by in shown[uid] if truth.depths[by] == row["depth"] - 1]
                assert row["found_from"] == min(nearest)

        asked = len(truth.served())
        assert crawl.json(*JOBS)["stopped"] == "nobody new is found"
        assert len(truth.served()) == asked

        users = users_of(crawl)  # as if nobody knew how the job of level 1 had ended
        runs = {row["run_id"] for row in rows.values() if row["depth"] == 2}
        STANDING.put(users, Standing(1, pending=tuple(runs)))
        users.close()
        crawl.run(*JOBS)
        assert len(truth.served()) > asked
        again = imported(crawl)
        assert {uid: row | {"lists": 0} for uid, row in again.items()} == {
            uid: row | {"lists": 0} for uid, row in rows.items()
        }
        live = {user["id"]: user for user in crawl.scan("users")}
        assert {uid: user["depth"] for uid, user in live.items()} == truth.depths
        assert {user["state"] for user in live.values()} == {"done"}
        status = crawl.json("status")
        assert status["states"] == {"done": len(truth.depths)}
        crawl.run("posts", "--runner", "inline")
        assert {post["mid"] for post in crawl.scan("posts")} == truth.posts().keys()
        gone = next(uid for uid, row in rows.items() if row["depth"] == 1)
        assert crawl.json("forget", str(gone), "--yes")["users"] == 1
        assert gone not in {
            uid for row in imported(crawl).values() for uid in (row["id"], row["found_from"])
        }
        assert crawl.json(*JOBS)["kept"] == len(truth.depths) - 1
        said = crawl.run("harvest", code=2).stderr
        assert "add --runner local" in said
        said = crawl.run(*JOBS, code=2, **ALONE).stderr
        assert "was harvested without --runner" in said


def test_a_level_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a level: what was read is stored, who is left is walked by the next
    job, and no list that was read to its end is read again."""
    slow = {"faults": "slow=1", "slow_s": 0.05}
    with simulated(tmp_path, users=150, mean_posts=0.0, **slow) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        few = {"WEIBO_FETCH__CONCURRENCY": "2"}
        process = crawl.start(*JOBS, **few)
        until(crawl, process, lambda: len(truth.served()) > 40)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130, crawl.said(process)
        assert "what was read is stored, the same command goes on" in crawl.said(process)
        before = imported(crawl)
        walked = {uid for uid, row in before.items() if row["walk"]}
        assert len(truth.seeds) <= len(walked) < len(truth.depths)
        assert not standing(crawl).pending
        done = crawl.json(*JOBS, **few, WEIBO_HARVEST__MAX_TIME_S="0.1")
        assert "max_time_s" in done["stopped"]
        walked = {uid for uid, row in imported(crawl).items() if row["walk"]}
        assert len(walked) < len(truth.depths)
        asked = len(truth.served())
        crawl.run(*JOBS)
        assert depths(crawl) == truth.depths
        assert {row["walk"] for row in imported(crawl).values()} == {"done"}
        assert not walked & {int(line.uid) for line in truth.served()[asked:] if line.uid}


def test_a_killed_level_is_made_again(tmp_path: Path) -> None:
    """kill -9 of the whole command and its maps in the middle of a level: nothing is lost, nothing
    doubled."""
    slow = {"faults": "slow=1", "slow_s": 0.05}
    with simulated(tmp_path, users=120, mean_posts=0.0, **slow) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        for requests in (60, 140):
            process = crawl.start(*JOBS)
            until(crawl, process, partial(has_served, truth, requests))
            users = users_of(crawl)
            tasks = [int(row.worker.split("/")[1]) for row in users.workers() if not row.ended]
            users.close()
            process.kill()
            process.wait()
            for pid in tasks:
                kill(pid)
            time.sleep(0.2)
        done = crawl.json(*JOBS)
        assert depths(crawl) == truth.depths
        assert done["kept"] == len(truth.depths)


def has_served(truth: Truth, requests: int) -> bool:
    return len(truth.served()) > requests


def kill(pid: int) -> None:
    """A map of a command that was killed, if it has not ended by itself."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_a_plan_is_what_jobs_then_ask_for(tmp_path: Path) -> None:
    """By the rows of the tables, as near as the plan itself says; and it says that a level is a
    job."""
    with simulated(tmp_path, users=400, mean_posts=0.0) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        assert crawl.json(*JOBS, "--plan")["requests"] is None
        crawl.run(*JOBS, WEIBO_HARVEST__MAX_DEPTH="2")
        plan = crawl.json(*JOBS, "--plan", WEIBO_HARVEST__MAX_DEPTH="3")
        depth = {uid: row["depth"] for uid, row in imported(crawl).items()}
        assert plan["users"] == sum(n == 2 for n in depth.values())
        assert plan["next_level"] == 2
        before = len(truth.served())
        crawl.run(*JOBS, WEIBO_HARVEST__MAX_DEPTH="3")
        asked = len(truth.served()) - before
        assert abs(plan["requests"] / asked - 1) <= max(0.1, plan["spread"])
        plan = crawl.json(*JOBS, "--plan", WEIBO_HARVEST__MAX_USERS="1000")
        met = {uid: row["run_id"] for uid, row in imported(crawl).items()}
        last = max(met.values())
        new = sum(run_id == last for run_id in met.values())
        sent = len(truth.served()) - before
        assert plan["to_max_users"] == pytest.approx((1000 - len(met)) * sent / new, rel=0.1)
        assert "one job a level" in crawl.run(*JOBS, "--plan").stdout


@pytest.mark.parametrize(
    ("owner", "began_s_ago", "spoke_s_ago", "is_refused"),
    [
        ("here", 1e6, 1e6, True),  # it lives, whatever its clock says
        ("dead", 0.0, 0.0, False),
        ("elsewhere_1_2/7/8/9", 10.0, 1e4, True),
        ("elsewhere_1_2/7/8/9", 1e4, 10.0, True),  # its job lasts
        ("elsewhere_1_2/7/8/9", 1e4, 1e4, False),
        ("elsewhere_1_2/7/8/9", -1e4, -1e4, False),  # its clock was ahead
    ],
)
def test_one_driver_at_a_time_counts_users_and_levels(
    tmp_path: Path, owner: str, began_s_ago: float, spoke_s_ago: float, is_refused: bool
) -> None:
    """A second one is told who is at work, and does nothing; one that is dead, or on another
    machine says nothing for minutes, is in nobody's way."""
    with simulated(tmp_path, users=30, mean_posts=1.0) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.env["WEIBO_HARVEST__MAX_DEPTH"] = "0"
        if owner == "dead":
            child = subprocess.Popen(["true"])
            alive = new_owner().split("/")
            owner = "/".join([alive[0], str(child.pid), *alive[2:]])
            child.wait()
        users = users_of(crawl)
        now, owner = time.time(), new_owner() if owner == "here" else owner
        held = Driver(owner, now - began_s_ago, "its-run")
        LEVELS_DRIVER.put(users, held)
        DRIVER.of("its-run").put(users, now - spoke_s_ago)
        done = crawl.ended(*JOBS)
        if is_refused:
            assert done.returncode == 2
            assert "another `harvest --runner` walks the same users (process " in done.stderr
            assert LEVELS_DRIVER.get(users) == held
            assert not imported(crawl)
        else:
            assert done.returncode == 0
            assert {str(uid) for uid in depths(crawl)} == set(truth.seeds)
            assert LEVELS_DRIVER.get(users) == Driver()  # and the next one begins at once
        users.close()


def test_jobs_stop_by_the_rules(tmp_path: Path) -> None:
    """max_users to the very user, and with a larger one the level is walked anew, so that nobody is
    missing; max_depth; seeds that come later are walked, and their people found."""
    with simulated(tmp_path, users=120, mean_posts=0.0) as (crawl, truth):
        first, *others = truth.seeds
        crawl.run("seed", first)
        done = crawl.json(*JOBS, WEIBO_HARVEST__MAX_USERS="5")
        assert "max_users = 5" in done["stopped"]
        assert len(imported(crawl)) == done["kept"] == 5
        users = users_of(crawl)  # as if a reducer had been killed that had taken room for 15
        HELD.put(users, 20)
        users.close()
        done = crawl.json(*JOBS, WEIBO_HARVEST__MAX_USERS="12")
        assert len(imported(crawl)) == done["kept"] == 12
        done = crawl.json(*JOBS, WEIBO_HARVEST__MAX_DEPTH="2")
        assert "max_depth = 2" in done["stopped"]
        assert max(depths(crawl).values()) == 2
        crawl.run("seed", first, **ALONE)
        crawl.run("harvest", **ALONE, WEIBO_HARVEST__MAX_DEPTH="2")
        alone = users_of(crawl, "alone.db")
        assert depths(crawl) == {row.uid: row.depth for row in alone.users()}
        alone.close()
        crawl.run(*JOBS)
        assert len(others) > 0
        crawl.run("seed", *others)
        done = crawl.json(*JOBS)
        assert imported(crawl).keys() == truth.depths.keys()
        assert not done["depths_exact"]


def told(crawl: Crawl, **where: str) -> dict[int, tuple[Any, ...]]:
    """What each user's row says of the walk."""
    rows = crawl.scan("users", **where)
    return {
        row["id"]: (row["depth"], row["state"], row["screen_name"], row["fans"]) for row in rows
    }


def assert_as_alone(crawl: Crawl) -> None:
    """Users, what is known of them, and ledgers are those of the harvest on one machine."""
    assert told(crawl) == told(crawl, **ALONE)
    lists = {uid: row["lists"] for uid, row in imported(crawl).items()}
    for end in (end for some in lists.values() for end in some or ()):
        end.pop("cursor", None)
    assert {uid: some for uid, some in lists.items() if some} == ends(crawl)


def test_jobs_read_topics(tmp_path: Path) -> None:
    """Before all levels, each page once: users and depths are the truth, to the very user where
    max_users is reached; a topic that comes later is read by the next command, and whom it shows is
    kept as he was found."""
    topics = ("#河边的信#", "#纸船#")
    knobs = {"users": 120, "mean_posts": 4.0, "truth_topics": topics, "topic_pages": 2}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        crawl.env["WEIBO_HARVEST__TOPIC_PAGES"] = "2"
        crawl.run("seed", *truth.seeds, *topics)
        few = len(truth.seeds) + 2
        done = crawl.json(*JOBS, WEIBO_HARVEST__MAX_USERS=str(few))
        assert len(depths(crawl)) == done["kept"] == few
        done = crawl.json(*JOBS)
        assert depths(crawl) == truth.depths
        assert done["depths_exact"]
        assert done["topics"] == {"done": 2}
        asked = len(truth.served())
        crawl.run(*JOBS)
        assert len(truth.served()) == asked
        by_topic = {uid for uid, row in imported(crawl).items() if row["found_edge"] == "topic"}
        assert by_topic
        crawl.run("seed", "#夜班 邮差#")
        crawl.run(*JOBS)
        later = depths(crawl)
        assert truth.depths.items() <= later.items()
        assert len(truth.served()) > asked


def test_jobs_find_what_one_machine_finds_in_a_drawn_world(tmp_path: Path) -> None:
    """Where lists are walled behind page 2, end in several ways, and show people without a name, or
    without their fans."""
    options = {"seed": 977, "laws": 977, "users": 150, "mean_posts": 1.0}
    with simulated(tmp_path, **options) as (crawl, truth):
        crawl.env |= {"WEIBO_HARVEST__EDGES_IF_WALLED": "", "WEIBO_HARVEST__REST_S": "0.1"}
        for where in ({}, ALONE):
            crawl.run("seed", *truth.seeds, **where)
        crawl.run(*JOBS)
        crawl.run("harvest", **ALONE)
        assert_as_alone(crawl)
        assert depths(crawl) == truth.depths


def test_lists_that_were_walled_are_read_when_they_open(tmp_path: Path) -> None:
    """As by a harvest on one machine: each command tries a few, and reads all of an edge that has
    opened, though max_depth was reached; then there is nothing left to ask for."""
    knobs = {"seed": 3, "users": 100, "mean_posts": 4.0, "guests": "2026"}
    edges = {"WEIBO_HARVEST__EDGES": "fans,comments", "WEIBO_HARVEST__EDGES_IF_WALLED": ""}
    with simulated(tmp_path, **knobs, fans_walled=True) as (crawl, truth):
        crawl.env |= edges | {"WEIBO_HARVEST__MAX_DEPTH": "3"}
        crawl.run("seed", *truth.seeds)
        crawl.run("seed", *truth.seeds, **ALONE)
        first = crawl.json(*JOBS)
        crawl.run("harvest", **ALONE)
        assert_as_alone(crawl)
        walled = [row for row in imported(crawl).values() if "login_wall" in str(row["lists"])]
        assert len(walled) > 20
        again = crawl.json(*JOBS)
        assert 0 < again["counters"]["edge.fans.walled"] <= 2 * IN_A_ROW  # of each map
        assert again["new"] == 0
        with simulator(SimulatorOptions(**knobs)) as site:
            crawl.env |= Crawl(crawl.folder, site.base_url, site.visitor_url).env
            crawl.env |= edges | {"WEIBO_HARVEST__MAX_DEPTH": "3"}
            done = crawl.json(*JOBS)
            assert done["kept"] > first["kept"]
            assert not done["depths_exact"]
            crawl.run("harvest", **ALONE)
            assert told(crawl).keys() == told(crawl, **ALONE).keys()
            asked = crawl.json(*JOBS)["counters"].get("request.sent", 0)
            assert not asked


def test_maps_tell_each_other_of_walls(tmp_path: Path) -> None:
    """What one map has found closed to guests, the next ones do not ask for: on a site of which all
    lists are walled, jobs meet them in the first two levels alone."""
    walled = {"users": 120, "mean_posts": 4.0, "guests": "2026", "fans_walled": True}
    with simulated(tmp_path, **walled) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        done = crawl.json(*JOBS)
        crawl.run("seed", *truth.seeds, **ALONE)
        alone = crawl.json("harvest", **ALONE)
        assert depths(crawl).keys() == {user["id"] for user in crawl.scan("users", **ALONE)}
        walls = alone["counters"]["page.login_wall"]
        most = 2 * 20  # of both kinds of lists ten tell a map so, and as many are under way
        assert done["counters"]["page.login_wall"] < walls + len(done["levels"]) * most
