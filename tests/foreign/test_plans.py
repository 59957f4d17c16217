"""As tests/planning/test_worlds.py, in a world by another hand, where nothing is walled."""

from pathlib import Path

import pytest

from benchmarks.foreign_world import Foreign
from tests.cli.crawls import Crawl
from tests.foreign.worlds import open_folder
from tests.planning.crawled import check, two_parts


@pytest.mark.timeout(300)
def test_a_plan_is_what_the_site_then_counts(tools: Path, nginx: None, tmp_path: Path) -> None:
    """By the log of nginx; the plan knows three lists of seeds when it is made."""
    with open_folder() as folder:
        world = Foreign(tools, folder, 1200)
        with world.served() as (base, visitor):
            crawl = Crawl(tmp_path, base, visitor)
            crawl.env["WEIBO_HARVEST__EDGES_IF_WALLED"] = ""
            asked = lambda: [line.address for line in world.log()]  # noqa: E731
            check(*two_parts(crawl, world.seeds, asked, depth=1))
