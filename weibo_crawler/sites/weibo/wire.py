"""The JSON of the site: only the fields that are read (weibo_api.md, "Shapes and traps").

Nothing is required here, so that a parser can tell a missing key from null and name its path.
Objects and lists have their types, which the decoder checks in one go; `fitting` is for pages that
it refuses. Scalars are `Any`: their types vary over years and pages, and the parser judges each, so
that an odd one costs that field. gc=False: these never form cycles.
"""

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType, defstruct


def is_type(card_type: object, number: int) -> bool:
    """card_type is a number, on some pages its digits."""
    return card_type == number or card_type == str(number)


class Answer(Struct, gc=False):
    """What wraps every answer. Where it says more than `ok: 1` it is decoded whole, too."""

    ok: Any = None
    msg: Any = None
    errno: Any = None
    url: Any = None
    data: Any = None


def answer_with(data: type[Struct]) -> type[Struct]:
    """An answer that wraps these data, if any."""
    field = ("data", data | None, None)
    return defstruct(f"{data.__name__}Answer", [field], bases=(Answer,), gc=False)


class Face(Struct, gc=False):
    """A user as lists and comments hold it: what a harvest keeps of one."""

    id: Any = None
    screen_name: Any = None
    followers_count: Any = None
    followers_count_str: Any = None
    statuses_count: Any = None
    profile_url: Any = None


class Person(Face, gc=False):
    """A user as a profile and a post hold it; `follow_count` or, older, `friends_count`."""

    follow_count: Any = None
    friends_count: Any = None
    gender: Any = None
    description: Any = None
    verified: Any = None
    verified_type: Any = None
    verified_reason: Any = None
    urank: Any = None
    avatar_hd: Any = None
    profile_image_url: Any = None


class LongText(Struct, gc=False):
    ok: Any = None
    longTextContent: Any = None


class Cover(Struct, gc=False):
    url: Any = None


class Media(Struct, gc=False):
    """A video. Its streams: on recorded pages of 2019 here, later in `urls` of the page_info."""

    duration: Any = None
    mp4_720p_mp4: Any = None
    mp4_hd_url: Any = None
    mp4_sd_url: Any = None
    stream_url_hd: Any = None
    stream_url: Any = None


class Streams(Struct, gc=False):
    mp4_720p_mp4: Any = None
    mp4_hd_mp4: Any = None
    mp4_ld_mp4: Any = None


class Attached(Struct, gc=False):
    """page_info: what a post shows beside its text. It stood on 14 of the 20 posts of two recorded
    pages, as video, topic, search_topic or webpage."""

    type: Any = None
    title: Any = None
    page_title: Any = None
    page_url: Any = None
    object_id: Any = None
    content1: Any = None
    content2: Any = None
    page_pic: Cover | None = None
    media_info: Media | None = None
    urls: Streams | None = None
    play_count: Any = None


class Named(Struct, gc=False):
    """Which post it is."""

    id: Any = None
    mid: Any = None
    idstr: Any = None


class Mblog(Named, gc=False):
    """A post. Deleted or hidden: user null and no counts, deleted "1", or state 7 or 8."""

    text: Any = None
    created_at: Any = None
    user: Person | UnsetType | None = UNSET
    retweeted_status: "Mblog | None" = None
    reposts_count: Any = None
    comments_count: Any = None
    attitudes_count: Any = None
    longText: LongText | None = None
    page_info: Attached | None = None
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
    live_photo: Any = None
    edit_count: Any = None
    edit_at: Any = None
    visible: Any = None


class LargePicture(Struct, gc=False):
    url: Any = None


class Picture(Struct, gc=False):
    """videoSrc: of a picture that moves, or a video among the pictures, whose cover it is."""

    url: Any = None
    videoSrc: Any = None
    large: LargePicture | None = None


class Card(Struct, gc=False):
    """A card of a timeline: 9 a post, 11 a group, 58 the end."""

    card_type: Any = None
    mblog: Mblog | UnsetType | None = UNSET
    card_group: "list[Card | None] | None" = None
    scheme: Any = None
    profile_type_id: Any = None


class PageInfo(Struct, gc=False):
    """cardlistInfo: the token of the NEXT page, in one of two modes, and whose page it is."""

    containerid: Any = None
    page: Any = None
    since_id: Any = None


class Timeline(Struct, gc=False):
    cards: list[Card | None] | UnsetType | None = UNSET
    cardlistInfo: PageInfo | None = None


class ListCard(Struct, gc=False):
    """A card of a fans or follows page: a block (card_group), or a user (card_type 10)."""

    card_type: Any = None
    itemid: Any = None
    scheme: Any = None
    title: Any = None
    card_group: "list[ListCard | None] | None" = None
    user: Face | UnsetType | None = UNSET
    mblog: Any = None
    desc1: Any = None
    desc2: Any = None


class UserList(Struct, gc=False):
    cards: list[ListCard | None] | UnsetType | None = UNSET
    cardlistInfo: PageInfo | None = None


class Profile(Struct, gc=False):
    """Has no cards, unless in an answer that shows nothing."""

    userInfo: Person | None = None
    cards: Any = None


class InfoCard(Struct, gc=False):
    """A card of the basic information: a block (card_group), a title (42), or an item (41)."""

    card_type: Any = None
    card_group: "list[InfoCard | None] | None" = None
    item_name: Any = None
    item_type: Any = None
    item_content: Any = None


class Info(Struct, gc=False):
    cards: list[InfoCard | None] | UnsetType | None = UNSET
    cardlistInfo: PageInfo | None = None


class Reposted(Named, gc=False):
    """What a repost passes on, which may itself be one."""

    retweeted_status: "Reposted | None" = None


class Echo(Struct, gc=False):
    """A comment, or a repost: since 2019 that is a post, before it was much like a comment."""

    id: Any = None
    mid: Any = None
    text: Any = None
    created_at: Any = None
    like_count: Any = None
    like_counts: Any = None
    attitudes_count: Any = None
    total_number: Any = None
    comments_count: Any = None
    reposts_count: Any = None
    source: Any = None
    region_name: Any = None
    isLongText: Any = None
    user: Face | UnsetType | None = UNSET
    retweeted_status: Reposted | None = None


class Echoes(Struct, gc=False):
    """Of comments max_id names the next page, of reposts max is the number of the last one."""

    data: list[Echo | None] | UnsetType | None = UNSET
    max_id: Any = None
    max_id_type: Any = None
    max: Any = None


class Rendered(Struct, gc=False):
    """`$render_data[0]` in the HTML of /detail/<mid>."""

    status: Mblog | None = None
