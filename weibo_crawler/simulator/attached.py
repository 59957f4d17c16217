"""What the site shows beside a text: page_info, in the recorded shapes of 2019 and 2021.

It stood on 14 of the 20 posts of two recorded pages: 4 videos, 10 topics and links. The shapes of
article and place are not recorded; their types are those that programs read.
"""

from typing import Any
from urllib.parse import quote

from weibo_crawler.simulator.dice import scatter
from weibo_crawler.simulator.timeline import Post
from weibo_crawler.simulator.wire import SITE

# the site's types, and what they are
KINDS = {
    "video": "video",
    "search_topic": "topic",
    "topic": "topic",
    "webpage": "link",
    "article": "article",
    "place": "place",
    "story": "other",
}
_TYPES = ("video", "video", "search_topic", "topic", "webpage", "article", "place", "story")


def attached_type(post: Post) -> str | None:
    """The site's type of what stands beside the text; None: nothing. A post that names a topic
    shows it, as on recorded pages."""
    if scatter(post.mid, 40) % 10 >= 7 or post.repost_of is not None:
        return None
    if post.writing.topics and scatter(post.mid, 41) % 3:
        return "search_topic"
    return _TYPES[scatter(post.mid, 42) % len(_TYPES)]


def attached(post: Post) -> dict[str, Any] | None:
    """The page_info of a post; None: it has none."""
    kind = attached_type(post)
    if kind is None:
        return None
    title = title_of(post)
    info: dict[str, Any] = {
        "type": kind,
        "object_type": 11 if kind == "video" else 0,
        "page_pic": {"url": f"https://wx4.sinaimg.cn/large/{scatter(post.mid, 43):08x}.jpg"},
        "page_url": f"{SITE}/p/index?containerid={quote(title)}&luicode=10000011",
        "page_title": title,
        "content1": "0讨论 0阅读 " if kind == "search_topic" else "第一行",
    }
    if kind == "webpage":
        info["page_title"] = None  # as recorded: a link may have none
    elif kind == "video":
        info |= _video(post)
    elif kind != "search_topic":
        info |= {"content2": "8.6万讨论   1.1亿阅读", "object_id": f"1022:{post.mid}"}
    return info


def title_of(post: Post) -> str:
    """The title: that of the first topic, or the beginning of the text."""
    topics = post.writing.topics
    return f"#{topics[0]}#" if topics else f"{post.writing.text[:8].strip()}…"


def _video(post: Post) -> dict[str, Any]:
    """Streams stand in media_info, as in 2019, or in urls too, as in 2021."""
    address = f"https://f.video.weibocdn.com/{post.mid}"
    media: dict[str, Any] = {
        "stream_url": f"{address}.mp4?label=mp4_ld&Expires=1623923456",
        "stream_url_hd": f"{address}.mp4?label=mp4_hd&Expires=1623923456",
        "duration": 5 + scatter(post.mid, 44) % 9000 / 10,  # seconds
    }
    later: dict[str, Any] = {"media_info": media, "object_id": f"1034:{post.mid}"}
    later |= {"content2": post.writing.text[:100], "play_count": "87万次播放"}
    if scatter(post.mid, 45) % 2:
        return later | {"play_count": 9035434}
    labels = ("mp4_720p_mp4", "mp4_hd_mp4", "mp4_ld_mp4")
    urls = {label: f"{address}.mp4?label={label}&Expires=1623923456" for label in labels}
    return later | {"title": title_of(post), "urls": urls}
