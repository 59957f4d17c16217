"""A site whose ids are texts, installed as a package, goes the whole way on the cluster."""

from pathlib import Path

import pytest

from tests.stack.clusters import stores_of
from tests.stack.conftest import Running, why_not
from tests.toy.crawls import DEPTHS, assert_whole, held, toy_crawl
from tests.toy.server import World

if why_not():
    pytest.skip(why_not(), allow_module_level=True)


@pytest.mark.parametrize("via", ["builtin", "sqoop"])
def test_the_whole_way(stack: Running, tmp_path: Path, via: str) -> None:
    """seed, harvest into MariaDB, import, posts on YARN, a refresh there, and who is forgotten.
    What Sqoop has imported is read here: how rows came into the tables is the same to YARN."""
    world = World()
    with toy_crawl(world, tmp_path) as crawl, stores_of(stack, crawl):
        crawl.run("seed", "ann.b")
        crawl.run("harvest")
        assert crawl.json("import", "--via", via) == {"new": len(DEPTHS), "changed": 0}
        crawl.run("posts", "--runner", "inline" if via == "sqoop" else "hadoop")
        assert_whole(crawl, world)
        if via == "sqoop":
            return
        world.posts["bob"]["new-1"] = ("another", 1)
        one = {"WEIBO_POSTS__RANGES": "1"}  # the run before had two
        again = crawl.json("posts", "--runner", "hadoop", "--refresh", "--all", **one)
        assert again["counters"]["posts.new"] == 1
        crawl.run("export", "posts", "-o", "posts.jsonl")
        crawl.run("forget", "eve-", "--yes")
        assert {user["id"] for user in crawl.scan("users", "--imported")} == DEPTHS.keys() - {
            "eve-"
        }
        assert "eve-" not in held(crawl)
