"""Answers that `doctor --site --record` wrote: each is read as it is written there."""

from pathlib import Path

import pytest

from tests.sites.weibo.helpers import OWNER, SITE, check_law
from tests.survey.recordings import Case, cases
from weibo_crawler.records import FanPage, Reading, Verdict
from weibo_crawler.survey.recording import outline, read

_FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("recordings/*/answers.json"))
_CASES = {f"{folder.name}/{case.name}": case for folder in _FOLDERS for case in cases(folder)}


@pytest.mark.parametrize("name", sorted(_CASES))
def test_an_answer_is_read_as_before(name: str) -> None:
    """The verdict, how many posts and people, how long their texts."""
    case: Case = _CASES[name]
    check_law(SITE.read(case.request, case.page))
    assert outline(read(SITE, case.request, case.page)) == case.reads_as


def test_a_field_that_is_new_changes_no_older_outline() -> None:
    """What is empty stands in none, whatever its type."""
    nobody = outline(Reading(Verdict.OK, FanPage(OWNER, (), None)))
    assert nobody["of"] == {"owner": "10 digits"}
