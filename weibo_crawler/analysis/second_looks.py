"""What second looks have shown: at ends of lists and timelines, by other ways to restricted texts,
at profiles for what posts do not show. What may be behind those without one."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from weibo_crawler.analysis.numbers import grouped, percent
from weibo_crawler.samples import Figures, Samples
from weibo_crawler.store import notes


def second_looks(users: notes.Notes) -> dict[str, Figures]:
    """By kind of end, over all runs, as the users' database has it."""
    samples = Samples(0.0)
    samples.learn(notes.LOOKS.get(users))
    return samples.figures()


def looks_dict(figures: Mapping[str, Figures]) -> dict[str, dict[str, Any]]:
    """For --json: by kind of end; most: of the ends without a second look (unlooked) a smaller
    share than this may hold more, at 95 %."""
    return {
        kind: {**known._asdict(), "unlooked": known.unlooked} for kind, known in figures.items()
    }


def looks_lines(figures: Mapping[str, Figures]) -> list[str]:
    """For people, a line a kind of which some were not looked at again."""
    return [
        f"{kind}: {grouped(known.ends)} met, {grouped(known.looks)} looked at again, "
        f"{grouped(known.finds)} showed more; of the {grouped(known.unlooked)} others fewer than "
        f"{percent(ceil(1000 * known.most) / 1000)} may hold more"
        for kind, known in figures.items()
        if known.unlooked
    ]
