"""A whole crawl in which one person is forgotten, in the home that the crawl's settings name."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.cli.crawls import Crawl, Truth

BELOW = ("--comments", "1", "--reposts", "1")  # a request each


def forget_midway(crawl: Crawl, truth: Truth, dump: Callable[[], Iterable[str]]) -> str:
    """Crawl, forget the person whom others repost most, crawl on. dump: all that is stored, a
    line for each value; what others wrote must be left out. Returns what `forget` said."""
    shallow = {"WEIBO_HARVEST__MAX_DEPTH": "2"}
    crawl.run("seed", *truth.seeds)
    crawl.run("harvest", **shallow)
    crawl.run("import")
    crawl.run("posts", "--runner", "inline", "--info-days", "1", *BELOW)
    uid, name = most_reposted(crawl, truth)
    names_them = re.compile(rf"(?<!\d){uid}(?!\d)|{re.escape(name)}").search
    assert any(map(names_them, dump()))
    assert crawl.scan("comments")
    assert crawl.scan("reposts")
    assert uid in {edge["uid"] for edge in crawl.scan("edges")}
    before = len(crawl.scan("posts"))
    (crawl.folder / "people.txt").write_text(f"# asked to\nhttps://m.weibo.cn/u/{uid}\n", "utf-8")
    done = crawl.json("forget", "--yes", "people.txt", "99")
    assert (done["uids"], done["users"]) == (2, 1)
    assert done["posts"] > 0
    assert done["reposts"] > 0
    assert done["found"] > 0
    assert len(crawl.scan("posts")) == before - done["posts"]
    assert list(filter(names_them, dump())) == []
    assert not any(uid in (edge["uid"], edge["owner"]) for edge in crawl.scan("edges"))
    crawl.run("seed", str(uid))
    assert crawl.json("harvest")["kept"] > 0
    crawl.run("import")
    crawl.run("posts", "--runner", "inline", "--refresh", "--all", *BELOW)
    assert list(filter(names_them, dump())) == []
    said = crawl.run("forget", "--yes", str(uid)).stdout
    assert "Deleted: 0 users, 0 posts, 0 comments and 0 reposts below the posts of others." in said
    assert "Taken out of: 0 reposts by others" in said
    return said


def most_reposted(crawl: Crawl, truth: Truth) -> tuple[int, str]:
    """Of the users whose posts are stored and who led to others, no seed."""
    users = crawl.scan("users")
    led = {user["found_from"] for user in users}
    names = {u["id"]: u["screen_name"] for u in users if u["depth"] > 0 and u["id"] in led}
    posts = crawl.scan("posts", "--columns", "uid,original")
    authors = {post["uid"] for post in posts}
    originals: Counter[Any] = Counter((post["original"] or {}).get("uid") for post in posts)
    return next((u, names[u]) for u, _ in originals.most_common() if u in names and u in authors)


def cells_by_themselves(row: str, column: str, value: str) -> Iterable[str]:
    """A cell as lines, without what others wrote."""
    if column in ("post:text", "post:mentions", "comment:text"):
        return
    if column == "post:more":
        more: dict[str, Any] = json.loads(value)
        original = more.get("original") or {}
        original.pop("text", None)
        for info in (more.get("page_info"), original.get("page_info")):
            for said in ("title", "url", "content2"):  # begin as the text does
                (info or {}).pop(said, None)
        value = json.dumps(more, ensure_ascii=False)
    yield f"{row} {column} {value}"


def drifted_urls(folder: Path) -> list[str]:
    """The addresses of the pages that an embedded home keeps for developers."""
    with closing(sqlite3.connect(folder / "users.db")) as conn:
        return [url for (url,) in conn.execute("SELECT url FROM drifted")]
