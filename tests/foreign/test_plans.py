"""As tests/planning/test_worlds.py, in a world by another hand, where nothing is walled."""

import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.foreign_world import Foreign
from tests.cli.crawls import Crawl
from tests.foreign.worlds import open_folder
from tests.planning.crawled import check, two_parts

_MARK = "/api/mark?"


class Log:
    """What nginx was asked for. It writes its log a second late, so a request of our own, which
    stands behind all others, tells when it is whole."""

    def __init__(self, world: Foreign, base: str) -> None:
        self._world, self._base, self._marks = world, base, 0

    def asked(self) -> list[str]:
        self._marks += 1
        mark = f"{_MARK}{self._marks}"
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(self._base + mark, timeout=10).close()
        deadline = time.monotonic() + 60
        while mark not in (lines := [line.address for line in self._world.log()]):
            assert time.monotonic() < deadline, "nginx does not write its log"
            time.sleep(0.1)
        return [line for line in lines if not line.startswith(_MARK)]


@pytest.mark.timeout(300)
def test_a_plan_is_what_the_site_then_counts(tools: Path, nginx: None, tmp_path: Path) -> None:
    """By the log of nginx; the plan knows three lists of seeds when it is made."""
    with open_folder() as folder:
        world = Foreign(tools, folder, 800)
        with world.served() as (base, visitor):
            crawl = Crawl(tmp_path, base, visitor)
            crawl.env["WEIBO_HARVEST__EDGES_IF_WALLED"] = ""
            check(*two_parts(crawl, world.seeds, Log(world, base).asked, depth=1))
