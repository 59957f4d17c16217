"""Which site and which stores the settings name: opened here, for the command line and the jobs."""

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig, masked, needed
from weibo_crawler.posts.hdfs import open_hdfs
from weibo_crawler.records import Id
from weibo_crawler.sites import Site, open_site
from weibo_crawler.store import Tables, homes
from weibo_crawler.store.notes import SITE
from weibo_crawler.store.owners import new_owner
from weibo_crawler.store.sql.egresses import EgressLeases
from weibo_crawler.store.sql.visits import VisitClaims
from weibo_crawler.store.sql.walk import Frontier
from weibo_crawler.store.temporary import owned_folder

if TYPE_CHECKING:
    from weibo_crawler.archive import Archive

NO_OPTIONS: Mapping[str, bool | float] = MappingProxyType({})


class Home:
    """A context manager; each part is opened when first asked for, and closed with it. makes: the
    embedded stores that are made where there are none; of others NoStore is raised, so that a slip
    in an address leaves nothing behind. Tables that nobody has made for a store of users are empty
    ones: nobody was imported yet. waits: whether servers are waited for from the first connection
    on; a command that a user has just started says at once that one is away."""

    def __init__(
        self,
        settings: Settings,
        makes: Collection[str] = ("users", "tables"),
        *,
        waits: bool = False,
    ) -> None:
        self.settings = settings
        self._makes, self._waits = makes, waits
        self._archives: list[Archive] = []
        self._folders = ExitStack()

    @cached_property
    def site(self) -> Site:
        return open_site(self.settings)

    @cached_property
    def users(self) -> Frontier:
        is_made = "users" in self._makes
        return homes.open_users(
            self.settings.store, create=is_made, ids=self.site.ids, waits=self._waits
        )

    @cached_property
    def tables(self) -> Tables:
        store, is_made = self.settings.store, "tables" in self._makes
        url = store.tables
        if not is_made and self.is_there("users") and not self.is_there("tables"):
            folder = self._folders.enter_context(owned_folder("empty"))
            url, is_made = f"sqlite:///{folder}/tables.db", True
        return homes.open_tables(
            url,
            store.hbase_command,
            create=is_made,
            waits=self._waits,
            keep_versions=self.settings.posts.keep_versions,
        )

    @cached_property
    def leases(self) -> EgressLeases | None:
        """Where this process leases its egresses from, for one fetcher at a time; None: without a
        pace limit nobody shares them."""
        is_shared = self.settings.pace.requests_per_second > 0
        return homes.open_leases(self.settings.store, waits=self._waits) if is_shared else None

    def place(self, name: str) -> str:
        """Where the store "users" or "tables" is, for people: the file, or the masked address."""
        url: str = getattr(self.settings.store, name)
        file = homes.file_of(url)
        if file is None:
            return masked(url)
        return f"{file}" + ("" if file.exists() else " (not there yet)")

    def is_there(self, name: str) -> bool:
        """Whether an embedded store was made; of a server nobody asks here."""
        file = homes.file_of(getattr(self.settings.store, name))
        return file is None or file.exists()

    def claims(self, run_id: str) -> VisitClaims:
        """By which a process of this run shares the users with other runs."""
        return homes.open_claims(
            self.settings.store, new_owner(), run_id, ids=self.site.ids, waits=self._waits
        )

    def archive(
        self, stage: str, run_id: str, options: Mapping[str, bool | float] = NO_OPTIONS
    ) -> "Archive | None":
        """Where this process keeps the answers of one stage, closed with the home; None where
        archive.folder is unset. options: what a later `reparse` must know of the run. Errors:
        BadConfig, StoreError."""
        settings = self.settings.archive
        if settings.folder is None:
            return None
        with needed("archive.folder: needs warcio and zstandard", "archive"):
            from weibo_crawler.archive import open_archive

        def is_gone() -> Callable[[Id], bool] | None:
            forgotten = self.users.forgotten()
            return forgotten.has if forgotten.hashes else None

        put = None
        if "://" in settings.folder:
            hdfs, folder = open_hdfs(self.settings.hadoop), settings.folder.rstrip("/")
            hdfs.make_folder(folder)
            put = partial(hdfs.put_again, folder=folder)
        self._archives.append(
            open_archive(settings, stage, run_id, options=options, is_gone=is_gone, put=put)
        )
        return self._archives[-1]

    def bind_site(self) -> None:
        """Users of a simulated site and of the real one, or of two sites, do not go into one store:
        BadConfig.

        A walk at the wrong site would find everybody gone."""
        name = self.settings.site.name
        kind = "a simulated site" if name == "weibo" else f"a simulated site of {name}"
        host = urlsplit(self.site.addresses[0]).hostname or ""
        mine = kind if self.settings.site.is_loopback else host
        known = SITE.get(self.users)
        if known is None:
            SITE.put(self.users, mine)
        elif known != mine:
            raise BadConfig(
                f"{self.settings.store.users} holds users of {known}, and site.base_url names "
                f"{mine}: give other stores (store.users, store.tables), or the site's own address"
            )

    def __enter__(self) -> "Home":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close_archives()
        finally:
            self._close_stores()

    def close_archives(self) -> None:
        """Complete their files, and wait until each is where it is to go. Errors: StoreError."""
        while self._archives:
            self._archives.pop().close()

    def _close_stores(self) -> None:
        for name in ("leases", "users", "tables"):
            part = self.__dict__.pop(name, None)
            if part is not None:
                part.close()
        self._folders.close()


def new_run_id() -> str:
    """A name for one run; names sort by time."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + "-" + secrets.token_hex(2)
