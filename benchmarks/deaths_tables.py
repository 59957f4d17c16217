"""A job while everything dies, as tables and as a plot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import table
from weibo_crawler.analysis.plots import import_pygal

_QUARTERS = 4
_FLAT = 1.1  # times what was resident at most in the second quarter, in the last one


def show(found: Mapping[str, Any]) -> str:
    """What held, a line each; what took how much memory; what died when."""
    rows = [
        ["exit code of the job, which ended by itself", *_aim(found["code"], 0)],
        ["minutes, from the first page to the end", f"{found['minutes']:.1f}", ""],
        ["deaths", f"{len(found['deaths'])}", ""],
        ["users", f"{found['users']:,}", ""],
        ["outcomes told", *_aim(found["outcomes"], found["users"])],
        ["posts of the truth", f"{found['posts']:,}", ""],
        ["posts that are missing, too many or of another text", *_aim(found["differing"], 0)],
        ["posts that are held twice", *_aim(found["doubled"], 0)],
        ["pages", f"{found['pages']:,}", ""],
        [
            "of them asked for once more, after a death or as a second look",
            f"{found['again']:,}",
            "",
        ],
        ["refusals", *_aim(found["refused"], 0)],
        ["bans", *_aim(found["bans"], 0)],
        ["new posts, when the command is given again", *_aim(found["new_again"], 0)],
        ["requests then", *_aim(found["asked_again"], 0)],
    ]
    died = ", ".join(f"{what} ({at / 60:.1f})" for at, what in found["deaths"])
    return "\n\n".join(
        [table(("what", "found", "aim"), rows), f"Died (minute): {died}.", _memory(found)]
    )


def _aim(number: int, aim: int) -> list[str]:
    return [f"{number:,}" + ("" if number == aim else " (**missed**)"), f"{aim:,}"]


def _memory(found: Mapping[str, Any]) -> str:
    """The most that one process of a kind had resident, by quarters of the run."""
    most: dict[str, list[float]] = {}
    for at, name, mb in found["memory"]:
        quarter = min(int(_QUARTERS * at / 60 / found["minutes"]), _QUARTERS - 1)
        of_kind = most.setdefault(name.rstrip("0123456789"), [0.0] * _QUARTERS)
        of_kind[quarter] = max(of_kind[quarter], mb)
    head = ("MB, the largest process", *(f"quarter {n + 1}" for n in range(_QUARTERS)), "growth")
    rows = [[kind, *(f"{mb:.0f}" for mb in each), _growth(each)] for kind, each in most.items()]
    return f"Flat: in the last quarter <= {_FLAT:g} times the second.\n\n" + table(head, rows)


def _growth(quarters: Sequence[float]) -> str:
    if not quarters[1]:
        return "not seen"
    times = quarters[-1] / quarters[1]
    return f"{times:.2f}" + (" (**missed**)" if times > _FLAT else "")


def write_plot(file: Path, found: Mapping[str, Any]) -> None:
    """Pages of each minute; minutes in which something died are red, and named by it."""
    pygal = import_pygal()
    chart = pygal.Bar(
        title="Pages by minute; red: something died",
        show_legend=False,
        width=1000,
        height=480,
        x_label_rotation=60,
        style=pygal.style.Style(background="white", plot_background="white"),
        js=[],
        disable_xml_declaration=True,
    )
    died: dict[int, list[str]] = {}
    for at, what in found["deaths"]:
        died.setdefault(int(at // 60), []).append(what)
    chart.x_labels = [
        f"{n + 1} {', '.join(died.get(n, []))}".strip() for n in range(len(found["by_minute"]))
    ]
    values = [
        {"value": pages, "color": "#b3402e" if n in died else "#2f7d4f"}
        for n, pages in enumerate(found["by_minute"])
    ]
    chart.add("pages", values)
    file.write_text(chart.render() + "\n", "utf-8")
