"""One comment on a post."""

from weibo_crawler.records import Comment, User
from weibo_crawler.sites.weibo import wire
from weibo_crawler.sites.weibo.counts import MOST_REACTIONS, optional_count
from weibo_crawler.sites.weibo.dates import read_date
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.text import read_remark, reader_text


def read_comment(comment: wire.Comment, author: User, now: float) -> Comment | None:
    """What somebody wrote; None where id, text or date cannot be read, or its mid is another id:
    that costs the comment. Its id holds its time, as a post's does."""
    try:
        own = identity(comment.id, ".id")
        if comment.mid is not None and identity(comment.mid, ".mid") != own:
            return None
        said = comment.created_at if isinstance(comment.created_at, str) else ""
        created_at, _ = read_date(said, now, own)
    except (Drift, ValueError):
        return None
    text = read_remark(comment.text)
    if text is None:
        return None
    # since 2022 `source` says where from: "来自北京"
    region = (read_remark(comment.source) or "").removeprefix("来自").strip() or None
    return Comment(
        id=own,
        uid=author.uid,
        screen_name=author.screen_name,
        text=reader_text(text)[0],
        created_at=created_at,
        likes=optional_count(comment.like_count, MOST_REACTIONS),
        replies=optional_count(comment.total_number, MOST_REACTIONS),
        region=region,
    )
