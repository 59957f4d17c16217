"""Pages of people: fans, follows, profile, basic information, who commented on a post or reposted
it."""

from collections.abc import Sequence
from typing import Any

from weibo_crawler.simulator import lexicon
from weibo_crawler.simulator.dice import Topic, dice, scatter
from weibo_crawler.simulator.timeline import Post, mid_of
from weibo_crawler.simulator.wire import END, SITE, Answer, Users, bid_of, envelope, full_date
from weibo_crawler.simulator.world import (
    COMMENTS,
    FAN_PAGES,
    FOLLOW_PAGES,
    PAGE_OF_REPOSTS,
    PAGE_OF_USERS,
    World,
)

_NAMES = {"fans": ("2310510033", "他的全部粉丝"), "followers": ("2310510024", "他的全部关注")}


class PeoplePages:
    """Everything of a user but the posts. Unknown users get the no-content body (weibo_api.md)."""

    def __init__(self, world: World, users: Users) -> None:
        self._world = world
        self._users = users

    def fans(self, index: int, number: int) -> Answer:
        """Page `number` (from 1) of a fan list; its next page stands in `since_id`.

        The list ends in three ways, by user: no next page is named; the next page is named and
        empty; the next page is named and repeats the last one.
        """
        shown = self._world.fans_shown(index)
        pages = -(-len(shown) // PAGE_OF_USERS)
        ending = scatter(index, 40) % 3
        if pages == 0 or number > (FAN_PAGES if ending == 2 else pages):
            return END
        at = min(number, pages)
        rows = list(shown[(at - 1) * PAGE_OF_USERS : at * PAGE_OF_USERS])
        info: dict[str, Any] = {"since_id": number + 1} if number < pages or ending else {}
        return self._list(index, "fans", number, self._rows(index, "fans", number, rows), info)

    def follows(self, index: int, number: int) -> Answer:
        """Page `number` (from 1) of a follow list; its next page stands in `page`."""
        shown = self._world.follows_shown(index)
        pages = -(-len(shown) // PAGE_OF_USERS)
        if number > min(pages, FOLLOW_PAGES):
            return END
        rows = list(shown[(number - 1) * PAGE_OF_USERS : number * PAGE_OF_USERS])
        more = number < pages or scatter(index, 41) % 2 == 0
        group = self._rows(index, "followers", number, rows)
        return self._list(index, "followers", number, group, {"page": number + 1 if more else None})

    def profile(self, index: int) -> Answer:
        """data.userInfo and the tabs, among them the container of the posts."""
        uid = self._world.uid(index)
        kinds = (
            (1, "profile", "精选", "230283"),
            (2, "weibo", "微博", "107603"),
            (10, "album", "相册", "107803"),
        )
        tabs = [
            {
                "id": number,
                "tabKey": kind,
                "must_show": 1,
                "hidden": 0,
                "title": title,
                "tab_type": kind,
                "containerid": f"{container}{uid}",
            }
            for number, kind, title, container in kinds
        ]
        follow = {"type": "profile_follow", "name": "关注", "pic": "", "params": {"uid": uid}}
        sign = f"{SITE}/c/attention/visit?showmenu=0&sign={uid}&source=M"
        return envelope(
            {
                "isVideoCoverStyle": 1,
                "isStarStyle": 0,
                "userInfo": self._users.fields(index) | {"toolbar_menus": [follow]},
                "fans_scheme": f"{sign}Q%3D%3D",
                "follow_scheme": f"{sign}A%3D%3D",
                "tabsInfo": {"selectedTab": 1, "tabs": tabs},
                "profile_ext": f"touid:{uid}",
                "scheme": f"sinaweibo://userinfo?uid={uid}&v_p=42&luicode=10000011",
                "showAppTips": 0,
            }
        )

    def info(self, index: int) -> Answer:
        """The basic information: blocks of items, each with a title, and one that a browser loads
        later (as recorded in 2020)."""
        person = self._world.person(index)
        blocks = {
            "账号信息": {
                "昵称": person.screen_name,
                "简介": person.description or "暂无简介",
                "注册时间": person.registered,
                "阳光信用": "信用较好",
            },
            "个人信息": {
                "性别": {"m": "男", "f": "女"}[person.gender],
                "生日": person.birthday,
                "所在地": f"{person.region} {person.city}".strip(),
                "IP属地": f"{person.region}（IP属地以运营商信息为准，如有问题可咨询客服）",
                "学校": person.school,
            },
        }
        cards = [self._block(title, items) for title, items in blocks.items()]
        later = {"card_type": 11, "is_asyn": 1, "card_group": []}
        container = f"230283{person.uid}_-_INFO"
        return envelope(
            {
                "cards": [*cards, later],
                "cardlistInfo": {"show_style": 1, "v_p": "42", "containerid": container},
                "banners": None,
            }
        )

    def _block(self, title: str, items: dict[str, str]) -> dict[str, Any]:
        group: list[dict[str, Any]] = [{"card_type": 42, "display_arrow": 0, "desc": title}]
        group += [
            {"card_type": 41, "item_name": name, "item_content": content}
            for name, content in items.items()
            if content
        ]
        return {"card_type": 11, "card_group": group}

    def comments(self, post: Post) -> Answer:
        """Page 1 of the comments of a post; `max_id` is 0 where there is no page 2."""
        writers = self._world.commenters(post.mid, min(post.comments, COMMENTS))
        if not writers:
            return END
        rng = dice(self._world.seed, Topic.COMMENTS, post.mid)
        more = post.comments > COMMENTS
        return envelope(
            {
                "data": [self._comment(post, n, writer) for n, writer in enumerate(writers)],
                "total_number": post.comments,
                "status": {
                    "comment_manage_info": {
                        "comment_permission_type": -1,
                        "approval_comment_type": 0,
                    }
                },
                "max_id": rng.randrange(10**14, 10**15) if more else 0,
                "max": -(-post.comments // COMMENTS),
                "max_id_type": 0,
            }
        )

    def _comment(self, post: Post, n: int, writer: int) -> dict[str, Any]:
        own = str(post.mid + ((60 * n + 30) << 22))
        return {
            "created_at": full_date(post.second + 60 * n + 30),
            "id": own,
            "rootid": own,
            "floor_number": n + 1,
            "text": lexicon.PHRASES[scatter(post.mid, 50 + n) % len(lexicon.PHRASES)],
            "disable_reply": 0,
            "user": self._users.raw(writer),
            "mid": own,
            "readtimetype": "comment",
            "comments": False,
            "max_id": 0,
            "total_number": 0,
            "isLikedByMblogAuthor": False,
            "more_info_type": 0,
            "bid": "",
            "source": "",
            "like_count": n,
            "liked": False,
        }

    def reposts(self, post: Post, number: int) -> Answer:
        """Page `number` (from 1) of who reposted a post; `max` pages are announced, and fewer may
        be shown. These reposts stand on no timeline."""
        everybody, start = self._world.reposters(post), (number - 1) * PAGE_OF_REPOSTS
        shown = everybody[start : start + PAGE_OF_REPOSTS]
        if not shown:
            return END
        return envelope(
            {
                "data": [
                    self._repost(post, n, one, post.second + 90 * (len(everybody) - n))
                    for n, one in enumerate(shown, start)
                ],
                "total_number": post.reposts,
                "hot_total_number": 0,
                "max": -(-post.reposts // PAGE_OF_REPOSTS),
            }
        )

    def _repost(self, post: Post, n: int, writer: int, second: int) -> dict[str, Any]:
        """Somebody's repost, and where it is more than that, what they said to it."""
        text = "转发微博"
        if scatter(post.mid, 200 + n) % 2:
            text = lexicon.PHRASES[scatter(post.mid, 300 + n) % len(lexicon.PHRASES)]
        mid, head = mid_of(second, writer), post.repost_of or post.mid
        return {
            "visible": {"type": 0, "list_id": 0},
            "created_at": full_date(second),
            "id": str(mid),
            "mid": str(mid),
            "can_edit": False,
            "text": text,
            "raw_text": text,
            "source": post.source,
            "favorited": False,
            "user": self._users.raw(writer),
            "retweeted_status": {"id": str(head), "mid": str(head), "bid": bid_of(head)},
            "reposts_count": n % 3,
            "comments_count": n % 2,
            "attitudes_count": n,
            "isLongText": False,
            "bid": bid_of(mid),
            **({"region_name": f"发布于 {post.region}"} if post.region else {}),
        }

    def _rows(self, index: int, edge: str, number: int, rows: list[int]) -> list[dict[str, Any]]:
        """The items of a page, at times one of them twice, at times one more without a user."""
        prefix = _NAMES[edge][0]
        group = [self._row(prefix, other) for other in rows]
        rng = dice(self._world.seed, Topic.PAGE, index * FAN_PAGES * 2 + number)
        if rng.random() < 0.2:  # a user that shows twice
            group.append(self._row(prefix, rng.choice(rows)))
        if rng.random() < 0.1:  # a user that was closed
            group.insert(rng.randrange(len(group)), self._row(prefix, None))
        return group

    def _list(
        self, index: int, edge: str, number: int, group: list[Any], info: dict[str, Any]
    ) -> Answer:
        uid, (prefix, title) = self._world.uid(index), _NAMES[edge]
        container = f"231051_-_{edge}_-_{uid}"
        block = {
            "card_type": 11,
            "itemid": f"{prefix}_1_ _{uid}",
            "title": title,
            "card_group": group,
        }
        recommended = self._recommended(index, scatter(index, 64) % 3) if number == 1 else []
        return envelope(
            {
                "cardlistInfo": {"containerid": container, "v_p": 42, "show_style": 1, **info},
                "cards": [*recommended, block],
                "scheme": f"sinaweibo://cardlist?containerid={container}&v_p=42",
                "showAppTips": 0,
            }
        )

    def _row(self, prefix: str, other: int | None) -> dict[str, Any]:
        """One user of a list; None: the user is null."""
        uid = "" if other is None else self._world.uid(other)
        return {
            "card_type": 10,
            "itemid": f"{prefix}_1_ _{uid}",
            "scheme": f"{SITE}/u/{uid}?luicode=10000011",
            "background_color": 0,
            "recom_remark": "",
            "recommend": "",
            "desc1": "",
            "desc2": "" if other is None else f"粉丝：{self._world.fans_announced(other)}",
            "user": None if other is None else self._users.raw(other),
        }

    def _recommended(self, index: int, blocks: int) -> list[dict[str, Any]]:
        """Blocks before the list on page 1: users who are no fans (weibo_api.md)."""
        titles: Sequence[str] = ("相关大V用户", "可能感兴趣的人")
        strangers = [scatter(index, 60 + n) % self._world.size for n in range(4)]
        return [
            {
                "card_type": 11,
                "itemid": f"231051003{n}_recom_{self._world.uid(index)}",
                "title": title,
                "card_group": [self._row(f"231051003{n}_recom", other) for other in strangers],
            }
            for n, title in enumerate(titles[:blocks], 5)
        ]
