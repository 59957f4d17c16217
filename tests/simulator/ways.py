"""Whom a user leads to, edge by edge: the truth of a walk over more than fan lists."""

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import unquote

from weibo_crawler.simulator.world import COMMENTS, PAGE_OF_POSTS, PAGE_OF_REPOSTS, World

_LINK = re.compile("href='/n/([^']+)'")


class Bounds(NamedTuple):
    """How far a walk looks, as the settings harvest.posts_pages, .comments_posts,
    .reposters_posts and .mentions_per_page. posts_pages also holds where guests see no more."""

    posts_pages: int = 1
    comments_posts: int = 3
    reposters_posts: int = 3
    mentions_per_page: int = 5


class Ways:
    """Users are handled by index."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self._world, self._bounds = world, bounds
        self.of: dict[str, Callable[[int], Iterable[int]]] = {
            "fans": world.fans_shown,
            "follows": world.follows_shown,
            "reposts": self._reposts,
            "comments": self._comments,
            "reposters": self._reposters,
            "mentions": self._mentions,
        }

    def _reposts(self, index: int) -> Iterable[int]:
        """Who wrote the originals that are still there."""
        for number in range(1, self._bounds.posts_pages + 1):
            for mid in self._page(index, number):
                post = self._world.written(mid)
                if post.repost_of is not None and post.notice is None:
                    original = self._world.post(post.repost_of)
                    assert original is not None  # only one that is gone has a notice
                    yield original.writer

    def _comments(self, index: int) -> Iterable[int]:
        """Who commented first on the most commented posts, of page 1."""
        posts = [self._world.written(mid) for mid in self._page(index, 1)]
        commented = [post for post in posts if post.comments]
        commented.sort(key=lambda post: -post.comments)  # of as many the newest first
        for post in commented[: self._bounds.comments_posts]:
            yield from self._world.commenters(post.mid, min(post.comments, COMMENTS))

    def _reposters(self, index: int) -> Iterable[int]:
        """Who reposted last the most reposted posts, of page 1."""
        posts = [self._world.written(mid) for mid in self._page(index, 1)]
        reposted = sorted((post for post in posts if post.reposts), key=lambda post: -post.reposts)
        for post in reposted[: self._bounds.reposters_posts]:
            yield from self._world.reposters(post)[:PAGE_OF_REPOSTS]

    def _mentions(self, index: int) -> Iterable[int]:
        """Who is named in the texts as lists show them, so many names of a page, newest first."""
        for number in range(1, self._bounds.posts_pages + 1):
            names: dict[str, None] = {}
            for mid in self._page(index, number):
                writing = self._world.written(mid).writing
                names |= dict.fromkeys(_LINK.findall(writing.cut or writing.html))
            for name in list(names)[: self._bounds.mentions_per_page]:
                mentioned = self._world.named(unquote(name))
                assert mentioned is not None  # nobody changes names here
                yield mentioned

    def _page(self, index: int, number: int) -> list[int]:
        """The mids of a page of posts, newest first; page 1 holds the pinned ones, too."""
        order = self._world.order(index)
        mids = set(order[(number - 1) * PAGE_OF_POSTS : number * PAGE_OF_POSTS])
        if number == 1:
            mids |= set(self._world.calendar(index).pinned)
        return sorted(mids, reverse=True)


def kept(
    world: World,
    seeds: Iterable[int],
    min_fans: int,
    edges: Iterable[str],
    bounds: Bounds | None = None,
    max_depth: int | None = None,
    topics: Iterable[str] = (),
    topic_pages: int = 1,
) -> dict[int, int]:
    """As `World.kept`, over these edges: "fans", "follows", "reposts", "comments", "mentions"."""
    ways = Ways(world, bounds or Bounds())
    lists = [ways.of[edge] for edge in edges]
    depths = {index: 0 for uid in seeds if (index := world.index(uid)) is not None}
    writers = [one for words in topics for one in world.writers(words, topic_pages)]
    for writer in writers if max_depth != 0 else ():
        if world.fans_announced(writer) >= min_fans:
            depths.setdefault(writer, 1)
    queue = deque(depths)
    while queue:
        index = queue.popleft()
        if depths[index] == max_depth:
            continue
        for shown in lists:
            for other in shown(index):
                if other not in depths and world.fans_announced(other) >= min_fans:
                    depths[other] = depths[index] + 1
                    queue.append(other)
    return {world.uid(index): depth for index, depth in depths.items()}
