"""docs/reference.md, made from the code: `python -m tests.reference` writes it anew."""

import argparse
import re
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tests import json_fields
from weibo_crawler.analysis.completeness import Completeness
from weibo_crawler.analysis.gauges import Gauges
from weibo_crawler.analysis.status import StatusReport
from weibo_crawler.cli.main import EXIT_CODES, build_parser
from weibo_crawler.config import Metrics, Settings
from weibo_crawler.metrics import Counters, OpenMetrics
from weibo_crawler.records import Verdict

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference.md"
_EXAMPLE = ROOT / "conf/crawler.toml"
_KEY = re.compile(
    r"(?P<off># )?(?P<key>[a-z_]+) = (?P<value>\".*?\"|\[.*?\]|[^#]*?)\s*(# (?P<said>.*))?$"
)
_HEAD = """# Reference

Every command with its arguments, every setting, the exit codes, the verdicts, the metrics and the
fields of `--json`. This page is made from the code by `python -m tests.reference`; a test compares.

"""
_COLUMNS = "| Setting | Type | Default | Meaning |\n|---|---|---|---|\n"


def page() -> str:
    """The whole page."""
    parts = [_HEAD, "## Commands\n\n", *map(_command, _commands()), "## Settings\n\n"]
    parts += [
        "In a file (`conf/crawler.toml`, `WEIBO_CONFIG`, `--config`) or by a variable: "
        "`fetch.attempts` is `WEIBO_FETCH__ATTEMPTS`. A list has commas there: "
        "`WEIBO_HARVEST__EDGES=fans,follows`. Relative places are relative to the file, in "
        "variables to the working folder.\n",
        *_sections(),
        "\n## Exit codes\n\n| Code | Meaning |\n|---|---|\n",
        *(f"| {code} | {said} |\n" for code, said in _exit_codes()),
        "\n## Verdicts\n\nWhat an answer of the site is taken for: "
        + ", ".join(f"`{verdict}`" for verdict in Verdict)
        + ".\n",
        "\n## Metrics\n\nOf a run, by `metrics.listen` and `metrics.textfile`:\n",
        *_metrics(OpenMetrics(Metrics(), Counters(), "posts").collect()),
        "\nOf the stores, by `weibo-crawler status --openmetrics`:\n",
        *_metrics(Gauges(_full_status(), {}).collect()),
        json_fields.section(),
    ]
    return "".join(parts)


def _commands() -> list[argparse.ArgumentParser]:
    """All that can be called, `proxies check` and the like by themselves."""
    return list(_leaves(build_parser()))


def names() -> list[str]:
    """What may stand behind the name of the program."""
    (action,) = (a for a in build_parser()._actions if isinstance(a.choices, dict))
    return list(action.choices or ())


def _leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    inner = [action for action in parser._actions if isinstance(action.choices, dict)]
    for action in inner:
        for one in action.choices.values():
            yield from _leaves(one)
    if not inner:
        yield parser


def _command(parser: argparse.ArgumentParser) -> str:
    said = " ".join((parser.description or "").split())
    rows = [
        _row(a) for a in parser._actions if a.help is not argparse.SUPPRESS and a.dest != "help"
    ]
    return (
        "\n".join([f"### {parser.prog}\n", _cell(said), "\n| | |", "|---|---|", *rows, ""]) + "\n"
    )


def _row(action: argparse.Action) -> str:
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    shown = value if action.nargs != 0 else ""
    names = [f"`{name} {shown}`".replace(" `", "`") for name in action.option_strings] or [
        f"`{shown}`"
    ]
    return f"| {_cell(', '.join(names))} | {_cell(' '.join((action.help or '').split()))} |"


def _sections() -> Iterator[str]:
    said = _said()
    for section in msgspec.structs.fields(Settings):
        yield f"\n### [{section.name}]\n\n{_COLUMNS}"
        for field in msgspec.structs.fields(section.type):
            name = f"{section.name}.{field.name}"
            default = "unset" if field.default is None else f"`{_text(field.default)}`"
            yield f"| `{name}` | {_type(field.type)} | {_cell(default)} | {_cell(said[name])} |\n"


def _said() -> dict[str, str]:
    """What the file of settings that ships says of each."""
    section, key, above = "", "", list[str]()
    said: dict[str, list[str]] = {}
    for line in _EXAMPLE.read_text("utf-8").splitlines():
        if line.startswith("["):
            section, key, above = line[1 : line.index("]")], "", []
        elif found := _KEY.fullmatch(line):
            key = f"{section}.{found['key']}"
            said[key] = [*above, *([found["said"]] if found["said"] else [])]
            above = []
        elif line.startswith("# ") and section:
            above.append(line[2:])
        elif line.lstrip().startswith("# ") and key:
            said[key].append(line.lstrip()[2:])
    return {name: " ".join(lines) for name, lines in said.items()}


def _type(of: Any) -> str:
    if typing.get_origin(of) in (typing.Union, types.UnionType):
        return _type(next(one for one in typing.get_args(of) if one is not type(None)))
    if typing.get_origin(of) is typing.Annotated:
        kind, meta = typing.get_args(of)[0], typing.get_args(of)[1]
        low = meta.ge if meta.ge is not None else meta.gt
        high = meta.le if meta.le is not None else meta.lt
        above = "above " if meta.gt is not None else ""
        names = [
            f"{above}{low:,}" if low is not None else "",
            f"{'below ' if meta.lt is not None else ''}{high:,}" if high is not None else "",
        ]
        return f"{_type(kind)}, {' to '.join(filter(None, names))}" if any(names) else _type(kind)
    if typing.get_origin(of) is tuple:
        return "list"
    return {bool: "true or false", int: "whole number", float: "number"}.get(of, "text")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{one}"' for one in value) + "]"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _exit_codes() -> list[tuple[str, str]]:
    said = " ".join(EXIT_CODES.partition("\n")[2].split())
    found = re.split(r"(?:^| )(\d+) (?=[a-z])", said)[1:]
    return list(zip(found[::2], found[1::2], strict=True))


def _metrics(families: Iterable[Any]) -> Iterator[str]:
    """A table of what a collector of prometheus_client yields."""
    yield "\n| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n"
    for one in families:
        name = f"{one.name}_total" if one.type == "counter" else one.name
        labels = ", ".join(one._labelnames) or "none"
        yield f"| `{name}` | {one.type} | {labels} | {_cell(one.documentation)} |\n"


def _full_status() -> StatusReport:
    """A report that leaves no figure out."""
    figures = {field.name: 0 for field in msgspec.structs.fields(Completeness)}
    return StatusReport(0.0, {}, {}, (), (), Completeness(**figures))  # type: ignore[arg-type]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("%%", "%")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
