"""What the readers give is filled: a field that no reader fills would be null for ever."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.sites.weibo.helpers import REQUESTS, SITE, read, record
from tests.sites.weibo.test_attached import VIDEO_2019
from weibo_crawler.records import BasicInfo, Echo, FullText, Kind, Original, PageInfo, Post, User

TEXT = '<a href="/n/x">@x</a><a href="/p/1"><span class="surl-text">#topic#</span></a>'


def rich(tree: Any) -> None:
    """Posts with what those of the fixtures lack."""
    more = {"text": TEXT, "page_info": VIDEO_2019, "live_photo": ["https://video.weibo.com/1.mov"]}
    for status in (card["mblog"] for card in tree["data"]["cards"] if "mblog" in card):
        status |= more
        if status.get("retweeted_status"):
            status["retweeted_status"] |= more


def parts(value: object) -> Iterator[msgspec.Struct]:
    """All records in one, itself too."""
    if isinstance(value, msgspec.Struct):
        yield value
        for name in value.__struct_fields__:
            yield from parts(getattr(value, name))
    elif isinstance(value, tuple):
        for each in value:
            yield from parts(each)


def default(field: msgspec.structs.FieldInfo) -> object:
    """What a field holds that nobody fills; None, where somebody must."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None if field.required else field.default


@pytest.mark.parametrize("kind", [Post, Original, PageInfo, User, BasicInfo, Echo, FullText])
def test_each_field_is_read(kind: type[msgspec.Struct]) -> None:
    """By some page of the fixtures."""
    pages = [record(read(name)) for name in REQUESTS]
    pages.append(record(read("posts_page_mode.json", rich)))
    pages.append(
        record(read("extend.json", lambda tree: tree["data"].update(longTextContent=TEXT)))
    )
    found = [one for page in pages for one in parts(page) if type(one) is kind]
    unread = {
        field.name
        for field in msgspec.structs.fields(kind)
        if all(getattr(one, field.name) == default(field) for one in found)
    }
    assert unread == set()


def test_the_site_has_each_kind_of_request() -> None:
    """A kind that it does not read is asked of nobody: a new one has a shape, or stands here."""
    assert set(Kind) - SITE.kinds == {Kind.MEDIA, Kind.PROXIES}
