"""docs/analysts.md: every line that it gives runs on what its own commands export."""

import re
from pathlib import Path

import duckdb

from tests.cli.crawls import simulated

_DOC = (Path(__file__).parents[2] / "docs/analysts.md").read_text("utf-8")


def test_each_question_is_answered(tmp_path: Path) -> None:
    """Twenty questions; each of the lines gives rows, and the figures that are known are right."""
    lines = re.findall(r"```sql\n(.*?)```", _DOC, re.DOTALL)
    questions = re.findall(r"^(\d+)\. ", _DOC, re.MULTILINE)
    assert [*map(int, questions)] == [*range(1, len(lines) + 1)] == [*range(1, 21)]
    with simulated(tmp_path, users=60, mean_posts=12.0) as (crawl, truth):
        crawl.run("seed", *truth.seeds)
        crawl.run("harvest")
        crawl.run("import")
        crawl.run("posts", "--runner", "inline")
        for command in re.findall(r"^    weibo-crawler (.*)$", _DOC, re.MULTILINE):
            crawl.run(*command.partition("#")[0].split())
        files = crawl.folder
        stored = len(list(crawl.scan("posts")))
    with duckdb.connect() as db:
        db.execute(f"set file_search_path = '{files}'")
        answers = [db.execute(line).fetchall() for line in lines]
    assert all(answers), [n for n, rows in enumerate(answers, 1) if not rows]
    held, _, _, users = answers[0][0]
    assert (held, users) == (stored, len(truth.depths))
    for n in (4, 5, 6):  # each post is counted once
        assert sum(row[-1] for row in answers[n - 1]) == stored
