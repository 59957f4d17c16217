"""Which post it is, and whose: an id stands there several times, and in other letters.

mid, id and idstr of one post must be the same: copies, and so one witness. The bid, in the post and
in its card's address, is the mid in other letters: one that names another post is not believed.
Where both name the same other post, or where one of them names another post and the date does not
agree with the ids, nobody knows which post it is. The address of a profile names its user once
more, and so does the container of a page.
"""

import re
from contextlib import suppress

from weibo_crawler.sites.weibo.bid import bid_in_scheme, bid_of
from weibo_crawler.sites.weibo.dates import Said, second_of
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.wire import Card, Face, Mblog, Named, PageInfo, Reposted

_DAY_S = 86_400
_CONTAINER = re.compile(
    r"(?:107603|230413|230283|231051_-_[a-z_]+_-_)([0-9]{1,19})(?![0-9])", re.ASCII
)
_HOME = re.compile(r"(?:(?:[^?#/]*+/)+?)?u/([0-9]{1,19})(?![0-9])")


def mid_of(status: Named) -> int:
    """The id of a post, which stands in it up to three times. Errors: Drift where one of them is
    illegible or another one."""
    mid = status.mid
    if mid and mid == status.id and status.idstr in (mid, None):  # the usual case, checked at once
        return identity(mid, ".mid")
    ids = _ids(status)
    if not ids:
        raise Drift(".mid")
    for name, value in ids.items():
        if value != next(iter(ids.values())):
            raise Drift(f".{name}")
    return next(iter(ids.values()))


def _ids(status: Named) -> dict[str, int]:
    """Errors: Drift."""
    given = {"mid": status.mid, "id": status.id, "idstr": status.idstr}
    return {
        name: identity(value, f".{name}")
        for name, value in given.items()
        if value is not None and value != ""
    }


def chain_of(reposted: Reposted | None) -> tuple[int, ...]:
    """What a repost passes on, the post at the head of the chain last, as far as legible."""
    mids: list[int] = []
    while reposted is not None:
        with suppress(Drift):
            mids.append(mid_of(reposted))
        reposted = reposted.retweeted_status
    return tuple(mids)


def check_bid(status: Mblog, card: Card, mid: int, words: Said | None) -> None:
    """Hear bid, address and date. words: the date of the post, None: it is not legible. Errors:
    Drift."""
    own = ("", str(mid), bid_of(mid))
    said = (status.bid, bid_in_scheme(card.scheme))
    named = [name for name in said if isinstance(name, str) and name]
    others = [name for name in named if name not in own]
    if not others:
        return
    is_dated = words is not None and words.holds(second_of(mid), _DAY_S)
    against = max(others.count(other) for other in others) + (not is_dated)
    if against > 1:
        raise Drift(".bid")


def uid_of(face: Face, path: str = ".id") -> int:
    """Errors: Drift(path) for a missing id, and for one that the address of the profile denies."""
    uid = identity(face.id, path)
    if named_by(face.profile_url) not in (uid, None):
        raise Drift(path)
    return uid


def named_by(address: object) -> int | None:
    """The uid that the address of a profile names, None: it names none. Its query may quote any
    other address."""
    if not isinstance(address, str):
        return None
    named = _HOME.match(address)
    return int(named[1]) if named is not None else None


def owner_of(info: PageInfo | None) -> int | None:
    """Whose page it says that it is, by its container, as all recorded ones do: `1076031900000017`
    of posts, `231051_-_fans_-_1900000017` of fans. None: it says nothing of that."""
    named = None if info is None else info.containerid
    match = _CONTAINER.match(named) if isinstance(named, str) else None
    return None if match is None else int(match[1])
