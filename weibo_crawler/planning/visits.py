"""`posts --plan`: what the visits cost that the same command would make now. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import ceil, inf, sqrt
from typing import NamedTuple

from weibo_crawler.analysis.asked import Asked
from weibo_crawler.analysis.yields import each_again, follow_line, visits_a_day
from weibo_crawler.planning.plan import Pace, Part, Plan, Room, sessions, spoilt_lines, total
from weibo_crawler.records import ECHO_LISTS, OPTIONAL, Kind
from weibo_crawler.samples import Figures, looks_to_come
from weibo_crawler.store.rows.cells import Ledger

# kinds of looks whose answers are ends (posts/timeline.py)
_FIRST, _NAMED, _FULL = _ENDS = "posts.end", "posts.named", "posts.full"
_RESTRICTED = "texts.restricted"
# each is one post, by a way to its text
_MISSED = ("posts.missed", "posts.fallen", "posts.back")
_TEXTS = (Kind.EXTEND, Kind.SHOW, Kind.DETAIL)
_SORTS = ("first", "again")
_DAY_S = 86_400
_NOT_VISITED = "nobody was visited yet"
_CUT_SHORT = 0.5  # of a visit, that a cut one has seen, and has left


class Held(NamedTuple):
    """What the ledgers tell. first, again: users who would be visited now, who never were, and who
    were; begun: of the first, those of whom a part was read. visited: users with a complete visit;
    load, load2: sum and sum of squares of their pages and whole texts; stored: their posts; new:
    posts to be expected of those who are visited again; a_day: visits a day that following all
    users takes."""

    first: int = 0
    begun: int = 0
    again: int = 0
    visited: int = 0
    load: int = 0
    load2: int = 0
    stored: int = 0
    new: float = 0.0
    a_day: float = 0.0

    @property
    def users(self) -> int:
        return self.first + self.again


class Visits(NamedTuple):
    """What is known of the posts job. asked: all its runs; runs: how many mappers those had,
    last_runs: those of the last one; looks: as `second_looks`; optional: what visits ask for
    as a setting says so; kept, kept_profiles: of the users of a sort, of how many harvest has kept
    page 1, or the profile; is_walled: whether later pages are known to be closed; bytes_a_post:
    None where not measured."""

    held: Held
    asked: Asked
    runs: int
    last_runs: int
    looks: Mapping[str, Figures]
    optional: Collection[Kind]
    pace: Pace
    kept: Mapping[str, int] = {}
    kept_profiles: Mapping[str, int] = {}
    is_walled: bool = False
    bytes_a_post: float | None = None


def read_held(users: Iterable[tuple[Ledger | None, bool]], now: float) -> Held:
    """Sum up ledgers, each with whether its user would be visited now."""
    first = begun = again = visited = load = load2 = stored = 0
    new = a_day = 0.0
    for ledger, is_due in users:
        if ledger is None or (seen := ledger.told_at) is None:
            first += is_due
            begun += is_due and ledger is not None and ledger.pages > 0
            continue
        visited += 1
        load += ledger.pages + ledger.completed
        load2 += (ledger.pages + ledger.completed) ** 2
        stored += ledger.stored
        again += is_due
        if is_due:
            new += (ledger.posts_per_day or 0.0) * max(0.0, now - seen) / _DAY_S
        a_day += visits_a_day(ledger)
    return Held(first, begun, again, visited, load, load2, stored, new, a_day)


def plan_visits(visits: Visits) -> Plan:
    """The plan of the visits that are to be made now."""
    held, asked = visits.held, visits.asked
    parts = [*_first(visits), *_again(visits)]
    if parts:
        parts.append(sessions(asked, visits.runs, visits.last_runs, parts))
    requests = total(part.requests for part in parts)
    most = visits.pace.rate if visits.pace.setting else None
    later = follow_line(held.a_day, asked, most) if held.a_day else None
    a_day = held.a_day * each_again(asked)[0] if held.a_day else None
    return Plan(
        stage="posts",
        users=held.users,
        parts=tuple(part for part in parts if part.requests != 0),
        pace=visits.pace,
        rooms=(_room(visits),) if held.users else (),
        spread=_spread(visits) if requests else None,
        later=() if later is None else (later,),
        assumed=_assumed(visits),
        figures={"first": held.first, "again": held.again, "requests_a_day": a_day},
    )


def _ended(asked: Asked, sort: str) -> float:
    """How many visits the requests of a sort have paid for; a cut one counts in part."""
    begun, ended = asked[f"visits.{sort}.begun"], asked[f"visits.{sort}.ended"]
    return ended + _CUT_SHORT * max(0, begun - ended)


def _first(visits: Visits) -> Iterator[Part]:
    held = visits.held
    left = held.first - _CUT_SHORT * held.begun
    if not held.first:
        return
    if not visits.asked["visits.first.ended"]:
        below = (one.name for one in ECHO_LISTS if one.kind in visits.optional)
        for kind in ("profiles", "posts pages", "posts ends", "long texts", *below):
            yield Part(f"first visits, {kind}", None, _NOT_VISITED)
        return
    yield from _parts(visits, "first", left)


def _again(visits: Visits) -> Iterator[Part]:
    held, asked = visits.held, visits.asked
    if not held.again:
        return
    if asked["visits.again.ended"]:
        yield from _parts(visits, "again", held.again)
        return
    why = "assumed: page 1 of each tells what is new; nobody was visited twice so far"
    yield Part("later visits, posts pages", float(held.again), why)
    texts = sum(asked.of("first", kind).sent for kind in _TEXTS)
    if held.stored and texts:
        why = "assumed: as many a new post as at first visits, new ones by posting rates"
        yield Part("later visits, long texts", held.new * texts / held.stored, why)


def _parts(visits: Visits, sort: str, left: float) -> Iterator[Part]:
    """Each kind as often a visit as so far."""
    asked, n = visits.asked, _ended(visits.asked, sort)
    name = {"first": "first visits", "again": "later visits"}[sort]
    unwanted = {*_TEXTS, *(kind for kind in OPTIONAL if kind not in visits.optional)}
    whom = f"{asked[f'visits.{sort}.ended']:,} visits"
    for kind in asked.kinds(sort):
        tally = asked.of(sort, kind)
        if kind is not Kind.POSTS:
            if kind not in unwanted:
                sent = tally.sent / n * left
                if kind is Kind.PROFILE:
                    sent = _profiles(visits, sort, left / n)
                why = f"measured: {tally.sent:,} for {whom}"
                yield Part(f"{name}, {_NAMES.get(kind, kind)}", sent, why)
            continue
        pages = max(0.0, (tally.pages + tally.kept) / n * left - visits.kept.get(sort, 0))
        every = sum(asked.of(one, kind).ends for one in _SORTS)
        # behind a wall only page 1 tells an end, of those of whom none is kept
        most = left - visits.kept.get(sort, 0) if visits.is_walled else inf
        ends = _posts_ends(visits, left / n, tally.ends, every, most)
        why = f"measured: {tally.pages:,} for {whom}"
        if tally.kept or visits.kept.get(sort):
            why += f", {tally.kept:,} kept by harvest; {visits.kept.get(sort, 0):,} are kept now"
        yield Part(f"{name}, posts pages", pages * tally.factor, why)
        why = f"measured: {tally.ends:,} for {whom}"
        yield Part(f"{name}, posts ends", ends * tally.factor, why)
        walls = tally.walls * tally.factor / n * left
        why = f"measured: {tally.walls:,} for {whom}"
        if visits.is_walled:
            walls, why = min(walls, 1.0), "one an hour at most: all runs know that a wall is there"
        yield Part(f"{name}, walls", walls, why)
    if texts := sum(asked.of(sort, kind).sent for kind in _TEXTS):
        every = sum(asked.of(one, kind).sent for one in _SORTS for kind in _TEXTS)
        looks = {_RESTRICTED: _by_other_ways(visits), **dict.fromkeys(_MISSED, 1.0)}
        sent = _with_looks(visits, left / n, texts, every, (*looks,), looks)
        yield Part(f"{name}, long texts", sent, f"measured: {texts:,} for {whom}")
    for one in ECHO_LISTS:
        if one.kind in visits.optional and not asked.of(sort, one.kind).told:
            yield Part(f"{name}, {one.name}", None, f"no {one.name} were read yet")
    if Kind.INFO in visits.optional and sort == "first" and not asked.of(sort, Kind.INFO).told:
        yield Part(f"{name}, basic information", left, "one for each user (posts.info_days)")


def _posts_ends(visits: Visits, times: float, sent: int, every: int, most: float) -> float:
    """So many times the ends of a sort. A look behind a full timeline is an end of a page that was
    named, which is looked at again: it costs all of these requests, and they end with it."""
    named = visits.looks.get(_NAMED)
    full, first = (visits.looks.get(kind) for kind in (_FULL, _FIRST))
    if not named or not named.ends or not full or not full.looks:
        return _with_looks(visits, times, sent, every, _ENDS, most=most)
    behind = min(1.0, full.looks / named.ends)
    others = first.ends + first.looks if first else 0
    costs = {_FULL: behind * max(0, every - others) / full.looks}
    for kind in visits.looks:
        if kind.startswith(_NAMED):
            costs[kind] = 1 - behind
    return _with_looks(visits, times, sent, every, _ENDS, costs, most)


def _profiles(visits: Visits, sort: str, times: float) -> float:
    """So many times the profiles of a sort, but for those that harvest has kept."""
    needed = {
        one: tally.sent + tally.kept
        for one in _SORTS
        for tally in [visits.asked.of(one, Kind.PROFILE)]
    }
    every = sum(needed.values())
    sent = _with_looks(visits, times, needed[sort], every, ("profile.",))
    return max(0.0, sent - visits.kept_profiles.get(sort, 0))


_NAMES = {
    Kind.PROFILE: "profiles",
    Kind.INFO: "basic information",
    **{one.kind: one.name for one in ECHO_LISTS},
}


def _with_looks(
    visits: Visits,
    times: float,
    sent: int,
    every: int,
    kinds: tuple[str, ...],
    costs: Mapping[str, float] = {},
    most: float = inf,
) -> float:
    """So many times the requests of a sort, but for those that are looks of these experiments,
    which are fewer once they show nothing more. every: requests of both sorts; costs: of one look,
    where it is not one request; most: how many there can be without the looks."""
    if not every:
        return sent * times
    share, looks, to_come = sent / every, 0.0, 0.0
    for kind, figures in visits.looks.items():
        if kind.startswith(kinds):
            cost = costs.get(kind, 1.0)
            looks += figures.looks * cost * share
            to_come += looks_to_come(kind, figures, figures.ends * share * times) * cost
    return min(most, max(0.0, sent - looks) * times) + to_come


def _by_other_ways(visits: Visits) -> float:
    """Requests that looking for a restricted text by other ways takes."""
    figures = visits.looks.get(_RESTRICTED)
    if figures is None or not figures.looks:
        return 0.0
    counts = (visits.asked[f"asked.{sort}.{kind}.restricted"] for sort in _SORTS for kind in _TEXTS)
    return max(0, sum(counts) - figures.ends) / figures.looks


def _spread(visits: Visits) -> float | None:
    """The share by which the sum may be wrong, at 95 %, as visits differ in length."""
    held = visits.held
    if held.visited < 2 or not held.load or not held.users:
        return None
    mean = held.load / held.visited
    variance = max(0.0, held.load2 / held.visited - mean**2)
    return 1.96 * sqrt(variance * (1 / held.visited + 1 / held.users)) / mean


def _room(visits: Visits) -> Room:
    held = visits.held
    each = held.stored / held.visited if held.visited else None
    if each is None or visits.bytes_a_post is None:
        return Room("posts", None, _NOT_VISITED)
    posts = held.first * each + held.new
    why = (
        f"measured: {visits.bytes_a_post:,.0f} bytes a post, {each:.1f} posts a user, by "
        f"{held.visited:,} users"
    )
    return Room(f"{ceil(posts):,} posts", posts * visits.bytes_a_post, why)


def _assumed(visits: Visits) -> tuple[str, ...]:
    said = ["users who are left are like those who were visited"]
    return (*said, *spoilt_lines(visits.asked.all(["first", "again"]).factor))
