"""What a post shows beside its text (page_info): a video, a link, a topic, an article, a place."""

import math

from weibo_crawler.records import PageInfo
from weibo_crawler.sites.weibo.counts import MOST_REACTIONS, optional_count
from weibo_crawler.sites.weibo.text import read_remark
from weibo_crawler.sites.weibo.wire import Attached

_TYPES = {
    "video": "video",
    "webpage": "link",
    "topic": "topic",
    "search_topic": "topic",
    "article": "article",
    "place": "place",
}
_PLAYED = "次播放"
_LONGEST_S = 10.0**6  # of a video: eleven days


def read_attached(attached: Attached | None) -> PageInfo | None:
    """The page_info of a post, None where there is none or nothing of it is legible. What is odd in
    it costs that field."""
    if attached is None:
        return None
    said = read_remark(attached.type) or ""
    title = read_remark(attached.title) or read_remark(attached.page_title) or ""
    url = read_remark(attached.page_url) or ""
    if not (said or title or url):
        return None
    cover = attached.page_pic
    content1 = read_remark(attached.content1) or ""
    return PageInfo(
        type=_TYPES.get(said, "other"),
        site_type=said,
        title=title,
        url=url,
        object_id=read_remark(attached.object_id) or "",
        content1=content1,
        content2=read_remark(attached.content2) or "",
        picture=(read_remark(cover.url) or "") if cover is not None else "",
        stream=_stream(attached),
        duration_s=_duration(attached),
        plays=_plays(attached.play_count),
    )


def _stream(attached: Attached) -> str:
    """The address of the largest picture that is offered."""
    offered: list[object] = []
    if (urls := attached.urls) is not None:
        offered += [urls.mp4_720p_mp4, urls.mp4_hd_mp4, urls.mp4_ld_mp4]
    if (media := attached.media_info) is not None:
        offered += [media.mp4_720p_mp4, media.mp4_hd_url, media.stream_url_hd]
        offered += [media.mp4_sd_url, media.stream_url]
    return next((url for url in map(read_remark, offered) if url), "")


def _duration(attached: Attached) -> float | None:
    """Seconds; the site writes 0 where there is no video."""
    value = attached.media_info.duration if attached.media_info is not None else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) and 0 < value < _LONGEST_S else None


def _plays(value: object) -> int | None:
    """`87万次播放`, a number, or its digits."""
    said = value.removesuffix(_PLAYED) if isinstance(value, str) else value
    return optional_count(said, MOST_REACTIONS)
