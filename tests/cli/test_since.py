"""`posts --since` from outside: complete within its bound, cheap, and honest about the rest."""

import json
from datetime import datetime
from pathlib import Path

from tests.cli.crawls import Crawl, simulated

WORLD = {"users": 60, "seed": 9, "mean_posts": 40.0}
DATE = "2026-10-01"


def test_posts_since_a_date(tmp_path: Path) -> None:
    """Every post since then is held, at fewer requests; the closing line and the ledgers say what
    was left out on purpose; the archive gives the same again."""
    with simulated(tmp_path, **WORLD) as (crawl, truth):
        crawl.env["WEIBO_ARCHIVE__FOLDER"] = "archive"
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        said = crawl.run("posts", "--runner", "inline", "--since", DATE).stdout
        asked = sum("containerid=107603" in line.request for line in truth.served())
        posts = truth.posts()
    since = datetime.fromisoformat(f"{DATE}T00:00:00+08:00")
    wanted = {mid for mid, p in posts.items() if datetime.fromisoformat(p["created_at"]) >= since}
    held = {post["mid"] for post in crawl.scan("posts")}
    assert wanted <= held < posts.keys()
    assert asked < sum(max(p["page"] for p in of) for of in truth.data["posts"].values() if of)
    assert "older posts are left out on purpose" in said
    rows = crawl.run("report", "--completeness", "--format", "jsonl").stdout.splitlines()
    bounds = {row["since"] for row in map(json.loads, rows)}
    assert len(bounds) == 1
    assert datetime.fromisoformat(bounds.pop()) == since
    _check_replay(crawl, tmp_path / "again", held)


def _check_replay(crawl: Crawl, folder: Path, held: set[str]) -> None:
    folder.mkdir()
    again = Crawl(folder)
    again.env |= {name: crawl.env[name] for name in ("WEIBO_SITE__BASE_URL",)}
    done = again.json("reparse", str(crawl.folder / "archive"))
    assert not done.get("failed")
    assert {post["mid"] for post in again.scan("posts")} == held


def test_slips(tmp_path: Path) -> None:
    """A word that is no date, and a plan, which knows whole timelines only, make no table."""
    crawl = Crawl(tmp_path)
    crawl.run("seed", "1")
    assert "--since" in crawl.run("posts", "--since", "gestern", code=2).stderr
    assert "--plan" in crawl.run("posts", "--since", DATE, "--plan", code=2).stderr
    assert not (tmp_path / "tables.db").exists()


def test_a_date_to_come_is_a_slip(tmp_path: Path) -> None:
    """Later visits keep to the date, and would ask for no older post."""
    said = Crawl(tmp_path).run("posts", "--since", "2999-01-31", code=2).stderr
    assert "--since: 2999-01-31 is still to come" in said
