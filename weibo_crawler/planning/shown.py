"""A plan for people, and for --json."""

from math import ceil
from typing import Any

from weibo_crawler.analysis.numbers import duration, percent, size
from weibo_crawler.planning.plan import Pace, Plan

_UNKNOWN = "not known yet"
_WHO = {"harvest": "entries to walk", "posts": "users to visit"}


def lines(plan: Plan) -> list[str]:
    """For people."""
    who = _WHO.get(plan.stage, "users")
    out = [f"{who:<22}{plan.users:,}" + ("" if plan.users else ": nobody is left")]
    out += [_line(part.kind, _count(part.requests), part.why) for part in plan.parts]
    spread = (
        "" if plan.spread is None else f"likely within {percent(round(max(plan.spread, 0.01), 2))}"
    )
    out.append(_line("requests in all", _count(plan.requests), spread))
    time = _UNKNOWN if plan.hours is None else duration(plan.hours * 3600)
    out.append(_line("time", time, limit(plan.pace)))
    for room in plan.rooms:
        held = _UNKNOWN if room.bytes is None else size(room.bytes)
        out.append(_line(f"disk, {room.what}", held, room.why))
    out += [f"later: {said}" for said in plan.later]
    out += [f"assumed: {said}" for said in plan.assumed]
    return out


def limit(pace: Pace) -> str:
    """What limits the crawl, in words."""
    if not pace.setting:
        if pace.asked is None:
            return "no limit of requests (a loopback site); no run has shown how fast it goes"
        return f"no limit of requests (a loopback site): {pace.asked:.3g}/s as in the last run"
    if not pace.usable:
        return f"limited by the egresses: none of {pace.egresses:,} is usable now"
    learned = f", {pace.learned:,} of them learned" if pace.learned else ""
    said = (
        f"limited by the egresses: {pace.usable:,} of {pace.egresses:,} usable, "
        f"{pace.rate:.3g} requests/s together (pace.requests_per_second = {pace.setting:.3g} "
        f"each{learned})"
    )
    if pace.asked is not None:
        said += f"; the last run sent {pace.asked:.3g}/s"
    return said


def as_dict(plan: Plan) -> dict[str, Any]:
    """For --json; null is what nobody knows."""
    return {
        "stage": plan.stage,
        "users": plan.users,
        "requests": plan.requests,
        "by_kind": {part.kind: part.requests for part in plan.parts},
        "why": {part.kind: part.why for part in plan.parts},
        "spread": plan.spread,
        "hours": plan.hours,
        "pace": plan.pace._asdict() | {"per_s": plan.pace.per_s, "limit": limit(plan.pace)},
        "disk": [room._asdict() for room in plan.rooms],
        "later": list(plan.later),
        "assumed": list(plan.assumed),
        **plan.figures,
    }


def _line(what: str, figure: str, why: str) -> str:
    return f"  {what:<36}{figure:>14}  {why}".rstrip()


def _count(requests: float | None) -> str:
    return _UNKNOWN if requests is None else f"{ceil(requests):,}"
