from datetime import datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from tests.analysis.worlds import (
    T0,
    MemoryUsers,
    post,
    put_ledger,
    put_posts,
    put_profile,
    put_users,
    retweet,
    user,
)
from weibo_crawler.analysis import columns
from weibo_crawler.analysis.scan import (
    parse_when,
    scan_echoes,
    scan_edges,
    scan_imported,
    scan_posts,
    scan_users,
)
from weibo_crawler.errors import BadUsage, StoreError
from weibo_crawler.records import COMMENTS, Echo
from weibo_crawler.store import Put
from weibo_crawler.store.rows.cells import Ledger, gone_cells, to_iso
from weibo_crawler.store.rows.echoes import echo_puts
from weibo_crawler.store.rows.fields import Kind
from weibo_crawler.store.rows.keys import post_key
from weibo_crawler.store.sqlite.tables import SqliteTables

CLOCK = timezone(timedelta(hours=8))


def mids(tables: SqliteTables, **options: object) -> list[str]:
    return [row["mid"] for row in scan_posts(tables, clock=CLOCK, **options)]  # type: ignore[arg-type]


def test_users_have_the_promised_columns_and_types() -> None:
    """A row of scan_users holds the columns of the design in their order; ids are numbers."""
    rows = list(scan_users(MemoryUsers([user(1, 5, depth=0, found_from=None, state="queued")])))
    assert rows == [
        {
            "id": 5,
            "screen_name": "虚构5",
            "fans": 50,
            "depth": 0,
            "found_from": None,
            "state": "queued",
            "found_edge": "fans",
            "found_at": "2026-09-21T14:13:21.000Z",
            "url": "https://site.example/u/5",
        }
    ]
    assert tuple(rows[0]) == tuple(columns.USERS)


def test_users_by_uid_come_once_each() -> None:
    """A uid that is asked for twice gives one row, an unknown one gives none."""
    users = MemoryUsers([user(1, 5), user(2, 6), user(3, 7)])
    assert [row["id"] for row in scan_users(users, uids=[7, 5, 7, 99])] == [7, 5]


@pytest.mark.parametrize(("limit", "n"), [(0, 0), (2, 2), (9, 3), (None, 3)])
def test_limit_is_the_most_rows(limit: int | None, n: int) -> None:
    """At most `limit` rows; 0 is none, None is all."""
    users = MemoryUsers([user(i, i) for i in (1, 2, 3)])
    assert len(list(scan_users(users, limit=limit))) == n


def test_negative_limit_is_bad_usage(tables: SqliteTables) -> None:
    """A negative limit is refused before anything is read."""
    with pytest.raises(BadUsage, match="--limit"):
        scan_posts(tables, limit=-1)


def test_imported_users_carry_ledger_and_profile(tables: SqliteTables) -> None:
    """State and figures are the ledger's, unvisited where there is none; a ledger alone is no
    imported user; every column is declared."""
    put_users(tables, user(1, 5), user(2, 6), user(3, 7))
    put_profile(tables, 6)
    put_ledger(tables, 6, Ledger("done", announced=3, stored=2, visited_at=1.5))
    put_ledger(tables, 7, Ledger("partial"))
    put_ledger(tables, 99, Ledger("done"))
    rows = {row["id"]: row for row in scan_imported(tables)}
    assert set(rows) == {5, 6, 7}
    assert [rows[uid]["state"] for uid in (5, 6, 7)] == ["unvisited", "done", "partial"]
    assert (rows[6]["announced"], rows[6]["stored"]) == (3, 2)
    assert rows[6]["visited_at"] == "1970-01-01T00:00:01.500Z"
    assert rows[7]["visited_at"] is None
    assert rows[6]["profile_screen_name"] == "改了名"
    assert all(set(row) == set(columns.IMPORTED) for row in rows.values())
    assert [row["id"] for row in scan_imported(tables, uids=[6, 99, 6])] == [6]


def test_edges_are_a_row_each() -> None:
    """Who was seen in whose list, by which edge, when; of some owners, and some of them."""
    rows = list(scan_edges(MemoryUsers()))
    at = "2026-09-21T14:13:20.000Z"
    assert rows[0] == {"owner": 5, "uid": 7, "edge": "fans", "seen_at": at}
    assert [(row["owner"], row["uid"]) for row in rows] == [(5, 7), (5, 8), (6, 5)]
    assert tuple(rows[0]) == tuple(columns.EDGES)
    assert [row["uid"] for row in scan_edges(MemoryUsers(), uids=[6])] == [5]
    assert len(list(scan_edges(MemoryUsers(), limit=2))) == 2


def test_comments_have_the_declared_columns(tables: SqliteTables) -> None:
    """A row of scan_echoes holds the declared columns in their order; of the posts of some users,
    and some of them. What no comment is, is named."""
    one = Echo(3, 9, "name", "said", "2026-01-01T00:00:00+08:00", 2, 1, "北京")
    tables.echoes["comments"].put(echo_puts(COMMENTS, 5, 11, [one], T0, "run"))
    unliked = replace(one, likes=None)  # nobody told how many
    tables.echoes["comments"].put(echo_puts(COMMENTS, 6, 12, [unliked], T0, "run"))
    rows = list(scan_echoes(tables, COMMENTS))
    assert all(tuple(row) == tuple(columns.ECHOES["comments"]) for row in rows)
    assert {row["owner"]: row["likes"] for row in rows} == {5: 2, 6: None}
    (row,) = scan_echoes(tables, COMMENTS, uids=[5])
    assert (row["mid"], row["comment_id"], row["uid"], row["likes"]) == ("11", "3", 9, 2)
    assert (row["replies"], row["region"], row["screen_name"]) == (1, "北京", "name")
    assert len(list(scan_echoes(tables, COMMENTS, limit=1))) == 1
    tables.echoes["comments"].put([Put("x", {"comment:uid": "9"}, 1)])
    with pytest.raises(StoreError, match="row x of comments"):
        list(scan_echoes(tables, COMMENTS))


def test_posts_have_the_declared_columns(tables: SqliteTables) -> None:
    """A row of scan_posts holds the declared columns in their order, those of the design first;
    a mid is text, a uid a number."""
    put_posts(tables, retweet(11, 5))
    (row,) = scan_posts(tables)
    assert tuple(row) == tuple(columns.POSTS)
    assert " ".join(columns.POSTS_SHOWN) == (
        "mid uid created_at text text_complete source region reposts comments likes repost_of "
        "is_pinned fetched_at topics mentions page_info"
    )
    assert (row["mid"], row["uid"], row["repost_of"], row["region"]) == ("11", 5, "44", "北京")
    assert row["original"]["text"] == "原文"


def test_posts_come_by_row_key(tables: SqliteTables) -> None:
    """All posts, or those of some users, come in the order of their row keys."""
    posts = [post(mid, uid) for uid in (5, 6, 68) for mid in (1, 2, 3)]
    put_posts(tables, *posts)
    expected = sorted(posts, key=lambda p: post_key(p.uid, p.mid))
    found = [(row["uid"], row["mid"]) for row in scan_posts(tables)]
    assert found == [(p.uid, str(p.mid)) for p in expected]
    chosen = [(row["uid"], row["mid"]) for row in scan_posts(tables, uids=[68, 6, 68])]
    assert chosen == [(p.uid, str(p.mid)) for p in expected if p.uid in (6, 68)]
    assert mids(tables, uids=[6], limit=2) == ["3", "2"]
    assert mids(tables, uids=[]) == []


def test_since_is_inclusive_and_until_exclusive(tables: SqliteTables) -> None:
    """since <= created_at < until; a date is the beginning of a day of the site's clock; other
    offsets are converted; a post of unknown time is in no span."""
    put_posts(
        tables,
        post(1, 5, "2021-05-31T23:59:59+08:00"),
        post(2, 5, "2021-06-01T00:00:00+08:00"),
        post(3, 5, "2021-06-01T23:59:59+08:00"),
        post(4, 5, "2021-06-02T00:00:00+08:00"),
        post(5, 5, ""),
    )
    assert mids(tables, since="2021-06-01", until="2021-06-02") == ["3", "2"]
    assert mids(tables, since="2021-06-01") == ["4", "3", "2"]
    assert mids(tables, until="2021-06-01") == ["1"]
    assert mids(tables, since="2021-05-31T16:00:00+00:00", until="2021-06-01T15:59:59Z") == ["2"]
    assert mids(tables, since="2021-06-01", limit=1) == ["4"]
    assert len(mids(tables)) == 5


def test_a_span_that_holds_no_time_is_told(tables: SqliteTables) -> None:
    """Nothing on a screen looks like nothing stored; the same date twice is the likely slip."""
    for since, until in (("2021-06-01", "2021-06-01"), ("2021-06-02", "2021-06-01")):
        with pytest.raises(BadUsage, match=f"--since {since} on .* --until {until}: .* that day"):
            mids(tables, since=since, until=until)


def test_a_date_means_the_sites_clock() -> None:
    """A plain date is midnight at +08:00."""
    assert parse_when("--since", "2021-06-01", CLOCK) == 1622476800.0
    assert parse_when("--since", None, CLOCK) is None


@pytest.mark.parametrize("text", ["0001-01-01", "0001-01-01T00:00:00+14:00", "9999-12-31"])
def test_any_date_that_can_be_written_bounds_rows(tables: SqliteTables, text: str) -> None:
    """Also the first and the last one there are, which people give for "all"."""
    put_posts(tables, post(1, 5, "2021-05-31T23:59:59+08:00"), post(2, 5, ""))
    is_first = text.startswith("0")
    assert len(mids(tables, since=text)) == is_first
    assert len(mids(tables, until=text)) == (not is_first)
    assert to_iso(parse_when("--since", text, CLOCK) or 0.0)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2021-13-01", "2021-06-01T12:00:00", "06-01"],
)
def test_what_is_no_date_is_named(tables: SqliteTables, text: str) -> None:
    """BadUsage names the option and what was given, before a row is asked for."""
    with pytest.raises(BadUsage, match="--until") as caught:
        scan_posts(tables, until=text)
    assert repr(text) in str(caught.value)
    assert "2021-06-01T12:30:00+08:00" in str(caught.value)


def test_choose_keeps_the_order_asked_for() -> None:
    """Columns come in the order of the option, blanks and repeats left out."""
    assert columns.choose("text, mid,,text", columns.POSTS) == ("text", "mid")


@pytest.mark.parametrize("wanted", ["mid,txet", "", ","])
def test_unknown_columns_are_bad_usage(wanted: str) -> None:
    """BadUsage names the unknown column and all known ones."""
    with pytest.raises(BadUsage) as caught:
        columns.choose(wanted, columns.POSTS)
    assert all(name in str(caught.value) for name in columns.POSTS)
    assert ("txet" in str(caught.value)) == ("txet" in wanted)


def test_times_of_ours_can_be_read(tables: SqliteTables) -> None:
    """Every column declared as a time of ours parses as a time with an offset."""
    put_posts(tables, post(1, 5))
    tables.posts.put([Put(post_key(5, 1), gone_cells(T0), 2)])
    (row,) = scan_posts(tables)
    times = [name for name, field in columns.POSTS.items() if field.kind is Kind.TIME]
    assert times
    assert all(datetime.fromisoformat(row[name]).tzinfo is not None for name in times)
