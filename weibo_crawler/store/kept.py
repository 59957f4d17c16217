"""Pages of posts and comments that a harvest has read, as they wait for the visit of their user.
Pure."""

import zlib
from collections.abc import Iterable
from typing import NamedTuple

from weibo_crawler.records import Id, Page
from weibo_crawler.store.forgotten import Forgotten

HARVEST = "harvest"  # the egress of a page that no request of this stage brought
_LONGEST_URL = 512  # characters, as the column of MySQL
_FAST = 1  # zlib's level: 0.5 ms for 70 kB, which take 10 kB; a fifth less at the default


class KeptPage(NamedTuple):
    """An answer with content. fetched_at: seconds since the epoch; packed: its body."""

    url: str
    fetched_at: float
    packed: bytes

    def page(self) -> Page:
        """The answer as it came, without headers."""
        return Page(self.url, 200, (), zlib.decompress(self.packed), self.fetched_at, HARVEST)

    def names(self, forgotten: Forgotten) -> bool:
        """Whether it names somebody whom `forget` removed."""
        return bool(forgotten.hashes) and forgotten.is_named_in(
            self.url.encode() + b" " + zlib.decompress(self.packed)
        )


def pack(page: Page) -> KeptPage:
    return KeptPage(page.url, page.fetched_at, zlib.compress(page.body, _FAST))


def kept_rows(
    uid: Id, pages: Iterable[KeptPage], forgotten: Forgotten
) -> list[tuple[Id, str, float, bytes]]:
    """What is to be stored of these pages of one user: none of or about
    somebody forgotten."""
    if forgotten.has(uid):
        return []
    return [
        (uid, *page)
        for page in pages
        if len(page.url) <= _LONGEST_URL and not page.names(forgotten)
    ]
