"""Which site and which stores the settings name: opened here, for the command line and the jobs."""

import secrets
import time
from functools import cached_property

from weibo_crawler.config import Settings
from weibo_crawler.sites.weibo import Weibo
from weibo_crawler.store.sqlite_frontier import SqliteUsers
from weibo_crawler.store.sqlite_tables import SqliteTables


class Home:
    """A context manager; each part is opened when first asked for, and closed with it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def site(self) -> Weibo:
        site = self.settings.site
        return Weibo(site.base_url, site.visitor, site.user_agent)

    @cached_property
    def users(self) -> SqliteUsers:
        return SqliteUsers(self.settings.store.users)

    @cached_property
    def tables(self) -> SqliteTables:
        tables = SqliteTables(self.settings.store.tables)
        tables.create()
        return tables

    def __enter__(self) -> "Home":
        return self

    def __exit__(self, *_: object) -> None:
        for name in ("users", "tables"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()


def new_run_id() -> str:
    """A name for one run; names sort by time."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + "-" + secrets.token_hex(2)
