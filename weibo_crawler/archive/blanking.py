"""Take people out of answers. Pure.

Whose answer it was that somebody asked for by the person's uid is dropped. From an answer that is
about others, what is theirs is cut: each object of the JSON whose `user` they are (a post, a
comment, an item of a list), and each object that is themselves. What is left of their number is
written as 0. What others wrote to or about them stays, as in the tables.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from weibo_crawler.records import Answer, Id, Page
from weibo_crawler.store.forgotten import ids_in

_NUMBER = re.compile(rb"\d{1,20}")
IsGone = Callable[[Id], bool]


def blanked(answer: Answer, is_gone: IsGone) -> Answer | None:
    """The answer without them, the same object where it names none of them; None: nothing of it may
    be kept."""
    if is_gone(answer.request.uid):
        return None
    if answer.page is None:
        return answer
    page = blanked_page(answer.page, is_gone)
    if page is None or page is answer.page:
        return answer if page else None
    return answer._replace(page=page)


def blanked_page(page: Page, is_gone: IsGone) -> Page | None:
    """As `blanked`. What is no JSON and names one of them is dropped, and a redirect to them."""
    if any(is_gone(one) for _, text in page.headers for one in ids_in(text.encode())):
        return None
    found = {one for one in ids_in(page.body) if is_gone(one)}
    if not found:
        return page
    if any(isinstance(one, str) for one in found):  # nobody knows what else is theirs
        return None
    try:
        content = msgspec.json.decode(page.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    body = msgspec.json.encode(_without(content, found))
    for uid in found:
        body = re.sub(rb"(?<!\d)%s(?!\d)" % str(uid).encode(), b"0", body)
    return replace(page, body=body, encoding="", encoded=b"")


def _without(value: Any, uids: set[Id]) -> Any:
    if isinstance(value, list):
        return [_without(item, uids) for item in value if not _is_of(item, uids)]
    if isinstance(value, dict):
        return {
            key: _hidden(item) if _is_of(item, uids) else _without(item, uids)
            for key, item in value.items()
        }
    return value


def _is_of(value: Any, uids: set[Id]) -> bool:
    """Whether an object is one of them, or theirs, or holds nothing but a post of theirs."""
    if not isinstance(value, dict):
        return False
    if "id" in value and "screen_name" in value and _uid(value["id"]) in uids:
        return True
    user = value.get("user")
    if isinstance(user, dict) and _uid(user.get("id")) in uids:
        return True
    return _is_of(value.get("mblog"), uids)


def _uid(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _hidden(value: Any) -> Any:
    """What stands in the place of an object. A reposted post becomes one that is hidden: that there
    was one is the reposter's."""
    if "mid" in value or "mblogid" in value or "bid" in value:
        known = {key: value[key] for key in ("id", "mid") if key in value}
        return {**known, "user": None, "deleted": "1", "text": ""}
    return None
