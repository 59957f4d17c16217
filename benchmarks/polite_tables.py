"""The figures of politeness as tables for people."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from benchmarks import edges, faults, schedulers
from benchmarks.budget import HEALTHY
from benchmarks.common import medians, spread, table
from benchmarks.sizes import Sizes
from weibo_crawler.simulator.company import COMPANIES

Figures = dict[str, float]
_PARTS = 4  # of a long run, a row each
SCHEDULERS = {
    "ideal": "an ideal scheduler: knows limit, health and delay of each",
    "known": "ours, the limit given as the ceiling (aim: 97 %, nobody banned)",
    "unknown": "ours, the limit unknown: a ceiling three times too high, AIMD finds it",
    "dice": f"random choice, {schedulers.THREADS} threads, no pace",
}


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _whole(number: float) -> str:
    return f"{number:,.0f}"


def _ratio(number: float) -> str:
    return f"{number:.2f}"


_FAULT_ROWS: tuple[tuple[str, str, str, Callable[[float], str]], ...] = (
    ("pages", "different pages obtained", "", _whole),
    ("fault_share", "of all answers spoilt by a fault", "", _percent),
    ("requests_per_page", "requests per page obtained, sessions included", "", _ratio),
    ("pages_wrongly_empty", "pages wrongly stored as empty", "0", _whole),
    ("users_lost", "users lost", "0", _whole),
    ("users_false", "users stored who should not be", "0", _whole),
    ("users_more", "users kept by other edges, where a list met walls", "", _whole),
    ("posts", "true posts", "", _whole),
    ("posts_lost", "posts missing without a word", "0", _whole),
    ("flagged_at_first", "posts missing and told, after one `posts`", "", _whole),
    ("posts_flagged", "… after the last one", "", _whole),
    ("passes", "how often `posts` was called", "", _whole),
    ("texts_wrong", "texts that differ from the truth", "0", _whole),
    ("texts_cut", "texts still cut, and marked so", "", _whole),
)


def show_proxies(measured: Mapping[str, list[Figures]], sizes: Sizes) -> str:
    """Three tables."""
    head = (
        *("scheduler", "budget used", "least to most", "right pages", "refused"),
        *("addresses banned", "bans per 1,000 pages", "wrongly empty"),
    )
    rows = [_scheduler_row(title, measured[name]) for name, title in SCHEDULERS.items()]
    healths = [
        [name, *(_percent(medians(measured[name])[f"share_{health}"]) for health in HEALTHY)]
        for name in SCHEDULERS
    ]
    short = [
        (name, _percent(run["share"]), _whole(run["requests"]), _whole(run["refused"]))
        for name in ("real clock", "virtual clock")
        for run in measured[name]
    ]
    return "\n\n".join(
        (
            f"### {sizes.proxies} proxies of mixed health, one request in 3 s an address",
            f"{sizes.seconds:g} s by a virtual clock, cold start included; "
            f"medians over seeds 1 to {sizes.runs}.",
            table(head, rows),
            "The same by the health of the proxy:",
            table(("scheduler", *HEALTHY), healths),
            f"One run of {sizes.real_s:g} s over real sockets on loopback, the limit known, and "
            "the same by the virtual clock with delays like those of an idle loopback:",
            table(("clock", "budget used", "requests", "refused"), short),
        )
    )


def show_hours(both: Mapping[str, Mapping[str, Sequence[float]]], sizes: Sizes) -> str:
    """A table of the fetcher alone, and one of the posts stage."""
    fetcher, posts = both["fetcher"], both["posts"]
    return "\n\n".join(
        (
            f"### {sizes.hours} hours, {sizes.hour_proxies} proxies of mixed health",
            "One request in 3 s an address, by the virtual clock; fetcher, ring, sessions and "
            f"reader without stores. {_percent(fetcher['share'][0])} of the budget used, "
            f"{_whole(fetcher['requests'][0])} requests, {_whole(fetcher['refused'][0])} of them "
            f"refused, {_whole(fetcher['bans'][0])} bans; {_growth(fetcher['memory'])}.",
            _hours_table(fetcher),
            f"### {sizes.hours} hours of the posts stage, {sizes.hour_post_proxies} proxies",
            "The crawler of a mapper with leases, claims, ledgers and SQLite stores, by the "
            "virtual clock, which stands still while a store writes; the site is in a process of "
            f"its own. {_whole(posts['requests'][0])} requests; {_whole(posts['users'][0])} users "
            f"to their end, with {_whole(posts['posts'][0])} posts in truth: "
            f"{_whole(posts['missing'][0])} of them missing; {_whole(posts['false'][0])} stored "
            f"that nobody wrote so; {_whole(posts['others'][0])} users under way or cut, which "
            f"their ledgers say; {_growth(posts['memory'])}.",
            _hours_table(posts),
        )
    )


def _hours_table(measured: Mapping[str, Sequence[float]]) -> str:
    """A row for each part of the hours."""
    pages, memory = measured["by_hour"], measured["memory"]
    rows = [
        (
            f"{part.start + 1} to {part.stop}",
            _whole(median(pages[hour] for hour in part)),
            f"{_whole(min(pages[hour] for hour in part))} to "
            f"{_whole(max(pages[hour] for hour in part))}",
            _whole(max(memory[hour] for hour in part)),
        )
        for part in _parts(len(pages))
    ]
    return table(("hours", "pages an hour (median)", "least to most", "most MB resident"), rows)


def _growth(memory: Sequence[float]) -> str:
    first, *_, last = _parts(len(memory))
    times = max(memory[last.start :]) / max(memory[first.start : first.stop])
    return f"memory in the last part {times:.2f} times that in the first"


def _parts(hours: int) -> list[range]:
    all_ = [range(i * hours // _PARTS, (i + 1) * hours // _PARTS) for i in range(_PARTS)]
    return [part for part in all_ if part]


def _scheduler_row(title: str, runs: list[Figures]) -> list[str]:
    median, share = medians(runs), spread(runs, "share")
    return [
        title,
        _percent(median["share"]),
        f"{_percent(share[0])} to {_percent(share[1])}",
        _whole(median["pages"]),
        _whole(median["refused"]),
        _whole(median["banned"]),
        f"{median['bans_per_1000']:.2f}",
        _whole(median["wrongly_empty"]),
    ]


def show_faults(runs: Sequence[Figures], sizes: Sizes) -> str:
    """One table. Sums would hide a bad run, so the worst one stands beside the median."""
    median = medians(runs)
    rows = [
        (title, aim, form(median[name]), form(max(run[name] for run in runs)))
        for name, title, aim, form in _FAULT_ROWS
    ]
    return "\n\n".join(
        (
            f"### Pages through {faults.SHARE:.0%} faults of all kinds",
            f"Seeds to posts by the commands, over loopback; worlds 1 to {sizes.runs}.",
            table(("what", "aim", "median", "most"), rows),
        )
    )


def show_edges(measured: Mapping[str, Sequence[Figures]], sizes: Sizes) -> str:
    """Two tables."""
    runs, dry = measured["edges"], medians(measured["to the end"])
    median = medians(runs)
    rows = [
        (
            name,
            _whole(median[name]),
            f"{_whole(spread(runs, name)[0])} to {_whole(spread(runs, name)[1])}",
            _whole(median[f"{name}: requests"]),
        )
        for name in map(str, edges.WALKS)
    ]
    return "\n\n".join(
        (
            "### Users found by each edge, as guests of 2026",
            f"Cold start from three seeds in a world of {sizes.edge_users:,} users, no pace; "
            f"medians over worlds 1 to {sizes.runs}. A walk ends after {sizes.edge_requests:,} "
            "requests, or where nobody else is to be found.",
            table(("edges", "users per 1,000 requests", "least to most", "requests"), rows),
            "The default where lists are walled, to its end. *near*: who comments, is passed on "
            "and named is mostly near and popular; *even*: it is anybody, which flatters a walk.",
            _to_the_end(dry, sizes.edge_requests),
            f"`harvest` by at most {5 * sizes.edge_requests:,} requests behind walled lists, then "
            "`import` and `posts`: with and without `harvest.keep_posts`.",
            _both_stages(medians(measured["both stages"])),
        )
    )


def _both_stages(both: Figures) -> str:
    rows = [
        (
            name,
            *(_whole(both[f"{name}: {what}"]) for what in ("harvest", "posts", "held")),
            f"{both[f'{name}: a request']:.2f}",
        )
        for name in ("kept", "not kept")
    ]
    titles = ("what harvest reads is", "requests of harvest", "of posts", "posts held")
    return table((*titles, "posts a request"), rows)


def _to_the_end(dry: Figures, requests: int) -> str:
    marks = (requests, 5 * requests)
    titles = [f"users by {mark:,} requests" for mark in marks]
    rows = [
        (
            company,
            *(_whole(dry[f"{company}: by {mark}"]) for mark in marks),
            _whole(dry[f"{company}: users"]),
            _whole(dry[f"{company}: requests"]),
            _percent(dry[f"{company}: reach"]),
            _whole(dry[f"{company}: posts"]),
            f"{dry[f'{company}: a request']:.2f}",
        )
        for company in COMPANIES
    ]
    ends = ("users at the end", "requests", "of those there are")
    return table(("company", *titles, *ends, "posts, all visited", "posts a request of both"), rows)
