"""The tables of `benchmarks.economy`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from benchmarks.common import table
from benchmarks.needs import KINDS, SESSION, TEXT, Errors, Tally

AIM = 1.1
STAGES = {"harvest": ("harvest",), "posts": ("posts",), "refresh": ("posts", "--refresh")}
_MEANING = f"""\
Requests sent, by the site's own log, over those needed, sessions and faults of the world aside; of
the refresh, requests a due user. Aim: {AIM:.2f} each; figures over it are bold. In brackets what
it takes at best: where nobody can know which way offers which text, nor which lists and timelines
guests are refused, where faults may have emptied what is empty, so that it is looked at again
(*looks for faults*), and at a refresh where first pages show no post and name the next one.
Missing, extra and wrong: users and posts held, compared with the truth after the refresh. For the
refresh the dates of all next visits in the store were moved to now; settings are the defaults,
without a pace."""


class Measured(NamedTuple):
    """One world. due: users of whom the refresh asked something, of so many kept. walled: by stage,
    as in `Needs`."""

    name: str
    stages: dict[str, Tally]
    due: int
    kept: int
    errors: Errors
    ways: float = 0.0
    walled: Mapping[str, int] = MappingProxyType({})


def show(results: Sequence[Measured]) -> str:
    """Ratios by world, then requests by kind."""
    head = ["world", *STAGES, "due users asked", "missing", "extra", "wrong"]
    rows = [
        [
            one.name,
            *(shown_ratio(one, stage) for stage in STAGES),
            f"{one.due:,} of {one.kept:,}",
            *(f"{n:,}" for n in one.errors.values()),
        ]
        for one in results
    ]
    parts = [_MEANING, table(head, rows)]
    for stage in STAGES:
        parts += [
            f"Requests of `{' '.join(STAGES[stage])}`, needed → sent:",
            _kinds(results, stage),
        ]
    return "\n\n".join(parts)


def shown_ratio(one: Measured, stage: str) -> str:
    """Bold where it is over the aim; beside it the least that it can be, where that is over 1."""
    counted = one.stages[stage]
    ratio, needed = counted.ratio, counted.needed.total()
    least = float(needed + counted.doubts.total() + one.walled.get(stage, 0))
    if stage == "posts" and one.ways:
        least += one.ways - counted.needed[TEXT]
    if stage == "refresh":
        due = max(1, one.due)
        ratio, needed = counted.total / due, max(due, one.kept)
    least /= needed
    said = f"{ratio:.2f}" if ratio <= AIM else f"**{ratio:.2f}**"
    return f"{said} ({least:.2f})" if least > 1.005 else said


def _kinds(results: Sequence[Measured], stage: str) -> str:
    """A row for each kind that was sent or needed anywhere."""
    tallies = [one.stages[stage] for one in results]
    rows = [
        [kind, *(_cell(counted, kind) for counted in tallies)]
        for kind in KINDS
        if any(counted.needed[kind] or counted.sent[kind] for counted in tallies)
    ]
    rows.append(["all", *(f"{one.needed.total():,} → {one.total:,}" for one in tallies)])
    rows.append([SESSION, *(f"{one.sent[SESSION]:,}" for one in tallies)])
    rows.append(["fault", *(f"{one.faults.total():,}" for one in tallies)])
    rows.append(["looks for faults", *(f"{one.doubts.total():,}" for one in tallies)])
    return table([stage, *(one.name for one in results)], rows)


def _cell(counted: Tally, kind: str) -> str:
    parts = {
        "again": counted.again[kind],
        "not needed": counted.vain[kind],
        "refused": counted.refused[kind],
        "missed": counted.missed(kind),
    }
    said = ", ".join(f"{n:,} {name}" for name, n in parts.items() if n)
    sent = counted.sent[kind] - counted.faults[kind]
    return f"{counted.needed[kind]:,} → {sent:,}" + (f" ({said})" if said else "")
