"""Who the users are: everything of a profile that is not a number of the graph."""

import re
import time

import msgspec

from weibo_crawler.simulator import lexicon
from weibo_crawler.simulator.dice import Topic, dice, scatter

_ORGANISATION = 2  # verified_type of companies and media; 0 is a person, -1 nobody
_REGISTERED_S = (1_262_304_000, 1_577_836_800)  # 2010 to 2019
_FIRST_UID = 1_000_000_000
_UIDS = 6_000_000_000  # uids lie in a stretch of this length, as the real ones do
_STEP = 3_873_592_267  # no common divisor with _UIDS, so every index has its own uid
_BACK = pow(_STEP, -1, _UIDS)


class Person(msgspec.Struct, frozen=True):
    """A user's own words and marks."""

    uid: int
    screen_name: str
    gender: str  # "m" or "f"
    description: str
    verified: bool
    verified_type: int
    verified_reason: str
    urank: int
    mbrank: int
    region: str
    school: str
    city: str  # "" where the user names none
    birthday: str
    registered: str  # a day


def uid_of(seed: int, index: int) -> int:
    """The uid of a user: 1,000,000,000 to 6,999,999,999, scattered, one for each index."""
    return _FIRST_UID + (index * _STEP + scatter(seed)) % _UIDS


def index_of(seed: int, uid: int, size: int) -> int | None:
    """The index of a uid of this world, None for a stranger."""
    if not _FIRST_UID <= uid < _FIRST_UID + _UIDS:
        return None
    index = (uid - _FIRST_UID - scatter(seed)) * _BACK % _UIDS
    return index if index < size else None


def screen_name(seed: int, index: int) -> str:
    """The name of a user; it ends in the index, so no two are the same."""
    bits = scatter(index, seed)
    style, one, two = bits & 3, (bits >> 2) & 0xFF, (bits >> 10) & 0xFF
    if style == 0:
        base = lexicon.LATIN[one % len(lexicon.LATIN)]
    elif style == 1:
        base = lexicon.THINGS[one % len(lexicon.THINGS)]
    else:
        family = lexicon.FAMILY[one % len(lexicon.FAMILY)]
        base = family + lexicon.GIVEN[two % len(lexicon.GIVEN)]
    return f"{base}{index}"


def index_of_name(seed: int, name: str, size: int) -> int | None:
    """The index of a screen name of this world, None for a stranger."""
    digits = re.search(r"[0-9]{1,9}$", name)
    if digits is None or int(digits[0]) >= size:
        return None
    index = int(digits[0])
    return index if screen_name(seed, index) == name else None


def person(seed: int, index: int) -> Person:
    rng = dice(seed, Topic.PERSON, index)
    verified = rng.random() < 0.12
    organisation = verified and rng.random() < 0.3
    return Person(
        uid=uid_of(seed, index),
        screen_name=screen_name(seed, index),
        gender=rng.choice("mf"),
        description=rng.choice(lexicon.ABOUT),
        verified=verified,
        verified_type=_ORGANISATION if organisation else 0 if verified else -1,
        verified_reason=rng.choice(lexicon.VERIFIED) if verified else "",
        urank=rng.randrange(48),
        mbrank=rng.randrange(8),
        region=(region := rng.choice(lexicon.REGIONS)),
        school=rng.choice(lexicon.SCHOOLS),
        city=rng.choice(("", *lexicon.CITIES.get(region, ()))),
        birthday=rng.choice(lexicon.BIRTHDAYS),
        registered=time.strftime("%Y-%m-%d", time.gmtime(rng.randrange(*_REGISTERED_S))),
    )
