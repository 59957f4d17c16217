"""What somebody made of a post: one row of a list under it."""

from weibo_crawler.records import Echo, User
from weibo_crawler.sites.weibo import wire
from weibo_crawler.sites.weibo.counts import MOST_REACTIONS, first_count, optional_count
from weibo_crawler.sites.weibo.dates import date_of, read_date, said, second_of
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.text import read_remark, reader_text

_SLACK_S = 3_600  # of clocks, and of dates in words


def read_echo(echo: wire.Echo, author: User, now: float, *, is_post: bool) -> Echo | None:
    """What somebody wrote; None where id or text cannot be read, or its mid is another id: that
    costs the echo. Its id holds its time, as a post's does, which is taken where id and mid both
    say so and the date cannot be read; else that costs it, too. is_post: it is a repost."""
    try:
        own = identity(echo.id, ".id")
        if echo.mid is not None and identity(echo.mid, ".mid") != own:
            return None
    except Drift:
        return None
    created_at, text = _date(echo, now, own), read_remark(echo.text)
    if created_at is None or text is None:
        return None
    # since 2022 `source` of a comment says where from ("来自北京"); that of a post is the device
    place = read_remark(echo.region_name if is_post else echo.source) or ""
    shown, is_cut = reader_text(text)
    likes = (echo.like_count, echo.like_counts, echo.attitudes_count)
    return Echo(
        id=own,
        uid=author.uid,
        screen_name=author.screen_name,
        text=shown,
        created_at=created_at,
        likes=first_count(likes, MOST_REACTIONS),
        replies=first_count((echo.total_number, echo.comments_count), MOST_REACTIONS),
        region=place.removeprefix("发布于" if is_post else "来自").strip() or None,
        reposts=optional_count(echo.reposts_count, MOST_REACTIONS),
        text_complete=not (is_cut or echo.isLongText in (True, 1, "1", "true")),
    )


def older_than(mid: int, echo: wire.Echo, now: float) -> int:
    """Its id, where id and date both say that it was written before this post; else 0. The ids of
    all 21 comments and replies that were recorded hold their second, as those of posts do."""
    try:
        own, words = identity(echo.id, ".id"), said(echo.created_at, now)
    except (Drift, ValueError, AttributeError):
        return 0
    is_older = words.at_s < second_of(mid) - _SLACK_S and words.holds(second_of(own), _SLACK_S)
    return own if is_older else 0


def _date(echo: wire.Echo, now: float, own: int) -> str | None:
    words = echo.created_at if isinstance(echo.created_at, str) else ""
    try:
        return read_date(words, now, own)[0]
    except ValueError:
        settled = date_of(own, now) if echo.mid is not None else None
        return settled[0] if settled is not None else None
