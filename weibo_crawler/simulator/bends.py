"""Cards and items that are odd, broken, or none: what each name of the laws' forms does.

An odd one has an optional part that is not as it should be; a broken one lacks a required part.
"""

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def bent_post(mblog: Json, form: str) -> Json:
    """The mblog of a list with one part odd or broken; as it is for the form ""."""
    return _POSTS[form](mblog) if form else mblog


def bent_person(row: Json, form: str, fans: int) -> Json:
    """The item of a list of people with one part odd; as it is for the form ""."""
    if not form:
        return row
    user = {**row["user"]}
    if form == "name_null":
        user["screen_name"] = None
    else:
        row = row | {"desc2": ""}
        user.pop("followers_count_str", None)
        user.pop("followers_count")
        if form != "fans_absent":
            user["followers_count"] = float(fans) if form == "fans_float" else []
    return row | {"user": user}


def junk_card(form: str) -> Any:
    """What stands among the cards of a timeline and is no post."""
    return _CARDS[form]


def junk_person(row: Json, form: str) -> Any:
    """What stands among the items of a list of people and is nobody. row: an item without user."""
    if form in ("null", "words"):
        return {"null": None, "words": "更多"}[form]
    users: Json = {"user_null": None, "user_blank": {}, "user_words": "已注销"}
    return row | {"user": users.get(form, {"screen_name": "nobody", "followers_count": 77})}


def _with(**parts: Any) -> Callable[[Json], Json]:
    return lambda mblog: mblog | parts


def _without(name: str) -> Callable[[Json], Json]:
    return lambda mblog: {key: value for key, value in mblog.items() if key != name}


def _counts(odd: Any) -> Callable[[Json], Json]:
    return _with(reposts_count=odd, comments_count=odd, attitudes_count=odd)


def _unless_retweet(odd: Any) -> Callable[[Json], Json]:
    return lambda mblog: {"retweeted_status": odd} | mblog


def _original_without_user(mblog: Json) -> Json:
    original = mblog.get("retweeted_status")
    return mblog | {"retweeted_status": _without("user")(original)} if original else mblog


def _float_counts(mblog: Json) -> Json:
    names = ("reposts_count", "comments_count", "attitudes_count")
    return mblog | {name: float(mblog[name]) for name in names if not isinstance(mblog[name], str)}


_POSTS: dict[str, Callable[[Json], Json]] = {
    "retweeted_list": _unless_retweet([]),
    "retweeted_blank": _unless_retweet({}),
    "original_without_user": _original_without_user,
    "longtext_list": _with(longText=[]),
    "pics_blank": _with(pics="", pic_ids=None, pic_num=""),
    "page_info_list": _with(page_info=[]),
    "page_info_odd": _with(page_info={"type": "video", "page_pic": "", "media_info": [7]}),
    "counts_blank": _counts(""),
    "counts_negative": _counts(-1),
    "counts_float": _float_counts,
    "source_null": _with(source=None),
    "region_number": _with(region_name=5),
    "bid_number": _with(bid=0),
    "user_name_null": lambda mblog: mblog | {"user": mblog["user"] | {"screen_name": None}},
    "title_list": lambda mblog: {"title": []} | mblog,
    "text_absent": _without("text"),
    "text_number": _with(text=404),
    "mid_list": _with(mid=[], id=[], idstr=[], bid=""),
    "date_nonsense": _with(created_at="很久很久以前"),
}
_CARDS: dict[str, Any] = {
    "mblog_null": {"card_type": 9, "itemid": "", "mblog": None},
    "mblog_absent": {"card_type": 9, "itemid": "2310_promotion", "show_type": 1},
    "advertisement": {"card_type": 9, "mblogtype": 1, "mblog": None, "promotion": {"type": "ad"}},
    "hollow_group": {"card_type": 11, "card_group": []},
    "card58": {"card_type": 58, "desc": "以下是更早的微博"},
    "unknown_type": {"card_type": 973, "show_type": 2, "payload": {"id": "1"}},
    "null": None,
    "blank": {},
    "words": "card",
    "list": [],
}
