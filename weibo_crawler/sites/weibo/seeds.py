"""Seeds of Weibo: uids, profile addresses and screen names."""

import re
from urllib.parse import unquote, urlsplit

from weibo_crawler.errors import BadSeed
from weibo_crawler.records import Seed

_MAX_UID = 2**63 - 1  # the widest number that both SQL homes and their drivers carry
_HOSTS = {"m.weibo.cn", "weibo.com", "www.weibo.com", "weibo.cn"}
_NAME = re.compile(r"[\w·][\w·.\-]{0,59}")  # letters of any script, digits, - _ .


def read_seed(text: str, where: str) -> Seed:
    """One seed: `1234567890`, `https://m.weibo.cn/u/1234567890`, `weibo.com/u/…`, `@name`. Errors:
    BadSeed."""
    if text.isdecimal():
        return Seed(_uid(text, where), None, where)
    if "/" in text:
        return _from_address(text, where)
    name = text.removeprefix("@")
    if not _NAME.fullmatch(name):
        raise BadSeed(
            f"{where}: {text!r} is no seed; give a uid, a profile address such as "
            "https://m.weibo.cn/u/1234567890, or a screen name"
        )
    return Seed(None, name, where)


def _from_address(text: str, where: str) -> Seed:
    try:
        parts = urlsplit(text if "//" in text else f"https://{text}")
        host = parts.hostname or ""
    except ValueError:  # brackets that are no IPv6 address
        host = ""
    if host in _HOSTS:
        path = [unquote(part) for part in parts.path.split("/") if part]
        if len(path) == 2 and path[0] in ("u", "profile") and path[1].isdecimal():
            return Seed(_uid(path[1], where), None, where)
        if len(path) == 1 and path[0].isdecimal():
            return Seed(_uid(path[0], where), None, where)
        if len(path) == 2 and path[0] == "n" and _NAME.fullmatch(path[1]):
            return Seed(None, path[1], where)
    raise BadSeed(
        f"{where}: {text!r} is no profile address; known are m.weibo.cn/u/<uid>, "
        "weibo.com/u/<uid> and m.weibo.cn/n/<screen name>"
    )


def _uid(digits: str, where: str) -> int:
    try:
        uid = int(digits)
    except ValueError:  # thousands of digits
        uid = 0
    if not 0 < uid <= _MAX_UID:
        raise BadSeed(f"{where}: {digits[:30]} is no uid; a uid is a number of about ten digits")
    return uid
