"""One post (WEIBO_API, "Shapes and traps").

What decides what is stored must be there and make sense, else Drift; what only decorates the row
(source, pictures, edits…) is left out where it is odd.
"""

from typing import Any

import msgspec

from weibo_crawler.records import Original, Post
from weibo_crawler.sites.weibo.bid import bid_in_scheme, bid_of
from weibo_crawler.sites.weibo.counts import optional_count, small_number
from weibo_crawler.sites.weibo.dates import read_date
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.text import reader_text, writable
from weibo_crawler.sites.weibo.wire import Author, Card, Mblog, Picture

_PICTURES = msgspec.json.Decoder(list[Picture | None] | dict[str, Picture | None] | None)


def is_gone(status: Mblog) -> bool:
    """Deleted or hidden: its text is a notice of the site."""
    is_flagged = status.deleted in ("1", 1) or status.state in (7, 8, "7", "8")
    return is_flagged or status.user is None


def author_of(status: Mblog) -> Author:
    """Who wrote a post that is not gone. Errors: Drift, as a live post always has an author."""
    if not isinstance(status.user, Author):
        raise Drift(".user")
    return status.user


def read_post(status: Mblog, card: Card, uid: int, now: float) -> Post:
    """A live post of `uid`. Errors: Drift, with a path below the mblog."""
    mid = identity(status.mid or status.id, ".mid")
    if status.text is None:
        raise Drift(".text")
    text, is_cut = reader_text(status.text)
    created_at, precision = _date(status, mid, now)
    original = _read_original(status.retweeted_status, now)
    pics = _pictures(status.pics)
    return Post(
        mid=mid,
        uid=uid,
        created_at=created_at,
        created_at_precision=precision,
        text=text,
        text_complete=not (is_cut or _is_true(status.isLongText)),
        source=_decoration(status.source),
        region=_decoration(status.region_name).removeprefix("发布于").strip() or None,
        reposts=optional_count(status.reposts_count, ".reposts_count"),
        comments=optional_count(status.comments_count, ".comments_count"),
        likes=optional_count(status.attitudes_count, ".attitudes_count"),
        bid=_decoration(status.bid) or bid_in_scheme(card.scheme) or bid_of(mid),
        pics=pics,
        pic_num=small_number(status.pic_num) or len(pics),
        is_pinned=_is_pinned(status, card),
        repost_of=original.mid if original else None,
        original=original,
        edit_count=small_number(status.edit_count) or 0,
        edited_at=_optional_date(status.edit_at, mid, now),
        visible=small_number(_field(status.visible, "type")) or 0,
    )


def _read_original(status: Mblog | None, now: float) -> Original | None:
    """The reposted post; of a deleted or hidden one only its mid is sure to be there."""
    if status is None:
        return None
    try:
        mid = identity(status.mid or status.id, ".mid")
        if is_gone(status):
            return _gone_original(status, mid, now)
        if status.text is None:
            raise Drift(".text")
        text, is_cut = reader_text(status.text)
        author = author_of(status)
        return Original(
            mid=mid,
            uid=identity(author.id, ".user.id"),
            screen_name=None if author.screen_name is None else writable(author.screen_name),
            text=text,
            text_complete=not is_cut,
            created_at=_date(status, mid, now)[0],
            available=True,
            reposts=optional_count(status.reposts_count, ".reposts_count"),
            comments=optional_count(status.comments_count, ".comments_count"),
            likes=optional_count(status.attitudes_count, ".attitudes_count"),
        )
    except Drift as drift:
        raise drift.under(".retweeted_status") from None


def _gone_original(status: Mblog, mid: int, now: float) -> Original:
    return Original(
        mid=mid,
        uid=None,
        screen_name=None,
        text=reader_text(status.text or "")[0],
        text_complete=True,
        created_at=_optional_date(status.created_at, mid, now),
        available=False,
    )


def _date(status: Mblog, mid: int, now: float) -> tuple[str, str]:
    try:
        return read_date(status.created_at or "", now, mid)
    except ValueError:
        raise Drift(".created_at") from None


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


def _pictures(raw: msgspec.Raw) -> tuple[str, ...]:
    """The addresses of the pictures, large where there is one; none where the shape is odd."""
    if not memoryview(raw):
        return ()
    try:
        pictures = _PICTURES.decode(raw) or ()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    listed = pictures.values() if isinstance(pictures, dict) else pictures
    addresses = [_address(picture) for picture in listed if picture is not None]
    return tuple(writable(address) for address in addresses if address)


def _address(picture: Picture) -> str | None:
    large = picture.large.url if picture.large is not None else None
    return large or picture.url


def _decoration(value: object) -> str:
    return reader_text(value)[0] if isinstance(value, str) else ""


def _field(value: Any, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _is_true(value: object) -> bool:
    return value in (1, "1", "true")
