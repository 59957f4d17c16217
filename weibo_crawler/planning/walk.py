"""`harvest --plan`: what the lists cost whose owners are found, and what follows. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, sqrt
from typing import NamedTuple

from weibo_crawler.analysis.asked import Asked, Tally
from weibo_crawler.analysis.yields import yield_lines
from weibo_crawler.planning.lengths import Lengths
from weibo_crawler.planning.plan import Pace, Part, Plan, Room, sessions, spoilt_lines, total
from weibo_crawler.records import ECHO_LISTS, PEOPLE_LISTS, Edge, Kind
from weibo_crawler.samples import Figures, looks_to_come
from weibo_crawler.store import OpenEntries, ReadLists

_GATE = 9  # walls by which a run closes an edge (walls.py); then it asks once an hour
_ECHOES = {(one.edge, one.kind) for one in ECHO_LISTS}
_OF_ECHOES = {one.edge for one in ECHO_LISTS}
# docs/benchmarks.md, "Users found by each edge": users for each request by the default edges, in a
# simulated world, from three seeds
_PUBLISHED = {"where lists are shown": 6.48, "where lists are walled": 2.45}
_TELLING = 100  # requests of the last run that tell what a user costs now
_NEVER_READ = "no list was read to its end yet"


class Walk(NamedTuple):
    """What is known of a harvest. users: kept; walked: entries that are done with; asked: all runs
    of the stage, runs: how many processes those were; last: the counters of the last run; looks: as
    `second_looks`; announced: pages of a list by edge and number of users; bytes_a_user: None where
    not measured; topics: how many are in each state."""

    edges: Sequence[Edge]
    edges_if_walled: Sequence[Edge]
    max_users: int
    max_depth: int | None
    users: int
    walked: int
    entries: Sequence[OpenEntries]
    lists: Sequence[ReadLists]
    asked: Asked
    runs: int
    last: Asked
    looks: Mapping[str, Figures]
    announced: Callable[[Edge, int], int]
    pace: Pace
    bytes_a_user: float | None = None
    topics: Mapping[str, int] = {}
    topic_pages: int = 1


def plan_walk(walk: Walk) -> Plan:
    """The plan of the lists whose owners are found already."""
    entries = [one for one in walk.entries if walk.max_depth is None or one.depth < walk.max_depth]
    n = sum(one.entries for one in entries)
    walk = walk._replace(entries=entries)
    parts = [_profiles(walk), *_silent(walk), *_lists(walk)] if n else []
    parts += _topics(walk)
    if parts:
        parts.append(sessions(walk.asked, walk.runs, 1, parts))
    missing = max(0, walk.max_users - walk.users)
    rest, said = _rest(walk, n + _unread_topics(walk), missing)
    factor = walk.asked.all().factor
    return Plan(
        stage="harvest",
        users=n,
        parts=tuple(part for part in parts if part.requests != 0),
        pace=walk.pace,
        spread=_spread(walk, n, parts),
        rooms=(_room(walk, missing),),
        later=(said, *yield_lines(walk.asked)),
        assumed=_assumed(walk, factor),
        figures={"users_kept": walk.users, "missing": missing, "to_max_users": rest},
    )


def _profiles(walk: Walk) -> Part:
    unread = sum(one.entries for one in walk.entries if one.fans is None)
    factor = walk.asked.of(Edge.SEED, Kind.PROFILE).factor
    return Part("profiles of seeds", unread * factor, "one for each seed that was not read yet")


def _unread_topics(walk: Walk) -> int:
    n = sum(walk.topics.values()) - walk.topics.get("done", 0)
    return n if walk.max_depth != 0 else 0


def _topics(walk: Walk) -> Iterator[Part]:
    """Topics that are not read yet; whom they show nobody knows."""
    if n := _unread_topics(walk):
        requests = n * walk.topic_pages * walk.asked.of(Edge.TOPIC, Kind.SEARCH).factor
        why = f"harvest.topic_pages, at most, of {n:,} topics; who is found there comes later"
        yield Part("topics", requests, why)


def _lists(walk: Walk) -> Iterator[Part]:
    """All edges that are to be read."""
    for edge in (*walk.edges, *(e for e in walk.edges_if_walled if e not in walk.edges)):
        known = _lengths(walk, edge)
        n = _to_read(walk, edge, known)
        if n and edge in PEOPLE_LISTS:
            yield from _list_parts(walk, edge, known, n)
        elif n:
            yield from _other_parts(walk, edge, known, n)


def _lengths(walk: Walk, edge: Edge) -> Lengths:
    over = [one for one in walk.lists if one.edge == edge and one.is_over]
    return Lengths(over, lambda n: walk.announced(edge, n))


def _to_read(walk: Walk, edge: Edge, known: Lengths) -> float:
    """How many lists of an edge are still to be read: of all who are open; where it is read only
    where others are walled, of as large a share as before."""
    n = sum(one.entries for one in walk.entries)
    is_own = edge in walk.edges
    over = sum(one.lists for one in walk.lists if one.edge == edge and one.is_over and one.is_open)
    if is_own:
        return float(max(0, n - over))
    done = known.lists - over
    return max(0.0, n * min(1.0, done / walk.walked) - over) if walk.walked else 0.0


def _list_parts(walk: Walk, edge: Edge, known: Lengths, n: float) -> Iterator[Part]:
    """Of a list of people: its pages, its end, walls, and profiles of who has no count there."""
    asked = walk.asked.of(edge, PEOPLE_LISTS[edge])
    pages = _pages(walk, edge, known, n)
    why = f"measured: as {known.lists:,} lists beside what was announced"
    if not known.lists:
        why = _NEVER_READ if pages is None else "as announced, at most: no list has ended yet"
    expected = None if pages is None else pages * asked.factor
    yield Part(f"{edge}, pages", expected, why, asked.pages)
    if not known.lists:
        yield Part(f"{edge}, ends and second looks", None, _NEVER_READ)
        return
    ends = _ends(walk, edge, asked, known, n) * asked.factor
    why = f"measured: {asked.ends:,} for {known.lists:,} lists, {_looks_said(walk, edge)}"
    yield Part(f"{edge}, ends and second looks", ends, why, asked.ends)
    if asked.walls:
        walls = asked.walls / known.lists * n
        why = f"measured: {asked.walls:,} for {known.lists:,} lists"
        if asked.walls >= _GATE * walk.runs:
            last = walk.last.of(edge, PEOPLE_LISTS[edge]).walls
            walls = min(walls, asked.walls / walk.runs, last)
            why = f"measured: as in {walk.runs:,} runs and the last one, which know where it is"
        yield Part(f"{edge}, walls", walls, why)
    if pages:
        yield from _beside(walk, edge, pages)


def _beside(walk: Walk, edge: Edge, pages: float) -> Iterator[Part]:
    """What else is asked for a page of a list: profiles of whom it shows without a count. The last
    run tells most, as ever more of them are known."""
    asked = walk.last if walk.last.all([edge]).told >= _TELLING else walk.asked
    shown = asked.of(edge, PEOPLE_LISTS[edge]).pages
    for kind in asked.kinds(edge) if shown else ():
        if kind != PEOPLE_LISTS[edge]:
            sent = asked.of(edge, kind).sent
            why = f"measured: {sent:,} for {shown:,} pages; fewer as ever more are known"
            yield Part(f"{edge}, {_NAMES.get(kind, kind)}", sent / shown * pages, why, sent)


def _pages(walk: Walk, edge: Edge, known: Lengths, n: float) -> float | None:
    """Pages that are still to be read of the lists of an edge."""
    if edge is not Edge.FANS:  # nobody announces their length
        one = known.pages(None)
        return None if one is None else one * n
    # an entry that waits for a second look has read its pages
    fresh = [(one.fans, one.entries) for one in walk.entries if not one.is_doubted]
    doubted = sum(one.entries * (known.pages(one.fans) or 0) for one in walk.entries)
    doubted -= sum(m * (known.pages(fans) or 0) for fans, m in fresh)
    begun = [one for one in walk.lists if one.edge == edge and one.is_open]
    read = sum(
        one.lists * (known.pages(one.fans) or 0) if one.is_over else one.pages for one in begun
    )
    expected = 0.0
    for fans, m in fresh:
        pages = known.pages(fans)
        if pages is None:
            return None
        expected += m * pages
    return max(0.0, expected - max(0.0, read - doubted))


def _ends(walk: Walk, edge: Edge, asked: Tally, known: Lengths, n: float) -> float:
    """Requests that only tell that a list is over. Ends that contradict the announced count, and
    ends by what the pages say, are looked at until that is known to be futile."""
    doubted = sum(one.entries for one in walk.entries if one.is_doubted)
    fresh = [one for one in walk.entries if not one.is_doubted]
    likely = sum(one.entries * known.ends(one.fans) for one in fresh)
    ending = likely * n / sum(one.entries for one in walk.entries) if known.ended else 0.0
    looks, to_come = 0, 0.0
    for kind, figures in walk.looks.items():
        if kind.startswith(f"{edge}."):
            looks += figures.looks
            met = figures.ends / max(1, known.ended) * ending
            waiting = doubted if kind == f"{edge}.end" else 0
            to_come += looks_to_come(kind, figures, met + waiting)
    return max(0, asked.ends - looks) / max(1, known.ended) * ending + to_come


def _looks_said(walk: Walk, edge: Edge) -> str:
    figures = walk.looks.get(f"{edge}.end")
    if figures is None:
        return "none of which was in doubt"
    return f"of {figures.ends:,} in doubt {figures.looks:,} looked at again"


def _other_parts(walk: Walk, edge: Edge, known: Lengths, n: float) -> Iterator[Part]:
    """Of an edge that is read from posts."""
    if not known.lists:
        yield Part(f"{edge}", None, _NEVER_READ)
    for kind in walk.asked.kinds(edge) if known.lists else ():
        yield _other_part(walk, edge, kind, known, n)


def _other_part(walk: Walk, edge: Edge, kind: Kind, known: Lengths, n: float) -> Part:
    if (edge, kind) in _ECHOES:
        return _echoes_part(walk, edge, kind, known, n)
    sent = walk.asked.of(edge, kind).sent
    why = f"measured: {sent:,} for {known.lists:,} users"
    return Part(f"{edge}, {_NAMES.get(kind, kind)}", sent / known.lists * n, why, sent)


def _echoes_part(walk: Walk, edge: Edge, kind: Kind, known: Lengths, n: float) -> Part:
    """Of lists under posts. Of the entries that were put off it is known which posts are left;
    those that name none announce no posts."""
    begun = [one for one in walk.lists if one.edge == edge and one.is_open and not one.is_over]
    n_begun, left = sum(one.lists for one in begun), sum(one.left for one in begun)
    put_off = sum(one.entries for one in walk.entries if one.is_put_off)
    asked = walk.asked.of(edge, kind)
    users, fresh = known.lists + n_begun, max(0.0, n - max(n_begun, put_off))
    expected = left * asked.factor + (asked.sent + left) / users * fresh
    why = f"measured: {asked.sent:,} for {users:,} users"
    if left:
        why = f"{left:,} that were put off; others {why}"
    return Part(f"{edge}, {_NAMES[kind]}", expected, why, asked.sent)


def _silent(walk: Walk) -> Iterator[Part]:
    """Profiles of who was put off because no posts were announced."""
    put_off = sum(one.entries for one in walk.entries if one.is_put_off)
    edges = [edge for edge in (*walk.edges, *walk.edges_if_walled) if edge in _OF_ECHOES]
    for edge in edges[:1]:
        named = sum(one.lists for one in walk.lists if one.edge == edge and one.left)
        if put_off > named:
            n = (put_off - named) * walk.asked.of(edge, Kind.PROFILE).factor
            yield Part("profiles of users without posts", n, "one for each who was put off")


_NAMES = {
    Kind.PROFILE: "profiles",
    Kind.POSTS: "posts pages",
    Kind.NAME: "names",
    **{one.kind: one.name for one in ECHO_LISTS},
}
# parts of a list of people that may be next to nothing: what is asked of people who are new, who
# become fewer, and walls, which are as many as are under way when the first ones are met
_VAGUE = {f"{edge}, {name}" for edge in PEOPLE_LISTS for name in ("walls", *_NAMES.values())}


def _spread(walk: Walk, n: int, parts: Sequence[Part]) -> float | None:
    """The share by which the sum may be wrong, at 95 %: fan lists differ in length and in how they
    end (ends as a Poisson process), requests for other edges come as a Poisson process too, and
    some parts may be next to nothing. None where too little was measured."""
    requests, known = total(part.requests for part in parts), _lengths(walk, Edge.FANS)
    if not requests:
        return None
    vague = sum(part.requests or 0.0 for part in parts if part.kind in _VAGUE)
    sure = [part for part in parts if part.kind not in _VAGUE]
    fans = [part for part in sure if part.kind.startswith(f"{Edge.FANS}, ")]
    variance = sum(_by_chance(part) for part in sure if part not in fans)
    lengths = known.variance((one.fans, one.entries) for one in walk.entries)
    if lengths is not None:
        variance += lengths + _ends_by_chance(walk, n, known, fans)
    elif sum(part.requests or 0.0 for part in fans) >= requests / 2:
        return None
    return (1.96 * sqrt(variance) + vague) / requests or None


def _ends_by_chance(walk: Walk, n: int, known: Lengths, parts: Sequence[Part]) -> float:
    """The variance of the requests that only tell that a fan list is over. How many second looks
    there are is known as long as none has shown more (`looks_to_come`)."""
    figures = [one for kind, one in walk.looks.items() if kind.startswith(f"{Edge.FANS}.")]
    looks = sum(one.looks for one in figures)
    first = max(0, walk.asked.of(Edge.FANS, Kind.FANS).ends - looks) / known.lists
    expected = sum(part.requests or 0.0 for part in parts if part.kind.endswith("second looks"))
    is_vague = any(one.finds for one in figures)
    again = expected + (expected**2 / looks if is_vague and looks else 0.0)
    return first * (n + n * n / known.lists) + again


def _by_chance(part: Part) -> float:
    """The variance of a Poisson process whose rate is measured, by as much of it as that was."""
    expected = part.requests or 0.0
    return expected + expected**2 / part.measured if part.measured else 0.0


def _rest(walk: Walk, n: int, missing: int) -> tuple[float | None, str]:
    """Requests until max_users is reached, at least; and the words."""
    if not missing:
        return 0.0, f"to {walk.max_users:,} users: reached"
    if not n:
        said = "not to be reached from here: nobody is left to walk; give more seeds"
        return None, f"to {walk.max_users:,} users: {said}"
    if n == sum(one.entries for one in walk.entries if one.is_put_off):
        said = "hardly to be reached from here: only what promises little is left; give more seeds"
        return None, f"to {walk.max_users:,} users: {said}"
    if walk.max_depth is not None:
        said = "nobody knows how many users that are"
        return None, f"the walk ends at depth {walk.max_depth} (harvest.max_depth): {said}"
    for asked, when in ((walk.last, "in the last run"), (walk.asked, "so far")):
        sent, kept = asked.all().sent, asked["users.kept"]
        if sent >= _TELLING and kept:
            price = sent / kept
            return (
                missing * price,
                f"to {walk.max_users:,} users: at least {ceil(missing * price):,} requests, "
                f"at {price:.2f} requests a new user as {when}; a walk finds ever fewer, and who "
                "is there to be found nobody knows",
            )
    most = " to ".join(f"{ceil(missing / each):,}" for each in _PUBLISHED.values())
    return (
        None,
        f"to {walk.max_users:,} users: not known yet; in simulated worlds {most} requests, where "
        "lists are shown and where they are walled (docs/benchmarks.md)",
    )


def _room(walk: Walk, missing: int) -> Room:
    if walk.bytes_a_user is None:
        return Room("users to come", None, "no list was read yet")
    why = f"measured: {walk.bytes_a_user:,.0f} bytes a user, lists among them"
    most = ", at most" if walk.max_depth is not None else ""
    return Room(f"{missing:,} users more, to max_users{most}", missing * walk.bytes_a_user, why)


def _assumed(walk: Walk, factor: float) -> tuple[str, ...]:
    said = ["the lists that are left are like those that ended, beside what they announce"]
    more = [edge for edge in walk.edges_if_walled if edge not in walk.edges]
    if more and not any(one.is_over for one in walk.lists):
        others = ", ".join(more)
        said.append(f"guests are shown these lists; where they are not, also: {others}")
    return (*said, *spoilt_lines(factor))
