"""One post (weibo_api.md, "Shapes and traps").

What a post is by (mid, text, date, author) must be there and make sense, else Drift: that post is
unreadable. All else costs only itself where it is odd: a count is None, an original is left out.
"""

from typing import Any

import msgspec

from weibo_crawler.records import Id, Original, Post
from weibo_crawler.sites.weibo.attached import read_attached
from weibo_crawler.sites.weibo.bid import bid_of
from weibo_crawler.sites.weibo.counts import MOST_REACTIONS, optional_count, small_number
from weibo_crawler.sites.weibo.dates import Said, date_of, read_date, said, settle
from weibo_crawler.sites.weibo.drift import Drift
from weibo_crawler.sites.weibo.fitting import fit
from weibo_crawler.sites.weibo.ids import check_bid, mid_of, uid_of
from weibo_crawler.sites.weibo.text import (
    mentions,
    read_name,
    read_remark,
    reader_text,
    topics,
)
from weibo_crawler.sites.weibo.wire import Card, Mblog, Person, Picture

_LONGEST_DECORATION = 5_000
_PICTURES = msgspec.json.Decoder(list[Picture | None] | dict[str, Picture | None] | None)


def is_gone(status: Mblog) -> bool:
    """Deleted or hidden: its text is a notice of the site. That nobody wrote it says so only where
    it lacks, as a notice does, what every live post has: counts, and whether its text is long."""
    if status.deleted in ("1", 1) or status.state in (7, 8, "7", "8"):
        return True
    counts = (status.reposts_count, status.comments_count, status.attitudes_count)
    is_bare = all(part is None for part in (*counts, status.isLongText))
    return status.user is None and is_bare


def author_of(status: Mblog) -> Person:
    """Who wrote a post that is not gone. Errors: Drift, as a live post always has an author."""
    if not isinstance(status.user, Person):
        raise Drift(".user")
    return status.user


def read_post(status: Mblog, card: Card, uid: Id, now: float) -> Post:
    """A live post of `uid`. Errors: Drift, with a path below the mblog."""
    mid = mid_of(status)
    if not isinstance(status.text, str):
        raise Drift(".text")
    text, is_cut = reader_text(status.text)
    words = _said(status, now)
    bid = bid_of(mid)
    is_address = isinstance(card.scheme, str) and bid in card.scheme
    if status.bid != bid or not is_address:
        check_bid(status, card, mid, words)
    is_sure = is_address or status.bid == bid
    created_at, precision = settle(words, mid) if words else _date_of(mid, now, is_sure=is_sure)
    repost_of, original = _read_original(status.retweeted_status, now)
    pictures = _pictures(status.pics)
    pics = tuple(address for address in map(_address, pictures) if address)
    return Post(
        mid=mid,
        uid=uid,
        created_at=created_at,
        created_at_precision=precision,
        text=text,
        text_complete=not (is_cut or _is_true(status.isLongText)),
        source=_decoration(status.source),
        region=_decoration(status.region_name).removeprefix("发布于").strip() or None,
        reposts=optional_count(status.reposts_count, MOST_REACTIONS),
        comments=optional_count(status.comments_count, MOST_REACTIONS),
        likes=optional_count(status.attitudes_count, MOST_REACTIONS),
        bid=bid,
        pics=pics,
        pic_num=max(small_number(status.pic_num) or 0, 0) or len(pics),
        videos=_videos(status.live_photo, pictures),
        is_pinned=_is_pinned(status, card),
        repost_of=repost_of,
        original=original,
        edit_count=max(small_number(status.edit_count) or 0, 0),
        edited_at=_optional_date(status.edit_at, 0, now),
        visible=small_number(_field(status.visible, "type")) or 0,
        topics=topics(status.text),
        mentions=mentions(status.text),
        page_info=read_attached(status.page_info),
    )


def _read_original(status: Mblog | None, now: float) -> tuple[int | None, Original | None]:
    """The mid of the reposted post and the post, as far as they are legible; of a deleted or hidden
    one only its mid is sure to be there."""
    if status is None:
        return None, None
    try:
        mid = mid_of(status)
        _check_original(status, mid, now)
    except Drift:
        return None, None
    if is_gone(status):
        return mid, _gone_original(status, mid, now)
    if not isinstance(status.text, str):
        return mid, None
    text, is_cut = reader_text(status.text)
    uid, name = _author(status)
    return mid, Original(
        mid=mid,
        uid=uid,
        screen_name=name,
        text=text,
        text_complete=not is_cut,
        created_at=_optional_date(status.created_at, mid, now),
        available=True,
        reposts=optional_count(status.reposts_count, MOST_REACTIONS),
        comments=optional_count(status.comments_count, MOST_REACTIONS),
        likes=optional_count(status.attitudes_count, MOST_REACTIONS),
        page_info=read_attached(status.page_info),
    )


def _check_original(status: Mblog, mid: int, now: float) -> None:
    """Hear bid and date, where both are there: one of them alone is not believed. Errors: Drift."""
    if status.bid == bid_of(mid) or not isinstance(status.bid, str):
        return
    if words := _said(status, now):
        check_bid(status, Card(), mid, words)


def _author(status: Mblog) -> tuple[int | None, str | None]:
    try:
        author = author_of(status)
        return uid_of(author, ".user.id"), read_name(author.screen_name)
    except Drift:
        return None, None


def _gone_original(status: Mblog, mid: int, now: float) -> Original:
    return Original(
        mid=mid,
        uid=None,
        screen_name=None,
        text=_decoration(status.text),
        text_complete=True,
        created_at=_optional_date(status.created_at, mid, now),
        available=False,
    )


def _said(status: Mblog, now: float) -> Said | None:
    """What the site says of when it was written; None: nothing that can be read."""
    try:
        return said(status.created_at if isinstance(status.created_at, str) else "", now)
    except ValueError:
        return None


def _date_of(mid: int, now: float, *, is_sure: bool) -> tuple[str, str]:
    """When a post was written of which the site says nothing legible. is_sure: another part names
    the same mid. Errors: Drift."""
    settled = date_of(mid, now) if is_sure else None
    if settled is None:
        raise Drift(".created_at")
    return settled


def _optional_date(text: object, mid: int, now: float) -> str | None:
    try:
        return read_date(text, now, mid)[0] if isinstance(text, str) else None
    except ValueError:
        return None


def _is_pinned(status: Mblog, card: Card) -> bool:
    """Any of the four signs; the last one stands on the post or on its card."""
    types = (status.profile_type_id, card.profile_type_id)
    return (
        status.mblogtype in (2, "2")
        or status.isTop in (1, "1")
        or _field(status.title, "text") == "置顶"
        or any(isinstance(name, str) and name.startswith("proweibotop") for name in types)
    )


def _pictures(raw: msgspec.Raw) -> list[Picture]:
    """The pictures; an odd one is left out."""
    if not memoryview(raw):
        return []
    try:
        pictures = _PICTURES.decode(raw) or ()
        listed = list(pictures.values() if isinstance(pictures, dict) else pictures)
    except (msgspec.DecodeError, UnicodeDecodeError):
        listed = _odd_pictures(raw)
    return [picture for picture in listed if picture is not None]


def _videos(live_photo: object, pictures: list[Picture]) -> tuple[str, ...] | None:
    """The addresses of the videos among the pictures, each once; None where there are none. They
    stand in a list of their own on recorded posts, and where tools of 2026 read them beside each
    picture."""
    named = live_photo if isinstance(live_photo, list) else []
    found = map(read_remark, (*named, *(picture.videoSrc for picture in pictures)))
    return tuple(dict.fromkeys(address for address in found if address)) or None


def _odd_pictures(raw: msgspec.Raw) -> list[Picture | None]:
    try:
        values = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    listed = values.values() if isinstance(values, dict) else values
    if not isinstance(values, dict | list):
        return []
    return [fit(value, Picture) for value in listed if isinstance(value, dict)]


def _address(picture: Picture) -> str | None:
    """Of the large one where there is one."""
    large = read_remark(picture.large.url) if picture.large is not None else None
    return large or read_remark(picture.url)


def _decoration(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_DECORATION:
        return ""
    return reader_text(value)[0]


def _field(value: Any, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _is_true(value: object) -> bool:
    return value in (1, "1", "true")
