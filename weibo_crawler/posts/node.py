"""What `doctor --nodes` finds out on a node: Python, packages, whether the stores answer there, and
which egresses it has.

Imports nothing at its head that may be missing or broken there: that is what it is to tell.
"""

import json
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from weibo_crawler.errors import CrawlerError

# what the jobs import, compiled parts among it
_MODULES = (
    *("msgspec", "pyroaring", "requests", "socks", "pymysql", "happybase"),
    *("weibo_crawler.posts.feed", "weibo_crawler.levels.walking"),
)


class Finding(NamedTuple):
    """exit_code: 0 where it is well."""

    name: str
    text: str
    exit_code: int = 0

    def to_line(self) -> str:
        return json.dumps(self)

    @classmethod
    def from_line(cls, line: str) -> "Finding":
        return cls(*json.loads(line))


def look_around() -> Iterator[Finding]:
    """With the settings that travelled here."""
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
    from weibo_crawler.fetch.opening import described_egresses
    from weibo_crawler.store.hbase import check as hbase_check
    from weibo_crawler.store.mysql.check import MysqlCheck

    settings = config.load()
    sql = MysqlCheck(settings.store.users, settings.store.read_password())
    yield "node sql", sql.server
    yield "node clock", lambda: f"{sql.clock()} from the database's"
    yield "node hbase", partial(hbase_check.protocol, settings.store.tables)
    yield "node egress", lambda: described_egresses(settings)


def _judged(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, check())
    except CrawlerError as error:
        return Finding(name, str(error), error.exit_code)
