"""The JSON of the site: only the fields that are read (WEIBO_API, "Shapes and traps").

Nothing is required here, so that a parser can tell a missing key from null and name its path.
Fields that decide what is stored have their types; those that only decorate a row are `Any`, and
an odd one costs that field, not the page. gc=False: these never form cycles.
"""

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

Number = int | str | None  # a number or its digits: the type varies over years and pages


def is_type(card_type: Number, number: int) -> bool:
    """card_type is a number, on some pages its digits."""
    return card_type == number or card_type == str(number)


class Envelope(Struct, gc=False):
    """What wraps every answer; decoded alone where an answer is not `ok: 1`."""

    ok: Any = None
    msg: Any = None
    errno: Any = None
    url: Any = None
    data: Any = None


class Face(Struct, gc=False):
    """A user as lists and comments hold it: what a harvest keeps of one."""

    id: Number = None
    screen_name: str | None = None
    followers_count: Number = None
    followers_count_str: Number = None


class Person(Face, gc=False):
    """A user as a profile holds it; `follow_count` or, older, `friends_count`."""

    follow_count: Number = None
    friends_count: Number = None
    statuses_count: Number = None
    gender: Any = None
    description: Any = None
    verified: Any = None
    verified_type: Any = None
    verified_reason: Any = None
    urank: Any = None
    avatar_hd: Any = None
    profile_image_url: Any = None


class Author(Struct, gc=False):
    """A user as a post holds it. The number of fans matters to a harvest only: see `links`."""

    id: Number = None
    screen_name: str | None = None
    followers_count: Any = None
    followers_count_str: Any = None


class LongText(Struct, gc=False):
    longTextContent: str | None = None


class Mblog(Struct, gc=False):
    """A post. Where it is deleted or hidden: user null, deleted "1" or state 7 or 8."""

    id: Number = None
    mid: Number = None
    text: str | None = None
    created_at: str | None = None
    user: Author | UnsetType | None = UNSET
    retweeted_status: "Mblog | None" = None
    reposts_count: Number = None
    comments_count: Number = None
    attitudes_count: Number = None
    longText: LongText | None = None
    pics: Raw = Raw(b"")  # decoded apart: a list, or a dict keyed "0", "1", and often odd
    isLongText: Any = None
    deleted: Any = None
    state: Any = None
    mblogtype: Any = None
    isTop: Any = None
    title: Any = None
    profile_type_id: Any = None
    bid: Any = None
    source: Any = None
    region_name: Any = None
    pic_num: Any = None
    edit_count: Any = None
    edit_at: Any = None
    visible: Any = None


class LargePicture(Struct, gc=False):
    url: str | None = None


class Picture(Struct, gc=False):
    url: str | None = None
    large: LargePicture | None = None


class Card(Struct, gc=False):
    """A card of a timeline: 9 a post, 11 a group, 58 the end."""

    card_type: Number = None
    mblog: Mblog | None = None
    card_group: "list[Card] | None" = None
    scheme: Any = None
    profile_type_id: Any = None


class PageInfo(Struct, gc=False):
    """cardlistInfo: the token of the NEXT page, in one of two modes."""

    page: Number = None
    since_id: Number = None


class Timeline(Struct, gc=False):
    cards: list[Card] | UnsetType | None = UNSET
    cardlistInfo: PageInfo | None = None


class ListCard(Struct, gc=False):
    """A card of a fans or follows page: a block (card_group), or a user (card_type 10)."""

    card_type: Number = None
    itemid: Any = None
    title: Any = None
    card_group: "list[ListCard] | None" = None
    user: Face | UnsetType | None = UNSET
    desc1: Any = None
    desc2: Any = None


class UserList(Struct, gc=False):
    cards: list[ListCard] | UnsetType | None = UNSET


class Profile(Struct, gc=False):
    userInfo: Person | None = None
    tabsInfo: Any = None


class Comment(Struct, gc=False):
    user: Face | UnsetType | None = UNSET


class Comments(Struct, gc=False):
    data: list[Comment] | UnsetType | None = UNSET
    max_id: Number = None


class Rendered(Struct, gc=False):
    """`$render_data[0]` in the HTML of /detail/<mid>."""

    status: Mblog | None = None


class TimelineAnswer(Struct, gc=False):
    ok: Any = None
    data: Timeline | None = None


class UserListAnswer(Struct, gc=False):
    ok: Any = None
    data: UserList | None = None


class ProfileAnswer(Struct, gc=False):
    ok: Any = None
    data: Profile | None = None


class CommentsAnswer(Struct, gc=False):
    ok: Any = None
    data: Comments | None = None


class ExtendAnswer(Struct, gc=False):
    ok: Any = None
    data: LongText | None = None


class ShowAnswer(Struct, gc=False):
    ok: Any = None
    data: Mblog | None = None
