"""What the stages ask for pages: a `Fetcher`, or who replays the answers that one got."""

from typing import NamedTuple, Protocol

from weibo_crawler.records import Expect, Page, Reading, Request
from weibo_crawler.samples import Samples


class Fetched(NamedTuple):
    """The answer of the site, read. page: None where no whole answer came (see reading.why)."""

    reading: Reading
    page: Page | None


class PageSource(Protocol):
    """Gives pages; see `Fetcher`, whose methods these are."""

    samples: Samples

    async def fetch(
        self,
        request: Request,
        *,
        expect: Expect = Expect.UNKNOWN,
        nth: int = 1,
        is_retry: bool = False,
        end: str = "",
        is_looked_later: bool = False,
    ) -> Fetched: ...

    def drain(self) -> None: ...

    def leave_walls(self) -> None: ...

    @property
    def is_talking(self) -> bool: ...
