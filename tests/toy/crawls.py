"""Crawls of the toy site by the real commands, the site installed as a package would be."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.crawls import Crawl
from tests.toy import site
from tests.toy.server import World, serving

_ABOUT = {
    "METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1\n",
    "entry_points.txt": "[weibo_crawler.sites]\ntoy = toy_site:open_site\n",
    "RECORD": "toy_site.py,,\ntoy-1.dist-info/METADATA,,\ntoy-1.dist-info/entry_points.txt,,\n",
}
AGAIN = ("--runner", "inline", "--refresh", "--all")
DEPTHS = {"ann.b": 0, "bob": 1, "c-d_e": 1, "1e3": 1, "dee:x": 1, "eve-": 2, "0x1f": 2}


@contextmanager
def toy_crawl(world: World, folder: Path) -> Iterator[Crawl]:
    """A crawl of this world, in a new folder below this one."""
    packages = folder / "packages"
    about = packages / "toy-1.dist-info"
    about.mkdir(parents=True)
    for name, text in _ABOUT.items():
        (about / name).write_text(text)
    shutil.copy(Path(site.__file__), packages / "toy_site.py")
    (folder / "work").mkdir()
    with serving(world) as url:
        crawl = Crawl(folder / "work", url)
        del crawl.env["WEIBO_SITE__VISITOR_URL"]
        crawl.env["PYTHONPATH"] += f":{packages}"
        crawl.env |= {
            "WEIBO_SITE__NAME": "toy",
            "WEIBO_HARVEST__EDGES": "follows",
            "WEIBO_HARVEST__MIN_FANS": "0",
        }
        yield crawl
        crawl.end()


def walk(crawl: Crawl, runner: str = "inline") -> None:
    """From the seed to the posts."""
    crawl.run("seed", "ann.b")
    crawl.run("harvest")
    crawl.run("import")
    crawl.run("posts", "--runner", runner)


def held(crawl: Crawl) -> dict[str, dict[str, tuple[str, int]]]:
    """The posts that are held, by user."""
    found: dict[str, dict[str, tuple[str, int]]] = {}
    for post in crawl.scan("posts"):
        found.setdefault(post["uid"], {})[post["mid"]] = (post["text"], post["likes"])
    return found


def assert_whole(crawl: Crawl, world: World) -> None:
    """Everybody is there at the true depth, and every post."""
    users = crawl.scan("users")
    assert {user["id"]: user["depth"] for user in users} == DEPTHS
    assert {user["state"] for user in users} == {"done"}
    assert {user["url"] for user in users} == {f"https://toy.example/@{uid}" for uid in DEPTHS}
    assert held(crawl) == {uid: posts for uid, posts in world.posts.items() if posts}
    edges = {(edge["owner"], edge["uid"]) for edge in crawl.scan("edges")}
    assert edges == {(uid, one) for uid, others in world.follows.items() for one in others}
