"""How a task of a level's job ends."""

from argparse import Namespace
from pathlib import Path

import pytest

from tests.levels.test_dedup import home_in
from weibo_crawler.errors import StoreError
from weibo_crawler.levels import task
from weibo_crawler.posts.workers import ended_by


def test_why_a_task_ended_is_told_where_the_driver_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it printed lies on another machine."""
    with home_in(tmp_path) as home:
        monkeypatch.setattr(task, "settings_of_task", lambda: home.settings)
        options = Namespace(
            run_id="run", driver="", level=0, first=False, topics=False, retry=False
        )
        ended = task.Task(options, lambda line: None)
        with pytest.raises(StoreError), ended.ending_in_order():
            raise StoreError("it is away")
        (row,) = home.users.workers()
        assert row.ended == ended_by(StoreError.exit_code, "it is away")
