"""Cells that pack what few ask for as compact JSON, such as `post:more`. Pure.

The table of fields says which ones a cell packs. The type and the default of a field are those of
the record that it comes from, or follow from its kind where it is of none.
"""

from collections.abc import Mapping
from operator import attrgetter
from types import NoneType
from typing import Any, get_args

import msgspec
from msgspec.structs import FieldInfo, replace

from weibo_crawler.records import SCHEMA_VERSION, Echo, Id, Original, Post
from weibo_crawler.store.rows.fields import ECHOES, PACKED, POSTS, Field, Kind
from weibo_crawler.store.rows.nested import packed

_EMPTY: Mapping[Kind, tuple[Any, Any]] = {  # the type and the default of what is of no record
    Kind.TEXT: (str, ""),
    Kind.NUMBER: (int | None, None),
    Kind.TIME: (str | None, None),
}


class Packing:
    """The cell that packs several fields of a table. shape: a struct of these fields, in which one
    that is at its default is left out; names: theirs, those of the record first; nested: those that
    hold a record themselves. unpack: the struct of a cell; raises ValueError."""

    def __init__(self, fields: Mapping[str, Field], record: type[msgspec.Struct]):
        shown = {one.name: one for one in msgspec.structs.fields(record)}
        inside = {name: field for name, field in fields.items() if field.cell.endswith(PACKED)}
        of_record = [name for name in inside if name in shown]
        self.names = (*of_record, *(name for name in inside if name not in shown))
        self.nested = [name for name in of_record if inside[name].record is not None]
        members = [(name, *_member(inside[name], shown.get(name))) for name in self.names]
        self.shape: Any = msgspec.defstruct("More", members, frozen=True, omit_defaults=True)
        self.unpack = msgspec.json.Decoder(self.shape).decode
        self._values = attrgetter(*of_record)
        self._nested = [of_record.index(name) for name in self.nested]

    def pack(self, record: msgspec.Struct, **own: str | None) -> str:
        """The cell of one record. own: the fields that are not of the record."""
        values = list(self._values(record))
        for at in self._nested:
            if values[at] is not None:
                values[at] = packed(values[at])
        more = self.shape(*values, schema_version=SCHEMA_VERSION, **own)
        return msgspec.json.encode(more).decode()


def _member(field: Field, shown: FieldInfo | None) -> tuple[Any, Any]:
    """The type and the default of a packed field. shown: that of the record."""
    if field.record is not None:
        return field.record | None, None
    if shown is None:
        return _EMPTY[field.kind]
    if shown.required:
        return shown.type, None if NoneType in get_args(shown.type) else _EMPTY[field.kind][1]
    return shown.type, shown.default


MORE = Packing(POSTS, Post)
MORE_OF_ECHOES = {name: Packing(fields, Echo) for name, fields in ECHOES.items()}


def repack(held: Mapping[str, Any], original: Original | None) -> str:
    """`post:more` of a stored post, as read_post gives it, with another original."""
    more = msgspec.convert(held, MORE.shape)
    return msgspec.json.encode(replace(more, original=packed(original))).decode()


class _Author(msgspec.Struct, frozen=True):
    uid: Id | None = None


class Glimpse(msgspec.Struct, frozen=True):
    """The little of `post:more` that is counted over all posts; the rest is not decoded."""

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


glimpse = msgspec.json.Decoder(Glimpse).decode
attached = msgspec.json.Decoder(Attached).decode
