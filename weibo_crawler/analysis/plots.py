"""Plots as inline SVG: pygal places them, the page's own style sheet (page.STYLE) colours them.

Scripts, styles, ids and names of other places are taken out of what pygal gives, so that a plot
refers to nothing and follows the page from light to dark.
"""

import sys
from collections.abc import Callable, Sequence
from html import escape
from itertools import count
from statistics import fmean
from typing import Any, NamedTuple

from weibo_crawler.analysis.numbers import grouped, short

_WIDE, _NARROW = 960, 340  # px: of a window, of a phone
_LABEL, _VALUE = 13, 12  # px; STYLE says the same
_PX_A_CHARACTER = 7.5  # of a label, on the wide side
_PX_A_VALUE = 48  # that a bar needs to have room for its value above it
_NODE_HEIGHT, _AREAS_HEIGHT = 30, 340
_FIRST_WIDE = 0x2E80  # characters from here on are as wide as high
_MOST_TIMES = 5  # marks of an axis of time after the first


class Bar(NamedTuple):
    """colour: a custom property of STYLE, such as "--good"."""

    label: str
    value: int
    colour: str = "--main"


class Link(NamedTuple):
    """by, of: names, which tell the nodes apart; n: how often."""

    by: str
    of: str
    n: int


def bars(what: str, data: Sequence[Bar], *, height: int = 300) -> str:
    """Standing bars in a row, such as a histogram. what: said to who cannot see it."""
    return _at_each_width(lambda width: _bars(what, data, width, height))


def _bars(what: str, data: Sequence[Bar], width: int, height: int) -> str:
    is_roomy = len(data) * _PX_A_VALUE <= width
    config = _config(width, height, max(bar.value for bar in data) * (1.08 if is_roomy else 1))
    chart = import_pygal().Bar(
        **config, rounded_bars=2, print_values=is_roomy, print_values_position="top"
    )
    chart.x_labels = [bar.label for bar in data]
    chart.x_labels_major = _spread([bar.label for bar in data], width)
    chart.show_minor_x_labels = False
    chart.add(what, [_value(bar) for bar in data])
    return _svg(chart, what)


def rows(what: str, data: Sequence[Bar]) -> str:
    """Lying bars, the first on top, with their values beside them: counts of named things. A table
    whose bars grow with the page."""
    largest = max(1, *(bar.value for bar in data))
    lines = (
        f'<tr><th scope="row"><span>{escape(bar.label)}</span></th><td>'
        f'<i style="width:calc((100% - 80px)*{bar.value / largest:.4f});'
        f'background:var({bar.colour})"></i>{grouped(bar.value)}</td></tr>\n'
        for bar in data
    )
    return f'<table class="rows" aria-label="{escape(what)}">\n{"".join(lines)}</table>'


def areas(what: str, labels: Sequence[str], series: Sequence[tuple[str, Sequence[int]]]) -> str:
    """Areas one upon the other, the first at the bottom; `labels` for the points of each."""
    return _at_each_width(lambda width: _areas(what, labels, series, width))


def _areas(
    what: str,
    labels: Sequence[str],
    series: Sequence[tuple[str, Sequence[int]]],
    width: int,
) -> str:
    top = max(map(sum, zip(*(points for _, points in series), strict=True)))
    chart = import_pygal().StackedLine(
        **_config(width, _AREAS_HEIGHT, top), fill=True, show_dots=False
    )
    last = max(1, int(width * 0.8 / (_PX_A_CHARACTER * max(map(len, labels)) + 50)))
    last = min(last, _MOST_TIMES)
    places = {round(i * (len(labels) - 1) / last) for i in range(last + 1)}
    # pygal finds the labels to show by their text, so the others need texts of their own
    chart.x_labels = [label if i in places else f"#{i}" for i, label in enumerate(labels)]
    chart.x_labels_major = [labels[i] for i in sorted(places)]
    chart.show_minor_x_labels = False
    for name, points in series:
        chart.add(name, points)
    return _svg(chart, what)


def network(what: str, links: Sequence[Link]) -> str:
    """Who does something with whose things: the ones on the left, the others on the right, lines
    between them that are as thick as it is frequent."""
    return _at_each_width(lambda width: _network(what, links, width))


def _network(what: str, links: Sequence[Link], width: int) -> str:
    left = list(dict.fromkeys(link.by for link in links))
    others = list(dict.fromkeys(link.of for link in links))
    # beside those whom they are joined with, so that few lines cross
    right = sorted(others, key=lambda of: fmean(left.index(a) for a, b, _ in links if b == of))
    height = _NODE_HEIGHT * max(len(left), len(right))
    a, b, most = 0.36 * width, 0.64 * width, max(link.n for link in links)

    def y(nodes: Sequence[str], node: str) -> float:
        return (nodes.index(node) + 0.5) * height / len(nodes)

    lines = (
        f'<path d="M{a:.0f} {y(left, link.by):.1f}C{width / 2:.0f} {y(left, link.by):.1f} '
        f'{width / 2:.0f} {y(right, link.of):.1f} {b:.0f} {y(right, link.of):.1f}" '
        f'stroke-width="{1 + 9 * link.n / most:.1f}"><title>{escape(link.by)} → '
        f"{escape(link.of)}: {grouped(link.n)}</title></path>"
        for link in links
    )
    texts = (
        f'<text x="{x:.0f}" y="{y(nodes, node) + _LABEL / 3:.1f}" class="{side}">'
        f"{escape(_cut(node, a - 16))}</text>"
        for side, x, nodes in (("by", a - 8, left), ("of", b + 8, right))
        for node in nodes
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" class="network" role="img" '
        f'aria-label="{escape(what)}">{"".join(lines)}{"".join(texts)}</svg>'
    )


def _cut(text: str, room: float) -> str:
    """As much of a text as finds room, in px."""
    for i, character in enumerate(text):
        room -= _PX_A_CHARACTER if ord(character) < _FIRST_WIDE else _LABEL
        if room < 0:
            return text[:i] + "…"
    return text


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


def _at_each_width(draw: Callable[[int], str]) -> str:
    """A plot for windows and one for phones: of the two the style sheet shows the one that fits,
    with texts of the same size."""
    wide, narrow = draw(_WIDE), draw(_NARROW)
    return f'<div class="at-desk">{wide}</div><div class="on-phone">{narrow}</div>'


def _config(width: int, height: int, largest: float) -> dict[str, Any]:
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
        "width": width,
        "height": height,
        "margin": 8,
        "margin_right": 34,  # half of the last label
        "show_legend": False,
        "truncate_label": -1,
        "y_labels": marks,
        "range": (0, max(marks[-1], largest)),
        "value_formatter": short,
        "no_data_text": "",
    }


def _spread(labels: Sequence[str], width: int) -> list[str]:
    """So many of the labels as find room beside each other, evenly spread."""
    room = 0.84 * width / (_PX_A_CHARACTER * max(map(len, labels)) + 14)
    every = max(1, -(-len(labels) // max(1, int(room))))
    return list(labels[::every])


def _value(bar: Bar) -> dict[str, Any]:
    return {"value": bar.value, "color": f"var({bar.colour})", "formatter": grouped}


def _svg(chart: Any, what: str) -> str:
    """The chart as an element of an HTML page."""
    root = chart.render_tree()
    _clean(root)
    for name in ("id", "xmlns"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", what)
    return _serialised(root)


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
