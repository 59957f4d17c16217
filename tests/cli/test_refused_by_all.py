"""A site that refuses all, by its words or by its haste, where no pace is set."""

import re
from pathlib import Path

import pytest

from tests.cli.crawls import simulated
from tests.cli.test_shut_kinds import closing


@pytest.mark.parametrize(("status", "after"), [(418, 0), (403, 0), (418, 60)])
def test_a_site_that_refuses_all_ends_a_harvest(tmp_path: Path, status: int, after: int) -> None:
    """Law 10: exit code 4 and the reason after few requests, whether or not something was shown
    before, and however few users are left to ask for; so does each run after it, though all that it
    asks for was refused before."""
    with simulated(tmp_path) as (crawl, truth):
        crawl.env["WEIBO_HARVEST__REST_S"] = "2"
        with closing(crawl.env["WEIBO_SITE__BASE_URL"], "/", status, after=after) as (url, asked):
            crawl.env["WEIBO_SITE__BASE_URL"] = url
            crawl.run("seed", *truth.seeds[:2])
            for command in (["harvest"], ["harvest", "--retry-failed"]):
                asked.clear()
                said = crawl.run(*command, code=4).stderr
                assert "the site says no: " in said
                assert re.search(rf"\b{status}\b", said)
                assert len(asked) <= 100
        assert {user["state"] for user in crawl.scan("users")} <= {"done", "resting", "queued"}
