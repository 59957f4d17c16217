"""Where the crawl stands: what is queued, leased, done; how fast; when it will end. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from weibo_crawler.analysis.completeness import Completeness, left_out
from weibo_crawler.analysis.numbers import duration, grouped, minute, percent, plural
from weibo_crawler.analysis.second_looks import looks_dict, looks_lines, second_looks
from weibo_crawler.analysis.userlists import Kept
from weibo_crawler.records import State
from weibo_crawler.samples import Figures
from weibo_crawler.store import Topic, WalledEdge, WorkerRow
from weibo_crawler.store.owners import is_at_work
from weibo_crawler.store.sql.walk import Frontier

_LIVE_S = 15.0  # workers report about once a second
_STOPPED, _ERRORS = "interrupted", ("exit ", "failed: ")  # how the `ended` of workers begins
_OPEN = (State.QUEUED, State.LEASED, State.RESTING)
# counters of a worker that mean: one user less to do
_FINISHED = {
    "harvest": ("entries.done", "entries.gone", "entries.failed"),
    "posts": (
        *("users.stored", "users.unchanged", "users.partial"),
        *("users.gone", "users.failed", "users.empty"),
    ),
}


class StageStatus(msgspec.Struct, frozen=True):
    """One stage at work: its live workers together. Rates are over their lifetimes, per second.

    finished_per_s: users done with, whatever came of them. to_do: users left, None where not
    known. ends_in_s: to_do at this rate, None where either is unknown; a harvest finds more users
    while it works, so for it this is the least.
    """

    stage: str
    workers: int
    running_s: float
    users_kept_per_s: float
    pages_per_s: float
    posts_per_s: float
    finished_per_s: float
    to_do: int | None
    ends_in_s: float | None


class StatusReport(msgspec.Struct, frozen=True):
    """at: seconds since the epoch. last: the latest worker of every run's last stage that is not
    at work, as (stage, updated_at, why it ended; None: without a word)."""

    at: float
    states: Mapping[str, int]
    depths: Mapping[int, int]
    stages: tuple[StageStatus, ...]
    last: tuple[tuple[str, float, str | None], ...]
    completeness: Completeness | None = None
    depths_are_bounds: str = ""
    walled: tuple[WalledEdge, ...] = ()
    unsure_lists: int = 0
    second_looks: Mapping[str, Figures] = msgspec.field(default_factory=dict)
    topics: tuple[Topic, ...] = ()


def status(
    users: Frontier,
    now: float,
    completeness: Completeness | None = None,
    people: Kept | None = None,
) -> StatusReport:
    """Read the figures. completeness: of the tables, where the caller has it. people: who was kept,
    None: `users`."""
    people = people or users
    states = people.states()
    by_stage: dict[str, list[WorkerRow]] = {}
    for worker in users.workers():
        by_stage.setdefault(worker.stage, []).append(worker)
    to_do = {"harvest": sum(states.get(state, 0) for state in _OPEN)}
    if completeness is not None:
        to_do["posts"] = completeness.unvisited + completeness.partial + completeness.failed
    stages, last = [], []
    for stage, workers in by_stage.items():
        live = [w for w in workers if is_at_work(w, now, _LIVE_S)]
        if live:
            stages.append(_stage(stage, live, now, to_do.get(stage)))
        else:
            last.append((stage, *_last(workers, now)))
    depths = dict(sorted(people.depths().items()))
    return StatusReport(
        now,
        states,
        depths,
        tuple(stages),
        tuple(last),
        completeness,
        users.depths_are_bounds(),
        tuple(users.walled()),
        users.unsure_lists(),
        second_looks(users),
        tuple(users.topics()),
    )


def _last(workers: list[WorkerRow], now: float) -> tuple[float, str | None]:
    """When the latest run was last at work, and why it ended: where one worker's error stopped the
    others, that error. What a clock wrote that was ahead counts as older than all else."""
    latest = max(workers, key=lambda w: (w.updated_at <= now + _LIVE_S, w.updated_at))
    if latest.ended != _STOPPED:
        return latest.updated_at, latest.ended
    of_run = (w.ended for w in workers if w.run_id == latest.run_id and w.ended)
    errors = [why for why in of_run if why.startswith(_ERRORS)]
    return latest.updated_at, errors[0] if errors else latest.ended


def _stage(stage: str, live: list[WorkerRow], now: float, to_do: int | None) -> StageStatus:
    finished = _rate(live, _FINISHED.get(stage, ()))
    pages = {name for worker in live for name in worker.counters if name.startswith("page.")}
    return StageStatus(
        stage=stage,
        workers=len(live),
        running_s=max(0.0, now - min(worker.started_at for worker in live)),
        users_kept_per_s=_rate(live, ("users.kept",)),
        pages_per_s=_rate(live, pages),
        posts_per_s=_rate(live, ("posts.new",)),
        finished_per_s=finished,
        to_do=to_do,
        ends_in_s=to_do / finished if to_do is not None and finished else None,
    )


def _rate(workers: Iterable[WorkerRow], names: Iterable[str]) -> float:
    """Per second, each worker over the time its figures cover."""
    names = tuple(names)
    total = 0.0
    for worker in workers:
        lifetime_s = worker.updated_at - worker.started_at
        if lifetime_s > 0:
            total += sum(worker.counters.get(name, 0) for name in names) / lifetime_s
    return total


def as_dict(report: StatusReport) -> dict[str, Any]:
    """For --json: plain values, times in seconds since the epoch."""
    plain: dict[str, Any] = msgspec.to_builtins(report, str_keys=True)
    plain["last"] = [
        {"stage": stage, "updated_at": at, "ended": ended} for stage, at, ended in report.last
    ]
    plain["second_looks"] = looks_dict(report.second_looks)
    plain["walled"] = walled_dict(report.walled)
    plain["topics"] = topics_dict(report.topics)
    plain["depths_exact"] = not report.depths_are_bounds
    return plain


def walled_dict(walled: Iterable[WalledEdge]) -> dict[str, dict[str, float]]:
    """By edge: how many of its lists guests were not shown, since when, how many of them alone."""
    return {
        one.edge: {"lists": one.lists, "since": one.since, "alone": one.alone}
        for one in walled
        if one.lists
    }


def walled_lines(walled: Iterable[WalledEdge]) -> list[str]:
    """The same for people, a line an edge."""
    return [_walled_line(one) for one in walled if one.lists]


def _walled_line(one: WalledEdge) -> str:
    line = f"{one.edge}: guests are not shown {plural(one.lists, 'list')} (login wall) since "
    line += minute(one.since)
    if one.alone:
        line += f"; {one.alone:,} of them, while those of others are shown: `harvest "
        line += "--retry-failed` asks again"
    if one.alone < one.lists:
        line += "; each harvest tries some again, and all when it is let in"
    return line


def topics_dict(topics: Iterable[Topic]) -> dict[str, int]:
    """How many topics are in each state."""
    return dict(Counter(topic.state for topic in topics))


def topic_lines(topics: Sequence[Topic]) -> list[str]:
    """For people, [] where no topic is a seed."""
    states = topics_dict(topics)
    if not states:
        return []
    line = f"topics: {states.get('done', 0):,} of {len(topics):,} read"
    if walled := states.get("walled"):
        begun = sum(topic.state == "walled" and topic.pages > 0 for topic in topics)
        further = f", {begun:,} of them from a later page on" if begun else ""
        line += f"; {walled:,} that guests are not shown{further}"
    if failed := states.get("failed"):
        why = next(topic.why for topic in topics if topic.state == "failed")
        line += f"; {failed:,} that failed ({why})"
    if walled or failed:
        line += ": the next harvest asks for them again"
    return [line]


def unsure_lines(unsure: int) -> list[str]:
    """Lists that ended before their announced count, for people."""
    if not unsure:
        return []
    end = f"{plural(unsure, 'list')} ended before the announced count: the site hides users, or "
    return [f"{end}held them back; `harvest --retry-failed` asks again"]


def last_success(users: Frontier) -> dict[str, float]:
    """By stage, when a run last came to its end without an error, seconds since the epoch."""
    ended = (
        (worker.stage, worker.updated_at)
        for worker in users.workers()
        if worker.ended and not worker.ended.startswith((_STOPPED, *_ERRORS))
    )
    return dict(sorted(ended))


def lines(report: StatusReport) -> list[str]:
    """For people, a line each."""
    total, topics = sum(report.states.values()), topic_lines(report.topics)
    if not total:
        return [*topics, f"no users yet: run weibo-crawler {'harvest' if topics else 'seed'}"]
    states = [f"{grouped(n)} {state}" for state in State if (n := report.states.get(state, 0))]
    depths = [f"{depth}: {grouped(n)}" for depth, n in report.depths.items()]
    out = [f"users    {grouped(total)}: {', '.join(states)}", f"depth    {', '.join(depths)}"]
    if report.depths_are_bounds:
        out.append(f"         upper bounds only: {report.depths_are_bounds}")
    out += [f"unsure   {line}" for line in unsure_lines(report.unsure_lists)]
    out += [f"ends     {line}" for line in looks_lines(report.second_looks)]
    out += [f"walled   {line}" for line in walled_lines(report.walled)]
    out += [f"         {line}" for line in topics]
    if report.completeness is not None:
        out += _posts_lines(report.completeness)
    for stage in report.stages:
        out += _stage_lines(stage)
    for name, at, ended in report.last:
        why = "stopped without a word; a plain restart goes on" if ended is None else ended
        out.append(f"{name:<8} not at work; last seen {minute(at)}: {why}")
    return out


def _posts_lines(figures: Completeness) -> list[str]:
    if not figures.visited:
        return [f"posts    none yet; {plural(figures.users, 'user')} imported"]
    out = [
        f"posts    {grouped(figures.stored)} stored, {percent(figures.share)} of "
        f"{grouped(figures.announced)} announced; {grouped(figures.visited)} of "
        f"{plural(figures.users, 'user')} visited"
    ]
    if said := left_out(figures):
        out.append(f"         {said}")
    if figures.failed:
        out.append(
            f"         {plural(figures.failed, 'user')} failed: weibo-crawler posts asks again"
        )
    if figures.due:
        out.append(
            f"         {plural(figures.due, 'user')} due again: weibo-crawler posts --refresh"
        )
    return out


def _stage_lines(stage: StageStatus) -> list[str]:
    rates = [
        f"{grouped(rate)} {what}/s"
        for rate, what in (
            (stage.pages_per_s, "pages"),
            (stage.users_kept_per_s, "users kept"),
            (stage.posts_per_s, "new posts"),
        )
        if rate
    ]
    work = f"{plural(stage.workers, 'worker')} for {duration(stage.running_s)}"
    out = [f"{stage.stage:<8} at work: " + ", ".join([work, *rates])]
    if stage.ends_in_s is not None and stage.to_do is not None:
        least = "at least " if stage.stage == "harvest" else "about "
        out.append(
            f"         {plural(stage.to_do, 'user')} to do, {least}{duration(stage.ends_in_s)}"
        )
    return out
