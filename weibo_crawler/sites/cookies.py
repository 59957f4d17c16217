"""The cookies of a session: what Set-Cookie does to them, and how many are too many. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime

_MOST, _MOST_BYTES = 50, 8100  # servers refuse a header line of over 8 kB (400, 431)


def merge_cookies(
    cookies: Mapping[str, str], set_cookies: Iterable[str], hosts: Sequence[str], now: float
) -> dict[str, str]:
    """The cookies after these Set-Cookie headers of an answer.

    hosts: which answered, and to which they may go as well. One that has expired is deleted; one
    that is meant for other hosts, or could not be sent back, is passed over. now: seconds since the
    epoch.
    """
    merged = dict(cookies)
    for line in set_cookies:
        pair, *rest = line.split(";")
        name, equals, value = (part.strip() for part in pair.partition("="))
        attributes = {k.strip().lower(): v.strip() for k, _, v in (a.partition("=") for a in rest)}
        if not equals or not name or not _is_of(hosts, attributes.get("domain", "")):
            continue
        if not (f"{name}{value}".isascii() and f"{name}{value}".isprintable()):
            continue  # no header that holds it would be sent
        if _is_expired(attributes, now):
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def are_too_large(cookies: Mapping[str, str]) -> bool:
    """Whether the session has grown beyond what servers read."""
    size = sum(len(name) + len(value) + 3 for name, value in cookies.items())  # "=", "; "
    return len(cookies) > _MOST or size > _MOST_BYTES


def _is_of(hosts: Sequence[str], domain: str) -> bool:
    domain = domain.lower().removeprefix(".")
    return not domain or any(f".{host}".endswith(f".{domain}") for host in hosts)


def _is_expired(attributes: Mapping[str, str], now: float) -> bool:
    age = attributes.get("max-age", "")
    if age.removeprefix("-").isdecimal():
        return age.startswith("-") or not age.strip("0")  # wins over Expires
    try:
        return parsedate_to_datetime(attributes.get("expires", "")).timestamp() <= now
    except (ValueError, OverflowError):
        return False
