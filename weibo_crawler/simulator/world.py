"""The world: users, who is whose fan, and what they post. All of it follows from a seed number.

Only the skeleton of the graph is made at once; lists, people and posts are made when asked for.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple
from zlib import crc32

from msgspec.structs import replace

from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator import lexicon, people, timeline
from weibo_crawler.simulator.company import Company
from weibo_crawler.simulator.dice import Topic, dice, scatter
from weibo_crawler.simulator.graph import Graph
from weibo_crawler.simulator.people import Person
from weibo_crawler.simulator.timeline import Calendar, Fates, Post, edited

PAGE_OF_USERS = 20
PAGE_OF_POSTS = 10
COMMENTS = 20  # of a post, shown on page 1
PAGE_OF_REPOSTS = 10
REPOSTS = 50  # of a post that are shown at all
FAN_PAGES = 250  # a fan list shows no more, so at most 5,000 fans (weibo_api.md)
FOLLOW_PAGES = 10  # and at most 200 follows
SEARCHED = 30  # posts that a search shows, at most
FEWEST_USERS = 30
_INFLATED_FROM = 100  # announced fans are inflated only where the list is no short one
_GONE = 15  # percent of retweets whose original is gone


class Knobs(NamedTuple):
    """What else than seed and size decides the world: `SimulatorOptions` of these names say how.
    epoch: seconds; the posts of the first day are older."""

    epoch: int
    mean_posts: float = 20.0
    inflate_fans: float = 1.0
    days_later: float = 0.0
    edited_per_day: float = 0.0
    deleted_per_day: float = 0.0
    company: str = "near"


_RANGES = {
    "seed": (0, 2**63),
    "users": (FEWEST_USERS, timeline.MOST_USERS),
    "epoch": (timeline.FIRST_SECOND + 366 * 86_400, 4_000_000_000),
    "mean_posts": (0, timeline.MOST_POSTS),
    "inflate_fans": (1, 1_000_000),
    "days_later": (0, 3660),
    "edited_per_day": (0, 1),
    "deleted_per_day": (0, 1),
}


class World:
    """Users are handled by index, 0 … size-1; `uid` and `index` translate."""

    def __init__(self, seed: int, users: int, knobs: Knobs) -> None:
        self.seed, self.size, self.knobs = seed, users, knobs
        self.graph = Graph(seed, users)
        self._company = Company(seed, self.graph, knobs.company)
        now = knobs.epoch + knobs.days_later * timeline.DAY
        self.fates = Fates(knobs.epoch, now, knobs.edited_per_day, knobs.deleted_per_day)
        self.calendar = lru_cache(maxsize=None)(self._calendar)
        self.person = lru_cache(maxsize=1 << 16)(self._person)
        self.written = lru_cache(maxsize=1 << 12)(self._written)

    @classmethod
    def make(cls, seed: int, users: int, **knobs: Any) -> "World":
        """The world of a seed number, with these `Knobs`. BadUsage for what is not within its
        range."""
        given = {"seed": seed, "users": users, **knobs}
        for name, (least, most) in _RANGES.items():
            value = given.get(name, least)
            if not least <= value <= most:
                option = f"--{name.replace('_', '-')}"
                raise BadUsage(f"{option}: {value:g} is not between {least:,} and {most:,}")
        return cls(seed, users, Knobs(**knobs))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The uids of the hubs: a walk from them reaches the whole large part."""
        return tuple(self.uid(index) for index in self.graph.hubs)

    def uid(self, index: int) -> int:
        return people.uid_of(self.seed, index)

    def index(self, uid: int) -> int | None:
        """The index of a uid, None for a stranger."""
        return people.index_of(self.seed, uid, self.size)

    def named(self, screen_name: str) -> int | None:
        """The index of a screen name, None for a stranger."""
        return people.index_of_name(self.seed, screen_name, self.size)

    def fans_announced(self, index: int) -> int:
        """What the profile says; with inflate_fans 1 the true length of the fan list."""
        fans = self.graph.degree(index)
        if fans >= _INFLATED_FROM:
            fans = int(fans * self.knobs.inflate_fans)
        return rounded(fans)

    def fans_shown(self, index: int) -> "array[int]":
        """The fans that paging can reach, in the list's order."""
        return self.graph.fans(index)[: FAN_PAGES * PAGE_OF_USERS]

    def follows_shown(self, index: int) -> "array[int]":
        """The follows that paging can reach, in the list's order."""
        return self.graph.follows(index)[: FOLLOW_PAGES * PAGE_OF_USERS]

    def kept(
        self,
        seeds: Iterable[int],
        min_fans: int,
        max_depth: int | None = None,
        topics: Iterable[str] = (),
        topic_pages: int = 1,
    ) -> dict[int, int]:
        """The exact breadth-first truth over fan lists: uid -> depth of all a walk must keep, by
        rising depth.

        A seed of this world is kept and walked always (depth 0); another user is kept if it
        announces at least min_fans. Users at max_depth are kept and not walked. Who wrote what the
        first pages of a topic show is at depth 1.
        """
        depths = {index: 0 for uid in seeds if (index := self.index(uid)) is not None}
        for words in topics if max_depth != 0 else ():
            for writer in self.writers(words, topic_pages):
                if self.fans_announced(writer) >= min_fans:
                    depths.setdefault(writer, 1)
        queue = deque(depths)
        while queue:
            index = queue.popleft()
            if depths[index] == max_depth:
                continue
            for fan in self.fans_shown(index):
                if fan not in depths and self.fans_announced(fan) >= min_fans:
                    depths[fan] = depths[index] + 1
                    queue.append(fan)
        return {self.uid(index): depth for index, depth in depths.items()}

    def order(self, index: int) -> list[int]:
        """The mids of a timeline's pages after one another, without the pinned ones at the top of
        page 1. Half of the users have their pinned posts in their place, too."""
        calendar = self.calendar(index)
        if scatter(index, 70) % 2:
            return list(calendar.mids)
        return [mid for mid in calendar.mids if mid not in calendar.pinned]

    def post(self, mid: int) -> Post | None:
        """The post of a mid, None where there is no such post."""
        writer = timeline.writer_of(mid)
        if writer >= self.size or mid not in self.calendar(writer).mids:
            return None
        return self.written(mid)

    def was_post(self, mid: int) -> bool:
        """Whether there was a post of this mid, which was deleted."""
        writer = timeline.writer_of(mid)
        return writer < self.size and mid in self.calendar(writer).deleted

    def _written(self, mid: int) -> Post:
        """`written`: the post of a mid of some calendar; see `post` for any mid."""
        original = self._original(mid) if timeline.is_retweet(mid) else None
        name = partial(self._name, timeline.writer_of(mid))
        post = timeline.write(self.seed, mid, original, name)
        if original is not None and self.fates.is_deleted(original):
            post = replace(post, notice=lexicon.DELETED)
        return edited(post) if self.fates.is_edited(mid) else post

    def posts(self, index: int) -> list[Post]:
        """All posts of a user that stand, newest first."""
        return [self.written(mid) for mid in self.calendar(index).mids]

    def commenters(self, mid: int, count: int) -> Sequence[int]:
        """Who commented on a post, first comments first: at most `count`, each once."""
        return self._company.around(timeline.writer_of(mid), mid, count, Topic.COMMENTS)

    def reposters(self, post: Post) -> Sequence[int]:
        """Who is shown as having reposted it, the latest first, each once."""
        count = min(post.reposts, REPOSTS)
        return self._company.around(post.writer, post.mid, count, Topic.REPOSTS)

    def searched(self, words: str) -> list[int]:
        """The mids of the posts that a search for these words shows, in its order; [] for some."""
        rng = dice(self.seed, Topic.SEARCH, crc32(words.encode()))
        mids: list[int] = []
        for _ in range(rng.randrange(SEARCHED + 1)):
            posts = self.calendar(rng.randrange(self.size)).mids
            mids += posts[:1]
        return list(dict.fromkeys(mids))

    def writers(self, words: str, pages: int) -> list[int]:
        """Who wrote what so many pages of a search show, each once."""
        mids = self.searched(words)[: pages * PAGE_OF_POSTS]
        return list(dict.fromkeys(map(timeline.writer_of, mids)))

    def _original(self, mid: int) -> int | None:
        """What a retweet is of: an older post, no retweet itself, of somebody; None: it is gone."""
        if scatter(mid, 4) % 100 < _GONE:
            return None
        for salt in range(10, 20):
            met = self._company.met(timeline.writer_of(mid), scatter(mid, salt))
            calendar = self.calendar(met)
            mids = sorted(calendar.mids + calendar.deleted, reverse=True)  # as on any other day
            older = [one for one in mids if one < mid and not timeline.is_retweet(one)]
            if older:
                return older[scatter(mid, 9) % len(older)]
        return None

    def _name(self, writer: int, number: int) -> str:
        return people.screen_name(self.seed, self._company.met(writer, number))

    def _person(self, index: int) -> Person:
        return people.person(self.seed, index)

    def _calendar(self, index: int) -> Calendar:
        every = timeline.calendar(
            self.seed,
            index,
            epoch=self.knobs.epoch,
            mean_posts=self.knobs.mean_posts,
            days_later=self.knobs.days_later,
        )
        deleted = {mid for mid in every.mids if self.fates.is_deleted(mid)}
        return Calendar(
            tuple(mid for mid in every.mids if mid not in deleted),
            tuple(mid for mid in every.pinned if mid not in deleted),
            tuple(mid for mid in every.mids if mid in deleted),
        )


def rounded(fans: int) -> int:
    """What is left of a number where the site shows 1.2万 or 1.51亿: the truth is what is shown."""
    for unit in (100_000_000, 10_000):
        if fans >= unit:
            step = unit // (100 if unit > 10_000 else 10)
            return fans // step * step
    return fans
