"""The exception tree: a name says what to do next, a class carries the command's exit code.

Exit codes (docs/architecture.md): 0 done, 1 a fault of ours, 2 usage and seeds, 3 configuration,
4 the site says no, 5 a store cannot be reached or written, 130 interrupted after a clean stop.
"""

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

DISTRIBUTION = "weibo-hadoop"  # for pip; what the index calls weibo-crawler is another's program
_ADDRESS_WITH_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+\S*:\S*@")
# of a connection string: Server=h;Uid=me;Pwd=…
_PASSWORD_FIELD = re.compile(
    r"""((?:pwd|password|passwd)\s*=\s*)(?:'[^']*'|"[^"]*"|[^;&\s]+)""", re.IGNORECASE
)
# behind a host, or behind an account whose host was forgotten; there may be several servers
_NO_PORT = re.compile(r"((?://|@)[^/:\[\]]*):(?!\d*(?:,[^/,:]+:\d+)*(?:[/?#]|\Z)).*", re.DOTALL)


def masked(address: str) -> str:
    """An address, or what was given for one, without account and arguments, which may hold a
    password. An account ends at the last @, since a password may hold one too; a port that is no
    number is the password of an address whose host was forgotten."""
    address = _PASSWORD_FIELD.sub(r"\1***", address)
    account, at, rest = address.rpartition("@")
    place, mark, _ = rest.partition("?")
    shown = f"{place}?***" if mark else place
    if at:
        scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/*", account)
        shown = f"{scheme[0] if scheme else ''}***@{shown}"
    return _NO_PORT.sub(r"\1:***", shown)


def without_passwords(text: str) -> str:
    """A text in which the addresses that hold a password are masked."""
    return _ADDRESS_WITH_PASSWORD.sub(lambda found: masked(found[0]), text)


@contextmanager
def needed(what: str, extra: str) -> Iterator[None]:
    """Inside, an import that fails is BadConfig: what needs it, and how to install that. extra: of
    setup.cfg."""
    try:
        yield
    except ImportError as error:
        raise BadConfig(f"{what} ({error}): {how_to_install(extra)}") from None


def how_to_install(extra: str) -> str:
    """The command that adds what an extra of setup.cfg brings to this installation."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class CrawlerError(Exception):
    """Anything this program raises on purpose; its text is one line a user can act on. Addresses of
    servers in it are masked, also where a foreign error named them."""

    exit_code = 1
    data: Mapping[str, Any] = MappingProxyType({})  # figures beside it, for --json

    def __init__(self, message: str = "") -> None:
        super().__init__(without_passwords(message))


class BadUsage(CrawlerError):
    """The command line or a seed is wrong: correct it and call again."""

    exit_code = 2


class BadSeed(BadUsage):
    """A seed that names nobody; the message holds file and line."""


class BadConfig(CrawlerError):
    """A setting, a settings file or a file a setting names is wrong: correct it and call again."""

    exit_code = 3


class ListAway(BadConfig):
    """A list of proxies cannot be read: it is away, being written, or wrong. A command says so at
    once; what goes on without a user looks again."""


class SiteSaysNo(CrawlerError):
    """The site refuses on every egress, or changed its shape: stop, come back later or slower.

    met: the trouble that the caller's own request had met until then, "" for none.
    """

    exit_code = 4
    met = ""


class StoreError(CrawlerError):
    """A store cannot be opened, read or written: mend it, then run the same command again."""

    exit_code = 5


class NoStore(StoreError):
    """There is no such store, and the command makes none: name another, or make it."""


class ReadOnly(StoreError):
    """The store may be read only: name one that may be written, or leave out what writes."""


class NewerSchema(StoreError):
    """The store was written by a newer version of this program: upgrade the program."""


# numbers of an OSError: the disk is full, or a quota or a limit on file sizes is reached
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class StoreFull(StoreError):
    """No room to write: free some, then run the same command again; nothing is half-written."""


class Interrupted(CrawlerError):
    """Ctrl-C or SIGTERM, after what was in flight was finished: run the same command to go on."""

    exit_code = 130


class TransportError(CrawlerError):
    """No whole answer came back. `blame` says whose fault it is: "egress", "site" or "us"."""

    blame = "site"

    def __init__(self, message: str, *, blame: str | None = None) -> None:
        super().__init__(message)
        if blame is not None:
            self.blame = blame


class ConnectFailed(TransportError):
    """No connection: refused, unreachable, unknown name, or a TLS name that does not fit."""


class TimedOut(TransportError):
    """Connect or read took longer than the settings allow."""


class BodyCut(TransportError):
    """The body ended before its announced end, or its compression is broken: ask again."""


class BodyTooLarge(TransportError):
    """The decoded body is over fetch.max_body_bytes: asking again will not help."""

    blame = "page"


class FileRefused(TransportError):
    """A host of files refuses this one, or the egress. status: 403, 418 or 429."""

    def __init__(self, status: int) -> None:
        super().__init__(f"refused ({status})")
        self.status = status


class BadAnswer(TransportError):
    """What came back is not HTTP."""


class EgressFailed(TransportError):
    """The proxy failed, not the site: use another egress, the page is not to blame."""

    blame = "egress"
