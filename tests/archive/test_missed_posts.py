"""What a replay makes of a page that lacks a stored post, with and without a word about it."""

import asyncio
from pathlib import Path

import pytest
from msgspec import json
from msgspec.structs import replace

from tests.archive.test_cut_visits import BEGAN, SITE, UID, answer, write
from weibo_crawler.archive.reader import ArchiveIndex, files_of
from weibo_crawler.config import Posts
from weibo_crawler.records import Answer, Page, Reading, Verdict
from weibo_crawler.reparse.visits import Stores, replay_visits
from weibo_crawler.store import Put
from weibo_crawler.store.guard import Guard
from weibo_crawler.store.rows.cells import Ledger, read_ledger, read_post
from weibo_crawler.store.rows.keys import user_key
from weibo_crawler.store.sqlite.frontier import SqliteUsers
from weibo_crawler.store.sqlite.tables import SqliteTables

_DAY_S = 86_400.0


def word(at: float, verdict: Verdict, mid: int = 3) -> Answer:
    """What the site says of a post by its own address."""
    mid += 4_900_000_000_000_000
    request = replace(SITE.post(mid)[0], uid=UID)
    status = {"id": str(mid), "mid": str(mid), "text": "text", "user": {"id": UID}}
    said = {"ok": 1, "data": status}
    if verdict is Verdict.GONE:
        said = {"ok": 0, "errno": "20101", "msg": "该微博不存在"}
    headers = (("content-type", "application/json"),)
    page = Page(request.url, 200, headers, json.encode(said), at, "direct")
    reading = SITE.read(request, page)
    assert reading.verdict is verdict
    return Answer(request, page, reading, Reading(verdict), True)


def pages(*shown: list[int], at: float) -> list[Answer]:
    """Page 1, asked for so many times, ten seconds apart."""
    return [answer(at + 10 * n, "", mids) for n, mids in enumerate(shown)]


def replayed(tmp_path: Path) -> tuple[dict[str, int], set[int], Ledger]:
    """How the visits of an archive ended, the posts that are gone, and the last ledger."""
    tables = SqliteTables(f"sqlite:///{tmp_path}/tables.db")
    users = SqliteUsers(f"sqlite:///{tmp_path}/users.db")
    tables.userlist.put([Put(user_key(UID), {"user:id": str(UID)}, 1)])
    index = ArchiveIndex(tmp_path / "index.db", files_of([tmp_path]), print)
    try:
        outcomes = asyncio.run(
            replay_visits(index, SITE, Stores(users, tables, Guard(users)), Posts(), print)
        )
        ledger = read_ledger(tables.userlist.row(user_key(UID)))
        assert ledger is not None
        posts = [read_post(row) for row in tables.posts.scan()]
    finally:
        index.close()
        tables.close()
        users.close()
    marked = {int(post["mid"]) % 1000 for post in posts if post["gone_at"]}
    return outcomes, marked, ledger


@pytest.mark.parametrize(
    ("looked", "said", "gone", "stopped"),
    [
        ([[2, 1]], None, {3}, "no_next_page"),  # as archives before words were asked for
        ([[2, 1]], Verdict.GONE, {3}, "no_next_page"),
        ([[2, 1], [3, 2, 1]], Verdict.OK, set(), "no_next_page"),
        ([[2, 1], [2, 1]], Verdict.OK, set(), "false_page"),
        ([[2, 1], [3, 2, 1]], None, set(), "no_next_page"),
        ([[2, 1], [2, 1]], None, {3}, "no_next_page"),
    ],
)
def test_what_a_page_lacks_comes_out_as_it_did(
    tmp_path: Path,
    looked: list[list[int]],
    said: Verdict | None,
    gone: set[int],
    stopped: str,
) -> None:
    """The word came between the two looks at page 1."""
    later = BEGAN + 40 * _DAY_S
    write(tmp_path, "a", [answer(BEGAN, "", [3, 2, 1])])
    answers = pages(*looked, at=later)
    write(tmp_path, "b", answers[:1] + ([word(later + 5, said)] if said else []) + answers[1:])
    outcomes, marked, ledger = replayed(tmp_path)
    assert outcomes == {"stored": 1, "unchanged": 1}
    assert marked == gone
    assert ledger.stopped == stopped


def test_a_visit_that_was_killed_while_it_asked_for_a_word_stored_nothing(tmp_path: Path) -> None:
    """An answer had come that told it nothing yet. The next visit was shown that the page is
    old."""
    later = BEGAN + 40 * _DAY_S
    write(tmp_path, "a", [answer(BEGAN, "", [3, 2, 1])])
    killed = word(later + 5, Verdict.OK)._replace(told=None)
    write(tmp_path, "b", [*pages([2, 1], at=later), killed])
    first, second = pages([2, 1], [2, 1], at=later + 60)
    write(tmp_path, "c", [first, word(later + 65, Verdict.OK), second])
    outcomes, marked, ledger = replayed(tmp_path)
    assert outcomes == {"stored": 1, "unreached": 1, "unchanged": 1}
    assert (marked, ledger.stopped) == (set(), "false_page")


def test_a_visit_that_was_killed_at_its_second_look_stored_nothing(tmp_path: Path) -> None:
    """No word told whether the page is old, and the second look had not told it either."""
    later = BEGAN + 40 * _DAY_S
    write(tmp_path, "a", [answer(BEGAN, "", [3, 2, 1])])
    first, second = pages([2, 1], [2, 1], at=later)
    untold = word(later + 5, Verdict.OK)._replace(told=Reading(Verdict.SERVER_TROUBLE), page=None)
    write(tmp_path, "b", [first, untold, second._replace(told=None)])
    first, second = pages([2, 1], [3, 2, 1], at=later + 60)
    write(tmp_path, "c", [first, word(later + 65, Verdict.OK), second])
    outcomes, marked, ledger = replayed(tmp_path)
    assert outcomes["unreached"] == 1
    assert (marked, ledger.stopped) == (set(), "no_next_page")
