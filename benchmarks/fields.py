"""How complete each field is that a crawl holds, beside the truth of its world.

    python -m benchmarks.fields [--laws 20] [--users 400] [--docs docs/benchmarks.md]

Worlds: sites whose rules are drawn by dice (simulate --laws), and those of another hand behind
nginx (WEIBO_FOREIGN, ../shared/foreign if unset). What counts is what a site shows to guests.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.common import RESULTS, described, machine, say, table, write_json, write_section
from benchmarks.field_truths import Facts, foreign_facts, held_facts, lawful_facts
from benchmarks.foreign_world import TOOLS
from tests.cli.crawls import Crawl
from tests.foreign.worlds import build, crawl_of, open_folder, run, served_by_nginx
from tests.laws.crawl import crawled

FIELDS = {
    "users": (
        *("user id", "screen name", "gender", "description", "province", "city"),
        *("fan list", "follow list"),
    ),
    "posts": ("post id", "text", "time", "place", "device"),
}
_EDGES = {"WEIBO_HARVEST__EDGES": "fans,follows"}


class Tally(NamedTuple):
    """shown: how many values the site shows; right: are held as shown; wrong: otherwise, or where
    nothing is shown. Of lists each entry counts."""

    shown: int = 0
    right: int = 0
    wrong: int = 0


Tallies = dict[str, Tally]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench-fields", description=__doc__.partition("\n")[0])
    parser.add_argument("--laws", type=int, default=20, help="how many drawn sites, by default 20")
    parser.add_argument("--users", type=int, default=400, help="of a foreign world, by default 400")
    parser.add_argument("--docs", type=Path, help="put the table into this file")
    options = parser.parse_args(arguments)
    worlds = {f"{options.laws} sites drawn by dice": add(_lawful(options.laws))}
    for name, words in (("foreign", ()), ("foreign, exact", ("--exact",))):
        worlds[name] = _foreign(options.users, *words)
    write_json(
        RESULTS / "fields.json",
        {
            "machine": machine(),
            "worlds": {
                world: {name: tally._asdict() for name, tally in tallies.items()}
                for world, tallies in worlds.items()
            },
        },
    )
    text = f"{described(machine())}\n\n{show(worlds)}"
    print(text)
    if options.docs is not None:
        write_section(options.docs, "fields", text)
    return 0


def _lawful(sites: int) -> Iterator[Tallies]:
    for seed in range(sites):
        with (
            TemporaryDirectory() as name,
            crawled(Path(name), seed, **_EDGES) as (truth, session, _),
        ):
            tallies = tally(lawful_facts(truth, seed), held_facts(session.rows))
        _say(f"laws {seed}", tallies)
        yield tallies


def _foreign(users: int, *words: str) -> Tallies:
    with open_folder() as folder, TemporaryDirectory() as name:
        world = build(TOOLS, folder, *words, users=users)
        with (
            served_by_nginx(world) as port,
            crawl_of(Path(name), port, guest=True, **_EDGES) as crawl,
        ):
            run(crawl, "seed", *world.seeds)
            for command in ("harvest", "import", "posts"):
                run(crawl, command)
            tallies = tally(foreign_facts(world), held_facts(partial(_rows, crawl)))
    _say(" ".join(("foreign", *words)), tallies)
    return tallies


def _rows(crawl: Crawl, *words: str) -> list[dict[str, Any]]:
    said = run(crawl, *words, "--format", "jsonl", "--quiet")[1]
    return [json.loads(line) for line in said.splitlines()]


def tally(true: Facts, held: Facts) -> Tallies:
    """By field. A field that the truth leaves out of a user or a post is not judged there."""
    counts: Counter[tuple[str, str]] = Counter()
    for kind, names in FIELDS.items():
        theirs = getattr(held, kind)
        for thing, facts in getattr(true, kind).items():
            ours = theirs.get(thing, {})
            for name in names:
                if name in facts:
                    for what, n in _compared(facts[name], ours.get(name)).items():
                        counts[name, what] += n
        extra = names[0]  # the id: whom the site does not show, nobody may hold
        counts[extra, "wrong"] += len(theirs.keys() - getattr(true, kind).keys() - true.beside)
    return {
        name: Tally(*(counts[name, what] for what in Tally._fields))
        for names in FIELDS.values()
        for name in names
    }


def _compared(true: Any, held: Any) -> Mapping[str, int]:
    if isinstance(true, frozenset):
        held = held or frozenset()
        return {"shown": len(true), "right": len(true & held), "wrong": len(held - true)}
    is_right = bool(true) and held == true
    is_wrong = not is_right and held not in (None, "")
    return {"shown": bool(true), "right": is_right, "wrong": is_wrong}


def add(many: Iterable[Tallies]) -> Tallies:
    """The sum of the tallies of several worlds."""
    total: Tallies = {}
    for tallies in many:
        for name, one in tallies.items():
            total[name] = Tally(*map(sum, zip(total.get(name, Tally()), one, strict=True)))
    return total


def show(worlds: Mapping[str, Tallies]) -> str:
    """A row a field, a column a world."""
    names = [name for names in FIELDS.values() for name in names]
    rows = [[name, *(_cell(worlds[world][name]) for world in worlds)] for name in names]
    return table(("field", *worlds), rows)


def _cell(one: Tally) -> str:
    if not one.shown and not one.wrong:
        return "not shown there"
    share = f"{100 * one.right / one.shown:.2f} %" if one.shown else "none"
    is_missed = one.right < one.shown or one.wrong > 0
    return (
        f"{share} of {one.shown:,}"
        + (f", {one.wrong} wrong" if one.wrong else "")
        + (" (**missed**)" if is_missed else "")
    )


def _say(world: str, tallies: Tallies) -> None:
    missed = {n: tuple(t) for n, t in tallies.items() if t.right < t.shown or t.wrong}
    say(f"{world}: {missed or 'complete'}")


if __name__ == "__main__":
    raise SystemExit(main())
