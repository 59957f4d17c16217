"""From seeds to scan, from outside, compared with the truth of the simulated world."""

import os
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl, Truth, outcomes, simulated, until
from tests.simulator.ways import kept
from weibo_crawler.simulator.options import SimulatorOptions
from weibo_crawler.simulator.world import World

pytestmark = pytest.mark.timeout(400)
_PATIENCE_S = 200.0  # a new session that ends early may rest for a minute, and then for two
TRANSIENT = (
    "throttled=0.01,server_trouble=0.02,status_502=0.01,cut=0.02,garbage_status=0.01,"
    "no_content=0.02,truncated_json=0.02,empty_200=0.01,early_close=0.01,bad_gzip=0.01,"
    "html_busy=0.01,drifted=0.005"
)
# how far a date may be from the truth, by what the site showed: a second is a second
TOLERANCE_S = {"second": 0, "mid": 1, "minute": 61, "hour": 3601, "day": 86400}
COMPARED = (
    *("text", "is_pinned", "repost_of"),
    *("reposts", "comments", "likes", "source", "region"),
)


def assert_true(crawl: Crawl, truth: Truth) -> None:
    """Sets, not counts: users with depths, posts with texts."""
    users = crawl.scan("users")
    assert {user["id"]: user["depth"] for user in users} == truth.depths
    assert {user["state"] for user in users} == {"done"}
    columns = ",".join((*COMPARED, "mid", "created_at", "created_at_precision", "text_complete"))
    posts = {post["mid"]: post for post in crawl.scan("posts", "--columns", columns)}
    expected = truth.posts()
    assert set(posts) == set(expected)
    for mid, post in posts.items():
        for name in COMPARED:
            assert post[name] == expected[mid][name], (mid, name)
        said = datetime.fromisoformat(post["created_at"])
        true = datetime.fromisoformat(expected[mid]["created_at"])
        assert abs((said - true).total_seconds()) <= TOLERANCE_S[post["created_at_precision"]], mid
        assert post["text_complete"]


def whole_way(crawl: Crawl, truth: Truth, *posts: str) -> dict[str, int]:
    """All stages; the outcomes of the map job add up to its input (law 6). Its counters."""
    crawl.run("seed", *truth.seeds)
    crawl.run("harvest")
    crawl.run("import")
    counters = crawl.json("posts", *posts)["counters"]
    assert outcomes(counters) == counters["users.input"] == len(truth.depths)
    return counters


@pytest.mark.parametrize(
    ("knobs", "runner"),
    [
        ({}, "local"),
        ({"paging": "since_id", "dates": "relative", "numbers": "ints", "epoch": 0}, "inline"),
        ({"guests": "2020", "session_requests": 150, "gzip": True}, "local"),
        ({"faults": TRANSIENT, "guests": "2020"}, "local"),
    ],
    ids=["plain", "since_id-relative", "sessions", "faults"],
)
def test_the_crawl_is_the_truth(tmp_path: Path, knobs: dict[str, object], runner: str) -> None:
    """The users kept are the true breadth-first set, the posts the true set, texts whole; a second
    run adds nothing and, where nothing was in doubt, asks nothing."""
    if knobs.get("epoch") == 0:
        knobs = {**knobs, "epoch": int(time.time())}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        first = whole_way(crawl, truth, "--runner", runner)
        if failed := first.get("users.failed"):  # a machine so busy that two answers stalled
            counters = crawl.json("posts")["counters"]
            assert counters["users.input"] - counters["users.existing"] == failed, (first, counters)
            assert not counters.get("users.failed")
        assert_true(crawl, truth)
        asked = len(truth.served())
        again = [
            crawl.json("harvest"),
            crawl.json("import"),
            crawl.json("posts", "--runner", "inline"),
        ]
        counters = again[2]["counters"]
        existing = {"users.input": len(truth.depths), "users.existing": len(truth.depths)}
        assert counters == existing, first
        assert (again[0]["new"], again[2]["new_posts"]) == (0, 0)
        assert again[1] == {"new": 0, "changed": 0}
        assert len(truth.served()) == asked
        assert_true(crawl, truth)


def test_seeds_by_name_and_address(tmp_path: Path) -> None:
    """Screen names are resolved by the site; one it does not know stops all, before anything is
    stored."""
    with simulated(tmp_path, users=60) as (crawl, truth):
        names = {user["uid"]: user["screen_name"] for user in truth.data["users"]}
        uids = [int(uid) for uid in truth.seeds[:2]]
        lines = [f"@{names[uids[0]]}", f"https://m.weibo.cn/u/{uids[1]}", "nobody-of-this-name"]
        seeds = crawl.folder / "seeds.txt"
        seeds.write_text("\n".join(lines), "utf-8")
        assert "seeds.txt:3:" in crawl.run("seed", "seeds.txt", code=2).stderr
        assert crawl.scan("users") == []
        seeds.write_text("\n".join(lines[:2]), "utf-8")
        crawl.run("seed", "seeds.txt")
        assert [user["id"] for user in crawl.scan("users")] == uids


def test_follows_lead_to_users_as_well(tmp_path: Path) -> None:
    """harvest.edges: the walk is exact over several kinds of lists, and each user says which one
    it was found by."""
    with simulated(tmp_path, users=150, seed=4) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest", WEIBO_HARVEST__EDGES="fans,follows")
        epoch = SimulatorOptions().epoch
        world = World.make(4, 150, epoch=epoch, mean_posts=6.0)
        edges = ("fans", "follows")
        users = crawl.scan("users")
        true = kept(world, map(int, truth.seeds), 10, edges)
        assert {user["id"]: user["depth"] for user in users} == true
        assert {user["found_edge"] for user in users} == {"seed", *edges}


def test_a_guest_cap_is_told_as_incomplete(tmp_path: Path) -> None:
    """Law 12: where guests see one page, what is held is those pages, and the share says so."""
    with simulated(tmp_path, guests="2026", mean_posts=20.0, users=120) as (crawl, truth):
        whole_way(crawl, truth)
        first = {mid for mid, post in truth.posts().items() if post["page"] == 1}
        assert {post["mid"] for post in crawl.scan("posts")} == first
        figures = crawl.json("report", "--completeness")
        assert figures["stored"] == len(first)
        assert figures["announced"] == len(truth.posts())
        assert figures["stopped"]["login_wall"] > 0
        assert figures["share"] < 1


def test_walled_fan_lists_end_the_run_loudly(tmp_path: Path) -> None:
    """Exit code 4 where every edge is walled: nothing is stored as empty, the seeds can be asked
    again."""
    with simulated(tmp_path, guests="2026", fans_walled=True) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        done = crawl.run("harvest", code=4, WEIBO_HARVEST__EDGES_IF_WALLED="follows")
        assert "login_wall" in done.stderr
        assert {user["state"] for user in crawl.scan("users")} <= {"failed", "queued", "resting"}


def other_truth(truth: Truth, edges: tuple[str, ...], **knobs: float) -> dict[int, int]:
    """The true walk over these edges in the world that the simulator shows."""
    users = len(truth.data["users"])
    seed, epoch = truth.data["seed"], truth.data["epoch"]
    world = World.make(seed, users, epoch=epoch, **({"mean_posts": 6.0} | knobs))
    return kept(world, truth.data["seeds"], 10, edges)


def assert_bounds(depths: dict[int, int], true: dict[int, int]) -> None:
    """The same users, none nearer than in truth: where lists are walled the order is free."""
    assert depths.keys() == true.keys()
    assert all(depths[uid] >= depth for uid, depth in true.items())


def test_a_cold_start_with_walled_fan_lists_finds_users(tmp_path: Path) -> None:
    """With plain settings a guest of 2026 who is shown no fan lists still finds users: exactly
    those of the other edges. What was not shown is said, with edge, number and date, by the closing
    line and by status; a later run asks a few times only."""
    with simulated(tmp_path, guests="2026", fans_walled=True) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        said = crawl.run("harvest").stdout
        users = crawl.scan("users")
        for edge in ("reposts", "comments"):
            n = sum(user["found_edge"] == edge for user in users)
            assert f"{edge} brought {n} users by" in said
        done = crawl.json("harvest")
        true = other_truth(truth, ("reposts", "comments"))
        assert_bounds({user["id"]: user["depth"] for user in users}, true)
        assert {user["state"] for user in users} == {"done"}
        assert {user["found_edge"] for user in users} <= {"seed", "reposts", "comments"}
        assert {edge: one["lists"] for edge, one in done["walled"].items()} == {
            "fans": len(true),
            "follows": len(true),
        }
        for said in (crawl.run("status").stdout, crawl.run("harvest").stdout):
            assert f"fans: guests are not shown {len(true)} lists (login wall) since 20" in said
        before = len(truth.served())
        again = crawl.json("harvest")
        assert (again["new"], again["kept"]) == (0, len(true))
        # ten lists of two edges, three looks at most, sessions and what proves that the site talks
        assert len(truth.served()) - before < 90


def test_other_edges_keep_the_truth_among_faults(tmp_path: Path) -> None:
    """Laws 3 to 5 for the edges that are read from posts: passing faults of all kinds lose nobody
    and move no depth."""
    edges = ("reposts", "comments", "mentions")
    knobs = {"users": 150, "mean_posts": 12.0, "seed": 8}
    with simulated(tmp_path, guests="2020", faults=TRANSIENT, **knobs) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        done = crawl.json("harvest", WEIBO_HARVEST__EDGES=",".join(edges))
        depths = {user["id"]: user["depth"] for user in crawl.scan("users")}
        assert depths == other_truth(truth, edges, mean_posts=12.0)
        assert done["states"] == {"done": len(depths)}
        assert done["unsure_lists"] == 0


def test_refresh_brings_new_posts_only(tmp_path: Path) -> None:
    """Coming back days later: the new posts are stored, old pages are not read again."""
    with simulated(tmp_path, users=120, seed=9) as (crawl, truth):
        whole_way(crawl, truth)
        before = len(truth.posts())
    later = tmp_path / "later"
    later.mkdir()
    with simulated(later, users=120, seed=9, days_later=20.0) as (there, truth):
        crawl.env["WEIBO_SITE__BASE_URL"] = there.env["WEIBO_SITE__BASE_URL"]
        crawl.env["WEIBO_SITE__VISITOR_URL"] = there.env["WEIBO_SITE__VISITOR_URL"]
        done = crawl.json("posts", "--refresh", "--all")
        held = {post["mid"] for post in crawl.scan("posts")}
        kept = {str(user["id"]) for user in crawl.scan("users")}
        now = {p["mid"] for uid, posts in truth.data["posts"].items() if uid in kept for p in posts}
        assert len(now) > before
        assert done["new_posts"] == len(now) - before
        assert now <= held


def signal_after(
    crawl: Crawl, truth: Truth, requests: int, number: signal.Signals, *arguments: str
) -> int:
    """Start a command, send it a signal when the site has seen so many requests; its exit code.
    SIGKILL goes to its whole group, any other to the process alone. Who is to hear a Ctrl-C is
    started as a shell does."""
    asked = len(truth.served())
    start = crawl.start_anew if number is signal.SIGINT else crawl.start
    process = start(*arguments)
    deadline = time.monotonic() + _PATIENCE_S
    while len(truth.served()) < asked + requests:
        assert process.poll() is None, "it ended before the signal"
        if time.monotonic() > deadline:
            process.kill()
            raise AssertionError(f"it asks for nothing more: {crawl.said(process)}")
        time.sleep(0.02)
    if number is signal.SIGKILL:
        os.killpg(process.pid, number)
    else:
        os.kill(process.pid, number)
    return process.wait(60)


def test_a_killed_harvest_goes_on(tmp_path: Path) -> None:
    """Law 8: kill -9 in the middle, several times; a plain restart loses and doubles nobody, and
    asks again for at most the pages in flight."""
    with simulated(tmp_path, users=400, seed=5, faults="slow=0.3", slow_s=0.05) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        kills = (30, 100, 50, 80)
        for requests in kills:
            code = signal_after(crawl, truth, requests, signal.SIGKILL, "harvest")
            assert code == -signal.SIGKILL
        assert len(crawl.scan("users")) < len(truth.depths)
        crawl.run("harvest")
        users = crawl.scan("users")
        assert {user["id"]: user["depth"] for user in users} == truth.depths
        assert {user["state"] for user in users} == {"done"}
        pages = [line.request for line in truth.served() if line.served == "ok"]
        assert len(pages) - len(set(pages)) <= 32 * len(kills)


def test_a_killed_harvest_over_other_edges_goes_on(tmp_path: Path) -> None:
    """Law 8 where fan lists are walled: kill -9 in the middle, several times; a plain restart loses
    and doubles nobody, and forgets no walled list."""
    knobs = {"guests": "2026", "fans_walled": True, "faults": "slow=0.3", "slow_s": 0.05}
    with simulated(tmp_path, users=250, seed=5, **knobs) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        for requests in (30, 80, 60):
            code = signal_after(crawl, truth, requests, signal.SIGKILL, "harvest")
            assert code == -signal.SIGKILL
        true = other_truth(truth, ("reposts", "comments"))
        assert len(crawl.scan("users")) < len(true)
        done = crawl.json("harvest")
        users = crawl.scan("users")
        assert_bounds({user["id"]: user["depth"] for user in users}, true)
        assert {user["state"] for user in users} == {"done"}
        assert not done["depths_exact"]  # walled lists make them bounds
        assert done["walled"]["fans"]["lists"] == len(true)


def test_runs_side_by_side_keep_the_pace(tmp_path: Path) -> None:
    """Law 10: a harvest, several mappers and a check share one egress at one pace; a killed run
    gives it up at once."""
    paced = {
        "WEIBO_PACE__REQUESTS_PER_SECOND": "25",
        "WEIBO_EGRESS__LEASE_S": "1",
        "WEIBO_POSTS__RANGES": "4",
    }
    with simulated(tmp_path, users=30, mean_posts=2.0) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("import")
        first = crawl.start("harvest", **paced)
        while len(truth.served()) < 5:
            time.sleep(0.02)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        second = crawl.start("harvest", **paced)
        posts = crawl.start("posts", **paced)
        checked = crawl.json("proxies", "check", **paced)["egresses"]
        assert [row["state"] for row in checked] in (["used"], ["good"])
        assert second.wait(90) == posts.wait(90) == 0
        crawl.run("import")
        crawl.run("posts", **paced)
        assert_true(crawl, truth)
        times = sorted(line.time for line in truth.served())
        assert len(times) > 40
        for one, later in zip(times, times[20:], strict=False):
            assert later - one >= 20 / 25 - 0.3  # twice the pace would be 0.4 s less


def test_a_store_that_vanishes_is_said(tmp_path: Path) -> None:
    """Exit code 5: what is written into a deleted file would be lost without a word."""
    with simulated(tmp_path, faults="slow=0.3", slow_s=0.5) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        process = crawl.start("harvest")
        while len(truth.served()) < 20:
            time.sleep(0.02)
        for file in crawl.folder.glob("users.db*"):
            file.unlink(missing_ok=True)  # its log goes away with the last who has it open
        assert process.wait(60) == 5


def test_a_killed_posts_job_goes_on(tmp_path: Path) -> None:
    """Law 8: the driver alone is killed; its mappers end by themselves, and the same command stores
    all posts without doubling any."""
    with simulated(tmp_path, users=60, mean_posts=8.0, faults="slow=0.3", slow_s=0.1) as (
        crawl,
        truth,
    ):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        for requests in (20, 40, 30):
            code = signal_after(crawl, truth, requests, signal.SIGKILL, "posts")
            assert code == -signal.SIGKILL
        crawl.run("posts")
        assert_true(crawl, truth)


def test_whichever_process_of_the_job_is_killed_the_run_ends(tmp_path: Path) -> None:
    """Law 8: the job, or any process below it, is killed alone: the command ends with exit code 1,
    says so, and the same command stores the rest."""
    with simulated(tmp_path, users=60, mean_posts=8.0, faults="slow=0.5", slow_s=0.2) as (
        crawl,
        truth,
    ):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        n = deepest = 0
        while n <= deepest:
            asked = len(truth.served())
            process = crawl.start_anew("posts", "--runner", "local")
            until(crawl, process, lambda: len(truth.served()) >= asked + 10)  # noqa: B023
            below = below_of(process.pid)
            deepest = len(below) - 1  # mappers come and go, so there may be fewer than before
            os.kill(below[min(n, deepest)], signal.SIGKILL)
            assert process.wait(60) == 1, crawl.said(process)
            assert "a mapper was killed or broke" in crawl.said(process)
            n += 1
        crawl.run("posts", "--runner", "inline")
        assert_true(crawl, truth)


def below_of(pid: int) -> list[int]:
    """The processes that this one started, and those that they started, by generation."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    mine = [int(child) for thread in threads for child in thread.read_text().split()]
    return mine + [one for child in mine for one in below_of(child)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_ends_children_and_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    """Exit code 130 after a clean stop; no mapper is left, and a later run stores the rest."""
    with simulated(tmp_path, users=40, mean_posts=5.0, faults="slow=0.6", slow_s=0.3) as (
        crawl,
        truth,
    ):
        crawl.run("seed", *truth.seeds)
        assert signal_after(crawl, truth, 20, number, "harvest") == 130
        assert not [user for user in crawl.scan("users") if user["state"] == "leased"]
        crawl.run("harvest")
        crawl.run("import")
        assert signal_after(crawl, truth, 30, number, "posts") == 130
        asked = len(truth.served())
        time.sleep(1)
        assert len(truth.served()) == asked
        crawl.run("posts", "--runner", "inline")
        assert_true(crawl, truth)
