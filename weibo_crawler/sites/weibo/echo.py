"""What somebody made of a post: one row of a list under it."""

from weibo_crawler.records import Echo, User
from weibo_crawler.sites.weibo import wire
from weibo_crawler.sites.weibo.counts import MOST_REACTIONS, optional_count
from weibo_crawler.sites.weibo.dates import read_date
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.text import read_remark, reader_text


def read_echo(echo: wire.Echo, author: User, now: float) -> Echo | None:
    """What somebody wrote; None where id, text or date cannot be read, or its mid is another id:
    that costs the echo. Its id holds its time, as a post's does."""
    try:
        own = identity(echo.id, ".id")
        if echo.mid is not None and identity(echo.mid, ".mid") != own:
            return None
        said = echo.created_at if isinstance(echo.created_at, str) else ""
        created_at, _ = read_date(said, now, own)
    except (Drift, ValueError):
        return None
    text = read_remark(echo.text)
    if text is None:
        return None
    # since 2022 `source` says where from: "来自北京"
    region = (read_remark(echo.source) or "").removeprefix("来自").strip() or None
    return Echo(
        id=own,
        uid=author.uid,
        screen_name=author.screen_name,
        text=reader_text(text)[0],
        created_at=created_at,
        likes=optional_count(echo.like_count, MOST_REACTIONS),
        replies=optional_count(echo.total_number, MOST_REACTIONS),
        region=region,
    )
