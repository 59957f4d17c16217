"""The pages of a lawful world: those of `pages`, laid out and bent as its laws say."""

import time
from typing import Any

import msgspec

from weibo_crawler.simulator.bends import bent_person, bent_post, junk_card, junk_person
from weibo_crawler.simulator.dice import scatter
from weibo_crawler.simulator.lawful_world import LawfulWorld, Place, Sheet
from weibo_crawler.simulator.mblog import Dater, card
from weibo_crawler.simulator.pages import Pages
from weibo_crawler.simulator.people_pages import PeoplePages
from weibo_crawler.simulator.post_pages import PostPages
from weibo_crawler.simulator.routes import Asked, Kind
from weibo_crawler.simulator.timeline import Post
from weibo_crawler.simulator.wire import (
    END,
    Answer,
    Users,
    ascii_json,
    envelope,
    error_page,
    fans_text,
    login_wall,
    spelled_date,
)

_NOBODY = Answer(ascii_json({"ok": 0, "errno": "20003", "msg": "用户不存在"}), "gone")
_REFUSED = {
    "20112": {"ok": 0, "errno": "20112", "msg": "暂无查看权限", "extra": "Permission Denied!"},
    "20174": {"ok": 0, "errno": "20174", "msg": "请前往微博客户端登录查看完整内容"},
    "20170": {"ok": 0, "message": "由于博主设置，目前内容暂不可见", "error_code": 20170},
}
_NO_CARDS = envelope({"cardlistInfo": {"v_p": 42}, "cards": []})
_CARD_58 = envelope({"cards": [{"card_type": 58, "desc": "没有更多内容了"}]})


class LawfulPages(Pages):
    """Nothing is kept: dates go by the clock."""

    def __init__(self, world: LawfulWorld) -> None:
        super().__init__(world, cache_bytes=0)
        users = LawfulUsers(world)
        self._lawful = world
        self._people = LawfulPeople(world, users)
        self._lawful_posts = LawfulPosts(world, users)
        self._posts = self._lawful_posts

    def number(self, asked: Asked) -> int:
        index = self._world.index(asked.uid)
        if asked.kind is Kind.POSTS and index is not None:
            return self._lawful_posts.number(index, asked)
        return asked.page

    def _of_user(self, asked: Asked) -> Answer:
        index = self._world.index(asked.uid)
        how = "" if index is None else self._lawful.gone(index)
        if how:
            return _NOBODY if how == "20003" else END
        return super()._of_user(asked)


class LawfulUsers(Users):
    """Numbers are written as the laws say."""

    def __init__(self, world: LawfulWorld) -> None:
        super().__init__(world, "ints" if world.laws.numbers == "ints" else "strings")
        self._laws = world.laws

    def fields(self, index: int) -> dict[str, Any]:
        user = super().fields(index)
        if self._laws.numbers == "mixed" and index % 2:
            fans = self._world.fans_announced(index)
            user["followers_count"] = user["followers_count_str"] = fans_text(fans)
            if fans < 10_000 and index % 4 == 1:
                user["followers_count"] = fans
        statuses = user.pop("statuses_count")
        written = {"exact": statuses, "text": str(statuses), "null": None}
        if self._laws.statuses in written:
            user["statuses_count"] = written[self._laws.statuses]
        return user

    def _raw(self, index: int) -> msgspec.Raw:
        user = self.fields(index)
        user.pop(self._laws.owners_lack, None)
        return msgspec.Raw(msgspec.json.encode(user))


class LawfulPeople(PeoplePages):
    """Fan lists and profiles."""

    def __init__(self, world: LawfulWorld, users: LawfulUsers) -> None:
        super().__init__(world, users)
        self._lawful = world

    def fans(self, index: int, number: int) -> Answer:
        if self._lawful.are_fans_private(index):
            return login_wall(f"/p/index?containerid=231051_-_fans_-_{self._world.uid(index)}")
        sheets = self._lawful.fan_sheets(index)
        laws = self._lawful.laws
        ending = laws.fans_ends[scatter(index, 40) % len(laws.fans_ends)]
        if not sheets or number > len(sheets) + (ending == "same_page"):
            return _NO_CARDS if sheets and ending == "no_cards" else END
        at = min(number, len(sheets))
        group = [self._item(place) for place in sheets[at - 1]]
        return self._list(index, "fans", number, group, self._named(number, len(sheets), ending))

    def profile(self, index: int) -> Answer:
        answer = super().profile(index)
        if not self._lawful.is_nameless(index):
            return answer
        page = msgspec.json.decode(answer.body)
        page["data"]["userInfo"]["screen_name"] = None
        return Answer(msgspec.json.encode(page))

    def info(self, index: int) -> Answer:
        law, container = self._lawful.laws.info, f"230283{self._world.uid(index)}_-_INFO"
        if law == "walled":
            return login_wall(f"/p/index?containerid={container}")
        if law == "no_content":
            return END
        page = msgspec.json.decode(super().info(index).body)
        if law == "drifted":
            page["data"]["cards"] = {"blocks": page["data"].pop("cards")}
        if law == "odd":
            for card in page["data"]["cards"][0]["card_group"]:
                if card.get("item_name") == "注册时间":
                    card["item_content"] = (["2012-01-01"], "不久前", "2999-01-01")[index % 3]
        return envelope(page["data"])

    def _item(self, place: Place) -> Any:
        if place.thing is None:
            return junk_person(self._row("2310510033", None), place.form)
        row = self._row("2310510033", place.thing)
        row["user"] = self._users.fields(place.thing)
        return bent_person(row, place.form, self._world.fans_announced(place.thing))

    def _named(self, number: int, pages: int, ending: str) -> dict[str, Any]:
        """How page `number` of so many names the next."""
        name = "page" if self._lawful.laws.fans_next == "page" else "since_id"
        if self._lawful.laws.fans_next == "silent":
            return {}
        following: Any = number + 1
        if number >= pages and ending in ("absent", "null", "blank"):
            return _unnamed(name, ending)
        if number >= pages and ending == "repeat":
            following = number
        return {name: str(following) if self._lawful.laws.fans_next == "text" else following}


class LawfulPosts(PostPages):
    """Timelines and long texts."""

    def __init__(self, world: LawfulWorld, users: LawfulUsers) -> None:
        dates = "relative" if world.laws.dates == "relative" else "rfc"
        super().__init__(world, users, paging="page", dates=dates)
        self._lawful = world

    def number(self, index: int, asked: Asked) -> int:
        """Which page is asked for, from 1; one that does not exist for an invented token."""
        given = asked.token or (str(asked.since_id) if asked.since_id else "")
        if not given:
            return asked.page
        pages = len(self._lawful.post_sheets(index)) + 2
        numbers = {str(self._token(index, number)): number for number in range(1, pages)}
        return numbers.get(given, pages)

    def timeline(self, index: int, number: int, container: str) -> Answer:
        if self._lawful.are_posts_private(index):
            return login_wall(f"/p/index?containerid={container}")
        sheets, laws = self._lawful.post_sheets(index), self._lawful.laws
        ending = laws.posts_ends[scatter(index, 71) % len(laws.posts_ends)]
        if number > len(sheets):
            ends = {"no_cards": _NO_CARDS, "card58": _CARD_58}
            return ends.get(ending, END) if sheets else END
        info: dict[str, Any] = {"containerid": container, "v_p": 42, "show_style": 1}
        info |= self._named(index, number, len(sheets), ending)
        cards = self._laid(index, sheets[number - 1], container)
        return envelope({"cardlistInfo": info, "cards": cards, "showAppTips": 0})

    def extend(self, post: Post) -> Answer:
        if self._is_refused(post):
            return self._refusal(post)
        if self._lawful.only_way(post.mid) not in ("", "extend"):
            return END
        return super().extend(post)

    def show(self, post: Post) -> Answer:
        if self._is_refused(post):
            return self._refusal(post)
        answer = super().show(post)
        if self._lawful.only_way(post.mid) in ("", "show"):
            return answer
        data = msgspec.json.decode(answer.body)["data"]
        data.pop("longText", None)
        return envelope(data)

    def detail(self, post: Post) -> Answer:
        if self._is_refused(post):
            return error_page("由于博主设置，目前内容暂不可见。", "restricted")
        if self._lawful.only_way(post.mid) not in ("", "detail"):
            return error_page("暂无数据", "end")
        return super().detail(post)

    def _is_refused(self, post: Post) -> bool:
        return post.is_long and self._lawful.is_restricted(post.mid)

    def _refusal(self, post: Post) -> Answer:
        codes = self._lawful.laws.restrictions
        return Answer(
            ascii_json(_REFUSED[codes[scatter(post.mid, 108) % len(codes)]]), "restricted"
        )

    def _date(self) -> Dater:
        if self._lawful.laws.dates != "mixed":
            return super()._date()
        now = time.time()
        return lambda second: spelled_date(second, now, scatter(second, 109))

    def _laid(self, index: int, sheet: Sheet, container: str) -> list[Any]:
        date, cards = self._date(), []
        for number, place in enumerate(sheet):
            if place.thing is not None:
                cards.append(self._posted(place, container, date))
            elif place.form == "people":
                cards.append(self._recommendation(index))
            elif place.form != "liked":
                cards.append(junk_card(place.form))
            elif liked := self._liked(index, number):
                cards.append(self._liked_card(liked, container, date))
        return cards

    def _posted(self, place: Place, container: str, date: Dater) -> dict[str, Any]:
        assert place.thing is not None
        post = self._world.written(place.thing)
        mblog = self._mblogs.listed(post, date, pinned=place.is_pinned)
        if place.form:
            mblog = mblog | {"user": self._users.fields(post.writer)}
        return card(bent_post(mblog, place.form), container, post.mid)

    def _token(self, index: int, number: int) -> int | str:
        """What names page `number` of a timeline."""
        form = self._lawful.laws.posts_next
        if form == "page":
            return number
        if form == "opaque":
            return f"4xK-{scatter(index * 64 + number, 110):08x}_{number}"
        if form == "digits":
            return 10**15 + scatter(index * 64 + number, 111)
        newest = max(self._world.calendar(index).mids, default=10**15)
        return newest - (number << 40)  # as a mid that lies further down

    def _named(self, index: int, number: int, pages: int, ending: str) -> dict[str, Any]:
        name = "page" if self._lawful.laws.posts_next == "page" else "since_id"
        if number >= pages and ending in ("absent", "null", "blank"):
            return _unnamed(name, ending)
        is_repeated = number >= pages and ending == "repeat" and number > 1
        return {name: self._token(index, number if is_repeated else number + 1)}


def _unnamed(name: str, ending: str) -> dict[str, Any]:
    """How a last page names no next one."""
    forms: dict[str, dict[str, Any]] = {"absent": {}, "null": {name: None}, "blank": {name: ""}}
    return forms[ending]
