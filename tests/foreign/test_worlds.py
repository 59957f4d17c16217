"""The whole way on a world by another hand."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.foreign.worlds import build, crawl_of, open_folder, run, served_by_nginx, walk

pytestmark = pytest.mark.timeout(180)


@pytest.mark.usefixtures("nginx")
@pytest.mark.parametrize("options", [(), ("--exact",)], ids=["shows-less", "exact"])
def test_one_pass_holds_the_truth(tools: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    """One seed, harvest, import and posts hold exactly what the world shows: every user with depth,
    name and fans, every post with text, date, pin and original. Odd cards, five forms of an end
    and lists that show less than they announce cost nothing."""
    with open_folder() as folder:
        world = build(tools, folder, *options)
        with (
            served_by_nginx(world) as port,
            crawl_of(tmp_path / "crawl", port, guest=True) as crawl,
        ):
            assert not walk(crawl, world)


@pytest.mark.usefixtures("nginx")
def test_pages_of_posts_that_a_harvest_read_are_asked_for_once(tools: Path, tmp_path: Path) -> None:
    """By nginx's log: with `reposts` among the edges harvest reads page 1 of all posts. Each
    is asked for again for one user a mapper only, and by harvest itself where it needs a witness;
    the posts are those of a crawl that asks."""
    held, again = [], []
    with open_folder() as folder:
        world = build(tools, folder)
        for keeps in ("true", "false"):
            (folder / "log").unlink(missing_ok=True)
            with (
                served_by_nginx(world) as port,
                crawl_of(
                    *(tmp_path / keeps, port),
                    guest=True,
                    WEIBO_HARVEST__EDGES="fans,reposts",
                    WEIBO_HARVEST__KEEP_POSTS=keeps,
                ) as crawl,
            ):
                run(crawl, "seed", *world.seeds)
                run(crawl, "harvest")
                run(crawl, "import")
                run(crawl, "posts", "--runner", "inline")
                posts = sorted(crawl.scan("posts"), key=lambda post: post["mid"])
                held.append([(post["mid"], post["text"], post["repost_of"]) for post in posts])
            log = (folder / "log").read_text("utf-8")
            firsts = Counter(map(int, re.findall(r"containerid=107603(\d+)(?:&page=1)? ", log)))
            again.append(
                sum(firsts[uid] - 1 for uid in {post["uid"] for post in posts} & {*firsts})
            )
    assert again[0] <= again[1] / 8
    assert again[1] > 100
    assert held[0] == held[1]
