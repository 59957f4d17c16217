"""The seam between the fetcher and an HTTP client."""

from typing import Protocol

from weibo_crawler.fetch.egress import Egress
from weibo_crawler.records import Page, Request

Headers = tuple[tuple[str, str], ...]

KEPT_HEADERS = ("content-type", "retry-after", "location", "date")  # and each set-cookie


class Transport(Protocol):
    """Sends one request by one egress, once: no redirect is followed, nothing is tried again."""

    name: str
    until: float  # by time.monotonic: from then on nothing may begin, the egresses are others'

    async def send(self, request: Request, headers: Headers, egress: Egress) -> Page:
        """The whole answer, decoded. headers: all of them; `request.headers` are not looked at.

        Errors: subclasses of TransportError and nothing else. Cancelling ends the exchange.
        """
        ...

    async def close(self) -> None:
        """End what is under way and free the sockets, without waiting for any of them."""
        ...
