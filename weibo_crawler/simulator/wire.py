"""The words of the mobile site: envelopes, refusals, dates, counts, bids, and a user's JSON."""

import json
import time
from functools import lru_cache
from typing import Any

import msgspec

from weibo_crawler.simulator.world import World

JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"
SITE = "https://m.weibo.cn"
SITE_UTC_OFFSET_S = 8 * 3600  # the site's clock (weibo_api.md)
_BASE62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def ascii_json(thing: Any) -> bytes:
    """JSON as the site writes its short answers: ASCII, with \\u escapes."""
    return json.dumps(thing, separators=(",", ":")).encode("ascii")


NO_CONTENT = ascii_json({"ok": 0, "msg": "这里还没有内容", "data": {"cards": []}}) + b"\n"


class Answer(msgspec.Struct, frozen=True):
    """One answer before it goes on the wire. label: what the served log calls it; "ok" for
    content, "end" for the no-content body, else the name of a refusal."""

    body: bytes
    label: str = "ok"
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


END = Answer(NO_CONTENT, "end")


def envelope(data: Any) -> Answer:
    """`{"ok":1,"data":…}` as JSON in UTF-8."""
    return Answer(msgspec.json.encode({"ok": 1, "data": data}))


def login_wall(path: str) -> Answer:
    """What a guest gets who may not see a page (weibo_api.md: 200, ok -100 and a passport url)."""
    address = "https://passport.weibo.com/sso/signin?entry=wapsso&source=wapsso&url="
    return Answer(
        msgspec.json.encode({"ok": -100, "msg": "请先登录", "url": address + SITE + path}),
        "login_wall",
    )


def error_page(message: str, label: str) -> Answer:
    """The site's HTML for people: `<p class="h5-4con">message</p>` (weibo_api.md)."""
    head = '<!DOCTYPE html><html><head><meta charset="utf-8"><title>微博-出错了</title></head>'
    page = f'{head}<body><div class="h5-4box"><p class="h5-4con">{message}</p></div></body></html>'
    return Answer(page.encode(), label, content_type=HTML)


_SAYS_NO_POST = "该微博不存在"  # weibo_api.md: errno 20101
NO_POST = Answer(ascii_json({"ok": 0, "errno": "20101", "msg": _SAYS_NO_POST}), "gone")
NO_POST_PAGE = error_page(_SAYS_NO_POST, "gone")


@lru_cache(maxsize=4096)  # a card needs it twice
def bid_of(mid: int) -> str:
    """A mid as the site writes it in addresses: groups of 7 digits as 4 base-62 characters."""
    digits = str(mid)
    groups = []
    while digits:
        digits, group = digits[:-7], digits[-7:]
        number, text = int(group), ""
        while number:
            number, digit = divmod(number, 62)
            text = _BASE62[digit] + text
        groups.append(text.rjust(4, "0") if digits else text)
    return "".join(reversed(groups))


def mid_of_bid(bid: str) -> int | None:
    """The mid of a bid, None for nonsense."""
    digits = ""
    while bid:
        bid, group = bid[:-4], bid[-4:]
        number = 0
        for character in group:
            if character not in _BASE62:
                return None
            number = number * 62 + _BASE62.index(character)
        digits = (str(number).rjust(7, "0") if bid else str(number)) + digits
    return int(digits) if digits else None


def full_date(second: int) -> str:
    """`Thu Jun 17 11:00:31 +0800 2021`."""
    t = time.gmtime(second + SITE_UTC_OFFSET_S)
    clock = f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
    return f"{_DAYS[t.tm_wday]} {_MONTHS[t.tm_mon - 1]} {t.tm_mday:02} {clock} +0800 {t.tm_year}"


def relative_date(second: int, now: float) -> str:
    """The list dates of about 2020: 刚刚, 5分钟前, 15小时前, 昨天 12:01, 06-14, 2018-06-14."""
    age = int(now) - second
    then = time.gmtime(second + SITE_UTC_OFFSET_S)
    here = time.gmtime(int(now) + SITE_UTC_OFFSET_S)
    days = (int(now) + SITE_UTC_OFFSET_S) // 86_400 - (second + SITE_UTC_OFFSET_S) // 86_400
    if age < 60:
        return "刚刚"
    if age < 3600:
        return f"{age // 60}分钟前"
    if days == 0:
        return f"{age // 3600}小时前"
    if days == 1:
        return f"昨天 {then.tm_hour:02}:{then.tm_min:02}"
    day = f"{then.tm_mon:02}-{then.tm_mday:02}"
    return day if then.tm_year == here.tm_year else f"{then.tm_year}-{day}"


def spelled_date(second: int, now: float, pick: int) -> str:
    """One of the forms in which lists were seen to write a date of this age, chosen by `pick`."""
    age = int(now) - second
    then = time.gmtime(second + SITE_UTC_OFFSET_S)
    here = time.gmtime(int(now) + SITE_UTC_OFFSET_S)
    days = (int(now) + SITE_UTC_OFFSET_S) // 86_400 - (second + SITE_UTC_OFFSET_S) // 86_400
    clock = f"{then.tm_hour:02}:{then.tm_min:02}"
    forms = [full_date(second), f"{then.tm_year}-{then.tm_mon:02}-{then.tm_mday:02} {clock}"]
    if then.tm_year == here.tm_year:
        forms += [f"{then.tm_mon:02}月{then.tm_mday:02}日 {clock}"]
        forms += [f"{then.tm_mon:02}-{then.tm_mday:02}"]
    if 60 <= age < 3600:
        forms = [f"{age // 60}分钟前"]
    elif 3600 <= age < 86_400:
        forms += [f"{age // 3600}小时前"] * 4
    elif days in (1, 2):
        forms += [f"{('昨天', '前天')[days - 1]} {clock}"] * 4
    elif 3 <= days < 30 and age // 86_400 == days:
        forms += [f"{days}天前"] * 4
    return forms[pick % len(forms)]


def fans_text(fans: int) -> str:
    """`6905`, `145.5万`, `1.51亿`: what profiles show since 2022."""
    if fans >= 100_000_000:
        return f"{fans / 100_000_000:.2f}".rstrip("0").rstrip(".") + "亿"
    if fans >= 10_000:
        return f"{fans / 10_000:.1f}".removesuffix(".0") + "万"
    return str(fans)


class Users:
    """The JSON of users as it stands in lists, profiles and posts, made once for each.

    numbers: "strings" writes followers_count as since 2022, "ints" as before.
    """

    def __init__(self, world: World, numbers: str) -> None:
        self._world = world
        self._numbers = numbers
        self.raw = lru_cache(maxsize=1 << 16)(self._raw)

    def fields(self, index: int) -> dict[str, Any]:
        """The recorded fields of a user."""
        person, uid = self._world.person(index), self._world.uid(index)
        fans = self._world.fans_announced(index)
        user: dict[str, Any] = {
            "id": uid,
            "screen_name": person.screen_name,
            "profile_image_url": f"https://tvax1.sinaimg.cn/crop.0.0.996.996.180/{uid:x}ly8.jpg",
            "profile_url": f"{SITE}/u/{uid}?uid={uid}&luicode=10000011&lfid=107603{uid}",
            "statuses_count": len(self._world.calendar(index).mids),
            "verified": person.verified,
            "verified_type": person.verified_type,
            "close_blue_v": False,
            "description": person.description,
            "gender": person.gender,
            "mbtype": 12,
            "urank": person.urank,
            "mbrank": person.mbrank,
            "follow_me": False,
            "following": False,
            "follow_count": len(self._world.graph.follows(index)),
            "followers_count": fans if self._numbers == "ints" else fans_text(fans),
            "cover_image_phone": "https://tva2.sinaimg.cn/crop.0.0.640.640.640/cover.jpg",
            "avatar_hd": f"https://wx1.sinaimg.cn/orj480/{uid:x}ly8.jpg",
            "like": False,
            "like_me": False,
        }
        if self._numbers != "ints":
            user["followers_count_str"] = fans_text(fans)
        if person.verified:
            user["verified_type_ext"] = 1
            user["verified_reason"] = person.verified_reason
        return user

    def _raw(self, index: int) -> msgspec.Raw:
        badge = {"badge": {"user_name_certificate": 1}}
        return msgspec.Raw(msgspec.json.encode(self.fields(index) | badge))
