"""The figures of nodes as a table, and as a plot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import table
from weibo_crawler.analysis.plots import import_pygal

TIMES_AIM = {"posts": 7.8, "harvest": 7.5}  # of eight nodes: times what one does, at least
_ONE = {"posts": "direct1", "harvest": "harvest1"}  # the run of one node
USED_AIM = 0.95


def show(runs: Sequence[Mapping[str, Any]], limit: float) -> str:
    """One row a run. limit: pages a second that the site allows to an address."""
    head = (
        *("what", "addresses", "minutes", "pages a minute (median)", "least to most"),
        *("times one node", "used of the allowed", "refused", "bans"),
        "posts or lists that differ",
        *("first page after", "processors busy, load"),
    )
    by_name = {run["name"]: run for run in runs}
    rows = [_row(run, by_name.get(_ONE[run.get("stage", "posts")])) for run in runs]
    return (
        f"The site allows {limit:g} pages a second to an address. Aims: 8 nodes >= "
        f"{TIMES_AIM['posts']:g} times one (harvest: {TIMES_AIM['harvest']:g}), each "
        f">= {100 * USED_AIM:.0f} % of the allowed, no ban, no "
        "post or list that differs from the truth.\n\n" + table(head, rows)
    )


def _row(run: Mapping[str, Any], one: Mapping[str, Any] | None) -> list[str]:
    by_minute = run["by_minute"] or [0]
    times = run["pages"] / run["seconds"] / (one["pages"] / one["seconds"]) if one else None
    aim = TIMES_AIM[run.get("stage", "posts")] if run["nodes"] == 8 else None
    used = f"{100 * run['used']:.1f} %" + _mark(run["used"] < USED_AIM)
    return [
        *(run["what"], f"{run['addresses']}", f"{run['seconds'] / 60:g}"),
        *(f"{run['median_minute']:g}", f"{min(by_minute)} to {max(by_minute)}"),
        "" if times is None else f"{times:.2f}" + _mark(aim is not None and times < aim),
        *(used, f"{run['refused']}", f"{run['bans']}" + _mark(run["bans"] > 0)),
        _differing(run),
        _seconds(run.get("starting_s")),
        f"{100 * run['busy']:.0f} %, {run['load']:.1f}" if "busy" in run else "not kept",
    ]


def _differing(run: Mapping[str, Any]) -> str:
    if run.get("differing") is None:
        return "not compared"
    return f"{run['differing']} of {run['posts']:,}" + _mark(run["differing"] > 0)


def _seconds(seconds: float | None) -> str:
    return "not kept" if seconds is None else f"{seconds:.0f} s"


def _mark(is_missed: bool) -> str:
    return " (**missed**)" if is_missed else ""


def write_plot(file: Path, runs: Sequence[Mapping[str, Any]], limit: float) -> None:
    """Pages of each minute, a line for each run."""
    pygal = import_pygal()
    chart = pygal.Line(
        title=f"Pages by minute; the site allows {60 * limit:g} a minute to an address",
        x_title="minute",
        range=(0, max((max(run["by_minute"], default=0) for run in runs), default=0) * 1.1),
        width=1000,
        height=480,
        legend_at_bottom=True,
        legend_at_bottom_columns=2,
        style=pygal.style.Style(background="white", plot_background="white"),
        js=[],
        disable_xml_declaration=True,
    )
    chart.x_labels = [str(n + 1) for n in range(max(len(run["by_minute"]) for run in runs))]
    for run in runs:
        chart.add(run["what"], run["by_minute"])
    file.write_text(chart.render() + "\n", "utf-8")
