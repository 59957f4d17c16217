"""What can be asked of the simulator. Importing this starts nothing.

See `arguments` for the command line.
"""

import ipaddress
import math
from dataclasses import dataclass

from weibo_crawler.errors import BadUsage
from weibo_crawler.simulator.company import COMPANIES
from weibo_crawler.simulator.faults import parse_faults
from weibo_crawler.simulator.limits import parse_rate
from weibo_crawler.simulator.proxies import MOST_PROXIES, parse_mix

GUEST_YEARS = ("open", "2020", "2023", "2026")
DATES = ("rfc", "relative")
PAGING = ("page", "since_id")
NUMBERS = ("strings", "ints")


@dataclass(frozen=True, slots=True)
class SimulatorOptions:
    """Every knob; the help texts of `arguments` say what each means. BadUsage if one is wrong.

    port 0 is any free one. Times are seconds since the epoch. max_depth None: no limit.
    truth_seeds empty: the world's own. The files of `_out`: None for none.
    """

    host: str = "127.0.0.1"
    port: int = 0
    seed: int = 1
    users: int = 3000
    mean_posts: float = 20.0
    laws: int | None = None
    describe: bool = False
    epoch: int = 1_793_462_400  # 2026-11-01 00:00 on the site's clock
    days_later: float = 0.0
    edited_per_day: float = 0.0
    deleted_per_day: float = 0.0
    inflate_fans: float = 1.0
    company: str = "near"
    guests: str = "open"
    fans_walled: bool = False
    session_requests: int = 0
    session_s: float = 0.0
    rate_limit: str = ""
    ban_s: float = 60.0
    soft_share: float = 0.2
    retry_after: bool = False
    dates: str = "rfc"
    paging: str = "page"
    numbers: str = "strings"
    faults: str = ""
    max_consecutive: int = 2
    slow_s: float = 2.0
    gzip: bool = False
    proxies: int = 0
    proxy_mix: str = "good=1"
    proxy_socks: float = 0.0
    proxy_login: str = ""
    proxy_port: int = 0
    flap_s: float = 20.0
    proxies_out: str | None = None
    warm: bool = False
    truth_out: str | None = None
    truth_seeds: tuple[int, ...] = ()
    min_fans: int = 10
    max_depth: int | None = None
    served_out: str | None = None

    def __post_init__(self) -> None:
        if not _is_loopback(self.host):
            raise BadUsage(
                f"--host: {self.host!r} is no loopback address; the simulator is for this "
                "machine only, use 127.0.0.1"
            )
        for name, known in _CHOICES.items():
            if (given := getattr(self, name)) not in known:
                raise BadUsage(f"{flag(name)}: {given!r} is not known; use {', '.join(known)}")
        for name, least, most in _RANGES:
            if (number := getattr(self, name)) is not None and not least <= number <= most:
                raise BadUsage(f"{flag(name)}: {number} does not lie in {least} to {most}")
        if self.describe and self.laws is None:
            raise BadUsage("--describe: give the laws to describe: --laws SEED")
        parse_faults(self.faults)
        parse_rate(self.rate_limit)
        parse_mix(self.proxy_mix)
        if self.proxy_login and not all(self.proxy_login.partition(":")):
            raise BadUsage("--proxy-login: write USER:PASSWORD")
        if self.proxies and not self.host.startswith("127."):
            raise BadUsage("--proxies: they reach only a --host of IPv4, such as 127.0.0.1")


_CHOICES = {
    "company": COMPANIES,
    "guests": GUEST_YEARS,
    "dates": DATES,
    "paging": PAGING,
    "numbers": NUMBERS,
}
_RANGES = (
    ("port", 0, 65_535),
    ("laws", 0, math.inf),
    ("session_requests", 0, math.inf),
    ("session_s", 0, math.inf),
    ("ban_s", 0, math.inf),
    ("soft_share", 0, 1),
    ("max_consecutive", 0, math.inf),
    ("slow_s", 0, math.inf),
    ("min_fans", 0, math.inf),
    ("max_depth", 0, math.inf),
    ("proxies", 0, MOST_PROXIES),
    ("proxy_socks", 0, 1),
    ("proxy_port", 0, 65_535),
    ("flap_s", 0.01, math.inf),
)


def flag(name: str) -> str:
    """How the command line calls an option."""
    return "--" + name.replace("_", "-")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
