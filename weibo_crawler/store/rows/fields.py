"""The fields of users, posts, what is under them, and edges: what each is called, where it lives,
what it holds. Pure.

A field's name is its column in `scan` and in exports. Reading of cells, the columns, their types in
Parquet, the descriptions in a dataset and the tables of docs/tables.md come from here.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from weibo_crawler.records import ECHO_LISTS, EchoList, PageInfo, read_id
from weibo_crawler.store.rows.nested import ListEnd, WholeOriginal

NOWHERE = ""  # no cell of a table holds the field
MORE = "post:more"
PACKED = ":more"  # ends the cell of each table that packs several fields


class Kind(Enum):
    """What a field holds."""

    TEXT = "text"
    NUMBER = "whole number"
    SHARE = "number"
    TRUTH = "true or false"
    TIME = "time, UTC"
    SITE_TIME = "time by the site's clock"
    TEXTS = "list of texts"
    WORDS = "object of texts"
    RECORD = "object"
    RECORDS = "list of objects"


class Field(NamedTuple):
    """cell: family:qualifier; `post:more` and others with `:more` pack several fields as JSON.
    about: a line for analysts. is_cleared: the cell is emptied where there is nothing any more.
    record: the type of a RECORD, or of one of RECORDS. in_key: the row key holds it as well, and it
    is read from there, since rows of earlier versions have no such cell. is_id: a number that
    nobody calculates with. zone: of a time by the site's clock, as Arrow names it."""

    cell: str
    kind: Kind
    about: str
    is_cleared: bool = False
    record: type | None = None
    in_key: bool = False
    is_id: bool = False
    zone: str = "UTC"

    @property
    def read(self) -> Callable[[str], Any] | None:
        """How the text of the cell is read, None: as it is, even if empty. The function raises
        ValueError."""
        if self.is_id and self.kind is Kind.NUMBER:
            return read_id
        return str if self.is_cleared else _READ.get(self.kind)

    @property
    def write(self) -> Callable[[Any], str]:
        """How a value of a record becomes the text of the cell."""
        return _WRITE.get(self.kind, str)


def read_truth(text: str) -> bool:
    """`true` or `false`; ValueError for everything else."""
    if text not in ("true", "false"):
        raise ValueError("neither true nor false")
    return text == "true"


def write_truth(value: bool) -> str:
    """`true` or `false`."""
    return "true" if value else "false"


_READ: Mapping[Kind, Callable[[str], Any]] = {
    Kind.NUMBER: int,
    Kind.TRUTH: read_truth,
    Kind.TEXTS: msgspec.json.Decoder(list[str]).decode,
    Kind.RECORDS: msgspec.json.Decoder(list[dict[str, Any]]).decode,
    Kind.WORDS: msgspec.json.Decoder(dict[str, str]).decode,
}
_WRITE: Mapping[Kind, Callable[[Any], str]] = {
    Kind.TRUTH: write_truth,
    Kind.TEXTS: lambda texts: msgspec.json.encode(texts).decode(),
}


def _posts() -> Mapping[str, Field]:
    text, number, truth, time = Kind.TEXT, Kind.NUMBER, Kind.TRUTH, Kind.TIME
    return {
        "mid": Field("post:mid", text, "id of the post, decimal", in_key=True, is_id=True),
        "uid": Field("post:uid", number, "id of its author", in_key=True, is_id=True),
        "created_at": Field(
            "post:created_at",
            Kind.SITE_TIME,
            "when it was posted; the second is that of the mid where the site says less",
        ),
        "text": Field("post:text", text, "what a reader sees"),
        "text_complete": Field("post:text_complete", truth, "false: the text is still cut"),
        "source": Field("post:source", text, "the device"),
        "region": Field("post:region", text, "the place"),
        "reposts": Field("count:reposts", number, "how many reposts, when last seen"),
        "comments": Field("count:comments", number, "how many comments, when last seen"),
        "likes": Field("count:likes", number, "how many likes, when last seen"),
        "repost_of": Field(
            "post:repost_of", text, "mid of the reposted post; null: no repost", is_id=True
        ),
        "is_pinned": Field("post:is_pinned", truth, "pinned at the last visit"),
        "fetched_at": Field("post:fetched_at", time, "when this text was read"),
        "topics": Field("post:topics", Kind.TEXTS, "topics that the text links to, without #"),
        "mentions": Field("post:mentions", Kind.TEXTS, "screen names that the text links to"),
        **{
            f"{one.name}_read": Field(
                f"post:{one.name}_read",
                number,
                f"how many {one.name} it announced when the first of them were read",
            )
            for one in ECHO_LISTS
        },
        "gone_at": Field(
            "post:gone_at",
            time,
            "when the site was first seen not to show it any more: deleted or hidden",
            is_cleared=True,
        ),
        "text_why": Field(
            "post:text_why",
            text,
            "why the whole text cannot be had: `restricted: …`, `gone: …`",
            is_cleared=True,
        ),
        "bid": Field(MORE, text, "the id in its web address"),
        "created_at_precision": Field(
            MORE,
            text,
            "`second`, `minute`, `hour`, `day`, or `mid`: the list said a day, or nothing legible, "
            "the mid the second",
        ),
        "pics": Field(MORE, Kind.TEXTS, "addresses of its pictures, as far as the page names them"),
        "pic_num": Field(MORE, number, "how many pictures it has"),
        "videos": Field(MORE, Kind.TEXTS, "addresses of the videos among its pictures"),
        "edit_count": Field(MORE, number, "how often it was edited"),
        "edited_at": Field(MORE, Kind.SITE_TIME, "when it was last edited"),
        "visible": Field(MORE, number, "who may see it: 0 everybody"),
        "page_info": Field(
            MORE,
            Kind.RECORD,
            "what the site shows beside the text: a video, a link, a topic, an article, a place",
            record=PageInfo,
        ),
        "original": Field(
            MORE,
            Kind.RECORD,
            "the reposted post as it was shown; `available` false: the site shows it no more",
            record=WholeOriginal,
        ),
        "egress": Field(MORE, text, "the way it was fetched by, without credentials"),
        "schema_version": Field(MORE, number, "of the cells"),
        "run_id": Field(MORE, text, "the run that stored this text"),
    }


def _users() -> Mapping[str, Field]:
    text, number, time = Kind.TEXT, Kind.NUMBER, Kind.TIME
    return {
        "id": Field("user:id", number, "id of the user", in_key=True, is_id=True),
        "screen_name": Field("user:screen_name", text, "the name, as a list showed it"),
        "fans": Field("user:fans", number, "how many fans, as a list showed it"),
        "depth": Field("user:depth", number, "length of the shortest chain from a seed"),
        "found_from": Field(
            "user:found_from", number, "by whose list; null: a seed, or by a topic", is_id=True
        ),
        "state": Field(
            "crawl:state",
            text,
            "of its lists (harvest), or of its posts: `unvisited`, `partial`, `done`, `gone`, "
            "`failed`, `empty`",
        ),
        "found_edge": Field("user:found_edge", text, "by which list: `fans`, `follows`, …"),
        "found_at": Field("user:found_at", time, "when the user was found"),
        "url": Field("user:url", text, "the user's page"),
    }


def _profiles() -> Mapping[str, Field]:
    text, number, time = Kind.TEXT, Kind.NUMBER, Kind.TIME
    return {
        "announced": Field("crawl:announced", number, "how many posts the profile announces"),
        "stored": Field("crawl:stored", number, "how many posts are held, gone ones too"),
        "visited_at": Field("crawl:visited_at", time, "when the last whole visit ended"),
        "profile_screen_name": Field("profile:screen_name", text, "the name at the last visit"),
        "gender": Field("profile:gender", text, "`m` or `f`"),
        "description": Field("profile:description", text, "what the user says of herself"),
        "verified": Field("profile:verified", Kind.TRUTH, "verified by the site"),
        "verified_type": Field("profile:verified_type", number, "the site's number for how"),
        "verified_reason": Field("profile:verified_reason", text, "as whom"),
        "profile_fans": Field("profile:fans", number, "how many fans at the last visit"),
        "follows": Field("profile:follows", number, "how many users the user follows"),
        "posts": Field("profile:posts", number, "how many posts the profile announces"),
        "rank": Field("profile:rank", number, "the site's rank of the user"),
        "avatar": Field("profile:avatar", text, "address of the picture"),
        "profile_fetched_at": Field("profile:fetched_at", time, "when the profile was shown"),
        "province": Field("profile:province", text, "where the user says to be"),
        "city": Field("profile:city", text, "the same", is_cleared=True),
        "registered": Field("profile:registered", text, "the day of the registration"),
        "birthday": Field("profile:birthday", text, "as the site writes it"),
        "info": Field(
            "profile:info",
            Kind.WORDS,
            "more of the page of basic information; of several schools or companies one a line",
        ),
        "info_fetched_at": Field(
            "profile:info_fetched_at", time, "when the basic information was shown"
        ),
        "seq": Field(
            "user:seq", number, "the number of the user in SQL; null: jobs have found the user"
        ),
        "walk": Field(
            "user:walk",
            text,
            "how jobs ended the walk of the lists: `done`, `gone`, `failed`; null: none has",
        ),
        "lists": Field(
            "user:lists", Kind.RECORDS, "how far jobs have read each of them", record=ListEnd
        ),
        "run_id": Field("user:run_id", text, "the run that imported the user"),
    }


def _echoes(which: EchoList) -> Mapping[str, Field]:
    """The fields of a row of a list under a post."""
    one, text, number, more = which.one, Kind.TEXT, Kind.NUMBER, which.one + PACKED
    of_posts = {
        "reposts": Field(more, number, "how often it was passed on itself"),
        "text_complete": Field(more, Kind.TRUTH, "false: the list shows its beginning only"),
    }
    its = "id of the repost, a mid, decimal" if which.are_posts else "id of the comment, decimal"
    return {
        f"{one}_id": Field(f"{one}:id", text, its, in_key=True, is_id=True),
        "mid": Field(f"{one}:mid", text, "the post that it is on", in_key=True, is_id=True),
        "owner": Field(f"{one}:owner", number, "whose post that is", in_key=True, is_id=True),
        "uid": Field(f"{one}:uid", number, "who wrote it", is_id=True),
        "screen_name": Field(more, text, "the name of who wrote it"),
        "created_at": Field(f"{one}:created_at", Kind.SITE_TIME, "when it was written"),
        "text": Field(f"{one}:text", text, "what a reader sees"),
        "likes": Field(f"{one}:likes", number, "how many liked it"),
        "replies": Field(more, number, "how many answers it announces"),
        "region": Field(more, text, "the place"),
        **(of_posts if which.are_posts else {}),
        "fetched_at": Field(more, Kind.TIME, "when it was read"),
        "schema_version": Field(more, number, "of the cells"),
        "run_id": Field(more, text, "the run that stored it"),
    }


POSTS = _posts()
ECHOES = {one.name: _echoes(one) for one in ECHO_LISTS}  # by the name of the list
USERS = _users()  # of the live userlist
IMPORTED = {**USERS, **_profiles()}  # and of the tables
AS_OF = {"as_of": Field(NOWHERE, Kind.TIME, "since when the row held this")}  # of a history
EDGES: Mapping[str, Field] = {
    "owner": Field(NOWHERE, Kind.NUMBER, "whose list", is_id=True),
    "uid": Field(NOWHERE, Kind.NUMBER, "who was seen in it", is_id=True),
    "edge": Field(NOWHERE, Kind.TEXT, "which list: `fans`, `follows`, `reposts`, …"),
    "seen_at": Field(NOWHERE, Kind.TIME, "when the page was last read"),
}


def in_cells(
    fields: Mapping[str, Field], *but: str
) -> Mapping[str, tuple[str, Callable[[str], Any] | None]]:
    """The cells of those fields that have one of their own, and how each is read. but: left out by
    this beginning of a cell."""
    return {
        name: (field.cell, field.read)
        for name, field in fields.items()
        if field.cell != NOWHERE
        and not (field.in_key or field.cell.startswith(but) or field.cell.endswith(PACKED))
    }
