"""The benchmarks of speed run, at small sizes, and what they count is right."""

import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import speed, static_site
from benchmarks.chart import write_chart
from benchmarks.figures import Figure, Scale
from benchmarks.post_puts import puts
from benchmarks.uids import MOST, SQL, uid, uids
from weibo_crawler.store.rows.keys import parse_post_key


@given(st.lists(st.integers(0, MOST - 1), min_size=2, unique=True))
def test_each_number_has_a_uid_of_its_own(numbers: list[int]) -> None:
    """Ten digits each, and SQL computes the same as Python."""
    found = [uid(i) for i in numbers]
    assert len(set(found)) == len(numbers)
    assert all(len(str(one)) == 10 for one in found)
    sql = f"SELECT {SQL.format(i=':i')}"
    with closing(sqlite3.connect(":memory:")) as conn:
        assert [conn.execute(sql, {"i": i}).fetchone()[0] for i in numbers] == found
    assert list(uids(numbers[0], numbers[0] + 3)) == [uid(numbers[0] + i) for i in range(3)]


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0.1, 10), st.booleans())
def test_an_aim_is_met_on_its_own_side(
    ours: float, theirs: float, aim: float, is_limit: bool
) -> None:
    """A limit by what is not above it, an aim by what is not below it."""
    figure = Figure("ours", "theirs", ours, theirs, "s", aim, is_limit)
    ratio, reached = figure.ratio, figure.reached
    assert ratio is not None
    assert reached is not None
    if abs(ratio / aim - 1) > 1e-9:
        assert figure.is_met == (ratio < aim if is_limit else ratio > aim) == (reached > 1)


def test_what_has_no_aim_or_no_other_number_is_not_judged() -> None:
    """Nothing is called met or missed that nobody aimed at, or that nothing divides."""
    assert Figure("ours", "theirs", 1, 2, "s").is_met is None
    assert Figure("ours", "theirs", 0, 0, "users").ratio is None


def test_posts_to_write_are_different_rows() -> None:
    """Each key once, in pages that share a time; cells with a text and counts."""
    rows = list(puts(7, 230, "run"))
    assert len({put.key for put in rows}) == len(rows)
    assert {parse_post_key(put.key)[0] for put in rows} == set(uids(7, 10))
    assert all("post:text" in put.cells and "count:likes" in put.cells for put in rows)
    assert len({put.timestamp for put in rows}) == 23


def test_the_chart_shows_every_aim(tmp_path: Path) -> None:
    """A bar each, and none for what is not aimed at."""
    figures = [
        Figure("first", "a peer", 3, 1, "s", 2),
        Figure("second", "its limit", 3, 1, "s", 1, is_limit=True),
        Figure("third", "a peer", 3, 1, "s"),
    ]
    write_chart(file := tmp_path / "chart.svg", figures)
    text = file.read_text("utf-8")
    assert "first / a peer" in text
    assert "second / its limit" in text
    assert "third" not in text


def _run(monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    monkeypatch.setattr(sys, "argv", ["speed", *options])
    assert speed.main() == 0


def test_runs_of_both_scales_are_saved_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A figure's name tells its size, so the baseline holds those of both; the docs show the last
    run, and how large it was. Of parts that a run leaves out the last figures of its scale stay;
    where there are none nothing is saved. A smoke run never is."""

    def suite(work: Path, scale: Scale) -> Iterator[Figure]:
        """Nothing is measured."""
        yield Figure(f"import of {scale.imported:,} users", "Sqoop", 3, 1, "users/s", 2)

    def other(work: Path, scale: Scale) -> Iterator[Figure]:
        """Nothing either."""
        yield Figure("start", "its limit", next(seconds), 1, "s", 1, is_limit=True)

    seconds = count(1)
    docs, baseline = tmp_path / "docs.md", tmp_path / "baseline.json"
    docs.write_text("<!-- speed: begin -->\n<!-- speed: end -->\n", "utf-8")
    baseline.write_text("{}", "utf-8")
    monkeypatch.setattr(speed, "_SUITES", {"import": suite, "start": other})
    for name, file in (("_DOCS", docs), ("_BASELINE", baseline), ("_CHART", tmp_path / "c.svg")):
        monkeypatch.setattr(speed, name, file)
    monkeypatch.setattr(speed, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["speed", "start", "--save"])
    assert speed.main() == 2
    _run(monkeypatch, "--save")
    _run(monkeypatch, "--whole", "--save")
    _run(monkeypatch, "--whole", "--save", "start")
    known = json.loads(baseline.read_text("utf-8"))
    imports = {f"import of {n} users / Sqoop": 3 for n in ("100,000", "500,000")}
    assert known == imports | {"start / its limit": 3}
    text = docs.read_text("utf-8")
    assert "users have 20 posts each" in text
    assert "import of 500,000 users | Sqoop" in text
    with pytest.raises(SystemExit):
        _run(monkeypatch, "--smoke", "--save")


def _smoke(suites: list[str], work: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.speed", "--smoke", *suites]
    env = os.environ | {"WEIBO_STACK_DIR": str(work / "no-stack"), "TMPDIR": str(work)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_a_benchmark_runs(tmp_path: Path) -> None:
    """A userlist, compared with the truth; no stack is a word. `make bench-smoke` runs them all."""
    done = _smoke(["userlist"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "page into 2,000 users, SQLite" in done.stdout
    assert "restart with 2,000 users, SQLite" in done.stdout
    assert "userlist in MariaDB is skipped" in done.stderr


@pytest.mark.skipif(
    static_site.why_not() is not None or importlib.util.find_spec("scrapy") is None,
    reason="no nginx or no Scrapy",
)
def test_benchmarks_of_crawls_run(tmp_path: Path) -> None:
    """Every contender stores the truth."""
    done = _smoke(["harvest", "posts", "foreign_harvest", "foreign_posts"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "posts among 30 users, wreq | Scrapy" in done.stdout
    is_skipped = "posts in the foreign world is skipped" in done.stderr
    assert is_skipped or "posts in the foreign world of 60 users, processor" in done.stdout
