"""Which egresses there are, by the settings: direct ones, a file of proxies, an address that
answers with a list of them. Read at the start, and again while a run goes on."""

import logging
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from weibo_crawler import config
from weibo_crawler.errors import BadConfig
from weibo_crawler.fetch.egress import DIRECT, Egress, bound
from weibo_crawler.fetch.pool.proxy_sources import File, Web

_log = logging.getLogger(__name__)


class Roster:
    """The egresses that the settings name; blocking calls, one at a time.

    An address that stands twice is one egress; two accounts at one gateway are two, the second
    named `host:port#2`. An address keeps its name as long as it is listed, wherever it stands; one
    that comes as another goes at the same host:port (a new password) takes its name. Of egress.bind
    those are direct egresses that are addresses of this machine, so one list serves many machines.
    A list that cannot be read, or names nobody, leaves what was known before, and is logged once.
    """

    def __init__(self, settings: config.Egress, fetch: config.Fetch) -> None:
        self._settings = settings
        self._direct: list[Egress] = []
        self._sources: list[File | Web] = []
        if settings.proxies_file is not None:
            self._sources.append(File(settings.proxies_file))
        if settings.proxies_url is not None:
            self._sources.append(Web(settings.proxies_url, fetch))
        self._names: dict[str, str] = {}  # proxy address -> name
        self._troubles: dict[str, str] = {}  # source -> what was last said of it

    @property
    def can_change(self) -> bool:
        """Whether there is anything to read again."""
        return bool(self._sources)

    def load(self) -> list[Egress]:
        """Read everything. Errors: BadConfig for a file that is wrong, with its line and never the
        line's text, for an address that gives no list where there is no other way out, where
        nothing is named at all, and where no address of egress.bind is of this machine."""
        if self._settings.use_direct:
            self._direct = direct_egresses(self._settings.bind)
        failure: BadConfig | None = None
        for source in self._sources:
            try:
                source.read()
            except BadConfig as error:
                if isinstance(source, File):
                    raise
                failure = error
        egresses = self._direct + self._named()
        if not egresses:
            raise failure or BadConfig(
                f"egress.proxies_file: {self._settings.proxies_file} names no proxy; "
                "add one address a line, or set egress.direct = true"
            )
        if failure is not None:
            self._say("egress.proxies_url", f"{failure}; going on without it")
        return egresses

    def reload(self) -> list[Egress] | None:
        """Read again what changed; None: all is as before."""
        is_news = False
        for source in self._sources:
            try:
                is_news = source.read() or is_news
            except BadConfig as error:
                known = len(source.addresses)
                self._say(source.setting, f"{error}; going on with the {known:,} known before")
            else:
                self._troubles.pop(source.setting, None)
        return self._direct + self._named() if is_news else None

    def _say(self, setting: str, text: str) -> None:
        if self._troubles.get(setting) != text:
            self._troubles[setting] = text
            _log.warning("%s", text)

    def _named(self) -> list[Egress]:
        listed = {a.url: a.place for source in self._sources for a in source.addresses}
        names = {url: self._names[url] for url in listed if url in self._names}
        taken, numbers = set(names.values()), dict.fromkeys(listed.values(), 0)
        for url, place in listed.items():
            while url not in names:
                numbers[place] += 1
                name = place if numbers[place] == 1 else f"{place}#{numbers[place]}"
                if name not in taken:
                    names[url] = name
        self._names = names
        return [Egress(names[url], url) for url in listed]


def direct_egresses(bind: Iterable[str]) -> list[Egress]:
    """One for each of these addresses that this machine has; none named: one from any. BadConfig
    where it has none of them."""
    addresses = [ip_address(text) for text in bind]
    if not addresses:
        return [DIRECT]
    ours = [bound(address) for address in addresses if _is_ours(address)]
    if not ours:
        raise BadConfig(
            f"egress.bind: this machine has none of {', '.join(map(str, addresses))}: name an "
            "address of its own, in WEIBO_EGRESS__BIND where the settings come from another machine"
        )
    return ours


def _is_ours(address: IPv4Address | IPv6Address) -> bool:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def differences(
    before: Iterable[Egress], after: Iterable[Egress]
) -> tuple[list[Egress], list[str], list[Egress]]:
    """The egresses that joined, the names that left, and those whose address changed."""
    old, new = {e.name: e for e in before}, {e.name: e for e in after}
    joined = [egress for name, egress in new.items() if name not in old]
    moved = [e for name, e in new.items() if name in old and old[name] != e]
    return joined, [name for name in old if name not in new], moved
