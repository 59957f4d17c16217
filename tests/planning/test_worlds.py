"""A plan made after the first part of a crawl beside what the site then counts, in simulated worlds
with walls: one whose rules were drawn by dice, and one as in 2026. tests/foreign/test_plans.py is
the same in a world by another hand, without walls.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import simulated
from tests.planning.crawled import check, two_parts

_EDGES = {"WEIBO_HARVEST__EDGES_IF_WALLED": ""}
WORLDS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "lists walled behind page 2": ({"laws": 40, "seed": 40, "users": 1500}, _EDGES),
    "as guests of 2026": (
        {"seed": 3, "users": 2500, "mean_posts": 4.0, "guests": "2026", "fans_walled": True},
        {},
    ),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", WORLDS)
def test_a_plan_is_what_the_site_then_counts(tmp_path: Path, name: str) -> None:
    """Within 10 %, by kind and in all, or as near as the plan itself says; and for nobody who is
    left a plan asks for nothing."""
    knobs, env = WORLDS[name]
    options: dict[str, Any] = {"mean_posts": 8.0} | knobs
    with simulated(tmp_path, **options) as (crawl, truth):
        crawl.env |= env
        walked, visited = two_parts(
            crawl, truth.seeds, lambda: [line.request for line in truth.served()], depth=2
        )
        check(walked, visited)
        assert "to follow the visited users" in crawl.run("status").stdout
        assert crawl.json("harvest")["dry"] is None  # it asked for next to nothing
        held = crawl.json("report", "--completeness")
        left = {"harvest": 0, "posts": held["unvisited"] + held["partial"] + held["failed"]}
        for stage, users in left.items():
            plan = crawl.json(stage, "--plan")
            assert plan["users"] == users
            if not users:
                assert plan["requests"] == plan["hours"] == 0
                assert "nobody is left" in crawl.run(stage, "--plan").stdout
