"""The ways out: the direct connection, from any local address or from a certain one, or a proxy.

A proxy's credentials live in `Egress.proxy_url` only: its name, which is what counters, errors and
logs show, is host:port, and its repr leaves the address out.
"""

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from weibo_crawler.records import DIRECT_LEASE


@dataclass(frozen=True, slots=True)
class Egress:
    """One way out. name: "direct", "direct@" and the local address that it goes from, or host:port
    of a proxy. proxy_url: the proxy's whole address. local: the address of this machine that its
    connections go from, None: whichever the system takes."""

    name: str
    proxy_url: str | None = field(default=None, repr=False)
    local: IPv4Address | IPv6Address | None = None

    def lease_name(self, public_address: str) -> str:
        """Its name among leases, which processes on many machines share. public_address: what that
        of the direct connection is called, where it is bound to no local address."""
        return f"{DIRECT_LEASE}{public_address}" if self == DIRECT else self.name


DIRECT = Egress("direct")


def bound(local: IPv4Address | IPv6Address) -> Egress:
    """The direct connection from a certain address of this machine."""
    return Egress(f"{DIRECT_LEASE}{local}", local=local)
