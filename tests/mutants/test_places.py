"""The list of wrong changes fits the code, though the changes are made by hand alone."""

from pathlib import Path

import pytest

from tests.mutants.changes import CHANGES, Change

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.breaks)
def test_what_it_changes_stands_there_once(change: Change) -> None:
    """Else `make mutants` says that nobody saw it."""
    text = (_ROOT / "weibo_crawler" / change.file).read_text("utf-8")
    assert text.count(change.was) == 1
