"""How the egresses of a ring stand, as it keeps them."""

from typing import NamedTuple

from weibo_crawler.fetch.pool.ring import Ring
from weibo_crawler.records import Health


class Standing(NamedTuple):
    """rate: requests per second, 0 = no limit; latency_s, success (a share): of late."""

    name: str
    health: Health
    rate: float
    latency_s: float
    success: float


def standings(ring: Ring) -> list[Standing]:
    """All egresses in the order they came."""
    return [
        Standing(s.egress.name, s.health, s.rate, s.latency_s, s.success)
        for s in ring._slots.values()
    ]
