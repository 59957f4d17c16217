"""A site whose ids are texts has a home in MariaDB, too."""

from pathlib import Path

import pytest

from tests.store import mariadb
from tests.store.mariadb import PASSWORD, MariaDb
from tests.toy.crawls import AGAIN, DEPTHS, assert_whole, held, toy_crawl, walk
from tests.toy.server import World

pytestmark = pytest.mark.skipif(mariadb.binary() is None, reason=mariadb.why_not())


def test_the_whole_way(server: MariaDb, tmp_path: Path) -> None:
    """As in the embedded home: seed to posts, a second run, a refresh, and who is forgotten."""
    world = World()
    with toy_crawl(world, tmp_path) as crawl:
        crawl.env |= {"WEIBO_STORE__USERS": server.url(), "WEIBO_STORE__PASSWORD": PASSWORD}
        crawl.run("init")
        walk(crawl, "local")
        assert_whole(crawl, world)
        asked = world.asked.total()
        assert crawl.json("harvest")["new"] == 0
        assert world.asked.total() == asked
        world.posts["bob"]["new-1"] = ("another", 1)
        assert crawl.json("posts", *AGAIN)["counters"]["posts.new"] == 1
        crawl.run("forget", "eve-", "--yes")
        crawl.run("seed", "eve-")
        crawl.run("harvest", "--retry-failed")
        crawl.run("import")
        crawl.run("posts", *AGAIN)
        assert {user["id"] for user in crawl.scan("users")} == DEPTHS.keys() - {"eve-"}
        assert "eve-" not in held(crawl)
