"""The seam: what any site must offer. Another site is another folder here and nothing else.

A site is pure: it builds requests and reads answers, it never fetches (law 1).
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

from weibo_crawler.records import Edge, Page, Reading, Request


class Site(Protocol):
    """Requests to make, and the reading of their answers."""

    def home(self, uid: int) -> str:
        """The address under which people know a user."""
        ...

    def announced_pages(self, edge: Edge, announced: int) -> int:
        """How many pages the list of `edge` should have for so many announced users; 0 for an edge
        that is read from posts."""
        ...

    def profile(self, uid: int) -> Request: ...

    def info(self, uid: int) -> Request:
        """The page of basic information of a user."""
        ...

    def edge(self, edge: Edge, uid: int, cursor: str) -> Request:
        """A page of the list of `edge`, fans or follows; cursor "" is the first page."""
        ...

    def posts(self, uid: int, cursor: str) -> Request:
        """A page of the timeline; cursor "" is the first page."""
        ...

    def full_text(self, uid: int, mid: int) -> tuple[Request, ...]:
        """The ways to the whole text of a long post, the best one first."""
        ...

    def post(self, mid: int) -> tuple[Request, ...]:
        """The ways to a whole post of which nobody knows whose it is, the best one first."""
        ...

    def name(self, screen_name: str) -> Request: ...

    def comments(self, mid: int) -> Request: ...

    def trial(self) -> Request:
        """A page that any guest is shown, to try an egress with."""
        ...

    def session(self, now: float, rng: Random) -> Request | None:
        """The request that opens a visitor session; None: this site needs none."""
        ...

    def read(self, request: Request, page: Page) -> Reading:
        """Judge and parse one answer. Total: any bytes give a Reading, never an exception."""
        ...

    def read_session(self, page: Page) -> Mapping[str, str] | None:
        """The cookies of a new visitor session; None: the site gave none."""
        ...

    def session_headers(self, cookies: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Headers that every request of a session carries beside its own, cookies included."""
        ...

    def strangers(self, secret: bytes) -> Callable[[Request, Page], tuple[Request, Page]]:
        """Who makes the same question and answer about invented people, consistently: for fixtures.
        secret: drawn for one recording, and forgotten."""
        ...
