"""Whom a page of posts leads to: authors of the originals, and names in the texts.

Nothing of it is stored with the posts, so what is odd here costs the link, not the page.
"""

from collections.abc import Iterable

from weibo_crawler.records import NamedUser, User
from weibo_crawler.sites.weibo.counts import read_count
from weibo_crawler.sites.weibo.drift import identity
from weibo_crawler.sites.weibo.post import author_of, is_gone
from weibo_crawler.sites.weibo.text import mentioned, writable
from weibo_crawler.sites.weibo.wire import Author, Mblog

_LONGEST_NAME = 60  # characters; the site's own limit is half of it


def authors(statuses: Iterable[Mblog]) -> tuple[User | NamedUser, ...]:
    """Who wrote the originals of these posts, each once; NamedUser where the fans are not told.

    Errors: Drift, as `read_post` raises it for the same posts.
    """
    found: dict[int, User | NamedUser] = {}
    for status in statuses:
        original = status.retweeted_status
        if original is not None and not is_gone(original):
            author = author_of(original)
            uid = identity(author.id, ".user.id")
            fans = _fans(author)
            if fans is None or author.screen_name is None:
                found.setdefault(uid, NamedUser(uid))
            else:
                found[uid] = User(uid, writable(author.screen_name), fans)
    return tuple(found.values())


def mentions(statuses: Iterable[tuple[int, Mblog]]) -> tuple[str, ...]:
    """The screen names in the texts of these posts (mid, post), newest post first, each once."""
    names: dict[str, None] = {}
    for _, status in sorted(statuses, key=lambda one: -one[0]):
        names |= dict.fromkeys(mentioned(status.text or ""))
    return tuple(name for name in names if 0 < len(name) <= _LONGEST_NAME)


def _fans(author: Author) -> int | None:
    for value in (author.followers_count, author.followers_count_str):
        if isinstance(value, int | str) and not isinstance(value, bool):
            try:
                return read_count(value)
            except ValueError:
                continue
    return None
