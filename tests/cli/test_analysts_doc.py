"""docs/analysts.md: every line that it gives runs on what its own commands export."""

import re
from pathlib import Path

import duckdb

from tests.cli.crawls import simulated
from tests.cli.test_refreshing import CHANGING, days_later
from tests.cli.test_whole_way import whole_way

_DOC = (Path(__file__).parents[2] / "docs/analysts.md").read_text("utf-8")


def test_each_question_is_answered(tmp_path: Path) -> None:
    """Twenty questions; each of the lines gives rows, and the figures that are known are right."""
    lines = re.findall(r"```sql\n(.*?)```", _DOC, re.DOTALL)
    questions = re.findall(r"^(\d+)\. ", _DOC, re.MULTILINE)
    assert [*map(int, questions)] == [*range(1, len(lines) + 1)] == [*range(1, 21)]
    knobs = {"users": 60, "mean_posts": 12.0}
    with simulated(tmp_path, **knobs) as (crawl, truth):
        whole_way(crawl, truth)
    with days_later(crawl, tmp_path, 20.0, **knobs, **CHANGING):
        crawl.run("posts", "--refresh", "--all", "--runner", "inline")
        for command in re.findall(r"^    weibo-crawler (.*)$", _DOC, re.MULTILINE):
            crawl.run(*command.partition("#")[0].split())
        files = crawl.folder
        posts = list(crawl.scan("posts", "--columns", "gone_at"))
    with duckdb.connect() as db:
        db.execute(f"set file_search_path = '{files}'")
        answers = [db.execute(line).fetchall() for line in lines]
    assert all(answers), [n for n, rows in enumerate(answers, 1) if not rows]
    gone = [post for post in posts if post["gone_at"]]
    held, announced, _, users = answers[0][0]
    assert gone
    assert (held, users) == (len(posts) - len(gone), len(truth.depths))
    assert held <= announced
    for n in (4, 5, 6):  # each post is counted once
        assert sum(row[-1] for row in answers[n - 1]) == len(posts)
