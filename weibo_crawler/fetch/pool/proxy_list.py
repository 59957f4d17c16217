"""A list of proxies as a file or an address gives it: lines of text, or JSON. Pure.

JSON is a list, or an object that holds one: of addresses, or of objects with host, port, scheme and
account under their usual names (_KEYS). Nothing here quotes an entry: it may hold a password.
"""

import json
import re
from ipaddress import IPv6Address
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

# Names are resolved by the proxy, as with CONNECT: socks5 alone would resolve them here.
_SCHEMES = {"http": "http", "https": "https", "socks5": "socks5h", "socks5h": "socks5h"}
_COMMENT = re.compile(r"(^|\s)#.*")
# What stands before the last @ is the account, whichever characters its password has.
_URL = re.compile(
    r"(?s:(?:([A-Za-z][A-Za-z0-9+.-]*)://)?(?:(.*)@)?)"
    r"((?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})/?"
)
_MOST_SOCKS_BYTES = 255  # of a user, and of a password (RFC 1929)
_KEYS = {
    "host": (
        "ip",
        "host",
        "hostname",
        "address",
        "addr",
        "server",
        "proxy_address",
        "proxy",
        "url",
    ),
    "port": ("port",),
    "scheme": ("protocol", "scheme", "type", "protocols"),
    "user": ("user", "username", "login", "account"),
    "password": ("password", "pass", "passwd", "pwd"),
}
_DEPTH = 3  # of the list in what an address answers: {"code": 0, "data": {"proxies": […]}}


class Address(NamedTuple):
    """url: the whole address, with its account; place: host:port."""

    url: str
    place: str


class Listing(NamedTuple):
    """addresses: in their order, repeats kept; bad: the numbers, from 1, of the lines or entries
    that are no addresses; unit: "line" or "entry"."""

    addresses: list[Address]
    bad: list[int]
    unit: str


def parse_listing(text: str) -> Listing:
    """Read a list. A text that begins as JSON and is none is read as lines, all of them bad."""
    entries = _entries(text)
    unit = "line" if entries is None else "entry"
    listing = Listing([], [], unit)
    for number, entry in enumerate(_lines(text) if entries is None else entries, 1):
        if entry == "":
            continue
        address = _of_object(entry) if isinstance(entry, dict) else _of_text(entry)
        if address is None:
            listing.bad.append(number)
        else:
            listing.addresses.append(address)
    return listing


def _lines(text: str) -> list[str]:
    return [_COMMENT.sub("", line).strip() for line in text.splitlines()]


def _entries(text: str) -> list[Any] | None:
    """The list in a JSON text; None: it is no JSON."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return _list_in(json.loads(text), _DEPTH)
    except (ValueError, RecursionError):
        return None


def _list_in(value: object, depth: int) -> list[Any]:
    """The first list in the value that is not empty, else an empty one."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and depth:
        return next((found for v in value.values() if (found := _list_in(v, depth - 1))), [])
    return []


def _of_text(entry: object) -> Address | None:
    """An address, or None: it is none. `host:port` alone is an HTTP proxy."""
    match = _URL.fullmatch(entry.strip()) if isinstance(entry, str) else None
    if match is None:
        return None
    scheme, host, port = (match[1] or "http").lower(), match[3].lower(), int(match[4])
    if scheme not in _SCHEMES or not 0 < port < 2**16:
        return None
    try:
        if host.startswith("["):
            IPv6Address(host[1:-1])
        account = _account(match[2] or "", scheme)
    except ValueError:
        return None
    place = f"{host}:{port}"
    return Address(f"{_SCHEMES[scheme]}://{account}{place}", place)


def _account(text: str, scheme: str) -> str:
    """`user:password@` with both percent-encoded, so that every client sends the same bytes; "" for
    none. Errors: ValueError for what none can send."""
    parts = [unquote(part, errors="strict") for part in text.partition(":")[::2]]
    if not any(parts):
        return ""
    is_sendable = all(0 < len(part.encode()) <= _MOST_SOCKS_BYTES for part in parts)
    if not is_sendable and scheme.startswith("socks"):
        raise ValueError("SOCKS has no such account")
    return ":".join(quote(part, safe="") for part in parts) + "@"


def _of_object(entry: dict[str, Any]) -> Address | None:
    lower = {str(key).lower(): value for key, value in entry.items()}
    found = {part: _first(lower, keys) for part, keys in _KEYS.items()}
    host, port = found["host"], found["port"]
    if "://" in host or not port:  # the whole address under one key
        return _of_text(host)
    scheme = (found["scheme"] or "http").lower()
    user, password = (found[part].replace("%", "%25") for part in ("user", "password"))
    account = f"{user.replace(':', '%3A')}:{password}"
    bracketed = f"[{host}]" if ":" in host else host
    return _of_text(f"{scheme}://{account}@{bracketed}:{port}")


def _first(entry: dict[str, Any], keys: tuple[str, ...]) -> str:
    """The first value of these keys as text, "" for none; of a list of schemes one that we know."""
    value = next((entry[key] for key in keys if entry.get(key) not in (None, "", [])), "")
    if isinstance(value, list):
        names = [str(name).lower() for name in value]
        value = next((name for name in _SCHEMES if name in names), names[0])
    return str(value).strip()
