"""Whom a page of posts leads to: authors of the originals, and names in the texts.

What is odd here costs the link, not the page.
"""

from collections.abc import Iterable

from weibo_crawler.records import NamedUser, Post, User
from weibo_crawler.sites.weibo.counts import MOST_FANS, first_count
from weibo_crawler.sites.weibo.drift import Drift
from weibo_crawler.sites.weibo.ids import uid_of
from weibo_crawler.sites.weibo.post import author_of, is_gone
from weibo_crawler.sites.weibo.text import read_name
from weibo_crawler.sites.weibo.wire import Mblog


def authors(statuses: Iterable[Mblog]) -> tuple[tuple[User | NamedUser, ...], int]:
    """Who wrote the originals of these posts, each once, NamedUser where the fans are not told; and
    of how many originals that cannot be read."""
    illegible = 0
    found: dict[int, User | NamedUser] = {}
    for status in statuses:
        original = status.retweeted_status
        if original is None or is_gone(original):
            continue
        try:
            author = author_of(original)
            uid = uid_of(author)
        except Drift:
            illegible += 1
            continue
        fans = first_count((author.followers_count, author.followers_count_str), MOST_FANS)
        name = read_name(author.screen_name)
        if fans is None or name is None:
            found.setdefault(uid, NamedUser(uid))
        else:
            found[uid] = User(uid, name, fans)
    return tuple(found.values()), illegible


def mentions(posts: Iterable[Post]) -> tuple[str, ...]:
    """The screen names in the texts of these posts, newest post first, each once."""
    by_age = sorted(posts, key=lambda post: post.mid, reverse=True)
    return tuple(dict.fromkeys(name for post in by_age for name in post.mentions))
