"""The report: one HTML file with plots that answers "what do we hold, and how complete is it?"."""

from datetime import UTC, datetime
from pathlib import Path

from weibo_crawler.analysis import plots
from weibo_crawler.analysis.completeness import WHY, Completeness
from weibo_crawler.analysis.content_sections import NO_POSTS, Origin, content_sections
from weibo_crawler.analysis.figures import FANS_EDGES, SHARE_BINS, Figures, Stored, gather
from weibo_crawler.analysis.files import replacing
from weibo_crawler.analysis.keyfigures import key_figures
from weibo_crawler.analysis.numbers import minute, percent, plural, short
from weibo_crawler.analysis.page import Link, hint, key_table, lead, page, section, table
from weibo_crawler.analysis.plots import Bar
from weibo_crawler.analysis.userlists import Kept
from weibo_crawler.printable import printable
from weibo_crawler.records import FACTS, REFUSALS
from weibo_crawler.store.sql.walk import Frontier

_CUT_OFF = {  # why reading stopped short -> what is said of so many users
    "login_wall": "whom guests may read no further",
    "max_pages": "read as far as posts.max_pages",
    "since": "read back to a date on purpose",
    "too_many_pages": "whose timeline does not end",
}
_DEPTHS = 8  # areas that can be told apart; the last one holds all deeper users
_NO_USERS = "No users yet: run weibo-crawler seed, then weibo-crawler harvest."
_NO_VISITS = "Nobody was visited yet: run weibo-crawler import, then weibo-crawler posts."


_NOWHERE = Origin()


def write_report(
    users: Frontier,
    stored: Stored,
    path: Path,
    now: float,
    *,
    depths_are_bounds: str = "",
    origin: Origin = _NOWHERE,
    people: Kept | None = None,
) -> None:
    """Read the users once and write the report, whole or not at all.

    stored: what the tables hold, as of `now`, seconds since the epoch. depths_are_bounds: what the
    frontier says of its depths. people: as in `gather`. StoreError, StoreFull, BadUsage as
    files.replacing has them.
    """
    html = render(gather(users, stored, people), now, depths_are_bounds, origin)
    with replacing(path) as file:
        file.write(printable(html).encode(errors="replace"))


def render(
    figures: Figures, now: float, depths_are_bounds: str = "", origin: Origin = _NOWHERE
) -> str:
    """The page as text. now: seconds since the epoch."""
    return page(
        "Crawl report",
        f"As of {minute(now)}. Days of posts are the site's, UTC+8; all other times are UTC."
        + (f" {origin.name}" if origin.name else ""),
        [
            section("What is missing", "", lead(missing(figures.completeness))),
            section(
                "Key figures",
                "What is held, and what is not known.",
                key_table(key_figures(figures, depths_are_bounds)),
            ),
            _growth(figures),
            _depths(figures, depths_are_bounds),
            _fans(figures),
            _posts(figures),
            *content_sections(figures, origin),
            _verdicts(figures),
            _shares(figures),
            _stopped(figures),
        ],
    )


def _growth(figures: Figures) -> str:
    if not figures.users:
        return section("Users found, by time", "How the crawl grew.", hint(_NO_USERS))
    depths = sorted(figures.depths)
    groups = [(f"depth {depth}", depth, float(depth)) for depth in depths]
    if len(groups) > _DEPTHS:
        first = depths[_DEPTHS - 1]
        groups = [*groups[: _DEPTHS - 1], (f"depth {first} and deeper", first, float("inf"))]
    series = [(name, figures.growth.so_far(low, high)) for name, low, high in groups]
    return section(
        "Users found, by time",
        "All users kept so far, coloured by their distance from a seed; level stretches are "
        "pauses.",
        plots.areas("Users kept, by time and depth", _clock(figures.growth.times()), series),
        plots.legend([name for name, _ in series]),
    )


def _depths(figures: Figures, depths_are_bounds: str) -> str:
    title = "Users by depth"
    if not figures.users:
        return section(title, "How far from the seeds.", hint(_NO_USERS))
    explained = "How many users stand how far from a seed."
    if depths_are_bounds:
        explained += f" Depths are upper bounds: {depths_are_bounds}."
    data = [Bar(f"depth {depth}", n) for depth, n in figures.depths.items()]
    return section(title, explained, plots.rows(title, data))


def _fans(figures: Figures) -> str:
    title = "Fans of the users kept"
    if not any(figures.fans):
        return section(title, "How many fans they have.", hint(_NO_USERS))
    filled = [i for i, n in enumerate(figures.fans) if n]
    data = [Bar(short(FANS_EDGES[i]), figures.fans[i]) for i in range(filled[0], filled[-1] + 1)]
    top = (
        (
            Link(row.screen_name or str(row.uid), row.url),
            str(row.uid),
            f"{row.fans:,}",
            str(row.depth),
        )
        for row in figures.top
        if row.fans is not None
    )
    return section(
        title,
        "Each bar counts the users from the number under it up to the next one; the steps grow, "
        "because a few users have most of the fans. Below: the users with the most.",
        plots.bars(title, data),
        table(("screen name", "id", "fans", "depth"), top, (False, True, True, True)),
    )


def _posts(figures: Figures) -> str:
    unit, counts = figures.posts.periods()
    title = f"Posts by {unit}"
    if not counts:
        return section(title, "When the posts were written.", hint(NO_POSTS))
    explained = f"When the posts stored were written, by the {unit} of the site's clock."
    if figures.posts.undated:
        explained += f" {plural(figures.posts.undated, 'post')} of unknown time not shown."
    data = [Bar(label, n) for label, n in counts]
    return section(title, explained, plots.bars(title, data))


def missing(figures: Completeness) -> str:
    """One plain sentence: how much is held of what, and why the rest is not."""
    if not figures.visited:
        return "Nobody was visited yet, so nothing is known of posts."
    announce = "announces" if figures.visited == 1 else "announce"
    held = f"{plural(figures.visited, 'visited user')} {announce} "
    if figures.share is None:
        held += "no number of posts"
    else:
        posts = plural(figures.announced, "post")
        held += f"{posts}, of which {percent(figures.share)} is held"
    whys = [
        *((plural(figures.stopped.get(stop, 0), "user"), why) for stop, why in _CUT_OFF.items()),
        (plural(figures.unsure_users, "user"), "whose timeline shows far fewer than it announces"),
        (plural(figures.gap_users, "user"), "with gaps between two visits"),
        (plural(figures.partial + figures.failed, "user"), "to be read on"),
        (plural(figures.unvisited, "user"), "never visited"),
        (plural(figures.gone, "user"), "gone from the site"),
        (plural(figures.cut_texts, "text"), "still cut"),
        (plural(figures.unreadable, "post"), "that could not be read"),
    ]
    told = [f"{n} {why}" for n, why in whys if not n.startswith("0 ")]
    if told:
        return f"{held}; not complete: {'; '.join(told)}."
    if figures.share is not None and figures.share < 1:
        return f"{held}, which is all that the site shows of them."
    return f"{held}, and nothing is known to be missing."


def _verdicts(figures: Figures) -> str:
    title = "Pages by verdict"
    explained = (
        "What the site answered, over all runs: green is a fact and may be stored, amber a "
        "refusal, red trouble. Refused is never taken for empty."
    )
    if not figures.pages:
        return section(title, explained, hint("No page was asked for yet."))
    ordered = sorted(figures.pages.items(), key=lambda item: -item[1])
    data = [Bar(verdict.replace("_", " "), n, _colour(verdict)) for verdict, n in ordered]
    return section(title, explained, plots.rows(title, data))


def _colour(verdict: str) -> str:
    if verdict in FACTS:
        return "--good"
    return "--ask" if verdict in REFUSALS else "--bad"


def _shares(figures: Figures) -> str:
    title = "How complete each user is"
    explained = (
        "Users by the share of their announced posts that is held. Users who announce no post, "
        "or were never visited, are not in it."
    )
    if not any(figures.shares):
        return section(title, explained, hint(_NO_VISITS))
    data = [Bar(label, n) for label, n in zip(SHARE_BINS, figures.shares, strict=True)]
    return section(title, explained, plots.bars(title, data, height=260))


def _stopped(figures: Figures) -> str:
    title = "Why paging stopped"
    explained = (
        "Why no further page of a user's timeline was read. Green: the end as the site shows it; "
        "amber: a limit, ours or the site's; grey: gone; red: trouble, to be tried again."
    )
    if not figures.completeness.stopped:
        return section(title, explained, hint(_NO_VISITS))
    data = [
        Bar(WHY.get(why, why), n, _STOP_COLOURS.get(why, "--good"))
        for why, n in figures.completeness.stopped.items()
    ]
    return section(title, explained, plots.rows(title, data))


_STOP_COLOURS = {
    "login_wall": "--ask",
    "max_pages": "--ask",
    "since": "--ask",
    "trouble": "--bad",
    "too_many_pages": "--ask",
    "nothing_shown": "--none",
    "gone": "--none",
}


_SHORT_S = 10.0  # within so many seconds several times are of one second


def _clock(times: list[float]) -> list[str]:
    """As much of a time as tells one from the next."""
    span_s = times[-1] - times[0]
    pattern = "%H:%M:%S" if span_s < 7200 else "%m-%d %H:%M" if span_s < 40 * 86400 else "%Y-%m-%d"
    told = [datetime.fromtimestamp(at, UTC).strftime(pattern) for at in times]
    if span_s >= _SHORT_S:
        return told
    return [f"{text}.{int(at * 100) % 100:02d}" for text, at in zip(told, times, strict=True)]
