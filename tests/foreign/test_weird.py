"""Fifty users, each of whom misbehaves in a way of its own."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.crawls import OBEYED, Crawl
from tests.foreign.worlds import crawl_of, free_port, run, started

pytestmark = pytest.mark.timeout(280)
_BASE = 2_000_000_000
_MOST_REQUESTS = 1500  # beside the pages of the user who announces a million posts
_MOST_S = 200.0
_WHOLE = {"ok", "traversal_name", "sqli_name", "uid_collision", "csv_inject", "http10"}


@contextmanager
def _weird(tools: Path, folder: Path) -> Iterator[tuple[int, dict[int, str], Path]]:
    """The port of weird.py, the kind of each user, and its log."""
    folder.mkdir()
    port, log = free_port(), folder / "log"
    command = [str(tools / "weird.py"), str(port), str(log)]
    with started(*command, ready=f"http://127.0.0.1:{port}/ready"):
        kinds = json.loads(Path(f"{log}.kinds").read_text())
        yield port, {int(uid): kind for uid, kind in kinds.items()}, log


def test_a_site_of_odd_users_ends_in_bounds_and_harms_nobody_else(
    tools: Path, tmp_path: Path
) -> None:
    """Each run ends within bounds of time and requests, without a traceback and with a code that
    makes sense; users who are well are whole; only the user whom the site declares gone is gone;
    and no word of the site moves the cursor of a terminal or stands raw in a log."""
    with (
        _weird(tools, tmp_path / "site") as (port, kinds, log),
        crawl_of(tmp_path / "crawl", port, guest=True) as crawl,
    ):
        said = _crawl(crawl)
        asked = sum('"infinite"' not in line for line in log.read_text().splitlines())
        gone = {u["id"] for u in crawl.scan("users") if u["state"] == "gone"}
        rows = crawl.run("report", "--completeness", "--format", "jsonl").stdout
        ledgers = {row["id"]: row for row in map(json.loads, rows.splitlines())}
        posts = crawl.scan("posts")
        shown = [crawl.on_terminal(*command) for command in _COMMANDS]
    assert asked <= _MOST_REQUESTS
    gone |= {uid for uid, row in ledgers.items() if row["state"] == "gone"}
    assert {kinds[uid] for uid in gone} <= {"profile_gone"}
    for uid, kind in kinds.items():
        if kind in _WHOLE:
            served = {"csv_inject": 5}.get(kind, 10)
            assert len({p["mid"] for p in posts if p["uid"] == uid}) == served, (uid, kind)
    for text in [said, *shown]:
        assert not OBEYED.search(text), OBEYED.search(text)
    assert "evil" in shown[-1], "the odd posts were not shown at all"


_COMMANDS = (
    ("status",),
    ("report", "--completeness", "--format", "table"),
    ("scan", "users"),
    ("scan", "users", "--format", "jsonl"),
    ("scan", "users", "--format", "csv"),
    ("scan", "posts", "--format", "csv"),
    ("scan", "posts", "--format", "jsonl"),
    ("scan", "posts"),
)


def _crawl(crawl: Crawl) -> str:
    """The whole way, twice; all that it said."""
    began, said = time.monotonic(), []
    run(crawl, "seed", str(_BASE))
    for _ in range(2):
        for command in ("harvest", "import", "posts"):
            said.append(run(crawl, command, codes=(0, 4))[1])
    assert time.monotonic() - began < _MOST_S
    return "".join(said)
