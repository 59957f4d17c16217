"""Seeds: uids, profile addresses and screen names, one a line."""

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from weibo_crawler.errors import BadSeed

_MAX_UID = 2**63 - 1  # the widest id that both SQL homes and their drivers carry
_NAMED = 10  # wrong lines that an error names
_HOSTS = {"m.weibo.cn", "weibo.com", "www.weibo.com", "weibo.cn"}
_NAME = re.compile(r"[\w·][\w·.\-]{0,59}")  # letters of any script, digits, - _ .


class Seed(NamedTuple):
    """One seed as written: a uid, or a screen name for the site to resolve. where: for errors."""

    uid: int | None
    screen_name: str | None
    where: str


def parse_seeds(lines: Iterable[str], source: str) -> list[Seed]:
    """All seeds of a file; blank lines and # comments are skipped, repeats dropped.

    Raises BadSeed with source and line number for the first line that names nobody, and with the
    numbers of the others.
    """
    seeds: dict[tuple[int | None, str | None], Seed] = {}
    wrong: list[tuple[int, BadSeed]] = []
    for number, line in enumerate(lines, 1):
        text = line.removeprefix("\ufeff").split("#")[0].strip()
        if not text:
            continue
        try:
            seed = parse_seed(text, f"{source}:{number}")
        except BadSeed as error:
            wrong.append((number, error))
        else:
            seeds.setdefault((seed.uid, seed.screen_name), seed)
    if wrong:
        raise BadSeed(f"{wrong[0][1]}{_others([number for number, _ in wrong[1:]])}")
    return list(seeds.values())


def _others(numbers: list[int]) -> str:
    """Which other lines are wrong."""
    if not numbers:
        return ""
    named = ", ".join(map(str, numbers[:_NAMED]))
    more = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    return f"; wrong as well: line{'s' if len(numbers) > 1 else ''} {named}{more}"


def parse_seed(text: str, where: str) -> Seed:
    """One seed: `1234567890`, `https://m.weibo.cn/u/1234567890`, `weibo.com/u/…`, `@name`."""
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
