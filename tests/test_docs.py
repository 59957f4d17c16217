"""What code cites stands in this repository."""

import re
from pathlib import Path

import pytest

from tests import reference

ROOT = Path(__file__).parents[1]
DOCS = {path.name: path for folder in (ROOT, ROOT / "docs") for path in folder.glob("*.md")}
_CITED = re.compile(r'\b((?:[\w-]+\.)+md)\b(?:, "([A-Z][^"]+)")?')
_HEADING = re.compile(r"^(?:#+ |\*\*)(.+)", re.MULTILINE)
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
