"""The requests, and what a list should be long."""

import pytest

from tests.sites.weibo.helpers import OWNER, SITE
from weibo_crawler.records import Edge, Kind, Request
from weibo_crawler.sites import Site

INDEX = "https://m.weibo.cn/api/container/getIndex?"
POSTS = f"{INDEX}type=uid&value={OWNER}&containerid=107603{OWNER}"


@pytest.mark.parametrize(
    ("request_", "url"),
    [
        (SITE.profile(OWNER), f"{INDEX}type=uid&value={OWNER}"),
        (SITE.info(OWNER), f"{INDEX}containerid=230283{OWNER}_-_INFO"),
        (SITE.posts(OWNER, ""), f"{POSTS}&page=1"),
        (SITE.posts(OWNER, "page=2"), f"{POSTS}&page=2"),
        (SITE.posts(OWNER, "since_id=46461"), f"{POSTS}&since_id=46461"),
        (SITE.posts(OWNER, "since_id=a&b"), f"{POSTS}&since_id=a%26b"),
        (
            SITE.edge(Edge.FANS, OWNER, ""),
            f"{INDEX}containerid=231051_-_fans_-_{OWNER}&since_id=1",
        ),
        (
            SITE.edge(Edge.FANS, OWNER, "7"),
            f"{INDEX}containerid=231051_-_fans_-_{OWNER}&since_id=7",
        ),
        (
            SITE.edge(Edge.FOLLOWS, OWNER, "3"),
            f"{INDEX}containerid=231051_-_followers_-_{OWNER}&page=3",
        ),
        (
            SITE.echoes(Kind.COMMENTS, 9),
            "https://m.weibo.cn/comments/hotflow?id=9&mid=9&max_id_type=0",
        ),
        (
            SITE.echoes(Kind.COMMENTS, 9, "3143"),
            "https://m.weibo.cn/comments/hotflow?id=9&mid=9&max_id_type=0&max_id=3143",
        ),
        (
            SITE.echoes(Kind.REPOSTS, 9),
            "https://m.weibo.cn/api/statuses/repostTimeline?id=9&page=1",
        ),
        (
            SITE.echoes(Kind.REPOSTS, 9, "4"),
            "https://m.weibo.cn/api/statuses/repostTimeline?id=9&page=4",
        ),
        (
            SITE.search("#a b&c#", ""),
            f"{INDEX}containerid=100103type%3D1%26q%3D%23a%20b%26c%23&page_type=searchall&page=1",
        ),
        (
            SITE.search("信", "2"),
            f"{INDEX}containerid=100103type%3D1%26q%3D%E4%BF%A1&page_type=searchall&page=2",
        ),
        (SITE.name("青/藤 ?"), "https://m.weibo.cn/n/%E9%9D%92%2F%E8%97%A4%20%3F"),
    ],
)
def test_urls(request_: Request, url: str) -> None:
    """Each call of weibo_api.md, with the site's own token in its place."""
    assert request_.url == url


def test_the_ways_to_a_whole_text() -> None:
    """extend, show, detail, in this order, all for the same post."""
    requests = SITE.full_text(OWNER, 9)
    assert [r.kind for r in requests] == [Kind.EXTEND, Kind.SHOW, Kind.DETAIL]
    assert [r.url.removeprefix("https://m.weibo.cn/") for r in requests] == [
        "statuses/extend?id=9",
        "statuses/show?id=9",
        "detail/9",
    ]
    assert {(r.uid, r.mid) for r in requests} == {(OWNER, 9)}


def test_headers_of_a_browser_of_the_site() -> None:
    """JSON is asked for as the site's own pages ask for it."""
    assert dict(SITE.posts(OWNER, "").headers) == {
        "Accept": "application/json, text/plain, */*",
        "MWeibo-Pwa": "1",
        "X-Requested-With": "XMLHttpRequest",
        "Referer": f"https://m.weibo.cn/u/{OWNER}",
    }
    assert dict(SITE.echoes(Kind.COMMENTS, 9).headers)["Referer"] == "https://m.weibo.cn/detail/9"
    assert "X-Requested-With" not in dict(SITE.full_text(OWNER, 9)[2].headers)


@pytest.mark.parametrize("cursor", ["2", "page=", "page=x", "since_id=", "max=3"])
def test_foreign_cursors_are_refused(cursor: str) -> None:
    """A token that is not the site's is a mistake of the caller."""
    with pytest.raises(ValueError, match="no cursor"):
        SITE.posts(OWNER, cursor)


def test_a_seed_is_no_list() -> None:
    """Only fans and follows are lists of the site."""
    with pytest.raises(ValueError, match="no list"):
        SITE.edge(Edge.SEED, OWNER, "")


@pytest.mark.parametrize(
    ("edge", "announced", "pages"),
    [
        (Edge.FANS, 0, 0),
        (Edge.FANS, 1, 1),
        (Edge.FANS, 20, 1),
        (Edge.FANS, 21, 2),
        (Edge.FANS, 63357736, 250),
        (Edge.FOLLOWS, 180, 9),
        (Edge.FOLLOWS, 5000, 10),
        (Edge.SEED, 100, 0),
    ],
)
def test_announced_pages(edge: Edge, announced: int, pages: int) -> None:
    """20 users a page, at most 250 pages of fans and 10 of follows."""
    assert SITE.announced_pages(edge, announced) == pages


def test_it_is_a_site() -> None:
    """All of the seam is there."""
    names = [name for name in vars(Site) if not name.startswith("_")]
    assert names
    assert [name for name in names if not hasattr(SITE, name)] == []
    assert SITE.home(7) == "https://m.weibo.cn/u/7"
