"""What a run of `posts` came to: closing lines, figures, and whether it ends with an error."""

import time
from collections.abc import Iterator, Mapping

from weibo_crawler.analysis.completeness import Completeness, completeness, left_out
from weibo_crawler.analysis.numbers import percent, plural
from weibo_crawler.analysis.second_looks import looks_dict, looks_lines, second_looks
from weibo_crawler.cli.main import Done
from weibo_crawler.cli.show import grouped, seconds, verdicts
from weibo_crawler.config import Settings
from weibo_crawler.errors import SiteSaysNo
from weibo_crawler.home import Home
from weibo_crawler.posts.crawl import ELSEWHERE
from weibo_crawler.posts.stops import SINCE
from weibo_crawler.posts.workers import (
    BARE,
    FIRST,
    FIRST_FAILED,
    SILENT,
    fell_silent,
    shows_no_posts,
    too_many_failed,
    too_many_unreached,
    visited,
    why_failed,
)
from weibo_crawler.records import ECHO_LISTS

Counts = Mapping[str, int]  # of the run, by the names of `metrics`


def closed(
    home: Home,
    counters: dict[str, int],
    span_s: float,
    why: str = "",
    jobs: int | None = None,
    *,
    every: bool = False,
) -> Done:
    """What a run came to. why: what makes it end with SiteSaysNo, "" for nothing; jobs: how many
    there were, None: this one alone; every: as in `Job`."""
    held, looks = completeness(home.tables, time.time()), second_looks(home.users)
    of_posts = {kind: one for kind, one in looks.items() if kind.startswith("posts.")}
    lines = [
        *_brought(counters, held, span_s, jobs),
        *_followed(home, held),
        *_imported(counters, jobs),
        *_complete(held),
        *_beside(counters),
        *looks_lines(of_posts),
        *_left(held, every=every),
        *_failed(counters),
    ]
    get = counters.get
    data = {
        "users": get("users.input", 0),
        "existing": get("users.existing", 0),
        "failed": get("users.failed", 0),
        "unreached": get("users.unreached", 0),
        "new_posts": get("posts.new", 0),
        "edited_posts": get("posts.edited", 0),
        "gone_posts": get("posts.gone", 0),
        "stored_posts": held.stored,
        "share": held.share,
        "uncounted_users": held.uncounted,
        "cut_texts": held.cut_texts,
        "elsewhere": get(f"users.{ELSEWHERE}", 0),
        "second_looks": looks_dict(looks),
        "counters": counters,
        "jobs": 1 if jobs is None else jobs,
        "seconds": round(span_s, 3),
    }
    if why:
        no = SiteSaysNo("\n".join([*lines, why]))
        no.data = data
        raise no
    return Done("\n".join(lines), data)


def _brought(counters: Counts, held: Completeness, span_s: float, jobs: int | None) -> list[str]:
    """What was done, and what it brought."""
    get = counters.get
    total, existing = get("users.input", 0), get("users.existing", 0)
    users = f"{total:,} users ({existing:,} known, {total - existing:,} visited)"
    if jobs is not None:
        users = f"{plural(total, 'visit')} by {plural(jobs, 'job')}"
    restricted = held.restricted_texts
    return [
        f"posts: {users}, {grouped(get('posts.new', 0), 'no')} new posts of {held.stored:,} "
        f"stored, in {seconds(span_s)}",
        f"pages: {verdicts(dict(counters))}",
        f"long texts: {get('long_texts.completed', 0):,} completed, {held.cut_texts:,} still cut"
        + (f", {restricted:,} shown to others only" if restricted else ""),
    ]


def _followed(home: Home, held: Completeness) -> Iterator[str]:
    if held.visits_a_day:
        from weibo_crawler.cli.plans import follow

        yield follow(home, held.visits_a_day)


def _imported(counters: Counts, jobs: int | None) -> Iterator[str]:
    if not counters.get("users.input") and jobs is None:
        yield "nobody is imported: weibo-crawler import, and posts again"


def _complete(held: Completeness) -> Iterator[str]:
    """How much of what is announced is held."""
    if held.share is not None:
        yield (
            f"complete: {percent(held.share)} of the {held.announced:,} announced posts "
            f"are held{_because(held)}"
        )
    elif held.uncounted:
        yield f"complete: not known{_because(held)}"


def _because(held: Completeness) -> str:
    """What the share of the announced posts does not tell."""
    walled, bound = held.stopped.get("login_wall", 0), held.stopped.get(SINCE, 0)
    wall = f"{walled:,} users end at the login wall, guests may read no further" if walled else ""
    since = f"{bound:,} users end at a date (--since), older posts are left out on purpose"
    whys = (wall, since if bound else "", left_out(held))
    return "".join(f"; {why}" for why in whys if why)


def _beside(counters: Counts) -> Iterator[str]:
    """What else the run did."""
    get = counters.get
    if taken := get("pages.from_harvest"):
        yield f"{taken:,} pages were not asked for: the harvest had read them"
    yield from filter(None, (_below(counters, one.name) for one in ECHO_LISTS))
    if read := get("info.pages"):
        yield f"basic information: read of {read:,} users"
    if get("posts.edited") or get("posts.gone"):
        yield (
            f"changed: {get('posts.edited', 0):,} stored posts were edited, "
            f"{get('posts.gone', 0):,} are gone from the site; their texts are kept"
        )
    if elsewhere := get(f"users.{ELSEWHERE}", 0):
        yield f"{elsewhere:,} users were left to another run that is at work on them"


def _below(counters: Counts, name: str) -> str:
    """What lists under posts brought, and what lacks of them; "" where none was asked for."""
    stored, unreadable, read, cut, failed, walled = (
        counters.get(f"{name}.{what}", 0)
        for what in ("stored", "unreadable", "pages", "cut", "failed", "walled")
    )
    missing = [
        *([f"of {cut:,} of them a page failed"] if cut else []),
        *([f"{plural(failed, 'list')} failed"] if failed else []),
        *([f"{plural(walled, 'list')} guests are not shown"] if walled else []),
    ]
    if not (read or missing):
        return ""
    rest = f"; {', '.join(missing)}: a later visit asks again" if missing else ""
    odd = f", {unreadable:,} that could not be read" if unreadable else ""
    return f"{name}: {stored:,} stored{odd}, of {plural(read, 'post')}{rest}"


def _left(held: Completeness, *, every: bool) -> Iterator[str]:
    """What is missing, and what to do about it."""
    if held.unsure_users and not every:
        yield (
            f"{plural(held.unsure_users, 'user')} ended with fewer posts than announced: after "
            "a bad day of the site `posts --refresh --all` asks for them again, else the crawl "
            "comes back to each by the posting rate"
        )
    if held.gaps:
        yield f"{held.gaps:,} gaps between visits: `report --completeness` says more"
    if held.gone:
        yield f"{held.gone:,} users are gone from the site"
    if held.unreadable:
        yield (
            f"{held.unreadable:,} posts of {held.unreadable_users:,} users could not be "
            "read: their JSON is kept (table `drifted`), look for a newer version"
        )
    if held.partial:
        yield f"{held.partial:,} users have more pages: the same command goes on there"
    if held.empty:
        yield f"{held.empty:,} users show nothing: `posts` looks again another day"


def _failed(counters: Counts) -> Iterator[str]:
    if clamped := counters.get("egress.clamped", 0):
        yield (
            "an egress was to wait longer than pace and rests allow, as the users' database says "
            f"(did a clock jump?): it went sooner ({clamped:,} x)"
        )
    if failed := counters.get("users.failed", 0):
        yield f"{failed:,} users failed: the same command asks for them again"
    if unreached := counters.get("users.unreached", 0):
        yield (
            f"{unreached:,} users were not reached, no answer came{why_failed(counters)}: check "
            "site.base_url and the network, then run the same command again; nothing is lost"
        )


def left_early(counters: dict[str, int], most_share: float) -> str:
    """Why a run that some users were read in ends with SiteSaysNo all the same, "" where it does
    not: the site stopped answering before it came to the others."""
    if not too_many_unreached(counters, most_share):
        return ""
    missed = counters.get("users.unreached", 0)
    return f"the site stopped answering: {missed:,} of {visited(counters):,} users are left"


def nobody_read(home: Home, counters: dict[str, int]) -> str:
    """Why a run in which every visit failed ends with SiteSaysNo, as a harvest does of which nobody
    could be walked; "" where it does not: someone was read, or only such failed again as failed in
    runs before, while others are held (law 15)."""
    failed = counters.get("users.failed", 0)
    is_all = failed and failed + counters.get("users.unreached", 0) == visited(counters)
    if not is_all or home.settings.posts.max_failed_share == 1:
        return ""
    held = completeness(home.tables, time.time())
    if not counters.get(FIRST_FAILED) and held.failed < held.visited:
        return ""
    return (
        f"nobody could be read: {plural(failed, 'visit')} failed{why_failed(counters)}, and none "
        "did not; nobody was marked as gone or done by it: `doctor --site` says more"
    )


def site_says_no(counters: dict[str, int], settings: Settings) -> str:
    """Why these figures say that the site talks to nobody, "" where they do not."""
    get, visits = counters.get, visited(counters)
    if get("users.unreached") and get("users.unreached") == visits:
        return f"the site did not answer at all{why_failed(counters)}: stopped here"
    if fell_silent(counters, visits, settings.posts.max_failed_share):
        return (
            f"the site shows nothing: {get(SILENT, 0):,} visits found it silent to everybody; "
            "nobody was marked as gone or done by it: come back in an hour or more, then run the "
            "same command again"
        )
    if shows_no_posts(counters):
        bare, others = get(BARE, 0), get(FIRST, 0)
        return (
            f"the site shows no posts: at their first visit {bare:,} of {bare + others:,} users "
            "showed none of those that their profiles announce; nobody was marked as gone or done "
            "by it: come back in an hour or more, then run the same command again"
        )
    if too_many_failed(counters, settings.posts.max_failed_share):
        first, broken = get(FIRST, 0), get(FIRST_FAILED, 0)
        why = why_failed(counters)
        return f"{broken:,} of {first:,} users failed at their first visit{why}: stopped here"
    return ""
