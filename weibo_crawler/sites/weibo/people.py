"""Users: from a profile, from lists and from what is under posts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec.structs import asdict, replace

from weibo_crawler import records
from weibo_crawler.records import ILLEGIBLE, EchoPage, Id, Kind, Reading, Request, User, Verdict
from weibo_crawler.sites.weibo.addresses import page_number
from weibo_crawler.sites.weibo.counts import (
    MOST_FANS,
    MOST_POSTS,
    MOST_REACTIONS,
    first_count,
    optional_count,
    small_number,
)
from weibo_crawler.sites.weibo.cursors import comments_token
from weibo_crawler.sites.weibo.drift import Drift, is_drift
from weibo_crawler.sites.weibo.echo import older_than, read_echo
from weibo_crawler.sites.weibo.ids import chain_of, uid_of
from weibo_crawler.sites.weibo.text import read_name, read_remark
from weibo_crawler.sites.weibo.verdicts import nothing
from weibo_crawler.sites.weibo.wire import Echo, Echoes, Face, Person, Profile

_FANS_IN_WORDS = re.compile(r"粉[丝絲][数數]?\s*[：:]\s*(\S+)")


def read_face(face: Face, *descriptions: object) -> User:
    """Who somebody is, the number of posts where it is shown, and that of fans, which some lists
    give in words only (`粉丝：143`): the first of the places that say it legibly counts.

    Errors: Drift, as `uid_of`.
    """
    uid = uid_of(face)
    counts = (face.followers_count, face.followers_count_str)
    fans = first_count(chain(counts, map(_fans_in_words, descriptions)), MOST_FANS)
    posts = optional_count(face.statuses_count, MOST_POSTS)
    return User(uid, read_name(face.screen_name), fans, posts=posts)


def read_person(person: Person) -> User:
    """A user with all that a profile tells. Errors: Drift for a missing id."""
    face = read_face(person)
    return User(
        uid=face.uid,
        screen_name=face.screen_name,
        fans=face.fans,
        follows=first_count((person.follow_count, person.friends_count), MOST_FANS),
        posts=face.posts,
        gender=person.gender if person.gender in ("m", "f") else None,
        description=read_remark(person.description),
        verified=person.verified if isinstance(person.verified, bool) else None,
        verified_type=small_number(person.verified_type),
        verified_reason=read_remark(person.verified_reason),
        rank=small_number(person.urank),
        avatar=read_remark(person.avatar_hd) or read_remark(person.profile_image_url),
    )


def read_owner(people: Iterable[Person]) -> User | None:
    """The owner of a timeline, as its posts show them: what is odd or lacks in the first of them is
    read from the others. None where there are none. Errors: Drift for a missing id."""
    owner: User | None = None
    for person in people:
        user = read_person(person)
        if owner is None:
            owner = user
        else:
            told = asdict(owner)
            new = {name: value for name, value in asdict(user).items() if told[name] is None}
            owner = replace(owner, **new)
        if owner.is_told:
            break
    return owner


def read_profile(profile: Profile | None, request: Request, now: float) -> Reading:
    """OK with a User; EMPTY (ambiguous) for the no-content body. Errors: Drift."""
    if profile is not None and profile.userInfo is None and profile.cards == []:
        return nothing(request)
    if profile is None or profile.userInfo is None:
        raise Drift(".data" if profile is None else ".data.userInfo")
    try:
        user = read_person(profile.userInfo)
    except Drift as drift:
        raise drift.under(".data.userInfo") from None
    if user.uid != request.uid:
        raise Drift(".data.userInfo.id")
    return Reading(Verdict.OK, user)


def read_echoes(echoes: Echoes | None, request: Request, now: float) -> Reading:
    """OK with an EchoPage: its authors, each once, and what they wrote; who cannot be read is left
    out and counted, and so is who stands under another post. Ambiguous where all do: it may be the
    list of that one.

    Errors: Drift, also where most of the authors cannot be read.
    """
    if echoes is None or not isinstance(echoes.data, list | None):
        raise Drift(".data" if echoes is None else ".data.data")
    is_post = request.kind is Kind.REPOSTS
    next_cursor, is_odd = comments_token(echoes.max_id, echoes.max_id_type)
    if not echoes.data and next_cursor is None and not is_odd:
        return nothing(request)
    if is_post:
        number, last = page_number(request.cursor), optional_count(echoes.max, MOST_REACTIONS)
        next_cursor = str(number + 1) if last is not None and number < last else None
    users: dict[Id, User] = {}
    said: list[records.Echo] = []
    odd: list[Drift] = []
    skipped = Counter({"odd cursor": 1} if is_odd else {})
    shown = unreadable = 0
    others, is_foreign = _of_others(echoes.data or (), request.owners, now)
    for i, echo in enumerate(echoes.data or ()):
        if echo is not None and echo.user is None:
            skipped["no user"] += 1
            continue
        if is_foreign or i in others:
            skipped["another post"] += 1
            continue
        shown += 1
        try:
            if echo is None or not isinstance(echo.user, Face):
                raise Drift("")
            user = read_face(echo.user)
            users.setdefault(user.uid, user)
            one = read_echo(echo, user, now, is_post=is_post)
            said += [] if one is None else [one]
            unreadable += one is None
        except Drift as drift:
            skipped[ILLEGIBLE[not drift.path]] += 1
            odd.append(drift.under(f".data.data[{i}].user"))
    if is_drift(len(odd), shown):
        raise odd[0]
    counted = tuple(user for user in users.values() if user.fans is not None)
    uncounted = tuple(user.uid for user in users.values() if user.fans is None)
    page = EchoPage(
        *(request.mid, counted, next_cursor, uncounted, tuple(said), dict(skipped)),
        unreadable + len(odd) + skipped["another post"],
        tuple(dict.fromkeys(others.values())) or None,
    )
    if is_foreign:
        return Reading(Verdict.OK, page, why="nothing under the post", ambiguous=True)
    return Reading(Verdict.OK, page)


def _of_others(
    echoes: Sequence[Echo | None], owners: tuple[Id, ...], now: float
) -> tuple[dict[int, Id], bool]:
    """Which items stand under other posts, and what tells: the post that they name, or their own
    id, where it is older than the owners; and whether the page is the list of another post, as
    that tells of most of them, and none names an owner. Comments name none, nor did reposts
    before 2019, nor does one whose original is not legible."""
    if not owners:
        return {}, False
    own = frozenset(owners)
    least = min((mid for mid in owners if isinstance(mid, int)), default=0)
    others: dict[int, Id] = {}
    are_named = False
    for i, echo in enumerate(echoes):
        chain = () if echo is None else chain_of(echo.retweeted_status)
        is_named = not own.isdisjoint(chain)
        are_named |= is_named
        if chain and not is_named:
            others[i] = chain[-1]
        elif echo is not None and not chain and (older := older_than(least, echo, now)):
            others[i] = older
    return others, not are_named and 2 * len(others) > len(echoes)


def _fans_in_words(description: object) -> str | None:
    match = _FANS_IN_WORDS.search(description) if isinstance(description, str) else None
    return match[1] if match else None
