import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.analysis.worlds import (
    T0,
    MemoryUsers,
    open_tables,
    post,
    put_ledger,
    put_posts,
    put_users,
    retweet,
    user,
)
from tests.examples import examples
from weibo_crawler.analysis.content_sections import Origin
from weibo_crawler.analysis.figures import Stored, gather
from weibo_crawler.analysis.plots import Bar, Link, areas, bars, network, rows, ticks
from weibo_crawler.analysis.report import render, write_report
from weibo_crawler.errors import StoreError
from weibo_crawler.records import Verdict
from weibo_crawler.store import WorkerRow
from weibo_crawler.store.rows.cells import Ledger
from weibo_crawler.store.sqlite.tables import SqliteTables

HOSTILE = '</svg><script src="https://bad.example/x.js"></script><img src=//bad.example onerror=a>'
_VOID = {"meta", "br"}
# whatever stands in their attributes that tests look for, these ask for nothing
HARMLESS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "section", "div", "i"),
    *("table", "thead", "tbody", "tr", "th", "td", "span", "a"),
    *("svg", "g", "rect", "path", "text"),
}


class Reader(HTMLParser):
    """What a browser finds: tags, attributes, texts; unclosed tags fail the test."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def crawl() -> MemoryUsers:
    bad = {"screen_name": HOSTILE, "url": f"javascript:{HOSTILE}"}
    found = [user(1, 1, depth=0, found_from=None, fans=10**9, **bad)]
    found += [user(i, i, depth=i % 11, fans=3**i) for i in range(2, 16)]
    pages = {f"page.{verdict}": 3 + i for i, verdict in enumerate(Verdict)}
    counters = pages | {"users.filtered": 4321, "users.seen_again": 77}
    return MemoryUsers(found, [WorkerRow("run-1", "w", "harvest", T0, T0 + 9, "done", counters)])


def fill(tables: SqliteTables) -> None:
    put_users(tables, *crawl().rows)
    put_ledger(tables, 1, Ledger("done", announced=4, stored=2, stopped="login_wall"))
    put_ledger(tables, 2, Ledger("failed", announced=1, stored=1, stopped="trouble"))
    put_ledger(tables, 3, Ledger("done", announced=0, stopped=HOSTILE, visited_at=T0))
    put_posts(tables, *(post(i, 1, f"2021-06-{i:02d}T12:00:00+08:00") for i in range(1, 29)))
    original = retweet(1, 1).original
    assert original is not None
    bad = {"text": HOSTILE, "region": HOSTILE, "source": HOSTILE, "likes": 7}
    by_two = {"repost_of": 1, "original": structs.replace(original, uid=2)}
    put_posts(tables, post(29, 1, "2021-06-29T12:00:00+08:00", **bad, **by_two))


def stored(tables: SqliteTables) -> Stored:
    return Stored(T0).read(tables)


class Loaded(Reader):
    """Where links lead, and everything else that could make a browser ask for something."""

    def __init__(self, html: str) -> None:
        self.links: list[str] = []
        self.loads: list[str] = []
        super().__init__(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        if tag not in HARMLESS:
            self.loads.append(tag)
        for name, value in attrs:
            if (tag, name) == ("a", "href"):
                self.links.append(value or "")
            elif name.startswith("on") or re.search(r"//|url\(|javascript:", value or ""):
                self.loads.append(f"{name}={value}")


def test_the_report_loads_nothing(tables: SqliteTables, tmp_path: Path) -> None:
    """No script, frame, form or image; no attribute and no style by which a browser would ask for
    anything; and a policy that forbids it anyhow. Texts of users are texts. A link, which asks for
    nothing until its reader follows it, leads to the web or is none."""
    fill(tables)
    path = tmp_path / "report.html"
    origin = Origin(HOSTILE, tables.posts, "https://site.example/detail/{}".format)
    write_report(crawl(), stored(tables), path, T0, depths_are_bounds=HOSTILE, origin=origin)
    html = path.read_text("utf-8")
    page = Loaded(html)
    assert page.loads == []
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.S)
    assert not re.search(r"@import|url\(|//|expression", style)
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert ("content", policy) in page.attributes
    # names of users in three tables and in two networks, a region, a device, a text, a stop
    assert len([text for text in page.texts if HOSTILE[:12] in text]) >= 9
    assert "https://site.example/detail/29" in page.links
    assert "https://site.example/u/2" in page.links
    assert all(link.startswith("https://site.example/") for link in page.links)  # user 1's is none
    assert html.count('rel="noreferrer"') == len(page.links)


def test_the_report_tells_the_figures(tables: SqliteTables) -> None:
    """Key figures are those of the stores."""
    fill(tables)
    page = Reader(render(gather(crawl(), stored(tables)), T0))
    for what, figure in (
        ("Users kept", "15"),
        ("Left out", "4,321"),
        ("Greatest depth", "10"),
        ("Posts stored", "29"),
        ("Share held", "60 % to 75 %"),
        ("Users visited", "3 of 15"),
    ):
        assert page.texts[page.texts.index(what) + 1] == figure
    assert {"Users found, by time", "Users by depth", "depth 7 and deeper"} <= set(page.texts)
    assert "server trouble" in page.texts
    assert "guests may read no further" in page.texts
    assert "2021-06-01" in page.texts


@pytest.mark.parametrize("span_s", [1.5, 8.0, 90.0, 90_000.0])
def test_no_two_times_below_a_plot_read_alike(tables: SqliteTables, span_s: float) -> None:
    rows = [user(n, n + 1, found_at=T0 + n * span_s / 40) for n in range(41)]
    html = render(gather(MemoryUsers(rows), stored(tables)), T0)
    plots = html[html.index("Users found, by time") : html.index("Users by depth")].split("<svg")
    for plot in plots[1:]:  # for windows and for phones
        times = re.findall(r">([\d-]* ?\d\d:\d\d[^<]*)<", plot)
        assert len(times) == len(set(times)) > 1


def test_an_empty_crawl_is_told_what_to_do(tables: SqliteTables, tmp_path: Path) -> None:
    """Without users, posts or visits the report names the commands that bring them."""
    path = tmp_path / "report.html"
    write_report(MemoryUsers(), stored(tables), path, T0)
    text = " ".join(Reader(path.read_text("utf-8")).texts)
    for command in ("seed", "harvest", "import", "posts"):
        assert f"weibo-crawler {command}" in text
    assert "<svg" not in path.read_text("utf-8")


def test_a_single_seed_has_a_report(tables: SqliteTables) -> None:
    """One user found at one time is enough for the plots of users."""
    html = render(gather(MemoryUsers([user(1, 1, depth=0)]), stored(tables)), T0)
    page = Reader(html)
    plots = {value for name, value in page.attributes if name == "aria-label"}
    assert plots == {"Users kept, by time and depth", "Users by depth", "Fans of the users kept"}


def test_an_old_report_stays_when_the_new_one_fails(tables: SqliteTables, tmp_path: Path) -> None:
    """A store that fails while it is read leaves the old report alone."""

    class Failing(MemoryUsers):
        def depths(self) -> dict[int, int]:
            raise StoreError("the store is gone")

    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(StoreError):
        write_report(Failing(), stored(tables), path, T0)
    assert path.read_text() == "old"


def test_equal_crawls_give_equal_reports(tmp_path: Path) -> None:
    """Nothing random is in a report: two of the same crawl differ by nothing."""
    pages = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        tables = open_tables(folder)
        fill(tables)
        pages.append(render(gather(crawl(), stored(tables)), T0))
        tables.close()
    assert pages[0] == pages[1]


@settings(deadline=None)
@given(st.floats(0, 1e10))
def test_ticks_reach_the_largest(largest: float) -> None:
    """Marks are whole, begin at 0, reach the largest value and not much further, and are few."""
    marks = ticks(largest)
    steps = {after - before for before, after in pairwise(marks)}
    assert marks[0] == 0
    assert len(steps) == 1
    assert marks[-1] >= largest > marks[-1] - steps.pop() or marks == [0, 1]
    assert 2 <= len(marks) <= 6


LABELS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
BARS = st.lists(
    st.builds(Bar, LABELS, st.integers(0, 10**9), st.just("--main")), min_size=1, max_size=30
)


@examples(30)
@given(BARS)
def test_every_value_is_in_the_plot(data: list[Bar]) -> None:
    """Any values and any labels, equal ones too, give a well-formed plot that tells each, whatever
    the width of the screen."""
    ends = tuple(f"{bar.value:,}" for bar in data)
    for draw, widths in ((bars, 2), (rows, 1)):
        page = Reader(draw("what", data))
        assert len([text for text in page.texts if text.endswith(ends)]) >= len(data) * widths
    assert Reader(bars("what", data)).tags.count("title") == 2 * len(data)


LINKS = st.lists(st.builds(Link, LABELS, LABELS, st.integers(1, 99)), min_size=1, max_size=12)


@settings(deadline=None)
@given(LINKS)
def test_every_pair_is_in_the_network(links: list[Link]) -> None:
    """At each width a line for each pair, which says how often, and each name once on its side."""
    page = Reader(network("what", links))
    assert page.tags.count("path") == 2 * len(links)
    told = [text for text in page.texts if "→" in text]
    assert sorted(told) == sorted(2 * [f"{a} → {b}: {n:,}" for a, b, n in links])
    sides = [value for name, value in page.attributes if (name, value) in SIDES]
    assert sides.count("by") == 2 * len({link.by for link in links})
    assert sides.count("of") == 2 * len({link.of for link in links})


SIDES = {("class", "by"), ("class", "of")}


def test_a_plot_escapes_its_words() -> None:
    """Neither a label nor the description of a plot can leave its place."""
    words = f'"{HOSTILE}'
    page = Reader(rows(words, [Bar(words, 1)]))
    assert ("aria-label", words) in page.attributes
    assert words in page.texts
    assert "script" not in page.tags


def test_plotting_leaves_the_import_system_alone() -> None:
    """No finder stays that Python 3.11 would warn of at each import that finds nothing."""
    bars("what", [Bar("a", 1)])
    assert all(hasattr(finder, "find_spec") for finder in sys.meta_path)


def test_the_first_row_is_on_top() -> None:
    """Lying bars stand in the order given, from the top."""
    svg = rows("what", [Bar("first", 5), Bar("second", 50)])
    assert [text for text in Reader(svg).texts if text.strip()] == ["first", "5", "second", "50"]


@given(st.lists(st.integers(1, 10**9), min_size=1))
def test_the_longest_row_is_as_wide_as_the_page(values: list[int]) -> None:
    """And the others by their share of it, however few are counted."""
    html = rows("what", [Bar("a", value) for value in values])
    widths = [float(width) for width in re.findall(r"100% - 80px\)\*([0-9.]+)", html)]
    assert widths == pytest.approx([value / max(values) for value in values], abs=1e-4)


def test_areas_show_first_and_last_label() -> None:
    """The axis of time names its ends, however many points there are."""
    labels = [f"t{i}" for i in range(200)]
    page = Reader(areas("what", labels, [("a", range(200)), ("b", [1] * 200)]))
    shown = [text for text in page.texts if text.startswith("t")]
    ends = [i for i, text in enumerate(shown) if text == "t199"]
    assert [shown[0], shown[ends[0] + 1]] == ["t0", "t0"]
    assert ends == [5, len(shown) - 1]  # the wide plot has six of them, the narrow one some


def test_importing_is_cheap() -> None:
    """No plotting, table or Parquet library is loaded before it is needed."""
    code = (
        "import sys\n"
        "from weibo_crawler.analysis import completeness, export, report, scan, status, writers\n"
        "print([m for m in ('pygal', 'pyarrow', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
