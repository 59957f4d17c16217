"""How large each measurement of politeness is."""

from typing import NamedTuple


class Sizes(NamedTuple):
    """seconds, real_s: of the virtual and of the real clock. hours, hour_proxies: of the long run
    by the virtual clock; hour_post_proxies: of that which stores. fault_users, edge_users: of the
    worlds. passes: of the posts job, at most."""

    runs: int = 3
    proxies: int = 200
    seconds: float = 600.0
    real_s: float = 60.0
    hours: int = 30
    hour_proxies: int = 20
    hour_post_proxies: int = 6
    fault_users: int = 1900
    passes: int = 3
    edge_users: int = 20_000
    edge_requests: int = 1000


QUICK = Sizes(
    runs=1,
    proxies=30,
    seconds=60.0,
    real_s=6.0,
    hours=4,
    hour_proxies=4,
    hour_post_proxies=1,
    fault_users=40,
    passes=1,
    edge_users=300,
    edge_requests=40,
)
