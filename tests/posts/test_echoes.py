"""Comments that `posts` reads: where a setting asks for them."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.posts.crawls import Crawl
from tests.posts.worlds import ScriptedFetcher, post
from weibo_crawler.analysis.scan import scan_echoes
from weibo_crawler.errors import StoreError
from weibo_crawler.records import COMMENTS, Echo, Kind, Post, Verdict
from weibo_crawler.store import Put
from weibo_crawler.store.rows.keys import echo_key, post_key

DATE = "2026-01-01T00:00:00+08:00"
POSTS = [post(6, mid, comments=n) for mid, n in ((14, 4), (13, 0), (12, 1), (11, 7))]


def said(*ids: int) -> list[Echo]:
    return [Echo(one, 900 + one, f"name {one}", f"text {one}", DATE, likes=one) for one in ids]


def site(posts: list[Post] = POSTS, **more: Any) -> ScriptedFetcher:
    fetcher = ScriptedFetcher({6: posts}, **more)
    fetcher.echoes[Kind.COMMENTS] = {14: said(1, 2), 12: said(3), 11: said(4)}
    return fetcher


def asked(fetcher: ScriptedFetcher) -> list[str]:
    return [url for url in fetcher.asked if url.startswith("comments/")]


def test_none_are_asked_for_unless_a_setting_says_so(crawl_: Crawl) -> None:
    """A request each: nothing by default."""
    crawl_.add(6)
    fetcher = site()
    crawl_.run(fetcher)
    assert asked(fetcher) == []


def test_those_of_the_newest_posts_are_stored(crawl_: Crawl) -> None:
    """A row a comment, under the post; at most so many posts of a page, the newest that announce
    some."""
    crawl_.add(6)
    fetcher = site()
    crawl_.run(fetcher, comments=2)
    assert asked(fetcher) == ["comments/14", "comments/12"]
    rows = list(scan_echoes(crawl_.tables, COMMENTS))
    assert [(row["mid"], row["comment_id"]) for row in rows] == [
        ("14", "1"),
        ("14", "2"),
        ("12", "3"),
    ]
    assert rows[0] | {"fetched_at": None, "run_id": None} == {
        "comment_id": "1",
        "mid": "14",
        "owner": 6,
        "uid": 901,
        "screen_name": "name 1",
        "created_at": DATE,
        "text": "text 1",
        "likes": 1,
        "replies": None,
        "region": None,
        "fetched_at": None,
        "schema_version": 1,
        "run_id": None,
    }
    counters = crawl_.counters()
    assert (counters["comments.pages"], counters["comments.stored"]) == (2, 3)


def test_they_are_read_again_when_there_are_twice_as_many(crawl_: Crawl) -> None:
    """What was read once is not asked for again until its number has doubled."""
    crawl_.add(6)
    crawl_.run(site(), comments=2)
    rest = site()
    crawl_.run(rest, refresh=True, comments=2)
    assert asked(rest) == ["comments/11"]
    more = [post(6, 14, comments=7), *POSTS[1:]]
    same = site(more)
    crawl_.run(same, refresh=True, comments=2)
    assert asked(same) == []
    doubled = site([post(6, 14, comments=8), *POSTS[1:]])
    doubled.echoes[Kind.COMMENTS][14] = said(1, 5)
    crawl_.run(doubled, refresh=True, comments=2)
    assert asked(doubled) == ["comments/14"]
    ids = [row["comment_id"] for row in scan_echoes(crawl_.tables, COMMENTS) if row["mid"] == "14"]
    assert ids == ["1", "2", "5"]
    assert crawl_.posts(6)[14]["comments_read"] == 8


def test_closed_comments_are_asked_for_once(crawl_: Crawl) -> None:
    """A post may announce comments that nobody is shown."""
    crawl_.add(6)
    fetcher = site()
    fetcher.echoes[Kind.COMMENTS] = {}
    crawl_.run(fetcher, comments=9)
    again = site()
    crawl_.run(again, refresh=True, comments=9)
    assert (len(asked(fetcher)), asked(again)) == (3, [])


def test_a_refusal_is_no_fact(crawl_: Crawl) -> None:
    """Law 4: what was refused is asked for at the next visit."""
    crawl_.add(6)
    crawl_.run(site(trouble={"comments/14": [Verdict.THROTTLED]}), comments=1)
    again = site()
    crawl_.run(again, refresh=True, comments=1)
    assert asked(again) == ["comments/14"]


def test_walls_end_the_asking(crawl_: Crawl) -> None:
    """Where guests are shown no comments, nine requests tell."""
    crawl_.add(*range(6, 26))
    walled = {f"comments/{uid * 10}": [Verdict.LOGIN_WALL] for uid in range(6, 26)}
    worlds = {uid: [post(uid, uid * 10, comments=2)] for uid in range(6, 26)}
    fetcher = ScriptedFetcher(worlds, trouble=walled)
    crawl_.run(fetcher, comments=3, users_in_flight=1)
    assert len(asked(fetcher)) == 9


def test_a_visit_that_dies_asks_again(crawl_: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 8: a post says that its comments were read when they are stored, not before; and what is
    put twice is there once (law 7)."""
    crawl_.add(6)
    table = crawl_.tables.echoes["comments"]

    def dies(puts: Iterable[Put]) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(table, "put", dies)
        with pytest.raises(StoreError, match="the disk is full"):
            crawl_.run(site(), comments=1)
    assert "post:comments_read" not in crawl_.tables.posts.row(post_key(6, 14))
    for _ in range(2):
        crawl_.run(site(), refresh=True, comments=1)
    assert list(table.keys(""))[:2] == [echo_key(6, 14, 1), echo_key(6, 14, 2)]
