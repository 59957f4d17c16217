"""Posts that guests catch who come back: of what users write, by ways to choose the next visit.

A guest is shown the ten newest posts, so what is older than these at a visit, and newer than the
last one, is lost. In virtual time; the dates are chosen by the functions of posts/schedule.py.
"""

import heapq
from argparse import ArgumentParser
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from math import ceil, exp, inf, log
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from benchmarks.common import medians, say, table, write_section
from weibo_crawler.posts.schedule import Demand, Revisit, interval_s, posting_rate

_HOUR, _DAY = 3600.0, 86_400.0
_PAGE = 10  # posts of page 1
_RATE_POSTS = 20  # as posts/closing.py
_DAYS, _WARM_DAYS, _PAST_DAYS = 12, 4, 30
# of the users' rates, lognormal: who writes more than 48 posts a day holds 42 % of all posts
_MEAN_A_DAY, _SIGMA = 4.3, 2.0
_MOST_A_DAY = 1000.0
KINDS = ("evenly", "by day", "in bursts")  # how each user's posts lie in time


class Way(NamedTuple):
    """How the next visit is chosen. is_fitted: for how many new posts it waits follows from what
    the pace allows. latest: the faster rate counts of the whole and of so many latest posts.
    cron_s: users are visited at multiples of it only."""

    revisit: Revisit
    is_fitted: bool = False
    latest: int = 0
    cron_s: float = 0.0


def _bounds(least_s: float, posts: float) -> Revisit:
    return Revisit(least_s, 30 * _DAY, posts)


USUAL = "--follow, 5 posts, 1 h at least"
_SHORT_S = 900.0
WAYS = {
    "a daily cron, 5 posts, 1 h at least": Way(_bounds(_HOUR, 5), cron_s=_DAY),
    USUAL: Way(_bounds(_HOUR, 5)),
    "5 posts, 15 min at least": Way(_bounds(_SHORT_S, 5)),
    "5 to 10 by the pace, 15 min (what is built)": Way(_bounds(_SHORT_S, 5), is_fitted=True),
    "8 posts, 15 min at least": Way(_bounds(_SHORT_S, 8)),
    "10 posts, 15 min at least": Way(_bounds(_SHORT_S, 10)),
    "5 to 10, 15 min, the faster rate (5 latest)": Way(_bounds(_SHORT_S, 5), True, latest=5),
    "5 to 10, 15 min, the faster rate (10 latest)": Way(_bounds(_SHORT_S, 5), True, latest=10),
}
PACES = (inf, 1.0, 0.75, 0.5, 0.25)

Figures = dict[str, float]


def world(seed: int, users: int, kind: str) -> list[list[float]]:
    """Of each user when its posts are written, in seconds of the measured time; the oldest first,
    from before it."""
    rng = Random(f"{seed} {kind}")
    normal = NormalDist(log(_MEAN_A_DAY) - _SIGMA**2 / 2, _SIGMA)
    rates = (exp(normal.inv_cdf((n + 0.5) / users)) for n in range(users))
    return [_written(rng, min(rate, _MOST_A_DAY), kind) for rate in rates]


def _written(rng: Random, a_day: float, kind: str) -> list[float]:
    """Posts of one user. In bursts: some three within half an hour, and days that differ."""
    times = []
    awake = rng.uniform(0, _DAY)  # when its day begins
    for day in range(-_PAST_DAYS, _DAYS):
        mood = exp(rng.gauss(-0.18, 0.6)) if kind == "in bursts" else 1.0
        each = 3 if kind == "in bursts" else 1
        at, rate = 0.0, a_day * mood / each / _DAY
        while (at := at + rng.expovariate(rate)) < _DAY:
            # two thirds of the day hold all
            shift = at if kind == "evenly" else awake + at * 2 / 3
            times += [day * _DAY + shift + rng.uniform(0, 1800) * (each > 1) for _ in range(each)]
    return sorted(times)


def run(posts: Sequence[Sequence[float]], way: Way, per_day: float) -> Figures:
    """Posts caught in the measured days over those written in them, and requests a day. per_day:
    requests that the pace allows."""
    due = [(Random(uid).uniform(0, _DAY), uid) for uid in range(len(posts))]
    heapq.heapify(due)
    states = [_State(one) for one in posts]
    now = caught = visits = fitted_at = 0.0
    revisit = way.revisit
    while due:
        at, uid = heapq.heappop(due)
        begins = ceil(at / way.cron_s) * way.cron_s if way.cron_s else at
        now = max(now + _DAY / per_day, begins)
        if now >= _DAYS * _DAY:
            break
        if way.is_fitted and now - fitted_at > _HOUR:
            revisit, fitted_at = _fitted(way.revisit, states, per_day), now
        new, wait_s = states[uid].visit(now, way._replace(revisit=revisit))
        if now >= _WARM_DAYS * _DAY:
            caught, visits = caught + new, visits + 1
        heapq.heappush(due, (now + wait_s, uid))
    ends = _WARM_DAYS * _DAY, _DAYS * _DAY
    written = sum(bisect_left(one, ends[1]) - bisect_left(one, ends[0]) for one in posts)
    return {"share": caught / written, "requests": visits / (_DAYS - _WARM_DAYS)}


def _fitted(revisit: Revisit, states: Sequence["_State"], per_day: float) -> Revisit:
    demand = Demand(revisit)
    for state in states:
        if state.is_visited:
            demand.add(state.rate)
    return revisit._replace(posts=demand.posts(per_day))


class _State:
    """What is known of a user, whose posts were written at these times."""

    def __init__(self, posts: Sequence[float]) -> None:
        self._posts = posts
        self._seen = 0  # posts written by the last visit
        self._from = 0  # of these the first one behind the newest gap
        self.is_visited = False
        self.rate: float | None = None

    def visit(self, now: float, way: Way) -> tuple[int, float]:
        """How many posts are caught, and after how long the next visit is due."""
        n = bisect_right(self._posts, now)
        shown = max(0, n - _PAGE)
        new = n - max(shown, self._seen)
        if not self.is_visited or shown > self._seen:
            self._from = shown
        self._seen, self.is_visited = n, True
        held = self._posts[max(self._from, n - _RATE_POSTS) : n]
        self.rate = posting_rate(held, now)
        rate = self.rate
        if way.latest and rate is not None:
            rate = max(rate, posting_rate(held[-way.latest :], now) or 0.0)
        return new, interval_s(rate, way.revisit)


def measure(runs: int, users: int) -> dict[str, list[Figures]]:
    """Of each kind of world the figures of each run: of each way at each pace, by "way: pace"."""
    measured: dict[str, list[Figures]] = {kind: [] for kind in KINDS}
    for kind in KINDS:
        for seed in range(1, runs + 1):
            posts = world(seed, users, kind)
            usual = run(posts, WAYS[USUAL], inf)["requests"]
            figures: Figures = {}
            for name, way in WAYS.items():
                for pace in PACES:
                    found = run(posts, way, usual * pace)
                    figures[f"{name}: {pace:g}"] = found["share"]
                    figures[f"{name}: {pace:g}: requests"] = found["requests"] / usual
            measured[kind].append(figures)
            say(f"{kind}, run {seed} of {runs}")
    return measured


def show(measured: Mapping[str, Sequence[Figures]], runs: int, users: int) -> str:
    """A table for each kind of world."""
    paces = ["no limit", *(f"{pace:g} of it" for pace in PACES[1:])]
    parts = [
        "### Posts caught by coming back, where guests see page 1",
        f"{users:,} users, {_DAYS - _WARM_DAYS} days after {_WARM_DAYS} that do not count; medians "
        f"over seeds 1 to {runs}. In brackets requests sent. Paces: requests that the first way of "
        '"--follow" sends where it has no limit, and shares of it.',
    ]
    for kind, figures in measured.items():
        median = medians(figures)
        rows = [[name, *(_cell(median, name, pace) for pace in PACES)] for name in WAYS]
        parts += [f"Posts written {kind}:", table(("next visit", *paces), rows)]
    return "\n\n".join(parts)


def _cell(figures: Figures, name: str, pace: float) -> str:
    share, requests = figures[f"{name}: {pace:g}"], figures[f"{name}: {pace:g}: requests"]
    return f"{share:.1%} ({requests:.2f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = ArgumentParser(prog="bench-revisits", description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=600)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--docs", type=Path, metavar="FILE", help="put the tables into its section")
    options = parser.parse_args(arguments)
    text = show(measure(options.runs, options.users), options.runs, options.users)
    print(text)
    if options.docs is not None:
        write_section(options.docs, "revisits", text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
