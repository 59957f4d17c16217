"""Users: from a profile, from lists and from comments."""

import re
from typing import Any

from weibo_crawler.records import CommentPage, Reading, Request, User, Verdict
from weibo_crawler.sites.weibo.counts import optional_count, read_count, small_number
from weibo_crawler.sites.weibo.drift import Drift, Uncounted, identity, uncounted_uids
from weibo_crawler.sites.weibo.text import writable
from weibo_crawler.sites.weibo.verdicts import nothing
from weibo_crawler.sites.weibo.wire import Comments, Face, Person, Profile

_FANS_IN_WORDS = re.compile(r"粉丝[：:]\s*(\S+)")


def read_face(face: Face, *descriptions: object) -> User:
    """Who somebody is, and the number of fans, which some lists give in words only (`粉丝：143`).

    Errors: Drift for a missing id or name; Uncounted where the number of fans is missing or none.
    """
    if face.screen_name is None:
        raise Drift(".screen_name")
    uid = identity(face.id, ".id")
    return User(uid, writable(face.screen_name), _fans(face, descriptions, uid))


def read_person(person: Person, posts_container: str | None) -> User:
    """A user with all that a profile tells. Errors: as `read_face`, and Drift for a number that is
    none."""
    follows = person.follow_count if person.follow_count is not None else person.friends_count
    face = read_face(person)
    return User(
        uid=face.uid,
        screen_name=face.screen_name,
        fans=face.fans,
        follows=optional_count(follows, ".follow_count"),
        posts=optional_count(person.statuses_count, ".statuses_count"),
        gender=person.gender if person.gender in ("m", "f") else None,
        description=_words(person.description),
        verified=person.verified if isinstance(person.verified, bool) else None,
        verified_type=small_number(person.verified_type),
        verified_reason=_words(person.verified_reason),
        rank=small_number(person.urank),
        avatar=_words(person.avatar_hd) or _words(person.profile_image_url),
        posts_container=posts_container,
    )


def read_profile(profile: Profile | None, request: Request, now: float) -> Reading:
    """OK with a User. Errors: Drift."""
    if profile is None or profile.userInfo is None:
        raise Drift(".data" if profile is None else ".data.userInfo")
    try:
        user = read_person(profile.userInfo, _posts_container(profile.tabsInfo))
    except Drift as drift:
        raise drift.under(".data.userInfo") from None
    if user.uid != request.uid:
        raise Drift(".data.userInfo.id")
    return Reading(Verdict.OK, user)


def read_comments(comments: Comments | None, request: Request, now: float) -> Reading:
    """OK with a CommentPage of its authors, each once. Errors: Drift, also where more than a
    quarter of the numbers of fans are illegible."""
    if comments is None or not isinstance(comments.data, list | None):
        raise Drift(".data" if comments is None else ".data.data")
    if not comments.data:
        return nothing(request)
    users: dict[int, User] = {}
    uncounted: dict[int, Uncounted] = {}
    for i, comment in enumerate(comments.data):
        if comment.user is None:
            continue
        if not isinstance(comment.user, Face):
            raise Drift(f".data.data[{i}].user")
        try:
            user = read_face(comment.user)
        except Uncounted as one:
            uncounted[one.uid] = Uncounted(f".data.data[{i}].user{one.path}", one.uid)
        except Drift as drift:
            raise drift.under(f".data.data[{i}].user") from None
        else:
            users.setdefault(user.uid, user)
    max_id = str(comments.max_id or "")
    next_cursor = max_id if max_id.strip("0") else None
    uids = uncounted_uids(list(uncounted.values()), len(users))
    return Reading(Verdict.OK, CommentPage(request.mid, tuple(users.values()), next_cursor, uids))


def _fans(face: Face, descriptions: tuple[object, ...], uid: int) -> int:
    value, path = face.followers_count, ".followers_count"
    if value is None and face.followers_count_str is not None:
        value, path = face.followers_count_str, ".followers_count_str"
    elif value is None:
        value = _fans_in_words(descriptions)
    try:
        if value is not None:
            return read_count(value)
    except ValueError:
        pass
    raise Uncounted(path, uid)


def _fans_in_words(descriptions: tuple[object, ...]) -> str | None:
    for words in descriptions:
        match = _FANS_IN_WORDS.search(words) if isinstance(words, str) else None
        if match:
            return match[1]
    return None


def _posts_container(tabs_info: Any) -> str | None:
    """The containerid of the tab with the posts (WEIBO_API, "Endpoints": profile)."""
    tabs = tabs_info.get("tabs") if isinstance(tabs_info, dict) else None
    for tab in tabs.values() if isinstance(tabs, dict) else tabs if isinstance(tabs, list) else ():
        if isinstance(tab, dict) and tab.get("tab_type") == "weibo":
            return _words(tab.get("containerid"))
    return None


def _words(value: object) -> str | None:
    return writable(value) if isinstance(value, str) else None
