"""`harvest --plan`: how many requests and days the walk will take, before it starts."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from weibo_crawler.config import Harvest, Settings
from weibo_crawler.records import Edge
from weibo_crawler.sites import Site

_MANY = 10**9  # users: a list is as long as the site shows one


class Plan(NamedTuple):
    """An estimate. open_requests: to walk the lists that are queued now; requests: to reach
    max_users at best, every page showing only new users; rate: requests a second, 0 = no limit.

    by_edge: the open_requests by edge of harvest.edges, if_walled: those more where guests are not
    shown these lists; at most so many, but for fans, whose number is announced.
    """

    users: int
    open_users: int
    open_requests: int
    by_edge: dict[str, int]
    if_walled: dict[str, int]
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
        lines = [
            f"users kept so far     {self.users:,}, of them {self.open_users:,} still to walk",
            f"pace                  {pace}",
            f"lists of these users  {self.open_requests:,} requests"
            f"{self._days(self.open_requests)} ({_named(self.by_edge)})",
            f"to {self.max_users:,} users   at least {self.requests:,} requests"
            f"{self._days(self.requests)}, if every page showed only new users",
        ]
        if self.if_walled:
            more = sum(self.if_walled.values())
            lines.insert(
                3,
                f"where walled          at most {more:,} requests more{self._days(more)} "
                f"({_named(self.if_walled)})",
            )
        return lines

    def _days(self, requests: int) -> str:
        if not self.rate:
            return ""
        days = requests / (self.rate * self.egresses) / 86400
        return f" = {days:.1f} days" if days >= 0.1 else f" = {days * 1440:.0f} minutes"


def make_plan(
    settings: Settings,
    site: Site,
    users: int,
    open_fans: Iterable[tuple[int | None, int]],
    egresses: int,
) -> Plan:
    """open_fans: for the entries to walk, pairs of (announced fans, how many users have them); of
    seeds whose profile is not read yet they are not known, and count as none.

    A list costs its announced pages and one more that shows its end, asked twice (law 4).
    """
    harvest = settings.harvest
    open_users = fan_pages = 0
    for fans, n in open_fans:
        open_users += n
        fan_pages += n * (site.announced_pages(Edge.FANS, fans or 0) + 2)
    edges = (*harvest.edges, *(e for e in harvest.edges_if_walled if e not in harvest.edges))
    costs = {edge: open_users * n for edge, n in _most_requests(edges, harvest, site).items()}
    costs |= {Edge.FANS: fan_pages} if Edge.FANS in edges else {}
    by_edge = {str(edge): n for edge, n in costs.items() if edge in harvest.edges}
    missing = max(0, settings.harvest.max_users - users)
    return Plan(
        users=users,
        open_users=open_users,
        open_requests=sum(by_edge.values()),
        by_edge=by_edge,
        if_walled={str(edge): n for edge, n in costs.items() if edge not in harvest.edges},
        max_users=settings.harvest.max_users,
        requests=math.ceil(missing / _users_a_page(site)),
        rate=settings.pace.requests_per_second,
        egresses=egresses,
    )


def _most_requests(edges: Iterable[Edge], harvest: Harvest, site: Site) -> dict[Edge, int]:
    """Of one user, at most; the first edge that is read from its posts pays for their pages."""
    own = {
        Edge.FOLLOWS: site.announced_pages(Edge.FOLLOWS, _MANY) + 2,
        Edge.COMMENTS: harvest.comments_posts,
        Edge.MENTIONS: 2 * harvest.mentions_per_page * harvest.posts_pages,
    }
    costs, paid = {}, 0
    for edge in edges:
        pages = {Edge.REPOSTS: harvest.posts_pages, Edge.MENTIONS: harvest.posts_pages}
        pages[Edge.COMMENTS] = 1
        costs[edge] = own.get(edge, 0) + max(0, pages.get(edge, 0) - paid)
        paid = max(paid, pages.get(edge, 0))
    return costs


def _named(by_edge: dict[str, int]) -> str:
    return ", ".join(f"{edge} {n:,}" for edge, n in by_edge.items())


def _users_a_page(site: Site) -> int:
    """The largest list that still fits on one page."""
    size = 1
    while site.announced_pages(Edge.FANS, size + 1) == 1:
        size += 1
    return size
