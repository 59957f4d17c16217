"""What stands behind the question mark of a store's address. Pure: no driver is needed."""

from collections.abc import Collection
from urllib.parse import parse_qsl

from weibo_crawler.config import FILE_OPTIONS, resolve
from weibo_crawler.errors import BadConfig

TLS = ("ssl_ca", "ssl_cert", "ssl_key")
_NEEDS = {"ssl_cert": "ssl_ca", "ssl_key": "ssl_cert"}


def read_options(query: str, setting: str, known: Collection[str], form: str) -> dict[str, str]:
    """The options by name, files resolved. setting: whose value the address is; form: what to use
    instead, for the error.

    BadConfig where one is unknown, has no value or lacks another one, without the query's text: it
    may hold a password.
    """
    try:
        pairs = parse_qsl(query, strict_parsing=True, keep_blank_values=True) if query else []
    except ValueError:
        raise BadConfig(f"{setting}: its options cannot be read: {form}") from None
    options = dict(pairs)
    if "" in options.values():  # TLS that was meant must not be left out in silence
        raise BadConfig(f"{setting} names an option without a value: {form}")
    if not options.keys() <= set(known):
        words = ", ".join(known)
        raise BadConfig(f"{setting}: only {words} may stand behind the question mark: {form}")
    for name, other in _NEEDS.items():
        if name in options and other not in options:
            raise BadConfig(f"{setting}: {name} needs {other}: {form}")
    return {k: str(resolve(v)) if k in FILE_OPTIONS else v for k, v in options.items()}
