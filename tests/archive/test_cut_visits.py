"""What a replay makes of a visit that a kill ended, and of the one that went on with it."""

import asyncio
from pathlib import Path
from typing import Any

from msgspec import json
from msgspec.structs import replace

from weibo_crawler.archive.reader import ArchiveIndex, files_of
from weibo_crawler.archive.writer import Archive
from weibo_crawler.config import Posts
from weibo_crawler.records import Answer, Id, Page, Reading, Verdict
from weibo_crawler.reparse.visits import Stores, replay_visits
from weibo_crawler.sites.weibo import Weibo
from weibo_crawler.store import Put
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.rows.cells import read_ledger
from weibo_crawler.store.rows.keys import parse_post_key, user_key
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.store.sqlite.tables import SqliteTables

SITE = Weibo("http://127.0.0.1:1", "", "agent")
UID = 7
BEGAN = 1_700_000_000.0


def answer(at: float, cursor: str, mids: list[int], named: str = "", likes: int = 0) -> Answer:
    """A page of posts, of which each mid is also its place in time."""
    user = {"id": UID, "screen_name": "n", "followers_count": 9, "statuses_count": 3}
    cards = [
        {
            "card_type": 9,
            "mblog": {
                "id": str(_mid(n)),
                "mid": str(_mid(n)),
                "created_at": "Tue Nov 14 20:00:00 +0800 2023",
                "text": f"text {n}",
                "user": user,
                "attitudes_count": likes,
            },
        }
        for n in mids
    ]
    info: dict[str, Any] = {"since_id": int(named.partition("=")[2])} if named else {}
    body = json.encode({"ok": 1, "data": {"cardlistInfo": info, "cards": cards}})
    request = SITE.posts(UID, cursor)
    page = Page(request.url, 200, (("content-type", "application/json"),), body, at, "direct")
    reading = SITE.read(request, page)
    return Answer(request, page, reading, Reading(Verdict.OK), True)


def _mid(n: int) -> int:
    return 4_900_000_000_000_000 + n


def write(folder: Path, run_id: str, answers: list[Answer], stage: str = "posts") -> None:
    info = [("isPartOf", run_id), ("crawler-stage", stage), ("crawler-process", run_id)]
    archive = Archive(folder, f"{stage}-{run_id}-one", info, max_bytes=10**6)
    for one in answers:
        archive.keep(one)
    archive.close()


def test_what_the_next_visit_went_on_with_was_not_at_its_end(tmp_path: Path) -> None:
    """A process was killed after the last page and before the ledger of its end; the next one
    asked for that page again, which by then named another one. The replay holds both."""
    write(
        tmp_path, "a", [answer(BEGAN, "", [3], "since_id=5"), answer(BEGAN + 1, "since_id=5", [2])]
    )
    later = [
        answer(BEGAN + 60, "since_id=5", [2], "since_id=6", likes=4),
        answer(BEGAN + 61, "since_id=6", [1]),
    ]
    write(tmp_path, "b", later)
    tables = SqliteTables(f"sqlite:///{tmp_path}/tables.db")
    users = SqliteUsers(f"sqlite:///{tmp_path}/users.db")
    tables.userlist.put([Put(user_key(UID), {"user:id": str(UID)}, 1)])
    index = ArchiveIndex(tmp_path / "index.db", files_of([tmp_path]), print)
    stores = Stores(users, tables, Guard(users))
    outcomes = asyncio.run(replay_visits(index, SITE, stores, Posts(), print))
    rows = {parse_post_key(row.key)[1]: row for row in tables.posts.scan()}
    likes = tables.posts.versions(rows[_mid(2)].key, "count:likes") if _mid(2) in rows else []
    ledger = read_ledger(tables.userlist.row(user_key(UID)))
    index.close()
    tables.close()
    users.close()
    assert rows.keys() == {_mid(1), _mid(2), _mid(3)}
    assert [cell.value for cell in likes] == ["4", "0"]
    assert outcomes == {"unreached": 1, "stored": 1}
    assert ledger is not None
    assert (ledger.state, ledger.pages, ledger.run_id) == ("done", 4, "b")


def test_ids_that_look_like_numbers_stay_as_they_are(tmp_path: Path) -> None:
    """The id 1e5 is not 100000, though SQLite takes it for that in a column of numbers."""
    asked: list[Id] = ["1e5", 100_000]
    for n, uid in enumerate(asked):
        one = answer(BEGAN + n, "", [3])
        write(tmp_path, str(n), [one._replace(request=replace(one.request, uid=uid))])
    index = ArchiveIndex(tmp_path / "index.db", files_of([tmp_path]), print)
    held = [index.users(writer) for writer in index.writers("posts")]
    index.close()
    assert held == [["1e5"], [100_000]]
