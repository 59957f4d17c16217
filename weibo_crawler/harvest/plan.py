"""`harvest --plan`: how many requests and days the walk will take, before it starts."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from weibo_crawler.config import Settings
from weibo_crawler.records import Edge
from weibo_crawler.sites import Site


class Plan(NamedTuple):
    """An estimate. open_requests: to walk the lists that are queued now; requests: to reach
    max_users at best, every page showing only new users; rate: requests a second, 0 = no limit."""

    users: int
    open_users: int
    open_requests: int
    max_users: int
    requests: int
    rate: float
    egresses: int

    def lines(self) -> list[str]:
        """For people."""
        if self.rate:
            pace = f"{self.rate:.3g} requests/s on each of {self.egresses} egress(es)"
        else:
            pace = "no limit of requests (a loopback site)"
        return [
            f"users kept so far     {self.users:,}, of them {self.open_users:,} still to walk",
            f"pace                  {pace}",
            f"lists of these users  {self.open_requests:,} requests"
            f"{self._days(self.open_requests)}",
            f"to {self.max_users:,} users   at least {self.requests:,} requests"
            f"{self._days(self.requests)}, if every page showed only new users",
        ]

    def _days(self, requests: int) -> str:
        if not self.rate:
            return ""
        days = requests / (self.rate * self.egresses) / 86400
        return f" = {days:.1f} days" if days >= 0.1 else f" = {days * 1440:.0f} minutes"


def make_plan(
    settings: Settings, site: Site, users: int, open_fans: Iterable[tuple[int, int]], egresses: int
) -> Plan:
    """open_fans: for the entries to walk, pairs of (announced fans, how many users have them).

    A list costs its announced pages and one more that shows its end, asked twice (law 4).
    """
    open_users = open_requests = 0
    for fans, n in open_fans:
        open_users += n
        open_requests += n * (site.announced_pages(Edge.FANS, fans) + 2)
    missing = max(0, settings.harvest.max_users - users)
    return Plan(
        users=users,
        open_users=open_users,
        open_requests=open_requests,
        max_users=settings.harvest.max_users,
        requests=math.ceil(missing / _users_a_page(site)),
        rate=settings.pace.requests_per_second,
        egresses=egresses,
    )


def _users_a_page(site: Site) -> int:
    """The largest list that still fits on one page."""
    size = 1
    while site.announced_pages(Edge.FANS, size + 1) == 1:
        size += 1
    return size
