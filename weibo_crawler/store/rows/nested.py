"""Records within one field, as they are packed into JSON: what a post shows beside its text, the
reposted post, how far a list was read. Pure."""

from typing import Any

import msgspec
from msgspec.structs import asdict, astuple

from weibo_crawler.records import Id, Original, PageInfo


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


class WholeOriginal(PackedOriginal, frozen=True, omit_defaults=False):
    """The same as it is shown: with all its fields."""


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


def packed(value: Any) -> Any:
    """A value of a record as it is packed: those of these records in their own form."""
    if isinstance(value, Original):
        held = asdict(value) | {"mid": str(value.mid), "page_info": packed(value.page_info)}
        return PackedOriginal(**held)
    return PackedPageInfo(*astuple(value)) if isinstance(value, PageInfo) else value
