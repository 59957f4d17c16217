"""`harvest --runner`: jobs, one a level, beside a harvest on one machine of the same world."""

from pathlib import Path
from typing import Any

from tests.cli.crawls import Crawl, simulated
from weibo_crawler.store.sqlite.frontier import SqliteUsers

ALONE = {"WEIBO_STORE__USERS": "sqlite:///alone.db", "WEIBO_STORE__TABLES": "sqlite:///alone-t.db"}


def ends(crawl: Crawl) -> dict[int, list[tuple[Any, ...]]]:
    """How each list ended, by the harvest on one machine."""
    users = SqliteUsers(f"sqlite:///{crawl.folder}/alone.db")
    found: dict[int, list[tuple[Any, ...]]] = {}
    for uid, *end in users.list_ends():
        found.setdefault(uid, []).append(tuple(end))
    users.close()
    return found


def imported(crawl: Crawl) -> list[dict[str, Any]]:
    return crawl.scan("users", "--imported", "--columns", "id,depth,found_from,walk,lists,fans")


def test_jobs_find_what_one_machine_finds(tmp_path: Path) -> None:
    """Users, depths and ledgers are those of a harvest on one machine, and the truth (law 13). Made
    again, a level changes nothing."""
    with simulated(tmp_path, users=150) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        done = crawl.json("harvest", "--runner", "local")
        crawl.run("seed", *truth.seeds, **ALONE)
        crawl.run("harvest", **ALONE)
        rows = imported(crawl)
        assert {row["id"]: row["depth"] for row in rows} == truth.depths
        lists = {
            row["id"]: [
                (one["edge"], one["ended"], one["sure"], one["listed"], one["pages"])
                for one in row["lists"]
            ]
            for row in rows
        }
        assert lists == ends(crawl)
        assert done["kept"] == len(truth.depths)
