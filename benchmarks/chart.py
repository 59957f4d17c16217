"""Aims and how far they are reached, as a chart."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure
from weibo_crawler.analysis.plots import import_pygal

_MET, _MISSED = "#2f7d4f", "#b3402e"
_A_BAR = 28  # pixels


def write_chart(file: Path, figures: Sequence[Figure]) -> None:
    """Bars of how many times each aim is reached: 1 is the aim, whichever way it points."""
    aimed = [(figure, figure.reached) for figure in figures if figure.reached is not None]
    reached = [times for _, times in aimed]
    least = min(reached, default=1) / 2
    pygal = import_pygal()
    chart = pygal.HorizontalBar(
        title="Times the aim is reached (1 = the aim)",
        show_legend=False,
        print_values=True,
        logarithmic=True,
        zero=least,  # else the shortest bar has no length
        range=(least, max(reached, default=1)),
        height=160 + _A_BAR * len(aimed),
        width=1000,
        style=pygal.style.Style(background="white", plot_background="white", value_font_size=11),
        formatter=lambda value: f"{value:.2g}",
        js=[],
        disable_xml_declaration=True,
    )
    chart.x_labels = [figure.name for figure, _ in aimed]
    bars = [{"value": r, "color": _MET if r >= 1 else _MISSED} for _, r in aimed]
    chart.add("reached", bars)
    file.write_text(chart.render() + "\n", "utf-8")
