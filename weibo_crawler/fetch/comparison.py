"""Whether two egresses show the same page: its words, as far as both show them. Pure.

A proxy that garbles every page in the same way brings answers that look well. So the first page
with words that a proxy brings, and one of many after that, is asked for by another egress as well.
Only letters that somebody may garble tell: the same plain words by both make no proxy trusted.
Counts may change from one answer to the next, and posts may be added; texts and names hardly ever
do. Another proxy may have kept a page of yesterday: its words are true, and it lacks what others
show.
"""

from collections.abc import Mapping
from datetime import datetime

from weibo_crawler.errors import TransportError
from weibo_crawler.records import (
    EchoPage,
    FanPage,
    FullText,
    Id,
    PostPage,
    Reading,
    User,
    Verdict,
)

_LAG_S = 600.0  # by which two servers of a site may show a new post sooner or later
_TELLING = 4  # letters beyond ASCII, which nobody garbles: fewer tell nothing


def words_of(answer: Reading | TransportError) -> Mapping[Id, str]:
    """The texts, or names, of a page by the id of the post, echo or user; {}: it has none."""
    if not isinstance(answer, Reading) or answer.ambiguous:
        return {}
    record = answer.record
    if isinstance(record, PostPage):
        return {post.mid: post.text for post in record.posts if post.text_complete}
    if isinstance(record, FullText):
        return {record.mid: record.text}
    if isinstance(record, EchoPage):
        return {echo.id: echo.text for echo in record.echoes}
    users = record.users if isinstance(record, FanPage) else ()
    if isinstance(record, User):
        users = (record,)
    return {user.uid: user.screen_name for user in users if user.screen_name is not None}


def are_telling(words: Mapping[Id, str]) -> bool:
    """Whether such words, shown alike by another egress, prove that nobody garbles them. Question
    marks count, since they may stand for the letters that somebody could not write."""
    return sum(text.count("?") + _beyond_ascii(text) for text in words.values()) >= _TELLING


def is_same(one: Mapping[Id, str], other: Mapping[Id, str]) -> bool | None:
    """Whether both show the same words of what both show; None: that does not tell."""
    shared = one.keys() & other.keys()
    if any(one[key] != other[key] for key in shared):
        return False
    letters = sum(_beyond_ascii(one[key]) for key in shared)
    return True if letters >= _TELLING else None


def agree(one: Reading | TransportError, other: Reading | TransportError) -> bool | None:
    """Whether two answers show the same words; None: that does not tell. A text that one shows, and
    the other says is not to be had, is not the same."""
    denied = [_is_denied(one), _is_denied(other)]
    words = words_of(one), words_of(other)
    if all(denied):
        return True
    return False if any(denied) and any(words) else is_same(*words)


def _is_denied(answer: Reading | TransportError) -> bool:
    return isinstance(answer, Reading) and answer.verdict is Verdict.RESTRICTED


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def is_behind(one: Reading | TransportError, other: Reading | TransportError, at: float) -> bool:
    """Whether a first page of posts, as of that time, lacks posts above its newest one that the
    other shows, and that were written well before."""
    newest = max(_in_place(one), default=None)
    if newest is None:
        return False
    dates = (date for mid, date in _in_place(other).items() if mid > newest)
    return any(at - _seconds(date) > _LAG_S for date in dates if date is not None)


def _in_place(answer: Reading | TransportError) -> dict[int, str | None]:
    """The posts of a page that are not pinned, by mid: when they were written."""
    record = answer.record if isinstance(answer, Reading) else None
    posts = record.posts if isinstance(record, PostPage) else ()
    return {
        post.mid: post.created_at
        for post in posts
        if isinstance(post.mid, int) and not post.is_pinned
    }


def _seconds(date: str) -> float:
    try:
        return datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError):
        return float("inf")  # nobody knows
