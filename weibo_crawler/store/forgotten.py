"""Whom `forget` removed, as keyed hashes, and what of a row speaks of them. Pure."""

import hashlib
import re
from collections.abc import Callable, Mapping

import msgspec

from weibo_crawler.records import Id, read_id

_NUMBER = re.compile(rb"\d{1,20}")  # 20 digits hold every unsigned 64-bit id
_WORD = re.compile(rb"[A-Za-z0-9_.:@~+=-]{1,128}")  # as records.TEXT_ID


def hash_of(key: str, uid: Id) -> bytes:
    """A keyed hash: without the key nobody can try all uids against the table."""
    return hashlib.blake2b(str(uid).encode(), key=bytes.fromhex(key), digest_size=16).digest()


class Forgotten(msgspec.Struct, frozen=True):
    """All hashes of one userlist. version: another one after each `forget`; key: hexadecimal."""

    version: str
    key: str
    hashes: frozenset[bytes]

    def has(self, uid: Id) -> bool:
        """Whether this user was removed; about a microsecond."""
        return bool(self.hashes) and hash_of(self.key, uid) in self.hashes

    def is_named_in(self, page: bytes) -> bool:
        """Whether one of them stands in this text, as a number or as a word."""
        return bool(self.hashes) and any(map(self.has, ids_in(page)))


def ids_in(page: bytes) -> set[Id]:
    """What may be ids in a text: its numbers, and its words that are none."""
    numbers: set[Id] = {int(number) for number in _NUMBER.findall(page)}
    return numbers | {w.decode() for w in set(_WORD.findall(page)) if not w.isdigit()}


NOBODY = Forgotten("none yet", "", frozenset())  # the version of no userlist: nothing is known


def original_of(more: str) -> Id | None:
    """The user whose post is packed in a cell `post:more`; None: nobody's, or not known."""
    if '"original"' not in more:
        return None
    uid = msgspec.json.decode(more)["original"].get("uid")
    return None if uid is None else read_id(str(uid))


def without_others(cells: Mapping[str, str], is_gone: Callable[[Id], bool]) -> dict[str, str]:
    """The cells that must be written anew so that they hold nothing of users who are gone, with
    their new values; {} where there is none. The row's own user is not looked at."""
    new = {}
    if (found_from := cells.get("user:found_from")) and is_gone(read_id(found_from)):
        new["user:found_from"] = ""
    if (more := cells.get("post:more")) and (uid := original_of(more)) and is_gone(uid):
        packed = msgspec.json.decode(more)
        del packed["original"]
        new["post:more"] = msgspec.json.encode(packed).decode()
    return new
