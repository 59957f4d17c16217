"""Warnings of processes whose output nobody reads."""

import logging

import pytest

from tests.posts.test_workers import attempt
from weibo_crawler.metrics import figures
from weibo_crawler.posts.workers import counters, warnings
from weibo_crawler.warned import WARNED, Warned

_log = logging.getLogger("weibo_crawler.some.part")


def test_warnings_travel_with_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    """What any part of the program warns of is kept until the end, and stands in stderr as well;
    what others say, or what is no warning, is not ours to pass on."""
    warned = Warned()
    _log.info("a step")
    _log.warning("the list %s is gone", "p.txt")
    _log.warning("the list p.txt is gone")
    logging.getLogger("urllib3").warning("a stranger")
    assert warned.counters() == {f"{WARNED}the list p.txt is gone": 2}
    assert capsys.readouterr().err == "the list p.txt is gone\n" * 2
    warned.close()
    _log.warning("later")
    assert warned.counters() == {f"{WARNED}the list p.txt is gone": 2}


def test_a_flood_of_warnings_stays_small(capsys: pytest.CaptureFixture[str]) -> None:
    """The row of a mapper does not grow with what went wrong."""
    warned = Warned()
    for n in range(1000):
        _log.warning("number %d", n)
    warned.close()
    assert len(warned.counters()) == 20
    assert capsys.readouterr().err.count("\n") == 1000


def test_a_warning_is_no_figure() -> None:
    """Warnings of all mappers are read by themselves, those of attempts that died as well, and add
    up to nothing."""
    first, second = (
        attempt(0, n)._replace(counters={"page.ok": 3, f"{WARNED}{text}": 2})
        for n, text in enumerate(("the list is gone", "the list is back"))
    )
    assert [*warnings([first, second, first]).values()] == ["the list is gone", "the list is back"]
    assert counters([first, second]) == {"page.ok": 6}
    assert figures(first.counters) == {"page.ok": 3}


def test_what_differs_in_numbers_is_said_once() -> None:
    """Many mappers warn of the same thing."""
    texts = (
        "2 of 40 proxies are dead; the next is tried in 3 s",
        "11 of 40 proxies are dead; the next is tried in 25 s",
        "the list is gone",
    )
    rows = [attempt(n, 0)._replace(counters={WARNED + text: 1}) for n, text in enumerate(texts)]
    assert len(warnings(rows)) == 2
    assert warnings(rows).keys() == warnings(rows[1:]).keys()
