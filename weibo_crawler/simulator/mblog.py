"""A post as JSON: the mblog of lists, of show and of detail."""

from collections.abc import Callable
from typing import Any

import msgspec

from weibo_crawler.simulator.attached import attached
from weibo_crawler.simulator.dice import scatter
from weibo_crawler.simulator.timeline import MILLION, Post, second_of
from weibo_crawler.simulator.wire import SITE, Users, bid_of, full_date
from weibo_crawler.simulator.world import World

PICS_IN_LISTS = 9  # lists show no more; show and detail hold the rest (weibo_api.md)
_COUNTERS = ("reposts_count", "comments_count", "attitudes_count")

Dater = Callable[[int], str]


class Mblogs:
    """Makes mblogs. date: how lists write the second of a post."""

    def __init__(self, world: World, users: Users) -> None:
        self._world = world
        self._users = users

    def listed(self, post: Post, date: Dater, *, pinned: bool = False) -> dict[str, Any]:
        """As in lists: a long text is cut, at most nine pictures."""
        text = post.writing.cut or post.writing.html
        mblog = self._mblog(post, date, text, PICS_IN_LISTS)
        return mblog | _pin(post.writer) if pinned else mblog

    def shown(self, post: Post) -> dict[str, Any]:
        """As in /statuses/show: cut too, with the whole text in longText; all pictures."""
        text = post.writing.cut or post.writing.html
        mblog = self._mblog(post, full_date, text, post.pics)
        if post.is_long:
            mblog["longText"] = {"longTextContent": post.writing.html, "url_objects": []}
        return mblog

    def detailed(self, post: Post) -> dict[str, Any]:
        """As in $render_data of /detail: the whole text in its place."""
        return self._mblog(post, full_date, post.writing.html, post.pics)

    def counts(self, post: Post) -> dict[str, int | str]:
        """Numbers below a million, `100万+` from there on."""
        numbers = (post.reposts, post.comments, post.likes)
        return {
            name: "100万+" if number >= MILLION else number
            for name, number in zip(_COUNTERS, numbers, strict=True)
        }

    def _mblog(self, post: Post, date: Dater, text: str, most_pics: int) -> dict[str, Any]:
        mid = str(post.mid)
        mblog: dict[str, Any] = {
            **_ALWAYS,
            "created_at": date(post.second),
            "id": mid,
            "mid": mid,
            "version": 1 + post.edits,
            "text": text,
            "textLength": len(text),
            "source": post.source,
            "user": self._users.raw(post.writer),
            **self.counts(post),
            "isLongText": post.is_long,
            "pic_num": post.pics,
            "edit_config": {"edited": post.edits > 0},
            # bid may be "" (weibo_api.md); then only the card's scheme tells it
            "bid": "" if scatter(post.mid, 20) % 40 == 0 else bid_of(post.mid),
        }
        if post.pics:
            ids = [f"{scatter(post.mid, 30):08x}gy1{n}" for n in range(min(post.pics, most_pics))]
            mblog["pic_ids"] = ids
            mblog["pics"] = _pictures(post.mid, ids)
        if (info := attached(post)) is not None:
            mblog["page_info"] = info
        if post.region:
            mblog["region_name"] = f"发布于 {post.region}"
        if post.edits:
            mblog["edit_count"] = post.edits
            mblog["edit_at"] = full_date(post.second + 3600 * post.edits)
        if post.repost_of is not None:
            mblog["raw_text"] = post.writing.text
            mblog["retweeted_status"] = self._original(post, post.repost_of, date)
        return mblog

    def _original(self, post: Post, mid: int, date: Dater) -> dict[str, Any]:
        """The post that was retweeted, as it stands within the retweet."""
        original = self._world.post(mid) if post.notice is None else None
        if original is None:
            return _gone(mid, post.notice or "", date)
        return self.listed(original, date) | {"retweeted": 1}


# What stands in every mblog; encoded once where it is more than a number.
_NUMBERS = {
    "apply_scenario_flag": 3,
    "display_text_min_number": 1_000_000,
    "display_text": "100万+",
}
_ALWAYS: dict[str, Any] = {
    "visible": msgspec.Raw(b'{"type":0,"list_id":0}'),
    "can_edit": False,
    "show_additional_indication": 0,
    "favorited": False,
    "pic_ids": msgspec.Raw(b"[]"),
    "pic_types": "",
    "is_paid": False,
    "mblog_vip_type": 0,
    "pending_approval_count": 0,
    "reward_exhibition_type": 0,
    "hide_flag": 0,
    "mlevel": 0,
    "darwin_tags": msgspec.Raw(b"[]"),
    "mblogtype": 0,
    "rid": "0_0_50_1000200030004000500_0_0_0",
    "more_info_type": 0,
    "extern_safe": 0,
    "number_display_strategy": msgspec.Raw(msgspec.json.encode(_NUMBERS)),
    "enable_comment_guide": True,
    "content_auth": 0,
    "alchemy_params": msgspec.Raw(b'{"ug_red_envelope":false}'),
    "mblog_menu_new_style": 0,
}


def card(mblog: dict[str, Any], container: str, mid: int) -> dict[str, Any]:
    """The card of a post in a list of this container."""
    bid = bid_of(mid)
    return {
        "card_type": 9,
        "itemid": f"{container}_-_{mid}",
        "scheme": f"{SITE}/status/{bid}?mblogid={bid}&luicode=10000011&lfid={container}",
        "mblog": mblog,
        "show_type": 0,
    }


def _gone(mid: int, notice: str, date: Dater) -> dict[str, Any]:
    """A deleted or hidden original: no user, a notice as text, no counts (weibo_api.md)."""
    signs: tuple[dict[str, Any], ...] = ({"deleted": "1"}, {"state": 7}, {"state": 8})
    return {
        "visible": {"type": 0, "list_id": 0},
        "created_at": date(second_of(mid)),
        "id": str(mid),
        "mid": str(mid),
        "can_edit": False,
        "text": notice,
        "source": "",
        "favorited": False,
        "user": None,
        "bid": bid_of(mid),
        **signs[mid % 3],
    }


def _pin(writer: int) -> dict[str, Any]:
    """The signs of a pinned post; which of them stand, differs (weibo_api.md)."""
    top: dict[str, Any] = {"mblogtype": 2, "isTop": 1, "title": {"text": "置顶", "base_color": 1}}
    signs = (
        top,
        {"profile_type_id": "proweibotop_1022"},
        {"title": {"text": "置顶", "base_color": 1}},
        {"isTop": 1},
    )
    return signs[writer % len(signs)]


def _pictures(mid: int, ids: list[str]) -> list[Any] | dict[str, Any]:
    """A list, or a dict keyed "0", "1", … (weibo_api.md)."""
    pics = [
        {
            "pid": pid,
            "url": f"https://wx1.sinaimg.cn/orj360/{pid}.jpg",
            "size": "orj360",
            "geo": _SMALL,
            "large": {
                "size": "large",
                "url": f"https://wx1.sinaimg.cn/large/{pid}.jpg",
                "geo": _LARGE,
            },
        }
        for pid in ids
    ]
    if scatter(mid, 21) % 5 == 0:
        return {str(n): pic for n, pic in enumerate(pics)}
    return pics


_SMALL = msgspec.Raw(b'{"width":360,"height":360,"croped":false}')
_LARGE = msgspec.Raw(b'{"width":"1080","height":"1080","croped":false}')  # text, as recorded
