"""The `Site` protocol for the toy. Pure."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from weibo_crawler.config import Settings
from weibo_crawler.errors import BadSeed
from weibo_crawler.records import (
    TEXT_ID,
    Edge,
    FanPage,
    Id,
    Kind,
    Media,
    Page,
    Post,
    PostPage,
    Reading,
    Request,
    Seed,
    User,
    Verdict,
)
from weibo_crawler.sites import Site

HOST = "toy.example"
_OF_LISTS = (Kind.FOLLOWS, Kind.POSTS)


def signature(path: str, token: str, minute: int) -> str:
    """What the server wants to see beside a request."""
    return hashlib.sha256(f"{path} {token} {minute}".encode()).hexdigest()


class Toy:
    title = "Toy"
    clock = UTC
    ids = str
    posts_a_page = 3
    exact_below = float("inf")
    kinds = frozenset({Kind.PROFILE, Kind.FOLLOWS, Kind.POSTS, Kind.SESSION})
    edges = (Edge.FOLLOWS,)

    def __init__(self, base_url: str) -> None:
        self._base = base_url

    @property
    def addresses(self) -> tuple[str, ...]:
        return (self._base,)

    def seed(self, text: str, where: str) -> Seed:
        uid = text.removeprefix(f"https://{HOST}/@")
        if not TEXT_ID.fullmatch(uid) or "/" in uid:
            raise BadSeed(f"{where}: {text!r} is nobody; such as ann.b or https://{HOST}/@ann.b")
        return Seed(uid, None, where)

    def home(self, uid: Id) -> str:
        return f"https://{HOST}/@{uid}"

    def announced_pages(self, edge: Edge, announced: int) -> int:
        return 0

    def profile(self, uid: Id) -> Request:
        return self._get(Kind.PROFILE, uid, "", "")

    def edge(self, edge: Edge, uid: Id, cursor: str) -> Request:
        if edge is not Edge.FOLLOWS:
            raise ValueError(f"{edge} is no list of the site")
        return self._get(Kind.FOLLOWS, uid, "/following", cursor)

    def posts(self, uid: Id, cursor: str) -> Request:
        return self._get(Kind.POSTS, uid, "/posts", cursor)

    def full_text(self, uid: Id, mid: Id) -> tuple[Request, ...]:
        return ()

    def info(self, uid: Id) -> Request:
        raise ValueError("the site has no such page")

    def name(self, screen_name: str) -> Request:
        raise ValueError("the site has no such page")

    def post(self, mid: Id) -> tuple[Request, ...]:
        raise ValueError("the site has no such page")

    def echoes(self, kind: Kind, mid: Id, cursor: str = "") -> Request:
        raise ValueError("the site has no such page")

    def search(self, words: str, cursor: str) -> Request:
        raise ValueError("the site has no such page")

    def media(self, url: str) -> Media | None:
        return None

    def trial(self) -> Request:
        return self.profile("ann.b")

    def session(self, now: float, rng: Random) -> Request | None:
        return Request(Kind.SESSION, f"{self._base}/session", method="POST")

    def read_session(self, page: Page, asked: Request) -> Mapping[str, str] | None:
        return {"token": page.body.decode()} if page.status == 200 else None

    def session_headers(self, cookies: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        return (("Authorization", f"Bearer {cookies['token']}"),) if cookies else ()

    def sign(
        self, request: Request, headers: tuple[tuple[str, str], ...], now: float
    ) -> tuple[tuple[str, str], ...]:
        token = dict(headers).get("Authorization", "").removeprefix("Bearer ")
        parts = urlsplit(request.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        return (("X-Sign", signature(path, token, int(now // 60))),)

    def strangers(self, secret: bytes) -> Callable[[Request, Page], tuple[Request, Page]]:
        return lambda request, page: (request, page)  # nobody there is a person

    def read(self, request: Request, page: Page) -> Reading:
        if page.status == 401:
            return Reading(Verdict.LOGIN_WALL, why="401", is_of_session=True)
        if page.status == 404:
            return Reading(Verdict.GONE)
        if page.status != 200:
            return Reading(Verdict.SERVER_TROUBLE, why=str(page.status))
        try:
            said = msgspec.json.decode(page.body)
            return _listed(said, request) if request.kind in _OF_LISTS else _told(said)
        except msgspec.DecodeError:
            return Reading(Verdict.NOT_JSON)
        except (KeyError, TypeError, AttributeError) as error:
            return Reading(Verdict.DRIFTED, why=f"$: {error}")

    def _get(self, kind: Kind, uid: Id, what: str, cursor: str) -> Request:
        after = f"?after={quote(cursor, safe='')}" if cursor else ""
        return Request(kind, f"{self._base}/users/{uid}{what}{after}", uid=uid, cursor=cursor)


def _told(said: dict[str, Any]) -> Reading:
    return Reading(Verdict.OK, _user(said))


def _listed(said: dict[str, Any], request: Request) -> Reading:
    items, following = said["items"], said["next"]
    if not items and following is None:
        return Reading(Verdict.END if request.cursor else Verdict.EMPTY)
    if request.kind is Kind.FOLLOWS:
        users = tuple(map(_user, items))
        named = following is not None
        return Reading(Verdict.OK, FanPage(request.uid, users, following, is_next_named=named))
    posts = tuple(_post(item, request.uid) for item in items)
    return Reading(Verdict.OK, PostPage(request.uid, posts, following, profile=_user(said["by"])))


def _user(said: dict[str, Any]) -> User:
    return User(said["id"], said["name"], said["followers"], said["following"], said["posts"])


def _post(said: dict[str, Any], uid: Id) -> Post:
    return Post(said["id"], uid, said["at"], "second", said["text"], True, likes=said["likes"])


def open_site(settings: Settings) -> Site:
    """The entry point."""
    return Toy((settings.site.base_url or f"https://{HOST}").rstrip("/"))
