"""All that reads and writes tables, from outside, on a home whose tables are in HBase."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.crawls import Crawl, simulated
from tests.stack.conftest import Running, why_not
from tests.stack.hbase_worlds import drop, make
from weibo_crawler.cli.main import main

if why_not():
    pytest.skip(why_not(), allow_module_level=True)

# what may differ between two crawls of one world
DATES = {"fetched_at", "profile_fetched_at", "visited_at", "run_id", "egress"}


@pytest.fixture
def url(stack: Running) -> Iterator[str]:
    url = f"{stack.addresses['STACK_TABLES']}/t_{secrets.token_hex(4)}"
    make(url)
    yield url
    drop(url)


def scanned(crawl: Crawl, *what: str) -> list[dict[str, Any]]:
    """The rows of a scan without what differs between crawls."""
    return [
        {name: value for name, value in row.items() if name not in DATES}
        for row in crawl.scan(*what)
    ]


def test_both_homes_hold_the_same_crawl(tmp_path: Path, url: str) -> None:
    """import, posts, scan, export, report and status say the same of one walk in both homes; a
    second run adds nothing."""
    homes = ("sqlite:///tables.db", url)
    said = []
    with simulated(tmp_path, users=40) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        for number, tables in enumerate(homes):
            crawl.env["WEIBO_STORE__TABLES"] = tables
            imported = crawl.json("import")
            counters = crawl.json("posts", "--runner", "local")["counters"]
            assert crawl.json("import") == {"new": 0, "changed": 0}
            again = crawl.json("posts", "--runner", "inline")["counters"]
            assert again == {"users.input": len(truth.depths), "users.existing": len(truth.depths)}
            crawl.run("export", "posts", "-o", f"{number}.csv", "--columns", "mid,uid,text")
            crawl.run("report", "-o", f"{number}.html")
            complete = crawl.json("status")["completeness"]
            said.append(
                (
                    imported,
                    counters["posts.new"],
                    scanned(crawl, "posts"),
                    scanned(crawl, "users", "--imported"),
                    (crawl.folder / f"{number}.csv").read_text("utf-8"),
                    [value for name, value in complete.items() if not name.endswith("_visit")],
                )
            )
            assert {row["mid"] for row in crawl.scan("posts")} == set(truth.posts())
    assert said[0] == said[1]


def test_tables_that_cannot_be_reached_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command that needs them says where and what to check, in one line; exit code 5."""
    monkeypatch.chdir(tmp_path)
    for name, value in Crawl(tmp_path).env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WEIBO_STORE__TABLES", "hbase://127.0.0.1:1")
    assert main(["seed", "6"]) == 0
    for words in (
        ["init"],
        ["import"],
        ["posts"],
        ["scan", "posts"],
        ["scan", "users", "--imported"],
        ["report"],
        ["status"],
        ["export", "posts", "-o", "posts.csv"],
    ):
        capsys.readouterr()
        assert main(words) == 5
        told = capsys.readouterr().err
        assert "hbase://127.0.0.1:1" in told
        assert "check that HBase and its Thrift server" in told
        assert "Traceback" not in told
