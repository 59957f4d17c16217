"""The ways out: the direct connection, or a proxy.

A proxy's credentials live in `Egress.proxy_url` only: its name, which is what counters, errors and
logs show, is host:port, and its repr leaves the address out.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Egress:
    """One way out. name: "direct", or host:port of a proxy; proxy_url: its whole address."""

    name: str
    proxy_url: str | None = field(default=None, repr=False)


DIRECT = Egress("direct")
