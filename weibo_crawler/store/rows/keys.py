"""Row keys: pure functions of the record, so that writing twice writes the same row (law 7).

    userlist   <salt>-<uid>
    posts      <salt>-<uid>-<20 digits of 10^20 - 1 - mid>
    comments   <salt>-<uid>-<20 digits of 10^20 - 1 - mid>-<20 digits of the comment's id>

The salt is two hexadecimal digits, CRC32 of the uid as text modulo 256. It spreads users evenly
over 256 shards whatever their ids look like, and equals MariaDB's `CRC32(id) & 255`. An id that is
text stands as it is, its "-" as %2D; those of posts and comments begin with "~", which no number
does.
"""

from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from weibo_crawler.records import TEXT_ID, Id, read_id

SALTS = 256
_LAST_MID = 10**20 - 1  # also the complement: 20 digits hold every 64-bit id


class Range(NamedTuple):
    """Row keys with start <= key < stop; stop None: to the end of the table."""

    start: str
    stop: str | None


ALL = Range("", None)


def salt(uid: Id) -> str:
    """Two hexadecimal digits: CRC32(uid as text) & 255."""
    return f"{crc32(str(uid).encode()) & 255:02x}"


def user_key(uid: Id) -> str:
    """The key of a user in `userlist`. ValueError for a negative uid, or a text that is no id."""
    if isinstance(uid, str):
        return f"{salt(uid)}-{_written(uid)}"
    if uid < 0:
        raise ValueError(f"a uid is not negative: {uid}")
    return f"{salt(uid)}-{uid}"


def posts_prefix(uid: Id) -> str:
    """The prefix of all posts of one user, and of no other user's.

    It ends in "-", which no uid holds: without it the prefix of uid 6 would also be that of
    uid 68, both of salt 14.
    """
    return user_key(uid) + "-"


def post_key(uid: Id, mid: Id) -> str:
    """The key of a post in `posts`. ValueError for a mid outside 0 .. 10^20 - 1, or a text that is
    no id.

    m -> 10^20 - 1 - m turns the order round and the fixed width of 20 digits makes the order of
    the text that of the number, so a user's posts stand in their prefix by falling mid.
    """
    if isinstance(mid, str):
        return f"{user_key(uid)}-~{_written(mid)}"
    if not 0 <= mid <= _LAST_MID:
        raise ValueError(f"a mid is between 0 and {_LAST_MID}: {mid}")
    return f"{user_key(uid)}-{_LAST_MID - mid:020d}"


@lru_cache(maxsize=256)  # a user's posts stand together
def parse_user_key(key: str) -> Id:
    """The uid of a key of `userlist`; ValueError where it is none: user_key(result) == key."""
    _, _, written = key.partition("-")
    uid = int(written) if _is_decimal(written) else _read(written)
    if uid is None or user_key(uid) != key:
        raise ValueError(f"no row key of a user: {key!r}")
    return uid


def parse_post_key(key: str) -> tuple[Id, Id]:
    """(uid, mid) of a key of `posts`; ValueError where it is none: post_key(*result) == key."""
    prefix, mid = _last_of(key, "a post")
    return parse_user_key(prefix), mid if isinstance(mid, str) else _LAST_MID - mid


def echo_key(uid: Id, mid: Id, comment: Id) -> str:
    """The key of a comment on a post of `uid`; ValueError as post_key. The comments of a post stand
    together, the oldest first, and those of a user's posts have the prefix of the posts."""
    last = f"~{_written(comment)}" if isinstance(comment, str) else f"{comment:020d}"
    return f"{post_key(uid, mid)}-{last}"


def parse_echo_key(key: str) -> tuple[Id, Id, Id]:
    """(uid, mid, comment) of a key of `comments`; ValueError where it is none."""
    post, comment = _last_of(key, "a comment")
    return *parse_post_key(post), comment


def _last_of(key: str, whose: str) -> tuple[str, Id]:
    """What stands before the last `-`, and the text or the number of 20 digits behind it."""
    prefix, _, written = key.rpartition("-")
    if written.startswith("~") and (text := _read(written[1:])) is not None:
        return prefix, text
    if len(written) != 20 or not _is_decimal(written):
        raise ValueError(f"no row key of {whose}: {key!r}")
    return prefix, int(written)


def owner_of(key: str) -> Id:
    """The uid in a key of any table, unchecked: for keys that this program made."""
    return read_id(key.split("-", 2)[1].replace("%2D", "-"))


def ranges(n: int) -> list[Range]:
    """The key space cut into n ranges in key order, without gap or overlap; n is 1 .. 256.

    Range i begins at salt floor(256 i / n), so sizes differ by one salt at most. A boundary is the
    bare salt: every key of salt s is greater than s and smaller than s + 1. ValueError for any
    other n.
    """
    if not 1 <= n <= SALTS:
        raise ValueError(f"the key space is cut into 1 to {SALTS} ranges, not {n}")
    starts = [f"{i * SALTS // n:02x}" for i in range(n)]
    return [Range(start, stop) for start, stop in zip(starts, [*starts[1:], None], strict=True)]


def prefix_end(prefix: str) -> str | None:
    """The smallest text that is greater than every text with this prefix; None: there is none.

    The last code point is raised by one, in the order of code points, which is that of the UTF-8
    bytes; U+10FFFF cannot be raised and is dropped, the surrogates D800-DFFF are no text.
    """
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    last = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if last == 0xD800 else last)


def key_bounds(start: str, stop: str | None, prefix: str | None) -> tuple[str, str | None]:
    """(start, stop) of the keys that satisfy all three; stop None: to the end of the table."""
    if prefix is None:
        return start, stop
    stops = [key for key in (stop, prefix_end(prefix)) if key is not None]
    return max(start, prefix), min(stops, default=None)


def _written(text: str) -> str:
    """An id that is text, in a key. ValueError where it is none."""
    if not TEXT_ID.fullmatch(text):
        raise ValueError(f"no id of a user, post or comment: {text[:140]!r}")
    return text.replace("-", "%2D")


def _read(written: str) -> str | None:
    """The other way; None for what `_written` does not give."""
    text = written.replace("%2D", "-")
    return text if "-" not in written and TEXT_ID.fullmatch(text) else None


def _is_decimal(text: str) -> bool:
    # int() also takes blanks, signs, underscores and the digits of other scripts; 20 digits
    # hold every unsigned 64-bit id, and int() refuses thousands of them with an error of its own
    return text.isascii() and text.isdigit() and len(text) <= 20
