"""The report's page: one HTML file that loads nothing, for light, dark and paper. Its only
references are links that its reader may follow."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

_LIGHT = """
  --paper: #ffffff; --card: #f7f8fa; --ink: #1d232b; --soft: #5d6875; --line: #dfe3e8;
  --main: #2f74c0; --good: #2a8f6f; --ask: #d08a1e; --bad: #c2493d; --none: #98a2ad;
  --depth-0: #123a66; --depth-1: #1d5591; --depth-2: #2f74c0; --depth-3: #5492d3;
  --depth-4: #7fb0e2; --depth-5: #a9cbee; --depth-6: #cbe0f5; --depth-7: #b9bfc7;
"""
_DARK = """
  --paper: #14181d; --card: #1b2127; --ink: #e4e8ec; --soft: #9aa5b1; --line: #323b45;
  --main: #5b9be0; --good: #45b392; --ask: #e0a545; --bad: #e2736a; --none: #77828e;
  --depth-0: #d3e5f8; --depth-1: #a9cbee; --depth-2: #7fb0e2; --depth-3: #5b9be0;
  --depth-4: #3c7cc2; --depth-5: #2c619c; --depth-6: #224b78; --depth-7: #59636e;
"""
# sizes of the texts in a plot are those that plots.py reckons with
STYLE = f"""
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
@media print {{ :root {{ color-scheme: light; {_LIGHT} }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; max-width: 1040px; padding: 32px 24px 64px; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, "Noto Sans CJK SC", "PingFang SC",
  "Microsoft YaHei", sans-serif; }}
h1 {{ font-size: 28px; line-height: 1.2; margin: 0 0 4px; }}
h2 {{ font-size: 19px; margin: 0 0 2px; }}
p {{ margin: 0 0 10px; }}
.soft, caption {{ color: var(--soft); font-size: 14px; }}
section {{ margin-top: 24px; padding: 18px 20px 14px; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; break-inside: avoid; }}
.hint {{ margin: 14px 0; padding: 10px 14px; border-left: 4px solid var(--main); }}
.wide {{ overflow-x: auto; }}
table {{ width: 100%; border-collapse: collapse; font-size: 14px; }}
th, td {{ padding: 6px 10px 6px 0; text-align: left; vertical-align: top;
  border-top: 1px solid var(--line); }}
th {{ font-weight: 600; }}
thead th {{ border-top: 0; color: var(--soft); font-weight: 500; }}
a {{ color: var(--main); }}
td.n, th.n {{ text-align: right; white-space: nowrap; padding-right: 22px;
  font-variant-numeric: tabular-nums; }}
.key th {{ width: 210px; }}
.key td.n {{ font-size: 16px; font-weight: 600; }}
.key td:last-child {{ color: var(--soft); }}
.rows {{ margin: 10px 0; font-size: 13px; }}
.rows th, .rows td {{ padding: 3px 0; border: 0; vertical-align: middle; }}
.rows th {{ width: 1%; padding-right: 12px; text-align: right; font-weight: 400; }}
.rows span {{ display: inline-block; width: max-content; max-width: 300px; }}
.rows td {{ color: var(--soft); font-variant-numeric: tabular-nums; white-space: nowrap; }}
.rows i {{ display: inline-block; height: 20px; min-width: 1px; margin-right: 8px;
  border-radius: 2px; vertical-align: middle; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }}
.on-phone {{ display: none; }}
.lead {{ margin-top: 6px; }}
.legend {{ display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; color: var(--soft);
  margin: 8px 0 0; }}
.legend i {{ display: inline-block; width: 11px; height: 11px; border-radius: 2px;
  margin-right: 6px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
svg {{ display: block; width: 100%; height: auto; margin-top: 8px; font-family: inherit;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
svg .background {{ fill: none; }}
svg text {{ font-size: 13px; fill: var(--soft); stroke: none; }}
svg .axis path {{ stroke: var(--line); stroke-width: 1; fill: none; }}
svg .axis.x text {{ text-anchor: middle; }}
svg .axis.y text {{ text-anchor: end; }}
svg .vertical .axis.x path {{ stroke: none; }}
svg .text-overlay text {{ font-size: 12px; fill: var(--soft); }}
svg .vertical .text-overlay text {{ transform: translateY(-3px); }}
svg.network {{ margin-bottom: 12px; }}
svg.network path {{ fill: none; stroke: var(--main); opacity: .5; }}
svg.network path:hover {{ opacity: 1; }}
svg.network text {{ fill: var(--ink); }}
svg.network .by {{ text-anchor: end; }}
svg .bar rect {{ stroke: none; }}
svg .bar:hover rect {{ opacity: .75; }}
svg .series path {{ stroke: none; }}
@media screen and (max-width: 640px) {{
  body {{ padding: 16px 10px 32px; }}
  section {{ padding: 14px 12px 10px; }}
  .at-desk {{ display: none; }}
  .on-phone {{ display: block; }}
  .rows span {{ max-width: 120px; }}
  .stacked tr {{ display: grid; grid-template-columns: 1fr auto auto; }}
  .stacked tr > :first-child {{ grid-column: 1 / -1; padding-bottom: 0; }}
  .stacked tr > :not(:first-child) {{ border-top: 0; padding-top: 2px; color: var(--soft); }}
  .key tr {{ display: grid; grid-template-columns: 1fr auto; }}
  .key th {{ width: auto; }}
  .key td.n {{ padding-right: 0; white-space: normal; }}
  .key td:last-child {{ grid-column: 1 / -1; padding-top: 0; border-top: 0; }}
}}
""" + "".join(
    f"svg .stackedline-graph .color-{i} {{ fill: var(--depth-{i}); }}\n" for i in range(8)
)
# nothing may be loaded or run, whatever a text of the site holds
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, subtitle: str, sections: Iterable[str]) -> str:
    """The whole file. title, subtitle: texts; sections: HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{escape(title)}</h1>\n<p class="soft">{escape(subtitle)}</p>\n'
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )


def section(title: str, explained: str, *parts: str) -> str:
    """A heading, a sentence on what is seen (texts; "" for none), and HTML."""
    head = f"<h2>{escape(title)}</h2>\n"
    if explained:
        head += f'<p class="soft">{escape(explained)}</p>\n'
    return f"<section>\n{head}" + "\n".join(parts) + "\n</section>"


def lead(text: str) -> str:
    """What matters most, in a sentence."""
    return f'<p class="lead">{escape(text)}</p>'


def hint(text: str) -> str:
    """What to do where there is nothing to see yet."""
    return f'<p class="hint">{escape(text)}</p>'


def key_table(rows: Iterable[tuple[str, str, str]]) -> str:
    """Rows of (what, figure, what it means), texts."""
    body = "".join(
        f'<tr><th scope="row">{escape(what)}</th><td class="n">{escape(figure)}</td>'
        f"<td>{escape(meaning)}</td></tr>\n"
        for what, figure, meaning in rows
    )
    return f'<div class="wide"><table class="key">\n{body}</table></div>'


class Link(NamedTuple):
    """A text of a cell that leads somewhere; only addresses of the web do."""

    text: str
    address: str


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str | Link]],
    numeric: Sequence[bool],
    *,
    is_stacked: bool = False,
) -> str:
    """A plain table of texts; numeric columns stand to the right. is_stacked: on a phone the first
    cell of a row, such as a long text, has a line of its own above the three others."""

    def line(tag: str, cells: Sequence[str | Link]) -> str:
        kinds = (' class="n"' if right else "" for right in numeric)
        inside = (
            f"<{tag}{kind}>{_inside(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True)
        )
        return f"<tr>{''.join(inside)}</tr>\n"

    body = "".join(line("td", row) for row in rows)
    kind = ' class="stacked"' if is_stacked else ""
    return (
        f'<div class="wide"><table{kind}>\n<thead>{line("th", head)}</thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _inside(cell: str | Link) -> str:
    if isinstance(cell, str):
        return escape(cell)
    if not cell.address.startswith(("https://", "http://")):  # such as javascript:
        return escape(cell.text)
    return f'<a href="{escape(cell.address)}" rel="noreferrer">{escape(cell.text)}</a>'
