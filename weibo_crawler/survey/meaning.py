"""What the pages say of a crawl by these settings. Pure."""

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from weibo_crawler.config import Harvest, Posts
from weibo_crawler.records import (
    ECHO_LISTS,
    EMPTY,
    PEOPLE_LISTS,
    EchoPage,
    Edge,
    FanPage,
    PostPage,
    User,
)
from weibo_crawler.survey import looks
from weibo_crawler.survey.looks import Look


class Meaning(NamedTuple):
    """edges: how many people each edge of the settings showed, None: it shows nobody to guests, or
    was not asked for. posts: how many page 1 showed; pages: of a timeline that a guest is shown, in
    words. first, later: requests of a first and of a later visit of this user; None: page 1 was not
    shown."""

    edges: dict[str, int | None]
    walk: str
    posts: int | None
    pages: str
    first: int | None
    later: int | None

    @property
    def lines(self) -> list[str]:
        """For people."""
        if self.first is None:
            visits = "page 1 of the posts is not shown: nothing can be stored of anybody"
        else:
            visits = (
                f"a first visit of this user takes {self.first} requests, later ones {self.later}"
            )
        return [f"edges     {self.walk}", f"timelines {self.pages}", f"requests  {visits}"]


def meaning(by_name: Mapping[str, Look], harvest: Harvest, posts: Posts, page: int) -> Meaning:
    """What a crawl by these settings would do. page: posts of a full page."""
    first = _record(by_name[looks.POSTS])
    shown = first if isinstance(first, PostPage) else None
    found = {edge.value: _people(edge, by_name, shown) for edge in harvest.all_edges}
    pages, depth = _timeline(by_name[looks.LATER_POSTS], shown, by_name, page)
    if posts.max_pages is not None:
        depth = min(depth, posts.max_pages)
    later = None if shown is None else _requests(shown, posts, by_name)
    return Meaning(
        found,
        _walk(harvest, by_name, found),
        len(shown.posts) if shown is not None else None,
        pages,
        None if later is None else depth - 1 + later,
        None if shown is None else 1,
    )


def _record(look: Look) -> object:
    return look.reading.record if look.reading is not None else None


def _people(edge: Edge, by_name: Mapping[str, Look], shown: PostPage | None) -> int | None:
    """How many people the edge of this user leads to, as far as one page tells."""
    if edge in PEOPLE_LISTS or edge in looks.ECHOES:
        name = looks.ECHOES[edge].name if edge in looks.ECHOES else edge.value
        listed = _record(by_name[name])
        if not isinstance(listed, FanPage | EchoPage):
            return None
        return len(listed.users) + len(listed.uncounted)
    if shown is None:
        return None
    if edge is Edge.MENTIONS:
        return len(shown.mentions) if by_name[looks.NAME].is_shown else None
    return len(shown.authors)


def _walk(harvest: Harvest, by_name: Mapping[str, Look], found: Mapping[str, int | None]) -> str:
    lists = [edge for edge in harvest.edges if edge in PEOPLE_LISTS]
    walled = [edge for edge in lists if by_name[edge.value].is_walled]
    used = harvest.all_edges if walled else harvest.edges
    parts = [f"{edge} ({_said(found[edge])})" for edge in used]
    why = f", as {', '.join(walled)} are not shown to guests" if walled else ""
    if not any(found[edge] for edge in used):
        why += ": a harvest finds nobody by this user"
    return f"a harvest goes by {', '.join(parts)}{why}"


def _said(people: int | None) -> str:
    return "shows nobody" if people is None else f"{people} people on the page"


def _timeline(
    later: Look, shown: PostPage | None, by_name: Mapping[str, Look], page: int
) -> tuple[str, int]:
    """How deep a guest sees, in words and in pages."""
    if shown is None:
        return "page 1 is not shown", 0
    if later.is_shown:
        announced = max(_announced(by_name, shown), len(shown.posts))
        pages = max(2, ceil(announced / page))
        return f"later pages are shown: {announced:,} posts are announced, {pages:,} pages", pages
    if later.reading is None or later.reading.verdict in EMPTY:
        return f"page 1 is all that is shown of this user ({len(shown.posts)} posts)", 1
    newest = f"the {len(shown.posts)} newest posts a visit"
    if later.is_walled:
        return f"only page 1 is shown to guests: {newest}; come back by `posts --refresh`", 1
    return f"page 2 is {later.reading.verdict}: {newest}", 1


def _announced(by_name: Mapping[str, Look], shown: PostPage) -> int:
    people = (_record(by_name[looks.PROFILE]), shown.profile)
    return max((one.posts or 0 for one in people if isinstance(one, User)), default=0)


def _requests(shown: PostPage, posts: Posts, by_name: Mapping[str, Look]) -> int:
    cut = sum(not post.text_complete for post in shown.posts)
    below: int = sum(
        min(getattr(posts, one.name), sum(bool(one.announced(post)) for post in shown.posts))
        for one in ECHO_LISTS
    )
    lacks = shown.profile is None or not shown.profile.is_told
    return 1 + cut + below + lacks + (posts.info_days > 0)
