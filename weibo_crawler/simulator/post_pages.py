"""Pages of posts: the timeline in its two forms, and the three ways to a whole text."""

import time
from typing import Any

import msgspec

from weibo_crawler.simulator.dice import scatter
from weibo_crawler.simulator.mblog import Dater, Mblogs, card
from weibo_crawler.simulator.timeline import Post
from weibo_crawler.simulator.wire import (
    END,
    HTML,
    Answer,
    Users,
    envelope,
    full_date,
    relative_date,
)
from weibo_crawler.simulator.world import PAGE_OF_POSTS, World


class PostPages:
    """paging: "page" or "since_id", how a page names the next one; both are always understood.
    dates: "rfc" or "relative", to the clock, as lists showed them until about 2020."""

    def __init__(self, world: World, users: Users, *, paging: str, dates: str) -> None:
        self._world = world
        self._users = users
        self._mblogs = Mblogs(world, users)
        self._paging = paging
        self._relative = dates == "relative"

    def page_of(self, index: int, since_id: int) -> int:
        """Which page, from 1, a since_id stands for."""
        newer = sum(mid > since_id for mid in self._world.order(index))
        return -(-newer // PAGE_OF_POSTS) + 1

    def cursors(self, index: int) -> list[tuple[int, int]]:
        """How the pages of a timeline are asked for: (page, since_id), the other one 1 or 0."""
        order = self._world.order(index)
        starts = range(PAGE_OF_POSTS, len(order), PAGE_OF_POSTS)
        if self._paging == "page":
            return [(number, 0) for number in range(1, len(starts) + 2)]
        return [(1, 0), *((1, order[start]) for start in starts)]

    def timeline(self, index: int, number: int, container: str) -> Answer:
        """Page `number` (from 1) of a timeline, ten posts and the pinned ones on page 1.

        It ends in four ways, by user: no next page is named; it is named and has no content (or a
        card of type 58); it is null or ""; the last page names itself again.
        """
        order, pinned = self._world.order(index), self._world.calendar(index).pinned
        pages = max(1, -(-len(order) // PAGE_OF_POSTS)) if pinned or order else 0
        ending = scatter(index, 71) % 4
        if number > pages:
            if pages and ending == 1 and self._paging == "since_id":
                return envelope({"cards": [{"card_type": 58, "desc": "没有更多内容了"}]})
            return END
        mids = order[(number - 1) * PAGE_OF_POSTS : number * PAGE_OF_POSTS]
        cards = self._cards(index, number, container, mids)
        info: dict[str, Any] = {"containerid": container, "v_p": 42, "show_style": 1}
        info["total"] = len(order) + 3  # no more reliable than the real one (weibo_api.md)
        info |= self._next(order, number, pages, ending)
        scheme = f"sinaweibo://cardlist?containerid={container}&v_p=42&luicode=10000011"
        return envelope({"cardlistInfo": info, "cards": cards, "scheme": scheme, "showAppTips": 0})

    def search(self, words: str, number: int, container: str) -> Answer:
        """Page `number` (from 1) of the posts that a topic shows, every third one in a group, among
        people and an advertisement; the last page names no next one."""
        found = self._world.searched(words)
        mids = found[(number - 1) * PAGE_OF_POSTS : number * PAGE_OF_POSTS]
        if not mids:
            return END
        cards = [self._card(mid, container, full_date) for mid in mids]
        for n in range(0, len(cards), 3):
            cards[n] = {"card_type": 11, "show_type": 1, "card_group": [cards[n]]}
        cards[1:1] = [self._recommendation(number), {"card_type": 9, "mblog": None}]
        info: dict[str, Any] = {"containerid": container, "v_p": "42", "total": len(found)}
        if len(found) > number * PAGE_OF_POSTS:
            info["page"] = number + 1
        return envelope({"cardlistInfo": info, "cards": cards, "showAppTips": 0})

    def extend(self, post: Post) -> Answer:
        """/statuses/extend."""
        counts = self._mblogs.counts(post)
        return envelope({"ok": 1, "longTextContent": post.writing.html, **counts})

    def show(self, post: Post) -> Answer:
        """/statuses/show."""
        return envelope(self._mblogs.shown(post) | {"ok": 1})

    def detail(self, post: Post) -> Answer:
        """/detail/<mid>: HTML that holds the post as `$render_data`."""
        status = msgspec.json.format(msgspec.json.encode(self._mblogs.detailed(post)), indent=4)
        page = (
            '<!DOCTYPE html><html><head><meta charset="utf-8"><title>微博</title></head><body>'
            '<div id="app"></div><script>\n    var config = {env: "prod"};\n'
            f'    var $render_data = [{{\n    "status": {status.decode()},\n    "call": 1\n'
            "}][0] || {};\n    var __wb_performance_data={};\n</script></body></html>"
        )
        return Answer(page.encode(), content_type=HTML)

    def _date(self) -> Dater:
        if not self._relative:
            return full_date
        now = time.time()
        return lambda second: relative_date(second, now)

    def _next(self, order: list[int], number: int, pages: int, ending: int) -> dict[str, Any]:
        if number < pages or ending == 1:
            following = number + 1
        elif ending == 3 and number > 1:
            following = number
        else:
            nothing = {0: {}, 3: {}, 2: {"page": None} if self._paging == "page" else _BLANK}
            return nothing[ending]
        if self._paging == "page":
            return {"page": following}
        start = (following - 1) * PAGE_OF_POSTS
        return {"since_id": order[start] if start < len(order) else min(order, default=2) - 1}

    def _cards(
        self, index: int, number: int, container: str, mids: list[int]
    ) -> list[dict[str, Any]]:
        date = self._date()
        cards = [self._card(mid, container, date) for mid in mids]
        kind = scatter(index, 72) % 6
        if number == 1:
            if kind == 0 and cards:  # since 2022 the first post may sit in a group (weibo_api.md)
                cards[0] = {"card_type": 11, "show_type": 1, "card_group": [cards[0]]}
            pinned = self._world.calendar(index).pinned
            cards[:0] = [self._card(mid, container, date, pinned=True) for mid in pinned]
            if kind == 1:
                cards.append(self._recommendation(index))
        elif kind == 2 and number % 2 == 0 and (liked := self._liked(index, number)):
            cards.insert(len(cards) // 2, self._liked_card(liked, container, date))
        if kind == 3:
            cards = [one | {"card_type": str(one["card_type"])} for one in cards]
        if container.startswith("230413"):  # the second form opens with a row of filters
            cards.insert(
                0, {"card_type": 11, "card_group": [{"card_type": 88, "desc": "全部微博"}]}
            )
        return cards

    def _card(
        self, mid: int, container: str, date: Dater, *, pinned: bool = False
    ) -> dict[str, Any]:
        return card(
            self._mblogs.listed(self._world.written(mid), date, pinned=pinned), container, mid
        )

    def _liked_card(self, post: Post, container: str, date: Dater) -> dict[str, Any]:
        mblog = self._mblogs.listed(post, date)
        mblog["title"] = {"text": "他赞过的微博", "base_color": 1}
        return card(mblog, container, post.mid)

    def _liked(self, index: int, number: int) -> Post | None:
        """Somebody else's post among the owner's, now and then."""
        other = scatter(index * 1000 + number, 73) % self._world.size
        mids = self._world.calendar(other).mids
        return self._world.written(mids[0]) if mids and other != index else None

    def _recommendation(self, index: int) -> dict[str, Any]:
        """People one may know: cards without a post."""
        strangers = [scatter(index, 80 + n) % self._world.size for n in range(3)]
        rows = [{"card_type": 10, "user": self._users.raw(other)} for other in strangers]
        return {"card_type": 11, "title": "可能感兴趣的人", "card_group": rows}


_BLANK = {"since_id": ""}
