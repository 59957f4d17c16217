"""What few ask for, packed as compact JSON into one cell: of a post `post:more`. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from weibo_crawler.records import SCHEMA_VERSION, Id, Original, PageInfo, Post


class PackedPageInfo(PageInfo, frozen=True, omit_defaults=True):
    """records.PageInfo as it is packed."""


class PackedOriginal(msgspec.Struct, frozen=True, omit_defaults=True):
    """records.Original as it is packed: its mid is text, as everywhere outside."""

    mid: str
    uid: Id | None = None
    screen_name: str | None = None
    text: str = ""
    text_complete: bool = True
    created_at: str | None = None
    available: bool = True
    reposts: int | None = None
    comments: int | None = None
    likes: int | None = None
    page_info: PageInfo | None = None


class ListEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a list of a user was read, as `user:lists` packs it. ended, sure: as in `PageCommit`;
    listed: users on it; pages: how many held somebody; cursor: of a walled one, whence it goes on.
    """

    edge: str
    ended: str | None
    sure: bool
    listed: int
    pages: int
    cursor: str = ""


class More(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of the cell; one that is at its default is left out."""

    bid: str = ""
    created_at_precision: str = ""
    pics: tuple[str, ...] = ()
    pic_num: int = 0
    videos: tuple[str, ...] | None = None
    edit_count: int = 0
    edited_at: str | None = None
    visible: int = 0
    page_info: PageInfo | None = None
    original: PackedOriginal | None = None
    egress: str = ""
    schema_version: int | None = None
    run_id: str = ""


def pack(post: Post, egress: str, run_id: str) -> str:
    """The cell of one post."""
    more = More(
        post.bid,
        post.created_at_precision,
        post.pics,
        post.pic_num,
        post.videos,
        post.edit_count,
        post.edited_at,
        post.visible,
        _pack_page_info(post.page_info),
        None if post.original is None else _pack_original(post.original),
        egress,
        SCHEMA_VERSION,
        run_id,
    )
    return msgspec.json.encode(more).decode()


def repack(held: Mapping[str, Any], original: Original | None) -> str:
    """The cell of a stored post, as read_post gives it, with another original."""
    more = msgspec.convert(held, More)
    packed = None if original is None else _pack_original(original)
    return msgspec.json.encode(replace(more, original=packed)).decode()


class WholeOriginal(PackedOriginal, frozen=True, omit_defaults=False):
    """The same as it is shown: with all its fields."""


class Unpacked(More, frozen=True):
    """The cell as it is read."""

    original: WholeOriginal | None = None


class _Author(msgspec.Struct, frozen=True):
    uid: Id | None = None


class Glimpse(msgspec.Struct, frozen=True):
    """The little of the cell that is counted over all posts; the rest is not decoded."""

    created_at_precision: str = ""
    original: _Author | None = None


class _Stream(msgspec.Struct, frozen=True):
    type: str = ""
    stream: str = ""


class Attached(msgspec.Struct, frozen=True):
    """What names files: the addresses of the pictures, of the videos among them, and of a video."""

    pics: tuple[str, ...] = ()
    videos: tuple[str, ...] = ()
    page_info: _Stream | None = None


unpack = msgspec.json.Decoder(Unpacked).decode  # raises msgspec.DecodeError, a ValueError
glimpse = msgspec.json.Decoder(Glimpse).decode
attached = msgspec.json.Decoder(Attached).decode


def _pack_original(original: Original) -> PackedOriginal:
    fields = {name: getattr(original, name) for name in original.__struct_fields__}
    fields |= {"mid": str(original.mid), "page_info": _pack_page_info(original.page_info)}
    return PackedOriginal(**fields)


def _pack_page_info(info: PageInfo | None) -> PageInfo | None:
    return None if info is None else PackedPageInfo(*astuple(info))
