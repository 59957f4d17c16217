"""What code cites stands in this repository."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

from tests import reference
from weibo_crawler.cli.main import build_parser
from weibo_crawler.config import Settings

ROOT = Path(__file__).parents[1]
DOCS = {path.name: path for folder in (ROOT, ROOT / "docs") for path in folder.glob("*.md")}
_CITED = re.compile(r'\b((?:[\w-]+\.)+md)\b(?:, "([A-Z][^"]+)")?')
_HEADING = re.compile(r"^(?:#+ |\*\*)(.+)", re.MULTILINE)
_CALLED = re.compile(
    r"^ {4}(.*\bweibo-crawler .*)$|`((?:weibo-crawler )?[a-z]+ --?[^`]+)`", re.MULTILINE
)
_PROSE = re.compile(r"--[a-z-]+$|\b[A-Z]{1,6}\b|…")  # an option without its value, a value unsaid
_KEY = re.compile(r"`([a-z]+\.[a-z_]+)(?: = [^`]*)?`")
# second looks, not settings
_ENDS = {f"posts.{kind}" for kind in ("named", "full", "end", "missed", "moved", "back", "fallen")}
_LINKED = re.compile(r"\]\(([^)#:]+)\)")


def sources() -> list[Path]:
    folders = ("weibo_crawler", "tests", "jobs", "benchmarks", "stack")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def test_a_file_that_a_comment_cites_is_there() -> None:
    """Its name is that of a page of the docs, and a section that is named is a heading of it."""
    missing, cited = [], 0
    headings = {name: _HEADING.findall(page.read_text("utf-8")) for name, page in DOCS.items()}
    for path in sources():
        text = re.sub(r"\n\s*#?\s*", " ", path.read_text("utf-8"))
        for name, section in _CITED.findall(text):
            if name == "docs.md":
                continue  # a file that tests of the benchmarks write
            cited += 1
            if not any(heading.startswith(section) for heading in headings.get(name, [])):
                missing.append(f"{path.relative_to(ROOT)}: {name} {section}")
    assert cited > 50
    assert missing == []


@pytest.mark.parametrize("page", sorted(DOCS))
def test_links_lead_somewhere(page: str) -> None:
    """A link of a page to a file leads to one."""
    path = DOCS[page]
    links = _LINKED.findall(path.read_text("utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def outline(name: str, tongue: str = "") -> tuple[list[str], list[str], list[str]]:
    """The levels of the headings, the commands (without what is said of them), and the links."""
    text = DOCS[f"{name}{tongue}.md"].read_text("utf-8")
    blocks = re.findall(r"^    (.*)$", text, re.MULTILINE)
    commands = [
        line.partition(" # ")[0].strip() for line in blocks if not re.search("[─►│▼·]", line)
    ]
    itself = {f"{name}{one}.md" for one in ("", ".zh")}
    links = [link.replace(".zh.", ".") for link in _LINKED.findall(text) if link not in itself]
    queries = re.findall(r"```sql\n.*?```", text, re.DOTALL)
    return re.findall(r"^#+", text, re.MULTILINE), commands + queries, links


@pytest.mark.parametrize(
    ("page", "least"), [("README", 25), ("analysts", 8), ("operations", 10), ("faq", 10)]
)
def test_the_chinese_page_keeps_step(page: str, least: int) -> None:
    """It has the headings, the commands, the queries and the links of the English one."""
    chinese, english = outline(page, ".zh"), outline(page)
    assert len(english[1]) >= least
    assert chinese == english


def test_the_reference_is_that_of_the_code() -> None:
    """docs/reference.md names every command, argument and setting, and says what each is for."""
    page = reference.page()
    assert reference.PAGE.read_text("utf-8") == page, "write it anew: python -m tests.reference"
    assert not [line for line in page.splitlines() if line.startswith("| `") and "|  |" in line]


def calls() -> Iterator[tuple[str, list[str]]]:
    """The commands of this program in all pages, as (page, words behind its name)."""
    for name, path in DOCS.items():
        for block, prose in _CALLED.findall(path.read_text("utf-8")):
            line = block.partition("weibo-crawler ")[2] if block else prose
            line = re.split(r"\s#|[;|>&\\]|\$\(", line.removeprefix("weibo-crawler "))[0].strip()
            if not _PROSE.search(line):
                yield name, shlex.split(line)


def test_commands_of_the_docs_are_such() -> None:
    """Each command of a page, in a block or in a sentence, is one that the program takes."""
    parser, names, wrong, right = build_parser(), set(reference.names()), [], 0
    for page, words in calls():
        if words and words[0] in names:
            try:
                parser.parse_args(words)
            except SystemExit as end:  # 0: --help, --version
                wrong += [(page, words)] if end.code else []
            right += 1
    assert right > 90
    assert wrong == []


def test_settings_and_targets_of_the_docs_are_there() -> None:
    """Each setting, as a key or as a variable, and each target of make, that a page names."""
    rooms = get_type_hints(Settings)
    keys = {f"{room}.{key}" for room in rooms for key in get_type_hints(rooms[room])}
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    seen = 0
    for name, path in DOCS.items():
        text = path.read_text("utf-8").partition("\n## JSON fields\n")[
            0
        ]  # a field may be "pace.rate"
        named = {
            ".".join(found).lower() for found in re.findall(r"\bWEIBO_([A-Z]+)__([A-Z_]+)\b", text)
        }
        named |= {key for key in _KEY.findall(text) if key.partition(".")[0] in rooms} - _ENDS
        assert (name, named - keys) == (name, set())
        called = set(re.findall(r"(?:`|^ {4}(?:.*&& )?)make ([a-z][a-z-]*)", text, re.MULTILINE))
        assert (name, called - targets) == (name, set())
        seen += len(named) + len(called)
    assert seen > 200
