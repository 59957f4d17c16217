"""The seam: what any site must offer. Another site is another folder here, or an installed package,
and nothing else.

A site is pure: it builds requests and reads answers, it never fetches (law 1).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import tzinfo
from importlib import import_module, metadata
from importlib.util import find_spec
from random import Random
from typing import Protocol

from weibo_crawler.config import Settings
from weibo_crawler.errors import BadConfig
from weibo_crawler.records import (
    OPTIONAL,
    Edge,
    Id,
    IdType,
    Kind,
    Media,
    Page,
    Reading,
    Request,
    Seed,
)

Headers = tuple[tuple[str, str], ...]
GROUP = "weibo_crawler.sites"  # the folders here, and the entry points of installed packages


class Site(Protocol):
    """What a site is, requests to make, and the reading of their answers."""

    @property
    def title(self) -> str:
        """Its name for people: Sina Weibo."""
        ...

    @property
    def clock(self) -> tzinfo:
        """By which it tells times, and its days begin."""
        ...

    @property
    def ids(self) -> IdType:
        """What its users are called by; see `records.Id`."""
        ...

    @property
    def posts_a_page(self) -> int:
        """How many posts a full page of a timeline shows."""
        ...

    @property
    def exact_below(self) -> float:
        """Smaller numbers of posts are told exactly, larger ones may be rounded."""
        ...

    @property
    def kinds(self) -> Collection[Kind]:
        """The pages that it has."""
        ...

    @property
    def edges(self) -> Collection[Edge]:
        """The ways that it has from one user to others."""
        ...

    @property
    def addresses(self) -> Sequence[str]:
        """Where it is, and where its sessions are opened, if elsewhere."""
        ...

    def seed(self, text: str, where: str) -> Seed:
        """Whom a word of a user names. where: for errors. Errors: BadSeed."""
        ...

    def home(self, uid: Id) -> str:
        """The address under which people know a user."""
        ...

    def announced_pages(self, edge: Edge, announced: int) -> int:
        """How many pages the list of `edge` should have for so many announced users; 0 for an edge
        that is read from posts."""
        ...

    def profile(self, uid: Id) -> Request: ...

    def info(self, uid: Id) -> Request:
        """The page of basic information of a user."""
        ...

    def edge(self, edge: Edge, uid: Id, cursor: str) -> Request:
        """A page of the list of `edge`, fans or follows; cursor "" is the first page."""
        ...

    def posts(self, uid: Id, cursor: str) -> Request:
        """A page of the timeline; cursor "" is the first page."""
        ...

    def full_text(self, uid: Id, mid: Id) -> tuple[Request, ...]:
        """The ways to the whole text of a long post, the best one first."""
        ...

    def post(self, mid: Id) -> tuple[Request, ...]:
        """The ways to a whole post of which nobody knows whose it is, the best one first."""
        ...

    def name(self, screen_name: str) -> Request: ...

    def echoes(self, kind: Kind, mid: Id, cursor: str = "") -> Request:
        """A page of the list under a post that this kind of request asks for (`EchoList`); cursor
        "" is the first page."""
        ...

    def search(self, words: str, cursor: str) -> Request:
        """A page of the posts with these words; `#…#` is a topic. cursor "" is the first page."""
        ...

    def media(self, url: str) -> Media | None:
        """What an address of a post's picture or video, or one that such an address leads to, is
        asked for by; None: it is not at a host of the site's, and nothing is sent there."""
        ...

    def trial(self) -> Request:
        """A page that any guest is shown, to try an egress with."""
        ...

    def session(self, now: float, rng: Random) -> Request | None:
        """The request that opens a visitor session; None: this site needs none."""
        ...

    def read(self, request: Request, page: Page) -> Reading:
        """Judge and parse one answer. Total: any bytes give a Reading, never an exception."""
        ...

    def sign(self, request: Request, headers: Headers, now: float) -> Headers:
        """What a request carries beside these headers because of what it asks for, and when: a
        signature. now: seconds since the epoch."""
        ...

    def read_session(self, page: Page, asked: Request) -> Mapping[str, str] | Request | None:
        """The cookies of a new visitor session; the request that is to follow, where the site opens
        one in several steps; None: the site gave none. asked: what the page answers."""
        ...

    def session_headers(self, cookies: Mapping[str, str]) -> Headers:
        """Headers that every request of a session carries beside its own, cookies included."""
        ...

    def strangers(self, secret: bytes) -> Callable[[Request, Page], tuple[Request, Page]]:
        """Who makes the same question and answer about invented people, consistently: for fixtures.
        secret: drawn for one recording, and forgotten."""
        ...


def open_site(settings: Settings) -> Site:
    """The site that site.name names. Errors: BadConfig where there is none, or where it lacks one
    of harvest.edges."""
    name = settings.site.name
    if find_spec(f"{GROUP}.{name}") is not None:
        make: Callable[[Settings], Site] = import_module(f"{GROUP}.{name}").open_site
    else:
        found = [*metadata.entry_points(group=GROUP, name=name)]
        if not found:
            raise BadConfig(f"site.name: there is no site {name}; known are: {', '.join(_known())}")
        make = found[0].load()
    site = make(settings)
    lacking = [edge for edge in settings.harvest.edges if edge not in site.edges]
    if lacking:
        raise BadConfig(
            f"harvest.edges: {site.title} has no {' and no '.join(lacking)}; name some of: "
            + ", ".join(sorted(site.edges))
        )
    for kind, name in OPTIONAL.items():
        if getattr(settings.posts, name) and kind not in site.kinds:
            raise BadConfig(f"posts.{name}: {site.title} has no such page: set it to 0")
    return site


def package_of(name: str) -> str | None:
    """The distribution that adds the site of this name; None: it is a folder here."""
    found = [*metadata.entry_points(group=GROUP, name=name)]
    return found[0].dist.name if found and found[0].dist is not None else None


def _known() -> list[str]:
    installed = {entry.name for entry in metadata.entry_points(group=GROUP)}
    return sorted({"weibo", *installed})
