"""An address in, an answer out, as the site would give it to somebody who may see everything."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial

from weibo_crawler.simulator.people_pages import PeoplePages
from weibo_crawler.simulator.post_pages import PostPages
from weibo_crawler.simulator.routes import Asked, Kind, understand
from weibo_crawler.simulator.timeline import Post
from weibo_crawler.simulator.wire import END, HTML, NO_POST, NO_POST_PAGE, Answer, Users, error_page
from weibo_crawler.simulator.world import PAGE_OF_USERS, World

_PLAIN = b"<!DOCTYPE html><html><head><title>%s</title></head><body></body></html>"


class Pages:
    """Answers by address, kept as bytes while they fit into `cache_bytes`.

    paging, dates: see PostPages. numbers: see Users. Relative dates are never kept.
    """

    def __init__(
        self,
        world: World,
        *,
        paging: str = "page",
        dates: str = "rfc",
        numbers: str = "strings",
        cache_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        self._world = world
        users = Users(world, numbers)
        self._people = PeoplePages(world, users)
        self._posts = PostPages(world, users, paging=paging, dates=dates)
        self._cache: OrderedDict[Asked, Answer] = OrderedDict()
        self._room = cache_bytes if dates == "rfc" else 0

    def answer(self, address: str) -> Answer:
        """What path and query name."""
        return self.of(understand(address))

    def of(self, asked: Asked) -> Answer:
        """What is asked for."""
        known = self._cache.get(asked)
        if known is not None:
            self._cache.move_to_end(asked)
            return known
        answer = self._make(asked)
        if self._room:
            self._keep(asked, answer)
        return answer

    def all_of(self, index: int) -> Iterator[Asked]:
        """What a crawl asks for of a user: profile, fan lists to their end, posts pages."""
        uid = self._world.uid(index)
        yield Asked(Kind.PROFILE, uid)
        for number in range(1, len(self._world.fans_shown(index)) // PAGE_OF_USERS + 2):
            yield Asked(Kind.FANS, uid, page=number)
        for page, since_id in self._posts.cursors(index):
            yield Asked(Kind.POSTS, uid, 0, page, since_id, f"107603{uid}")

    def number(self, asked: Asked) -> int:
        """Which page of its list is asked for, from 1, however it was named."""
        index = self._world.index(asked.uid)
        if asked.since_id and index is not None:
            return self._posts.page_of(index, asked.since_id)
        return asked.page

    def _keep(self, asked: Asked, answer: Answer) -> None:
        self._cache[asked] = answer
        self._room -= len(answer.body)
        while self._room < 0:
            _, oldest = self._cache.popitem(last=False)
            self._room += len(oldest.body)

    def _make(self, asked: Asked) -> Answer:
        if asked.kind in _OF_POSTS:
            return self._of_post(asked)
        if asked.kind in _OF_USERS:
            return self._of_user(asked)
        if asked.kind is Kind.NAME:
            return self._of_name(asked.name)
        if asked.kind is Kind.SEARCH:
            return self._posts.search(asked.name, asked.page, asked.container)
        if asked.kind is Kind.HOME:
            return _home()
        if asked.kind is Kind.VISITOR_PAGE:
            return Answer(_PLAIN % b"Sina Visitor System", content_type=HTML)
        return Answer(_PLAIN % b"404 Not Found", "not_found", 404, HTML)

    def _of_user(self, asked: Asked) -> Answer:
        index = self._world.index(asked.uid)
        if asked.kind is Kind.USER:
            known = Answer(_PLAIN % "微博".encode(), content_type=HTML)
            return known if index is not None else error_page("用户不存在", "end")
        if index is None:
            return END
        if asked.kind is Kind.POSTS:
            return self._posts.timeline(index, self.number(asked), asked.container)
        if asked.kind is Kind.FANS:
            return self._people.fans(index, asked.page)
        if asked.kind is Kind.FOLLOWS:
            return self._people.follows(index, asked.page)
        return (
            self._people.profile(index) if asked.kind is Kind.PROFILE else self._people.info(index)
        )

    def _of_post(self, asked: Asked) -> Answer:
        post = self._world.post(asked.mid)
        if post is None and asked.kind not in _BELOW and self._world.was_post(asked.mid):
            return NO_POST_PAGE if asked.kind is Kind.DETAIL else NO_POST
        if post is None:
            return error_page("暂无数据", "end") if asked.kind is Kind.DETAIL else END
        make: dict[Kind, Callable[[Post], Answer]] = {
            Kind.EXTEND: self._posts.extend,
            Kind.SHOW: self._posts.show,
            Kind.DETAIL: self._posts.detail,
            Kind.COMMENTS: self._people.comments,
            Kind.REPOSTS: partial(self._people.reposts, number=asked.page),
        }
        return make[asked.kind](post)

    def _of_name(self, name: str) -> Answer:
        """302 to /u/<uid> (weibo_api.md)."""
        index = self._world.named(name)
        if index is None:
            return error_page("用户不存在", "end")
        return Answer(b"", status=302, headers=(("Location", f"/u/{self._world.uid(index)}"),))


_BELOW = frozenset({Kind.COMMENTS, Kind.REPOSTS})
_OF_POSTS = frozenset({Kind.EXTEND, Kind.SHOW, Kind.DETAIL}) | _BELOW
_OF_USERS = frozenset({Kind.PROFILE, Kind.INFO, Kind.POSTS, Kind.FANS, Kind.FOLLOWS, Kind.USER})


def _home() -> Answer:
    """The first page sets _T_WM and XSRF-TOKEN (weibo_api.md)."""
    cookies = ("_T_WM=10203040506; path=/", "XSRF-TOKEN=3f1b2c; path=/", "MLOGIN=0; path=/")
    headers = tuple(("Set-Cookie", cookie) for cookie in cookies)
    return Answer(_PLAIN % "微博".encode(), content_type=HTML, headers=headers)
