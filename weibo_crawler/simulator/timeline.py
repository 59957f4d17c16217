"""When people post, and what: each post is a function of the world's seed and its mid.

A mid holds its time and its writer: ((second - 515483463) << 22) | low bits, as on the site
(weibo_api.md), where the low bits are the writer's index, scrambled. So nothing has to be looked
up.
"""

from random import Random
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from weibo_crawler.simulator import lexicon
from weibo_crawler.simulator.dice import Topic, dice, scatter
from weibo_crawler.simulator.writing import Name, Writing, compose, retweet

MOST_USERS = 1 << 22  # what the low bits of a mid can tell apart
MOST_POSTS = 600
MILLION = 1_000_000  # from here on the site shows 100万+ (weibo_api.md)
FIRST_SECOND = 1_250_000_000  # August 2009: nobody posted before
_MID_ZERO = 515_483_463
_STEP = 2_654_435  # odd, so multiplying by it modulo 2^22 can be undone
_BACK = pow(_STEP, -1, MOST_USERS)
_REGIONS_SINCE = 1_659_024_000  # 2022-07-29: before, posts show no region (weibo_api.md)
DAY = 86_400
_SILENT = 0.15  # share of users without any post
_DELETED, _EDITED, _WHERE = 5, 6, 7  # salts


class Calendar(msgspec.Struct, frozen=True):
    """The mids of one user that stand, newest first, and which of them are pinned; and those that
    stand no more."""

    mids: tuple[int, ...]
    pinned: tuple[int, ...]
    deleted: tuple[int, ...] = ()


class Post(msgspec.Struct, frozen=True):
    """One post. Counts are what the site shows: at most a million.

    repost_of: the mid of the original, which is gone where `notice` holds the site's words for it.
    """

    mid: int
    writer: int
    second: int
    writing: Writing
    source: str
    region: str
    reposts: int
    comments: int
    likes: int
    pics: int
    edits: int
    is_long: bool
    repost_of: int | None = None
    notice: str | None = None


def mid_of(second: int, writer: int) -> int:
    """The mid of what a user (index) posted at a second since the epoch; one a second."""
    return ((second - _MID_ZERO) << 22) | (writer * _STEP % MOST_USERS)


def second_of(mid: int) -> int:
    """When a mid was posted, seconds since the epoch."""
    return (mid >> 22) + _MID_ZERO


def writer_of(mid: int) -> int:
    """The index of who posted a mid; an index beyond the world for an invented one."""
    return (mid % MOST_USERS) * _BACK % MOST_USERS


def calendar(
    seed: int, index: int, *, epoch: int, mean_posts: float, days_later: float
) -> Calendar:
    """The posts of a user before `epoch` (seconds), and those of the days after it, if any.

    The world of a later day holds all posts of an earlier one, unchanged.
    """
    rng = dice(seed, Topic.CALENDAR, index)
    count = _how_many(rng, mean_posts)
    if count == 0:
        return Calendar((), ())
    gap = rng.uniform(0.1, 9.0) * DAY
    first = max(FIRST_SECOND, epoch - int(count * gap) - count)
    seconds = rng.sample(range(first, epoch), min(count, epoch - first))
    pins = rng.choice((0, 0, 0, 0, 0, 1, 1, 2, 3))
    pinned = [mid_of(second, index) for second in seconds[:pins]]  # in no order, as on the site
    later = dice(seed, Topic.LATER, index)
    second = epoch + int(later.expovariate(1 / gap))
    while second < epoch + days_later * DAY:
        seconds.append(second)
        second += 1 + int(later.expovariate(1 / gap))
    mids = tuple(mid_of(second, index) for second in sorted(seconds, reverse=True))
    return Calendar(mids, tuple(pinned))


def _how_many(rng: Random, mean_posts: float) -> int:
    """Heavy-tailed, with the mean asked for: silent users, many with few posts, few with many."""
    if rng.random() < _SILENT:
        return 0
    sigma = 1.0
    posts = mean_posts / (1 - _SILENT) * rng.lognormvariate(-sigma * sigma / 2, sigma)
    return min(round(posts), MOST_POSTS)


def is_retweet(mid: int) -> bool:
    """About one post in five is a retweet; known from the mid alone."""
    return scatter(mid, 1) % 100 < 21


def write(seed: int, mid: int, original: int | None, name: Name) -> Post:
    """The post of a mid.

    original: what it retweets if `is_retweet`; None: a post that is gone by now.
    name: whom it may mention.
    """
    rng = dice(seed, Topic.POST, mid)
    writer, second = writer_of(mid), second_of(mid)
    repost, is_long = is_retweet(mid), scatter(mid, 2) % 100 < 22
    gone = repost and original is None
    writing = retweet(rng, name) if repost else compose(rng, name, mid, long=is_long)
    fame = 1 if writer > 20 else 20_000
    return Post(
        mid=mid,
        writer=writer,
        second=second,
        writing=writing,
        source=rng.choice(lexicon.SOURCES),
        region=rng.choice(lexicon.REGIONS) if second >= _REGIONS_SINCE else "",
        reposts=_count(rng, fame),
        comments=_count(rng, fame),
        likes=_count(rng, fame),
        pics=0 if repost else rng.choice((0, 0, 0, 1, 1, 2, 3, 4, 9, 14)),
        edits=rng.choice((0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2)),
        is_long=writing.cut is not None,
        repost_of=mid_of(second - rng.randrange(60, 90 * DAY), 0) + 1 if gone else original,
        notice=rng.choice((lexicon.DELETED, lexicon.HALF_YEAR)) if gone else None,
    )


def _count(rng: Random, fame: int) -> int:
    return min(MILLION, (int(rng.paretovariate(0.9)) - 1) * fame)


class Fates(NamedTuple):
    """Shares of the posts that are edited, and deleted, on each day from `epoch` to `now`. Whether
    and when one is follows from its mid, so a later day keeps all that happened before."""

    epoch: int
    now: float
    edited_per_day: float
    deleted_per_day: float

    def is_deleted(self, mid: int) -> bool:
        return self._has_happened(mid, _DELETED, self.deleted_per_day)

    def is_edited(self, mid: int) -> bool:
        return self._has_happened(mid, _EDITED, self.edited_per_day)

    def _has_happened(self, mid: int, salt: int, per_day: float) -> bool:
        days = (self.now - max(second_of(mid), self.epoch)) / DAY
        return days > 0 and scatter(mid, salt) / 2**32 < 1 - (1 - per_day) ** days


def edited(post: Post) -> Post:
    """The post after an edit: a few words more, at its beginning or its end. An edit at the end of
    a long one does not show in what lists show of it."""
    old, more = post.writing, lexicon.EDITED
    if scatter(post.mid, _WHERE) % 2:
        writing = old._replace(html=old.html + more, text=old.text + more)
    else:
        cut = None if old.cut is None else more + old.cut
        writing = old._replace(html=more + old.html, text=more + old.text, cut=cut)
    return replace(post, writing=writing, edits=post.edits + 1)
