"""What the site's log and the tables say of a job while everything dies."""

from pathlib import Path
from typing import Any

from benchmarks import deaths, deaths_tables, nodes
from weibo_crawler.simulator.served import Line


def _line(at: float, request: str, served: str = "ok", by: str = "site") -> Line:
    return Line(at, request, served, 1, "127.0.0.2", by=by)


def test_figures_count_pages_of_the_site_by_minute_and_what_is_asked_again() -> None:
    """A refusal is no page, a proxy's own answer none of the site's; a page that came twice is two
    pages, one of them asked for once more."""
    lines = [_line(100, "/1"), _line(161, "/2", "end"), _line(170, "/1"), _line(171, "/3", "ban")]
    lines += [_line(172, "/4", "throttled"), _line(173, "/5", by="proxy")]
    found = deaths.figures(lines, first=100.0)
    assert (found["by_minute"], found["pages"], found["again"]) == ([1, 2], 3, 1)
    assert (found["bans"], found["refused"]) == (1, 1)


def test_everything_that_may_die_dies_in_turn() -> None:
    """The six deaths of the issue; Thrift is away for a minute."""
    assert {death.daemon for death in deaths.DEATHS} >= {"", "thrift", "mariadb", "master"}
    assert [death.away_s for death in deaths.DEATHS if death.daemon == "thrift"] == [60.0]
    assert len(deaths.DEATHS) == 6


def _found(**more: Any) -> dict[str, Any]:
    memory = [(at, "node3", 100.0) for at in (0, 70, 130, 200)]
    found = {"code": 0, "minutes": 4.0, "deaths": [(70.0, "a node")], "users": 9, "outcomes": 9}
    found |= {"posts": 50, "doubled": 0, "differing": 0, "new_again": 0, "asked_again": 0}
    return found | {"memory": memory, **deaths.figures([], 0.0), "pages": 80} | more


def test_a_missed_aim_is_shown_as_missed() -> None:
    """Loss, doubling, outcomes that do not add up, growth: each alone."""
    assert "missed" not in deaths_tables.show(_found())
    for more in ({"code": 1}, {"outcomes": 8}, {"differing": 1}, {"doubled": 1}, {"bans": 1}):
        assert deaths_tables.show(_found(**more)).count("**missed**") == 1, more
    grown = [(70.0, "mapper", 60.0), (200.0, "mapper", 90.0)]
    assert "1.50 (**missed**)" in deaths_tables.show(_found(memory=grown))


def test_the_plot_names_what_died(tmp_path: Path) -> None:
    """Beside the minute in which it did."""
    deaths_tables.write_plot(tmp_path / "deaths.svg", _found(by_minute=[40, 40]))
    assert "2 a node" in (tmp_path / "deaths.svg").read_text("utf-8")


def test_posts_of_another_text_and_posts_that_are_missing_differ() -> None:
    """By mid, whatever the order."""

    class _Truth:
        def posts(self) -> dict[str, dict[str, Any]]:
            return {"1": {"text": "a"}, "2": {"text": "b"}}

    rows = [{"mid": "2", "text": "b"}, {"mid": "1", "text": "a"}]
    assert nodes.differing(rows, _Truth()) == 0  # type: ignore[arg-type]
    wrong = [{"mid": "1", "text": "A"}, {"mid": "3", "text": "c"}]
    assert nodes.differing(wrong, _Truth()) == 3  # type: ignore[arg-type]
