"""What a post shows beside its text: page_info in the recorded shapes, and odd ones."""

from typing import Any

import pytest

from tests.sites.weibo.helpers import read, record
from weibo_crawler.records import PageInfo, Post, PostPage

VIDEO_2019 = {
    "page_pic": {"url": "https://wx4.sinaimg.example/a.jpg"},
    "page_url": "https://m.weibo.example/p/index?containerid=230444&object_type=video",
    "page_title": "灯塔的秒拍视频",
    "content1": "灯塔的秒拍视频",
    "content2": "#慢信#",
    "type": "video",
    "media_info": {
        "duration": 14,
        "stream_url": "https://f.example/ld.mp4",
        "stream_url_hd": "http://f.example/hd.mp4",
        "mp4_sd_url": "http://f.example/sd.mp4",
        "mp4_hd_url": "http://f.example/hd2.mp4",
        "mp4_720p_mp4": "http://f.example/720.mp4",
        "h265_mp4_hd": "",
    },
    "play_count": 9035434,
    "object_id": "1034:4382054524348434",
}
VIDEO_2021 = {
    "type": "video",
    "object_type": 11,
    "page_pic": {"width": 1920, "url": "https://wx4.sinaimg.example/b.jpg"},
    "page_url": "https://video.weibo.example/show?fid=1034%3A1",
    "object_id": "1034:1",
    "page_title": "灯塔的微博视频",
    "title": "海边",
    "content2": "一行\n两行",
    "play_count": "87万次播放",
    "media_info": {"stream_url_hd": "https://f.example/hd.mp4", "duration": 103.165},
    "urls": {"mp4_720p_mp4": "https://f.example/720.mp4"},
}
TOPIC = {
    "type": "search_topic",
    "object_type": 0,
    "page_pic": {"url": "https://wx4.sinaimg.example/c.jpg"},
    "page_url": "https://m.weibo.example/search?q=x",
    "page_title": "#慢信#",
    "content1": "0讨论 0阅读 ",
}
LINK = {"object_type": 2, "type": "webpage", "page_title": None, "page_url": "https://x.example/"}


def page(info: Any, original: Any = None) -> PostPage:
    def change(tree: Any) -> None:
        cards = tree["data"]["cards"]
        cards[7]["mblog"]["page_info"] = info
        if original is not None:
            cards[1]["mblog"]["retweeted_status"]["page_info"] = original

    found = record(read("posts_page_mode.json", change))
    assert isinstance(found, PostPage)
    return found


def last(info: Any) -> Post:
    return page(info).posts[-1]


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (
            VIDEO_2019,
            PageInfo(
                type="video",
                site_type="video",
                title="灯塔的秒拍视频",
                url="https://m.weibo.example/p/index?containerid=230444&object_type=video",
                object_id="1034:4382054524348434",
                content1="灯塔的秒拍视频",
                content2="#慢信#",
                picture="https://wx4.sinaimg.example/a.jpg",
                stream="http://f.example/720.mp4",
                duration_s=14.0,
                plays=9035434,
            ),
        ),
        (
            VIDEO_2021,
            PageInfo(
                type="video",
                site_type="video",
                title="海边",
                url="https://video.weibo.example/show?fid=1034%3A1",
                object_id="1034:1",
                content2="一行\n两行",
                picture="https://wx4.sinaimg.example/b.jpg",
                stream="https://f.example/720.mp4",
                duration_s=103.165,
                plays=870_000,
            ),
        ),
        (
            TOPIC,
            PageInfo(
                type="topic",
                site_type="search_topic",
                title="#慢信#",
                url="https://m.weibo.example/search?q=x",
                content1="0讨论 0阅读 ",
                picture="https://wx4.sinaimg.example/c.jpg",
            ),
        ),
        (LINK, PageInfo("link", "webpage", url="https://x.example/")),
        ({"type": "article", "page_title": "文"}, PageInfo("article", "article", "文")),
        ({"type": "place", "page_title": "海"}, PageInfo("place", "place", "海")),
        ({"type": "story", "page_title": "事"}, PageInfo("other", "story", "事")),
    ],
)
def test_what_stands_beside_a_text(info: Any, expected: PageInfo) -> None:
    """Each recorded shape, by type; of a video the largest stream and how often it was played."""
    assert last(info).page_info == expected


def test_of_an_original() -> None:
    """The page_info of a reposted post stands with the original."""
    original = page(None, TOPIC).posts[1].original
    assert original is not None
    assert original.page_info is not None
    assert original.page_info.title == "#慢信#"


@pytest.mark.parametrize("odd", [None, [], {}, "", "words", 7, [TOPIC], {"type": None}])
def test_an_odd_one_costs_only_itself(odd: Any) -> None:
    """Law 15: the post is as it would be without it."""
    assert last(odd) == last(None)


@pytest.mark.parametrize(
    ("name", "odd", "lost"),
    [
        ("type", 7, {"type": "other", "site_type": ""}),
        ("page_pic", [], {"picture": ""}),
        ("page_pic", {"url": 5}, {"picture": ""}),
        ("urls", [], {"stream": "https://f.example/hd.mp4"}),
        ("media_info", "", {"duration_s": None}),
        ("media_info", {"duration": True}, {"duration_s": None}),
        ("media_info", {"duration": -1}, {"duration_s": None}),
        ("media_info", {"duration": 1e300}, {"duration_s": None}),
        ("play_count", "许多", {"plays": None}),
        ("play_count", -1, {"plays": None}),
        ("title", {}, {"title": "灯塔的微博视频"}),
        ("content2", "长" * 5001, {"content2": ""}),
        ("object_id", 1034, {"object_id": ""}),
    ],
)
def test_an_odd_field_costs_that_field(name: str, odd: Any, lost: dict[str, Any]) -> None:
    """Law 15, one level down."""
    expected, found = last(VIDEO_2021).page_info, last(VIDEO_2021 | {name: odd}).page_info
    assert expected is not None
    assert found is not None
    changed = {
        field: getattr(found, field)
        for field in PageInfo.__struct_fields__
        if getattr(found, field) != getattr(expected, field)
    }
    assert changed == lost
