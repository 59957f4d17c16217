"""A user to visit."""

from typing import NamedTuple

from weibo_crawler.records import Id
from weibo_crawler.store.kept import KeptPage
from weibo_crawler.store.rows.cells import Ledger


class Due(NamedTuple):
    """A user to visit. is_named: the site has told the user's name, so it has a profile to show.
    is_suspect: the site had fallen silent when the last visit ended by an emptiness. kept: what a
    harvest has read of it."""

    uid: Id
    ledger: Ledger | None
    is_named: bool = False
    is_suspect: bool = False
    kept: tuple[KeptPage, ...] = ()
