"""Plots as inline SVG: pygal places them, the page's own style sheet (page.STYLE) colours them.

Scripts, styles, ids and names of other places are taken out of what pygal gives, so that a plot
refers to nothing and follows the page from light to dark.
"""

import sys
from collections.abc import Sequence
from html import escape
from itertools import count
from typing import Any, NamedTuple

from weibo_crawler.analysis.numbers import grouped, short

_WIDTH = 960
_LABEL, _VALUE = 13, 12  # px; STYLE says the same
_PX_A_CHARACTER = 7.5  # of a label, on the wide side
_ROW_HEIGHT = 30
_MOST_VALUES = 20  # bars that have room for their values above them


class Bar(NamedTuple):
    """colour: a custom property of STYLE, such as "--good"."""

    label: str
    value: int
    colour: str = "--main"


def bars(what: str, data: Sequence[Bar], *, height: int = 300) -> str:
    """Standing bars in a row, such as a histogram. what: said to who cannot see it."""
    is_roomy = len(data) <= _MOST_VALUES
    config = _config(height, max(bar.value for bar in data) * (1.08 if is_roomy else 1))
    chart = import_pygal().Bar(
        **config, rounded_bars=2, print_values=is_roomy, print_values_position="top"
    )
    chart.x_labels = [bar.label for bar in data]
    chart.x_labels_major = _spread([bar.label for bar in data])
    chart.show_minor_x_labels = False
    chart.add(what, [_value(bar) for bar in data])
    return _svg(chart, what)


def rows(what: str, data: Sequence[Bar]) -> str:
    """Lying bars, the first on top, with their values beside them: counts of named things."""
    data = data[::-1]  # pygal begins at the bottom
    chart = import_pygal().HorizontalBar(
        **_config(_ROW_HEIGHT * len(data) + 24, max(bar.value for bar in data), 1.12),
        margin_bottom=-14,  # the numbers that pygal would write there are not shown
        rounded_bars=2,
        print_values=True,
        print_values_position="top",
    )
    chart.x_labels = [bar.label for bar in data]
    chart.add(what, [_value(bar) for bar in data])
    return _svg(chart, what)


def areas(
    what: str, labels: Sequence[str], series: Sequence[tuple[str, Sequence[int]]], height: int = 340
) -> str:
    """Areas one upon the other, the first at the bottom; `labels` for the points of each."""
    top = max(map(sum, zip(*(points for _, points in series), strict=True)))
    chart = import_pygal().StackedLine(**_config(height, top), fill=True, show_dots=False)
    places = {round(i * (len(labels) - 1) / 5) for i in range(6)}
    # pygal finds the labels to show by their text, so the others need texts of their own
    chart.x_labels = [label if i in places else f"#{i}" for i, label in enumerate(labels)]
    chart.x_labels_major = [labels[i] for i in sorted(places)]
    chart.show_minor_x_labels = False
    for name, points in series:
        chart.add(name, points)
    return _svg(chart, what)


def legend(names: Sequence[str]) -> str:
    """The names of `areas` with their colours."""
    keys = (
        f'<span><i style="background:var(--depth-{i})"></i>{escape(name)}</span>'
        for i, name in enumerate(names)
    )
    return f'<p class="legend">{"".join(keys)}</p>'


def ticks(largest: float) -> list[int]:
    """Whole numbers from 0 to at least `largest`, 1, 2 or 5 times a power of ten apart."""
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in steps if step * 5 >= largest)
    return list(range(0, int(-(-max(largest, 1) // step)) * step + 1, step))


def import_pygal() -> Any:
    """pygal, without the finder that it adds to the import system for its plugins (none is used):
    it lacks find_spec, so Python 3.11 warns at every later import that finds nothing."""
    import pygal

    sys.meta_path[:] = [
        finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)
    ]
    return pygal


def _config(height: int, largest: float, room: float = 1.0) -> dict[str, Any]:
    """room: how far the scale reaches beyond the largest value, for the text there."""
    marks = ticks(largest)
    return {
        "js": [],
        "css": [],
        "style": import_pygal().style.Style(
            font_family="sans-serif",
            label_font_size=_LABEL,
            major_label_font_size=_LABEL,
            value_font_size=_VALUE,
        ),
        "width": _WIDTH,
        "height": height,
        "margin": 8,
        "margin_right": 34,  # half of the last label
        "show_legend": False,
        "truncate_label": -1,
        "y_labels": marks,
        "range": (0, max(marks[-1], room * largest)),
        "value_formatter": short,
        "no_data_text": "",
    }


def _spread(labels: Sequence[str]) -> list[str]:
    """So many of the labels as find room beside each other, evenly spread."""
    room = 0.88 * _WIDTH / (_PX_A_CHARACTER * max(map(len, labels)) + 14)
    every = max(1, -(-len(labels) // max(1, int(room))))
    return list(labels[::every])


def _value(bar: Bar) -> dict[str, Any]:
    return {"value": bar.value, "color": f"var({bar.colour})", "formatter": grouped}


def _svg(chart: Any, what: str) -> str:
    """The chart as an element of an HTML page; a narrow screen scrolls it and keeps its texts
    legible."""
    root = chart.render_tree()
    _clean(root)
    for name in ("id", "xmlns"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", what)
    return f'<div class="wide">{_serialised(root)}</div>'


def _clean(node: Any) -> None:
    """Take out what the page does not need; what pygal's script would show on hovering becomes a
    title, which a browser shows by itself."""
    told = {desc.get("class", ""): desc.text or "" for desc in node if _tag(desc) == "desc"}
    for child in list(node):
        if _tag(child) in ("defs", "desc", "title", ""):
            node.remove(child)
        else:
            _clean(child)
    node.attrib.pop("id", None)
    if "value" in told:
        words = (told.get("x_label", ""), told["value"])
        title = node.makeelement("title", {})
        title.text = ": ".join(word for word in words if word)
        node.insert(0, title)


def _tag(node: Any) -> str:
    """The bare name of an element, "" for a comment."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _serialised(node: Any) -> str:
    """As HTML has it: without namespaces, which are addresses of the network."""
    tag = _tag(node)
    attributes = "".join(
        f' {name}="{escape(value)}"' for name, value in node.attrib.items() if "}" not in name
    )
    inside = escape(node.text or "") + "".join(map(_serialised, node))
    return f"<{tag}{attributes}>{inside}</{tag}>" + escape((node.tail or "").strip())
