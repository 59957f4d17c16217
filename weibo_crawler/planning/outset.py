"""`plan --users N --fresh 24h`: proxies, maps, disk and regions of a crawl of N users, each
visited as often as that. Pure.

What a crawl at hand has measured is taken from it; else what is published stands for it.
"""

from math import ceil
from typing import Any, NamedTuple

from weibo_crawler.analysis.numbers import duration, grouped, percent, size

_DAY_S = 86_400
_USED = 0.97  # of what egresses allow: docs/benchmarks.md, "The budget of many proxies"
_ANSWER_S = 0.5  # of a site that is far away; a map waits for as many answers as it has users
_A_MAP = 400.0  # requests a second that one process reads and stores: docs/benchmarks.md
_REGION = 10 * 10**9  # bytes: hbase.hregion.max.filesize
_REGIONS = 16  # at creation (conf/hbase_schema.rb)
_PAGE = 10  # posts of page 1, all that a guest of 2026 is shown


class Known(NamedTuple):
    """A figure, and where it comes from."""

    value: float
    why: str


# docs/benchmarks.md, "Requests sent over requests needed", and docs/cluster.md
FIND = Known(3.84, "assumed: a whole harvest of a foreign world (docs/benchmarks.md)")
FIRST = Known(3.47, "assumed: first visits in a foreign world (docs/benchmarks.md)")
AGAIN = Known(1.01, "assumed: a refresh in a foreign world (docs/benchmarks.md)")
BYTES_A_USER = Known(900.0, "assumed: userlist and lists in SQLite (docs/benchmarks.md)")
BYTES_A_POST = {
    "hbase": Known(300.0, "assumed: in HBase with GZ (docs/cluster.md)"),
    "sqlite": Known(1750.0, "assumed: in SQLite (docs/benchmarks.md)"),
}


class Outset(NamedTuple):
    """users are to be found, and visited once in fresh_s seconds. rate: requests a second of an
    egress. find, first, again: requests to find a user, of a first and of a later visit. held:
    posts of a first visit, a_day: new posts a day of a user; None: nobody knows, and a page of ten
    is the most that a visit brings. in_flight: users that a map visits at once, 0 = as many as its
    egresses keep busy."""

    users: int
    fresh_s: float
    rate: float
    in_flight: int
    find: Known = FIND
    first: Known = FIRST
    again: Known = AGAIN
    held: Known | None = None
    a_day: Known | None = None
    bytes_a_user: Known = BYTES_A_USER
    bytes_a_post: Known = BYTES_A_POST["sqlite"]
    is_hbase: bool = False


class Needs(NamedTuple):
    """per_s: requests a second that keep all users fresh. finding_s, first_s: how long finding
    them and the first visits take by so many proxies; None where nothing limits them. posts,
    posts_a_day: rows, at most where `Outset` does not know them. regions: after a year."""

    per_s: float
    proxies: int | None
    maps: int
    finding_s: float | None
    first_s: float | None
    posts: float
    posts_a_day: float
    disk: float
    disk_a_day: float
    regions: int | None


def needs(crawl: Outset) -> Needs:
    """What such a crawl needs."""
    visits_a_day = crawl.users * _DAY_S / crawl.fresh_s
    per_s = visits_a_day * crawl.again.value / _DAY_S
    proxies = ceil(per_s / (crawl.rate * _USED)) if crawl.rate else None
    together = proxies * crawl.rate * _USED if proxies is not None else 0.0
    of_a_map = min(_A_MAP, crawl.in_flight / _ANSWER_S) if crawl.in_flight else _A_MAP
    maps = max(1, ceil(per_s / of_a_map))
    posts = crawl.users * (crawl.held.value if crawl.held else _PAGE)
    new = crawl.users * crawl.a_day.value if crawl.a_day else visits_a_day * _PAGE
    disk = posts * crawl.bytes_a_post.value + crawl.users * crawl.bytes_a_user.value
    a_day = new * crawl.bytes_a_post.value
    year = posts * crawl.bytes_a_post.value + 365 * a_day
    return Needs(
        per_s=per_s,
        proxies=proxies,
        maps=maps if proxies is None else min(maps, proxies),
        finding_s=crawl.users * crawl.find.value / together if together else None,
        first_s=crawl.users * crawl.first.value / together if together else None,
        posts=posts,
        posts_a_day=new,
        disk=disk,
        disk_a_day=a_day,
        regions=max(_REGIONS, ceil(year / _REGION)) if crawl.is_hbase else None,
    )


def lines(crawl: Outset) -> list[str]:
    """For people."""
    need = needs(crawl)
    fresh = duration(crawl.fresh_s)
    out = [
        f"{crawl.users:,} users, each visited every {fresh}: {need.per_s:.3g} requests/s "
        f"({crawl.again.value:.2f} a visit, {crawl.again.why})"
    ]
    if need.proxies is None:
        out.append("  proxies  no limit of requests (a loopback site)")
    else:
        out.append(
            f"  proxies  {need.proxies:,} that work, of {crawl.rate:.3g} requests/s each "
            f"(pace.requests_per_second), {percent(_USED)} of that used"
        )
    how = (
        f"each with {crawl.in_flight:,} users at once (posts.users_in_flight; answers within "
        f"{_ANSWER_S} s assumed)"
        if crawl.in_flight
        else f"each with as many users at once as its proxies need, {_A_MAP:,} requests/s at most"
    )
    out.append(f"  maps     {need.maps:,}, {how}")
    for what, span_s, known in (
        ("find     ", need.finding_s, crawl.find),
        ("first    ", need.first_s, crawl.first),
    ):
        took = "as fast as it goes" if span_s is None else duration(span_s)
        requests = grouped(crawl.users * known.value)
        out.append(f"  {what}{took}: {requests} requests, {known.value:.2f} a user ({known.why})")
    most = "" if crawl.held else "at most "
    why = crawl.held.why if crawl.held else f"page 1 shows {_PAGE}; more is not known yet"
    out.append(
        f"  disk     {most}{size(need.disk)} after the first visits, {grouped(need.posts)} posts "
        f"({why}); {crawl.bytes_a_post.value:,.0f} bytes a post ({crawl.bytes_a_post.why}), "
        f"{crawl.bytes_a_user.value:,.0f} a user ({crawl.bytes_a_user.why})"
    )
    most = "" if crawl.a_day else "at most "
    why = crawl.a_day.why if crawl.a_day else f"{_PAGE} a visit; more is not known yet"
    out.append(
        f"           {most}{size(need.disk_a_day)} more a day, {grouped(need.posts_a_day)} posts "
        f"({why})"
    )
    if need.regions is None:
        out.append("  regions  none: store.tables is no HBase")
    else:
        out.append(f"  regions  {most}{need.regions:,} after a year, of {size(_REGION)} each")
    if crawl.a_day and crawl.a_day.value * crawl.fresh_s / _DAY_S > _PAGE:
        out.append("  a visit shows ten posts, and more are written meanwhile: visit more often")
    return out


def as_dict(crawl: Outset) -> dict[str, Any]:
    """For --json."""
    parts = crawl._asdict().items()
    known = {name: part._asdict() for name, part in parts if isinstance(part, Known)}
    return needs(crawl)._asdict() | {"users": crawl.users, "fresh_s": crawl.fresh_s} | known
