"""The seam is true: a site that is nothing like Weibo, installed as a package would be, goes the
whole way by the same commands."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.crawls import Crawl
from tests.toy.crawls import AGAIN, DEPTHS, assert_whole, held, toy_crawl, walk
from tests.toy.server import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def crawl(world: World, tmp_path: Path) -> Iterator[Crawl]:
    with toy_crawl(world, tmp_path) as crawl:
        yield crawl


def test_the_whole_way(crawl: Crawl, world: World) -> None:
    """Everybody at the true depth, every post, and a second run asks nothing new."""
    walk(crawl, "local")
    assert_whole(crawl, world)
    asked = world.asked.total()
    assert crawl.json("harvest")["new"] == 0
    assert crawl.json("posts", "--runner", "inline")["counters"] == {
        "users.input": 7,
        "users.existing": 7,
    }
    assert world.asked.total() == asked


def test_what_is_left_to_visit_is_planned(crawl: Crawl) -> None:
    """By `posts --plan`, where ids are texts, too: all whose visits are due."""
    walk(crawl)
    assert crawl.json("posts", "--plan")["users"] == 0
    assert crawl.json("posts", *AGAIN, "--plan")["users"] == 7


def test_a_refresh_reads_all_of_a_timeline_without_order(crawl: Crawl, world: World) -> None:
    """New posts are found wherever they stand, an edit is one, counts are as they are now, and what
    a whole timeline does not show any more has disappeared, its text kept."""
    walk(crawl)
    posts = world.posts["ann.b"]
    gone, edited, counted, *_ = sorted(posts)
    text, likes = posts.pop(gone)
    posts[edited] = ("another text", posts[edited][1])
    posts[counted] = (posts[counted][0], 99)
    posts["new-1"], posts["new-2"] = ("first", 1), ("second", 2)
    counters = crawl.json("posts", *AGAIN)["counters"]
    assert (counters["posts.new"], counters["posts.edited"], counters["posts.gone"]) == (2, 1, 1)
    assert held(crawl)["ann.b"] == {**posts, gone: (text, likes)}
    (lost,) = [post for post in crawl.scan("posts", "--columns", "mid,gone_at") if post["gone_at"]]
    assert lost["mid"] == gone
    again = crawl.json("posts", *AGAIN)["counters"]
    assert {again.get(f"posts.{what}", 0) for what in ("new", "edited", "gone")} == {0}


def test_a_post_that_is_counted_still_has_not_disappeared(crawl: Crawl, world: World) -> None:
    """Law 4: a timeline that shows fewer than are announced says nothing of the others."""
    walk(crawl)
    world.hidden.add(min(world.posts["ann.b"]))
    assert crawl.json("posts", *AGAIN)["counters"].get("posts.gone", 0) == 0


def test_a_visit_that_was_cut_short_goes_on_and_calls_nothing_gone(
    crawl: Crawl, world: World
) -> None:
    """What a limit left unread has not disappeared."""
    walk(crawl)
    before = held(crawl)
    crawl.run("posts", *AGAIN, WEIBO_POSTS__MAX_PAGES="1")
    assert held(crawl) == before
    assert not any(post["gone_at"] for post in crawl.scan("posts", "--columns", "gone_at"))


def test_one_user_is_looked_at(crawl: Crawl) -> None:
    """By --uid; what no uid of the site could be is said."""
    walk(crawl)
    assert {post["uid"] for post in crawl.scan("posts", "--uid", "1e3")} == {"1e3"}
    assert [user["id"] for user in crawl.scan("users", "--uid", "dee:x")] == ["dee:x"]
    assert "12 is no uid of Toy" in crawl.run("scan", "users", "--uid", "12", code=2).stderr


def test_exports_hold_texts(crawl: Crawl) -> None:
    """Ids are texts in each format, and a dataset is as it was written."""
    parquet = pytest.importorskip("pyarrow.parquet")
    walk(crawl)
    crawl.run("export", "posts", "-o", "posts.jsonl")
    lines = (crawl.folder / "posts.jsonl").read_text("utf-8").splitlines()
    ids = {(post["uid"], post["mid"]) for post in map(json.loads, lines)}
    crawl.run("export", "posts", "-o", "posts.parquet")
    table = parquet.read_table(crawl.folder / "posts.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["uid"], types["mid"]) == ("string", "string")
    assert types["created_at"] == "timestamp[ms, tz=UTC]"
    assert {(post["uid"], post["mid"]) for post in table.to_pylist()} == ids
    crawl.run("export", "--dataset", "made", "--by", "salt")
    crawl.run("verify", "made")
    card = json.loads((crawl.folder / "made/croissant.json").read_text("utf-8"))
    assert (card["name"], "of Toy and" in card["description"]) == ("toy", True)
    crawl.run("report", "-o", "report.html")
    assert crawl.json("status")["depths"] == {"0": 1, "1": 4, "2": 2}


def test_who_is_forgotten_stays_away(crawl: Crawl, world: World) -> None:
    """Rows, lists and what was found from them go, and no later run brings them back."""
    walk(crawl)
    crawl.run("forget", "eve-", "https://toy.example/@1e3", "--yes")
    everywhere = (
        crawl.scan("users")
        + crawl.scan("posts")
        + crawl.scan("edges")
        + crawl.scan("users", "--imported")
    )
    values = {value for row in everywhere for value in row.values() if isinstance(value, str)}
    assert not values & {"eve-", "1e3", "https://toy.example/@eve-"}
    assert "0x1f" in values
    crawl.run("seed", "eve-")
    crawl.run("harvest", "--retry-failed")
    crawl.run("import")
    crawl.run("posts", *AGAIN)
    assert {user["id"] for user in crawl.scan("users")} == DEPTHS.keys() - {"eve-", "1e3"}
    assert "eve-" not in held(crawl)


@pytest.mark.parametrize(
    ("command", "env", "said"),
    [
        ("harvest", {"WEIBO_HARVEST__EDGES": "fans"}, "harvest.edges: Toy has no fans"),
        ("posts", {"WEIBO_POSTS__COMMENTS": "3"}, "posts.comments: Toy has no such page"),
        ("harvest", {"WEIBO_SITE__NAME": "weibo"}, "holds users of a simulated site of toy"),
    ],
)
def test_what_a_site_lacks_is_said(
    crawl: Crawl, command: str, env: dict[str, str], said: str
) -> None:
    """Before anything is asked: the setting, and what it can be."""
    crawl.run("seed", "ann.b")
    assert said in crawl.run(command, code=3, **env).stderr


def test_a_seed_is_the_sites(crawl: Crawl) -> None:
    """What names nobody here is a bad seed."""
    assert "is nobody" in crawl.run("seed", "https://m.weibo.cn/u/1234567890", code=2).stderr


def test_the_site_is_looked_at(crawl: Crawl, world: World) -> None:
    """Its own pages, each once; what it lacks is no fault."""
    done = crawl.run("doctor", "--site", "--uid", "ann.b")
    assert done.stdout.count("Toy has no such page") == 4
    assert world.asked == {f"/users/ann.b{what}": 1 for what in ("", "/following")} | {
        "/users/ann.b/posts": 2
    }


def test_posts_are_asked_for_by_ids_where_there_are_such_pages(crawl: Crawl) -> None:
    """Before anything is asked."""
    crawl.run("seed", "ann.b")
    (crawl.folder / "ids.txt").write_text("p-1_an\n")
    said = crawl.run("posts", "--ids", "ids.txt", code=3).stderr
    assert "Toy shows no post by its id" in said
