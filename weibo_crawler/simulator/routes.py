"""What an address asks for."""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from weibo_crawler.simulator.wire import mid_of_bid

GET_INDEX = "/api/container/getIndex"
VISITOR = "/visitor/genvisitor2"  # the POST that opens a session
VISITOR_PAGE = "/visitor/visitor"  # where a guest without one is sent


class Kind(StrEnum):
    """The pages of the site."""

    PROFILE = "profile"
    INFO = "info"
    POSTS = "posts"
    FANS = "fans"
    FOLLOWS = "follows"
    EXTEND = "extend"
    SHOW = "show"
    DETAIL = "detail"
    COMMENTS = "comments"
    REPOSTS = "reposts"
    NAME = "name"
    SEARCH = "search"
    USER = "user"
    HOME = "home"
    VISITOR_PAGE = "visitor_page"
    UNKNOWN = "unknown"


class Asked(NamedTuple):
    """One address, understood. page: from 1; since_id instead of it where it is not 0. token: a
    since_id that is no number. name: a screen name, or the words that are searched for."""

    kind: Kind
    uid: int = 0
    mid: int = 0
    page: int = 1
    since_id: int = 0
    container: str = ""
    name: str = ""
    token: str = ""


_CONTAINERS = (
    (re.compile(r"100505(\d+)$"), Kind.PROFILE),
    (re.compile(r"107603(\d+)$"), Kind.POSTS),
    (re.compile(r"230413(\d+)_-_WEIBO_SECOND_PROFILE_WEIBO$"), Kind.POSTS),
    (re.compile(r"231051_-_fans_-_(\d+)$"), Kind.FANS),
    (re.compile(r"231051_-_followers_-_(\d+)$"), Kind.FOLLOWS),
    (re.compile(r"230283(\d+)_-_INFO$"), Kind.INFO),
)
_SEARCH = re.compile(r"(?:100103|231522)type=\d+&(?:t=\d+&)?q=(.+)")
_STATUSES = {"/statuses/extend": Kind.EXTEND, "/statuses/show": Kind.SHOW}
_FIXED = {"/": Kind.HOME, VISITOR_PAGE: Kind.VISITOR_PAGE}


@lru_cache(maxsize=4096)
def understand(address: str) -> Asked:
    """Path and query of a request, as they came."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    path = parts.path
    if path == GET_INDEX:
        return _get_index(query)
    if path in _STATUSES:
        return Asked(_STATUSES[path], mid=_mid(query.get("id", "")))
    if path.startswith("/detail/"):
        return Asked(Kind.DETAIL, mid=_mid(path.removeprefix("/detail/")))
    if path == "/comments/hotflow":
        page = 2 if _number(query.get("max_id", "")) else 1
        return Asked(Kind.COMMENTS, mid=_mid(query.get("id", "")), page=page)
    if path == "/api/statuses/repostTimeline":
        page = max(1, _number(query.get("page", "")))
        return Asked(Kind.REPOSTS, mid=_mid(query.get("id", "")), page=page)
    if path.startswith("/n/"):
        return Asked(Kind.NAME, name=unquote(path.removeprefix("/n/")))
    if path.startswith("/u/"):
        return Asked(Kind.USER, uid=_number(path.removeprefix("/u/")))
    return Asked(_FIXED.get(path, Kind.UNKNOWN))


def _get_index(query: Mapping[str, str]) -> Asked:
    """The one address of profile, posts, fans, follows, basic info and topics (weibo_api.md)."""
    container = query.get("containerid", "")
    if found := _SEARCH.fullmatch(container):
        page = max(1, _number(query.get("page", "")))
        return Asked(Kind.SEARCH, page=page, container=container, name=found[1])
    if not container and query.get("type") == "uid":
        container = "100505" + query.get("value", "")
    since_id = _number(query.get("since_id", ""))
    page = max(1, _number(query.get("page", "")))
    for pattern, kind in _CONTAINERS:
        if found := pattern.match(container):
            uid = _number(found[1])
            if kind is Kind.POSTS:
                token = "" if since_id else query.get("since_id", "")
                return Asked(
                    kind, uid, page=page, since_id=since_id, container=container, token=token
                )
            return Asked(kind, uid, page=max(page, since_id))
    return Asked(Kind.UNKNOWN)


def _mid(text: str) -> int:
    """A mid, or the bid of one; 0 for nonsense."""
    return _number(text) or mid_of_bid(text) or 0


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,19}", text) else 0
