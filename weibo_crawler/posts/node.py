"""What `doctor --nodes` finds out on a node: Python, packages, whether the stores answer there, and
which egresses it has.

Imports nothing at its head that may be missing or broken there: that is what it is to tell.
"""

import json
import os
import platform
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from weibo_crawler.errors import CrawlerError, StoreError

# what the jobs import, compiled parts among it
_MODULES = (
    *("msgspec", "pyroaring", "requests", "socks", "pymysql", "happybase"),
    *("weibo_crawler.posts.feed", "weibo_crawler.levels.walking"),
)
_TRIED = 32  # proxies
_CONNECT_S = 5.0


class Finding(NamedTuple):
    """exit_code: 0 where it is well; host: the node, as YARN calls it."""

    name: str
    text: str
    exit_code: int = 0
    host: str = ""

    def to_line(self) -> str:
        return json.dumps(self)

    @classmethod
    def from_line(cls, line: str) -> "Finding":
        return cls(*json.loads(line))


def look_around() -> Iterator[Finding]:
    """With the settings that travelled here."""
    host = os.environ.get("NM_HOST") or platform.node()
    for found in _found():
        yield found._replace(host=host)


def _found() -> Iterator[Finding]:
    here = f"{platform.python_version()} on {platform.node()} ({sys.executable})"
    yield Finding("node python", here)
    packages = _judged("node packages", _packages)
    yield packages
    if not packages.exit_code:
        for name, check in _surroundings():
            yield _judged(name, check)


def _packages() -> str:
    # the quick transport is used where it is: a node that cannot load it would quietly be slower
    names = (*_MODULES, "wreq") if find_spec("wreq") else _MODULES
    broken = []
    for name in names:
        try:
            import_module(name)
        except ImportError as error:
            broken.append(f"{name} ({error})")
    if broken:
        raise CrawlerError(
            f"cannot be imported: {', '.join(broken)}: compiled parts are those of the machine "
            "that starts the job: start it on one with the nodes' system"
        )
    return f"{', '.join(names)} import"


def _surroundings() -> Iterator[tuple[str, Callable[[], str]]]:
    from weibo_crawler import config
    from weibo_crawler.store.hbase import check as hbase_check
    from weibo_crawler.store.homes import users_check

    settings = config.load()
    sql = users_check(settings.store)
    yield "node sql", sql.server
    yield "node clock", lambda: f"{sql.clock()} from the database's"
    yield "node hbase", partial(hbase_check.protocol, settings.store.tables)
    yield "node egress", partial(_egress, settings)


def _egress(settings: Any) -> str:
    """Which ways out there are, and whether proxies take connections from here: nothing is sent.
    StoreError where none does."""
    from weibo_crawler.fetch.opening import described_egresses, load_egresses

    said = described_egresses(settings)
    found = load_egresses(settings.egress, settings.fetch)
    tried = [urlsplit(each.proxy_url) for each in found if each.proxy_url][:_TRIED]
    if not tried:
        return said
    with ThreadPoolExecutor(len(tried)) as pool:
        taking = sum(pool.map(lambda at: _takes(at.hostname or "", at.port or 80), tried))
    if not taking:
        raise StoreError(
            f"none of {len(tried)} proxies takes a connection from here: let the network of the "
            "nodes through to them, or correct egress.proxies_file"
        )
    return f"{said}; {taking} of {len(tried)} proxies take connections from here"


def _takes(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError:
        return False
    return True


def _judged(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, check())
    except CrawlerError as error:
        return Finding(name, str(error), error.exit_code)
