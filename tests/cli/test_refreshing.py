"""Coming back days later, from outside: new posts, edits, deletions, gaps; deaths on the way."""

import csv
import io
import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.cli.crawls import Crawl, Truth, outcomes, simulated
from tests.cli.test_whole_way import signal_after, whole_way
from weibo_crawler.store.rows.cells import to_iso
from weibo_crawler.store.rows.keys import post_key
from weibo_crawler.store.sqlite.tables import SqliteTables

Row = dict[str, Any]
# the ledger keeps one version, so its past is not known
NO_LEDGER = dict.fromkeys(("state", "announced", "stored", "visited_at"))
INLINE = ("--runner", "inline")
CHANGING = {"edited_per_day": 0.01, "deleted_per_day": 0.01}


@contextmanager
def days_later(crawl: Crawl, folder: Path, days: float, **knobs: Any) -> Iterator[Truth]:
    """The same world so many days on, for the same crawl."""
    later = folder / f"later-{days}"
    later.mkdir()
    with simulated(later, days_later=days, **knobs) as (there, truth):
        for name in ("WEIBO_SITE__BASE_URL", "WEIBO_SITE__VISITOR_URL"):
            crawl.env[name] = there.env[name]
        yield truth


def stored(crawl: Crawl) -> dict[str, dict[str, Any]]:
    columns = "mid,uid,text,text_complete,gone_at,likes,edit_count,is_pinned"
    return {post["mid"]: post for post in crawl.scan("posts", "--columns", columns)}


def versions(crawl: Crawl, uid: int, mid: str) -> list[str]:
    """Its whole texts, the newest first: one that a death kept from being completed in its visit
    lies below as it was shown, cut."""
    tables = SqliteTables(f"sqlite:////{str(crawl.folder / 'tables.db').lstrip('/')}")
    try:
        key = post_key(uid, int(mid))
        whole = {
            cell.timestamp
            for cell in tables.posts.versions(key, "post:text_complete")
            if cell.value == "true"
        }
        kept = tables.posts.versions(key, "post:text")
        return [cell.value for cell in kept if cell.timestamp in whole]
    finally:
        tables.close()


def assert_changes_told(crawl: Crawl, before: Truth, now: Truth) -> None:
    """What page 1 shows is as it is there; nothing that stands is called gone; what page 1 shows to
    be missing is. Texts of earlier days are versions below the new ones."""
    held, was, stands = stored(crawl), before.posts(), now.posts()
    gone = {mid for mid, post in held.items() if post["gone_at"]}
    assert gone.isdisjoint(stands)
    for uid in now.depths:
        posts = now.data["posts"][str(uid)]
        shown = [post for post in posts if post["page"] == 1]
        for post in shown:
            one = held[post["mid"]]
            assert one["text_complete"]
            for name in ("text", "likes", "is_pinned"):
                assert one[name] == post[name], (post["mid"], name)
            old = was.get(post["mid"])
            if old is not None and old["page"] == 1 and old["edits"] != post["edits"]:
                assert versions(crawl, uid, post["mid"])[:2] == [post["text"], old["text"]]
        in_place = [int(post["mid"]) for post in shown if not post["is_pinned"]]
        missing = {mid for mid in now.data["deleted"][str(uid)] if mid in held}
        if in_place:
            assert {mid for mid in missing if int(mid) > min(in_place)} <= gone


def test_coming_back_tells_what_changed(tmp_path: Path) -> None:
    """New posts are stored, edits and deletions recorded with the old texts kept, counts sampled;
    the closing line and the report say how many; before they are due, nobody is asked."""
    knobs = {"users": 70, "seed": 9, "mean_posts": 12.0}
    with simulated(tmp_path, **knobs) as (crawl, before):
        whole_way(crawl, before)
        asked = len(before.served())
        again = crawl.json("posts", "--refresh", *INLINE)
        assert again["counters"]["users.existing"] == again["users"]
        assert len(before.served()) == asked
        assert "add that" in crawl.run("posts", "--all", code=2).stderr
    then, held = to_iso(time.time()), list(crawl.scan("posts"))
    users = [dict(user, **NO_LEDGER) for user in crawl.scan("users", "--imported")]
    with days_later(crawl, tmp_path, 20.0, **knobs, **CHANGING) as now:
        done = crawl.json("posts", "--refresh", "--all", *INLINE)
        new = {mid for uid in before.depths for mid in _mids(now, uid)} - set(before.posts())
        assert done["new_posts"] == len(new)
        assert set(before.posts()) | new == set(stored(crawl))
        now.depths = before.depths
        assert_changes_told(crawl, before, now)
        assert done["edited_posts"] > 0
        assert done["gone_posts"] > 0
        figures = crawl.json("report", "--completeness")
        assert figures["gone_posts"] == done["gone_posts"]
        assert (figures["gaps"], figures["sure_share"]) == (0, 1)
        assert_history_can_be_read(crawl, then, held, users, done)
        quiet = crawl.json("posts", "--refresh", "--all", *INLINE)
        assert (quiet["new_posts"], quiet["edited_posts"], quiet["gone_posts"]) == (0, 0, 0)


def assert_history_can_be_read(
    crawl: Crawl, then: str, held: list[Row], users: list[Row], done: Row
) -> None:
    """As of a time: what scan printed then, the ledgers aside. Histories: each state, the newest
    first, with old texts, earlier counts, and when posts were gone."""
    assert list(crawl.scan("posts", "--as-of", then)) == held
    assert list(crawl.scan("posts", "--as-of", "2001-01-01")) == []
    past = list(crawl.scan("users", "--as-of", then))
    assert [dict(user, **NO_LEDGER) for user in past] == users
    history = list(crawl.scan("posts", "--history"))
    now = {post["mid"]: post for post in crawl.scan("posts")}
    states: dict[str, list[Row]] = {}
    for row in history:
        states.setdefault(row["mid"], []).append(row)
    assert states.keys() == now.keys()
    for mid, rows in states.items():
        assert [row["as_of"] for row in rows] == sorted((r["as_of"] for r in rows), reverse=True)
        assert {name: rows[0][name] for name in now[mid]} == now[mid]
    then_rows = {m: next((r for r in s if r["as_of"] <= then), None) for m, s in states.items()}
    assert {m for m, row in then_rows.items() if row} == {post["mid"] for post in held}
    assert len([s for s in states.values() if len({r["text"] for r in s}) > 1]) >= 1
    assert sum(s[0]["gone_at"] is not None for s in states.values()) == done["gone_posts"]
    fans = list(crawl.scan("users", "--history", "--columns", "as_of,id,profile_fans"))
    assert {row["id"] for row in fans} == {user["id"] for user in users}
    assert len({(row["id"], row["profile_fans"]) for row in fans}) > len(users)
    for wrong in (("edges", "--history"), ("posts", "--history", "--as-of", then)):
        crawl.run("scan", *wrong, code=2)
    told = crawl.run("export", "posts", "--history", "-o", "history.parquet").stdout
    assert f"{len(history):,} states of posts written" in told
    table = pq.read_table(crawl.folder / "history.parquet")
    assert table.num_rows == len(history)
    edits = [row["edited_at"] for row in crawl.scan("posts", "--history", "--columns", "edited_at")]
    assert any(edits)
    assert table["edited_at"].to_pylist() == [
        text and datetime.fromisoformat(text) for text in edits
    ]


def _mids(truth: Truth, uid: int) -> set[str]:
    return {post["mid"] for post in truth.data["posts"][str(uid)]}


def test_a_killed_refresh_goes_on(tmp_path: Path) -> None:
    """Laws 6, 7, 8: kill -9 in the middle of a refresh, several times; then no post is lost or
    doubled, changes are told right, and no gap is invented."""
    knobs = {"users": 60, "seed": 5, "mean_posts": 12.0}
    with simulated(tmp_path, **knobs) as (crawl, before):
        whole_way(crawl, before)
    slow = {"faults": "slow=0.3", "slow_s": 0.05}
    with days_later(crawl, tmp_path, 25.0, **knobs, **CHANGING, **slow) as now:
        now.depths = before.depths
        for requests in (15, 30, 45):
            code = signal_after(crawl, now, requests, signal.SIGKILL, "posts", "--refresh", "--all")
            assert code == -signal.SIGKILL
        done = crawl.json("posts", "--refresh", "--all", *INLINE)
        counters = done["counters"]
        assert outcomes(counters) == counters["users.input"] == len(before.depths)
        assert set(stored(crawl)) == set(before.posts()) | set(now.posts())
        assert_changes_told(crawl, before, now)
        figures = crawl.json("report", "--completeness")
        assert (figures["gaps"], figures["oldest_unread"], figures["partial"]) == (0, 0, 0)
        assert figures["stored"] == len(stored(crawl))


def test_a_guest_who_comes_back_late_knows_what_was_missed(tmp_path: Path) -> None:
    """Law 12, with kill -9 on the way: where guests see page 1, each user whose page 1 holds
    nothing known has a gap, with the dates of the posts at its ends; what was missed lies in gaps,
    all of it; nobody else has one."""
    knobs = {"users": 60, "seed": 9, "mean_posts": 16.0, "guests": "2026"}
    with simulated(tmp_path, **knobs) as (crawl, before):
        whole_way(crawl, before)
    with days_later(crawl, tmp_path, 40.0, **knobs, faults="slow=0.3", slow_s=0.03) as now:
        now.depths = before.depths
        signal_after(crawl, now, 40, signal.SIGKILL, "posts", "--refresh", "--all")
        crawl.run("posts", "--refresh", "--all", *INLINE)
        text = crawl.run("report", "--completeness", "--format", "jsonl").stdout
        rows = {row["id"]: row for row in map(json.loads, text.splitlines())}
        assert set(rows) == set(before.depths)
        held = stored(crawl)
        for uid, row in rows.items():
            missed = {int(mid) for mid in _mids(now, uid) - set(held)}
            gaps = [(int(gap["after"] or 0), int(gap["before"])) for gap in row["gaps"]]
            assert all(any(lo < mid < hi for lo, hi in gaps) for mid in missed)
            had, page = _first_page(before, uid), _first_page(now, uid)
            met = not had or not page or min(page) <= max(had)
            assert any(lo for lo, _ in gaps) == (not met)
            for gap in row["gaps"]:
                dates = {post["mid"]: post["created_at"] for post in now.data["posts"][str(uid)]}
                assert gap["before_at"] == dates[gap["before"]]
                assert gap["after"] is None or gap["after_at"] == dates[gap["after"]]
                assert gap["after"] is None or gap["days"] > 0
        figures = crawl.json("report", "--completeness")
        every = [gap for row in rows.values() for gap in row["gaps"]]
        assert figures["gaps"] == sum(gap["after"] is not None for gap in every) > 0
        assert figures["share"] <= figures["share_most"] < 1
        table = crawl.run("report", "--completeness", "--format", "csv").stdout
        assert len(list(csv.DictReader(io.StringIO(table)))) == len(rows)


def _first_page(truth: Truth, uid: int) -> list[int]:
    """The mids that stand in their place on page 1."""
    posts = truth.data["posts"][str(uid)]
    return [int(post["mid"]) for post in posts if post["page"] == 1 and not post["is_pinned"]]
