"""The site m.weibo.cn, as the rest of the program sees it."""

from collections.abc import Callable, Mapping
from datetime import timedelta, timezone
from random import Random
from urllib.parse import urlsplit

from weibo_crawler.config import Settings
from weibo_crawler.records import WAYS, Id, Media, Page, Reading, Request, Seed
from weibo_crawler.sites.weibo import reading, seeds, session
from weibo_crawler.sites.weibo.addresses import Addresses
from weibo_crawler.sites.weibo.media import read_media
from weibo_crawler.sites.weibo.strangers import HOSTS, Strangers

_LIVE = "https://m.weibo.cn"
_LIVE_VISITOR = "https://visitor.passport.weibo.cn/visitor/genvisitor2"

_EVERYBODY_KNOWS = 2803301701  # 人民日报, for years among the accounts with most fans
_HOST = "m.weibo.cn"


class Weibo(Addresses):
    """The `Site` protocol, which says what its methods do, for m.weibo.cn; its requests are those
    of `Addresses`.

    base_url: where the site is. visitor_url: what opens a visitor session, "" = none is needed.
    """

    title = "Sina Weibo"
    clock = timezone(timedelta(hours=8))
    ids = int
    posts_a_page = 10
    exact_below = 10_000  # then the site shows 1.2万
    kinds = frozenset(reading.SHAPES)
    edges = WAYS

    def __init__(self, base_url: str, visitor_url: str, user_agent: str) -> None:
        super().__init__(base_url.rstrip("/"))
        self._visitor_url, self._user_agent = visitor_url, user_agent

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where the site is, and what opens a session."""
        return (self.base, self._visitor_url) if self._visitor_url else (self.base,)

    def seed(self, text: str, where: str) -> Seed:
        """A uid, a profile address or a screen name. Errors: BadSeed."""
        return seeds.read_seed(text, where)

    def home(self, uid: Id) -> str:
        return f"{self.base}/u/{uid}"

    def read(self, request: Request, page: Page) -> Reading:
        return reading.read(request, page)

    def media(self, url: str) -> Media | None:
        """At another address than the live site's its own host holds them, and no other is asked:
        what is simulated names real ones."""
        own = None if self.base == _LIVE else urlsplit(self.base).netloc
        return read_media(url, f"{_LIVE}/", own)

    def trial(self) -> Request:
        """A page that any guest is shown, to try an egress with: a profile."""
        return self.profile(_EVERYBODY_KNOWS)

    def session(self, now: float, rng: Random) -> Request | None:
        if not self._visitor_url:
            return None
        return session.session_request(self._visitor_url, f"{self.base}/", now, rng)

    def sign(
        self, request: Request, headers: tuple[tuple[str, str], ...], now: float
    ) -> tuple[tuple[str, str], ...]:
        """Weibo's pages are asked for without a signature."""
        return ()

    def read_session(self, page: Page, asked: Request) -> Mapping[str, str] | Request | None:
        return session.read_session(page, asked, self._visitor_url, f"{self.base}/")

    def session_headers(self, cookies: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        return session.session_headers(self._user_agent, cookies)

    def strangers(self, secret: bytes) -> Callable[[Request, Page], tuple[Request, Page]]:
        own = (urlsplit(url).netloc for url in (self.base, self._visitor_url))
        hosts = {host: _HOST for host in own if host and not HOSTS.fullmatch(host)}
        return Strangers(secret, hosts).of


def open_site(settings: Settings) -> Weibo:
    """Weibo, where the settings say. A visitor session is opened at the live site's own address
    where no other is named."""
    site = settings.site
    base_url, visitor_url = site.base_url or _LIVE, site.visitor_url
    if visitor_url is None:
        visitor_url = _LIVE_VISITOR if base_url.rstrip("/") == _LIVE else ""
    return Weibo(base_url, visitor_url if settings.session.enabled else "", site.user_agent)
