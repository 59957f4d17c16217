"""Where lists of proxies come from: a file, or an address that answers with one."""

import asyncio
import base64
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

from weibo_crawler import config
from weibo_crawler.config import resolve
from weibo_crawler.errors import BadConfig, ListAway, TransportError
from weibo_crawler.fetch.clients.transport import Headers
from weibo_crawler.fetch.egress import DIRECT
from weibo_crawler.fetch.pool.proxy_list import Address, Listing, parse_listing
from weibo_crawler.records import Kind, Page, Request

_ADDRESS = (
    "not a proxy address; write http://user:password@host:port (or https://, socks5://, or "
    "host:port alone), a % of the password as %25; SOCKS takes no user without a password"
)


class File:
    """A file of proxies, read when it changed."""

    setting = "egress.proxies_file"

    def __init__(self, file: str) -> None:
        self._file = file
        self._path: Path = resolve(file)
        self._version: tuple[int, ...] = ()
        self.addresses: list[Address] = []

    def read(self) -> bool:
        """Whether it changed. Errors: ListAway, also for an empty list where there was one."""
        try:
            stat = self._path.stat()
            version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if version == self._version:
                return False
            text = self._path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise ListAway(f"{self.setting}: cannot read {self._file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ListAway(f"{self.setting}: {self._file} is not UTF-8 text") from None
        listing = parse_listing(text)
        if listing.bad:
            n = listing.bad[0]
            at = f"{self._file}:{n}" if listing.unit == "line" else f"{self._file}: entry {n}"
            raise ListAway(f"{at}: {_ADDRESS}")
        if self.addresses and not listing.addresses:
            raise ListAway(f"{self.setting}: {self._file} names no proxy any more")
        self._version, self.addresses = version, listing.addresses
        return True


class Web:
    """An address that answers with a list; its text may hold secrets, so only its host is shown."""

    setting = "egress.proxies_url"

    def __init__(self, url: str, fetch: config.Fetch) -> None:
        parts = urlsplit(url)
        account, _, host = parts.netloc.rpartition("@")
        self._request = Request(Kind.PROXIES, parts._replace(netloc=host, fragment="").geturl())
        self._headers: Headers = (("Accept", "application/json, text/plain, */*"),)
        if account:
            token = base64.b64encode(unquote(account).encode()).decode()
            self._headers += (("Authorization", f"Basic {token}"),)
        self._fetch, self._host = fetch, host
        self.addresses: list[Address] = []

    def read(self) -> bool:
        """Whether it changed. Errors: BadConfig. Entries that are no addresses are passed over."""
        listing = self._ask()
        if not listing.addresses:
            raise BadConfig(f"{self.setting}: what {self._host} answers names no proxy")
        is_news = listing.addresses != self.addresses
        self.addresses = listing.addresses
        return is_news

    def _ask(self) -> Listing:
        try:
            page = _run_aside(self._request, self._headers, self._fetch)
        except TransportError as error:
            raise BadConfig(
                f"{self.setting}: cannot read the list at {self._host}: {error}"
            ) from None
        if page.status != 200:
            raise BadConfig(
                f"{self.setting}: {self._host} answers with status {page.status}, no list"
            )
        try:
            return parse_listing(page.body.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise BadConfig(
                f"{self.setting}: what {self._host} answers is not UTF-8 text"
            ) from None


def _run_aside(request: Request, headers: Headers, fetch: config.Fetch) -> Page:
    """One request in a loop of its own thread, for the caller may be in a loop already.

    Errors: TransportError. It ends by the transport's own deadline.
    """
    from weibo_crawler.fetch.clients.requests_transport import RequestsTransport

    answers: list[Page | BaseException] = []

    async def ask() -> Page:
        transport = RequestsTransport(fetch)
        try:
            return await transport.send(request, headers, DIRECT)
        finally:
            await transport.close()

    def work() -> None:
        try:
            answers.append(asyncio.run(ask()))
        except BaseException as error:  # noqa: BLE001 - the caller gets it whole
            answers.append(error)

    thread = threading.Thread(target=work, name="proxies", daemon=True)
    thread.start()
    thread.join()
    if isinstance(answers[0], BaseException):
        raise answers[0]
    return answers[0]
